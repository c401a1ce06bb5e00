"""From a target (epsilon, delta) and a number of rows to the parameters of the randomised test."""

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from functools import lru_cache

from scipy.optimize import minimize_scalar

from sdv_plausible.privacy import checks as check
from sdv_plausible.privacy.accounting.crossing import largest_within
from sdv_plausible.privacy.accounting.released_rows import ReleasedRows, largest_feasible_t
from sdv_plausible.privacy.accounting.theorem1 import Noise, floor_by_construction
from theory.fixed_omega import FixedOmegaRows
from theory.row_by_row import row_by_row_loss

__all__ = ["Calibration", "NotReachableError", "calibrate", "max_rows"]

_SMALLEST_EPSILON0, _LARGEST_EPSILON0, _LARGEST_K = 1e-3, 8.0, 10_000


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

    def __init__(self, message, *, epsilon, k, epsilon0, num_rows):
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

    def floor(self, k, epsilon0):
        if not self.by_construction:
            return self.pass_rate_floor
        return floor_by_construction(self.pass_rate_floor, k, epsilon0, self.n_lower, noise=self.noise)

    def rows_epsilon(self, k, epsilon0):
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
        general = ReleasedRows(**vars(rows), gamma=self.gamma, t=1)
        t = largest_feasible_t(general, self.delta / 8)
        return math.inf if t == 0 else replace(general, t=t).epsilon(self.delta)

    def total(self, k, epsilon0):
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

    def largest_epsilon0(self, k, target, start):
        """Largest epsilon0 whose loss stays within the target, from one that does."""
        low, high = start, 2 * start
        while high < _LARGEST_EPSILON0 and self.rows_epsilon(k, high) <= target:
            low, high = high, 2 * high
        return largest_within(lambda epsilon0: self.rows_epsilon(k, epsilon0), target, low, high, rtol=1e-5)


@lru_cache(maxsize=512)
def _best_epsilon0(search, k):
    """(epsilon, epsilon0) of the smallest loss at this k: the loss first falls with epsilon0, then rises."""

    def loss(log_epsilon0):
        value = search.rows_epsilon(k, math.exp(log_epsilon0))
        # Infinite where the noise is too wide to hide a group of one: then go right.
        return value if math.isfinite(value) else 1e9 - log_epsilon0

    bounds = (math.log(_SMALLEST_EPSILON0), math.log(_LARGEST_EPSILON0))
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 0.01})
    epsilon0 = math.exp(found.x)
    return search.rows_epsilon(k, epsilon0), epsilon0


def calibrate(
    *,
    epsilon,
    delta,
    num_rows,
    n_lower,
    pass_rate_floor,
    k=None,
    max_k=None,
    gamma=None,
    by_construction=False,
    noise="discrete_laplace",
):
    """Find k and epsilon0 of Privacy Test 2 for a target total over all rows, the floor's cost included.

    Without `k`: the smallest k that meets the target, at its best epsilon0. With `k`: the largest epsilon0,
    so the sharpest threshold, that meets it.

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
        Largest k to try; by default `n_lower`, but not above 10,000.
    gamma : float, optional
        None for one fixed omega, 1 for a range of omega, above 1 for any model.
    by_construction : bool
        Whether the floor is by construction (needs gamma of at least 1).
    noise : {"discrete_laplace", "laplace"}
        Noise of the threshold.

    Returns
    -------
    Calibration
        Parameters whose :func:`theory.row_by_row.row_by_row_loss` meets the target.

    Raises
    ------
    NotReachableError
        If no parameters meet the target; it holds the nearest.
    ValueError
        If a parameter is out of range.
    """
    epsilon = check.positive("epsilon", epsilon, "it is the target for all rows together")
    search = _Search(
        delta=check.share_of_delta("delta", delta),
        num_rows=check.whole("num_rows", num_rows, 1),
        n_lower=check.whole("n_lower", n_lower, 1),
        pass_rate_floor=check.open_probability("pass_rate_floor", pass_rate_floor),
        gamma=gamma,
        by_construction=by_construction,
        noise=noise,
    )
    fixed = None if k is None else check.whole("k", k, 1)
    top = fixed or min(n_lower, _LARGEST_K if max_k is None else check.whole("max_k", max_k, 1))
    target, answer = epsilon, None
    for _ in range(5):
        chosen = _smallest_k(search, target, fixed or 1, top)
        loss, epsilon0 = _best_epsilon0(search, chosen)
        if loss > target and answer is None and search.total(chosen, epsilon0).epsilon > epsilon:
            break
        if fixed and loss <= target:
            epsilon0 = search.largest_epsilon0(chosen, target, epsilon0)
        found = search.total(chosen, epsilon0)
        if found.epsilon <= epsilon:
            answer = Calibration(
                k=chosen,
                epsilon0=epsilon0,
                t=found.t,
                epsilon=found.epsilon,
                delta=delta,
                attempts=found.attempts,
            )
            if found.epsilon > 0.995 * epsilon:
                break
        # The search looks at the rows at the floor; what making the floor true costs or saves shifts its
        # target.
        target *= 0.999 * epsilon / found.epsilon
    if answer is None:
        raise _not_reachable(search, epsilon, top)
    return answer


def max_rows(*, epsilon, delta, loss, limit=10**9):
    """Largest number of rows whose loss stays within (epsilon, delta), 0 if not even one row does.

    Parameters
    ----------
    epsilon, delta : float
        The target; epsilon > 0. `delta` is only used in error texts: it belongs into `loss`.
    loss : callable
        Maps a number of rows to its total epsilon at that delta, such as a partial
        :func:`theory.fixed_omega.fixed_omega_loss`. More rows never cost less.
    limit : int
        Where the search stops.
    """
    epsilon = check.positive("epsilon", epsilon)
    check.share_of_delta("delta", delta)
    if loss(1) > epsilon:
        return 0
    high = 2
    while high < limit and loss(high) <= epsilon:
        high *= 2
    return bisect_right(range(1, min(high, limit) + 1), epsilon, key=loss)


def _smallest_k(search, target, low, top):
    """Smallest k from `low` up whose best loss meets the target, or `top`; the best loss falls as k grows."""
    high = low
    while high < top and _best_epsilon0(search, high)[0] > target:
        low, high = high + 1, min(2 * high, top)
    return low + bisect_left(range(low, high), True, key=lambda k: _best_epsilon0(search, k)[0] <= target)


def _not_reachable(search, epsilon, k):
    best, epsilon0 = _best_epsilon0(search, k)
    fewer = max_rows(
        epsilon=epsilon,
        delta=search.delta,
        loss=lambda rows: replace(search, num_rows=rows).rows_epsilon(k, epsilon0),
        limit=search.num_rows,
    )
    nearest = search.total(k, epsilon0).epsilon if math.isfinite(best) else best
    return NotReachableError(
        f"epsilon {epsilon:.4g} at delta {search.delta:.3g} is not reachable: with n = {search.n_lower:,} "
        "seeds, "
        f"{search.num_rows:,} rows and a pass-rate floor of {search.pass_rate_floor}, the nearest is epsilon "
        f"{nearest:.4g} at k = {k}, epsilon0 = {epsilon0:.3g}; or release at most {fewer:,} rows, or use the "
        f"release-level test",
        epsilon=nearest,
        k=k,
        epsilon0=epsilon0,
        num_rows=fewer,
    )
