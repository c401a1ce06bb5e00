"""SDV's habit, detect and then fit: a ledger says that it holds only if the column types were known without the rows.

One cell ("refused" among numbers) changes what SDV detects, and with it the release. A ledger that claims privacy without a
word on that is wrong, so every way from metadata of unknown origin to a claim is tried here, and every way on from it.
"""

from __future__ import annotations

import copy
import io
import json
import pickle
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import guarded
import numpy as np
import pandas as pd
import pytest
from sdv.errors import SamplingError
from sdv.metadata import Metadata

from sdv_plausible import (
    Budget,
    Domain,
    FamilyRelease,
    Files,
    PlausibleDeniabilityMultiTableSynthesizer,
    PlausibleDeniabilitySynthesizer,
    Release,
    attest,
    check_attestation,
    fit_source,
    metadata_of,
    to_conformance,
    to_registry,
    to_standard,
)
from sdv_plausible.cli.main import main
from sdv_plausible.evaluation.page.sections import GuaranteeSection
from sdv_plausible.extensions.standards.attestation import new_key, public_file
from sdv_plausible.extensions.verify.independent.all_checks import check
from sdv_plausible.fitting.diagnostics import FitWarning
from sdv_plausible.privacy.ledger_record import CONDITION, LedgerRecord, LedgerText
from sdv_plausible.release.file.json_documents import write
from sdv_plausible.table.columns.domain import Attribute
from sdv_plausible.table.declared.column_types import types_of_unknown_origin

WARNING = "the privacy guarantee holds only if these column types"
DECLARED = {"score": {"sdtype": "numerical"}, "sex": {"sdtype": "categorical"}}
CHEAP = {"model": "uniform"}
Synth, Families = PlausibleDeniabilitySynthesizer, PlausibleDeniabilityMultiTableSynthesizer


def table(odd: bool = False) -> pd.DataFrame:
    """Whole numbers and a category; one cell may be a text."""
    rng = np.random.default_rng(0)
    scores, sexes = rng.integers(0, 50, 2000).astype(object), rng.choice(["f", "m"], 2000)
    scores[0] = "refused" if odd else scores[0]
    return pd.DataFrame({"score": scores, "sex": sexes}).astype({} if odd else {"score": float})


def detected(odd: bool = False) -> Any:
    return Metadata.detect_from_dataframes({"t": table(odd)})


