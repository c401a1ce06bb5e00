"""Latent points: drawn as their probabilities say, which are exact to the last bit in any blocks."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare, norm

from sdv_plausible.extensions.models.latent import latent_model
from sdv_plausible.extensions.models.latent.autoencoder import LEVELS, VALUE_STEP, precisions
from sdv_plausible.extensions.models.latent.latent_model import (
    LOG_STEP,
    draw,
    features,
    grid_gaussian,
    log_totals,
    terms,
)
from sdv_plausible.mechanism.privacy_tests.row_tests import RandomizedTest
from sdv_plausible.models import make_learner
from sdv_plausible.models.learner_checks import impossible_seed_probability, plausible_gamma
from sdv_plausible.privacy.accounting.losses import ApproxDP
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from tests.flat import bound

FLOOR, DRAWS = 0.2, 20_000


def some(n, latent, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(-2048, 2049, (n, latent)) * VALUE_STEP, rng.integers(0, LEVELS + 1, (n, latent))


def p_value(level_told, level_drawn):
    """Chi-square of points drawn at one level against the probabilities of another."""
    points = draw(np.full((DRAWS, 1), 0.5), np.full((DRAWS, 1), level_drawn), FLOOR, KeyedRNG.from_seed(0))
    values, masses = grid_gaussian(FLOOR, level_told)
    cells = np.digitize((points[:, 0] - 0.5) / VALUE_STEP, values[:: max(1, len(values) // 60)])
    expected = np.bincount(np.digitize(values, values[:: max(1, len(values) // 60)]), masses) * DRAWS
    seen = np.bincount(cells, minlength=len(expected))[: len(expected)]
    often = expected >= 5
    observed = np.append(seen[often], DRAWS - seen[often].sum())
    wanted = np.append(expected[often], DRAWS - expected[often].sum())
    return float(chisquare(observed, wanted).pvalue)


def test_points_are_drawn_as_told_from_a_gaussian_on_the_grid():
    """Seeded coins: no false alarm. Planted: the spread of another level than the test counts with."""
    assert min(p_value(level, level) for level in (0, 7, LEVELS)) > 1e-6
    assert p_value(LEVELS // 2 + 1, LEVELS // 2) < 1e-9
    for level in (0, LEVELS):
        values, masses = grid_gaussian(FLOOR, level)
        sigma = 1 / math.sqrt(precisions(FLOOR)[level])
        np.testing.assert_allclose(masses, norm.pdf(values * VALUE_STEP, 0, sigma) * VALUE_STEP, atol=1e-12)


def test_log_probabilities_are_those_of_the_law():
    means, levels = some(20, 3)
    points = draw(means, levels, FLOOR, KeyedRNG.from_seed(1))
    found = np.diag(features(points) @ terms(means, levels, FLOOR).T)
    for i in range(20):
        whole = 0.0
        for mean, level, point in zip(means[i], levels[i], points[i], strict=True):
            values, masses = grid_gaussian(FLOOR, int(level))
            whole += math.log(masses[np.searchsorted(values, round((point - mean) / VALUE_STEP))])
        assert abs(found[i] - whole) <= 3 * LOG_STEP


class Told:
    """Coins that give one uniform number to a hundred bits and more: what 53 leave is in the second draw."""

    def __init__(self, number):
        self.numbers = [math.floor(number * 2**53) * 2.0**-53]
        self.numbers.append((number - self.numbers[0]) * 2**53)

    def uniform(self, size):
        return np.full(size, self.numbers.pop(0))

    def integers(self, high, size):
        return np.zeros(size, dtype=np.int64)


def test_the_far_end_is_drawn_as_told_too():
    """Beyond 8 deviations uniform numbers of 53 bits alone give no point, but for one that comes too often."""
    for level, deviations in itertools.product((0, 7, LEVELS), (0.5, 3, 8, 8.5, 9, 9.4)):
        values, masses = grid_gaussian(FLOOR, level)
        step = round(deviations / math.sqrt(precisions(FLOOR)[level]) / VALUE_STEP)
        beyond = 2 * math.fsum(masses[values >= step])
        for times, at_least in ((1 - 1e-9, True), (1 + 1e-9, False)):
            point = draw(np.zeros((1, 1)), np.full((1, 1), level), FLOOR, Told(beyond * times))
            assert (abs(point[0, 0]) >= step * VALUE_STEP) == at_least


FAR, GAMMA = 3e-21, 4.0  # mass beyond 9.5 deviations that the page states; factor of the partitions


def mass_beyond(floor, level):
    """Of a coordinate's law on the whole grid, in doubles that hold its far end."""
    precision, reach = precisions(floor)[level], grid_gaussian(floor, level)[0][-1]
    steps = np.arange(reach + 1, 40 / np.sqrt(precision) / VALUE_STEP)
    whole = np.exp(-np.square(grid_gaussian(floor, level)[0] * VALUE_STEP) * precision / 2).sum()
    return float(2 * np.exp(-np.square(steps * VALUE_STEP) * precision / 2).sum() / whole)


