"""A domain that was learned once is paid for by every fit that uses it, and drawn from its budget once."""

from __future__ import annotations

import json
import pickle
import re
from dataclasses import replace

import jsonschema
import numpy as np
import pandas as pd
import pytest

from sdv_plausible import Budget, Domain, PlausibleDeniabilitySynthesizer, metadata_of
from sdv_plausible.cli.declare import PRIVATE_DEFAULTS
from sdv_plausible.cli.main import main
from sdv_plausible.fitting import arguments, domain_learning
from sdv_plausible.fitting.diagnostics import FitWarning
from sdv_plausible.fitting.domain_learning import learned_file
from sdv_plausible.fitting.reused_domain import ReusedDomain, read_reused_domain
from sdv_plausible.privacy.accounting.losses import PureDP
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import BudgetExceededError
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.release.file.release import Release
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.declared.domain_file import DomainFile, read_domain_file
from tests.flat import values
from tests.schemas import DOMAIN_FILE

ROWS = 4000
FIVE = Neighbours(rows=5, person="id")
TYPES = DomainFile(
    columns={
        "age": {"sdtype": "numerical"},
        "sex": {"sdtype": "categorical", "range_values": ["f", "m"], "source": "the law"},
        "town": {"sdtype": "categorical"},
        "id": {"sdtype": "id"},
    }
)


def people():
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
    return PlausibleDeniabilitySynthesizer(metadata_of(path), domain=str(path), **values(**more))


def test_what_the_file_holds(learned):
    document = json.loads(learned.read_text())
    assert set(document["columns"]["town"]["values"]) == {"Bern", "Chur"}
    assert document["columns"]["town"]["provenance"] == "private"
    assert document["columns"]["sex"] == TYPES.columns["sex"]
    assert document["learned"]["ledger"]["epsilon"] == pytest.approx(0.3, rel=1e-3)
    assert document["learned"]["ledger"]["epsilon"] <= 0.3 * (1 + 1e-6)
    assert document["learned"]["charge"] is None
    jsonschema.Draft202012Validator(DOMAIN_FILE).validate(document)


def test_the_noise_is_of_the_operating_systems_entropy(monkeypatch):
    """Control: reproducible coins are seen."""

    def sources():
        with record_calls() as calls:
            learned_file(people(), TYPES, 0.3, 1e-9)
        return {call.source for call in calls}

    assert sources() == {"opendp"}
    monkeypatch.setattr(KeyedRNG, "from_os_entropy", lambda: KeyedRNG.from_seed(0))
    assert sources() == {"seeded stream"}


def test_a_later_fit_pays(learned, monkeypatch):
    synth = synthesizer(learned)
    planned = synth.plan().ledger
    synth.fit(people())
    ledger = synth.privacy_ledger()
    assert ledger.losses == planned.losses
    assert ledger.claims_privacy
    assert "learned earlier at epsilon 0.3 and delta 1e-09" in str(ledger)
    assert 0.9 < ledger.total() <= 1 + 1e-6  # the model has what is left
    earlier = read_reused_domain(str(learned), ONE_ROW).entries
    assert ledger.entries[0] == earlier[0]
    # The planted bug: the losses are forgotten, and the total looks smaller.
    monkeypatch.setattr(arguments, "read_reused_domain", lambda *_: ReusedDomain())
    assert len(synthesizer(learned).plan().ledger.losses) < len(planned.losses)
    provenance = {a.name: a.provenance for a in synth.get_domain()}
    assert provenance == {"age": "private", "sex": "declared", "town": "private"}


