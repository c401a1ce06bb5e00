"""Objects made with metadata that SDV detected: no copy, pickle, saved file or get_metadata() holds what was detected.

Each class is fitted to two wholly different tables, each with the metadata that SDV detects in it, and with the same noisy
answers (replay). Whatever leaves must be the same, and hold no value of the rows and no path of their owner. The comparison is
exact: it has no false alarm, and planted faults are caught surely.
"""

from __future__ import annotations

import copy
import io
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import cloudpickle
import guarded
import joblib
import pandas as pd
import pytest
import test_replay
from replaying import check_same, leaves, recorded
from sdv.metadata import Metadata

from sdv_plausible import Budget, PlausibleDeniabilityMultiTableSynthesizer, PlausibleDeniabilitySynthesizer
from sdv_plausible.extensions.multi_table import multi_table_synthesizer as related
from sdv_plausible.rules.rule_files import save_rules
from sdv_plausible.sdv import synthesizer
from sdv_plausible.sdv.metadata import detect_metadata

pytestmark = pytest.mark.filterwarnings(
    "ignore:.* (most cells are outside|cells are missing although):UserWarning",
    "ignore:You are saving a synthesizer that has not yet been fitted",
    "ignore:Parsing dates in:UserWarning",  # SDV's detection
    "ignore:.*_maybe_warn_about_dayfirst",  # likewise
    "ignore:.*values may be lost to the noise",
)
OWNER = "folder-of-the-owner"
VALUE, WORD = 987_654.32, "Zz-only-here"
SECRETS = (str(VALUE), WORD, OWNER, "only-in-the-rows", "high_cardinality")
OF_METADATA = (*SECRETS, "range_is_nullable")  # a word of declarations, too
Tables = dict[str, pd.DataFrame]


class Case(NamedTuple):
    """One class of synthesizers."""

    made: Callable[[Tables, Path], Any]  # with metadata that was detected in the tables
    fitted: Callable[[Any, Tables], None]
    tables: tuple[Tables, Tables]
    plant: tuple[Any, str]  # module and name of what leaves the details out


def with_types(metadata: Any, wanted: dict[str, dict[str, Any]]) -> Any:
    """Detected metadata in which every column has its semantic type, and what was detected beside it."""
    document = metadata.to_dict()
    for table, columns in wanted.items():
        found = document["tables"][table]
        for name, spec in columns.items():
            same = found["columns"][name]["sdtype"] == spec["sdtype"] != "datetime"
            found["columns"][name] = {**(found["columns"][name] if same else {}), **spec}
        found.pop("primary_key", None)
        found.pop("alternate_keys", None)
    return document


def of_owner(folder: Path, words: dict[str, Any]) -> tuple[str, Budget]:
    """A domain file and a budget in a folder of their owner."""
    (folder / OWNER).mkdir(exist_ok=True)
    (folder / OWNER / "domain.json").write_text(json.dumps(words))
    return str(folder / OWNER / "domain.json"), Budget(50.0, 1e-4, folder / OWNER / "budget")


