"""A domain that was learned once is paid for by every fit that uses it, and drawn from its budget once."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from sdv_plausible import Budget, Domain, PlausibleDeniabilitySynthesizer, metadata_of
from sdv_plausible.cli import main
from sdv_plausible.declaring.files import read_domain_file
from sdv_plausible.declaring.private import earlier_losses, learned_file
from sdv_plausible.declaring.schema import schema_document
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.table.domain_file import DomainFile

ROWS = 4000
FIVE = Neighbours.parse("add_remove", "id", 5)
TYPES = DomainFile(
    columns={
        "age": {"sdtype": "numerical"},
        "sex": {"sdtype": "categorical", "range_values": ["f", "m"], "source": "the law"},
        "town": {"sdtype": "categorical"},
        "id": {"sdtype": "id"},
    }
)


def people() -> pd.DataFrame:
    draw = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": draw.integers(18, 90, ROWS).astype(float),
            "sex": draw.choice(["f", "m"], ROWS),
            "town": draw.choice(["Bern", "Chur"], ROWS),
            "id": np.arange(ROWS).astype(str),
        }
    )


@pytest.fixture
def learned(tmp_path):
    path = tmp_path / "domain.json"
    learned_file(people(), TYPES, 0.3, 1e-9).save(path)
    return path


def synthesizer(path, **more):
    return PlausibleDeniabilitySynthesizer(metadata_of(path), domain=str(path), **more)


def test_what_the_file_holds(learned):
    document = json.loads(learned.read_text())
    assert set(document["columns"]["town"]["values"]) == {"Bern", "Chur"}
    assert document["columns"]["town"]["provenance"] == "private"
    assert document["columns"]["sex"] == TYPES.columns["sex"]
    assert document["learned"]["ledger"]["epsilon"] == pytest.approx(0.3, rel=1e-3)
    assert document["learned"]["ledger"]["epsilon"] <= 0.3 * (1 + 1e-6)
    assert document["learned"]["charge"] is None
    import jsonschema

    jsonschema.Draft202012Validator(schema_document()).validate(document)


def test_a_later_fit_pays(learned):
    synth = synthesizer(learned)
    planned = synth.plan().ledger
    synth.fit(people())
    ledger = synth.privacy_ledger()
    assert ledger.losses == planned.losses
    assert ledger.claims_privacy
    assert "learned earlier at epsilon 0.3 and delta 1e-09" in str(ledger)
    assert 0.9 < ledger.total() <= 1 + 1e-6  # the model has what is left
    earlier = earlier_losses(str(learned), ONE_ROW).entries
    assert ledger.entries[0] == earlier[0]
    # The planted bug: the losses are forgotten, and the total looks smaller.
    free = Domain(tuple(synth.get_domain()))
    other = PlausibleDeniabilitySynthesizer(metadata_of(free), domain=free)
    assert len(other.plan().ledger.losses) < len(planned.losses)
    assert {a.name: a.provenance for a in synth.get_domain()} == {
        "age": "private", "sex": "declared", "town": "private",
    }  # fmt: skip


def test_a_file_without_its_ledger_is_refused(learned):
    document = json.loads(learned.read_text())
    del document["learned"]
    with pytest.raises(ValueError, match="lacks what that cost"):
        metadata_of(document)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda d: d.update(learned=3), "'learned' must be"),
        (lambda d: d["learned"].pop("charge"), "charge"),
        (lambda d: d["learned"]["ledger"]["entries"].clear(), "must have a claim"),
        (lambda d: d["learned"]["ledger"]["entries"][0]["losses"][0].update(type="Free"), "type"),
    ],
)
def test_a_damaged_record_is_refused(learned, damage, words):
    document = json.loads(learned.read_text())
    metadata = metadata_of(document)
    damage(document)
    with pytest.raises(ValueError, match=words):
        PlausibleDeniabilitySynthesizer(metadata, domain=document)


def test_the_same_unit(learned):
    with pytest.raises(ValueError, match="learned for the addition or removal"):
        earlier_losses(str(learned), Neighbours.parse("replace_one", None, 1))


def test_one_budget_is_drawn_from_once(tmp_path):
    budget, other = (Budget(2.0, 1e-7, tmp_path / f"{name}.budget") for name in "ab")
    path = tmp_path / "domain.json"
    learned_file(people(), TYPES, 0.3, 1e-9, budget=budget).save(path)
    assert budget.charged()["epsilon"] == pytest.approx(0.3, rel=1e-3)
    for drawn in (budget, other):
        synth = synthesizer(path, budget=drawn)
        synth.fit(people())
        assert synth.privacy_ledger().total() <= 1 + 1e-6
    assert other.charged()["epsilon"] == pytest.approx(1, rel=1e-3)  # did not pay for the domain before
    model = budget.charged()["epsilon"] - 0.3
    assert 0.7 < model < 0.99


def test_nothing_is_learned_from_what_was_read_off_the_rows(learned):
    with pytest.raises(ValueError, match="read off the rows"):
        learned_file(people(), DomainFile(columns=TYPES.columns, detected=True), 0.3, 1e-9)
    with pytest.raises(ValueError, match="nothing to learn"):
        learned_file(people(), DomainFile(columns={"sex": TYPES.columns["sex"]}), 0.3, 1e-9)
    with pytest.raises(ValueError, match="learned already"):
        learned_file(people(), read_domain_file(learned), 0.3, 1e-9)
    for epsilon, delta in ((0, 1e-9), (-1, 1e-9), (float("inf"), 1e-9), (0.1, 0), (0.1, 1)):
        with pytest.raises(ValueError, match="must (be|lie)"):
            learned_file(people(), TYPES, epsilon, delta)


def test_the_command(tmp_path, capsys):
    table, types, output = (tmp_path / name for name in ("people.csv", "types.json", "domain.json"))
    people().to_csv(table, index=False)
    TYPES.save(types)
    arguments = ["declare", str(table), "-o", str(output), "--domain", str(types), "--private", "epsilon=0.3",
                 "--budget", "2", "1e-7", str(tmp_path / "people.budget")]  # fmt: skip
    assert main(arguments) == 0
    assert "Learned at epsilon 0.3, delta 1e-09: age, town" in capsys.readouterr().out
    assert "people.csv" in str(Budget(2.0, 1e-7, tmp_path / "people.budget"))
    again = [*arguments[:3], str(tmp_path / "again.json"), "--domain", str(output), "--private", "0.3"]
    assert main(again) == 2
    assert "learned already" in capsys.readouterr().err


def households() -> pd.DataFrame:
    """A table in which one household of 2,000 rows lives in a town of its own."""
    table = people()
    table["id"] = np.where(np.arange(ROWS) < 2000, "h0", table["id"])
    table["town"] = np.where(table["id"] == "h0", "Davos", table["town"])
    return table


@pytest.mark.parametrize(("neighbours", "is_seen"), [(ONE_ROW, True), (FIVE, False)])
def test_a_person_with_many_rows_leaves_no_trace(tmp_path, neighbours, is_seen):
    """2,000 rows stand out by more than 30 deviations, five by less than one. Control: rows protected one by one."""
    path = tmp_path / "domain.json"
    learned_file(households(), TYPES, 2.0, 1e-9, neighbours=neighbours).save(path)
    assert ("Davos" in json.loads(path.read_text())["columns"]["town"]["values"]) == is_seen


def test_noise_grows_with_the_rows_of_a_person_and_the_fit_must_protect_the_same(tmp_path):
    path = tmp_path / "domain.json"
    learned_file(people(), TYPES, 2.0, 1e-9, neighbours=FIVE).save(path)
    entry, persons = earlier_losses(str(path), FIVE).entries
    assert "at most 5 of the rows" in persons.mechanism
    learned_file(people(), TYPES, 2.0, 1e-9).save(tmp_path / "rows.json")
    row = earlier_losses(str(tmp_path / "rows.json"), ONE_ROW).entries[0]
    needed = [int(re.search(r"fewer than about ([\d,]+) rows", e.mechanism)[1]) for e in (row, entry)]
    assert needed[1] > 4 * needed[0]
    for others in (
        ONE_ROW,
        Neighbours.parse("add_remove", "id", 4),
        Neighbours.parse("replace_one", "id", 5),
    ):
        with pytest.raises(ValueError, match="learned for the addition or removal"):
            earlier_losses(str(path), others)
    synth = synthesizer(path, epsilon=4.0, person="id", rows_per_person=5)
    synth.fit(people())
    assert "removal of any one person (all rows with one value of id" in synth.privacy_ledger().sentence()
    assert synth.privacy_ledger().claims_privacy


def test_the_persons_column_must_be_there_and_is_not_learned():
    with pytest.raises(ValueError, match="must be a column of the table"):
        learned_file(people(), TYPES, 1.0, 1e-9, neighbours=Neighbours.parse("add_remove", "home", 2))
    with pytest.raises(ValueError, match='give it "sdtype": "id"'):
        learned_file(people(), TYPES, 1.0, 1e-9, neighbours=Neighbours.parse("add_remove", "town", 2))


def test_the_command_protects_persons(tmp_path, capsys):
    table, types, output = (tmp_path / name for name in ("people.csv", "types.json", "domain.json"))
    households().to_csv(table, index=False)
    TYPES.save(types)
    arguments = ["declare", str(table), "-o", str(output), "--domain", str(types), "--person", "id"]
    assert main(arguments) == 2
    assert "go with --private" in capsys.readouterr().err
    assert main([*arguments, "--rows-per-person", "5", "--private", "2"]) == 0
    document = json.loads(output.read_text())
    assert "Davos" not in document["columns"]["town"]["values"]
    assert "at most 5 of the rows of each value of id" in output.read_text()