def warned(do: Callable[[], Any]) -> tuple[Any, list[str]]:
    """What a call returns, and what it warns of column types of unknown origin."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        made = do()
    said = [one for one in found if WARNING in str(one.message)]
    assert all(one.category is FitWarning for one in said)
    return made, [str(one.message) for one in said]


def synthesizer(metadata: Any = None, **options: Any) -> Synth:
    return Synth(detected() if metadata is None else metadata, **{**CHEAP, **options})


def fitted(metadata: Any = None, odd: bool = False, **options: Any) -> Synth:
    synth = synthesizer(metadata, **options)
    synth.fit(table(odd))
    return synth


@pytest.fixture(scope="module")
def conditional() -> Synth:
    return warned(fitted)[0]


@pytest.mark.parametrize("odd", [False, True])
def test_detected_metadata_makes_the_claim_conditional(odd):
    """The two tables differ by a cell, which decides what the released column is."""
    metadata = detected(odd)
    assert metadata.tables["t"].columns["score"]["sdtype"] == ("categorical" if odd else "numerical")
    synth, said = warned(lambda: fitted(metadata, odd))
    ledger = synth.privacy_ledger()
    assert ledger.assumed_types == ("score", "sex")
    assert all(CONDITION in text for text in (ledger.sentence(), ledger.words.lead, ledger.words.total))
    assert str(ledger).index(CONDITION) < str(ledger).index("\n")
    assert len(said) == 1
    assert all(word in said[0] for word in ("score, sex", 'types="declared"', 'types="voted"', "domain="))
    for types in ("voted", "declared"):
        synth, said = warned(lambda types=types: fitted(metadata, odd, types=types))
        assert CONDITION not in str(synth.privacy_ledger())
        assert synth.privacy_ledger().claims_privacy
        assert said == []
    synth, said = warned(lambda: fitted(metadata, odd, types="detected"))
    assert not synth.privacy_ledger().claims_privacy
    assert said == []


def test_nothing_is_paid_where_the_warning_is_an_error(tmp_path):
    budget = Budget(5, 1e-8, tmp_path / "b.budget")
    synth = synthesizer(budget=budget)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", f".*{WARNING}")
        with pytest.raises(FitWarning):
            synth.fit(table())
        with pytest.raises(FitWarning):
            fit_source(table(), detected(), budget=budget, **CHEAP)
        with pytest.raises(FitWarning):
            families(budget=budget).fit(related())
    assert budget.charged() == {"epsilon": 0, "delta": 0}
    with pytest.raises(SamplingError, match=r"call fit\(\) first"):
        synth.release()


def related() -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(1)
    homes = pd.DataFrame({"home": range(300), "rooms": rng.integers(1, 6, 300)})
    people = pd.DataFrame({"home": rng.integers(0, 300, 600), "sex": rng.choice(["f", "m"], 600)})
    return {"homes": homes, "people": people}


def families(**options: Any) -> Families:
    keys = ("parent_table_name", "parent_primary_key", "child_table_name", "child_foreign_key")
    link = dict(zip(keys, ("homes", "home", "people", "home"), strict=True))
    homes = {"home": {"sdtype": "id"}, "rooms": {"sdtype": "numerical"}}
    people = {"home": {"sdtype": "id"}, "sex": {"sdtype": "categorical"}}
    tables = {"homes": {"columns": homes, "primary_key": "home"}, "people": {"columns": people}}
    return Families({"tables": tables, "relationships": [link]}, max_children=2, epsilon=3.0, **options)


def by_processed(_: Path, **types: Any) -> Any:
    synth = synthesizer(**types)
    synth.fit_processed_data(synth.preprocess(table()))
    return synth.privacy_ledger()


def by_parts(folder: Path, **types: Any) -> Any:
    table().to_csv(folder / "t.csv", index=False)
    synth = synthesizer(**types)
    synth.fit(Files(folder / "t.csv"))
    return synth.privacy_ledger()


def by_source(_: Path, **types: Any) -> Any:
    return fit_source(table(), detected(), **CHEAP, **types).ledger


def by_families(_: Path, **types: Any) -> Any:
    synth = families(**types)
    synth.fit(related())
    return synth.privacy_ledger()


def commanded(*words: object) -> Any:
    """The ledger that a command answers; what it says of types is warned of."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sys.stdout", out := io.StringIO())
        patched.setattr("sys.stderr", err := io.StringIO())
        assert main([*map(str, words), "--overwrite", "--json"]) == 0, err.getvalue()
    for line in err.getvalue().splitlines():
        if WARNING in line:
            warnings.warn(FitWarning(line), stacklevel=1)
    return json.loads(out.getvalue())["ledger"]


def by_command(command: str, output: str, *words: str) -> Callable[..., Any]:
    def run(folder: Path, types: str | None = None) -> Any:
        table().to_csv(folder / "t.csv", index=False)
        detected().save_to_json(folder / "m.json", mode="overwrite")
        said = [] if types is None else ["--types", types]
        of = [folder / "t.csv", "--metadata", folder / "m.json", "-o", folder / output]
        return commanded(command, *of, *words, *said)

    return run


def by_families_command(folder: Path, types: str | None = None) -> Any:
    for name, rows in related().items():
        rows.to_csv(folder / f"{name}.csv", index=False)
    (folder / "families.json").write_text(json.dumps(families().get_metadata()))
    said = [] if types is None else ["--types", types]
    of = [folder / "homes.csv", folder / "people.csv", "--metadata", folder / "families.json"]
    return commanded("families", *of, "-o", folder / "f.release", "--max-children", 2, *said)


