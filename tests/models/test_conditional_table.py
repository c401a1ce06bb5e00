"""Conditional tables: drawn by the law of their rows; cells of probability zero never; read and checked."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import FALSE_ALARM, Fixed
from scipy.stats import chi2

from sdv_plausible.models import conditional_table
from sdv_plausible.models.conditional_table import ConditionalTable
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG


def of_column_0(p):
    """A table of column 1 with a row for each code of column 0."""
    return ConditionalTable(child=1, parents=(0,), buckets=(np.arange(len(p)),), probabilities=p)


def test_guided_search_equals_binary_search_and_many_records_of_too_many_codes_it(monkeypatch):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(40, 0.1), 500)
    table = of_column_0(p)
    codes = np.stack([rng.integers(0, 500, 50_000), np.zeros(50_000, dtype=int)], axis=1)
    u = KeyedRNG.from_seed(3).uniform(len(codes))
    by_hand = np.searchsorted(table._flat, codes[:, 0] + u, side="right") - codes[:, 0] * 40
    assert (table.draw(codes, KeyedRNG.from_seed(3)) == by_hand).all()
    monkeypatch.setattr(conditional_table, "MOST_CODES", 3)
    p = np.random.default_rng(0).dirichlet(np.ones(4), 6)
    made = of_column_0(p)
    codes = np.column_stack([np.arange(600) % 6, np.zeros(600, dtype=int)])
    one_by_one = made.draw(codes, KeyedRNG.from_seed(3))
    assert (made.draw_many(codes, KeyedRNG.from_seed(3)) == one_by_one).all()


def test_many_records_have_the_law_of_the_table():
    """Each configuration by itself. Control: the law of the next configuration."""
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.full(5, 0.5), 6)
    p[:, 2] = 0
    p /= p.sum(axis=1, keepdims=True)
    made = of_column_0(p)
    codes = np.column_stack([np.repeat(np.arange(6), 20_000), np.zeros(120_000, dtype=int)])
    drawn = made.draw_many(codes, KeyedRNG.from_seed(1)).reshape(6, -1)

    def p_of(row, law):
        expected = 20_000 * np.delete(law, 2)
        counts = np.bincount(drawn[row], minlength=5)
        assert counts[2] == 0
        return chi2.sf(((np.delete(counts, 2) - expected) ** 2 / np.maximum(expected, 1e-9)).sum(), 3)

    for row in range(6):
        assert p_of(row, p[row]) > FALSE_ALARM
        assert p_of(row, p[row - 1]) < FALSE_ALARM


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 2.0**-53, 0.5, 1 - 2.0**-53]), st.booleans())
def test_cells_of_probability_zero_are_never_drawn(seed, u, guided):
    """Wherever the zeros stand, at both ends of the unit interval, in tables whose row numbers eat the last bits."""
    rng = np.random.default_rng(seed)
    configurations, cardinality = int(rng.integers(1, 3000)), int(rng.integers(1, 6))
    p = rng.dirichlet(np.full(cardinality, 0.2), configurations)
    p[rng.random(p.shape) < 0.5] = 0
    p[p.sum(axis=1) == 0, 0] = 1
    p /= p.sum(axis=1, keepdims=True)
    made = of_column_0(p)
    codes = np.stack([np.arange(configurations), np.zeros(configurations, dtype=int)], axis=1)
    rng = Fixed.at(u)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conditional_table, "GUIDED_CELLS", 0 if guided else 10**9)
        drawn = made.draw(codes, rng)
    assert ((drawn >= 0) & (drawn < cardinality)).all()
    assert (p[np.arange(configurations), drawn] > 0).all()
    codes[:, 1] = drawn
    assert np.isfinite(made.log_probability(codes)).all()


def test_every_single_record_has_the_law_of_the_table():
    """Systematic draws depend on one another; each by itself is as any. Control: spread without the random rank."""
    p = np.array([[0.1, 0.0, 0.6, 0.3]])
    made = ConditionalTable(child=0, parents=(), buckets=(), probabilities=p)
    codes, expected = np.zeros((7, 1), dtype=int), 3000 * p[0, [0, 2, 3]]

    def p_of(codes):
        counts = np.bincount(codes, minlength=4)
        assert counts[1] == 0
        return chi2.sf(((counts[[0, 2, 3]] - expected) ** 2 / expected).sum(), 2)

    for how in ({"systematic": False}, {"systematic": True}):
        drawn = np.array([made.draw(codes, KeyedRNG.from_seed(i), **how)[[0, 6]] for i in range(3000)])
        assert min(map(p_of, drawn.T)) > FALSE_ALARM
    spread = np.random.default_rng(0).random(3000) / 7
    assert p_of(np.searchsorted(np.cumsum(p[0]), spread, side="right")) < FALSE_ALARM


def test_tables_are_checked():
    buckets = (np.array([0, 1, 0]),)
    for p, rule in (
        ([[0.5, 0.5]], "1 rows for 2 configurations"),
        ([[0.5, 0.6], [0.5, 0.5]], "sum to 1"),
        ([[1.5, -0.5], [0.5, 0.5]], "non-negative"),
        ([[np.nan, 0.5], [0.5, 0.5]], "sum to 1"),
    ):
        with pytest.raises(ValueError, match=f"table of column 1.*{rule}"):
            ConditionalTable(child=1, parents=(0,), buckets=buckets, probabilities=np.array(p))


def test_systematic_draws_scatter_less_than_chance():
    """Within a configuration every value comes within one of its share. Control: independent draws."""
    p = np.array([[0.3, 0.7], [0.55, 0.45]])
    made = of_column_0(p)
    codes = np.stack([np.arange(3000) % 3 // 2, np.zeros(3000, dtype=int)], axis=1)

    def farthest(systematic):
        drawn = made.draw(codes, KeyedRNG.from_seed(1), systematic=systematic)
        counts = np.array([np.bincount(drawn[codes[:, 0] == row], minlength=2) for row in (0, 1)])
        return float(np.abs(counts - p * counts.sum(axis=1, keepdims=True)).max())

    assert farthest(systematic=True) <= 1
    assert farthest(systematic=False) > 3
