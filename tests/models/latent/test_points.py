"""Latent points: drawn as their probabilities say, which are exact to the last bit in any blocks."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare, norm

from sdv_plausible.models.latent.network import LEVELS, VALUE_STEP, precisions
from sdv_plausible.models.latent.points import LOG_STEP, draw, features, law, log_totals, terms
from sdv_plausible.privacy.noise.coins import Coins

FLOOR, DRAWS = 0.2, 20_000


def some(n: int, latent: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(-2048, 2049, (n, latent)) * VALUE_STEP, rng.integers(0, LEVELS + 1, (n, latent))


def p_value(level_told: int, level_drawn: int) -> float:
    """Chi-square of points drawn at one level against the probabilities of another."""
    points = draw(np.full((DRAWS, 1), 0.5), np.full((DRAWS, 1), level_drawn), FLOOR, Coins.from_seed(0))
    values, masses = law(FLOOR, level_told)
    cells = np.digitize((points[:, 0] - 0.5) / VALUE_STEP, values[:: max(1, len(values) // 60)])
    expected = np.bincount(np.digitize(values, values[:: max(1, len(values) // 60)]), masses) * DRAWS
    seen = np.bincount(cells, minlength=len(expected))[: len(expected)]
    often = expected >= 5
    observed = np.append(seen[often], DRAWS - seen[often].sum())
    wanted = np.append(expected[often], DRAWS - expected[often].sum())
    return float(chisquare(observed, wanted).pvalue)


@pytest.mark.parametrize("level", [0, 7, LEVELS])
def test_points_are_drawn_as_told(level):
    """Seeded coins: no false alarm."""
    assert p_value(level, level) > 1e-6


def test_a_spread_below_the_one_told_would_be_noticed():
    """Planted bug: points are drawn with the spread of another level than the test counts with."""
    assert p_value(LEVELS // 2 + 1, LEVELS // 2) < 1e-9


def test_the_law_is_a_gaussian_on_the_grid():
    for level in (0, LEVELS):
        values, masses = law(FLOOR, level)
        sigma = 1 / math.sqrt(precisions(FLOOR)[level])
        np.testing.assert_allclose(masses, norm.pdf(values * VALUE_STEP, 0, sigma) * VALUE_STEP, atol=1e-12)


def test_log_probabilities_are_those_of_the_law():
    means, levels = some(20, 3)
    points = draw(means, levels, FLOOR, Coins.from_seed(1))
    found = np.diag(features(points) @ terms(means, levels, FLOOR).T)
    for i in range(20):
        whole = 0.0
        for mean, level, point in zip(means[i], levels[i], points[i], strict=True):
            values, masses = law(FLOOR, int(level))
            whole += math.log(masses[np.searchsorted(values, round((point - mean) / VALUE_STEP))])
        assert abs(found[i] - whole) <= 3 * LOG_STEP


def test_log_probabilities_are_exact_sums_in_any_blocks():
    """The largest means and points: against fractions, and in blocks of every size, to the last bit."""
    means, levels = some(300, 16)
    points = np.random.default_rng(1).integers(-(2**12), 2**12 + 1, (40, 16)) * VALUE_STEP
    left, right = features(points), terms(means, levels, 1 / 32)
    whole = left @ right.T
    for i, j in ((0, 0), (39, 299), (7, 123)):
        exact = sum(
            (Fraction(a) * Fraction(b) for a, b in zip(left[i].tolist(), right[j].tolist(), strict=True)),
            start=Fraction(0),
        )
        assert Fraction(whole[i, j]) == exact
    for size in (1, 3, 64):
        parts = [left @ right[s : s + size].T for s in range(0, 300, size)]
        assert np.array_equal(np.hstack(parts), whole)
    assert np.array_equal(whole, np.rint(whole / LOG_STEP) * LOG_STEP)
    assert np.array_equal(log_totals(1.0), np.rint(log_totals(1.0) / LOG_STEP) * LOG_STEP)
