"""The rules' section of a release file."""

import json
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import ruled
from jsonschema import Draft202012Validator

from sdv_plausible import Release, fit_source
from sdv_plausible.fitting.release_budget import Budget
from sdv_plausible.rules import Implies, Inequality, OneHot
from sdv_plausible.rules.rule_document import KINDS
from tests.schemas import RELEASE_FILE


@cache
def written() -> bytes:
    return bytes(ruled.fitted().release().to_bytes())


def document() -> dict[str, Any]:
    return dict(json.loads(written()))


def read(changed: dict[str, Any]) -> Release:
    return Release.from_bytes(json.dumps(changed).encode())


def test_files_with_rules_are_of_the_published_schema_and_come_back():
    whole = document()
    assert {item["rule"]["rule"] for item in whole["rules"]} == set(KINDS)
    Draft202012Validator(RELEASE_FILE).validate(whole)
    release = read(whole)
    assert release.to_bytes() == ruled.fitted().release().to_bytes()
    assert [str(rule) for rule in release.rules.rule_set.rules] == [
        str(rule) for rule in ruled.fitted()._fit_template.rules.rules
    ]


def change(kind: str, path: list[Any], value: Any) -> dict[str, Any]:
    whole = document()
    place = next(item for item in whole["rules"] if item["rule"]["rule"] == kind)
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return whole


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("inequality", ["rule", "low"], "nowhere"),
        ("inequality", ["rule", "extra"], 1),
        ("inequality", ["made"], []),
        ("inequality", ["made", 0, "upper"], [0]),
        ("inequality", ["made", 0, "kind"], "integer"),
        ("determined", ["rule", "mapping"], [[["single"], "one"]]),
        ("determined", ["rule", "rule"], ["determined"]),
        ("sum", ["rule", "parts"], ["fee", "sex"]),
        ("sum", ["made", 0, "decimals"], 0),
        ("product", ["rule", "decimal_places"], 1),
        ("product", ["rule", "decimal_places"], 16),
        ("formula", ["rule", "terms"], "__import__('os').getcwd()"),
        ("formula", ["rule", "terms", 0, 0], ["fee * 2"]),
        ("formula", ["rule", "terms", 0, 1], "1 + 1"),
        ("formula", ["rule", "terms", 0, 1], 0),
        ("formula", ["rule", "terms", 0, 1], 10**400),
        ("formula", ["rule", "constant"], 4),
        ("one_hot", ["rule", "values"], [0, 5]),
        ("multiple", ["rule", "step"], 0),
        ("equal", ["rule", "other"], "copy"),
        ("implies", ["rule", "when"], {"age": {"max": "old"}}),
        ("forbidden", ["rule", "when"], {}),
        ("allowed", ["rule", "combinations"], [["f"]]),
        ("allowed", ["made"], "x"),
    ],
)
def test_what_does_not_fit_is_refused(kind, path, value):
    with pytest.raises(ValueError, match="^rules|^the file|rules"):
        read(change(kind, path, value))


def test_a_column_is_made_once_and_in_order():
    whole = document()
    for rules in ([*whole["rules"], whole["rules"][0]], whole["rules"][::-1]):
        with pytest.raises(ValueError, match="must make new columns"):
            read({**whole, "rules": rules})


def test_a_made_column_over_all_centuries_is_read_again(tmp_path):
    """No value is drawn inside its bin: it may be wider than 64 bits, as noise made it once in thirty fits."""
    columns = {name: {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"} for name in ("a", "b")}
    domain = {"a": {**columns["a"], "range_min": "1700-01-01", "range_max": "2200-01-01"}, "b": columns["b"]}
    rows = pd.DataFrame({"a": ["1700-01-01", "2200-01-01"] * 50, "b": ["2100-01-01", "2260-01-01"] * 50})
    release = fit_source(rows, domain=domain, rules=[Inequality("a", "b")], epsilon=50.0)
    (made,) = release.rules.made.values()
    assert made.upper[0] - made.lower[0] > 2**63
    release.save(tmp_path / "r.release")
    assert Release.load(tmp_path / "r.release") == release


LONG = "x" * 1_001
AGE = {"sdtype": "numerical", "range_min": 0, "range_max": 6, "range_is_nullable": True}
FLAGS = [f"diagnosis_group_{i:02d}" for i in range(60)]


def letters(*values: Any) -> dict[str, Any]:
    return {"sdtype": "categorical", "range_values": list(values)}


FAR: dict[str, tuple[dict[str, Any], Any]] = {  # declarations, and a rule of them
    "a value of many letters": ({"c": letters("a", LONG)}, Implies({"c": LONG}, {"age": {"max": 3}})),
    "a number of many digits": ({"c": letters("a", 10**20)}, Implies({"c": 10**20}, {"age": {"max": 3}})),
    "NaN for missing": ({"c": letters("a", "b")}, Implies({"age": float("nan")}, {"c": "a"})),
    "many flags": ({flag: {"sdtype": "numerical"} for flag in FLAGS}, OneHot(FLAGS)),
}


def rows_of(columns: dict[str, Any], n: int = 120) -> pd.DataFrame:
    rows = pd.DataFrame({"age": np.arange(n) % 7})
    if "c" in columns:
        return rows.assign(c=[columns["c"]["range_values"][i % 2] for i in range(n)])
    return rows.join(pd.DataFrame(np.eye(60, dtype=int)[np.arange(n) % 60], columns=FLAGS))


@pytest.mark.parametrize("case", FAR)
def test_what_is_paid_for_can_be_written_and_read(case):
    """Each fit was paid, and its file was never to be read again."""
    columns, rule = FAR[case]
    release = fit_source(rows_of(columns), domain={"age": AGE, **columns}, rules=[rule], model="independent")
    again = Release.from_bytes(release.to_bytes())
    assert again.to_bytes() == release.to_bytes()
    assert len(again.sample(20)) == 20
    Draft202012Validator(RELEASE_FILE).validate(json.loads(release.to_bytes()))


@pytest.mark.parametrize("late", [False, True], ids=["refused", "planted: not tried"])
def test_a_rule_that_no_file_can_hold_is_refused_before_the_draw(late, tmp_path, monkeypatch):
    budget = Budget(2.0, 1e-8, tmp_path / "b")
    columns, rule = FAR["a value of many letters"]
    monkeypatch.setattr(
        "sdv_plausible.table.cells.cell_documents.LONGEST_TEXT", 1_000
    )  # some limit of a file
    monkeypatch.setattr(
        "sdv_plausible.table.cells.cell_documents.is_text", lambda text, most=1_000: len(text) <= most
    )
    if late:
        monkeypatch.setattr("sdv_plausible.release.file.all_sections.check_writable_rules", lambda _: None)

    def paid_and_read():
        domain = {"age": AGE, "c": {"sdtype": "categorical"}}
        made = fit_source(rows_of(columns), domain=domain, rules=[rule], budget=budget)
        Release.from_bytes(made.to_bytes())

    with pytest.raises(ValueError, match="at most"):
        paid_and_read()
    assert (budget.charged()["epsilon"] > 0) == late


def test_a_name_that_no_file_can_hold_stands_in_for_nothing():
    names = [letter * 600 for letter in "ab"]
    columns = {name: {**AGE, "range_is_nullable": False} for name in names}
    with pytest.raises(ValueError, match=r"a column of 1,2\d\d letters"):
        fit_source(pd.DataFrame(dict.fromkeys(names, [1] * 50)), domain=columns, rules=[Inequality(*names)])
