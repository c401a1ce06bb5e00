"""Every kind of column in every place of a tree: a fit works, or is refused before a budget pays.

Related tables take no rules but those that declarations imply (a date with a time of day, a resolution), so that
no column follows from others here.
"""

from __future__ import annotations

import math
from typing import Any

import kinds
import numpy as np
import pandas as pd
import pytest
from kinds import KINDS, MOMENT, REFUSED, TAKEN, Kind

from sdv_plausible import Budget, FamilyRelease, PlausibleDeniabilityMultiTableSynthesizer, verify
from sdv_plausible.models.adaptive import adaptive_network, child_network
from sdv_plausible.related import fitting, simulation, synthesizer

ROWS = {"homes": 80, "people": 160, "trips": 160}
PLACES = {  # the table that has the columns, and the role with which one row stands in its parent's line
    "root": ("homes", None),
    "child": ("people", None),
    "grandchild": ("trips", None),
    "stored with the parent": ("people", "people"),
    "stored with a parent that is stored with its own": ("trips", "both"),
}
FURTHER = ("child", "grandchild", "stored with the parent")  # what other places have, too
IN_THREE = (
    "stored with a parent that is stored with its own"  # so that its columns are in three tables' lines
)
SOME = ("moment as text, learned", "moment as text, may be missing", "number as text", "multiple, learned", "number with special values",
        "day as text", "category with missing", "ordinal", "nullable boolean", "all missing", "id in a format", "email")  # fmt: skip
ROLE = {"relation": {"head": "exactly one"}}
Tables = dict[str, pd.DataFrame]


def tables_of(columns: dict[str, Kind], table: str) -> Tables:
    n = np.arange(160)
    found = {
        "homes": pd.DataFrame({"home": n[:80], "tenure": np.where(n[:80] % 3, "own", "rent")}),
        "people": pd.DataFrame(
            {
                "person": n,
                "of": n // 2,
                "relation": np.where(n % 2, "other", "head"),
                "sex": np.where(n % 5, "f", "m"),
            }
        ),
        "trips": pd.DataFrame(
            {"by": n, "relation": np.where(n % 4, "head", "other"), "mode": np.where(n % 3, "car", "foot")}
        ),
    }
    more = {name: pd.Series(kind.cells(ROWS[table])) for name, kind in columns.items()}
    found[table] = pd.concat([found[table], pd.DataFrame(more)], axis=1)
    return found


def metadata_of(columns: dict[str, Kind], table: str) -> dict[str, Any]:
    known: dict[str, Any] = {
        "homes": {"primary_key": "home", "columns": {"home": {"sdtype": "id"}, "tenure": {"sdtype": "categorical"}}},
        "people": {
            "primary_key": "person",
            "columns": {
                "person": {"sdtype": "id"}, "of": {"sdtype": "id"}, "relation": {"sdtype": "categorical"},
                "sex": {"sdtype": "categorical"},
            },
        },
        "trips": {"columns": {"by": {"sdtype": "id"}, "relation": {"sdtype": "categorical"}, "mode": {"sdtype": "categorical"}}},
    }  # fmt: skip
    known[table]["columns"] |= {name: kind.spec for name, kind in columns.items()}
    links = (("homes", "home", "people", "of"), ("people", "person", "trips", "by"))
    names = ("parent_table_name", "parent_primary_key", "child_table_name", "child_foreign_key")
    return {"tables": known, "relationships": [dict(zip(names, link, strict=True)) for link in links]}


def domain_of(columns: dict[str, Kind], table: str) -> dict[str, Any]:
    known: dict[str, Any] = {
        "homes": {"tenure": {"range_values": ["own", "rent"]}},
        "people": {"relation": {"range_values": ["head", "other"]}, "sex": {"range_values": ["f", "m"]}},
        "trips": {"relation": {"range_values": ["head", "other"]}, "mode": {"range_values": ["car", "foot"]}},
    }
    known[table] |= {name: kind.declared for name, kind in columns.items() if kind.declared}
    return known


