"""From a target (epsilon, delta) and a number of rows to the parameters of the randomised test."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting import Noise
from sdv_plausible.privacy.pass_rate import RowByRowLoss, floor_by_construction, row_by_row_loss
from sdv_plausible.privacy.seed_test import FixedOmegaRows, SeedTestRows, largest_feasible_t, max_rows

__all__ = ["Calibration", "NotReachableError", "calibrate"]

_SMALLEST_EPSILON0, _LARGEST_EPSILON0 = 1e-3, 8.0


class NotReachableError(ValueError):
    """No parameters of the randomised test meet the target.

    Attributes
    ----------
    epsilon : float
        Smallest total epsilon that was found.
    k, epsilon0 : int, float
        The parameters that give it.
    num_rows : int
        Most rows that meet the target at these parameters, without the cost of the pass-rate floor.
    """

    def __init__(self, message: str, *, epsilon: float, k: int, epsilon0: float, num_rows: int) -> None:
        super().__init__(message)
        self.epsilon, self.k, self.epsilon0, self.num_rows = epsilon, k, epsilon0, num_rows


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Parameters of the randomised test that meet a target.

    Parameters
    ----------
    k : int
        Centre of the threshold.
    epsilon0 : float
        Inverse scale of its noise.
    t : int or None
        Where small partitions are cut off; None for the exact loss of a fixed omega.
    epsilon, delta : float
        Total loss of all rows, the floor's cost included.
    attempts : int or None
        Budget of attempts of the charged pass-rate test; None for a floor by construction.
    """

    k: int
    epsilon0: float
    t: int | None
    epsilon: float
    delta: float
    attempts: int | None


@dataclass(frozen=True, kw_only=True)
class _Search:
    """The rows to account for, and how."""

    delta: float
    num_rows: int
    n_lower: int
    pass_rate_floor: float
    gamma: float | None
    by_construction: bool
    noise: Noise

    def floor(self, k: int, epsilon0: float) -> float:
        if not self.by_construction:
            return self.pass_rate_floor
        return floor_by_construction(self.pass_rate_floor, k, epsilon0, self.n_lower, noise=self.noise)

    def rows_epsilon(self, k: int, epsilon0: float) -> float:
        """Loss of the rows at the floor: what the search minimises, because it is quick."""
        rows = FixedOmegaRows(
            num_rows=self.num_rows,
            k=k,
            epsilon0=epsilon0,
            pass_rate_floor=self.floor(k, epsilon0),
            n_lower=self.n_lower,
            noise=self.noise,
        )
        if self.gamma is None:
            return rows.epsilon(self.delta)
        general = SeedTestRows(**vars(rows), gamma=self.gamma, t=1)
        t = largest_feasible_t(general, self.delta / 8)
        return math.inf if t == 0 else replace(general, t=t).epsilon(self.delta)

    def total(self, k: int, epsilon0: float) -> RowByRowLoss:
        """Loss with the floor's own cost: what the answer must meet."""
        return row_by_row_loss(
            num_rows=self.num_rows,
            k=k,
            epsilon0=epsilon0,
            delta=self.delta,
            pass_rate_floor=self.floor(k, epsilon0),
            n_lower=self.n_lower,
            gamma=self.gamma,
            by_construction=self.by_construction,
            noise=self.noise,
        )

    def best_epsilon0(self, k: int) -> tuple[float, float]:
        """(epsilon, epsilon0) of the smallest loss at this k."""
        grid = np.geomspace(_SMALLEST_EPSILON0, _LARGEST_EPSILON0, 28)
        for _ in range(3):
            losses = [self.rows_epsilon(k, float(e)) for e in grid]
            at = int(np.argmin(losses))
            best = losses[at], float(grid[at])
            if not math.isfinite(best[0]):
                return best
            grid = np.geomspace(grid[max(0, at - 1)], grid[min(len(grid) - 1, at + 1)], 9)
        return best

    def largest_epsilon0(self, k: int, target: float, start: float) -> float:
        """Largest epsilon0 whose loss stays within the target, from one that does."""
        low, high = start, 2 * start
        while high < _LARGEST_EPSILON0 and self.rows_epsilon(k, high) <= target:
            low, high = high, 2 * high
        for _ in range(20):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self.rows_epsilon(k, middle) <= target else (low, middle)
        return low