def mass_from_far(level, other, away, *, counted):
    """Chance that a seed draws a point beyond the reach of another one, and that this one is counted for it."""
    steps, masses = grid_gaussian(FLOOR, level)
    means, levels = np.array([[0.0], [away * VALUE_STEP]]), np.array([[level], [other]])
    logs = features(steps[:, None] * VALUE_STEP) @ terms(means, levels, FLOOR).T
    same = np.equal(*np.floor(-logs / math.log(GAMMA)).T)
    far = np.abs(steps - away) > grid_gaussian(FLOOR, other)[0][-1]
    return float(masses[far & (same | (not counted))].sum())


def check_far():
    """Lemma 3: that a counted seed could not have made the point is as rare as what lies beyond its reach."""
    for floor in (1 / 32, 0.05, FLOOR, 0.7, 1.0):
        assert max(mass_beyond(floor, level) for level in range(LEVELS + 1)) < FAR
    away = (0, 1, 2, 5, 20, 100, 500, 1000, 2000)
    cases = itertools.product(range(0, LEVELS + 1, 8), range(0, LEVELS + 1, 4), away)
    found = [mass_from_far(*case, counted=True) for case in cases]
    assert 0 < max(found) <= GAMMA * (1 + 1e-6) * FAR


def failures(model, row_cap):
    """What rows cost beside their noise."""
    options = {"k": 50, "gamma": 4.0, "epsilon0": 1.0, "seed_free_share": 0.5, "least_rows": 5_000}
    test, learner = bound(RandomizedTest, delta=1e-9, row_cap=row_cap, **options), make_learner(model)
    entries = test.charge(plausible_gamma(learner, 4.0), impossible_seed_probability(learner, 4.0))
    return [loss for entry in entries for loss in entry.losses if isinstance(loss, ApproxDP)]


def test_rows_that_hold_such_a_point_are_charged():
    """Lemma 3's delta is the ledger's, too: of all rows, at the floor of the pass rate, and of no other model."""
    few, many = (failures("latent", cap)[-1] for cap in (1_000, 1_000_000))
    assert few.epsilon == many.epsilon == 0
    assert many.delta == pytest.approx(1000 * few.delta)
    assert many.delta * 0.51 >= 1_000_000 * 4 * 16 * FAR
    others = [loss.delta for cap in (1_000, 1_000_000) for loss in failures("independent", cap)]
    assert few.delta not in others


def test_a_counted_seed_that_could_not_make_the_point_is_as_rare_as_its_far_end():
    check_far()
    assert mass_from_far(LEVELS, 0, 1000, counted=False) > 0.5  # by distance alone it would be usual


@pytest.mark.parametrize("reach", [6.0, 9.0])
def test_points_that_end_nearer_would_be_noticed(reach):
    """Planted bug: what the test counts goes on, and what is drawn ends before 9.5 deviations."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(latent_model, "_REACH", reach)
        for cached in (grid_gaussian, log_totals):
            cached.cache_clear()
        with pytest.raises(AssertionError):
            check_far()
    for cached in (grid_gaussian, log_totals):
        cached.cache_clear()


def test_log_probabilities_are_exact_sums_in_any_blocks():
    """The largest means and points: against fractions, and in blocks of every size, to the last bit."""
    means, levels = some(300, 16)
    points = np.random.default_rng(1).integers(-(2**12), 2**12 + 1, (40, 16)) * VALUE_STEP
    left, right = features(points), terms(means, levels, 1 / 32)
    whole = left @ right.T
    for i, j in ((0, 0), (39, 299), (7, 123)):
        products = zip(left[i].tolist(), right[j].tolist(), strict=True)
        assert Fraction(whole[i, j]) == sum(Fraction(a) * Fraction(b) for a, b in products)
    for size in (1, 3, 64):
        parts = [left @ right[s : s + size].T for s in range(0, 300, size)]
        assert np.array_equal(np.hstack(parts), whole)
    assert np.array_equal(whole, np.rint(whole / LOG_STEP) * LOG_STEP)
    assert np.array_equal(log_totals(1.0), np.rint(log_totals(1.0) / LOG_STEP) * LOG_STEP)
