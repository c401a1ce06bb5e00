"""`verify` of related tables: an honest file agrees with itself, and every planted lie is refused by its verdict.

No verdict hangs on noise: so there is no false alarm.
"""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sdv_plausible import PlausibleDeniabilityMultiTableSynthesizer, Release
from sdv_plausible.cli import main
from sdv_plausible.datasets import families_like, families_like_domain, families_like_metadata
from sdv_plausible.extensions.multi_table import simulation
from sdv_plausible.extensions.verify.independent.all_checks import check
from sdv_plausible.extensions.verify.independent.related_table_checks import FORMAT
from sdv_plausible.extensions.verify.verification import verify
from sdv_plausible.models.adaptive import adaptive_network
from sdv_plausible.release.file import json_documents
from sdv_plausible.release.file.json_documents import decode, encode

TRIPS = {"columns": {"traveller": {"sdtype": "id"}, "mode": {"sdtype": "categorical"}}}
NAMES = ("parent_table_name", "parent_primary_key", "child_table_name", "child_foreign_key")
SIMULATING = (adaptive_network, simulation)
FEW = 3000  # simulated rows, so that a model is made anew in a tenth of a second


def fitted() -> Any:
    """The document of a chain of three tables, in which value sets of the first and the last are learned."""
    metadata, tables = families_like_metadata(), families_like(80)
    metadata["tables"]["trips"] = TRIPS
    metadata["relationships"].append(
        dict(zip(NAMES, ("persons", "person_id", "trips", "traveller"), strict=True))
    )
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


@pytest.fixture(scope="module")
def honest() -> Any:
    """Of as many simulated rows as a fit has."""
    return fitted()


def refused(document: Any, about: str, folder: Path) -> bool:
    """Whether a claim is refused: by the second reading, or by the program where that finds nothing."""
    content = json_documents.write(document)
    if about in {one.about for one in check(content) if one.state == "refused"}:
        return True
    (folder / "f.release").write_bytes(content)
    return about in {one.about for one in verify(folder / "f.release").refused}


def test_an_honest_file_agrees_with_itself(honest, tmp_path, capsys):
    """Models of children, too: their parents are simulated again from the releases in the same file.

    No statement of related tables is checkable.
    """
    (tmp_path / "f.release").write_bytes(json_documents.write(honest))
    (tmp_path / "key.pem").write_text("")
    whole = verify(tmp_path / "f.release", key=tmp_path / "key.pem")
    found = {verdict.about: verdict for verdict in whole.verdicts}
    assert found.pop("statement").state == "not checkable"
    assert {verdict.state for verdict in found.values()} == {"ok"}, str(whole)
    assert "1 of households, 2 of persons, 6 of trips" in found["one family"].why
    for table in ("households", "persons", "trips"):
        assert {f"{table}: model from its answers", f"{table}: answers"} <= {*found}
    assert float(found["all tables' total"].why.split("add up to ")[1].split(" ")[0]) <= 20.0
    said = {"refused": 0, "not_checkable": 0, "passed": True}
    assert main.main(["verify", str(tmp_path / "f.release"), "--json"]) == 0
    assert said.items() <= json.loads(capsys.readouterr().out).items()
    assert json_documents.MULTI_TABLE_FORMAT == FORMAT
    document = copy.deepcopy(honest)  # no total is stated where an entry ends the claim
    entry = next(e for e in document["tables"]["trips"]["ledger"]["entries"] if e["losses"])
    entry["losses"] = [{"type": "InfiniteLoss", "count": 1}]
    states = {verdict.about: verdict.state for verdict in check(json_documents.write(document))}
    assert states.get("all tables' total", "not checkable") == "not checkable"


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


def cap(document: Any, most: int, *, counts: bool = False, units: bool = False) -> None:
    """Another cap of persons; with the columns of their numbers, and with the units that follow from it."""
    document["links"][0]["most"] = most
    if counts:
        for table, name in (("households", "number of persons"), ("persons", "households.number of persons")):
            beside(table, name, lower=[*range(most + 1)], upper=[*range(most + 1)])(document)
    for table, lines in (("persons", most - 1), ("trips", 2 * most)) if units else ():
        one = document["tables"][table]
        one["ledger"]["neighbours"]["rows_per_person"] = one["settings"]["rows_per_person"] = lines


def no_answers(table: str, *, learner: bool = True) -> Any:
    """A table's answers are deleted, and a fiftieth of the loss is charged."""

    def change(document: Any) -> None:
        one = document["tables"][table]
        one["answers"] = {"axes": [], "asked": []}
        for loss in (loss for entry in one["ledger"]["entries"] for loss in entry["losses"]):
            if "sensitivity_over_sigma" in loss:
                loss["sensitivity_over_sigma"] /= 50
        if not learner:
            one["settings"].pop("model", None)
        restate(document)

    return change