def calibrate(
    *,
    epsilon: float,
    delta: float,
    num_rows: int,
    n_lower: int,
    pass_rate_floor: float,
    k: int | None = None,
    max_k: int | None = None,
    gamma: float | None = None,
    by_construction: bool = False,
    noise: Noise = "discrete_laplace",
) -> Calibration:
    """Find k and epsilon0 of Privacy Test 2 for a target total over all rows, the pass-rate floor's cost included.

    Without `k`: the smallest k that meets the target, at its best epsilon0. With `k`: the largest epsilon0, so the sharpest
    threshold, that meets it.

    Parameters
    ----------
    epsilon, delta : float
        Target of the total; epsilon > 0, delta in (0, 1).
    num_rows : int
        Rows to be released in total, >= 1.
    n_lower : int
        Lower bound on the number of seeds of the smaller neighbour, >= 1.
    pass_rate_floor : float
        Declared floor on the pass rate, in (0, 1); with `by_construction` the weight of seed-free candidates.
    k : int, optional
        Fixed centre of the threshold.
    max_k : int, optional
        Largest k to try; by default `n_lower`.
    gamma : float, optional
        None for one fixed omega, 1 for a range of omega, above 1 for any model.
    by_construction : bool
        Whether the floor is by construction (needs gamma of at least 1).
    noise : {"discrete_laplace", "laplace"}
        Noise of the threshold.

    Returns
    -------
    Calibration
        Parameters whose :func:`sdv_plausible.privacy.pass_rate.row_by_row_loss` meets the target.

    Raises
    ------
    NotReachableError
        If no parameters meet the target; it holds the nearest.
    ValueError
        If a parameter is out of range.
    """
    epsilon = check.positive("epsilon", epsilon, "it is the target for all rows together")
    search = _Search(
        delta=check.open_probability("delta", delta),
        num_rows=check.whole("num_rows", num_rows, 1),
        n_lower=check.whole("n_lower", n_lower, 1),
        pass_rate_floor=check.open_probability("pass_rate_floor", pass_rate_floor),
        gamma=gamma,
        by_construction=by_construction,
        noise=noise,
    )
    top = check.whole("k", k, 1) if k is not None else min(max_k or n_lower, n_lower)
    target = epsilon
    for _ in range(6):
        best, epsilon0 = search.best_epsilon0(top)
        if best > target:
            break
        chosen = top if k is not None else _smallest_k(search, target, top)
        epsilon0 = search.best_epsilon0(chosen)[1]
        if k is not None:
            epsilon0 = search.largest_epsilon0(chosen, target, epsilon0)
        found = search.total(chosen, epsilon0)
        if found.epsilon <= epsilon:
            return Calibration(
                k=chosen, epsilon0=epsilon0, t=found.t, epsilon=found.epsilon, delta=delta, attempts=found.attempts
            )
        target *= 0.999 * epsilon / found.epsilon  # the search left out what the floor costs
    raise _not_reachable(search, epsilon, top)


def _smallest_k(search: _Search, target: float, top: int) -> int:
    """Smallest k whose best loss meets the target; the best loss falls as k grows, and is met at `top`."""
    low, high = 0, 1
    while high < top and search.best_epsilon0(high)[0] > target:
        low, high = high, 2 * high
    high = min(high, top)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if search.best_epsilon0(middle)[0] <= target else (middle, high)
    return high


def _not_reachable(search: _Search, epsilon: float, k: int) -> NotReachableError:
    best, epsilon0 = search.best_epsilon0(k)
    fewer = max_rows(
        epsilon=epsilon,
        delta=search.delta,
        loss=lambda rows: replace(search, num_rows=rows).rows_epsilon(k, epsilon0),
        limit=search.num_rows,
    )
    nearest = search.total(k, epsilon0).epsilon if math.isfinite(best) else best
    return NotReachableError(
        f"epsilon {epsilon:.4g} at delta {search.delta:.3g} is not reachable: with n = {search.n_lower:,} seeds, "
        f"{search.num_rows:,} rows and a pass-rate floor of {search.pass_rate_floor}, the nearest is epsilon {nearest:.4g} at "
        f"k = {k}, epsilon0 = {epsilon0:.3g}; or release at most {fewer:,} rows, or use the release-level test",
        epsilon=nearest,
        k=k,
        epsilon0=epsilon0,
        num_rows=fewer,
    )
