"""The nearest table without negative cells, against its optimality conditions and a search over supports."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.models.conditional_table import project_to_simplex


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 2**32 - 1), st.floats(-50, 500))
def test_projection_is_the_nearest_table(rows_, columns, seed, total):
    """Optimality: cells above zero moved by one shift, cells at zero would have fallen below it."""
    noisy = np.random.default_rng(seed).normal(5, 20, (rows_, columns))
    total = max(total, 1.0)
    found = project_to_simplex(noisy, total)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(total)
    shift = (noisy - found)[found > 0]
    assert np.ptp(shift) < 1e-9
    assert (noisy[found == 0] <= shift.max() + 1e-9).all()


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 6), st.integers(0, 2**32 - 1), st.floats(0.1, 60))
def test_no_support_gives_a_nearer_table(cells, seed, total):
    """All 2^cells - 1 sets of cells above zero: on each, the nearest table moves all of them by one shift."""
    noisy = np.random.default_rng(seed).normal(5, 20, cells)
    nearest = math.inf
    for size in range(1, cells + 1):
        for support in itertools.combinations(range(cells), size):
            table = np.zeros(cells)
            table[list(support)] = noisy[list(support)] + (total - noisy[list(support)].sum()) / size
            if (table >= 0).all():
                nearest = min(nearest, float(((table - noisy) ** 2).sum()))
    found = project_to_simplex(noisy, total)
    assert ((found - noisy) ** 2).sum() == pytest.approx(nearest)


def test_noise_on_empty_cells_cancels_out():
    """Seeded. Control: clipping at zero adds 0.4 noise deviations to every empty cell."""
    rng = np.random.default_rng(0)
    noisy = np.concatenate([[5000.0], np.zeros(999)]) + rng.normal(0, 10, 1000)
    assert abs(project_to_simplex(noisy, 5000.0)[0] - 5000) < 60
    clipped = np.maximum(noisy, 0)
    assert clipped.sum() - 5000 > 3500
