"""Margins of the release-level test's noisy sizes and of a lower bound on the number of rows.

Proofs: ``docs/explanation/proofs/release_test.md`` for one row that is added or removed, ``persons.md`` for
all rows of one person and for replacement.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from functools import lru_cache

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours

_DIGITS = 60  # beyond the size of the quantity: a decision is wrong only where two numbers agree in 50 digits
_SLACK = Decimal("1e-50")  # the margin is then on the safe side


def release_margin(epsilon0: float, delta: float, neighbours: Neighbours = ONE_ROW) -> int:
    """Smallest margin s >= 1 that hides groups added by one unit, except with probability delta.

    For one row: ``Pr[Z >= s] = a^s/(1 + a) <= delta``, Z discrete Laplace, ``a = exp(-epsilon0)``. For a unit
    of c rows ``max(c a^s, a^(s+1-c))/(1 + a)``, with ``a = exp(-epsilon0/L1)``: either c groups get one row
    each, or one group gets them all. Where a unit is replaced, twice that
    (``docs/explanation/proofs/persons.md``, Theorem 4).

    Computed in decimal arithmetic for the exact values of the two doubles: in double precision the margin is
    one too small or too large where delta is close to a tail probability.
    """
    epsilon0 = check.positive("epsilon0", epsilon0, "it is the loss of the noisy sizes; try 1.0")
    delta = check.share_of_delta("delta", delta, "try 1e-9")
    rows, sides = neighbours.rows, 2 if neighbours.replace else 1
    per_step = neighbours.histogram_l1
    spread = _margin(epsilon0, delta, per_step, sides * rows)
    return spread if rows == 1 else max(spread, _margin(epsilon0, delta, per_step, sides) + rows - 1)


@lru_cache(maxsize=64)
def _margin(epsilon0: float, delta: float, per_step: int, events: int) -> int:
    """Smallest s >= 1 with ``events a^s/(1 + a) <= delta``, ``a = exp(-epsilon0/per_step)``."""
    exact = _arithmetic(epsilon0, per_step)
    rate = exact.divide(Decimal(epsilon0), Decimal(per_step))
    decay_needed = exact.subtract(_log_at_zero(exact, rate), exact.ln(Decimal(delta)))
    decay_needed = exact.add(decay_needed, exact.ln(Decimal(events)))
    steps = exact.add(exact.divide(decay_needed, rate), _SLACK)
    return max(1, math.ceil(steps))


def size_lower_bound_margin(epsilon: float, beta: float, neighbours: Neighbours = ONE_ROW) -> int:
    """Margin to subtract from a noisy number of rows for a lower bound that may be made public."""
    # The number of rows n gets discrete Laplace noise of scale c/epsilon, c the rows of one unit. With margin
    # s the event "bound above the size of the smaller neighbour" has probability at most ``a^(s+1-c)/(1 + a)
    # <= beta`` under both neighbours, ``a = exp(-epsilon/c)``. Charge ``(epsilon, beta)``
    # (``docs/explanation/proofs/conditional_release.md``, Remark 4).
    epsilon = check.positive("epsilon", epsilon, "it is the loss of the noisy number of rows; try 0.1")
    beta = check.open_probability("beta", beta, "try 1e-11")
    return _margin(epsilon, beta, neighbours.rows, 1) + neighbours.rows - 1


def _log_at_zero(exact: Context, rate: Decimal) -> Decimal:
    """Natural log of Pr[Z >= 0] = 1/(1 + a)."""
    return exact.minus(exact.ln(exact.add(Decimal(1), exact.exp(-rate))))


def _arithmetic(epsilon0: float, per_step: int = 1) -> Context:
    """Decimal arithmetic with enough extra digits for the largest margin at this rate."""
    more = math.ceil(math.log10(per_step)) - math.floor(math.log10(epsilon0))
    return Context(prec=_DIGITS + max(0, more), rounding=ROUND_CEILING)
