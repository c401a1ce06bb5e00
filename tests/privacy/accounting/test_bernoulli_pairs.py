"""Pairs of coins: against sums over every count of heads."""

from __future__ import annotations

import math

import numpy as np
import oracles_accounting as oracle
import pytest

from sdv_plausible.privacy.accounting.bernoulli_pairs import BernoulliPairs, cover


@pytest.mark.parametrize("seed", range(4))
def test_binomial_pairs_agree_with_sums_over_every_count(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(40):
        n = int(rng.integers(1, 300))
        a0 = float(rng.uniform(1e-4, 0.85)) ** float(rng.uniform(1, 3))
        a1 = min(0.9, a0 * math.exp(float(rng.uniform(0.01, 1.0))))
        log_high, log_low = np.array([math.log(a1 / a0)]), np.array([math.log((1 - a1) / (1 - a0))])
        pair = BernoulliPairs(log_high=log_high, log_low=log_low)
        delta = 10.0 ** -float(rng.uniform(1, 10))
        expected = oracle.binomial_epsilon(n, a1, a0, delta)
        assert float(pair.epsilon(n, delta)[0]) == pytest.approx(expected, abs=1e-6, rel=1e-6)
        grid = np.linspace(0, 2 * expected + 0.5, 9)
        for found, coins in zip(pair.profile(n, grid), ((a1, a0), (a0, a1)), strict=True):
            wanted = [oracle.binomial_delta(n, *coins, e) for e in grid]
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-13)


def test_domination_of_coins_is_by_the_range_of_likelihood_ratios() -> None:
    """Lemma 2 of seed_test.md: a wider range is worse at every epsilon, and only the frontier is kept."""
    rng = np.random.default_rng(0)
    high, low = rng.uniform(0.1, 1.5, 60), -rng.uniform(0.1, 1.5, 60)
    pairs = BernoulliPairs(log_high=high, log_low=low)
    kept = pairs.undominated()
    assert 0 < len(kept) < 60
    grid = np.linspace(0, 4, 30)
    for mine, every in zip(kept.profile(7, grid), pairs.profile(7, grid), strict=True):
        np.testing.assert_array_equal(mine, every)


@pytest.mark.parametrize("resolution", [1 / 400, 1 / 50])
def test_a_cover_dominates_its_coins_and_wastes_little(resolution: float) -> None:
    log_r, log_odds = np.array([0.4, 0.1]), np.array([0.3, 0.5])
    covering = cover(log_r, log_odds, resolution)
    inside = [
        (r - u, -u) for r, top in ((0.4, 0.3), (0.1, 0.1)) for u in np.linspace(0.01 * top, 0.99 * top, 30)
    ]
    for high, low in inside:
        assert np.any((covering.log_high >= high) & (covering.log_low <= low))
    spread = covering.log_high - covering.log_low
    assert np.all(spread <= log_r.max() * (1 + resolution) * (1 + 1e-9))
    finer = cover(log_r, log_odds, resolution / 3)  # control: of another cover some coins stick out
    assert not all(
        np.any((finer.log_high >= h) & (finer.log_low <= w))
        for h, w in zip(covering.log_high, covering.log_low, strict=True)
    )