DOORS = {
    "synthesizer": lambda _, **types: fitted(**types).privacy_ledger(), "processed rows": by_processed,
    "synthesizer in parts": by_parts, "fit_source": by_source, "families": by_families,
    "fit": by_command("fit", "t.release", "--model", "uniform"),
    "synthesize": by_command("synthesize", "rows.csv", "--model", "uniform"),
    "describe": by_command("describe", "d.json", "--mode", "random"), "families (command)": by_families_command,
}  # fmt: skip
WITHOUT_METADATA = {
    "counted": "a number of rows has no type: tests/fitting/test_row_count_check.py",
    "voted": "of the metadata names alone count: below",
    "declare": "types are those of a domain file",
    "app": "types are those of the page's domain file",
}


def test_every_door_is_tried():
    registered = {*guarded.DOORS.values(), *guarded.COMMANDS.values()}
    assert registered - {*WITHOUT_METADATA} <= {*DOORS}
    assert {*WITHOUT_METADATA} <= registered


def test_every_door_states_the_condition_and_warns_once(tmp_path):
    wrong = {}
    for name, door in DOORS.items():
        for types in (None, "declared"):
            told = {} if types is None else {"types": types}
            ledger, said = warned(lambda door=door, told=told: door(tmp_path, **told))
            plain = ledger if isinstance(ledger, dict) else ledger.to_dict()
            words, wanted = LedgerText.of(plain), types is None
            stated = [CONDITION in text for text in (plain["headline"], words.lead, words.total)]
            if stated != [wanted] * 3 or bool(plain["assumed_types"]) != wanted or len(said) != wanted:
                wrong[name, types] = stated, plain["assumed_types"], said
    assert wrong == {}


def test_keys_and_relationships_of_related_tables_are_assumed_too():
    declared = {"homes": {"rooms": {"sdtype": "numerical"}}, "people": {"sex": {"sdtype": "categorical"}}}
    synth = families(domain=declared)
    assert synth.plan().assumed_types == ("homes.home", "people.home")
    assert families().plan().assumed_types == ("homes.home", "homes.rooms", "people.home", "people.sex")
    assert families(types="declared").plan().assumed_types == ()
    _, said = warned(lambda: synth.fit(related()))
    assert "homes.home, people.home" in said[0]
    assert "voted" not in said[0]


DATES = {"sdtype": "datetime", "datetime_format": "%d.%m.%Y"}
GIVEN = {
    "columns": {
        "id": {"sdtype": "id", "regex_format": "[A-Z]{3}"}, "name": {"sdtype": "name", "pii": True},
        "day": DATES, "score": {"sdtype": "numerical"}, "sex": {"sdtype": "categorical"},
    },
    "primary_key": "id",
}  # fmt: skip
CASES: dict[str, tuple[Any, str | None, set[str]]] = {
    "nothing": (None, None, {"id", "name", "day", "score", "sex"}),
    "types and formats": (GIVEN["columns"], None, {"id"}),  # which is a key
    "sdtypes alone": ({n: {"sdtype": w["sdtype"]} for n, w in GIVEN["columns"].items()}, None, {"id", "day"}),
    "words that tell a type": ({"score": {"range_min": 0, "range_max": 9}, "sex": {"range_values": ["f"]}}, None, {"id", "name", "day"}),
    "words that tell none": ({"score": {"bins": 9}, "sex": {"range_is_nullable": False}}, None, {*GIVEN["columns"]}),
    "dates without their format": ({"day": {"sdtype": "datetime", "range_min": "01.02.2000", "range_max": "01.02.2001"}}, None, {*GIVEN["columns"]}),
    "the user's word": ("written", None, set()),
    "a finished domain": (Domain((Attribute(name="score", kind="integer", lower=(0,), upper=(9,)),)), None, {"id", "name", "day", "sex"}),
    "a person": (None, "id", {"id", "name", "day", "score", "sex"}),
}  # fmt: skip


