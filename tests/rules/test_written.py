"""Rules in JSON files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import ruled
from jsonschema import Draft202012Validator

from sdv_plausible.rules import save_rules
from sdv_plausible.rules.written import KINDS, read_rules, rule_from_dict, rules_schema

VALIDATOR = Draft202012Validator(rules_schema())
BY_HAND: list[Any] = [
    {"rule": "inequality", "low": "start", "high": "end"},
    {"rule": "determined", "column": "title", "by": "sex", "mapping": {"f": "Ms", "m": "Mr"}},
    {"rule": "one_hot", "columns": ["red", "green"]},
    {"rule": "implies", "when": {"age": {"max": 15}}, "then": {"marital": "single"}},
    {"rule": "allowed", "columns": ["sex", "marital"], "combinations": [["f", None]]},
]


def test_rules_come_back(tmp_path: Path) -> None:
    save_rules(ruled.RULES, tmp_path / "rules.json")
    found = read_rules(tmp_path / "rules.json")
    assert [rule.to_dict() for rule in found] == [rule.to_dict() for rule in ruled.RULES]
    assert list(map(str, found)) == list(map(str, ruled.RULES))
    VALIDATOR.validate(json.loads((tmp_path / "rules.json").read_text()))
    assert {type(rule).__name__ for rule in ruled.RULES} == set(KINDS.values())


def test_rules_written_by_hand() -> None:
    VALIDATOR.validate(BY_HAND)
    assert [rule.kind for rule in read_rules(BY_HAND)] == [entry["rule"] for entry in BY_HAND]


def test_a_rule_that_lacks_something_says_what() -> None:
    with pytest.raises(ValueError, match="^rule 'implies' lacks 'when'$"):
        read_rules([{"rule": "implies", "then": {"marital": "single"}}])


def test_the_schema_is_one_and_knows_all_kinds() -> None:
    Draft202012Validator.check_schema(rules_schema())
    kinds = [kind["properties"]["rule"]["const"] for kind in rules_schema()["items"]["oneOf"]]
    assert set(kinds) == set(KINDS)


@pytest.mark.parametrize(
    "entry",
    [{}, {"rule": "magic"}, {"rule": ["equal"]}, {"rule": "equal", "column": "a"}, {"rule": "sum", "total": "t", "parts": 5},
     {"rule": "inequality", "low": "a", "high": "b", "mots": 3}, {"rule": "allowed", "columns": ["a", "b"], "combinations": [[]]},
     {"rule": "implies", "when": {}, "then": {}}, {"rule": "multiple", "column": "a", "step": "x"},
     {"rule": "equal", "column": "a", "other": "b", "strict": True}],
)  # fmt: skip
def test_what_is_no_rule(entry: Any) -> None:
    assert not VALIDATOR.is_valid([entry])
    with pytest.raises(ValueError, match="rule|column|combination|step|Implies|columns"):
        rule_from_dict(entry)


@pytest.mark.parametrize("text", ["", "{}", "5", "[5]", "[" * 100_000])
def test_what_is_no_file_of_rules(text: str, tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text(text)
    with pytest.raises(ValueError, match="rule"):
        ruled.synthesizer(rules=tmp_path / "rules.json")
