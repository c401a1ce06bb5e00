"""Exact answers about single columns: each a function of its cells one by one, by plain loops; moved by one row as stated."""

from __future__ import annotations

import itertools
import math
import pickle
from collections import Counter
from typing import Any

import neighbouring
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.table.cells.cell_series import normalize_cells
from sdv_plausible.table.learned.raw_queries import (
    FrameColumns,
    FrequentPoints,
    FrequentValues,
    MissingCount,
    NumberReading,
    PrecisionCounts,
    PrecisionQuery,
    RoundingCounts,
    RunCounts,
    value_counts,
)
from sdv_plausible.table.learned.value_grid import DATE_UNITS, MOST_DECIMALS, ValueGrid

VALUES = ["a", "b", "1", 1, 1.0, True, np.True_, 2.5, np.int64(3), None, np.nan]
NUMBERS = [0.0, 1.0, -1.5, 0.25, 1 / 3, 1e300, -7.0, math.inf, None]
MOMENTS = ["2020-01-01", "2020-01-01 10:30", "1700-05-05 01:02:03.5", None]


def frame(values: list[Any], dtype: Any = None) -> FrameColumns:
    return FrameColumns(pd.DataFrame({"x": pd.Series(list(values), dtype=dtype)}))


def missing(value: Any) -> bool:
    return value is None or value != value


# --- values -----------------------------------------------------------------------------------------------------------


def one_by_one(values: list[Any]) -> tuple[Counter, int]:
    """Each present cell by whether it is a truth value, and itself: equal numbers are one value."""
    counts: Counter = Counter()
    for value in values:
        if not missing(value):
            flag = isinstance(value, (bool, np.bool_))
            counts[flag, bool(value) if flag else value] += 1
    return counts, sum(map(missing, values))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(VALUES), max_size=12), st.sampled_from([None, object]))
def test_values_by_plain_loops_whatever_type_pandas_chooses(values, dtype):
    """Control: pandas' own counts take 1 and True for one value."""
    found, counts, gone = frame(values, dtype or (object if not values else None)).value_counts("x")
    wanted, wanted_gone = one_by_one(values)
    assert gone == wanted_gone
    assert dict(zip(found, counts.tolist(), strict=True)) == wanted
    assert len(pd.Series([1, True, 1.0], dtype=object).value_counts()) == 1


@settings(max_examples=60, deadline=None)
@given(st.permutations(["a", "b", "1", 1, True, False, 2.5, -3, b"z"]))
def test_the_order_of_values_says_nothing_of_the_rows(order):
    """It is that of the values alone: whatever comes first, and however often."""
    found, _, _ = frame([*order, order[0], order[3]], object).value_counts("x")
    first, _, _ = frame(["a", "b", "1", 1, True, False, 2.5, -3, b"z"], object).value_counts("x")
    assert found == first
    fewer, _, _ = frame(order[:5], object).value_counts("x")
    assert fewer == [v for v in first if v in fewer]


def test_true_and_one_are_told_apart_whatever_comes_first():
    values = [True, 1, 1.0, "1", 2.5, True, np.int64(1), np.True_]
    expected = {(True, True): 3, (False, 1): 3, (False, "1"): 1, (False, 2.5): 1}
    for order in itertools.islice(itertools.permutations(values), 0, 40320, 1777):
        counts, gone = value_counts(pd.Series([*order, None], dtype=object))
        assert gone == 1
        assert counts == expected
        assert {type(v) for _, v in counts} == {bool, int, str, float}


@pytest.mark.parametrize(
    "dtype", ["int64", "Int64", "float64", "boolean", "bool", "string", "category", "float32"]
)
def test_a_value_is_the_same_in_whatever_type_it_is_stored(dtype):
    cells = {"boolean": [True, False, True], "bool": [True, False, True], "string": ["a", "b", "a"]}.get(
        dtype, [1, 2, 1]
    )
    stored, plain = (frame(cells, d).value_counts("x") for d in (dtype, object))
    assert stored[0] == plain[0]
    assert stored[1].tolist() == plain[1].tolist()
    assert sorted(stored[1].tolist()) == [1, 2]


# --- numbers and dates ------------------------------------------------------------------------------------------------