def restate(document: Any) -> None:
    """Totals and sentences that the entries give, so that the product reads the file."""
    for one in document["tables"].values():
        one["ledger"]["epsilon"] = 1e9
        ledger = Release.from_bytes(json_documents.write(one)).ledger
        ledger.stated = 0.0
        one["ledger"] |= {"epsilon": ledger.total(), "sentence": ledger.sentence()}


def of_answer(table: str, kind: str, name: str, made: Any) -> Any:
    """Values of a table's last answer of a kind, or its noise, are others."""

    def change(document: Any) -> None:
        one = [a for a in document["tables"][table]["answers"]["asked"] if a["kind"] == kind][-1]
        one[name] = encode(made(decode(one[name]))) if name == "values" else made(one[name])

    return change


def another_law(table: str) -> Any:
    """The last table of a model leans to its later codes; the same codes in another order may be as likely."""

    def change(document: Any) -> None:
        for held in document["tables"][table]["model"]["tables"]:
            name = "probabilities" if "probabilities" in held else "base"
            if decode(held[name]).shape[-1] > 1:
                changed = held, name
        held, name = changed
        law = decode(held[name])
        leaning = (law + 0.1 * law.sum(axis=-1, keepdims=True)) * np.arange(1, law.shape[-1] + 1)
        held[name] = encode(leaning * law.sum(axis=-1, keepdims=True) / leaning.sum(axis=-1, keepdims=True))

    return change


def half_charged(document: Any) -> None:
    """The model of a child is charged half, and has twice the noise."""
    one = document["tables"]["persons"]
    for loss in (loss for entry in one["ledger"]["entries"] for loss in entry["losses"]):
        loss["sensitivity_over_sigma"] /= 2
    for answer in one["answers"]["asked"]:
        answer["scale"] *= 2
    restate(document)


LIES: dict[str, tuple[Any, str]] = {
    "a cap of five": (lambda d: cap(d, 5), "one family"),
    "a cap of five, and its units": (lambda d: cap(d, 5, units=True), "counts of children"),
    "a cap of five, its columns and units": (lambda d: cap(d, 5, counts=True, units=True),
        "persons: answers paid by model"),
    "a cap of two": (lambda d: cap(d, 2, units=True), "counts of children"),
    "more children counted than the cap": (
        beside("households", "number of persons", lower=[*range(6)], upper=[*range(6)]), "counts of children"),
    "children counted in other steps": (beside("households", "number of persons", upper=[0, 1, 2, 9]),
        "counts of children"),
    "numbers of children said to be learned": (beside("persons", "number of trips", provenance="private"),
        "counts of children"),
    "two roles of exactly one child": (
        lambda d: d["roles"]["persons"].append({**d["roles"]["persons"][0], "code": 1}), "roles"),
    "a value with two roles": (
        lambda d: d["roles"]["persons"].append({**d["roles"]["persons"][0], "often": "at most one"}), "roles"),
    "no answers of the root": (no_answers("households"), "households: answers"),
    "no answers of a child": (no_answers("persons"), "persons: answers"),
    "no answers of a grandchild": (no_answers("trips"), "trips: answers"),
    "no answers of the root, whose learner is not named": (no_answers("households", learner=False),
        "households: answers"),
    "the root's learner is not named": (lambda d: d["tables"]["households"]["settings"].pop("model"),
        "households: learner"),
    "a child's learner is named": (at("persons", "settings", "model", "independent"), "persons: learner"),
    "another model of a child": (another_law("persons"), "persons: model from its answers"),
    "another model of a grandchild": (another_law("trips"), "trips: model from its answers"),
    "another model of the root": (another_law("households"), "households: model from its answers"),
    "other counts of a child": (
        of_answer("persons", "counts", "values", lambda v: v + 50 * np.arange(v.size).reshape(v.shape)),
        "persons: model from its answers"),
    "less noise in a child": (of_answer("persons", "counts", "scale", lambda s: s / 3),
        "persons: answers paid by model"),
    "a child charged half, with twice the noise": (half_charged, "persons: charges of the model"),
    "another value set of a grandchild": (of_answer("trips", "frequent values", "values", lambda v: v - 10**6),
        "trips: answers paid by domain"),
    "a learned value of a grandchild may be missing": (beside("trips", "mode", provenance="declared"),
        "trips: domain"),
    "a limit of one table below its total": (at("trips", "ledger", "limit", 0.1), "trips: total"),
    "undeclared columns read off the rows": (at("trips", "settings", "undeclared", "infer"), "trips: settings"),
    "sums over samples of several rows": (
        lambda d: d["tables"]["persons"]["ledger"]["entries"].append(
            {
                "name": "more", "mechanism": "", "scope": "", "note": "", "parts": ["parameters"],
                "losses": [{"type": "SampledGaussianLoss", "rate": 0.01, "sensitivity_over_sigma": 0.1, "count": 3}],
            }), "persons: settings"),
    "a key that is not there": (lambda d: d["links"][0].update(primary_key="nobody"), "program"),
    "a key of another type": (
        lambda d: next(
            c for c in d["tables"]["households"]["schema"]["columns"] if c["name"] == d["links"][0]["primary_key"]
        ).update(sdtype="idx"), "program",
    ),
    "another format": (lambda d: d.update(format="sdv-plausible-families/2"), "format"),
    "an entry more": (lambda d: d.update(note=1), "format"),
    "a table less": (lambda d: d["tables"].pop("trips"), "format"),
    "links in another order": (lambda d: d["links"].reverse(), "format"),
    "a link twice": (lambda d: d["links"].append(d["links"][1]), "format"),
    "a table that is none": (at("trips", "schema", {}), "format"),
    "more rows of a parent": (lambda d: d["links"][0].update(most=8), "one family"),
    "another key": (lambda d: d["links"][1].update(foreign_key="mode"), "one family"),
    "another change": (lambda d: d.update(neighbours="replace_one"), "one family"),
    "a unit of its own": (at("trips", "ledger", "neighbours", "rows_per_person", 1), "one family"),
    "another delta": (at("persons", "ledger", "delta", 1e-8), "one family"),
    "fewer codes of a sibling": (beside("persons", "sibling.sex", values=["f"]), "columns beside"),
    "own values hidden as a parent's": (beside("persons", "age", name="households.age"), "columns beside"),
    "a code that is not there": (lambda d: d["roles"]["persons"][0].update(code=99), "roles"),
    "a role of the root": (lambda d: d["roles"].update(households=[]), "roles"),
    "no role": (lambda d: d["roles"].clear(), "one family"),
    "no role, and its unit": (
        lambda d: (d["roles"].clear(), at("persons", "ledger", "neighbours", "rows_per_person", 3)(d)),
        "columns beside"),
    "a role beside": (lambda d: d["roles"]["persons"][0].update(column="sibling.sex"), "roles"),
    "a smaller total of one table": (at("trips", "ledger", "epsilon", 0.1), "trips: total"),
    "an origin of one table": (beside("persons", "age", provenance="private"), "persons: domain"),
    "an entry of one table less": (lambda d: d["tables"]["trips"]["ledger"]["entries"].pop(0), "trips: domain"),
}  # fmt: skip


