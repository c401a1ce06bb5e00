"""Places among sorted starts: those of a search, to the last bit, whatever the numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.table import codec
from sdv_plausible.table.codec import StepLookup

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
CLOSE = st.integers(0, 40).map(lambda i: 1 + i * 2.0**-52)
INTS = st.integers(-(2**63) + 1, 2**63 - 1)
STARTS = st.one_of(
    st.sets(FLOATS, min_size=1, max_size=40).map(lambda s: np.array(sorted(s), dtype=np.float64)),
    st.sets(CLOSE, min_size=1, max_size=30).map(lambda s: np.array(sorted(s), dtype=np.float64)),
    st.sets(INTS, min_size=1, max_size=40).map(lambda s: np.array(sorted(s), dtype=np.int64)),
    st.sets(st.integers(0, 99), min_size=1, max_size=40).map(lambda s: np.array(sorted(s), dtype=float)),
)


def searched(starts, numbers):
    return np.maximum(np.searchsorted(starts, numbers, side="right") - 1, 0)


def about(starts, more):
    """The starts, their neighbours on either side, and others."""
    if starts.dtype.kind == "i":
        near = np.concatenate([starts, starts[starts < starts.max()] + 1, starts[starts > starts.min()] - 1])
        return np.append(near, [np.iinfo(np.int64).max, np.iinfo(np.int64).min + 1])
    with np.errstate(over="ignore"):
        near = [starts, np.nextafter(starts, np.inf), np.nextafter(starts, -np.inf)]
    return np.concatenate([*near, np.array(more, dtype=float), [np.inf, -np.inf]])


def place(made, numbers):
    """Places of all, put together; each few must come with the numbers that they are of."""
    found = np.full(len(numbers), -1)
    for rows, here, places in made.places(numbers):
        assert np.array_equal(here, numbers[rows], equal_nan=True)
        found[rows] = places
    return found


@pytest.fixture(autouse=True)
def of_any_size(monkeypatch):
    monkeypatch.setattr(codec, "FEWEST", 0)
    monkeypatch.setattr(codec, "LOOKED_UP_AT_ONCE", 7)


@settings(max_examples=300, deadline=None)
@given(STARTS, st.lists(FLOATS, max_size=20))
def test_places_are_those_of_a_search(starts, more):
    numbers = about(starts, more)
    assert place(StepLookup(starts), numbers).tolist() == searched(starts, numbers).tolist()


def test_the_table_is_used_for_even_steps():
    """And finds the place of NaN as that of the smallest: who asks knows that it is missing."""
    numbers = np.append(np.random.default_rng(0).uniform(-9, 19, 5000), np.nan)
    for size in (1, 2, 5, 300, 5000):
        starts = np.linspace(-3.7, 11.1, size)
        made = StepLookup(starts)
        assert size == 1 or made._steps <= codec.MOST_STEPS
        assert place(made, numbers)[:-1].tolist() == searched(starts, numbers[:-1]).tolist()
        assert place(made, numbers)[-1] == 0


def test_planted_faults_are_seen():
    """Cells by another rounding than the starts', and starts in a number's own cell that nobody compares."""
    starts = np.linspace(0.1, 9.7, 33)
    numbers = np.concatenate([starts, np.nextafter(starts, 0), np.linspace(0, 10, 999)])
    honest, cells, comparison = (StepLookup(starts) for _ in range(3))
    cells._cell = lambda n, _: np.clip(np.rint((n - 0.1) * cells._scale), 0, 255).astype(int)
    comparison._steps = 0
    right = [place(made, numbers).tolist() == searched(starts, numbers).tolist() for made in (honest, cells, comparison)]  # fmt: skip
    assert right == [True, False, False]