def test_what_metadata_alone_says_is_assumed():
    found = {
        name: {*types_of_unknown_origin(GIVEN, domain, person)} for name, (domain, person, _) in CASES.items()
    }
    assert found == {name: wanted for name, (_, _, wanted) in CASES.items()}
    addresses = [{"type": "address", "column_names": ["score", "sex"]}]
    related = {"columns": DECLARED, "column_relationships": addresses}
    assert types_of_unknown_origin(related, DECLARED) == ("score", "sex")
    assert types_of_unknown_origin(None, DECLARED) == ()


def test_metadata_made_of_declarations_is_a_declaration_as_far_as_it_is_unchanged(tmp_path):
    made = metadata_of(DECLARED, "t")
    assert types_of_unknown_origin(made) == ()
    assert types_of_unknown_origin(copy.deepcopy(made)) == ()
    assert types_of_unknown_origin(pickle.loads(pickle.dumps(made))) == ()
    made.update_column(column_name="score", sdtype="categorical")
    assert types_of_unknown_origin(made) == ("score",)
    made = metadata_of(DECLARED, "t")
    made.save_to_json(tmp_path / "m.json")  # which does not say where it is from
    assert types_of_unknown_origin(tmp_path / "m.json") == ("score", "sex")
    read_off = {"score": {"sdtype": "numerical", "detected": True}, "sex": {"sdtype": "categorical"}}
    assert types_of_unknown_origin(metadata_of(read_off)) == ("score",)
    for provenance in ("inferred", "edited"):
        domain = Domain((Attribute(name="sex", kind="categorical", values=("f",), provenance=provenance),))
        assert types_of_unknown_origin(metadata_of(domain)) == ("sex",)


def test_a_fit_of_declared_columns_neither_warns_nor_depends_on_anything():
    for options in ({"metadata": metadata_of(DECLARED, "t")}, {"domain": DECLARED}):
        synth, said = warned(lambda options=options: fitted(**options))
        found = said, synth.privacy_ledger().assumed_types, synth.release().settings["types"]
        assert found == ([], (), "declared")
    synth, said = warned(lambda: fitted(domain={"score": DECLARED["score"]}))
    assert synth.privacy_ledger().assumed_types == ("sex",)
    assert "sex: the privacy guarantee holds only if these column types were known" in said[0]
    without_a_claim = {"random_state": 1}, {"epsilon": float("inf"), "model": "independent"}
    for options in without_a_claim:
        assert warned(lambda options=options: fitted(**options))[1] == []


def test_copies_and_plans_carry_the_condition(conditional):
    held = {
        "plan": synthesizer().plan().ledger,
        "copy": copy.copy(conditional).privacy_ledger(),
        "deepcopy": copy.deepcopy(conditional).privacy_ledger(),
        "pickle": pickle.loads(pickle.dumps(conditional)).privacy_ledger(),
        "plan after a pickle": pickle.loads(pickle.dumps(conditional)).plan().ledger,
        "clone": type(conditional)(conditional.get_metadata(), **conditional.get_parameters()).plan().ledger,
    }
    found = {name: ledger.assumed_types for name, ledger in held.items()}
    assert found == dict.fromkeys(held, ("score", "sex"))
    declared = synthesizer(metadata_of(DECLARED, "t"))
    clone = type(declared)(declared.get_metadata(), **declared.get_parameters())
    assert clone.plan().ledger.assumed_types == ()


