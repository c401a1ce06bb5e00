"""Privacy loss of N rows released one by one under the randomised test, Privacy Test 2.

Two theorems, both in ``docs/explanation/proofs/seed_test.md``. *Fixed omega* (Theorem 1 there) is exact: a released
row tells no more than one toss of a coin, so N rows lose what Binomial(N, a1) against Binomial(N, a0) loses, at the
worst group size and pass rate. *Any model* (Theorem 2 there) covers the mixture over omega and every other seed-based
model, with gamma: the same coin, at likelihood ratio ``(1 + gamma/t) pt(t+1)/pt(t)``, after partitions smaller than t
are charged to delta.

Both hold for rows *released*: proposals are made until N are accepted, attempts stay secret, every candidate has a
fresh seed and a fresh threshold, the first N acceptances are returned in order and nothing is de-duplicated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sdv_plausible.privacy import checks as check
from sdv_plausible.privacy.accounting.bernoulli_pairs import BernoulliPairs
from sdv_plausible.privacy.accounting.theorem1 import Noise, check_noise, log_pass_probability

__all__ = [
    "FixedOmegaRows",
    "SeedTestLoss",
    "SeedTestRows",
    "fixed_omega_loss",
    "largest_feasible_t",
    "largest_mass_increase",
    "max_rows",
    "seed_test_loss",
]

FloatArray = npt.NDArray[np.float64]
_NEGLIGIBLE = 45.0  # groups whose rows appear with probability below exp(-45) are lumped together
_FINE, _COARSE = 1 / 400, 1 / 50  # relative inflation of the log likelihood ratio by the cover
_LARGEST_GROUP = 20_000_000


class SeedTestLoss(NamedTuple):
    """Loss of N released rows under the any-model theorem, and the t at which it is smallest."""

    epsilon: float
    delta: float
    t: int


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """Parameters shared by the two kinds of row-by-row loss."""

    num_rows: int
    k: int
    epsilon0: float
    pass_rate_floor: float
    n_lower: int
    noise: Noise = "discrete_laplace"

    def __post_init__(self) -> None:
        check.whole("num_rows", self.num_rows, 1, "it is the number of rows released, or the declared cap")
        check.whole("k", self.k, 1, "it is a number of plausible seeds; try 50")
        check.positive("epsilon0", self.epsilon0, "try 1.0")
        check.rate("pass_rate_floor", self.pass_rate_floor, "it bounds the probability that one attempt is released")
        check.whole("n_lower", self.n_lower, 1, "it bounds the number of seeds from below")
        check_noise(self.noise)
        if self.k + 2 / self.epsilon0 > _LARGEST_GROUP:
            raise ValueError(
                f"k ({self.k}) + 2/epsilon0 ({self.epsilon0!r}) must be below {_LARGEST_GROUP:,}: the worst group is "
                f"looked for up to that size; lower k or raise epsilon0"
            )

    @property
    def count(self) -> int:
        """Uses: one, because the N rows are composed already."""
        return 1

    @property
    def _passing_seeds(self) -> float:
        """Lower bound on the number of seeds times the pass rate."""
        return self.n_lower * self.pass_rate_floor


@dataclass(frozen=True, kw_only=True)
class FixedOmegaRows(_Rows):
    """N released rows with one fixed omega: candidates keep a prefix of the seed, k' is the prefix group's size.

    Parameters
    ----------
    num_rows : int
        Rows released in total, or the declared cap, >= 1. All calls with the same omega, order, k and epsilon0
        together.
    k, epsilon0 : int, float
        Privacy Test 2.
    pass_rate_floor : float
        Lower bound in (0, 1] on the probability that one attempt is released, true for both neighbours; with
        conditions, on the probability that it passes *and* meets the condition.
    n_lower : int
        Lower bound on the number of seeds of the smaller neighbour, >= 1.
    noise : {"discrete_laplace", "laplace"}
        Noise of the threshold.
    """

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon at the given delta in (0, 1): exact up to 0.25 % above, never below."""
        delta = check.open_probability("delta", delta)
        if self._empty_group_delta() > delta:
            return math.inf
        return float(self._worst_pairs(_FINE).epsilon(self.num_rows, delta).max())

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Delta at every epsilon >= 0, for removing and for adding: pointwise the largest over all group sizes.

        One pair of neighbours fixes one group; the pointwise maximum may be composed with anything else.
        """
        remove, add = self._worst_pairs(_COARSE).profile(self.num_rows, np.asarray(epsilon, dtype=np.float64))
        empty = self._empty_group_delta()
        return np.maximum(remove, empty), np.maximum(add, empty)

    def _empty_group_delta(self) -> float:
        """Case c = 0: the new row alone makes its group, whose rows cannot appear without it."""
        log_one = float(log_pass_probability(1, self.k, self.epsilon0, self.noise))
        probability = min(1.0, math.exp(log_one) / ((self.n_lower + 1) * self.pass_rate_floor))
        return 1.0 if probability == 1 else -math.expm1(self.num_rows * math.log1p(-probability))

    def _worst_pairs(self, resolution: float) -> BernoulliPairs:
        """Return finitely many coins that dominate the coin of every neighbour pair with c >= 1."""
        a = math.exp(-self.epsilon0)
        # Above the peak of the mass increase both the ratio and the increase fall with c: no larger group is worse.
        c = np.arange(1.0, max(self.k, math.ceil(2 * a / (1 - a))) + 3)
        log_p = log_pass_probability(np.append(c, c[-1] + 1), self.k, self.epsilon0, self.noise)
        log_r = np.log1p(1 / c) + np.diff(log_p)
        log_increase = log_p[:-1] + np.log(c) + np.log(np.expm1(log_r))
        peak = int(np.argmax(log_increase)) + 1
        floor = math.log(self._passing_seeds / self.num_rows) - _NEGLIGIBLE
        first, last = _blocks(log_r[:peak], np.maximum(log_increase[:peak], floor), resolution)
        odds = np.exp(np.maximum(log_increase[last], floor) - math.log(self._passing_seeds))
        return _cover(log_r[first], np.log1p(odds), resolution)


@dataclass(frozen=True, kw_only=True)
class SeedTestRows(_Rows):
    """N released rows of any seed-based model under Privacy Test 2.

    Parameters
    ----------
    gamma : float
        Partition width; 1 where all records that can produce a candidate are equally likely to (a mixture over omega
        with omega known to the test, such as a range drawn afresh for every candidate), else > 1.
    t : int
        Partitions below t are charged to delta, >= 1; see :func:`seed_test_loss` for the best.
    num_rows, k, epsilon0, pass_rate_floor, n_lower, noise
        As in :class:`FixedOmegaRows`.
    """

    gamma: float
    t: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check.at_least("gamma", self.gamma, 1.0, "it is a factor; 1 for known omega")
        check.whole("t", self.t, 1)

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon at the given delta in (0, 1) that this t proves."""
        delta = check.open_probability("delta", delta)
        small = self.small_partition_delta()
        if small >= delta:
            return math.inf
        pairs = self._pairs(_FINE)
        return self._shift() + float(pairs.epsilon(self.num_rows, (delta - small) / (1 - small)).max())

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Delta at every epsilon >= 0, for removing and for adding."""
        small = self.small_partition_delta()
        if small == 1:
            return np.ones(np.shape(epsilon)), np.ones(np.shape(epsilon))
        shifted = np.maximum(np.asarray(epsilon, dtype=np.float64) - self._shift(), 0.0)
        remove, add = self._pairs(_COARSE).profile(self.num_rows, shifted)
        return np.minimum(1.0, small + remove), np.minimum(1.0, small + add)

    def _small(self) -> float:
        """Probability that one released row comes through a partition below t."""
        log_t = float(log_pass_probability(self.t, self.k, self.epsilon0, self.noise))
        return min(1.0, (1 + self.gamma * (self.t - 1)) * math.exp(log_t) / self._passing_seeds)

    def small_partition_delta(self) -> float:
        """Probability that any of the rows comes through a partition below t."""
        small = self._small()
        return 1.0 if small == 1 else -math.expm1(self.num_rows * math.log1p(-small))

    def _shift(self) -> float:
        """Conditioning on "no small partition" moves epsilon by this much."""
        return -self.num_rows * math.log1p(-self._small())

    def _pairs(self, resolution: float) -> BernoulliPairs:
        log_p = log_pass_probability([self.t, self.t + 1.0], self.k, self.epsilon0, self.noise)
        log_r = math.log1p(self.gamma / self.t) + float(log_p[1] - log_p[0])
        increase = largest_mass_increase(self.k, self.epsilon0, self.gamma, self.noise)
        odds = increase / (self._passing_seeds * (1 - self._small()))
        return _cover(np.array([log_r]), np.log1p(np.array([odds])), resolution)


def fixed_omega_loss(
    *,
    num_rows: int,
    k: int,
    epsilon0: float,
    delta: float,
    pass_rate_floor: float,
    n_lower: int,
    noise: Noise = "discrete_laplace",
) -> float:
    """Total epsilon at `delta` of N rows released under Privacy Test 2 with one fixed omega.

    The largest over both directions, every group size c >= 0, every pass rate of at least `pass_rate_floor` and every
    number of seeds of at least `n_lower` (``docs/explanation/proofs/seed_test.md``, Theorem 1). The cost of *making*
    the floor true comes on top: :func:`sdv_plausible.privacy.accounting.pass_rate.row_by_row_loss`.

    Parameters
    ----------
    num_rows, k, epsilon0, pass_rate_floor, n_lower, noise
        As in :class:`FixedOmegaRows`.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        At most 0.25 % above the exact value, never below; infinity where the empty group alone exceeds delta.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    rows = FixedOmegaRows(
        num_rows=num_rows, k=k, epsilon0=epsilon0, pass_rate_floor=pass_rate_floor, n_lower=n_lower, noise=noise
    )
    return rows.epsilon(delta)


