"""Rules in JSON files."""

from __future__ import annotations

import copy
import datetime as dt
import json
from decimal import Decimal
from functools import reduce

import numpy as np
import pandas as pd
import pytest
import ruled
from jsonschema import Draft202012Validator

from sdv_plausible.rules import Allowed, Determined, Forbidden, Implies, OneHot, save_rules
from sdv_plausible.rules.rule_document import KINDS, SHARED
from sdv_plausible.rules.rule_files import read_rules, rule_from_dict, rule_to_json
from sdv_plausible.table.cells.canonical_forms import LONGEST_NAME
from sdv_plausible.utils.json_schema import JsonSchemaError, parse_with_schema
from tests.schemas import FILE_OF_RULES, RELEASE_FILE

VALIDATOR = Draft202012Validator(FILE_OF_RULES)
SAVED = Draft202012Validator({"$ref": "#/$defs/rule", "$defs": RELEASE_FILE["$defs"]})
BY_HAND = [
    {"rule": "inequality", "low": "start", "high": "end"},
    {"rule": "determined", "column": "title", "by": "sex", "mapping": {"f": "Ms", "m": "Mr"}},
    {"rule": "one_hot", "columns": ["red", "green"]},
    {"rule": "product", "total": "tax", "factors": ["fee", "rate"]},
    {"rule": "formula", "column": "net", "terms": {"fee": 1, "tax": -0.5}},
    {"rule": "implies", "when": {"age": {"max": 15}}, "then": {"marital": "single"}},
    {"rule": "allowed", "columns": ["sex", "marital"], "combinations": [["f", None]]},
]


def test_rules_come_back(tmp_path):
    save_rules(ruled.RULES, tmp_path / "rules.json")
    found = read_rules(tmp_path / "rules.json")
    assert [rule.to_dict() for rule in found] == [rule.to_dict() for rule in ruled.RULES]
    assert list(map(str, found)) == list(map(str, ruled.RULES))
    VALIDATOR.validate(json.loads((tmp_path / "rules.json").read_text()))
    assert {type(rule).__name__ for rule in ruled.RULES} == {kind.of for kind in KINDS.values()}
    kinds = [kind["properties"]["rule"]["const"] for kind in FILE_OF_RULES["$defs"]["rule"]["oneOf"]]
    assert kinds == list(KINDS)


def test_rules_written_by_hand():
    VALIDATOR.validate(BY_HAND)
    assert [rule.kind for rule in read_rules(BY_HAND)] == [entry["rule"] for entry in BY_HAND]
    with pytest.raises(ValueError, match="^rule 'implies' lacks 'when'$"):
        read_rules([{"rule": "implies", "then": {"marital": "single"}}])


DAY, MOMENT = dt.date(2020, 2, 29), pd.Timestamp("2020-02-29 12:30", tz="Europe/Zurich")
DATED = [
    Implies({"born": {"min": DAY}}, {"seen": [MOMENT, None]}),
    Determined("price", "kind", {"a": Decimal("1.50"), "b": Decimal("2")}, otherwise=Decimal("0.00")),
    Determined("day", ["since", "kind"], {(DAY, "a"): dt.date(2021, 1, 1), (None, "b"): None}),
    Determined("level", "kind", {"a": 1}, otherwise=float("nan")),
    Forbidden({"born": [DAY]}),
    Allowed(["born", "price"], [[DAY, Decimal("1.50")], [None, None]]),
    OneHot(["a", "b"], (Decimal(0), Decimal(1))),
]


def test_dates_and_decimals_come_back(tmp_path):
    for rule in DATED:
        save_rules([rule], tmp_path / "rules.json")
        (found,) = read_rules(tmp_path / "rules.json")
        assert rule_to_json(found) == rule_to_json(rule)
        assert [*map(type, (value for _, value in found.named))] == [*map(type, (v for _, v in rule.named))]
        (plain,) = json.loads((tmp_path / "rules.json").read_text())
        assert plain == rule_to_json(rule)
        VALIDATOR.validate([plain])
        SAVED.validate(plain)


def test_a_date_of_a_file_is_a_date_and_a_column_a_column():
    when = {"age": {"max": {"date": "2020-02-29"}}, "seen": {"date": "2020-02-29"}, "date": "2020-02-29"}
    (rule,) = read_rules([{"rule": "forbidden", "when": when}])
    assert rule.to_dict()["when"] == {"age": {"max": DAY}, "seen": [DAY], "date": ["2020-02-29"]}
    mapping = {"date": "2020-02-29"}  # of the text "date", as by hand
    (rule,) = read_rules([{"rule": "determined", "column": "a", "by": "b", "mapping": mapping}])
    assert rule.to_dict()["mapping"] == [[["date"], "2020-02-29"]]


