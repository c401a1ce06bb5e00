"""Searches for the point where a monotone function crosses a limit, rounded to the safe side.

The roots are SciPy's (`scipy.optimize.brentq`), of the function's logarithm because deltas fall
exponentially. A root is only close to the crossing, so it is moved by the tolerance to the safe side and
checked there.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.optimize import brentq

from sdv_plausible.privacy.parameter_checks import Refused

_TINY = 1e-300  # smaller values are raised to this, so that their logarithm is finite


def smallest_within(
    figure: Callable[[float], float], limit: float, low: float, high: float, *, rtol: float = 1e-9
) -> float:
    """Smallest x in [low, high] at which a decreasing function is at most the limit; never below it."""
    # The function is >= 0 on [low, high], 0 <= low < high, finite. The result is too large by at most a
    # relative 4 rtol; `low` if the limit already holds there, infinity if it does not even hold at `high`.
    if figure(low) <= limit:
        return low
    if figure(high) > limit:
        return math.inf
    x = _root(figure, limit, low, high, rtol) * (1 + 2 * rtol)
    while x < high and figure(x) > limit:
        x *= 1 + rtol
    return min(x, high)


def largest_within(
    figure: Callable[[float], float], limit: float, low: float, high: float, *, rtol: float = 1e-9
) -> float:
    """Largest x in [low, high] at which an increasing function is at most the limit; never above it."""
    # The function is >= 0 on [low, high], 0 < low < high, finite. The result is too small by at most a
    # relative 4 rtol; `high` if the limit holds everywhere, 0 if it does not even hold at `low`.
    if figure(high) <= limit:
        return high
    if figure(low) > limit:
        return 0.0
    x = _root(figure, limit, low, high, rtol) * (1 - 2 * rtol)
    while x > low and figure(x) > limit:
        x *= 1 - rtol
    return max(x, low)


def _root(figure: Callable[[float], float], limit: float, low: float, high: float, rtol: float) -> float:
    log_limit = math.log(limit)

    def excess(x: float) -> float:
        return math.log(max(figure(x), _TINY)) - log_limit

    try:
        return float(brentq(excess, low, high, xtol=_TINY, rtol=rtol, maxiter=1000))
    except (ValueError, RuntimeError) as error:
        raise Refused.saying(
            "epsilon",
            "epsilon and delta are outside the range of double precision, so no noise can be calibrated: "
            "try epsilon 1.0 and delta 1e-9",
        ) from error
