"""Mistakes that people make when they declare a table: none stays silent.

Each is refused before any row is looked at, or told to the holder by `check` (`says` is then part of what it finds), and the
declaration without the mistake is neither.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sdv_plausible import PlausibleDeniabilitySynthesizer, metadata_of, read_csv
from sdv_plausible.cli.main import main
from sdv_plausible.rules import Determined, Equal, Implies, Inequality, OneHot, Sum, save_rules
from sdv_plausible.sdv.metadata import metadata_from_columns

DATE = {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"}
COLUMNS: dict[str, dict[str, Any]] = {
    **{name: {"sdtype": "numerical"} for name in ("age", "income", "a", "b", "total")},
    **{name: {"sdtype": "categorical"} for name in ("sex", "code")},
    "start": DATE, "end": DATE, "member": {"sdtype": "boolean"}, "name": {"sdtype": "id"},
}  # fmt: skip
RIGHT: dict[str, Any] = {
    "age": {"range_min": 0, "range_max": 110}, "sex": {"range_values": ["f", "m"]},
    "code": {"range_values": [1, 2, 3]},
    "income": {"range_min": 0.0, "range_max": 9999.0, "decimal_places": 2, "range_is_nullable": True},
    "start": {"range_min": "2020-01-01", "range_max": "2029-12-31"},
    "end": {"range_min": "2020-01-01", "range_max": "2029-12-31"}, "member": {},
    "a": {"range_min": 0, "range_max": 9}, "b": {"range_min": 0, "range_max": 9},
    "total": {"range_min": 0, "range_max": 18},
}  # fmt: skip
RULES = [Inequality("start", "end"), Sum("total", ["a", "b"])]


def table(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    start = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D")
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 95, n), "sex": rng.choice(["f", "m"], n), "code": rng.integers(1, 4, n),
            "income": np.where(rng.random(n) < 0.1, np.nan, rng.random(n).round(2) * 5000),
            "start": start.strftime("%Y-%m-%d"),
            "end": (start + pd.to_timedelta(rng.integers(0, 9, n), unit="D")).strftime("%Y-%m-%d"),
            "member": rng.random(n) < 0.5, "name": [f"P{i}" for i in range(n)],
            "a": rng.integers(0, 10, n), "b": rng.integers(0, 10, n),
        }
    )  # fmt: skip
    return frame.assign(total=frame["a"] + frame["b"])


def make(domain: Any = RIGHT, rules: Any = (), columns: Any = COLUMNS, **options: Any) -> Any:
    metadata = metadata_from_columns(columns)
    return PlausibleDeniabilitySynthesizer(metadata, domain=domain, rules=rules, **options)


def words(name: str, **changed: Any) -> dict[str, Any]:
    """The right declarations with a column's words changed; None takes one out."""
    spec = {**RIGHT[name], **changed}
    return {**RIGHT, name: {word: value for word, value in spec.items() if value is not None}}


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a column that is not there": ({"domain": {**RIGHT, "ages": {"range_min": 0, "range_max": 9}}}, "did you mean 'age'"),
    "a word that means nothing": ({"domain": words("age", range_maximum=9)}, "did you mean 'range_max'"),
    "another word": ({"domain": words("sex", values=["f"])}, "the key 'values' is unknown"),
    "a range upside down": ({"domain": words("age", range_min=110, range_max=0)}, "range_min <= range_max"),
    "dates upside down": ({"domain": words("start", range_min="2029-12-31", range_max="2020-01-01")}, "must not be after"),
    "an infinite range": ({"domain": words("income", range_max=float("inf"))}, "finite"),
    "a range of text": ({"domain": words("age", range_min="0", range_max="110")}, "range_min"),
    "text for a list": ({"domain": words("sex", range_values="fm")}, "list of values"),
    "a value twice": ({"domain": words("sex", range_values=["f", "m", "f"])}, "distinct"),
    "no value": ({"domain": words("sex", range_values=[])}, "gives no values"),
    "categories with a range": ({"domain": words("sex", range_min=0, range_max=1)}, "cannot be used with"),
    "numbers with a list": ({"domain": words("age", sdtype="numerical", range_values=[1, 2])}, "cannot be used with"),
    "another kind than the metadata": ({"domain": words("sex", sdtype="numerical", range_values=None, range_min=0, range_max=1)},
                                       "the domain says sdtype"),
    "another format than the metadata": ({"domain": words("start", datetime_format="%d.%m.%Y")}, "datetime_format"),
    "dates in another format": ({"domain": words("start", range_min="01.01.2020", range_max="31.12.2029")}, "must be dates"),
    "a day that is none": ({"domain": words("start", range_max="2029-02-30")}, "must be dates"),
    "digits that are none": ({"domain": words("income", decimal_places=-1)}, "decimal_places"),
    "truth as text": ({"domain": words("age", range_is_nullable="no")}, "true or false"),
    "bins that shrink": ({"domain": words("age", bins=[0, 50, 20, 110])}, "increasing edges"),
    "bins beside the range": ({"domain": words("age", bins=[0, 50, 100])}, "must begin at range_min"),
    "too few buckets": ({"domain": words("sex", buckets=[0])}, "each of the 2 codes"),
    "special values of dates": ({"domain": words("start", special_values=[0])}, "must be a list of distinct texts"),
    "values of an id": ({"domain": {**RIGHT, "name": {"range_values": ["P1"]}}}, "not modelled"),
    "metadata that nobody vouches for": ({"domain": "metadata"}, 'must be "written"'),
    "a way that there is not": ({"undeclared": "privat"}, 'must be "infer" or "private"'),
    "a file that is none": ({"domain": "no such file.json"}, "No such file"),
    "a rule about no column": ({"rules": [Inequality("begin", "end")]}, "not modelled columns"),
    "a rule about an id": ({"rules": [Equal("name", "sex")]}, "not modelled columns"),
    "a rule in a circle": ({"rules": [Inequality("start", "end"), Inequality("end", "start")]}, "depend on themselves"),
    "a column derived twice": ({"rules": [Sum("total", ["a", "b"]), Equal("total", "a")]}, "derived twice"),
    "rules that exclude each other": ({"rules": [Implies({"age": {"max": 15}}, {"sex": "f"}),
                                                 Implies({"age": {"max": 15}}, {"sex": "m"})]}, "contradict"),
    "a rule about a value that is none": ({"rules": [Implies({"sex": "w"}, {"age": {"max": 9}})]}, "'w'"),
    "a rule beyond the range": ({"rules": [Implies({"age": {"min": 200}}, {"sex": "f"})]}, "no declared value"),
    "a mapping that forgets a value": ({"rules": [Determined("code", by="sex", mapping={"f": 1})]}, "m"),
    "an order of text and numbers": ({"rules": [Inequality("sex", "age")]}, "must be of sdtype numerical"),
    "flags that are none": ({"rules": [OneHot(["sex", "member"])]}, ""),
    "no rule": ({"rules": ["age > 0"]}, "is not a rule"),
}  # fmt: skip

