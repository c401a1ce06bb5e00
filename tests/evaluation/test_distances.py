"""Total variation distance and dependence: by hand, by their laws, and with bounded memory."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sdv_plausible.evaluation import table_codes
from sdv_plausible.evaluation.table_codes import (
    column_distances,
    dependence_matrix,
    pair_distances,
    pair_statistics,
    paired_histograms,
    symmetrical_uncertainty,
    total_variation,
)

CARDS = (3, 2, 4)
histograms = arrays(np.int64, 5, elements=st.integers(0, 1000)).filter(lambda h: h.sum() > 0)


@st.composite
def tables(draw):
    n = draw(st.integers(1, 30))
    return np.column_stack([draw(arrays(np.int32, n, elements=st.integers(0, c - 1))) for c in CARDS])


def test_by_hand():
    assert total_variation(np.array([2, 1, 1]), np.array([1, 1, 2])) == 0.25
    assert total_variation(np.array([4, 0]), np.array([0, 9])) == 1.0
    first = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    second = np.array([[0, 0], [0, 0], [1, 1], [1, 1]])
    assert column_distances(first, second, (2, 2)).tolist() == [0.0, 0.0]
    assert pair_distances(first, second, (2, 2)) == {(0, 1): 0.5}

    with pytest.raises(ValueError, match="each must count at least one row"):
        total_variation(np.array([0, 0]), np.array([1, 0]))


@given(histograms, histograms, histograms)
def test_it_is_a_bounded_metric(p, q, r):
    assert 0.0 <= total_variation(p, q) == total_variation(q, p) <= 1.0
    assert total_variation(p, p) == 0.0
    assert total_variation(p, r) <= total_variation(p, q) + total_variation(q, r) + 1e-12


@given(tables(), tables())
@settings(deadline=None)
def test_distances_and_dependences_are_in_range(first, second):
    """Symmetric, and of pairs no less than of their columns: merging cells cannot raise the distance."""
    singles = column_distances(first, second, CARDS)
    pairs = pair_distances(first, second, CARDS)
    assert pairs == pytest.approx(pair_distances(second, first, CARDS), abs=1e-15)
    assert all(0.0 <= value <= 1.0 for value in pairs.values())
    assert all(value >= max(singles[i], singles[j]) - 1e-12 for (i, j), value in pairs.items())
    with pytest.MonkeyPatch.context() as patch:  # sparse counting gives the same
        patch.setattr(table_codes, "MAX_DENSE_CELLS", 1)
        assert pair_distances(first, second, CARDS) == pytest.approx(pairs)
    matrix = dependence_matrix(first, CARDS)
    assert (matrix == matrix.T).all()
    assert 0 <= matrix.min() <= matrix.max() <= 1
    assert (np.diag(matrix) == 1).all()


def test_uncertainty_by_hand():
    # x = 0, 0, 1, 1 and y = 0, 0, 0, 1: H(x) = 1, H(y) = 0.811278, H(x, y) = 1.5
    codes = np.array([[0, 0], [0, 0], [1, 0], [1, 1]])
    h_y = -(0.75 * np.log2(0.75) + 0.25 * np.log2(0.25))
    assert dependence_matrix(codes, (2, 2))[0, 1] == pytest.approx(2 * (1 + h_y - 1.5) / (1 + h_y))
    copies = np.array([[0, 0], [1, 1], [2, 2]])
    assert dependence_matrix(copies, (3, 3))[0, 1] == pytest.approx(1.0)
    crossed = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    assert dependence_matrix(crossed, (2, 2))[0, 1] == pytest.approx(0.0)
    assert symmetrical_uncertainty(0.0, 0.0, 0.0) == 0.0


def test_memory_is_bounded_by_the_rows():
    """Two columns of a million codes each would have 10^12 cells; only those that occur are counted."""
    rng = np.random.default_rng(0)
    first, second = (rng.integers(0, 10**6, (1000, 2), dtype=np.int32) for _ in range(2))
    p, q = paired_histograms(first, second, (0, 1), (10**6, 10**6))
    assert p.size == q.size <= 2000
    assert p.sum() == q.sum() == 1000


def test_one_pass_gives_distances_and_dependences():
    rng = np.random.default_rng(1)
    codes = [np.column_stack([rng.integers(0, c, 50) for c in CARDS]).astype(np.int32) for _ in range(2)]
    first, second = codes
    ticks = []
    found = pair_statistics(first, second, CARDS, lambda: ticks.append(1))
    assert len(ticks) == len(found.pairs) == 3
    assert dict(zip(found.pairs, found.distances, strict=True)) == pair_distances(first, second, CARDS)
    assert (found.real_dependence == dependence_matrix(first, CARDS)).all()
    assert (found.synthetic_dependence == dependence_matrix(second, CARDS)).all()
