"""Dirichlet tables from noisy counts: distributions whatever the noise, and the paper's Eq. 12 and 13."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.models.count_learning import clean_counts, clean_margin, dirichlet_table
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1), st.booleans(), st.floats(-5, 100))
def test_tables_from_any_noisy_counts_are_distributions(configurations, cardinality, seed, is_mean, total):
    rng, draw = np.random.default_rng(seed), "mean" if is_mean else "posterior"
    margin = clean_margin(rng.normal(0, 30, cardinality), total)
    assert (margin > 0).all()
    assert margin.sum() == pytest.approx(1)
    counts = clean_counts(rng.normal(0, 30, (configurations, cardinality)), total)
    table = dirichlet_table(counts, margin, 0.01, draw, KeyedRNG.from_seed(seed))
    assert (table >= 0).all()
    np.testing.assert_allclose(table.sum(axis=1), 1)


def test_posterior_mean_and_draws():
    """Eq. 13, and draws around it: 4,000 of them, mean within 6 standard errors (false alarm below 1e-8)."""
    counts, margin = np.array([[3.0, 1.0], [0.0, 0.0]]), np.array([0.25, 0.75])
    mean = dirichlet_table(counts, margin, 4.0)
    np.testing.assert_allclose(mean, [[4 / 8, 4 / 8], [0.25, 0.75]])
    rng = KeyedRNG.from_seed(0)
    draws = np.array([dirichlet_table(counts, margin, 4.0, "posterior", rng) for _ in range(4000)])
    error = np.sqrt(mean * (1 - mean) / (np.array([[8.0], [4.0]]) + 1) / 4000)
    assert (abs(draws.mean(axis=0) - mean) < 6 * error).all()
    assert draws.std(axis=0).min() > 0.1
    with pytest.raises(ValueError, match="needs rng"):
        dirichlet_table(counts, margin, 1.0, "posterior")
