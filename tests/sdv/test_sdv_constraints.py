"""SDV's constraint classes as rules, and rules through all of SDV's calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import ruled
from cases import fast_and_nightly
from sdv.sampling import Condition

from sdv_plausible import PlausibleDeniabilitySynthesizer, Release
from sdv_plausible.rules import Implies, Inequality, Multiple, Sum
from sdv_plausible.sdv.sdv_parameters import as_rules

cag = pytest.importorskip("sdv.cag")


def test_constraints_that_learn_nothing_are_rules() -> None:
    given = [
        cag.Inequality("start", "end", strict_boundaries=True), cag.Range("age", "fee", "total"),
        cag.OneHotEncoding(["red", "green"]), cag.FixedIncrements("fee", 5), Sum("total", ("fee", "extra")),
    ]  # fmt: skip
    found = as_rules(given)
    assert found[:3] == [
        Inequality("start", "end", True),
        Inequality("age", "fee", True),
        Inequality("fee", "total", True),
    ]
    assert found[3].columns == ("red", "green")
    assert found[4:] == [Multiple("fee", 5), given[-1]]
    assert as_rules("rules.json") == "rules.json"


def test_constraints_that_learn_are_refused_and_the_rule_is_named() -> None:
    with pytest.raises(ValueError, match="FixedCombinations learns from the rows.*Allowed"):
        ruled.synthesizer(rules=[cag.FixedCombinations(["sex", "marital"])])

    class Own(cag.ProgrammableConstraint):
        pass

    with pytest.raises(ValueError, match="Own.*Implies"):
        as_rules([Own()])


# ---- rules hold in every row of every call ----------------------------------------------------------------------------


@pytest.mark.parametrize("storage", fast_and_nightly(["numpy", "arrow"], [*ruled.STORAGES][1:]))
def test_every_row_keeps_every_rule(storage: str) -> None:
    synth = ruled.fitted(storage)
    rows = synth.sample(700)
    assert ruled.broken(rows) == {}
    assert list(rows.columns) == list(ruled.COLUMNS)
    release = Release.from_bytes(synth.release().to_bytes())
    other = release.sample(300)
    assert ruled.broken(other) == {}
    assert other.dtypes.astype(str).to_dict() == rows.dtypes.astype(str).to_dict()
    rebuilt = PlausibleDeniabilitySynthesizer.from_release(release)
    assert ruled.broken(rebuilt.sample(100)) == {}
    assert [str(rule) for rule in rebuilt._fit_template.rules.rules] == [
        str(rule) for rule in synth._fit_template.rules.rules
    ]


def test_types_of_made_columns_are_the_usual_ones() -> None:
    # Of a fit whose coins are known: noise may say of a column that cells are missing, which are doubles then.
    rows = ruled.fitted(random_state=4).sample(200)
    real = ruled.table()
    assert (rows.dtypes == real.dtypes).all()
    assert rows["level"].dtype == rows["red"].dtype == np.int64
    assert rows["born"].dropna().str.fullmatch(r"\d\d\.\d\d\.\d{4}").all()
    assert rows["later"].dt.tz is not None


def test_the_check_of_this_test_sees_broken_rules() -> None:
    """The negative control of the tests here: without rules, rows break all of them."""
    rows = ruled.fitted(rules=(), undeclared="private").sample(700)
    assert len(ruled.broken(rows)) > 8


def test_conditions_are_kept_with_the_rules() -> None:
    synth = ruled.fitted()
    for given in ({"age": 10}, {"marital": "married"}, {"level": 2}, {"sex": "f", "member": True}):
        rows = synth.sample_from_conditions([Condition(given, num_rows=7)])
        assert len(rows) == 7
        assert ruled.broken(rows) == {}
        for name, value in given.items():
            assert (rows[name] == value).all()
    rows = synth.sample_remaining_columns(pd.DataFrame({"age": [5, 50, 7]}))
    assert rows["age"].tolist() == [5, 50, 7]
    assert ruled.broken(rows) == {}
    release = synth.release()
    assert set(release.sample(9, given={"age": 10})["marital"]) == {"single"}
    with pytest.raises(ValueError, match="derived by the rule"):
        release.sample(9, given={"level": 2})
    with pytest.raises(ValueError, match="0 satisfy all rules"):
        release.sample(9, given={"age": 10, "marital": "married", "sex": "f"})
    assert list(release.sample(0).columns) == list(ruled.COLUMNS)


def test_saved_files_keep_the_rules(tmp_path: Path) -> None:
    ruled.fitted().save(tmp_path / "synth.pkl")
    assert ruled.broken(PlausibleDeniabilitySynthesizer.load(tmp_path / "synth.pkl").sample(100)) == {}


def test_rows_cost_where_rows_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are drawn again count towards the cap of a row-by-row test: with a model that knows no structural zeros."""
    monkeypatch.setattr("sdv_plausible.rules.structural_zeros.possible_pairs", lambda *_: {})
    more: dict[str, Any] = {"test": "randomized", "row_cap": 300, "epsilon": 8.0}
    rules = [*ruled.RULES[:-3], Implies({"sex": "m"}, {"age": {"max": 50}})]
    synth = ruled.synthesizer(rules=rules, **more)
    synth.fit(ruled.table(4000))
    rows = synth.sample(100)
    assert all(rule.holds(rows, ruled.formats()).all() for rule in rules)
    assert sum(synth._charged_calls.values()) > 100