def test_a_damaged_record_is_refused(learned):
    whole = learned.read_text()
    metadata = metadata_of(json.loads(whole))
    for damage, words in (
        (lambda d: d.pop("learned"), "its cost .* is missing"),
        (lambda d: d.update(learned=3), "'learned' was changed"),
        (lambda d: d["learned"].pop("charge"), "charge"),
        (lambda d: d["learned"].update(columns=["age", "town"]), "learned.columns: must be an object"),
        (lambda d: d["learned"].update(types=["id"]), "learned.types: must be an object"),
        (lambda d: d["learned"].update(types={"id": "id"}), "learned.types.id: must be an object"),
        (lambda d: d["learned"]["ledger"]["entries"].clear(), "must be at least one entry"),
        (lambda d: d["learned"]["ledger"]["entries"][0]["losses"].clear(), "must have a loss"),
        (lambda d: d["learned"]["ledger"]["entries"][0]["losses"][0].update(type="Free"), "type"),
    ):
        document = json.loads(whole)
        damage(document)
        with pytest.raises(ValueError, match=words):
            PlausibleDeniabilitySynthesizer(metadata, domain=document)


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
    with pytest.raises(ValueError, match="come from the rows"):
        learned_file(people(), DomainFile(columns=TYPES.columns, detected=True), 0.3, 1e-9)
    with pytest.raises(ValueError, match="nothing to learn"):
        learned_file(people(), DomainFile(columns={"sex": TYPES.columns["sex"]}), 0.3, 1e-9)
    with pytest.raises(ValueError, match="already contains learned columns"):
        learned_file(people(), read_domain_file(learned), 0.3, 1e-9)
    for epsilon, delta in ((0, 1e-9), (-1, 1e-9), (float("inf"), 1e-9), (0.1, 0), (0.1, 1)):
        with pytest.raises(ValueError, match="must (be|lie)"):
            learned_file(people(), TYPES, epsilon, delta)
    for column, words in (
        ("home", "must be a column of the table"),
        ("town", 'declare it as "sdtype": "id"'),
    ):
        persons = Neighbours(rows=2, person=column)
        with pytest.raises(ValueError, match=words):
            learned_file(people(), TYPES, 1.0, 1e-9, neighbours=persons)


def test_the_command(tmp_path, capsys):
    table, types, output = (tmp_path / name for name in ("people.csv", "types.json", "domain.json"))
    people().to_csv(table, index=False)
    TYPES.save(types)
    arguments = ["declare", str(table), "-o", str(output), "--domain", str(types), "--private", "epsilon=0.3",
                 "--budget", str(tmp_path / "people.budget"), "2", "1e-7"]  # fmt: skip
    assert main(arguments) == 0
    assert "Learned at epsilon 0.3, delta 1e-09: age, town" in capsys.readouterr().out
    assert "people.csv" in str(Budget(2.0, 1e-7, tmp_path / "people.budget"))
    again = [*arguments[:3], str(tmp_path / "again.json"), "--domain", str(output), "--private", "0.3"]
    assert main(again) == 2
    assert "already contains learned columns" in capsys.readouterr().err


def households():
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


def test_noise_grows_with_the_rows_of_a_person_and_the_fit_must_protect_the_same(learned, tmp_path):
    path, rows = str(tmp_path / "five.json"), tmp_path / "rows.json"
    learned_file(people(), TYPES, 2.0, 1e-9, neighbours=FIVE).save(path)
    entry, persons = read_reused_domain(path, FIVE).entries
    assert "at most 5 rows per value of id" in persons.mechanism
    learned_file(people(), TYPES, 2.0, 1e-9).save(rows)
    row = read_reused_domain(str(rows), ONE_ROW).entries[0]
    needed = [int(re.search(r"fewer than about ([\d,]+) rows", e.mechanism)[1]) for e in (row, entry)]
    assert needed[1] > 4 * needed[0]
    four, replaced = replace(FIVE, rows=4), replace(FIVE, replace=True)
    for of, others in ((path, (ONE_ROW, four, replaced)), (str(learned), (Neighbours(replace=True),))):
        for other in others:
            with pytest.raises(ValueError, match="learned for the addition or removal"):
                read_reused_domain(of, other)
    synth = synthesizer(path, epsilon=4.0, person="id", rows_per_person=5)
    synth.fit(people())
    assert "removal of any one person (all rows with one value of id" in synth.privacy_ledger().sentence()
    assert synth.privacy_ledger().claims_privacy


def test_columns_that_are_lost_in_noise_and_rows_that_are_nobodys_are_told():
    """As every fit does. Control: with enough for them."""
    alone = replace(TYPES, columns={"town": {"sdtype": "categorical"}})
    with pytest.warns(FitWarning) as caught:
        learned_file(people().iloc[:300], alone, 0.01, 1e-9)
    notes = [note for one in caught for note in one.message.notes]
    assert any(re.match("town: (only one value or range|no value) was common", note) for note in notes)
    learned_file(people(), alone, 1.0, 1e-9)  # warnings are errors
    odd = households().astype({"id": object})
    odd.at[3, "id"] = object()
    with pytest.warns(FitWarning, match="id: some cells do not identify a person"):
        assert learned_file(odd, TYPES, 2.0, 1e-9, neighbours=FIVE).learned