TOLD: dict[str, tuple[dict[str, Any], str]] = {
    "numbers declared as text": ({"domain": words("code", range_values=["1", "2", "3"])}, "hold whole numbers, but texts are declared"),
    "other capitals": ({"domain": words("sex", range_values=["F", "M"])}, "capitals or spaces"),
    "other values": ({"domain": words("sex", range_values=["female", "male"])}, "undeclared values"),
    "a value that was forgotten": ({"domain": words("code", range_values=[1, 2])}, "undeclared values"),
    "too narrow a range": ({"domain": words("age", range_max=50)}, "outside the declared range"),
    "hundreds for thousands": ({"domain": words("income", range_max=9.0)}, "outside the declared range"),
    "fractions declared as whole": ({"domain": words("income", decimal_places=0)}, "have digits after the point"),
    "missing values not declared": ({"domain": words("income", range_is_nullable=False)}, "are missing, but declared never to be"),
    "missing values declared of another column": ({"domain": words("age", range_is_nullable=True)}, "is it the right"),
    "too early an end": ({"domain": words("start", range_max="2020-12-31")}, "outside the declared range"),
    "a rule the wrong way round": ({"rules": [Inequality("end", "start")]}, "break the rule"),
    "a sum of the wrong columns": ({"rules": [Sum("total", ["a", "code"])], "columns": {**COLUMNS, "code": {"sdtype": "numerical"}},
                                    "domain": {**RIGHT, "code": {"range_min": 1, "range_max": 3}}}, "break the rule"),
    "a mapping with other numbers": ({"rules": [Determined("member", by="sex", mapping={"f": True, "m": False})]}, "break the rule"),
}  # fmt: skip


