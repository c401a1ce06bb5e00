"""Total loss of one call under the randomised test, what makes the pass-rate floor true included.

Proofs: ``docs/explanation/proofs/pass_rate.md``.
"""

import math
from dataclasses import dataclass

from sdv_plausible.privacy import checks as check
from sdv_plausible.privacy.accounting.crossing import smallest_within
from sdv_plausible.privacy.accounting.released_rows import released_rows_loss
from theory.fixed_omega import fixed_omega_loss
from theory.pass_rate_test import PassRateTest, pass_rate_step, plan_attempts

__all__ = ["RowByRowLoss", "row_by_row_loss"]

_FAILURE_SHARES = (1e-3, 0.1, 0.5)  # shares of delta kept for failing being likelier
_LARGEST_EPSILON = 1e4  # beyond it nothing is protected


@dataclass(frozen=True, kw_only=True)
class RowByRowLoss:
    """Total loss of N rows released under the randomised test, the floor's own cost included.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee.
    rows_epsilon : float
        Loss of the rows alone, were the pass rate known to be at or above the floor.
    attempts : int or None
        Budget T of attempts for the charged test; None for a floor by construction.
    t : int or None
        Where small partitions are cut off, for the any-model theorem; None for the exact loss of a fixed
        omega.
    """

    epsilon: float
    delta: float
    rows_epsilon: float
    attempts: int | None
    t: int | None


def row_by_row_loss(
    *,
    num_rows,
    k,
    epsilon0,
    delta,
    pass_rate_floor,
    n_lower,
    gamma=None,
    by_construction=False,
    noise="discrete_laplace",
):
    """Total loss of one call that releases N rows under Privacy Test 2, the floor's own cost included.

    The pass rate is cut into slabs: where the rows would be worst, near the floor, they are hardly ever
    released (``docs/explanation/proofs/pass_rate.md``, Theorem 2, at beta = delta).

    Parameters
    ----------
    num_rows, k, epsilon0, pass_rate_floor, n_lower, noise
        As in :class:`sdv_plausible.privacy.accounting.released_rows.RowByRow`.
    delta : float
        Delta of the total, in (0, 1).
    gamma : float, optional
        None: one fixed omega, exact. 1: a range of omega drawn afresh for every candidate. Above 1: any
        model.
    by_construction : bool
        Whether the floor is by construction
        (:func:`sdv_plausible.privacy.accounting.theorem1.floor_by_construction`); needs ``gamma >= 1``,
        because omega varies.

    Returns
    -------
    RowByRowLoss
        With the budget of attempts that goes with it; epsilon is infinite where delta is out of reach.

    Raises
    ------
    ValueError
        If a parameter is out of range, or the floor cannot be proved with so few rows
        (:func:`theory.pass_rate_test.plan_attempts`).
    """
    delta = check.share_of_delta("delta", delta)
    if by_construction and gamma is None:
        raise ValueError(
            "gamma (None) must be at least 1 when by_construction is set: omega varies between candidates"
        )

    def rows(floor, allowed):
        common = {
            "num_rows": num_rows, "k": k, "epsilon0": epsilon0, "delta": allowed,
            "pass_rate_floor": floor, "n_lower": n_lower, "noise": noise,
        }  # fmt: skip
        if gamma is None:
            return fixed_omega_loss(**common), None
        best = released_rows_loss(gamma=gamma, **common)
        return best.epsilon, best.t

    alone, t = rows(pass_rate_floor, delta)
    if by_construction:
        return RowByRowLoss(epsilon=alone, delta=delta, rows_epsilon=alone, attempts=None, t=t)
    step = pass_rate_step(k, epsilon0, n_lower, gamma=gamma or 1.0, noise=noise)
    attempts = plan_attempts(num_rows, pass_rate_floor, step, delta)
    test = PassRateTest(num_rows=num_rows, attempts=attempts, pass_rate_floor=pass_rate_floor, step=step)
    # The smallest share that does not decide the total; with very few rows failing decides it.
    total, share = min((max(alone, _floor_for_failure(test, delta * s)), s) for s in _FAILURE_SHARES)
    total = _floor_for_failure(test, delta * share)
    allowed = delta * (1 - share)
    for floor, likeliest, log_ratio in test.slabs(allowed):
        total = max(total, rows(floor, allowed / likeliest)[0] + log_ratio)
    return RowByRowLoss(epsilon=total, delta=delta, rows_epsilon=alone, attempts=attempts, t=t)


def _floor_for_failure(test, allowed):
    """Smallest epsilon, within 1e-4, at which failing gives away at most `allowed`."""
    upper = 1.0
    while float(test.failure_delta(upper)) > allowed:
        upper *= 2
        if upper > _LARGEST_EPSILON:
            return math.inf
    return smallest_within(lambda epsilon: float(test.failure_delta(epsilon)), allowed, 0.0, upper, rtol=1e-5)
