"""Half widths against the exact law of the noise, summed."""

import itertools

import numpy as np
import pytest
from scipy.integrate import trapezoid

from sdv_plausible.release.intervals.confidence_limits import check_level, half_widths, sum_half_width

SIGMAS = [0.2, 0.5, 1.0, 1.7, 3.0, 12.5, 80.0]
MISSES = [0.5, 0.1, 0.05, 0.001]


def law(sigma: float) -> tuple[np.ndarray, np.ndarray]:
    z = np.arange(-int(12 * sigma) - 3, int(12 * sigma) + 4)
    mass = np.exp(-0.5 * (z / sigma) ** 2)
    return z, mass / mass.sum()


def test_one_answer():
    for sigma, miss in itertools.product(SIGMAS, MISSES):
        z, mass = law(sigma)
        half = float(half_widths("discrete gaussian", sigma, miss))
        assert mass[np.abs(z) > half].sum() <= miss
        assert half <= 1 or mass[np.abs(z) >= half - 1].sum() > miss  # at most one too wide


LAPLACES = [[1.0], [1.0, 1.0], [1.0, 0.2], [1.0, 0.5, 0.5], [1.0] * 6]


def tail(variances, gaussian: float, points: np.ndarray) -> np.ndarray:
    """Pr[|sum| > x] of independent Laplace noise of these variances and Gaussian noise, all scaled to variance 1."""
    whole = sum(variances) + gaussian
    t = np.linspace(1e-6, 400, 400_001)
    phi = np.exp(-t * t * gaussian / whole / 2) / np.prod(
        [1 + t * t * v / whole / 2 for v in variances], axis=0
    )
    inside = [trapezoid(phi * np.sin(t * x) / t, t) for x in points]
    return 1 - 2 / np.pi * np.array(inside)


@pytest.mark.parametrize("variances", LAPLACES)
@pytest.mark.parametrize("gaussian", [0.0, 0.3, 5.0])
def test_sums_with_laplace_noise(variances, gaussian):
    """At any level no narrower than what the law of the sum needs; exact, by its characteristic function."""
    misses = np.array([0.5, 0.3, 0.2, 0.12, 0.1, 0.09, 0.08, 0.05, 0.01, 0.001])
    scale = 1000.0  # of one Laplace noise with the variance of the sum: whole counts do not matter
    halves = [float(half_widths("discrete laplace", scale, miss)) / (scale * 2**0.5) for miss in misses]
    found = tail(variances, gaussian, np.array(halves))
    assert (found <= misses).all()
    narrow = [h / 1.25 for h in halves]  # planted
    assert (tail(variances, gaussian, np.array(narrow)) > misses).any()


def test_discrete_laplace():
    z = np.arange(-400, 401)
    for scale, miss in itertools.product((0.4, 1.0, 7.0), MISSES):
        mass = np.exp(-np.abs(z) / scale)
        assert mass[np.abs(z) > half_widths("discrete laplace", scale, miss)].sum() <= miss * mass.sum()


def test_rounding_and_noise_of_each_count():
    np.testing.assert_array_equal(half_widths("rounded", np.array([0.5, 2.5, 3.0]), 0.05), [0, 2, 3])
    np.testing.assert_array_equal(half_widths("discrete gaussian", np.array([1.0, 10.0]), 0.05), [2, 20])
    z, mass = law(10.0)  # planted: half the scale
    assert mass[np.abs(z) > half_widths("discrete gaussian", 5.0, 0.05)].sum() > 0.25


def test_sums():
    for sigma, terms in itertools.product((0.5, 2.0, 7.0), (1, 3, 6)):
        total = np.array([1.0])
        for _ in range(terms):
            total = np.convolve(total, law(sigma)[1])
        z = np.arange(len(total)) - len(total) // 2
        assert total[np.abs(z) > sum_half_width([sigma] * terms, 0.05)].sum() <= 0.05


def test_levels():
    for level in (0, 1, 1.5, -0.1, float("nan"), "0.95"):
        with pytest.raises((ValueError, TypeError), match="level"):
            check_level(level)
