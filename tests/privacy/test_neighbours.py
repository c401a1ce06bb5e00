"""The unit of a guarantee: how far its rows can move a table of counts, by brute force."""

from __future__ import annotations

import itertools
from collections import Counter

import neighbouring
import numpy as np
import pytest

from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours, Person, person_from_fields

RELATIONS = [*neighbouring.RELATIONS, Neighbours(rows=3), Neighbours(rows=3, replace=True)]


def histogram(table: neighbouring.Table) -> list[int]:
    counts = Counter(table)
    return [counts[cell] for cell in "abc"]


def test_counts_move_exactly_as_far_as_stated():
    """In both norms: the noise needs no less, and no more. Control: the sensitivities of one row are too small for more."""
    for relation in RELATIONS:
        for norm, stated in ((1, "histogram_l1"), (2, "histogram_l2")):
            moved = neighbouring.largest_move(histogram, "abc", 2, relation, norm)
            assert moved == pytest.approx(getattr(relation, stated))
            assert relation == ONE_ROW or moved > getattr(ONE_ROW, stated)


def test_rows_of_a_unit_are_a_whole_number():
    for rows in (0, -1, 1.0, True, "2", None, np.inf):
        with pytest.raises(ValueError, match=r"^rows \(.*whole number of at least 1"):
            Neighbours(rows=rows)


def test_one_row_is_the_usual_unit():
    assert Neighbours() == ONE_ROW
    assert (ONE_ROW.rows, ONE_ROW.replace, ONE_ROW.histogram_l1, ONE_ROW.histogram_l2) == (1, False, 1, 1.0)


def test_so_many_rows_are_surely_those_of_so_many_units():
    """The least number of rows that fewer units cannot have, all of them as many as they may."""
    for rows, units in itertools.product((1, 2, 3, 7), (1, 2, 3, 10)):
        most_of_fewer = sum(rows for _ in range(units - 1))
        assert Neighbours(rows=rows).rows_of(units) == most_of_fewer + 1


def test_arguments_are_read_as_they_are_and_refused_where_they_say_no_unit():
    for relation, person, expected in (
        ("add_remove", None, ONE_ROW),
        ("replace_one", None, Neighbours(replace=True)),
        ("add_remove", "id", Neighbours(person="id")),
        ("add_remove", Person("id"), Neighbours(person="id")),
        ("add_remove", Person("id", rows=5), Neighbours(rows=5, person="id")),
        ("replace_one", Person("id", rows=2), Neighbours(rows=2, replace=True, person="id")),
    ):
        assert Neighbours.parse(relation, person) == expected
    says = r'neighbours \(\'remove\'\) must be "add_remove" or "replace_one"'
    for relation, person, named in (
        ("remove", None, says), ("add_remove", "", r"^person \("), ("add_remove", 3, r"^person \(3\) must be the name of the column"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=named):
            Neighbours.parse(relation, person)


def test_rows_of_nobody_are_refused():
    assert person_from_fields(None, 1) is None
    assert person_from_fields("id", 1) == "id"
    assert person_from_fields("id", 2) == Person("id", rows=2)
    with pytest.raises(ValueError, match=r"^rows_per_person \(2\) needs person"):
        person_from_fields(None, 2)
    for rows in (0, 2.5, True):
        with pytest.raises(ValueError, match=r"^rows \(.*whole number from 1 to"):
            Person("id", rows=rows)


def test_words_speak_of_people_where_a_unit_may_have_several_rows():
    units = ONE_ROW, Neighbours(rows=2), Neighbours(person="id")
    assert [unit.of_people for unit in units] == [False, True, True]
    assert units[1].unit == "one person (with at most 2 rows)"
    assert units[2].unit == "one person (all rows with one value of id, of which at most 1 is used)"
    assert "more than 1 row count" in units[2].bias
    assert "more than 2 rows count" in Neighbours(rows=2, person="id").bias
    assert ONE_ROW.bias == units[1].bias == ""


def test_more_rows_of_a_person_than_doubles_add_up_are_refused():
    assert Person("home", rows=10**6).rows == 10**6
    with pytest.raises(ValueError, match="rows .* must be a whole number from 1 to 1,000,000"):
        Person("home", rows=10**6 + 1)
