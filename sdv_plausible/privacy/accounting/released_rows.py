"""Privacy loss of N rows released one by one under the randomised test, Privacy Test 2.

The theorem (``docs/explanation/proofs/seed_test.md``, Theorem 2; for all seeds of one person ``persons.md``,
Theorem 5) covers a mixture over omega and, with gamma, every other seed-based model. A released row reveals
no more than one toss of a coin. So N rows lose as much as Binomial(N, a1) against Binomial(N, a0) at the
worst pass rate: the coin has likelihood ratio ``(1 + gamma/t) pt(t+1)/pt(t)``, or ``(1 + gamma c/t)
pt(t+c)/pt(t)`` where a unit has c seeds, after partitions smaller than t are charged to delta.

It holds for *released* rows: proposals are made until N are accepted, the number of attempts stays secret,
every candidate has a fresh seed and a fresh threshold, the first N acceptances are returned in order, and
nothing is de-duplicated.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.bernoulli_pairs import BernoulliPairs, cover
from sdv_plausible.privacy.accounting.gaussian import FloatArray
from sdv_plausible.privacy.accounting.losses import Loss
from sdv_plausible.privacy.accounting.theorem1 import Noise, check_noise, log_pass_probability
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours

COMPOSED_UP_TO = 50.0  # above this epsilon the rows are charged as a pair, not by their profile
FINE, COARSE = 1 / 400, 1 / 50  # relative inflation of the log likelihood ratio by the cover
_LARGEST_GROUP = 20_000_000
_TAIL_LENGTHS = 25  # in units of 1/epsilon0; the noise beyond has mass exp(-25)
_LARGEST_STEP = 300.0  # epsilon of removing a unit above which adding one would need a delta out of range
_T_CANDIDATES, _T_PER_LENGTH = 25, 4  # number of values of t tried, and how many of them per 1/epsilon0


class ReleasedRowsLoss(NamedTuple):
    """Loss of N released rows under the any-model theorem, and its best t."""

    epsilon: float
    delta: float
    t: int


@dataclass(frozen=True, kw_only=True)
class RowByRow(Loss):
    """Parameters of every loss of rows released one by one under Privacy Test 2 (k, epsilon0).

    ``num_rows`` >= 1 counts all calls with equal parameters together, or is the declared cap.
    ``pass_rate_floor`` in (0, 1] is a lower bound, for both neighbours, on the probability that one attempt
    is released; with conditions, that it passes *and* meets the condition. ``n_lower`` >= 1 is a lower bound
    on the seeds of the smaller neighbour. ``seed_free_share`` in [0, 1] is the probability that a candidate
    has no seed, so that all seeds are plausible (``docs/explanation/proofs/seed_test.md``, Theorem 4).
    """

    num_rows: int
    k: int
    epsilon0: float
    pass_rate_floor: float
    n_lower: int
    noise: Noise = "discrete_laplace"
    seed_free_share: float = 0.0

    def __post_init__(self) -> None:
        check.whole("num_rows", self.num_rows, 1, "it is the number of rows released, or the declared cap")
        check.whole("k", self.k, 1, "it is a number of plausible seeds; try 50")
        check.positive("epsilon0", self.epsilon0, "try 1.0")
        check.rate(
            "pass_rate_floor", self.pass_rate_floor, "it bounds the probability that one attempt is released"
        )
        check.whole("n_lower", self.n_lower, 1, "it bounds the number of seeds from below")
        check_noise(self.noise)
        if self.seed_free_share:
            check.rate(
                "seed_free_share", self.seed_free_share, "it is the share of candidates without a seed"
            )
        if self.k + 2 / self.epsilon0 > _LARGEST_GROUP:
            raise check.Refused.saying(
                "k",
                f"k ({self.k}) + 2/epsilon0 ({self.epsilon0!r}) must be below {_LARGEST_GROUP:,}: the worst "
                "group is looked for up to that size; lower k or raise epsilon0",
            )

    @property
    def passing_seeds(self) -> float:
        """Lower bound on the number of seeds times the pass rate."""
        return self.n_lower * self.pass_rate_floor

    @property
    def without_seed(self) -> float:
        """Share of candidates without a seed; 0 unless the seeds surely outnumber the worst group."""
        a = math.exp(-self.epsilon0)
        return self.seed_free_share if self.n_lower >= max(self.k, 2 * a / (1 - a) + 1) else 0.0

    @property
    def without_seed_increase(self) -> float:
        """Largest increase, by one seed, of the weight of candidates without a seed, if all are."""
        p = np.exp(log_pass_probability([self.n_lower, self.n_lower + 1], self.k, self.epsilon0, self.noise))
        return 1 + self.n_lower * float(p[1] - p[0])

    def mass_increase(self, gamma: float) -> float:
        """Largest increase, by one seed, of n times the pass rate."""
        v, seeded = self.without_seed, largest_mass_increase(self.k, self.epsilon0, gamma, self.noise)
        return (1 - v) * seeded + (v * self.without_seed_increase if v else 0.0)


@dataclass(frozen=True, kw_only=True)
class ReleasedRows(RowByRow):
    """N released rows of any seed-based model under Privacy Test 2.

    ``gamma`` is 1 where all records that can produce a candidate are equally likely to (a mixture over omega
    with omega known to the test, such as a range drawn for every candidate), else the partition width, > 1.
    Partitions below t >= 1 are charged to delta.
    """

    gamma: float
    t: int
    unit: int = 1  # seeds that one unit adds or removes, at most, >= 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check.at_least("gamma", self.gamma, 1.0, "it is a factor; 1 for known omega")
        check.whole("t", self.t, 1)
        check.whole("unit", self.unit, 1, "it is the number of seeds of one person")

    @property
    def without_seed(self) -> float:
        """As in the base class; 0 where partitions of all seeds may be small."""
        return super().without_seed if self.t <= self.n_lower else 0.0

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon at the given delta in (0, 1) that this t proves."""
        delta = check.share_of_delta("delta", delta)
        small = self.small_partition_delta()
        if small >= delta:
            return math.inf
        pairs = self._pairs(FINE)
        return self._shift() + float(pairs.epsilon(self.num_rows, (delta - small) / (1 - small)).max())

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Delta at every epsilon >= 0, for removing and for adding."""
        small = self.small_partition_delta()
        if small == 1:
            return np.ones(np.shape(epsilon)), np.ones(np.shape(epsilon))
        shifted = np.maximum(np.asarray(epsilon, dtype=np.float64) - self._shift(), 0.0)
        remove, add = self._pairs(COARSE).profile(self.num_rows, shifted)
        return np.minimum(1.0, small + remove), np.minimum(1.0, small + add)

    def _small_partition_probability(self) -> float:
        """Probability that one released row is from a partition below t."""
        joined = np.arange(1.0, self.unit + 1)  # seeds of the unit that join a partition of t - 1 others
        log_p = log_pass_probability(self.t - 1 + joined, self.k, self.epsilon0, self.noise)
        weight = float(((1 + self.gamma * (self.t - 1) / joined) * np.exp(log_p)).max())
        return min(1.0, self.unit * (1 - self.without_seed) * weight / self.passing_seeds)

    def small_partition_delta(self) -> float:
        """Probability that any of the rows is from a partition below t."""
        small = self._small_partition_probability()
        return 1.0 if small == 1 else -math.expm1(self.num_rows * math.log1p(-small))

    def _shift(self) -> float:
        """Shift of epsilon by conditioning on "no small partition"."""
        return -self.num_rows * math.log1p(-self._small_partition_probability())

    def _pairs(self, resolution: float) -> BernoulliPairs:
        log_p = log_pass_probability([self.t, self.t + self.unit], self.k, self.epsilon0, self.noise)
        log_r = math.log1p(self.gamma * self.unit / self.t) + float(log_p[1] - log_p[0])
        increase = self.unit * self.mass_increase(self.gamma)
        odds = increase / (self.passing_seeds * (1 - self._small_partition_probability()))
        return cover(np.array([log_r]), np.log1p(np.array([odds])), resolution)


def released_rows_loss(
    *,
    num_rows: int,
    k: int,
    gamma: float,
    epsilon0: float,
    delta: float,
    pass_rate_floor: float,
    n_lower: int,
    noise: Noise = "discrete_laplace",
    neighbours: Neighbours = ONE_ROW,
    seed_free_share: float = 0.0,
) -> ReleasedRowsLoss:
    """Total epsilon of N rows of any seed-based model under Privacy Test 2, at the best t."""
    # ``docs/explanation/proofs/seed_test.md``, Theorems 2 and 4. Every t gives a valid bound, so the search
    # need not be complete. Replacing a unit is removing it and adding another (``persons.md``, Theorem 6);
    # n_lower then bounds the seeds without the unit. Epsilon is infinite where no t is charged less than
    # delta.

    def rows(t: int) -> ReleasedRows:
        return ReleasedRows(
            num_rows=num_rows,
            k=k,
            gamma=gamma,
            epsilon0=epsilon0,
            t=t,
            pass_rate_floor=pass_rate_floor,
            n_lower=n_lower,
            noise=noise,
            unit=neighbours.rows,
            seed_free_share=seed_free_share,
        )

    check.share_of_delta("delta", delta)
    if not neighbours.replace:
        return _at_best_t(rows, epsilon0, delta)
    removed = _at_best_t(rows, epsilon0, delta / 2)
    if removed.epsilon > _LARGEST_STEP:
        return ReleasedRowsLoss(math.inf, delta, removed.t)
    added = _at_best_t(rows, epsilon0, delta / 2 * math.exp(-removed.epsilon))
    return ReleasedRowsLoss(removed.epsilon + added.epsilon, delta, added.t)


def _at_best_t(rows: Callable[[int], ReleasedRows], epsilon0: float, delta: float) -> ReleasedRowsLoss:
    """Smallest loss, over the values of t tried, of one unit added or removed."""
    largest = largest_feasible_t(rows(1), delta)
    if largest == 0:
        return ReleasedRowsLoss(math.inf, delta, 1)
    # Each step down lowers the charge by the factor exp(-epsilon0). The best t is a few 1/epsilon0 below the
    # largest, where the charge is a small share of delta.
    candidates = sorted(
        {max(1, largest - round(step / (_T_PER_LENGTH * epsilon0))) for step in range(_T_CANDIDATES)}
    )
    return min(ReleasedRowsLoss(rows(t).epsilon(delta), delta, t) for t in candidates)


def largest_feasible_t(rows: ReleasedRows, delta: float, max_t: int | None = None) -> int:
    """Largest t up to ``max_t`` (k) whose small partitions are charged less than delta; 0 for none."""

    def is_too_large(t: int) -> bool:
        return replace(rows, t=t).small_partition_delta() >= delta

    return bisect_left(range(1, (max_t or rows.k) + 1), True, key=is_too_large)  # the charge rises with t


def group_sizes(k: int, epsilon0: float) -> FloatArray:
    """Group sizes up to where ``c (pt(c+1) - pt(c))`` only falls and failing is below exp(-25)."""
    a = math.exp(-epsilon0)
    reach = (
        max(k, math.ceil(2 * a / (1 - a))) + min(math.ceil(_TAIL_LENGTHS / epsilon0), _LARGEST_GROUP) + 3.0
    )
    return np.arange(0.0, reach)


def largest_mass_increase(k: int, epsilon0: float, gamma: float, noise: Noise = "discrete_laplace") -> float:
    """Largest increase, by one row, of n times the pass rate."""
    # The largest ``pt(c+1) + gamma c (pt(c+1) - pt(c))`` over c: ``docs/explanation/proofs/seed_test.md``,
    # Lemma 3. At least 1.
    c = group_sizes(k, epsilon0)[max(0, k - 1) :]  # up to k - 1 both terms rise
    p = np.exp(log_pass_probability(np.append(c, c[-1] + 1), k, epsilon0, noise))
    steps = gamma * c * np.diff(p)
    return max(1.0, float((p[1:] + steps).max()), 1.0 + float(steps[-1]))
