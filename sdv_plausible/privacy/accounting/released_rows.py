"""Privacy loss of N rows released one by one under the randomised test, Privacy Test 2.

The theorem (``docs/explanation/proofs/seed_test.md``, Theorem 2; for all seeds of one person ``persons.md``,
Theorem 5) covers a mixture over omega and every other seed-based model, with gamma. A released row tells no
more than one toss of a coin, so N rows lose what Binomial(N, a1) against Binomial(N, a0) loses, at the worst
pass rate: a coin of likelihood ratio ``(1 + gamma/t) pt(t+1)/pt(t)``, or ``(1 + gamma c/t) pt(t+c)/pt(t)``
where a unit has c seeds, after partitions smaller than t are charged to delta.

It holds for rows *released*: proposals are made until N are accepted, attempts stay secret, every candidate
has a fresh seed and a fresh threshold, the first N acceptances are returned in order and nothing is
de-duplicated.
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
from sdv_plausible.privacy.accounting.losses import Loss
from sdv_plausible.privacy.accounting.theorem1 import Noise, check_noise, log_pass_probability
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours

FloatArray = npt.NDArray[np.float64]
FINE, COARSE = 1 / 400, 1 / 50  # relative inflation of the log likelihood ratio by the cover
_LARGEST_GROUP = 20_000_000
_TAIL_LENGTHS = 25  # in 1/epsilon0: beyond them the noise has mass exp(-25)
_LARGEST_STEP = 300.0  # loss of one of two steps beyond which the other one's delta is out of range
_T_CANDIDATES, _T_PER_LENGTH = 25, 4  # numbers t tried below the largest, and how many of them per 1/epsilon0


class ReleasedRowsLoss(NamedTuple):
    """Loss of N released rows under the any-model theorem, and the t at which it is smallest."""

    epsilon: float
    delta: float
    t: int


@dataclass(frozen=True, kw_only=True)
class RowByRow(Loss):
    """Parameters of every loss of rows released one by one under Privacy Test 2 (k, epsilon0).

    ``num_rows`` >= 1 counts all calls with the same parameters together, or is the declared cap.
    ``pass_rate_floor`` in (0, 1] bounds the probability that one attempt is released from below, for both
    neighbours; with conditions, that it passes *and* meets the condition. ``n_lower`` >= 1 bounds the seeds
    of the smaller neighbour from below. ``seed_free_share`` in [0, 1] is the probability that a candidate has
    no seed, so that all seeds are plausible (``docs/explanation/proofs/seed_test.md``, Theorem 4).
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
        """Share of the candidates without a seed, 0 unless all seeds are surely beyond the worst group."""
        a = math.exp(-self.epsilon0)
        return self.seed_free_share if self.n_lower >= max(self.k, 2 * a / (1 - a) + 1) else 0.0

    @property
    def without_seed_increase(self) -> float:
        """Most that one seed adds to the weight of candidates without a seed, if all are."""
        p = np.exp(log_pass_probability([self.n_lower, self.n_lower + 1], self.k, self.epsilon0, self.noise))
        return 1 + self.n_lower * float(p[1] - p[0])

    def mass_increase(self, gamma: float) -> float:
        """Most that one seed adds to n times the pass rate."""
        v, seeded = self.without_seed, largest_mass_increase(self.k, self.epsilon0, gamma, self.noise)
        return (1 - v) * seeded + (v * self.without_seed_increase if v else 0.0)


