"""Every kind of column in every place of a tree: a fit works, or is refused before a budget pays.

Related tables take no rules but those that declarations imply (a date with a time of day, a resolution), so that
no column follows from others here.
"""

import math
from typing import Any

import kinds
import numpy as np
import pandas as pd
import pytest
import trees
from kinds import KINDS, MOMENT, REFUSED, TAKEN, Kind

from sdv_plausible import Budget, FamilyRelease, PlausibleDeniabilityMultiTableSynthesizer, verify
from sdv_plausible.extensions.multi_table import multi_table_synthesizer, related_fit, simulation
from sdv_plausible.models.adaptive import adaptive_network

ROWS = {"homes": 80, "people": 160, "trips": 160}
ROOT, IN_THREE = (
    "root",
    "stored with a parent that is stored with its own",
)  # its columns are in three tables' lines
PLACES = {  # the table that has the columns, and the tables of which one row stands in its parent's line
    ROOT: ("homes", ()),
    "child": ("people", ()),
    "grandchild": ("trips", ()),
    "stored with the parent": ("people", ("people",)),
    IN_THREE: ("trips", ("people", "trips")),
}
SOME = (
    "moment as text, learned", "moment as text, may be missing", "number as text", "multiple, learned",
    "number with special values", "day as text", "category with missing", "all missing",
)  # fmt: skip
OF_ROOT = (
    "moment as text, learned", "moment as text, declared", "moment in quarters of an hour", "stamps of a zone, split",
    "stamps of a zone", "day as text, format declared", "month", "number", "number rounded", "number with words",
    "multiple, declared", "nullable number", "category", "groups", "one value", "ordinal", "nullable boolean",
    "id in a format", "email", "latitude",
)  # fmt: skip
EVERY = dict.fromkeys(PLACES, TAKEN) | {IN_THREE: [*SOME, *OF_ROOT[12:]]}
Columns = dict[str, dict[str, Kind]]  # table -> name -> kind


def tables_of(columns: Columns) -> dict[str, pd.DataFrame]:
    n = np.arange(160)
    cells: dict[str, dict[str, Any]] = {
        "homes": {"home": n[:80], "tenure": np.where(n[:80] % 3, "own", "rent")},
        "people": {
            "person": n, "of": n // 2, "relation": np.where(n % 2, "other", "head"), "sex": np.where(n % 5, "f", "m"),
        },
        "trips": {"by": n, "relation": np.where(n % 4, "head", "other"), "mode": np.where(n % 3, "car", "foot")},
    }  # fmt: skip
    for table, new in columns.items():
        cells[table] |= {name: pd.Series(kind.cells(ROWS[table])) for name, kind in new.items()}
    return {name: pd.DataFrame(of_table) for name, of_table in cells.items()}


def metadata_of(columns: Columns) -> dict[str, Any]:
    known: dict[str, dict[str, Any]] = {
        "homes": {"home": "id", "tenure": "categorical"},
        "people": {"person": "id", "of": "id", "relation": "categorical", "sex": "categorical"},
        "trips": {"by": "id", "relation": "categorical", "mode": "categorical"},
    }
    for table, new in columns.items():
        known[table] |= {name: kind.spec for name, kind in new.items()}
    return trees.metadata_of(known, ("homes", "home", "people", "of"), ("people", "person", "trips", "by"))


def made(
    columns: Columns, roles: tuple[str, ...], **options: Any
) -> PlausibleDeniabilityMultiTableSynthesizer:
    relation = {"range_values": ["head", "other"]}
    domain: dict[str, Any] = {
        "homes": {"tenure": {"range_values": ["own", "rent"]}},
        "people": {"relation": relation, "sex": {"range_values": ["f", "m"]}},
        "trips": {"relation": relation, "mode": {"range_values": ["car", "foot"]}},
    }
    for table, new in columns.items():
        domain[table] |= {name: kind.declared for name, kind in new.items() if kind.declared}
    given = {"epsilon": 200.0, "delta": 1e-6, "max_children": 2, "max_bins": 6, "types": "declared"} | options
    given["roles"] = {table: {"relation": {"head": "exactly one"}} for table in roles}
    return PlausibleDeniabilityMultiTableSynthesizer(metadata_of(columns), domain=domain, **given)


