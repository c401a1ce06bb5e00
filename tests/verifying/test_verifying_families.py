"""`verify` of related tables: an honest file agrees with itself, and every planted lie is refused by its verdict.

No verdict hangs on noise: so there is no false alarm.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sdv_plausible import PlausibleDeniabilityMultiTableSynthesizer
from sdv_plausible.commands import cli
from sdv_plausible.datasets import families_like, families_like_domain, families_like_metadata
from sdv_plausible.fit.verified import verify
from sdv_plausible.release.file import documents
from sdv_plausible.verifying.families import FORMAT

TRIPS = {"columns": {"traveller": {"sdtype": "id"}, "mode": {"sdtype": "categorical"}}}
RIDDEN = {
    "parent_table_name": "persons", "parent_primary_key": "person_id",
    "child_table_name": "trips", "child_foreign_key": "traveller",
}  # fmt: skip


@pytest.fixture(scope="module")
def honest() -> Any:
    """The document of a chain of three tables, in which value sets of the first and the last are learned."""
    metadata, tables = families_like_metadata(), families_like(80)
    metadata["tables"]["trips"] = TRIPS
    metadata["relationships"].append(RIDDEN)
    people = tables["persons"]["person_id"]
    tables["trips"] = pd.DataFrame(
        {"traveller": people.repeat(2).array, "mode": ["car", "foot"] * len(people)}
    )
    synth = PlausibleDeniabilityMultiTableSynthesizer(
        metadata, domain=families_like_domain(), epsilon=20.0, max_children={"persons": 3, "trips": 2},
        roles={"persons": {"relation": {"head": "exactly one"}}},
    )  # fmt: skip
    synth.fit(tables)
    return json.loads(synth.release().to_bytes())


def refused(document: Any, folder: Path) -> set[str]:
    (folder / "f.release").write_bytes(documents.write(document))
    return {verdict.about for verdict in verify(folder / "f.release").refused}


def test_an_honest_file_agrees_with_itself(honest, tmp_path, capsys) -> None:
    assert refused(honest, tmp_path) == set()
    found = {verdict.about: verdict for verdict in verify(tmp_path / "f.release").verdicts}
    assert "1 of households, 2 of persons, 6 of trips" in found["one family"].why
    assert found["households: model from its answers"].state == "ok"
    assert found["trips: model from its answers"].state == "not checkable"
    assert float(found["all tables' total"].why.split("add up to ")[1].split(" ")[0]) <= 20.0
    assert cli.main(["verify", str(tmp_path / "f.release"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["refused"] == 0
    assert documents.OF_FAMILIES == FORMAT


def at(table: str, *path: Any) -> Any:
    """A change of what is in a table's document, at a path: the last is the new value."""

    def change(document: Any) -> None:
        place = document["tables"][table]
        for step in path[:-2]:
            place = place[step]
        place[path[-2]] = path[-1]

    return change


def beside(table: str, name: str, /, **new: Any) -> Any:
    """A change of a column of a table's domain."""

    def change(document: Any) -> None:
        (column,) = [one for one in document["tables"][table]["domain"] if one["name"] == name]
        column.update(new)

    return change


def moved(document: Any) -> None:
    document["links"].reverse()


def doubled(document: Any) -> None:
    document["links"].append(document["links"][1])


LIES: dict[str, tuple[Any, str]] = {
    "another format": (lambda d: d.update(format="sdv-plausible-families/2"), "format"),
    "an entry more": (lambda d: d.update(note=1), "format"),
    "a table less": (lambda d: d["tables"].pop("trips"), "format"),
    "links in another order": (moved, "format"),
    "a link twice": (doubled, "format"),
    "a table that is none": (at("trips", "schema", {}), "format"),
    "more rows of a parent": (lambda d: d["links"][0].update(most=8), "one family"),
    "another key": (lambda d: d["links"][1].update(foreign_key="mode"), "one family"),
    "another change": (lambda d: d.update(neighbours="replace_one"), "one family"),
    "a unit of its own": (at("trips", "ledger", "neighbours", "rows_per_person", 1), "one family"),
    "another delta": (at("persons", "ledger", "delta", 1e-8), "one family"),
    "fewer codes of a sibling": (beside("persons", "sibling.sex", values=["f"]), "columns beside"),
    "own values hidden as a parent's": (
        beside("persons", "age", name="households.age"), "columns beside",
    ),
    "a code that is not there": (lambda d: d["roles"]["persons"][0].update(code=99), "roles"),
    "a role of the root": (lambda d: d["roles"].update(households=[]), "roles"),
    "no role": (lambda d: d["roles"].clear(), "one family"),
    "no role, and its unit": (
        lambda d: (d["roles"].clear(), at("persons", "ledger", "neighbours", "rows_per_person", 3)(d)), "columns beside",
    ),
    "a role beside": (lambda d: d["roles"]["persons"][0].update(column="sibling.sex"), "roles"),
    "a smaller total of one table": (at("trips", "ledger", "epsilon", 0.1), "trips: total"),
    "an origin of one table": (beside("persons", "age", provenance="private"), "persons: domain"),
    "an entry of one table less": (lambda d: d["tables"]["trips"]["ledger"]["entries"].pop(0), "trips: domain"),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_lies_are_refused_by_name(lie, honest, tmp_path) -> None:
    document = copy.deepcopy(honest)
    change, about = LIES[lie]
    change(document)
    assert about in refused(document, tmp_path)


def test_no_total_is_stated_where_an_entry_ends_the_claim(honest, tmp_path) -> None:
    document = copy.deepcopy(honest)
    entry = next(e for e in document["tables"]["trips"]["ledger"]["entries"] if e["losses"])
    entry["losses"] = [{"type": "InfiniteLoss", "count": 1}]
    (tmp_path / "f.release").write_bytes(documents.write(document))
    found = {verdict.about: verdict.state for verdict in verify(tmp_path / "f.release").verdicts}
    assert found.get("all tables' total", "not checkable") == "not checkable"


def test_no_statement_is_checkable(honest, tmp_path) -> None:
    (tmp_path / "f.release").write_bytes(documents.write(honest))
    (tmp_path / "key.pem").write_text("")
    found = verify(tmp_path / "f.release", key=tmp_path / "key.pem")
    assert {v.about: v.state for v in found.verdicts}["statement"] == "not checkable"
