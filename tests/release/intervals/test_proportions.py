"""Limits of proportions: coverage computed exactly, by summing over all counts and all noise."""

import numpy as np
import pytest
from cases import fast_and_nightly
from scipy.stats import binom, norm

from sdv_plausible.release.intervals.confidence_limits import binomial_limits, proportion_limits

MISS = 0.05


def law(sigma: float) -> tuple[np.ndarray, np.ndarray]:
    z = np.arange(-int(9 * sigma) - 3, int(9 * sigma) + 4)
    mass = np.exp(-0.5 * (z / sigma) ** 2)
    return z, mass / mass.sum()


def missed(rows: int, p: float, sigma: float, told: float, bounds: tuple[int, int] | None = None) -> float:
    """Exact probability that the limits, made for the noise that is told, miss p."""
    z, mass = law(sigma)
    total = np.convolve(binom.pmf(np.arange(rows + 1), rows, p), mass)
    y = np.arange(len(total)) + z[0]
    low, high = proportion_limits(y, told, *(bounds or (rows, rows)), MISS)
    return float(total[(p < low) | (p > high)].sum())


@pytest.mark.parametrize("rows", fast_and_nightly([1, 300], [40]))
@pytest.mark.parametrize("p", [0.0, 0.003, 0.1, 0.5, 0.93, 1.0])
@pytest.mark.parametrize("sigma", fast_and_nightly([0.4, 12.0], [3.0]))
def test_limits_cover(rows, p, sigma):
    assert missed(rows, p, sigma, sigma) <= MISS


def test_limits_cover_where_the_number_of_rows_is_bounded():
    """Planted: half the noise."""
    for p in (0.05, 0.5):
        assert missed(500, p, 5.0, 5.0, (470, 540)) <= MISS
        assert missed(500, p, 5.0, 5.0, (500, 500)) <= MISS
    assert missed(300, 0.1, 12.0, 6.0) > 0.15


def test_no_sampling_is_too_little():
    """Limits that forget the sampling, as those of the table's count do."""
    z, mass = law(5.0)
    total = np.convolve(binom.pmf(np.arange(2001), 2000, 0.3), mass)
    y = np.arange(len(total)) + z[0]
    assert total[np.abs(y - 600) > 1.96 * 5.0].sum() > 0.5


def test_they_are_not_much_wider_than_they_must_be():
    rows, sigma, y = 10_000, 40.0, 3000
    low, high = proportion_limits(np.array([y]), sigma, rows, rows, MISS)
    ideal = 2 * norm.isf(MISS / 2) * np.sqrt(rows * 0.3 * 0.7 + sigma**2) / rows
    assert ideal < high[0] - low[0] < 1.1 * ideal


def test_shapes_and_extremes():
    low, high = proportion_limits(np.array([[-50, 0], [100, 400]]), 3.0, 95, 105, MISS)
    assert low.shape == high.shape == (2, 2)
    assert low[0, 0] == 0
    assert high[1, 1] == 1
    assert (low <= high).all()


def test_limits_between_two_counts_cover():
    """Also where the number of rows is bounded. One pair is that of Clopper and Pearson's published table: 3 of 10."""
    counts = np.arange(301)
    low, high = binomial_limits(counts, counts, 290, 310, MISS)
    wide_low, wide_high = binomial_limits(counts - 5, counts + 5, 290, 310, MISS)
    assert (wide_low <= low).all()
    assert (wide_high >= high).all()
    for p in (0.0, 0.003, 0.1, 0.5, 0.93, 1.0):
        mass = binom.pmf(counts, 300, p)
        assert mass[(p < low) | (p > high)].sum() <= MISS
        assert (0 < p < 1 and mass[counts != 300 * p].sum() > MISS) or p in (0, 1)
    (low,), (high,) = binomial_limits(np.array([3.0]), np.array([3.0]), 10, 10, MISS)
    assert (round(float(low), 3), round(float(high), 3)) == (0.067, 0.652)