COLUMNS = {**test_replay.COLUMNS, "seen": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d %H:%M:%S"}}


def one_table(table: pd.DataFrame) -> Tables:
    seen = pd.to_datetime("2020-01-01") + pd.to_timedelta(range(len(table)), unit="h")
    table = table.assign(seen=seen.strftime("%Y-%m-%d %H:%M:%S"), income=table["income"].astype(float))
    table.loc[0, "income"], table.loc[1, "city"] = VALUE, WORD
    return {"table": table}


def single(tables: Tables, folder: Path) -> PlausibleDeniabilitySynthesizer:
    document = with_types(detect_metadata(tables["table"]), {"table": COLUMNS})
    assert str(VALUE) in json.dumps(document, default=str)
    save_rules([], folder / "rules.json")
    domain, budget = of_owner(folder, test_replay.DECLARED)
    return PlausibleDeniabilitySynthesizer(
        Metadata.load_from_dict(document), domain=domain, epsilon=8.0, delta=1e-6, types="declared", budget=budget,
        rules=str(folder / "rules.json"),
    )  # fmt: skip


SPECS = {
    "homes": {"home": {"sdtype": "id"}, "tenure": {"sdtype": "categorical"}, "rent": {"sdtype": "numerical"}},
    "people": {
        "person": {"sdtype": "id"}, "of": {"sdtype": "id"}, "email": {"sdtype": "email", "pii": True},
        "sex": {"sdtype": "categorical"}, "seen": COLUMNS["seen"],
    },
}  # fmt: skip


def two_tables(n: int, email: str) -> Tables:
    seen = pd.to_datetime("2020-01-01") + pd.to_timedelta(range(3 * n), unit="h")
    homes = pd.DataFrame(
        {"home": [f"H{i}" for i in range(n)], "tenure": ["own", "rent"] * (n // 2), "rent": [float(i % 90) for i in range(n)]}
    )  # fmt: skip
    people = pd.DataFrame(
        {
            "person": [f"P{i}" for i in range(3 * n)], "of": [f"H{i // 3}" for i in range(3 * n)],
            "email": [f"{email}{i}@example.org" for i in range(3 * n)], "sex": ["f", "m", "m"] * n,
            "seen": seen.strftime("%Y-%m-%d %H:%M:%S"),
        }
    )  # fmt: skip
    homes.loc[0, "rent"], homes.loc[1, "tenure"] = VALUE, WORD
    return {"homes": homes, "people": people}


def multi(tables: Tables, folder: Path) -> PlausibleDeniabilityMultiTableSynthesizer:
    document = with_types(Metadata.detect_from_dataframes(tables), SPECS)
    assert str(VALUE) in json.dumps(document, default=str)
    document["tables"]["homes"]["primary_key"], document["tables"]["people"]["primary_key"] = "home", "person"
    link = ("homes", "home", "people", "of")
    names = ("parent_table_name", "parent_primary_key", "child_table_name", "child_foreign_key")
    document["relationships"] = [dict(zip(names, link, strict=True))]
    domain, budget = of_owner(folder, {"tenure": {"range_values": ["own", "rent"]}})
    return PlausibleDeniabilityMultiTableSynthesizer(
        Metadata.load_from_dict(document), domain={"homes": domain}, epsilon=8.0, delta=1e-6, max_children=3,
        types="declared", budget=budget,
    )  # fmt: skip


CASES: dict[str, Case] = {
    "PlausibleDeniabilitySynthesizer": Case(
        single,
        lambda synth, tables: synth.fit(tables["table"]),
        (one_table(test_replay.first_table(300)), one_table(test_replay.other_table(200))),
        (synthesizer, "without_details"),
    ),
    "PlausibleDeniabilityMultiTableSynthesizer": Case(
        multi,
        lambda synth, tables: synth.fit(tables),
        (two_tables(120, "only-in-the-rows"), two_tables(64, "x")),
        (related, "without_details"),
    ),
}


def by_joblib(synth: Any) -> bytes:
    held = io.BytesIO()
    joblib.dump(synth, held)
    return held.getvalue()


# How an object leaves: as bytes, and as what comes back of them.
WAYS: dict[str, tuple[Callable[[Any], bytes], Callable[[bytes], Any]]] = {
    "pickle": (pickle.dumps, pickle.loads),
    "cloudpickle": (cloudpickle.dumps, pickle.loads),
    "joblib": (by_joblib, lambda data: joblib.load(io.BytesIO(data))),
    "copy": (lambda synth: pickle.dumps(vars(copy.copy(synth))), pickle.loads),
    "deepcopy": (lambda synth: pickle.dumps(vars(copy.deepcopy(synth))), pickle.loads),
}


def leaving(synth: Any, folder: Path, *, is_fitted: bool) -> dict[str, Any]:
    """All that leaves an object; the secrets that are in it, first of all."""
    found: dict[str, Any] = {}
    for name, (away, back) in WAYS.items():
        data = away(synth)
        twin = back(data)
        found[name] = dict(leaves(twin))
        held = data.decode("latin-1") + "\n".join(found[name].values()) + "\n".join(found[name])
        assert [(name, secret) for secret in SECRETS if secret in held] == []
    for version in ("original", "modified"):
        document = json.dumps(synth.get_metadata(version).to_dict(), sort_keys=True, default=str)
        assert [(version, secret) for secret in OF_METADATA if secret in document] == []
        found[f"{version} metadata"] = document
    if is_fitted:
        synth.save(folder / "saved")
        data = (folder / "saved").read_bytes()
        assert [secret for secret in SECRETS if secret.encode() in data] == []
        found["release file"] = synth.release().to_bytes()
    return found


def check(name: str, folder: Path) -> None:
    case, answers, seen = CASES[name], [], []
    for number, tables in enumerate(case.tables):
        own = folder / str(number)
        own.mkdir(exist_ok=True)
        with recorded(answers, again=number > 0):
            synth = case.made(tables, own)
            before = leaving(synth, own, is_fitted=False)
            case.fitted(synth, tables)
            assert synth.privacy_ledger().claims_privacy
            after = leaving(synth, own, is_fitted=True)
        whens = {"before": before, "after": after}
        seen.append({f"{when}, {what}": one for when, all_ in whens.items() for what, one in all_.items()})
    check_same(*seen)


@pytest.mark.parametrize("name", CASES)
def test_nothing_that_was_detected_leaves_an_object(name: str, tmp_path: Path) -> None:
    check(name, tmp_path)


@pytest.mark.parametrize("name", CASES)
def test_planted_metadata_that_is_kept_whole_is_caught(name: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(*CASES[name].plant, lambda metadata: metadata)
    with pytest.raises(AssertionError):
        check(name, tmp_path)


@pytest.mark.parametrize("name", CASES)
def test_planted_paths_are_caught(name: str, tmp_path: Path) -> None:
    synth = CASES[name].made(CASES[name].tables[0], tmp_path)
    leaving(synth, tmp_path, is_fitted=False)
    synth._from_files = {}
    with pytest.raises(AssertionError, match=OWNER):
        leaving(synth, tmp_path, is_fitted=False)


@pytest.mark.parametrize("name", CASES)
def test_a_copy_says_what_it_lacks_and_works(name: str, tmp_path: Path) -> None:
    """It has declarations in the place of their file, and asks for a budget before it is fitted."""
    case, tables = CASES[name], CASES[name].tables[0]
    synth = case.made(tables, tmp_path)

    def plan(made: Any) -> str:
        planned = made.plan()
        return str(getattr(planned, "ledger", planned))

    for twin in (copy.copy(synth), copy.deepcopy(synth), pickle.loads(pickle.dumps(synth))):
        assert plan(twin) == plan(synth)
        with pytest.raises(ValueError, match="budget: .* its saved file does not contain"):
            case.fitted(twin, tables)
    told = {n: v for n, v in twin.get_parameters().items() if n not in ("budget", "domain")}
    again = type(synth)(synth.get_metadata(), **told, domain=twin.domain)
    assert again.get_parameters().keys() == synth.get_parameters().keys()
    _, twin.budget = of_owner(tmp_path, {})
    case.fitted(twin, tables)
    assert synth.get_info()["last_fit_date"] is None
    assert twin.get_info()["last_fit_date"] is not None


def test_every_class_of_synthesizers_has_a_case() -> None:
    assert guarded.unequal(guarded.synthesizers(), CASES) == [], "each needs a case in CASES"
    planted = "class TimeSeriesSynthesizer(FittedSynthesizer):\n    pass\n"
    found = guarded.unequal(guarded.synthesizers({"sdv/series.py": planted}), CASES)
    assert found == ["TimeSeriesSynthesizer"]