def test_without_a_mistake_nothing_is_said() -> None:
    assert make(rules=RULES).check(table(), show=str)


def test_refused_before_any_row() -> None:
    assert len(REFUSED) + len(TOLD) >= 40
    for mistake, (options, says) in REFUSED.items():
        with pytest.raises((ValueError, FileNotFoundError)) as error:
            make(**options)
        assert says in str(error.value), mistake


def test_told_to_the_holder() -> None:
    for mistake, (options, says) in TOLD.items():
        found = make(**options).check(table(), show=str)
        assert not found
        assert says in str(found), mistake


def test_a_template_that_was_not_filled_in_is_refused(tmp_path) -> None:
    path = tmp_path / "domain.json"
    document = {"schema": "sdv-plausible-declarations/1", "columns": {**RIGHT, "age": {"sdtype": None}}}
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match="'age': set sdtype"):
        make(domain=str(path))


def test_a_fit_names_what_is_lost() -> None:
    with pytest.warns(UserWarning, match=r"sex: most cells are outside"):
        make(domain=words("sex", range_values=["female", "male"])).fit(table())
    with pytest.warns(UserWarning, match=r"income: cells are missing although none was declared"):
        make(domain=words("income", range_is_nullable=False)).fit(table())


MOMENTS = {"sdtype": "datetime", "datetime_format": "%Y-%m-%d %H:%M"}
STAYS = {
    "start": {**MOMENTS, "range_min": "2020-01-01 00:00", "range_max": "2020-12-31 23:59"},
    "end": {**MOMENTS, "range_min": "2020-01-01 00:00", "range_max": "2029-12-31 23:59"},
    "sex": {"sdtype": "categorical"},
}


@pytest.fixture
def stays(tmp_path):
    """Dates with times, all after the declared end of `start`, and a file that declares them."""
    rng = np.random.default_rng(6)
    start = pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 10**6, 300), unit="min")
    end = start + pd.to_timedelta(rng.integers(-50, 10**4, 300), unit="min")
    rows = {name: moments.strftime("%Y-%m-%d %H:%M") for name, moments in (("start", start), ("end", end))}
    pd.DataFrame({**rows, "sex": rng.choice(["f", "m"], 300)}).to_csv(tmp_path / "stays.csv", index=False)
    document = {"schema": "sdv-plausible-declarations/1", "columns": STAYS}
    (tmp_path / "domain.json").write_text(json.dumps(document))
    return tmp_path


@pytest.mark.parametrize("way", ["command line", "Python"])
def test_a_look_at_a_stand_in_is_a_look_at_its_columns(stays, way, capsys) -> None:
    """The model sees dates and times of day, and distances, in their place; what is shown of these is the columns' own.

    So the edit that follows ends the claim. Control: a column that was left open stays free.
    """
    domain, rules = stays / "domain.json", stays / "rules.json"
    save_rules([Inequality("start", "end")], rules)
    if way == "Python":
        synth = PlausibleDeniabilitySynthesizer(metadata_of(domain), domain=domain, rules=rules)
        synth.check(read_csv(stays / "stays.csv", domain))
    else:
        assert main(["check", str(stays / "stays.csv"), "--domain", str(domain), "--rules", str(rules)]) == 0
    assert "start, end were compared" in capsys.readouterr().out
    document = json.loads(domain.read_text())
    assert set(document["looked"]) == {"start", "end"}

    document["columns"]["start"]["range_max"] = "2023-02-01 00:00"
    domain.write_text(json.dumps(document))
    edited = PlausibleDeniabilitySynthesizer(metadata_of(domain), domain=domain, rules=rules)
    assert not edited.plan().ledger.claims_privacy


def test_without_a_rule_of_ones_own_too(stays) -> None:
    """Dates with a time of day are split unasked."""
    assert main(["check", str(stays / "stays.csv"), "--domain", str(stays / "domain.json")]) == 0
    assert set(json.loads((stays / "domain.json").read_text())["looked"]) == {"start", "end"}