@dataclass(frozen=True, kw_only=True)
class ReleasedRows(RowByRow):
    """N released rows of any seed-based model under Privacy Test 2.

    ``gamma`` is 1 where all records that can produce a candidate are equally likely to (a mixture over omega
    with omega known to the test, such as a range drawn afresh for every candidate), else the partition width,
    > 1. Partitions below t >= 1 are charged to delta.
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
        """The same; 0 where partitions of all seeds may be small."""
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

    def _small(self) -> float:
        """Probability that one released row comes through a partition below t."""
        joined = np.arange(1.0, self.unit + 1)  # seeds of the unit in one partition of t - 1 others
        log_p = log_pass_probability(self.t - 1 + joined, self.k, self.epsilon0, self.noise)
        weight = float(((1 + self.gamma * (self.t - 1) / joined) * np.exp(log_p)).max())
        return min(1.0, self.unit * (1 - self.without_seed) * weight / self.passing_seeds)

    def small_partition_delta(self) -> float:
        """Probability that any of the rows comes through a partition below t."""
        small = self._small()
        return 1.0 if small == 1 else -math.expm1(self.num_rows * math.log1p(-small))

    def _shift(self) -> float:
        """Conditioning on "no small partition" moves epsilon by this much."""
        return -self.num_rows * math.log1p(-self._small())

    def _pairs(self, resolution: float) -> BernoulliPairs:
        log_p = log_pass_probability([self.t, self.t + self.unit], self.k, self.epsilon0, self.noise)
        log_r = math.log1p(self.gamma * self.unit / self.t) + float(log_p[1] - log_p[0])
        increase = self.unit * self.mass_increase(self.gamma)
        odds = increase / (self.passing_seeds * (1 - self._small()))
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
    """Total epsilon of N rows released under Privacy Test 2 by any seed-based model, at the best t."""
    # ``docs/explanation/proofs/seed_test.md``, Theorems 2 and 4. Every t gives a valid bound, so the search
    # over t need not be complete. A unit that is replaced is removed, and another one added (``persons.md``,
    # Theorem 6). Where units are replaced, n_lower bounds the seeds without the unit. Epsilon is infinite
    # where no t is charged less than delta.

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
    """Loss of one unit added or removed, of all bounds that a number t proves the smallest that was found."""
    highest = largest_feasible_t(rows(1), delta)
    if highest == 0:
        return ReleasedRowsLoss(math.inf, delta, 1)
    # delta falls by the factor exp(-epsilon0) per step down: the best t leaves it a small share, a few
    # 1/epsilon0 below.
    candidates = sorted(
        {max(1, highest - round(step / (_T_PER_LENGTH * epsilon0))) for step in range(_T_CANDIDATES)}
    )
    return min(ReleasedRowsLoss(rows(t).epsilon(delta), delta, t) for t in candidates)


def largest_feasible_t(rows: ReleasedRows, delta: float) -> int:
    """Largest t up to k whose small partitions are charged less than delta, 0 if there is none."""

    def too_much(t: int) -> bool:
        return replace(rows, t=t).small_partition_delta() >= delta

    return bisect_left(range(1, rows.k + 1), True, key=too_much)  # the charge rises with t


def group_sizes(k: int, epsilon0: float) -> FloatArray:
    """Group sizes to where ``c (pt(c+1) - pt(c))`` only falls and failing is below exp(-25)."""
    a = math.exp(-epsilon0)
    reach = (
        max(k, math.ceil(2 * a / (1 - a))) + min(math.ceil(_TAIL_LENGTHS / epsilon0), _LARGEST_GROUP) + 3.0
    )
    return np.arange(0.0, reach)


def largest_mass_increase(k: int, epsilon0: float, gamma: float, noise: Noise = "discrete_laplace") -> float:
    """Most that one row adds to n times the pass rate."""
    # The largest over c of ``pt(c+1) + gamma c (pt(c+1) - pt(c))``: ``docs/explanation/proofs/seed_test.md``,
    # Lemma 3. At least 1.
    c = group_sizes(k, epsilon0)[max(0, k - 1) :]  # up to k - 1 both terms rise
    p = np.exp(log_pass_probability(np.append(c, c[-1] + 1), k, epsilon0, noise))
    steps = gamma * c * np.diff(p)
    return max(1.0, float((p[1:] + steps).max()), 1.0 + float(steps[-1]))
