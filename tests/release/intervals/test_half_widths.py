"""Half widths against the exact law of the noise, summed."""

from __future__ import annotations

import numpy as np
import pytest

from sdv_plausible.release.intervals.half_widths import check_level, half_widths, sum_half_width

SIGMAS = [0.2, 0.5, 1.0, 1.7, 3.0, 12.5, 80.0]
MISSES = [0.5, 0.1, 0.05, 0.001]


def law(sigma: float) -> tuple[np.ndarray, np.ndarray]:
    reach = int(12 * sigma) + 3
    z = np.arange(-reach, reach + 1)
    mass = np.exp(-0.5 * (z / sigma) ** 2)
    return z, mass / mass.sum()


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("miss", MISSES)
def test_one_answer(sigma, miss):
    z, mass = law(sigma)
    half = float(half_widths("discrete gaussian", sigma, miss))
    assert mass[np.abs(z) > half].sum() <= miss
    assert half <= 1 or mass[np.abs(z) >= half - 1].sum() > miss  # at most one too wide


def test_half_the_scale_is_too_narrow():
    z, mass = law(10.0)
    assert mass[np.abs(z) > half_widths("discrete gaussian", 5.0, 0.05)].sum() > 0.25


@pytest.mark.parametrize("sigma", [0.5, 2.0, 7.0])
@pytest.mark.parametrize("terms", [1, 3, 6])
def test_sums(sigma, terms):
    _, mass = law(sigma)
    total = np.array([1.0])
    for _ in range(terms):
        total = np.convolve(total, mass)
    z = np.arange(len(total)) - len(total) // 2
    assert total[np.abs(z) > sum_half_width([sigma] * terms, 0.05)].sum() <= 0.05


@pytest.mark.parametrize("level", [0, 1, 1.5, -0.1, float("nan"), "0.95"])
def test_levels(level):
    with pytest.raises((ValueError, TypeError), match="level"):
        check_level(level)