def level_of(value: Any) -> int:
    """Fewest decimals that show a number; one more than can be asked for where none do, then what is none, and missing."""
    if missing(value):
        return MOST_DECIMALS + 3
    if math.isinf(value):
        return MOST_DECIMALS + 2
    if abs(value) >= 2**63:  # beyond the whole numbers of 64 bits
        return MOST_DECIMALS + 1
    return next((d for d in range(MOST_DECIMALS + 1) if round(value, d) == value), MOST_DECIMALS + 1)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(NUMBERS), max_size=10))
def test_precision_by_plain_loops(values):
    found = frame(values, float).precision_counts(NumberReading("x", "numerical"))
    assert found.tolist() == [sum(level_of(v) == level for v in values) for level in range(MOST_DECIMALS + 4)]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(MOMENTS), max_size=8))
def test_precision_of_dates_by_plain_loops(values):
    """The coarsest unit whose multiple a moment is."""
    stamps = [None if v is None else pd.Timestamp(v).value for v in values]
    levels = [
        len(DATE_UNITS) + 1 if v is None else next(i for i, unit in enumerate(DATE_UNITS) if v % unit == 0)
        for v in stamps
    ]
    column = pd.Series(pd.to_datetime([None if v is None else pd.Timestamp(v) for v in values]))
    found = FrameColumns(pd.DataFrame({"x": column})).precision_counts(NumberReading("x", "datetime"))
    assert found.tolist() == [levels.count(i) for i in range(len(DATE_UNITS) + 2)]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(NUMBERS), max_size=10), st.sampled_from([0, 2, None]))
def test_points_by_plain_loops(values, decimals):
    lattice = ValueGrid(kind="integer") if decimals == 0 else ValueGrid(kind="float", decimals=decimals)
    points, counts = frame(values, float).point_counts(NumberReading("x", "numerical"), lattice)
    present = [v for v in values if not missing(v) and not math.isinf(v)]
    wanted = Counter(int(lattice.index(np.array([v]))[0]) for v in present)
    assert dict(zip(points.tolist(), counts.tolist(), strict=True)) == wanted
    assert points.tolist() == sorted(points.tolist())


def test_what_was_read_of_one_column_is_not_taken_for_another():
    """A column is asked for several times in a row: what is kept is the last one's, in its reading."""
    table = FrameColumns(pd.DataFrame({"a": [1.0, 2.0], "b": [0.5, None], "c": ["2020", "2021"]}))
    for _ in range(2):
        assert table.precision_counts(NumberReading("a", "numerical"))[0] == 2
        assert table.precision_counts(NumberReading("b", "numerical")).tolist()[1 :: MOST_DECIMALS + 2] == [
            1,
            1,
        ]
        assert table.precision_counts(NumberReading("c", "datetime", "%Y"))[0] == 2
        assert table.precision_counts(NumberReading("c", "datetime", "%Y"))[-1] == 0
    lattices = [ValueGrid(kind="integer"), ValueGrid(kind="float", decimals=1)]
    found = [
        table.point_counts(NumberReading("a", "numerical"), lattice)[0].tolist()
        for lattice in (*lattices, *lattices)
    ]
    assert found == [[1, 2], [10, 20]] * 2


def test_rows_do_not_leave_in_a_pickle():
    with pytest.raises(TypeError, match="rows cannot be pickled"):
        pickle.dumps(frame([1]))


# --- questions --------------------------------------------------------------------------------------------------------

READING = NumberReading("x", "numerical")
LATTICE = ValueGrid(kind="float", decimals=2)
FIRST, LAST = LATTICE.grid()
CELLS = {
    "missing": (MissingCount("x"), ["a", 1, True, None, np.nan]),
    "precision": (PrecisionQuery(READING), [0.0, 1.5, 1 / 3, None, math.inf]),
    "dates": (
        PrecisionQuery(NumberReading("x", "datetime")),
        [pd.Timestamp("2020-01-01"), pd.Timestamp("1999-01-01 01:00"), pd.NaT],
    ),
    "magnitude": (RunCounts(READING, LATTICE, FIRST, LAST), [0.0, -1.5, 1.51, 1e300, None]),
    "runs": (
        RunCounts(READING, LATTICE, np.array([0, 100]), np.array([99, 150])),
        [0.5, 0.99, 1.0, 1.5, 1.51, -1.0],
    ),
    "rounding": (
        RoundingCounts(READING, LATTICE, (1, 5, 10, 50), (150,)),
        [0.0, 0.05, -0.5, 1.5, 1.51, 12.0, 1e300, None],
    ),
    "without": (
        RunCounts(READING, LATTICE, np.array([0, 100]), np.array([99, 150]), (50, 100)),
        [0.5, 0.51, 1.0, 1.5],
    ),
}


