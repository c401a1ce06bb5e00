"""Entropies of attributes and pairs, against plain loops; and how far one row moves them."""

import itertools

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.extensions.models.paper.structure import (
    ENTROPY_GRID,
    Entropies,
    EntropyTable,
    count_entropies,
)
from sdv_plausible.queries.count_queries import CodeArray

CARDS = (3, 2, 4)
BUCKETS = [np.array([0, 1, 0]), np.array([0, 1]), np.array([1, 0, 2, 1])]


def rows(seed, n=50):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n)
    b = (a == 2) ^ (rng.random(n) < 0.2)
    return np.stack([a, b, rng.integers(0, 4, n)], axis=1).astype(np.int32)


@pytest.mark.parametrize("seed", range(5))
def test_entropies_and_correlations_by_definition(seed):
    codes = rows(seed)
    table = count_entropies(CodeArray(codes, CARDS), CARDS, BUCKETS)
    columns = [codes[:, i].tolist() for i in range(3)]
    bucketed = [BUCKETS[i][codes[:, i]].tolist() for i in range(3)]
    np.testing.assert_allclose(table.single, [oracles.entropy(c) for c in columns], atol=1e-12)
    np.testing.assert_allclose(table.bucketed, [oracles.entropy(c) for c in bucketed], atol=1e-12)
    correlation = table.correlation()
    for i, j in itertools.permutations(range(3), 2):
        together = oracles.entropy(list(zip(columns[i], bucketed[j], strict=True)))
        assert table.joint[i, j] == pytest.approx(together, abs=1e-12)
        uncertainty = oracles.symmetrical_uncertainty(columns[i], bucketed[j])
        assert correlation[i, j] == pytest.approx(uncertainty, abs=1e-9)


def test_correlation_stays_in_range_under_noise_and_without_variation():
    rng = np.random.default_rng(0)
    for scale in (0.0, 0.1, 5.0):
        noisy = EntropyTable.unflatten(scale * rng.normal(size=20), 4)
        assert np.isfinite(noisy.correlation()).all()
        assert ((noisy.correlation() >= 0) & (noisy.correlation() <= 1)).all()
    same = CodeArray(np.zeros((10, 2), dtype=int), (1, 1))
    constant = count_entropies(same, (1, 1), [np.zeros(1, dtype=int)] * 2)
    assert (constant.correlation() == 0).all()


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_flatten_and_back(m, seed):
    """The m (m + 1) released numbers lose nothing, and the diagonal, which means nothing, is not among them."""
    rng = np.random.default_rng(seed)
    table = EntropyTable(single=rng.random(m), bucketed=rng.random(m), joint=rng.random((m, m)))
    vector = table.flatten()
    assert vector.shape == (m * (m + 1),)
    again = EntropyTable.unflatten(vector, m)
    assert (again.single == table.single).all()
    assert (again.bucketed == table.bucketed).all()
    off = ~np.eye(m, dtype=bool)
    assert (again.joint[off] == table.joint[off]).all()
    assert (EntropyTable.unflatten(vector, m).flatten() == vector).all()


def test_the_answer_is_the_entropies_on_the_grid():
    codes, question = CodeArray(rows(3), CARDS), Entropies(CARDS, BUCKETS, 10)
    exact = question.exact(codes)
    assert exact.dtype == np.int64
    table = count_entropies(codes, CARDS, BUCKETS)
    np.testing.assert_allclose(exact * ENTROPY_GRID, table.flatten(), atol=ENTROPY_GRID / 2)
    assert (question.table(exact.astype(float)).flatten() == exact * ENTROPY_GRID).all()