def same(one: dict[str, pd.DataFrame], other: dict[str, pd.DataFrame]) -> None:
    for name, table in one.items():
        pd.testing.assert_frame_equal(table, other[name])


@pytest.fixture(autouse=True)
def _few_simulated(monkeypatch):
    """Laws are fitted under fewer simulated rows than usual: a hundred columns take seconds, not minutes."""
    for module in (adaptive_network, simulation):
        monkeypatch.setattr(module, "NUM_SIMULATED", 200)
    monkeypatch.setattr(simulation, "MAX_SIMULATED", 800)


@pytest.mark.timeout(900)  # a hundred columns
@pytest.mark.parametrize(
    ("places", "kept"),
    [
        ((ROOT, IN_THREE), {ROOT: OF_ROOT, IN_THREE: SOME}),
        *(pytest.param((one,), {one: EVERY[one]}, marks=pytest.mark.slow) for one in PLACES),
    ],
    ids=" and ".join,
)  # fmt: skip
def test_all_kinds_at_once_are_fitted_sampled_saved_and_checked(places, kept, tmp_path):
    """One fit of kinds whose way is their own in related tables; then, slowly, one of all kinds for each place."""
    columns = {PLACES[place][0]: {name: TAKEN[name] for name in kept[place]} for place in places}
    roles = PLACES[places[-1]][1]
    tables, synth = tables_of(columns), made(columns, roles)
    synth.fit(tables)
    drawn = synth.sample(30, random_state=1)
    assert {name: [*one] for name, one in drawn.items()} == {name: [*one] for name, one in tables.items()}
    assert drawn["people"]["of"].isin(drawn["homes"]["home"]).all()
    assert drawn["trips"]["by"].isin(drawn["people"]["person"]).all()
    for name, key in (("people", "of"), ("trips", "by")):
        heads = (drawn[name]["relation"] == "head").groupby(drawn[name][key]).sum()
        assert drawn[name][key].value_counts().max() <= 2
        assert name not in roles or {*heads} == {1}
    synth.save(tmp_path / "f.release")
    release = FamilyRelease.load(tmp_path / "f.release")
    same(drawn, release.sample(30, random_state=1))
    card = str(release.card())
    assert all(name in card for names in columns.values() for name in names)
    found = verify(tmp_path / "f.release")
    assert found.passed, str(found)
    assert not math.isnan(len(synth.check(tables, lambda _: None).findings))
    again = PlausibleDeniabilityMultiTableSynthesizer.from_release(release)
    same(drawn, again.sample(30, random_state=1))
    read, wanted = again.column_types(), synth.column_types()
    for table in columns:
        for one in (read, wanted):
            one[table].pop("number with words", None)  # values that are learned anew
        assert [*again._specs.specs(table)] == [*synth._specs.specs(table)]
    assert read == wanted
    if places[0] in (ROOT, "child"):  # elsewhere fewer rows have so little noise
        table = PLACES[places[0]][0]
        without_noise(drawn[table], tables[table])


def without_noise(drawn: pd.DataFrame, real: pd.DataFrame) -> None:
    """With so little noise columns hold what they held: values are not all missing, nor of another form."""
    lost = [name for name in drawn if real[name].notna().mean() > 0.5 and drawn[name].isna().mean() > 0.7]
    # Too many values for so few rows, and cells of no type that dates are read of.
    assert {*lost} <= {"pairs"}, lost
    for name in (name for name in drawn if name.startswith("moment as text")):
        moments = pd.to_datetime(drawn[name].dropna(), format=MOMENT)
        assert moments.dt.year.isin([2019, 2020]).mean() > 0.9, name


