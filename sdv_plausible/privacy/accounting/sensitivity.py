"""Worst-case change of an entropy or mutual information by one row, or by all rows of one person.

Proofs: ``docs/explanation/proofs/entropy_sensitivity.md``, ``docs/explanation/proofs/greedy_bayes.md``.
"""

from __future__ import annotations

import math

from sdv_plausible.privacy import parameter_checks as check

_FINEST_STEP = 1e-9  # bits; finer steps are comparable to rounding errors


def entropy_sensitivity(n: int, rows: int = 1) -> float:
    """Exact add/remove sensitivity of the empirical entropy of one (possibly joint) discrete attribute."""
    # ``[(n+c) log2(n+c) - n log2 n] / (n+c)`` bits is the largest ``|H(D + c rows) - H(D)|`` over all tables
    # D of n rows, for any number of categories. It is attained by n equal rows and c rows that all differ. It
    # rises with c, and for n >= 1 it falls as n grows, so a lower bound on n gives an upper bound
    # (``docs/explanation/proofs/entropy_sensitivity.md``, Theorem 1). n >= 0 counts the rows of the *smaller*
    # table.
    n = check.whole("n", n, 0, "it is the number of rows, or a lower bound on it")
    c = check.whole("rows", rows, 1, "it is the number of rows added")
    # log1p keeps the difference (n+c) log(n+c) - n log n exact to rounding when n is large.
    return math.log2(c) if n == 0 else (c * math.log2(n + c) + n * math.log1p(c / n) / math.log(2)) / (n + c)


def entropy_sensitivity_in_steps(n: int, step: float, rows: int = 1) -> int:
    """Sensitivity, in grid steps, of an entropy rounded to a grid."""
    # For integer noise on ``floor(H/step + 1/2)``: ``ceil(Delta_H/step) + 1``. Rounding needs the ceiling.
    # The additional step covers the floating-point error of the computed entropy, which must be at most
    # step/2 (``docs/explanation/proofs/entropy_sensitivity.md``, Theorem 3). n as in
    # :func:`entropy_sensitivity`. Steps below 1e-9 bits are refused: they are comparable to rounding errors.
    step = check.at_least("step", step, _FINEST_STEP, "it is the grid's width in bits; try 1e-6")
    return math.ceil(entropy_sensitivity(n, rows) / step) + 1


def information_sensitivity_in_steps(n: int, step: float, rows: int = 1) -> int:
    """Sensitivity, in grid steps, of n times mutual information rounded to a grid."""
    # One more row moves ``n I(X; Y)`` by at most ``n log2 n - (n-1) log2 (n-1)`` bits (n counts it), and this
    # bound is attained. It rises with n, so an upper bound on n is safe
    # (``docs/explanation/proofs/greedy_bayes.md``, Theorems 1 and 2). n >= 1 counts the rows of the *larger*
    # table; the step is in bits.
    n = check.whole("n", n, 1, "it is an upper bound on the number of rows")
    c = check.whole("rows", rows, 1, "it is the number of rows added")
    step = check.at_least("step", step, _FINEST_STEP, "it is the grid's width in bits; try 1e-3")
    # log1p keeps n log n - (n-1) log(n-1) exact to rounding when n is large.
    bits = 0.0 if n == 1 else math.log2(n) - (n - 1) * math.log1p(-1 / n) / math.log(2)
    return math.ceil(c * bits / step) + 1
