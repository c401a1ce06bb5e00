"""How much one row changes an entropy, in the worst case.

Proofs: ``docs/explanation/proofs/entropy_sensitivity.md``.
"""

from __future__ import annotations

import math

from sdv_plausible.privacy import checks as check

__all__ = ["entropy_sensitivity", "entropy_sensitivity_in_steps"]

_FINEST_STEP = 1e-9  # bits; finer ones are comparable to rounding errors


def entropy_sensitivity(n: int) -> float:
    """Exact add/remove sensitivity of the empirical entropy of one (possibly joint) discrete attribute.

    ``h2(1/(n+1)) = [(n+1) log2(n+1) - n log2 n] / (n+1)`` bits is the largest ``|H(D + row) - H(D)|`` over
    all tables D of n rows, whatever the number of categories; it is reached by n equal rows and one that
    differs. It falls strictly as n grows, so a lower bound on n gives an upper bound on the sensitivity
    (``docs/explanation/proofs/entropy_sensitivity.md``, Theorem 1).

    Parameters
    ----------
    n : int
        Rows of the *smaller* of the two tables, >= 0; where n is private, a lower bound on it.

    Returns
    -------
    float
        Bits, in [0, 1]; 0 for n = 0.

    Raises
    ------
    ValueError
        If n is not a whole number of at least 0.
    """
    n = check.whole("n", n, 0, "it is the number of rows, or a lower bound on it")
    # log1p keeps the difference (n+1) log(n+1) - n log n exact to rounding when n is large.
    return 0.0 if n == 0 else (math.log2(n + 1) + n * math.log1p(1 / n) / math.log(2)) / (n + 1)


def entropy_sensitivity_in_steps(n: int, step: float) -> int:
    """Sensitivity of an entropy rounded to a grid, counted in steps of the grid.

    For integer noise on ``floor(H/step + 1/2)``: ``ceil(Delta_H(n)/step) + 1``. Rounding alone needs the
    ceiling; the one more step pays for the floating-point error of the computed entropy, which must be at
    most step/2 (``docs/explanation/proofs/entropy_sensitivity.md``, Theorem 3).

    Parameters
    ----------
    n : int
        Rows of the smaller table, or a lower bound on it, >= 0.
    step : float
        Width of the grid in bits, > 0 and not below 1e-9: finer steps are comparable to rounding errors.

    Returns
    -------
    int
        Whole steps, >= 1.

    Raises
    ------
    ValueError
        If n or step is out of range.
    """
    step = check.at_least("step", step, _FINEST_STEP, "it is the grid's width in bits; try 1e-6")
    return math.ceil(entropy_sensitivity(n) / step) + 1