def test_learning_keeps_to_its_plan(monkeypatch, tmp_path):
    """And to words that a file can hold, before the draw."""
    budget = Budget(3.0, 1e-8, tmp_path / "b")
    honest = domain_learning.build_domain

    def more(*args):
        args[5].charge(LedgerEntry(name="more", mechanism="m", losses=(PureDP(epsilon=0.1),), scope="s"))
        return honest(*args)

    monkeypatch.setattr(domain_learning, "build_domain", more)
    with pytest.raises(BudgetExceededError, match="charges more than its plan"):
        learned_file(people(), TYPES, 0.3, 1e-9, budget=budget)
    assert budget.charged()["epsilon"] > 0.2
    monkeypatch.setattr(domain_learning, "check_texts", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        learned_file(people(), TYPES, 0.3, 1e-9, budget=budget)
    assert budget.charged()["epsilon"] < 0.4


def test_the_command_protects_persons(tmp_path, capsys):
    table, types, output = (tmp_path / name for name in ("people.csv", "types.json", "domain.json"))
    households().to_csv(table, index=False)
    TYPES.save(types)
    arguments = ["declare", str(table), "-o", str(output), "--domain", str(types), "--person", "id"]
    assert main(arguments) == 2
    assert "--person goes with --private" in capsys.readouterr().err
    special = {"budget": ["b", "1", "1e-8"], "budget_filter": ["rho"], "anyway": []}
    for name, usual in PRIVATE_DEFAULTS.items():
        value = special.get(name, ["3" if usual == 1 else "0.5"])
        assert main([*arguments[:6], f"--{name.replace('_', '-')}", *value]) == 2
        assert "goes with --private" in capsys.readouterr().err
    assert main([*arguments, "--rows-per-person", "5", "--private", "2"]) == 0
    assert "Davos" not in json.loads(output.read_text())["columns"]["town"]["values"]
    assert "at most 5 rows per value of id" in output.read_text()


# --- the domain of a fit ----------------------------------------------------------------------------------------------

OPEN = {"age": {"sdtype": "numerical"}, "town": {"sdtype": "categorical"}}


def reused(domain, **more):
    return PlausibleDeniabilitySynthesizer(metadata_of(domain), domain=domain, **more)


def fitted(domain=None, table=None, **more):
    synth = reused(OPEN if domain is None else domain, **values(**more))
    synth.fit(people()[["age", "town"]] if table is None else table)
    return synth


@pytest.fixture(scope="module")
def first():
    """A fit that learned what all its columns hold."""
    return fitted(epsilon=0.5)


def saved(synth, tmp_path):
    synth.get_domain().save(tmp_path / "finished.json")
    return tmp_path / "finished.json"


def of_file(synth, tmp_path):
    synth.release().save(tmp_path / "table.release")
    return rebuilt(Release.load(tmp_path / "table.release"))


def with_town(domain, **changed):
    return replace(domain, attributes=(domain["age"], replace(domain["town"], **changed)))


def rebuilt(release):
    return PlausibleDeniabilitySynthesizer.from_release(release).get_domain()


WAYS = {
    "in memory": lambda synth, _: synth.get_domain(),
    "saved": lambda synth, path: str(saved(synth, path)),
    "loaded": lambda synth, path: Domain.load(saved(synth, path)),
    "of a pickled object": lambda synth, _: pickle.loads(pickle.dumps(synth)).get_domain(),
    "of a release file": of_file,
    "of a rebuilt object": lambda synth, _: rebuilt(synth.release()),
    "vouched for": lambda synth, _: synth.get_domain().declared(),
    "rounded otherwise": lambda synth, _: synth.get_domain().without_rounding(),
    "without a column": lambda synth, _: replace(synth.get_domain(), attributes=(synth.get_domain()["age"],)),
    "half declared by hand": lambda synth, _: with_town(synth.get_domain(), provenance="declared"),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_domain_that_a_fit_learned_costs_the_next_fit_what_it_cost(way, first, tmp_path):
    (cost,) = [entry for entry in first.privacy_ledger().entries if entry.name == "domain"]
    domain = WAYS[way](first, tmp_path)
    second = reused(domain, epsilon=1.0)
    planned = second.plan().ledger
    assert planned.losses[: len(cost.losses)] == cost.losses
    assert "learned earlier at epsilon" in str(planned)
    assert planned.claims_privacy
    assert planned.total() <= 1 + 1e-6
    second.fit(people()[[name for name in ("age", "town") if name in column_types(domain)]])
    assert second.privacy_ledger().losses == planned.losses
    third = reused(second.get_domain()).plan().ledger  # and so on, once
    assert third.losses.count(cost.losses[0]) == 1


def test_a_domain_without_what_it_cost_is_refused(first, tmp_path):
    """Files of version 0.1 have it not, nor has a Domain that was put together by hand. Control: a declared one."""
    path = saved(first, tmp_path)
    document = json.loads(path.read_text())
    del document["learned"]
    path.write_text(json.dumps(document))
    by_hand = {a.name: a for a in first.get_domain()}
    alone = first.release().domain
    for domain in (str(path), Domain.load(path), Domain(tuple(first.get_domain())), by_hand, alone):
        with pytest.raises(ValueError, match="column 'age' was learned privately, .* learn the domain again"):
            metadata_of(domain)
        with pytest.raises(ValueError, match="column 'age' was learned privately"):
            PlausibleDeniabilitySynthesizer(metadata_of(OPEN), domain=domain)
    declared = Domain(tuple(replace(a, provenance="declared") for a in first.get_domain()))
    assert reused(declared).plan().ledger.claims_privacy
    with pytest.raises(ValueError, match="its 'learned' .* must be"):
        Domain.from_dict({**document, "learned": 3})


def test_a_budget_pays_for_the_domain_of_a_fit_once(tmp_path):
    budget, other = (Budget(3.0, 1e-7, tmp_path / f"{name}.budget") for name in "ab")
    synth = fitted(epsilon=0.5, budget=budget)
    domain, path = synth.get_domain(), str(saved(synth, tmp_path))
    again = fitted(domain, budget=budget, epsilon=1.0)
    drawn = budget.charged()["epsilon"] - 0.5
    assert drawn < 0.95  # what is left of 1 beside what the domain cost
    fitted(path, budget=other, epsilon=1.0)
    assert other.charged()["epsilon"] == pytest.approx(1, rel=1e-3)
    before = budget.charged()["epsilon"]
    fitted(again.get_domain(), budget=budget, epsilon=1.0)
    assert budget.charged()["epsilon"] - before == pytest.approx(drawn, rel=1e-3)
    # A saved object holds no trace of the budget: its domain is paid for once more.
    synth.save(tmp_path / "object.pkl")
    kept = PlausibleDeniabilitySynthesizer.load(tmp_path / "object.pkl").get_domain()
    assert kept.learned["charge"] is None
    synth.budget = None
    synth.fit(people()[["age", "town"]])
    assert synth.get_domain().learned["charge"] is None


def test_a_failed_fit_does_not_pay_for_the_domain_of_the_one_before(tmp_path, monkeypatch):
    synth = fitted(epsilon=0.5)
    synth.budget = Budget(3.0, 1e-7, tmp_path / "a.budget")
    monkeypatch.setattr("sdv_plausible.fitting.fit.fit_release", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        synth.fit(people()[["age", "town"]])
    assert synth.get_domain().learned["charge"] is None


def test_a_domain_makes_no_claim_that_its_fit_lacked_and_takes_its_delta():
    for more in ({"random_state": 1}, {"epsilon": float("inf")}):
        ledger = reused(fitted(**more).get_domain()).plan().ledger
        assert not ledger.claims_privacy
        assert "learned in a fit without a privacy guarantee" in ledger.sentence()
    declared = Domain.from_declarations({"age": {"range_min": 0, "range_max": 99}})  # control: not learned
    domain = fitted(declared, people()[["age"]], random_state=1).get_domain()
    assert reused(domain).plan().ledger.claims_privacy
    domain = fitted(epsilon=0.5, delta=1e-6).get_domain()
    with pytest.raises(ValueError, match="is used up: .* at delta 1e-09"):
        reused(domain, delta=1e-9).plan()
    ledger = reused(domain, delta=1e-6).plan().ledger
    assert ledger.delta == 1e-6
    assert ledger.total() <= 1 + 1e-6


def test_types_that_were_voted_for_are_paid_by_whoever_uses_the_domain(tmp_path):
    names = {name: {"sdtype": "categorical"} for name in ("age", "town")}
    synth = PlausibleDeniabilitySynthesizer(metadata_of(names), types="voted", epsilon=4.0)
    synth.fit(people()[["age", "town"]])
    domain = Domain.load(saved(synth, tmp_path))
    carried = read_reused_domain(domain, ONE_ROW).entries
    assert [entry.name for entry in carried] == ["types", "learning"]
    again = reused(domain, epsilon=4.0).plan().ledger.entries
    assert [entry for entry in again if entry.name == "types"] == [carried[0]]


def test_what_a_carried_entry_stood_for_is_not_to_follow(first):
    """A hand in a file: the entry would stand for all of the model of the next fit."""
    learned = json.loads(json.dumps(first.get_domain().learned))
    entry = learned["ledger"]["entries"][0]
    entry |= {"envelope": True, "parts": ["domain", "structure", "parameters"]}
    odd = replace(first.get_domain(), learned=learned)
    assert not any(entry.envelope for entry in read_reused_domain(odd, ONE_ROW).entries)
    entry["envelope"] = False
    with pytest.raises(ValueError, match="must be true or absent"):
        read_reused_domain(odd, ONE_ROW)