def test_polars_tables() -> None:
    polars = pytest.importorskip("polars")
    synth = ruled.synthesizer()
    table = polars.from_pandas(ruled.table())
    synth.fit(table)
    rows = synth.sample(100)
    rows = rows.to_pandas() if isinstance(rows, polars.DataFrame) else rows
    assert ruled.broken(rows) == {}


# ---- what rules cost --------------------------------------------------------------------------------------------------


def test_rules_cost_nothing_and_read_nothing() -> None:
    """The plan, made before any row, is the ledger; also of a table with a row more, which breaks all rules."""
    table = ruled.table()
    row = table.iloc[[0]].assign(end=table["start"][1], start=table["paid"][1], level=9, rate=-1.0, fee=0.13, red=1,
                                 green=1, blue=1, age=3, marital="married", sex="m", total=0.0)  # fmt: skip
    found = []
    for rows in (table, pd.concat([table, row], ignore_index=True)):
        synth = ruled.synthesizer()
        planned = synth.plan()
        synth.fit(rows)
        ledger = synth.privacy_ledger()
        assert ledger.claims_privacy
        charged = [
            entry for entry in ledger.entries if entry.name != "noise"
        ]  # what answers say is said after
        assert sorted(map(repr, planned.ledger.entries)) == sorted(map(repr, charged))
        found.append((charged, ledger.total()))
    assert found[0] == found[1]
    assert ("rules", ()) in [(entry.name, entry.losses) for entry in found[0][0]]


def test_rules_and_constraints_do_not_mix() -> None:
    synth = ruled.synthesizer()
    synth.add_constraints([cag.FixedCombinations(["sex", "marital"])])
    with pytest.raises(ValueError, match="cannot be combined with SDV constraints"):
        synth.fit(ruled.table())


def test_strict_numbers_come_back_from_a_release() -> None:
    """The declared range of a made column is known of a release, as a refit needs it."""
    rules = [Inequality("age", "level", strict=True)]
    domain = {"age": {"range_min": 0, "range_max": 9}, "level": {"range_min": 0, "range_max": 30}}
    metadata = ruled.metadata_from_columns({n: ruled.COLUMNS[n] for n in domain})
    synth = PlausibleDeniabilitySynthesizer(metadata, domain=domain, rules=rules)
    synth.fit(pd.DataFrame({"age": np.arange(400) % 9, "level": np.arange(400) % 9 + 3}))
    again = PlausibleDeniabilitySynthesizer.from_release(Release.from_bytes(synth.release().to_bytes()))
    rows = again.sample(200).dropna()
    assert (rows["age"] < rows["level"]).all()
    assert rows["level"].max() <= 30


# ---- SDV's own: their columns are made of the rows without a claim, and no noise may empty them ----------------------

HELD = {
    "Inequality": (cag.Inequality("low", "high"), lambda rows: (rows["low"] <= rows["high"]).all()),
    "Range": (
        cag.Range("low", "high", "top"),
        lambda rows: ((rows["low"] <= rows["high"]) & (rows["high"] <= rows["top"])).all(),
    ),
    "FixedCombinations": (
        cag.FixedCombinations(["city", "canton"]),
        lambda rows: (rows["canton"] == rows["city"] + "s").all(),
    ),
    "FixedIncrements": (cag.FixedIncrements("fee", 5), lambda rows: (rows["fee"] % 5 == 0).all()),
    "OneHotEncoding": (
        cag.OneHotEncoding(["red", "green"]),
        lambda rows: (rows["red"] + rows["green"] == 1).all(),
    ),
}


def test_every_constraint_of_sdv_has_a_case() -> None:
    assert {*HELD} == {name for name in cag.__all__ if "Programmable" not in name}


@pytest.mark.parametrize("kind", HELD)
@pytest.mark.parametrize("epsilon", [1.0, 1e-4])
def test_constraints_hold_where_noise_leaves_nothing_to_learn(kind: str, epsilon: float) -> None:
    place = np.arange(300)
    table = pd.DataFrame({"low": place % 50, "city": np.array(list("pqr"))[place % 3], "fee": place % 20 * 5})
    table["high"], table["canton"] = table["low"] + 1 + place % 8, table["city"] + "s"
    table["top"], table["red"] = table["high"] + 1 + place % 4, place % 2
    table["green"] = 1 - table["red"]
    texts = ("city", "canton")
    synth = PlausibleDeniabilitySynthesizer(
        ruled.metadata_from_columns(
            {n: {"sdtype": "categorical" if n in texts else "numerical"} for n in table}
        ),
        epsilon=epsilon,
    )
    constraint, holds = HELD[kind]
    synth.add_constraints([constraint])
    synth.fit(table)
    rows = synth.sample(20)
    assert len(rows) == 20
    assert holds(rows)
    assert not synth.privacy_ledger().claims_privacy
