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
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.bernoulli_pairs import BernoulliPairs, cover
from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.accounting.gaussian import FloatArray
from sdv_plausible.privacy.accounting.losses import ApproxDP, InfiniteLoss, Loss
from sdv_plausible.privacy.accounting.paper_theorems import Noise, check_noise, log_pass_probability
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
                f"k ({self.k}) + 2/epsilon0 ({self.epsilon0!r}) must be below {_LARGEST_GROUP:,}: larger "
                "groups are not searched; lower k or raise epsilon0",
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


_T_TRIED = 40  # number of values of t tried


@dataclass(frozen=True, kw_only=True)
class CheckedRows(ReleasedRows):
    """N released rows under Privacy Test 2 where s freshly drawn seeds are checked per candidate.

    ``max_checked`` is s >= 1; counting stops at ``max_plausible`` >= 1 plausible seeds. Other parameters as
    for :class:`~sdv_plausible.privacy.accounting.released_rows.ReleasedRows`, for single rows.
    """

    max_checked: int  # seeds checked per candidate, s >= 1
    max_plausible: int  # plausible seeds at which counting stops, >= 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check.whole("max_checked", self.max_checked, 1)
        check.whole("max_plausible", self.max_plausible, 1)
        if self.unit != 1:
            raise ValueError(
                f"unit ({self.unit}) must be 1: the accounting of checked seeds supports single rows only"
            )

    @property
    def log_chance(self) -> float:
        """ln(1 + sigma (e^epsilon0 - 1)), sigma a bound on a new record's probability to be checked."""
        sigma = self.max_checked / (self.n_lower + 1) if self.max_checked <= self.n_lower else 1.0
        return math.log1p(sigma * math.expm1(self.epsilon0))

    @property
    def log_passes(self) -> np.ndarray:
        """Ln f(x) for x = 0..M: the probability to pass with x plausible seeds among the checked ones."""
        return log_pass_probability(np.arange(self.max_plausible + 1.0), self.k, self.epsilon0, self.noise)

    @property
    def displaced(self) -> float:
        """kappa, the largest x (1 - f(x-1)/f(x)): the loss when a new record displaces a plausible one."""
        falls = -np.expm1(-np.diff(self.log_passes))
        return float((np.arange(1, self.max_plausible + 1) * falls).max())

    @property
    def log_others(self) -> float:
        """-ln(1 - kappa/(n+1)): the largest fall of any other partition's log probability."""
        share = self.displaced / (self.n_lower + 1)
        return math.inf if share >= 1 else -math.log1p(-share)

    def _small_partition_probability(self) -> float:
        log_p = float(log_pass_probability(self.t, self.k, self.epsilon0, self.noise))
        if self.max_checked <= self.n_lower:  # not all are checked: a moment bound on the plausible ones
            at_zero = float(log_pass_probability(0, self.k, self.epsilon0, self.noise))
            sigma = self.max_checked / self.n_lower
            log_p = min(log_p, at_zero + self.t * math.log1p(sigma * math.expm1(self.epsilon0)))
        return min(1.0, (1 + self.gamma * (self.t - 1)) * math.exp(log_p) / self.passing_seeds)

    def _pairs(self, resolution: float) -> BernoulliPairs:
        log_r = self.log_chance + math.log1p(self.gamma / self.t) + self.log_others
        increase = 1 + self.gamma * self.displaced
        odds = increase / (self.passing_seeds * (1 - self._small_partition_probability()))
        return cover(np.array([log_r]), np.array([math.log1p(odds) + self.log_others]), resolution)


