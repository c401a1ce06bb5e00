"""What follows from tables that were counted is what a pass would count."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible import fit_source
from sdv_plausible.datasets import census_like, census_like_metadata
from sdv_plausible.queries.count_queries import Axis, CodeArray
from sdv_plausible.sources import source_counts
from sdv_plausible.sources.source import FrameSource
from sdv_plausible.sources.source_counts import CountCache

SIZES = (2, 3, 7, 20, 1)
CODES = np.stack([np.random.default_rng(7).integers(0, size, 4000) for size in SIZES], axis=1)
ROWS = CodeArray(CODES, SIZES)
AXES = [Axis.of_codes(j, size) for j, size in enumerate(SIZES)]
AXES += [Axis(j, np.arange(size)[::-1] // 2) for j, size in enumerate(SIZES)]
AXES += [Axis(3, np.arange(20) % 3)]
COLUMNS = st.lists(
    st.integers(0, len(AXES) - 1), max_size=4
)  # also one twice, two buckets of a column, and none


class Counting:
    """Passes: what each was asked."""

    def __init__(self):
        self.passes = []

    def __call__(self, sets):
        self.passes.append([tuple(axis.size for axis in axes) for axes in sets])
        return ROWS.tables(sets)


def differ(asked, found):
    """Whether any table is another one than a pass counts."""
    for places in asked:
        sets = [[AXES[i] for i in columns] for columns in places]
        for one, other in zip(found.tables(sets, len(CODES), Counting()), ROWS.tables(sets), strict=True):
            if one.dtype != np.int64 or not np.array_equal(one, other):
                return True
            np.add(one, 1, out=one)  # whoever asked may do with it as they like
    return False


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(COLUMNS, max_size=6), min_size=1, max_size=4), st.sampled_from([0, 100, 1 << 23]))
def test_tables_are_those_of_a_pass(asked, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source_counts, "MAX_TOTAL_CELLS", most)
        assert not differ(asked, CountCache(SIZES))


def test_planted_tables_are_seen(monkeypatch):
    """The codes' own table, no copy of it, and buckets of another column."""
    honest = source_counts._in_buckets

    def no_copy(table, known, axes):
        found = honest(table, known, axes)
        return table if found.shape == table.shape else found

    for wrong in (lambda table, *_: table.copy(), no_copy, lambda *given: honest(*given)[::-1]):
        monkeypatch.setattr(source_counts, "_in_buckets", wrong)
        assert differ([[[0, 1], [5, 8]], [[0, 1], [7, 8]]], CountCache(SIZES))


def test_a_pass_is_made_where_something_is_missing_alone(monkeypatch):
    found, count = CountCache(SIZES), Counting()

    def ask(*places, rows=4000):
        list(found.tables([[AXES[i] for i in columns] for columns in places], rows, count))
        return len(count.passes)

    assert ask([2], [3]) == 1
    assert ask([7], [10], [3]) == 1  # buckets of codes that were counted
    assert ask([2, 3], [8, 7]) == 2
    assert count.passes[-1] == [(7, 20), (20, 7)]
    assert ask([7, 8], [7, 3], [3, 7]) == 2
    assert ask([0, 1, 2], [5, 6, 7]) == 3
    assert ask([5, 6, 7]) == 3
    assert ask([5, 6, 2]) == 4
    assert ask([6, 8], rows=400) == 5  # of few rows, as it was asked
    assert count.passes[-1] == [(2, 10)]
    assert ask() == 5
    monkeypatch.setattr(source_counts, "MAX_BLOCK_CELLS", 50)
    assert ask([5, 3], [5, 7]) == 6  # codes that would have 40 cells, and 14
    assert count.passes[-1] == [(2, 20), (2, 7)]
    assert ask([7, 8]) == 7  # 140: no longer what is looked for


def test_a_fit_takes_three_passes(monkeypatch):
    """One for single columns and the number of rows, one for pairs, one for sets. Planted: no memory."""
    passes, total = [], FrameSource.total

    def counted(self, work, names):
        passes.append(work)
        return total(self, work, names)

    monkeypatch.setattr(FrameSource, "total", counted)
    rows = census_like(100_000, 0).iloc[:, :6]
    declared = {name: census_like_metadata()[name] for name in rows}
    for planted in (False, True):
        if planted:
            monkeypatch.setattr(source_counts, "MAX_TOTAL_CELLS", 0)
        passes.clear()
        fit_source(rows, None, declared, epsilon=100, random_state=3, allow_no_claim=True)
        assert (len(passes) == 3) is not planted


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(source_counts, "MAX_TOTAL_CELLS", 200)
    found, count = CountCache(SIZES), Counting()
    for _ in range(2):
        list(found.tables([[AXES[7], AXES[8]], [AXES[3]]], 4000, count))  # 140 and 20 cells
        list(found.tables([[AXES[3]]], 4000, count))
    assert count.passes == [[(4, 10), (20,)], [(20,)], [(4, 10), (20,)]]
    assert found._cells == 20 + source_counts.ARRAY_OVERHEAD  # 140 and as many beside them would be more