@pytest.mark.parametrize("relation", neighbouring.RELATIONS[:3], ids=str)
@pytest.mark.parametrize("name", CELLS)
def test_questions_move_as_far_as_stated(name, relation):
    """All tables of up to two rows (and a unit's), in the type that pandas chooses for each. Cells are told apart by number."""
    question, cells = CELLS[name]

    def exact(table: neighbouring.Table) -> np.ndarray:
        values = [cells[i] for i in table]
        return question.exact(frame(values, None if values else object))

    found = neighbouring.largest_move(exact, range(len(cells)), 2, relation)
    assert neighbouring.within(found, question.sensitivity(relation))
    assert found >= relation.rows  # reached: more noise would be wasted


def in_run(value: float, first: int, last: int, without: tuple[int, ...]) -> bool:
    point = round(value * 100)
    return first <= point <= last and point not in without


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(-300, 300).map(lambda v: v / 100), max_size=20),
    st.sets(st.integers(-5, 205), max_size=3),
)
def test_runs_by_plain_loops(values, without):
    runs = [(-50, -1), (0, 99), (100, 100), (150, 220)]
    first, last = np.array(runs).T
    found = RunCounts(READING, LATTICE, first, last, tuple(without)).exact(frame(values, float))
    assert found.tolist() == [sum(in_run(v, a, b, tuple(without)) for v in values) for a, b in runs]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-3000, 3000), max_size=20), st.sets(st.integers(-20, 20), max_size=3))
def test_rounding_by_plain_loops(points, without):
    steps = (1, 5, 10, 50)
    found = RoundingCounts(READING, LATTICE, steps, tuple(without)).exact(
        frame([point / 100 for point in points], float)
    )
    expected = np.zeros((8, 4), dtype=int)
    for point in points:
        if point and point not in without:
            expected[len(str(abs(point))) - 1, max(i for i, s in enumerate(steps) if point % s == 0)] += 1
    assert found.reshape(8, 4).tolist() == expected.tolist()


def test_planted_fault_a_multiple_that_counts_for_every_step():
    """150 counted for 1, 5, 10 and 50, not for 50 alone, moves four cells."""
    steps = (1, 5, 10, 50)

    def every_step(table: neighbouring.Table) -> np.ndarray:
        points = np.array([round(100 * value) for value in table], dtype=np.int64)
        return np.array([(points % step == 0).sum() for step in steps])

    relation = neighbouring.RELATIONS[0]
    found = neighbouring.largest_move(every_step, [1.5, 0.01], 1, relation)
    assert not neighbouring.within(found, RoundingCounts(READING, LATTICE, steps).sensitivity(relation))


def test_planted_fault_runs_that_share_their_ends():
    question = RunCounts(READING, LATTICE, np.array([0, 99]), np.array([99, 150]))
    assert neighbouring.largest_move(
        lambda table: question.exact(frame(list(table), float)), [0.99, 0.5], 1, neighbouring.RELATIONS[0]
    ) > question.sensitivity(neighbouring.RELATIONS[0])  # fmt: skip


@pytest.mark.parametrize("relation", neighbouring.RELATIONS[:2], ids=str)
@pytest.mark.parametrize(
    ("question", "cells"),
    [
        (FrequentValues("x"), ["a", 1, 1.0, True, None, 2.5]),
        (FrequentPoints(READING, LATTICE), [0.0, 1.5, 1.501, 1e300, None, math.inf]),
    ],
)
def test_values_that_occur_and_public_cells_hold_each_row_once_at_most(question, cells, relation):
    """Neighbours' histograms, value by value, differ by a unit's rows at most; a new value has no more than that."""
    for a, b in neighbouring.pairs(range(len(cells)), 2, relation):
        histograms = []
        for table in (a, b):
            values, counts, public = question.occurring(frame([cells[i] for i in table], object))
            assert (counts > 0).all()
            histograms.append(
                Counter(dict(zip(values, counts.tolist(), strict=True)))
                + Counter({"public": int(sum(public))})
            )
        more, less = histograms
        assert not less - more
        assert sum((more - less).values()) <= relation.rows


