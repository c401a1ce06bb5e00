"""Combine estimates from several synthetic tables into one, with an interval that includes the noise.

docs/explanation/proofs/error_bars.md, section 4, states the rule and its derivation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.release.intervals.confidence_limits import check_level


@dataclass(frozen=True, kw_only=True)
class Combined:
    """Estimate from several synthetic tables.

    Attributes
    ----------
    estimate : ndarray
        Mean of the estimates.
    variance : ndarray
        Its variance: (1 + 1/M) times the variance between tables, minus that within tables if the result is
        positive.
    lower, upper : ndarray
        Ends of the confidence interval.
    degrees : ndarray
        Degrees of freedom of the Student distribution used for the interval.
    """

    estimate: np.ndarray
    variance: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    degrees: np.ndarray


def combine(
    estimates: Sequence[ArrayLike], variances: Sequence[ArrayLike] | None = None, *, level: float = 0.95
) -> Combined:
    """Combine the same estimate from M synthetic tables, by the rules for synthetic data.

    Parameters
    ----------
    estimates : sequence of array or float
        The estimate from each table: a mean, a proportion, coefficients.
    variances : sequence of array or float, optional
        The variance of each estimate as its table gives it, such as a squared standard error. It estimates
        what the sampling of a table of that size adds, and is subtracted. Without it the interval is
        conservative.
    level : float
        Confidence level, between 0 and 1.

    Returns
    -------
    Combined
        Estimate, variance and confidence interval, with the shape of one estimate.

    Raises
    ------
    ValueError
        If there are fewer than two tables, or the numbers, shapes or values of estimates and variances do not
        match or are not finite.
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
    q = _stack("estimates", estimates)
    if len(q) < 2:
        raise ValueError(f"estimates ({len(q)}) must be of at least 2 tables: one shows no variance, try 20")
    v = np.zeros_like(q) if variances is None else _stack("variances", variances)
    if v.shape != q.shape:
        raise ValueError(
            f"variances (shape {v.shape}) must be one for each estimate (shape {q.shape}): squared standard "
            "errors, in the same order"
        )
    m = len(q)
    between, within = q.var(axis=0, ddof=1), v.mean(axis=0)
    total = (1 + 1 / m) * between
    difference = total - within
    variance = np.where(difference > 0, difference, total)  # conservative if nothing is subtracted
    degrees = np.where(difference > 0, (m - 1) * (variance / np.maximum(total, 1e-300)) ** 2, m - 1.0)
    half = student.ppf((1 + level) / 2, np.maximum(degrees, 1.0)) * np.sqrt(variance)
    mean = q.mean(axis=0)
    return Combined(estimate=mean, variance=variance, lower=mean - half, upper=mean + half, degrees=degrees)


def _stack(name: str, values: Sequence[ArrayLike]) -> np.ndarray:
    """Array of the values of all tables, tables first."""
    arrays = [check.finite_array(name, array) for array in values]
    if len(shapes := {array.shape for array in arrays}) > 1:
        raise ValueError(f"{name} (shapes {sorted(shapes)[:2]}) must be of one shape in all tables")
    return np.array(arrays)
