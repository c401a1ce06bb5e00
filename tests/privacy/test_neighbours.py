"""The unit of a guarantee: how far its rows can move a table of counts, by brute force."""

from __future__ import annotations

from collections import Counter

import neighbouring
import numpy as np
import pytest

from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours, Person, person_of

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


@pytest.mark.parametrize("rows", [1, 2, 3, 7])
def test_so_many_rows_are_surely_those_of_so_many_units(rows):
    """The least number of rows that fewer units cannot have, all of them as many as they may."""
    relation = Neighbours(rows=rows)
    for units in (1, 2, 3, 10):
        most_of_fewer = sum(rows for _ in range(units - 1))
        assert relation.rows_of(units) == most_of_fewer + 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("add_remove", None), ONE_ROW),
        (("replace_one", None), Neighbours(replace=True)),
        (("add_remove", "id"), Neighbours(person="id")),
        (("add_remove", Person("id")), Neighbours(person="id")),
        (("add_remove", Person("id", rows=5)), Neighbours(rows=5, person="id")),
        (("replace_one", Person("id", rows=2)), Neighbours(rows=2, replace=True, person="id")),
    ],
)
def test_arguments_are_read_as_they_are(arguments, expected):
    assert Neighbours.parse(*arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "named"),
    [(("remove", None), "neighbours"), (("add_remove", ""), "person"), (("add_remove", 3), "person")],
)
def test_arguments_that_say_no_unit_are_refused(arguments, named):
    with pytest.raises(ValueError, match=rf"^{named} \("):
        Neighbours.parse(*arguments)


def test_rows_of_nobody_are_refused():
    assert person_of(None, 1) is None
    assert person_of("id", 1) == "id"
    assert person_of("id", 2) == Person("id", rows=2)
    with pytest.raises(ValueError, match=r"^rows_per_person \(2\) needs person"):
        person_of(None, 2)
    for rows in (0, 2.5, True):
        with pytest.raises(ValueError, match=r"^rows \(.*whole number from 1 to"):
            Person("id", rows=rows)


def test_words_speak_of_people_where_a_unit_may_have_several_rows():
    assert [n.of_people for n in (ONE_ROW, Neighbours(rows=2), Neighbours(person="id"))] == [
        False,
        True,
        True,
    ]
    assert Neighbours(rows=2).unit == "one person (with at most 2 rows)"
    assert (
        Neighbours(person="id").unit
        == "one person (all rows with one value of id, of which at most 1 is used)"
    )
    assert "more than 1 row count" in Neighbours(person="id").bias
    assert "more than 2 rows count" in Neighbours(rows=2, person="id").bias
    assert ONE_ROW.bias == Neighbours(rows=2).bias == ""


def test_more_rows_of_a_person_than_doubles_add_up_are_refused():
    assert Person("home", rows=10**6).rows == 10**6
    with pytest.raises(ValueError, match="rows .* must be a whole number from 1 to 1,000,000"):
        Person("home", rows=10**6 + 1)
