"""Columns that equal another one or are a sum."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.rules import Equal, Sum
from sdv_plausible.table.columns.domain import Attribute

WHOLE = Attribute(name="a", kind="integer", lower=(0,), upper=(9,), nullable=True)
TENTHS = Attribute(name="b", kind="float", decimals=1, lower=(0.0,), upper=(0.9,))


def test_sums_are_exact_and_missing_where_a_part_is():
    rule, known = Sum("t", ("a", "b")), {"a": WHOLE, "b": TENTHS}
    (made,) = rule.attributes(known, {}, {})
    table = pd.DataFrame({"a": [0, 1, np.nan], "b": [0.3, 0.1, 0.2]})
    total = rule.unfold(table, {}, {"t": made})["t"]
    assert total.tolist()[:2] == [0.3, 1.1]
    assert np.isnan(total[2])
    assert (made.lower, made.upper, made.decimals, made.nullable) == ((0.0,), (9.9,), 1, True)
    assert rule.holds(table.assign(t=total), {}).all()
    assert rule.holds(table.assign(t=[0.3, 1.2, 0.2]), {}).tolist() == [True, False, False]
    assert rule.fits(known, {"t": made})


def test_sums_of_whole_numbers_are_whole():
    """Parts of which all are missing stop nothing: that a learned domain is empty depends on the rows."""
    rule, known = Sum("t", ["a", "c"]), {"a": WHOLE, "c": WHOLE}
    (made,) = rule.attributes(known, {}, {})
    total = rule.unfold(pd.DataFrame({"a": [1, 2], "c": [3, 4]}), {}, {"t": made})["t"]
    assert total.dtype == np.int64
    assert total.tolist() == [4, 6]
    rule, known = Sum("t", ("a", "b")), {"a": Attribute(name="a", kind="integer", nullable=True), "b": TENTHS}
    (made,) = rule.attributes(known, {}, {})
    assert made.nullable
    assert rule.unfold(pd.DataFrame({"a": [np.nan], "b": [0.1]}), {}, {"t": made})["t"].isna().all()


def test_copies_in_their_own_format():
    rule, ends = Equal("copy", "day"), {"lower": (0,), "upper": (10**18,)}
    day = Attribute(name="day", kind="datetime", datetime_format="%Y-%m-%d", nullable=True, **ends)
    (made,) = rule.attributes({"day": day}, {}, {"copy": {"datetime_format": "%d.%m.%y"}})
    formats = {"day": "%Y-%m-%d", "copy": "%d.%m.%y"}
    table = pd.DataFrame({"day": ["2001-02-03", None]})
    found = rule.unfold(table, formats, {"copy": made})["copy"]
    assert found.tolist() == ["03.02.01", None]
    assert rule.holds(table.assign(copy=found), formats).all()
    assert rule.holds(table.assign(copy=["04.02.01", "04.02.01"]), formats).tolist() == [False, False]
    (zoned,) = rule.attributes({"day": day}, {}, {"copy": {"time_zone": "Asia/Tokyo"}})
    found = rule.unfold(table, {**formats, "copy": None}, {"copy": zoned})["copy"]
    assert found[0] == pd.Timestamp("2001-02-03", tz="UTC")


def test_copies_of_values_and_wrong_columns():
    table = pd.DataFrame({"x": [1.0, np.nan, 2.0], "y": pd.array([1, None, 3], dtype="Int64")})
    assert Equal("y", "x").holds(table, {}).tolist() == [True, True, False]
    assert Equal("y", "x").unfold(table, {}, {})["y"].equals(table["x"])
    for wrong in (lambda: Sum("t", ["a"]), lambda: Sum("a", ["a", "b"]), lambda: Equal("a", "a")):
        with pytest.raises(ValueError, match="distinct|at least"):
            wrong()