def test_the_next_fit_carries_the_condition(conditional, tmp_path):
    """Of a release, of a domain that was learned, of either through a file. Control: the user's word ends it."""
    conditional.save(tmp_path / "s.pkl")
    conditional.release().save(tmp_path / "s.release")
    conditional.get_domain().save(tmp_path / "d.json")
    release = Release.load(tmp_path / "s.release")
    again = Synth.from_release
    learned = {"learned": conditional.get_domain(), "learned file": tmp_path / "d.json"}
    makers: dict[str, Callable[..., Any]] = {
        "saved": lambda **types: Synth.load(tmp_path / "s.pkl") if not types else synthesizer(**types),
        "release": lambda **types: again(release, **types),
        "release of a release": lambda **types: again(again(release).release(), **types),
        **{name: lambda d=domain, **types: synthesizer(domain=d, **types) for name, domain in learned.items()},
        **{f"{name}, metadata_of": lambda d=domain, **types: synthesizer(metadata_of(d, "t"), domain=d, **types)
           for name, domain in learned.items()},
        **{f"{name}, metadata_of alone": lambda d=domain, **types: synthesizer(metadata_of(d, "t"), **types)
           for name, domain in learned.items()},
    }  # fmt: skip
    wrong = {}
    for name, make in makers.items():
        synth = make()
        _, said = warned(lambda synth=synth: synth.fit(table()))
        ledger = synth.privacy_ledger()
        vouched = make(types="declared").plan().ledger.assumed_types
        found = {*ledger.assumed_types}, CONDITION in ledger.sentence(), len(said)
        if (*found, synth.release().settings["types"], vouched) != ({"score", "sex"}, True, 1, None, ()):
            wrong[name] = found
    assert wrong == {}
    assert again(release).privacy_ledger().assumed_types == ("score", "sex")  # before another fit
    other = again(release, domain={"sex": {"range_values": ["f", "m"]}})
    assert other.plan().ledger.assumed_types == ("score",)


