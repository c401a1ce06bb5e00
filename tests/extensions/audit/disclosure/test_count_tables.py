"""Small tables and their neighbours, against the definitions."""

import math

import numpy as np
import pytest

from sdv_plausible.extensions.audit.disclosure.transition_matrix import (
    MOST_CELLS,
    check_cells,
    neighbouring,
    tables_of_counts,
)


def test_all_tables_of_a_size():
    tables = list(tables_of_counts(5, 3))
    assert len(set(tables)) == len(tables) == math.comb(7, 2)
    assert {sum(table) for table in tables} == {5}
    assert list(tables_of_counts(2, 2)) == [(0, 2), (1, 1), (2, 0)]


@pytest.mark.parametrize(("relation", "distance"), [("replace_one", 2), ("add_remove", 1)])
def test_all_pairs_of_neighbours(relation, distance):
    tables = [table for size in (3, 2, 4) for table in tables_of_counts(size, 3)]
    found = [(int(i), int(j)) for i, j in neighbouring(tables, relation)]
    expected = {
        (i, j)
        for i, a in enumerate(tables)
        for j, b in enumerate(tables)
        if i < j and np.abs(np.subtract(a, b)).sum() == distance and (sum(a) == sum(b)) == (distance == 2)
    }
    assert len(found) == len(set(found))
    assert set(found) == expected


def test_what_is_too_large_or_alone_is_refused():
    check_cells(MOST_CELLS, 1)
    with pytest.raises(ValueError, match="lower n"):
        check_cells(MOST_CELLS, 2)
    with pytest.raises(ValueError, match="must hold neighbours"):
        neighbouring([(1, 1)], "replace_one")
