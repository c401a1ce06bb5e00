"""Columns by a mapping: numbers, texts, dates, several keys, missing ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.rules import Determined
from sdv_plausible.table.columns.domain import Attribute

TEXT, NUMBER, DATE = {"sdtype": "categorical"}, {"sdtype": "numerical"}, {"sdtype": "datetime"}


def looked_up(rule, table, words):
    rule.check(words)
    (made,) = rule.attributes({}, words, {})
    formats = {n: w.get("datetime_format") for n, w in words.items() if w["sdtype"] == "datetime"}
    found = rule.unfold(table, formats, {rule.column: made})[rule.column]
    assert rule.holds(table.assign(**{rule.column: found}), formats).all()
    assert not rule.holds(table.assign(**{rule.column: found.iloc[::-1].to_numpy()}), formats).all()
    assert rule.fits({}, {rule.column: made})
    return found


def test_whole_numbers_stay_whole():
    rule, words = Determined("y", "x", {"a": 1, "b": 2}), {"x": TEXT, "y": NUMBER}
    full = looked_up(rule, pd.DataFrame({"x": ["b", "a", "a"]}), words)
    assert full.tolist() == [2, 1, 1]
    assert full.dtype == np.int64
    some = looked_up(rule, pd.DataFrame({"x": ["b", "c", None]}), words)
    assert some.dtype == float
    assert some.isna().tolist() == [False, True, True]


def test_decimals_texts_and_truth_values():
    table, truth = pd.DataFrame({"x": [1.0, 2.0]}), {"sdtype": "boolean"}
    for values, words in (([0.5, 1.0], NUMBER), (["é", "b"], TEXT), ([True, False], truth)):
        found = looked_up(Determined("y", "x", dict(zip((1, 2), values, strict=True))), table, {"x": NUMBER, "y": words})  # fmt: skip
        assert found.tolist() == values
    assert found.dtype == bool


def test_dates_in_the_column_s_format_or_iso():
    rule = Determined("y", "x", {"01.02.2003": "2001-01-01", "2004-01-01": "31.12.1960"})
    words = {"x": {**DATE, "datetime_format": "%d.%m.%Y"}, "y": {**DATE, "datetime_format": "%d.%m.%Y"}}
    table = pd.DataFrame({"x": ["01.02.2003", "01.01.2004"]})
    assert looked_up(rule, table, words).tolist() == ["01.01.2001", "31.12.1960"]
    plain = {"x": DATE, "y": DATE}
    rule = Determined("y", "x", {"2003-02-01": pd.Timestamp("2001-01-01"), "2004-01-01": "1960-12-31"})
    stamps = looked_up(rule, pd.DataFrame({"x": pd.to_datetime(["2003-02-01", "2004-01-01"])}), plain)
    assert stamps.tolist() == [pd.Timestamp("2001-01-01"), pd.Timestamp("1960-12-31")]


def test_several_keys_missing_ones_and_the_rest():
    rule = Determined("y", ["x", "z"], {("a", 1): "p", (None, 2): "q"}, otherwise="r")
    table = pd.DataFrame({"x": ["a", None, "a"], "z": [1, 2, 2]})
    assert looked_up(rule, table, {"x": TEXT, "z": NUMBER, "y": TEXT}).tolist() == ["p", "q", "r"]
    assert Determined.from_dict(rule.to_dict()).to_dict() == rule.to_dict()
    assert Determined.from_dict({"column": "y", "by": "x", "mapping": {"a": 1}}).mapping == {"a": 1}


def test_wrong_mappings():
    whole, given = {**NUMBER, "range_is_nullable": False}, {**TEXT, "range_is_nullable": False}
    for rule, words, said in (
        (lambda: Determined("y", "y", {1: 2}), {}, "must not be among by"),
        (lambda: Determined("y", "x", {}), {}, "mapping"),
        (lambda: Determined("y", ["x", "z"], {"a": 1}), {}, "a value for each"),
        (lambda: Determined("y", "x", {1: "a"}), {"x": NUMBER, "y": NUMBER}, "must be numbers"),
        (lambda: Determined("y", "x", {1: "a"}), {"x": NUMBER, "y": DATE}, "must be a date"),
        (lambda: Determined("y", "x", {"noon": 1}), {"x": DATE, "y": NUMBER}, "must be a date"),
        (lambda: Determined("y", "x", {"2000-01-01": 1, "2000-01-01T00:00": 2}), {"x": DATE, "y": NUMBER}, "distinct"),
        (lambda: Determined("y", "x", {"a": 1}), {"x": {**TEXT, "range_values": ["a", "b"]}, "y": whole}, "lacks 'b'"),
        (lambda: Determined("y", "x", {1: "a"}), {"x": {**NUMBER, "range_is_nullable": True}, "y": given}, "lacks missing"),
        (lambda: Determined("y", "x", {1: "a"}), {"x": {**NUMBER, "special_values": [-1]}, "y": given}, "lacks -1"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            rule().check(words)


def test_a_file_s_column_must_be_what_is_made():
    rule, known = Determined("y", "x", {"a": 1, "b": 2}), {"name": "y", "nullable": True}
    assert not rule.fits({}, {"y": Attribute(kind="integer", lower=(1,), upper=(9,), **known)})
    assert not rule.fits({}, {"y": Attribute(kind="categorical", values=("a",), **known)})