def made(columns: dict[str, Kind], place: str, **options: Any) -> PlausibleDeniabilityMultiTableSynthesizer:
    table, role = PLACES[place]
    roles = {None: {}, "people": {"people": ROLE}, "both": {"people": ROLE, "trips": ROLE}}[role]
    given = {
        "epsilon": 200.0,
        "delta": 1e-6,
        "max_children": 2,
        "max_bins": 6,
        "types": "declared",
        "roles": roles,
        **options,
    }
    return PlausibleDeniabilityMultiTableSynthesizer(
        metadata_of(columns, table), domain=domain_of(columns, table), **given
    )


def same(one: Tables, other: Tables) -> None:
    for name, table in one.items():
        pd.testing.assert_frame_equal(table, other[name])


@pytest.fixture(autouse=True)
def _few_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Laws are fitted under fewer simulated rows than usual: a hundred columns take seconds, not minutes."""
    for module in (adaptive_network, child_network, simulation):
        monkeypatch.setattr(module, "NUM_SIMULATED", 200)
    monkeypatch.setattr(simulation, "MOST_SIMULATED", 800)


@pytest.mark.timeout(900)  # a hundred columns
@pytest.mark.parametrize(
    "place", [pytest.param(one, marks=[pytest.mark.slow] * (one in FURTHER)) for one in PLACES]
)
def test_all_kinds_at_once_are_fitted_sampled_saved_and_checked(place, tmp_path):
    """One fit for each place, of a column of every kind that can be fitted."""
    table, kinds = PLACES[place][0], {name: TAKEN[name] for name in (SOME if place == IN_THREE else TAKEN)}
    tables, synth = tables_of(kinds, table), made(kinds, place)
    synth.fit(tables)
    drawn = synth.sample(30, random_state=1)
    assert {name: [*one.columns] for name, one in drawn.items()} == {
        name: [*one.columns] for name, one in tables.items()
    }
    synth.save(tmp_path / "f.release")
    release = FamilyRelease.load(tmp_path / "f.release")
    same(drawn, release.sample(30, random_state=1))
    card = str(release.card())
    assert all(name in card for name in kinds)
    found = verify(tmp_path / "f.release")
    assert found.passed, str(found)
    assert not math.isnan(len(synth.check(tables, lambda _: None).findings))
    again = PlausibleDeniabilityMultiTableSynthesizer.from_release(release)
    same(drawn, again.sample(30, random_state=1))
    read, wanted = again.column_types(), synth.column_types()
    for columns in (read, wanted):
        columns[table].pop("number with words", None)  # values that are learned anew
    assert read == wanted
    assert [*again._told.specs(table)] == [*synth._told.specs(table)]
    if place in ("root", "child"):  # elsewhere fewer rows have so little noise
        without_noise(drawn[table], tables[table])


def without_noise(drawn: pd.DataFrame, real: pd.DataFrame) -> None:
    """With so little noise columns hold what they held: values are not all missing, nor of another form."""
    lost = [name for name in drawn if real[name].notna().mean() > 0.5 and drawn[name].isna().mean() > 0.7]
    # Too many values for so few rows, and cells of no type that dates are read of.
    assert {*lost} <= {"pairs"}, lost
    for name in (name for name in drawn if name.startswith("moment as text")):
        moments = pd.to_datetime(drawn[name].dropna(), format=MOMENT)
        assert moments.dt.year.isin([2019, 2020]).mean() > 0.9, name


@pytest.mark.parametrize("place", PLACES)
def test_what_is_refused_costs_nothing_and_says_why(place, tmp_path):
    budget, faults = Budget(1e4, 1e-4, tmp_path / "budget"), []
    for name, kind in REFUSED.items():
        table, one = PLACES[place][0], {name: kind}
        try:
            made(one, place, budget=budget).fit(tables_of(one, table))
            faults.append(f"{name}: was fitted")
        except Exception as error:
            if not isinstance(error, ValueError) or kind.refused not in str(error) or name not in str(error):
                faults.append(f"{name}: {error!r:.200}")
        if budget.charged()["epsilon"]:
            faults.append(f"{name}: drew from the budget")
            break
    assert not faults, "\n".join(faults)


def fails(*_: Any, **__: Any) -> Any:
    raise KeyError("seen")


# What a fit does after the draw: a fault in any of them is met before it.
AFTER_THE_DRAW: dict[str, tuple[Any, str]] = {
    "cells are read": (fitting.OwnColumns, "read"),
    "rows with a role are looked for": (fitting.Told, "standing"),
    "rows are brought together": (synthesizer, "brought_together"),
    "a parent is simulated": (fitting, "simulated_parents"),
    "a table is fitted": (fitting.TableFit, "run"),
    "the release is written": (FamilyRelease, "to_bytes"),
    "the release is read": (FamilyRelease, "from_bytes"),
    "rows are drawn": (FamilyRelease, "drawn"),
    "the card is made": (FamilyRelease, "card"),
}


def test_a_fault_after_the_draw_is_met_before_it(tmp_path, monkeypatch):
    """A fit without rows comes first, and what it makes is used. Control: without that the budget pays."""
    one = {"seen": KINDS["moment as text, learned"]}
    budget, tables = Budget(1e4, 1e-4, tmp_path / "budget"), tables_of(one, "people")
    synth = made(one, "child", budget=budget, epsilon=1.0)
    for what, place in AFTER_THE_DRAW.items():
        with monkeypatch.context() as patch:
            patch.setattr(*place, fails)
            with pytest.raises(ValueError, match="data: tables of these columns .*seen.* Nothing was drawn"):
                synth.fit(tables)
        assert budget.charged()["epsilon"] == 0, what
    with monkeypatch.context() as patch:
        patch.setattr(synthesizer, "_rehearse", lambda *_: None)
        patch.setattr(fitting, "simulated_parents", fails)
        with pytest.raises(KeyError):
            synth.fit(tables)
    assert budget.charged()["epsilon"] > 0.9


def test_a_rehearsal_asks_nothing_of_the_rows(tmp_path, monkeypatch):
    """What is fitted before the draw has no row: cells are read anew after it."""
    seen, honest = [], fitting.OwnColumns.read
    budget = Budget(1e4, 1e-4, tmp_path / "budget")

    def read(self, table):
        seen.append((len(table), budget.charged()["epsilon"] > 0))
        return honest(self, table)

    monkeypatch.setattr(fitting.OwnColumns, "read", read)
    one = {"day": KINDS["day as text"]}
    made(one, "child", budget=budget, epsilon=1.0).fit(tables_of(one, "people"))
    assert seen == [(0, False)] * 3 + [(80, True), (160, True), (160, True)]


@pytest.mark.parametrize(
    ("table", "taken"),
    [
        ("homes", "seen: date"),
        ("homes", "seen: time (s)"),
        ("people", "homes.seen: date"),
        ("people", "sibling.seen: date"),
    ],
)
def test_names_that_stand_for_parts_of_a_column_are_refused(table, taken):
    one = {"seen": KINDS["moment as text, learned"]}
    metadata = metadata_of(one, "homes" if taken.startswith(("homes", "seen")) else "people")
    metadata["tables"][table]["columns"][taken] = {"sdtype": "id"}
    with pytest.raises(
        ValueError, match="stand for what is put beside a row|which the rules need: rename it"
    ) as error:
        PlausibleDeniabilityMultiTableSynthesizer(metadata, max_children=2)
    assert taken in str(error.value)


def test_every_semantic_type_and_word_of_declarations_is_met():
    assert kinds.lacking() == []
    rest = {
        name: kind
        for name, kind in KINDS.items()
        if "resolution" not in kind.declared and kind.spec["sdtype"] != "ordinal"
    }
    assert kinds.lacking(rest) == ["resolution", "ordinal"]
