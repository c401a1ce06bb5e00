"""The nearest table without negative cells, against its optimality conditions and a search over supports."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.models.projection import project_to_simplex


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
