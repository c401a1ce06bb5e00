"""Estimates from several synthetic tables put together, with an interval that knows of the noise.

docs/explanation/proofs/error_bars.md, section 4, says which rule and why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.release.intervals.half_widths import check_level


@dataclass(frozen=True, kw_only=True)
class Combined:
    """What several synthetic tables say together.

    Attributes
    ----------
    estimate : ndarray
        Mean of the estimates.
    variance : ndarray
        Its variance: (1 + 1/M) times that between the tables, less that within them where it can be
        taken off.
    lower, upper : ndarray
        Ends of the confidence interval.
    degrees : ndarray
        Degrees of freedom of Student's distribution that the interval is made with.
    """

    estimate: np.ndarray
    variance: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    degrees: np.ndarray


def combine(
    estimates: Sequence[ArrayLike], variances: Sequence[ArrayLike] | None = None, *, level: float = 0.95
) -> Combined:
    """Put the same estimate from M synthetic tables together, by the rules for synthetic data.

    Parameters
    ----------
    estimates : sequence of array or float
        The estimate from each table: a mean, a proportion, coefficients.
    variances : sequence of array or float, optional
        What each table says of its estimate's variance, such as a squared standard error. It is what drawing
        a table of that size adds, and is taken off; left out it is kept, which is on the safe side.
    level : float
        Of the confidence interval.

    Raises
    ------
    ValueError
        If there are fewer than two tables, or as many variances as estimates are not there, or they are of
        several shapes or not finite.
    TypeError
        If they are not numbers.

    Examples
    --------
    >>> from sdv_plausible import combine
    >>> found = combine([10.0, 12.0, 11.0], [0.1, 0.1, 0.1])
    >>> float(found.estimate), round(float(found.variance), 3)
    (11.0, 1.233)
    """
    check_level(level)
    q = _numbers("estimates", estimates)
    if len(q) < 2:
        raise ValueError(f"estimates ({len(q)}) must be of at least 2 tables: one shows no variance, try 20")
    v = np.zeros_like(q) if variances is None else _numbers("variances", variances)
    if v.shape != q.shape:
        raise ValueError(
            f"variances (shape {v.shape}) must be one for each estimate (shape {q.shape}): squared standard "
            "errors, in the same order"
        )
    m = len(q)
    between, within = q.var(axis=0, ddof=1), v.mean(axis=0)
    whole = (1 + 1 / m) * between
    taken = whole - within
    variance = np.where(taken > 0, taken, whole)  # never below 0: what is kept then is too much
    degrees = np.where(taken > 0, (m - 1) * (variance / np.maximum(whole, 1e-300)) ** 2, m - 1.0)
    half = student.ppf((1 + level) / 2, np.maximum(degrees, 1.0)) * np.sqrt(variance)
    mean = q.mean(axis=0)
    return Combined(estimate=mean, variance=variance, lower=mean - half, upper=mean + half, degrees=degrees)


def _numbers(name: str, of_tables: Sequence[ArrayLike]) -> np.ndarray:
    """An array of what each table says, the tables first."""
    each = [check.finite_array(name, one) for one in of_tables]
    if len({one.shape for one in each}) > 1:
        raise ValueError(
            f"{name} (shapes {sorted({one.shape for one in each})[:2]}) must be of one shape in all tables"
        )
    return np.array(each)