def checked_rows_loss(
    *,
    num_rows: int,
    k: int,
    gamma: float,
    epsilon0: float,
    delta: float,
    pass_rate_floor: float,
    n_lower: int,
    max_checked: int,
    max_plausible: int,
    noise: Noise = "discrete_laplace",
) -> tuple[Loss, float]:
    """Loss to charge for N rows where s seeds are checked, at the best t tried, and its epsilon.

    Infinite where delta is out of reach.
    """
    rows = CheckedRows(
        num_rows=num_rows, k=k, gamma=gamma, epsilon0=epsilon0, t=1, pass_rate_floor=pass_rate_floor,
        n_lower=n_lower, max_checked=max_checked, max_plausible=max_plausible, noise=noise,
    )  # fmt: skip
    if math.isinf(rows.log_others):
        return InfiniteLoss(), math.inf
    largest = largest_feasible_t(rows, delta, max_t=k * max(1, -(-n_lower // max_checked)))
    if largest == 0:
        return InfiniteLoss(), math.inf
    candidates = {max(1, round(largest * (1 - i / _T_TRIED) ** 2)) for i in range(_T_TRIED)}
    epsilon, best = min((replace(rows, t=t).epsilon(delta), t) for t in candidates)
    if epsilon > COMPOSED_UP_TO:
        return ApproxDP(epsilon=epsilon, delta=delta), epsilon
    return replace(rows, t=best), epsilon


_ROUNDING = 1e-15  # relative error of a line close to its zero
_LARGEST_RATIO = 700.0  # largest log likelihood ratio
_BELOW_ZERO = 40.0  # epsilon at which the line of all seeds is far below zero
_TRIED_UP_TO = 4 * COMPOSED_UP_TO  # in practice Theorem 3 gives at least a quarter of Theorem 2's epsilon


@dataclass(frozen=True, kw_only=True)
class IndependentRows(RowByRow):
    """N rows of any seed-based model under Privacy Test 2, as N uses of a single row."""

    gamma: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check.at_least("gamma", self.gamma, 1.0, "it is a factor; 1 for known omega")

    @property
    def count(self) -> int:
        """One use per row."""
        return self.num_rows

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Delta of one row at every epsilon >= 0, for removing and for adding."""
        eps = np.minimum(np.asarray(epsilon, dtype=np.float64), _LARGEST_RATIO)
        lines, v = _lines(self.k, self.epsilon0, self.gamma, self.noise), self.without_seed
        weight = (1 - v) * lines.highest(np.exp(eps))
        if v:
            log_p = float(log_pass_probability(self.n_lower, self.k, self.epsilon0, self.noise))
            all_seeds = min(self.n_lower * math.exp(log_p), self.passing_seeds / self.seed_free_share)
            line = self.without_seed_increase - np.expm1(np.minimum(eps, _BELOW_ZERO)) * all_seeds
            weight += v * np.maximum(line, 0.0)
        remove = np.minimum(1.0, weight / self.passing_seeds)
        mass = self.mass_increase(self.gamma)
        add = np.maximum(0.0, -np.expm1(eps - math.log1p(mass / self.passing_seeds)))
        return remove, add


class _UpperEnvelope(NamedTuple):
    """Upper envelope of lines ``intercept - slope x``, x >= 1.

    Holds only the lines that are highest somewhere, by increasing slope.
    """

    intercepts: FloatArray
    slopes: FloatArray
    crossings: FloatArray  # decreasing: right of the i-th, line i is above line i + 1
    beyond: tuple[float, float]  # upper bound of all further lines, and the x above which they are negative

    def highest(self, x: FloatArray) -> FloatArray:
        index = len(self.crossings) - np.searchsorted(self.crossings[::-1], x, side="right")
        rise, fall = self.intercepts[index], self.slopes[index] * x
        value = np.maximum(0.0, rise - fall) + _ROUNDING * rise
        result: FloatArray = np.maximum(value, np.where(x < self.beyond[1], self.beyond[0], 0.0))
        return result


@lru_cache(maxsize=8)
def _lines(k: int, epsilon0: float, gamma: float, noise: Noise) -> _UpperEnvelope:
    """One line for every group size c and each end of its likelihood, c/gamma and c gamma."""
    c = group_sizes(k, epsilon0)
    p = np.exp(log_pass_probability(np.append(c, c[-1] + 1), k, epsilon0, noise))
    others = np.concatenate([c / gamma, c * gamma])
    intercepts, slopes = np.tile(p[1:], 2) * (others + 1), np.tile(p[:-1], 2) * others
    order = np.lexsort((-intercepts, slopes))  # the highest of equally steep lines first
    intercepts, slopes = intercepts[order], slopes[order]
    keep = np.append(True, np.diff(slopes) > 0)
    intercepts, slopes = intercepts[keep], slopes[keep]
    rise = np.diff(intercepts) / np.diff(slopes)
    corners = isotonic_regression(rise, weights=np.diff(slopes), increasing=False).blocks
    intercepts, slopes = intercepts[corners], slopes[corners]
    last = c[-1] / gamma
    beyond = (1.0 + gamma * c[-1] * (p[-1] - p[-2]), p[-1] / p[-2] * (1 + 1 / last))
    return _UpperEnvelope(intercepts, slopes, np.diff(intercepts) / np.diff(slopes), beyond)


def rows_loss(
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
) -> tuple[Loss, float]:
    """Loss to charge for N rows of any seed-based model under Privacy Test 2, and its epsilon.

    The smaller of Theorem 2 at its best t and, for single rows added or removed, Theorem 3, each by its full
    profile. An (epsilon, delta) pair where that is beyond any protection, and for replacement. The choice
    depends on public parameters only. Infinite where delta is out of reach. Parameters as in
    :func:`~sdv_plausible.privacy.accounting.released_rows.released_rows_loss`.
    """
    theorem2 = released_rows_loss(
        num_rows=num_rows, k=k, gamma=gamma, epsilon0=epsilon0, delta=delta,
        pass_rate_floor=pass_rate_floor, n_lower=n_lower, noise=noise, neighbours=neighbours,
        seed_free_share=seed_free_share,
    )  # fmt: skip
    if math.isinf(theorem2.epsilon):
        return InfiniteLoss(), math.inf
    pair = ApproxDP(epsilon=theorem2.epsilon, delta=delta)
    theorem3, rows = math.inf, None
    if neighbours.rows == 1 and not neighbours.replace and theorem2.epsilon <= _TRIED_UP_TO:
        rows = IndependentRows(
            num_rows=num_rows, k=k, gamma=gamma, epsilon0=epsilon0,
            pass_rate_floor=pass_rate_floor, n_lower=n_lower, noise=noise, seed_free_share=seed_free_share,
        )  # fmt: skip
        theorem3 = compose([rows], delta)
    epsilon = min(theorem3, theorem2.epsilon)
    if epsilon > COMPOSED_UP_TO or neighbours.replace:
        return pair, theorem2.epsilon
    if rows is not None and theorem3 <= theorem2.epsilon:
        return rows, theorem3
    return ReleasedRows(
        num_rows=num_rows, k=k, gamma=gamma, epsilon0=epsilon0, t=theorem2.t, unit=neighbours.rows,
        pass_rate_floor=pass_rate_floor, n_lower=n_lower, noise=noise, seed_free_share=seed_free_share,
    ), theorem2.epsilon  # fmt: skip