def seed_test_loss(
    *,
    num_rows: int,
    k: int,
    gamma: float,
    epsilon0: float,
    delta: float,
    pass_rate_floor: float,
    n_lower: int,
    noise: Noise = "discrete_laplace",
) -> SeedTestLoss:
    """Total epsilon at `delta` of N rows released under Privacy Test 2 by any seed-based model, at the best t.

    ``docs/explanation/proofs/seed_test.md``, Theorem 2. Every t gives a valid bound, so the search over t need not be
    complete.

    Parameters
    ----------
    num_rows, k, gamma, epsilon0, pass_rate_floor, n_lower, noise
        As in :class:`SeedTestRows`.
    delta : float
        In (0, 1).

    Returns
    -------
    SeedTestLoss
        ``(epsilon, delta, t)``; epsilon is infinite where no t is charged less than delta.
    """

    def rows(t: int) -> SeedTestRows:
        return SeedTestRows(
            num_rows=num_rows,
            k=k,
            gamma=gamma,
            epsilon0=epsilon0,
            t=t,
            pass_rate_floor=pass_rate_floor,
            n_lower=n_lower,
            noise=noise,
        )

    check.open_probability("delta", delta)
    highest = largest_feasible_t(rows(1), delta)
    if highest == 0:
        return SeedTestLoss(math.inf, delta, 1)
    # delta falls by the factor exp(-epsilon0) per step down: the best t leaves it a small share, a few 1/epsilon0
    # below.
    candidates = sorted({max(1, highest - round(step / (4 * epsilon0))) for step in range(25)})
    return min(SeedTestLoss(rows(t).epsilon(delta), delta, t) for t in candidates)


