"""The unit of a guarantee: how far its rows can move a table of counts, by brute force."""

from __future__ import annotations

from collections import Counter

import neighbouring
import numpy as np
import pytest

from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours

RELATIONS = [*neighbouring.RELATIONS, Neighbours(rows=3), Neighbours(rows=3, replace=True)]


def histogram(table: neighbouring.Table) -> list[int]:
    counts = Counter(table)
    return [counts[cell] for cell in "abc"]


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_counts_move_exactly_as_far_as_stated(relation):
    """In both norms: the noise needs no less, and no more."""
    for norm, stated in ((1, relation.histogram_l1), (2, relation.histogram_l2)):
        assert neighbouring.largest_move(histogram, "abc", 2, relation, norm) == pytest.approx(stated)


@pytest.mark.parametrize("relation", [Neighbours(rows=2), Neighbours(replace=True)], ids=str)
def test_the_sensitivities_of_one_row_are_too_small_for_more(relation):
    """Control."""
    assert neighbouring.largest_move(histogram, "abc", 1, relation) > ONE_ROW.histogram_l2
    assert neighbouring.largest_move(histogram, "abc", 1, relation, 1) > ONE_ROW.histogram_l1


@pytest.mark.parametrize("rows", [0, -1, 1.0, True, "2", None, np.inf])
def test_rows_of_a_unit_are_a_whole_number(rows):
    with pytest.raises(ValueError, match=r"^rows \(.*whole number of at least 1"):
        Neighbours(rows=rows)


def test_one_row_is_the_usual_unit():
    assert Neighbours() == ONE_ROW
    assert (ONE_ROW.rows, ONE_ROW.replace, ONE_ROW.histogram_l1, ONE_ROW.histogram_l2) == (1, False, 1, 1.0)