def test_what_python_gives_is_read_as_in_a_file():
    when = {"age": range(2), "born": {"max": DAY}}
    (rule,) = read_rules([{"rule": "implies", "when": when, "then": {"sex": ("f", np.nan)}}])
    assert rule.to_dict() == Implies({"age": [0, 1], "born": {"max": DAY}}, {"sex": ["f", None]}).to_dict()


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value[:2] if isinstance(value, list) else ())  # fmt: skip
    for name, one in items:
        yield from places(one, (*path, name))


ODD = (
    None, True, 1, 0, -1, 1.5, "", "a", "x" * 1001, [], ["a"], [1, 2], ["a", "a"], [[1], 2], [[1]], [[[1], 2]], [[["a"], 2, 3]],
    {}, {"a": 1}, {"min": 1}, {"min": 1, "a": 2}, {"date": "2020-02-29"}, {"date": 3}, {"decimal": "1.5"}, {"decimal": "x"},
    {"moment": "2020-02-29T12:30:00", "time_zone": None}, {"moment": "2020-02-29T12:30:00"}, {"b": [{"date": "2020-02-29"}]},
)  # fmt: skip


def damaged():
    others = {rule.kind: rule for rule in ruled.RULES if rule.kind not in {dated.kind for dated in DATED}}
    for entry in [*BY_HAND, *map(rule_to_json, [*others.values(), *DATED])]:
        for path in places(entry):
            if path and path != ("rule",):
                for odd in [*ODD, "left out"]:
                    changed = copy.deepcopy(entry)
                    place = reduce(lambda inner, step: inner[step], path[:-1], changed)
                    place[path[-1]] = odd
                    if odd == "left out":
                        del place[path[-1]]
                    yield changed


def test_schema_and_program_accept_the_same_rules():
    """What the constructors refuse beyond it no schema can say, such as a column made of itself."""
    seen = [0, 0, 0]
    for entry in damaged():
        parts, beyond = {name: part for name, part in entry.items() if name != "rule"}, False
        try:
            parse_with_schema(KINDS[entry["rule"]].form, parts, SHARED)
            fits = True
        except JsonSchemaError as error:
            fits, beyond = False, error.beyond
        valid = VALIDATOR.is_valid([entry])
        assert valid == fits or (valid and beyond), entry
        try:
            rule = rule_from_dict(entry)
        except ValueError:
            seen[valid] += 1
            continue
        assert valid, entry
        if getattr(rule, "resolution", "s") is not None and max(map(len, rule.columns)) <= LONGEST_NAME:
            SAVED.validate(rule_to_json(rule))
        seen[2] += 1
    assert min(seen) > 30


def test_what_is_refused_is_said_in_the_words_of_the_rule():
    with pytest.raises(ValueError, match=r"condition on 'age' \(dict\) must have 'min', 'max' or both"):
        rule_from_dict({"rule": "forbidden", "when": {"age": {"maximum": 15}}})
    deep = "a"
    for _ in range(5_000):
        deep = [deep]
    equal, forbidden = {"column": deep, "other": "b"}, {"when": {"age": {"max": deep}}}
    for rule in ({"rule": "equal", **equal}, {"rule": "forbidden", **forbidden}):
        with pytest.raises(ValueError, match="cannot be read|must be distinct names"):
            rule_from_dict(rule)


def test_what_is_no_rule_and_no_file_of_rules(tmp_path):
    for entry in ({}, {"rule": "magic"}, {"rule": ["equal"]}, {"rule": "equal", "column": "a"}, {"rule": "sum", "total": "t", "parts": 5},
     {"rule": "inequality", "low": "a", "high": "b", "mots": 3}, {"rule": "allowed", "columns": ["a", "b"], "combinations": [[]]},
     {"rule": "implies", "when": {}, "then": {}}, {"rule": "multiple", "column": "a", "step": "x"},
     {"rule": "equal", "column": "a", "other": "b", "strict": True}
):  # fmt: skip
        assert not VALIDATOR.is_valid([entry])
        with pytest.raises(ValueError, match="rule|column|combination|step|Implies|columns"):
            rule_from_dict(entry)
    for text in ("", "{}", "5", "[5]", "[" * 100_000):
        (tmp_path / "rules.json").write_text(text)
        with pytest.raises(ValueError, match="rule"):
            ruled.synthesizer(rules=tmp_path / "rules.json")