def test_what_is_refused_costs_nothing_and_says_why(tmp_path):
    """Each kind where its columns are in three tables' lines, and in another place in turn."""
    budget, faults, others = (
        Budget(1e4, 1e-4, tmp_path / "budget"),
        [],
        [one for one in PLACES if one != IN_THREE],
    )
    for at, (name, kind) in enumerate(REFUSED.items()):
        for place in (IN_THREE, others[at % len(others)]):
            one = {PLACES[place][0]: {name: kind}}
            try:
                made(one, PLACES[place][1], budget=budget).fit(tables_of(one))
                faults.append(f"{name}: was fitted")
            except Exception as error:
                if (
                    not isinstance(error, ValueError)
                    or kind.refused not in str(error)
                    or name not in str(error)
                ):
                    faults.append(f"{name}: {error!r:.200}")
            if budget.charged()["epsilon"]:
                pytest.fail(f"{name}: drew from the budget")
    assert not faults, "\n".join(faults)


def fails(*_: Any, **__: Any) -> Any:
    raise KeyError("seen")


# What a fit does after the draw: a fault in any of them is met before it.
AFTER_THE_DRAW: dict[str, tuple[Any, str]] = {
    "cells are read": (related_fit.OwnColumns, "read"),
    "rows with a role are looked for": (related_fit.MultiTableSpecs, "first_candidates"),
    "rows are brought together": (multi_table_synthesizer, "join_families"),
    "a parent is simulated": (related_fit, "simulate_parents"),
    "a table is fitted": (related_fit.TableFit, "run"),
    "the release is written": (FamilyRelease, "to_bytes"),
    "the release is read": (FamilyRelease, "from_bytes"),
    "rows are drawn": (FamilyRelease, "drawn"),
    "the card is made": (FamilyRelease, "card"),
}


def test_a_fault_after_the_draw_is_met_before_it(tmp_path, monkeypatch):
    """A fit without rows comes first, and what it makes is used. Control: without that the budget pays."""
    one = {"people": {"seen": KINDS["moment as text, learned"]}}
    budget, tables = Budget(1e4, 1e-4, tmp_path / "budget"), tables_of(one)
    synth = made(one, (), budget=budget, epsilon=1.0)
    for what, place in AFTER_THE_DRAW.items():
        with monkeypatch.context() as patch:
            patch.setattr(*place, fails)
            with pytest.raises(ValueError, match="data: tables of these columns .*seen.* Nothing was drawn"):
                synth.fit(tables)
        assert budget.charged()["epsilon"] == 0, what
    with monkeypatch.context() as patch:
        patch.setattr(multi_table_synthesizer, "_rehearse", lambda *_: None)
        patch.setattr(related_fit, "simulate_parents", fails)
        with pytest.raises(KeyError):
            synth.fit(tables)
    assert budget.charged()["epsilon"] > 0.9


def test_a_rehearsal_asks_nothing_of_the_rows(tmp_path, monkeypatch):
    """What is fitted before the draw has no row: cells are read anew after it."""
    seen, honest = [], related_fit.OwnColumns.read
    budget = Budget(1e4, 1e-4, tmp_path / "budget")

    def read(self, table):
        seen.append((len(table), budget.charged()["epsilon"] > 0))
        return honest(self, table)

    monkeypatch.setattr(related_fit.OwnColumns, "read", read)
    one = {"people": {"day": KINDS["day as text"]}}
    made(one, (), budget=budget, epsilon=1.0).fit(tables_of(one))
    assert seen == [(0, False)] * 3 + [(80, True), (160, True), (160, True)]


def test_names_that_stand_for_parts_of_a_column_are_refused():
    for table, split, taken in (
        ("homes", "homes", "seen: date"), ("homes", "homes", "seen: time (s)"),
        ("people", "homes", "homes.seen: date"), ("people", "people", "sibling.seen: date"),
    ):  # fmt: skip
        metadata = metadata_of({split: {"seen": KINDS["moment as text, learned"]}})
        metadata["tables"][table]["columns"][taken] = {"sdtype": "id"}
        rule = "stand for what is put beside a row|which the rules need: rename it"
        with pytest.raises(ValueError, match=rule) as error:
            PlausibleDeniabilityMultiTableSynthesizer(metadata, max_children=2)
        assert taken in str(error.value)


def test_every_semantic_type_and_word_of_declarations_is_met():
    assert kinds.lacking() == []
    lost = {n: k for n, k in KINDS.items() if "resolution" in k.declared or k.spec["sdtype"] == "ordinal"}
    assert kinds.lacking({n: k for n, k in KINDS.items() if n not in lost}) == ["resolution", "ordinal"]