@pytest.mark.parametrize("unit", ["s", "ms"])
def test_a_moment_beyond_the_year_9999_is_missing_in_every_storage(unit: str) -> None:
    """An odd cell makes the column one of objects: 300 other cells then counted elsewhere (seen red)."""
    moments = pd.Series(np.array(["100000-01-01"] * 3 + ["2020-01-01", "9999-12-31"], f"M8[{unit}]"))
    reading, found = NumberReading("x", "datetime", "%Y-%m-%d"), []
    for column in (moments, pd.concat([moments.astype(object), pd.Series(["junk"])], ignore_index=True)):
        table = normalize_cells(pd.DataFrame({"x": column}))
        found.append(FrameColumns(table).precision_counts(reading))
    assert (found[1] - found[0])[-2:].tolist() == [1, 0], "junk is there, and is no date"
    assert found[0][-2:].tolist() == [1, 3]


@pytest.mark.parametrize("odd", ["31.12.9999", "31.12.4712", "no date", 5, True, None])
def test_a_date_that_cannot_be_read_is_counted_apart_and_changes_no_other(odd):
    """A usual date for "never", a cell that holds something else, or a missing one: the last counts."""
    reading, lattice = (
        NumberReading("x", "datetime", "%d.%m.%Y"),
        ValueGrid(kind="datetime", unit=DATE_UNITS[0]),
    )
    days = ["01.02.2020", "03.04.2021"]
    before, after = frame(days, object), frame([*days, odd], object)
    move = after.precision_counts(reading) - before.precision_counts(reading)
    place = reading.beside.index(odd) if odd in reading.beside else -1 if odd is None else -2
    assert np.flatnonzero(move).tolist() == [(reading.levels if odd in reading.beside else len(move)) + place]
    assert move.sum() == 1
    for a, b in zip(before.point_counts(reading, lattice), after.point_counts(reading, lattice), strict=True):
        np.testing.assert_array_equal(a, b)


def test_cells_that_come_out_missing_are_those_unread_and_texts_that_are_not_kept():
    """Each by itself, from four deviations on."""
    asked = PrecisionQuery(NumberReading(name="x", sdtype="numerical", texts=("never", "none"))).asked()
    found = PrecisionCounts.of(np.array([5.0, 7.0, 60.0, 50.0, 45.0, 30.0]), asked)
    assert found.beside == {"never": 60.0, "none": 50.0}
    for kept, lost in (((), [45, 60, 50]), (("never",), [45, 50]), (("never", "none"), [45])):
        assert found.lost(kept, 1.0) == lost
    assert found.lost((), 11.5) == [60, 50]
    assert found.lost((), 20.0) == []


@pytest.mark.parametrize("number", [1.0, math.nan])
def test_a_nan_is_missing_in_every_storage(number):
    """What pandas' own nullable types hold as NaN, and not as NA, is no cell that cannot be read."""
    nullable = pd.Series(pd.arrays.FloatingArray(np.array([number, 2.0]), np.array([False, False])))
    plain = pd.Series([number, 2.0])
    reading = NumberReading(name="x", sdtype="numerical")
    counts = [
        FrameColumns(pd.DataFrame({"x": one})).precision_counts(reading)
        for one in (nullable, plain, plain.astype(object))
    ]
    assert (counts[0] == counts[1]).all()
    assert (counts[0] == counts[2]).all()
    assert counts[0][-2:].tolist() == [0, int(math.isnan(number))]


def test_a_complex_number_that_is_half_missing_is_the_same_in_every_storage() -> None:
    numbers = pd.Series([complex(0, float("nan"))] * 2 + [1 + 0j])
    found = []
    for column in (numbers, pd.concat([numbers.astype(object), pd.Series(["5"])], ignore_index=True)):
        found.append(FrameColumns(normalize_cells(pd.DataFrame({"x": column}))).precision_counts(READING))
    assert (found[1] - found[0]).tolist() == [1, *[0] * (len(found[0]) - 1)]
