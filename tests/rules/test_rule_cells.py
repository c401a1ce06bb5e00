"""One form of a cell in every storage."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.rules import rule_cells
from sdv_plausible.table.columns.domain import Attribute


def test_the_same_values_in_all_storages():
    table = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": [1.0, np.nan]})
    table = table.assign(c=[Decimal(1), None], d=["1", None])
    assert rule_cells.are_equal(table, "a", "b", {}).all()
    assert rule_cells.are_equal(table, "a", "c", {}).all()
    assert rule_cells.are_equal(table, "a", "d", {}).tolist() == [False, True]
    assert rule_cells.is_in(table, "c", {}, [1, np.nan]).all()
    assert rule_cells.is_in(table, "d", {}, [1]).tolist() == [False, False]


def test_combinations_are_told_apart():
    table = pd.DataFrame({"a": [1, 1, 2, 1], "b": ["x", "y", "x", "x"]})
    where, found = rule_cells.distinct_combinations(table, ["a", "b"], {})
    assert [found[i] for i in where] == [(1, "x"), (1, "y"), (2, "x"), (1, "x")]
    assert rule_cells.combination_key([1.0, "y"], ["a", "b"], {}) == (1, "y")
    assert rule_cells.distinct_combinations(table[:0], ["a", "b"], {})[1] == []


def test_dates_in_any_format_are_nanoseconds():
    day = pd.Timestamp("2000-03-01").value
    assert rule_cells.to_nanoseconds("01.03.2000", "x", "%d.%m.%Y") == day
    assert rule_cells.to_nanoseconds("2000-03-01", "x", "%d.%m.%Y") == day
    assert rule_cells.to_nanoseconds(pd.Timestamp("2000-03-01 01:00", tz="Europe/Zurich"), "x", None) == day
    for wrong in (5, "soon", 1.5, True):
        with pytest.raises(ValueError, match="must be a date"):
            rule_cells.to_nanoseconds(wrong, "x", None)


def test_numbers_are_written_as_their_attribute_says():
    there = np.array([True, False])
    ends = {"lower": (0,), "upper": (9,)}
    whole = Attribute(name="x", kind="integer", **ends)
    assert rule_cells.to_column(np.array([1.6, 3.0]), np.array([True, True]), whole).tolist() == [2, 3]
    assert rule_cells.to_column(np.array([1.6, np.nan]), there, whole).isna().tolist() == [False, True]
    tenths = Attribute(name="x", kind="float", decimals=1, lower=(0.0,), upper=(9.0,))
    assert rule_cells.to_column(np.array([1.26, 0.0]), there, tenths)[0] == 1.3
    date = Attribute(name="x", kind="datetime", datetime_format="%d.%m.%Y", **ends)
    assert rule_cells.to_column(np.array([0, 0]), there, date).tolist() == ["01.01.1970", None]
    zone = Attribute(name="x", kind="datetime", time_zone="Asia/Tokyo", **ends)
    assert str(rule_cells.to_column(np.array([0, 0]), there, zone)[0]) == "1970-01-01 09:00:00+09:00"
    assert rule_cells.round_decimals(np.array([0.1 + 0.2]))[0] == 0.3
    assert rule_cells.is_number(np.int64(3))
    assert not any(map(rule_cells.is_number, (True, "3", None, np.inf)))
