"""Rules that no row can keep are found without a row; rules that a row can keep are not complained of."""

from __future__ import annotations

import pytest

from sdv_plausible.rules import Allowed, Determined, Forbidden, Implies, OneHot
from sdv_plausible.rules import contradictions as module
from sdv_plausible.rules.contradictions import check_possible

WORDS = {
    "x": {"sdtype": "categorical", "range_values": ["a", "b"], "range_is_nullable": False},
    "y": {"sdtype": "categorical", "range_values": ["a", "b"], "range_is_nullable": False},
    "n": {"sdtype": "numerical", "range_min": 0, "range_max": 9, "range_is_nullable": False, "special_values": [99]},
    "r": {"sdtype": "numerical"},
    "m": {"sdtype": "numerical", "range_min": 0, "range_max": 9, "range_is_nullable": True},
    "b": {"sdtype": "boolean", "range_is_nullable": False},
    "c": {"sdtype": "boolean", "range_is_nullable": False},
    "d": {"sdtype": "datetime", "range_min": "2000-01-01", "range_max": "2000-12-31"},
    **{f"z{i}": {"sdtype": "categorical", "range_values": list("abcdefghij")} for i in range(12)},
}  # fmt: skip
IMPOSSIBLE = {
    "all forbidden": [Forbidden({"x": ["a", "b"]})],
    "two that exclude": [Implies({"x": "a"}, {"y": "a"}), Implies({"x": "a"}, {"y": "b"})],
    "by a chain": [Implies({"x": "a"}, {"b": True}), Implies({"b": True}, {"y": "b"}), Forbidden({"x": "a", "y": "b"})],
    "all numbers": [Forbidden({"n": {"max": 5}}), Forbidden({"n": {"min": 6}})],
    "truth values": [Forbidden({"b": True}), Forbidden({"b": False})],
    "flags": [OneHot(["b", "c"], (False, True)), Forbidden({"b": True}), Forbidden({"c": True})],
    "through a mapping": [Determined("y", "x", {"a": "b", "b": "a"}), Implies({"x": "a"}, {"y": "a"})],
    "not allowed": [Allowed(["x", "y"], [["a", "b"]]), Implies({"x": "b"}, {"y": "a"})],
    "dates": [Forbidden({"d": {"max": "2000-06-30"}}), Forbidden({"d": {"min": "2000-07-01"}}), Implies({"d": {"min": "2000-05-05"}}, {"x": "a"})],
    "all of a range, missing values not named": [Forbidden({"d": {"min": "2000-01-01"}})],
    "never met": [Implies({"n": {"min": 10, "max": 20}}, {"x": "a"})],
    "value beyond": [Implies({"n": 10}, {"x": "a"})],
    "date beyond": [Forbidden({"d": "2001-01-01"})],
}  # fmt: skip
POSSIBLE = {
    "all of a range that may be missing": [Forbidden({"m": {"min": 0}})],
    "all of a range, missing values named": [Forbidden({"d": {"min": "2000-01-01"}}), Implies({"x": "a"}, {"d": None})],
    "one of two": [Forbidden({"x": "a"})],
    "both ways": [Implies({"x": "a"}, {"y": "b"}), Implies({"x": "b"}, {"y": "a"})],
    "a gap": [Forbidden({"n": {"max": 4}}), Forbidden({"n": {"min": 6}})],
    "a gap of decimals": [Forbidden({"r": {"max": 4}}), Forbidden({"r": {"min": 4.5}})],
    "a special value": [Implies({"n": 99}, {"x": "a"}), Forbidden({"n": {"max": 9}})],
    "one flag": [OneHot(["b", "c"], (False, True)), Forbidden({"b": True})],
    "missing is left": [Forbidden({"d": {"max": "2000-12-31"}, "x": "a"})],
    "a mapping that agrees": [Determined("y", "x", {"a": "b", "b": "a"}), Implies({"x": "a"}, {"y": "b"})],
}  # fmt: skip


def test_what_no_row_can_keep_and_what_one_can():
    for rules in IMPOSSIBLE.values():
        with pytest.raises(ValueError, match=r"no row|(no|not a) declared value"):
            check_possible(rules, WORDS)
    for rules in POSSIBLE.values():
        check_possible(rules, WORDS)


def test_rules_without_a_common_column_are_looked_at_apart_and_too_many_values_say_nothing(monkeypatch):
    """Together they would be too many values; so a contradiction among two is found beside many others."""
    others = [Implies({f"z{i}": "a"}, {f"z{i + 1}": "b"}) for i in range(0, 12, 2)]
    check_possible(others, WORDS)
    with pytest.raises(ValueError, match="no row"):
        check_possible([*others, *IMPOSSIBLE["two that exclude"]], WORDS)
    monkeypatch.setattr(module, "MAX_SEARCH_ROWS", 3)
    check_possible(IMPOSSIBLE["two that exclude"], WORDS)
