"""How often a negative control would be missed: upper bounds, from binomial tails alone.

A control is a planted fault that a statistical check must reject. Pearson's statistic of many cells is at least that of
any two that they are merged into, and a Kolmogorov-Smirnov distance is at least that at any one point: so the check
accepts the fault no more often than a binomial count falls into an interval.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import stats


def chi_square(draws: int, expected: npt.ArrayLike, planted: npt.ArrayLike, alarm: float) -> float:
    """Largest chance that a chi-square test at level `alarm` accepts draws from the planted cell probabilities."""
    p, q = (np.asarray(x, dtype=float) / np.sum(x) for x in (expected, planted))
    critical = stats.chi2.isf(alarm, len(p) - 1)
    order = np.argsort(q / p)
    merged_p, merged_q = np.cumsum(p[order])[:-1], np.minimum(np.cumsum(q[order])[:-1], 1.0)
    half = np.sqrt(critical * draws * merged_p * (1 - merged_p))
    return float(_between(draws, merged_q, draws * merged_p - half, draws * merged_p + half).min())


def kolmogorov_smirnov(draws: int, expected: npt.ArrayLike, planted: npt.ArrayLike, alarm: float) -> float:
    """Largest chance that the test accepts, from both distribution functions at some points."""
    f, g = np.asarray(expected), np.asarray(planted)
    half = draws * stats.kstwo.isf(alarm, draws)
    return float(_between(draws, g, draws * f - half, draws * f + half).min())


def binomial(draws: int, expected: float, planted: float, alarm: float) -> float:
    """Chance that the exact binomial test at level `alarm` accepts."""
    # The test rejects at least where one tail holds less than alarm/2 of the expected mass.
    low, high = stats.binom.ppf([alarm / 4, 1 - alarm / 4], draws, expected)
    return float(_between(draws, np.asarray(planted), low, high))


def _between(draws: int, chance: np.ndarray, low: npt.ArrayLike, high: npt.ArrayLike) -> np.ndarray:
    """Pr[low <= X <= high] for binomial X."""
    start, end = np.ceil(low) - 1, np.floor(high)
    return np.minimum(stats.binom.cdf(end, draws, chance), stats.binom.sf(start, draws, chance))
