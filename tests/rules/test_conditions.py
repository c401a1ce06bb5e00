"""Implications, structural zeros, allowed combinations: which rows keep them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import ruled

from sdv_plausible.rules import Allowed, Forbidden, Implies
from sdv_plausible.rules.conditions import Condition
from sdv_plausible.rules.rule_files import rule_from_dict, rule_to_json

TABLE = pd.DataFrame({
    "n": [1, 2, 3.5, np.nan], "t": ["a", "b", None, "c"], "b": [True, False, None, True],
    "d": pd.to_datetime(["2000-01-01", "2000-06-01", None, "2001-01-01"]), "z": ["01.01.2000", "01.06.2000", None, "01.01.2001"],
})  # fmt: skip
FORMATS = {"d": None, "z": "%d.%m.%Y"}
CASES = {
    "a value": ("t", "a", [1, 0, 0, 0]),
    "values": ("t", ["a", None], [1, 0, 1, 0]),
    "a number": ("n", 2, [0, 1, 0, 0]),
    "a set": ("n", {2, 3.5}, [0, 1, 1, 0]),
    "missing": ("n", None, [0, 0, 0, 1]),
    "truth": ("b", True, [1, 0, 0, 1]),
    "below": ("n", {"max": 2}, [1, 1, 0, 0]),
    "above": ("n", {"min": 2, "max": None}, [0, 1, 1, 0]),
    "between": ("n", {"min": 1.5, "max": 3}, [0, 1, 0, 0]),
    "dates": ("d", {"min": "2000-02-01"}, [0, 1, 0, 1]),
    "a stamp": ("d", pd.Timestamp("2000-06-01"), [0, 1, 0, 0]),
    "no date": ("d", [None, "2000-01-01"], [1, 0, 1, 0]),
    "text dates": ("z", {"max": "01.06.2000"}, [1, 1, 0, 0]),
    "text dates as ISO": ("z", {"max": "2000-05-31"}, [1, 0, 0, 0]),
    "a text date": ("z", "2001-01-01", [0, 0, 0, 1]),
    "NaT": ("d", pd.NaT, [0, 0, 1, 0]),
}  # fmt: skip


def test_which_rows_meet_a_condition():
    flags = TABLE.astype({"b": "boolean"})
    arrow = flags.convert_dtypes(dtype_backend="pyarrow")
    for table in (flags, flags.convert_dtypes(), arrow, TABLE):
        for column, what, rows in CASES.values():
            condition, expected = Condition.read(column, what), [bool(row) for row in rows]
            again = Condition.read(column, condition.to_user())
            assert condition.meets(table, FORMATS).tolist() == expected
            assert again.meets(table, FORMATS).tolist() == expected
            assert [condition.meets(table.iloc[[i]], FORMATS)[0] for i in range(len(table))] == expected


def test_rules_of_conditions():
    allowed = Allowed(["n", "t"], [[1, "a"], [None, "c"], [2, "a"]])
    for rule, rows in (
        (Implies({"n": {"max": 2}}, {"t": "a"}), [1, 0, 1, 1]),
        (Implies({"n": {"max": 2}, "b": True}, {"t": "b"}), [0, 1, 1, 1]),
        (Forbidden({"n": {"max": 2}, "b": False}), [1, 0, 1, 1]),
        (allowed, [1, 0, 0, 1]),
        (Allowed(["n", "d"], [[2.0, "2000-06-01"], [3.5, None]]), [0, 1, 1, 0]),
    ):
        assert rule.holds(TABLE, FORMATS).tolist() == [bool(row) for row in rows]
    for rule in (allowed, *ruled.RULES[-3:]):
        assert type(rule).from_dict(rule.to_dict()).to_dict() == rule.to_dict()
    assert len(allowed.holds(TABLE[:0], FORMATS)) == 0
    implied = Implies({"n": {"min": 1, "max": 2}}, {"t": ["a", None]})
    assert str(implied) == "if 1 <= n <= 2, then t is a or missing"
    assert str(Forbidden({"n": {"min": 1}, "t": "a"})) == "never 1 <= n and t is a"
    assert str(Allowed(["n", "t"], [[1, "a"]])) == "n, t is one of 1 combinations"


def test_rules_read_as_their_file_does():
    """A ledger names rules, and `verify` compares that with the rules of the file."""
    for value in (np.float32(0.1), np.float64(2), np.int64(3), 1e20, True, np.bool_(True), np.datetime64("2020-01-01"),
     pd.Timestamp("2020-01-01 10:11:12"), pd.Timestamp("2020-01-01", tz="Europe/Zurich"), "x", np.str_("a")
):  # fmt: skip
        for rule in (
            Implies({"a": value}, {"b": [value, None]}),
            Forbidden({"a": {"min": value, "max": value}}),
        ):
            assert str(rule_from_dict(json.loads(json.dumps(rule_to_json(rule))))) == str(rule)


def test_what_cannot_be_read():
    for make, said in (
        (lambda: Implies({}, {"t": "a"}), "must be a mapping"),
        (lambda: Implies("n", {"t": "a"}), "must be a mapping"),
        (lambda: Forbidden({"n": []}), "must name a value"),
        (lambda: Forbidden({"n": [[1]]}), "must name a value"),
        (lambda: Forbidden({"n": {"below": 1}}), "'min', 'max' or both"),
        (lambda: Forbidden({"n": {"min": None}}), "'min', 'max' or both"),
        (lambda: Allowed(["n"], [[1]]), "at least 2"),
        (lambda: Allowed(["n", "t"], [[1]]), "one value for each"),
        (lambda: Allowed(["n", "t"], []), "one value for each"),
        (lambda: Allowed(["n", "t"], ["1a"]), "one value for each"),
        (lambda: Allowed(["n", "t"], [[1, {"a": 1}]]), "single values, not dict"),
        (lambda: Allowed(["n", "t"], [{"n": 1, "t": "a"}]), "one value for each"),
        (lambda: Allowed(["n", "t"], [12]), "one value for each"),
        (lambda: Allowed({"n": 1, "t": 2}, [[1, "a"]]), "distinct names"),
        (lambda: Allowed({"n", "t"}, [[1, "a"]]), "distinct names"),
        (lambda: Forbidden({"n": {"max": "x"}}).holds(TABLE, FORMATS), "must be a number"),
        (lambda: Forbidden({"d": {"max": "x"}}).holds(TABLE, FORMATS), "must be a date"),
        (lambda: Forbidden({"d": 5}).holds(TABLE, FORMATS), "must be a date"),
    ):
        with pytest.raises(ValueError, match=said):
            make()