def largest_feasible_t(rows: SeedTestRows, delta: float) -> int:
    """Largest t up to k whose small partitions are charged less than delta, 0 if there is none."""

    def fits(t: int) -> bool:
        return replace(rows, t=t).small_partition_delta() < delta

    return _last_true(fits, 1, rows.k) if fits(1) else 0


def max_rows(*, epsilon: float, delta: float, loss: Callable[[int], float], limit: int = 10**9) -> int:
    """Largest number of rows whose loss stays within (epsilon, delta), 0 if not even one row does.

    Parameters
    ----------
    epsilon, delta : float
        The target; epsilon > 0. `delta` is only used in error texts: it belongs into `loss`.
    loss : callable
        Maps a number of rows to its total epsilon at that delta, such as a partial :func:`fixed_omega_loss`. More
        rows never cost less.
    limit : int
        Where the search stops.
    """
    epsilon = check.positive("epsilon", epsilon)
    check.open_probability("delta", delta)
    if loss(1) > epsilon:
        return 0
    high = 2
    while high < limit and loss(high) <= epsilon:
        high *= 2
    return _last_true(lambda n: loss(n) <= epsilon, high // 2, min(high, limit))


def largest_mass_increase(k: int, epsilon0: float, gamma: float, noise: Noise = "discrete_laplace") -> float:
    """Most that one row adds to n times the pass rate: the largest over c of ``pt(c+1) + gamma c (pt(c+1) - pt(c))``.

    ``docs/explanation/proofs/seed_test.md``, Lemma 3. At least 1.
    """
    a = math.exp(-epsilon0)
    # Up to k - 1 both terms rise; past the end of the range the second one only falls, and the first stays below 1.
    reach = max(k, math.ceil(2 * a / (1 - a))) + min(math.ceil(25 / epsilon0), _LARGEST_GROUP) + 3.0
    c = np.arange(max(0.0, k - 1.0), reach)
    p = np.exp(log_pass_probability(np.append(c, c[-1] + 1), k, epsilon0, noise))
    steps = gamma * c * np.diff(p)
    return max(1.0, float((p[1:] + steps).max()), 1.0 + float(steps[-1]))


def _blocks(log_r: FloatArray, log_increase: FloatArray, resolution: float) -> tuple[npt.NDArray[np.int64], ...]:
    """Find runs of sizes over which ratio and increase change by less than `resolution`: their first and last index."""
    keys = np.stack([np.floor(np.log(log_r) / resolution), np.floor(log_increase / resolution)])
    breaks = np.flatnonzero(np.any(np.diff(keys, axis=1) != 0, axis=0))
    first = np.concatenate([[0], breaks + 1])
    last = np.concatenate([breaks, [len(log_r) - 1]])
    return first, last


def _cover(log_r: FloatArray, log_odds: FloatArray, resolution: float) -> BernoulliPairs:
    """Coins that dominate every coin with log likelihood ratios (ln r - u, -u), 0 < u <= min(log_odds, ln r).

    The range of u is cut into pieces short against ln r; the coin with ratios (ln r - start, -end) dominates a piece.
    """
    top = np.minimum(log_odds, log_r)
    pieces = np.maximum(1, np.ceil(top / (resolution * log_r)).astype(np.int64))
    which = np.repeat(np.arange(len(log_r)), pieces)
    position = np.arange(len(which)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    start = top[which] * position / pieces[which]
    end = top[which] * (position + 1) / pieces[which]
    return BernoulliPairs(log_high=log_r[which] - start, log_low=-end).undominated()


def _last_true(condition: Callable[[int], bool], low: int, high: int) -> int:
    """Largest integer in [low, high] for which a condition holds that is true at low and, once false, stays false."""
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if condition(middle) else (low, middle - 1)
    return low