def test_a_format_that_was_assumed_is_so_in_the_next_fit():
    """Of a date whose range is declared, and whose format metadata alone has."""
    days = pd.DataFrame({"day": pd.date_range("2000-01-01", periods=400).strftime("%Y-%m-%d")})
    words = {"day": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"}}
    metadata = Metadata.load_from_dict({"tables": {"t": {"columns": words}}, "relationships": []})
    domain = {"day": {"sdtype": "datetime", "range_min": "2000-01-01", "range_max": "2001-12-31"}}
    synth = Synth(metadata, domain=domain, **CHEAP)
    synth.fit(days)
    for again in (Synth.from_release(synth.release()),
                  Synth(metadata, domain=synth.get_domain(), **CHEAP)):  # fmt: skip
        again.fit(days)
        assert again.privacy_ledger().assumed_types == ("day",)


def test_related_tables_carry_the_condition_through_their_file(tmp_path):
    synth = families(domain={"homes": {"rooms": {"sdtype": "numerical"}}})
    synth.fit(related())
    synth.save(tmp_path / "f.release")
    release = FamilyRelease.load(tmp_path / "f.release")
    assumed = ("homes.home", "people.home", "people.sex")
    assert release.ledger.assumed_types == assumed
    shown = release.ledger.sentence(), str(release), release.card().to_html()
    assert all(CONDITION in text for text in shown)
    assert Families.from_release(release).plan().assumed_types == assumed
    assert Families.from_release(release, types="declared").plan().assumed_types == ()
    assert {one.state for one in check((tmp_path / "f.release").read_bytes())} == {"ok"}


def test_every_paper_states_the_condition(conditional, tmp_path):
    release, ledger = conditional.release(), conditional.privacy_ledger()
    new_key(secret := tmp_path / "key")
    public = public_file(secret)
    release.save(tmp_path / "r.release")
    (tmp_path / "r.jsonl").write_text(attest(release, secret))
    signed = check_attestation(tmp_path / "r.jsonl", tmp_path / "r.release", public)
    assert signed["total"]["assumed_types"] == ["score", "sex"]
    papers = {
        "text": str(ledger), "html": ledger.to_html(), "json": ledger.to_json(), "release": str(release),
        "file": release.to_bytes(readable=True).decode(), "card": release.card().to_html(),
        "card, plain": release.card().to_markdown(), "conformance": to_conformance(ledger),
        "registry": " ".join(to_registry(ledger).split()),
        "page": GuaranteeSection.of(ledger).words.first, "page of the file": GuaranteeSection.of(json.loads(ledger.to_json())).words.first,
        **{name: to_standard(release, name) for name in ("croissant", "dcat", "frictionless")},
    }  # fmt: skip
    assert [name for name, text in papers.items() if CONDITION not in text] == []
    assert GuaranteeSection.of(ledger).claimed
    assert "Assumed: column types" in papers["conformance"]


def test_a_budget_that_one_fit_of_unknown_types_drew_from_is_conditional(tmp_path):
    budget = Budget(5, 1e-8, tmp_path / "b.budget")
    synthesizer(metadata_of(DECLARED, "t"), budget=budget).fit(table())
    assert CONDITION not in str(budget)
    assert "assumes_types" not in (tmp_path / "b.budget").read_text()  # as it was written before
    synthesizer(budget=budget).fit(table())
    again = Budget(5, 1e-8, tmp_path / "b.budget")
    assert again.sentence().count(CONDITION) == 2  # in what an attacker can gain, and in the total
    assert [line.endswith(CONDITION) for line in str(again).splitlines()[-2:]] == [False, True]
    content = json.loads((tmp_path / "b.budget").read_text())
    content["fits"][1]["assumes_types"] = "no"
    (tmp_path / "b.budget").write_text(json.dumps(content))
    with pytest.raises(ValueError, match="changed or damaged"):
        str(Budget(5, 1e-8, tmp_path / "b.budget"))


def test_a_condition_cannot_be_taken_out_of_a_file_by_halves(conditional):
    """By all it can: types that are called declared in a file are its maker's word. Control: the file as it is."""
    data = conditional.release().to_bytes()
    of_ledger = ("words", "settings", "entries", "total")
    assert {one.state for one in check(data) if one.about in of_ledger} == {"ok"}
    kept = next(entry for entry in json.loads(data)["ledger"]["entries"] if "assumes" in entry)

    def without(document: Any) -> None:
        document["ledger"]["entries"].remove(kept)

    def sentence(document: Any) -> None:
        document["ledger"]["sentence"] = document["ledger"]["sentence"].replace(f", {CONDITION}", "")

    def entry(**changes: Any) -> Callable[[Any], None]:
        return lambda d: next(e for e in d["ledger"]["entries"] if "assumes" in e).update(changes)

    lies: dict[str, list[Callable[[Any], object]]] = {
        "no entry": [without, sentence],
        "settings": [lambda d: d["settings"].update(types="declared")],
        "no entry, settings alone": [without, sentence, lambda d: d["settings"].update(types=None)],
        "no names": [entry(assumes=[])],
        "no list": [entry(assumes="score")],
        "with a loss": [entry(losses=[{"type": "PureDP", "epsilon": 0.1, "count": 1}])],
    }
    wrong = []
    for name, changes in lies.items():
        document = json.loads(data)
        for change in changes:
            change(document)
        lied = write(document)
        with pytest.raises(ValueError, match=r"ledger|settings|entries"):
            Release.from_bytes(lied)
        wrong += [] if any(one.state == "refused" for one in check(lied)) else [name]
    document = json.loads(data)
    sentence(document)
    wrong += [] if any(one.state == "refused" for one in check(write(document))) else ["sentence"]
    assert wrong == []
    assert Release.from_bytes(write(document)).ledger.assumed_types == ("score", "sex")  # words are made anew


def test_a_ledger_in_json_that_lost_its_condition_is_refused(conditional):
    plain = conditional.privacy_ledger().to_dict()
    assert CONDITION in LedgerRecord.of(plain).words.first
    with pytest.raises(ValueError, match="without that condition"):
        LedgerRecord.of({**plain, "headline": plain["headline"].replace(f", {CONDITION}", "")})


def test_older_files_are_read_as_before(conditional):
    """Their types are their maker's word, as they were."""
    document = json.loads(fitted(metadata_of(DECLARED, "t")).release().to_bytes())
    assert not any("assumes" in entry for entry in document["ledger"]["entries"])
    assert document["settings"]["types"] == "declared"
    assert Release.from_bytes(write(document)).ledger.assumed_types == ()
    charged = next(one for one in conditional.privacy_ledger().entries if one.losses)
    with pytest.raises(ValueError, match="losses or assumptions"):
        replace(charged, assumes=("score",))