def test_lies_are_refused_by_name(tmp_path, monkeypatch):
    """Control: a file without a lie, and every lie changes something."""
    for module in SIMULATING:
        monkeypatch.setattr(module, "NUM_SIMULATED", FEW)
    honest, accepted = fitted(), []
    assert not refused(honest, "trips: model from its answers", tmp_path)
    for lie, (change, about) in LIES.items():
        document = copy.deepcopy(honest)
        change(document)
        assert document != honest, lie
        accepted += [] if refused(document, about, tmp_path) else [lie]
    assert accepted == []
    assert len(LIES) >= 40


def test_names_with_control_characters_are_the_same_names(tmp_path, monkeypatch):
    """Of keys, of columns and of a value with a role; tables are called as files can be."""
    for module in SIMULATING:
        monkeypatch.setattr(module, "NUM_SIMULATED", FEW)
    home, kind, who, sex = (
        f"{name}\t\n\x00\u202e\\u0041;, {name}" for name in ("home", "kind", "who", "sex")
    )
    category, key = {"sdtype": "categorical"}, {"sdtype": "id"}
    metadata = {
        "tables": {
            "homes": {"primary_key": home, "columns": {home: key, kind: category}},
            "people": {"columns": {home: key, who: category, sex: category}},
        },
        "relationships": [dict(zip(NAMES, ("homes", home, "people", home), strict=True))],
    }
    synth = PlausibleDeniabilityMultiTableSynthesizer(
        metadata, types="declared", epsilon=20.0, max_children=2,
        domain={"homes": {kind: {"range_values": [kind, "b"]}}, "people": {sex: {"range_values": [sex, "m"]}}},
        roles={"people": {sex: {sex: "exactly one"}}},
    )  # fmt: skip
    homes = pd.DataFrame({home: range(300), kind: [kind, "b"] * 150})
    people = pd.DataFrame({home: homes[home].repeat(2), sex: [sex, "m"] * 300, who: [who, "x", "y"] * 200})
    synth.fit({"homes": homes, "people": people.reset_index(drop=True)})
    (tmp_path / "f.release").write_bytes(synth.release().to_bytes())
    found = verify(tmp_path / "f.release")
    assert found.passed, str(found)
