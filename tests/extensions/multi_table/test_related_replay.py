"""Replay: noisy answers of a fit of two tables, given over wholly different tables, give the same release and object.

As tests/privacy/test_replay.py does for one table. The other tables have other keys, families, values, orders,
storage, texts of invented columns, orphans, and rows without a key. The comparison is exact: it has no false
alarm, and each planted side door is caught surely.
"""

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from replaying import check_same, leaves, recorded
from sentences import notes_of
from trees import metadata_of

from sdv_plausible import Budget
from sdv_plausible.extensions.multi_table import multi_table_synthesizer, related_fit, simulation
from sdv_plausible.extensions.multi_table.multi_table_synthesizer import (
    PlausibleDeniabilityMultiTableSynthesizer,
)
from sdv_plausible.extensions.multi_table.related_rows import JoinedTables, join_families
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

MARK = "only-in-the-rows"
TABLES: dict[str, dict[str, Any]] = {
    "homes": {"home": "id", "tenure": "categorical", "rooms": "numerical"},
    "people": {
        "person": "id", "of": "id", "email": {"sdtype": "email", "pii": True}, "sex": "categorical", "age": "numerical",
        "born": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"},
    },
    "trips": {"by": "id", "mode": "categorical", "km": "numerical"},
}  # fmt: skip
PEOPLE, BY_PERSON = ("homes", "home", "people", "of"), ("people", "person", "trips", "by")
CHAIN = metadata_of(TABLES, PEOPLE, BY_PERSON) | {"METADATA_SPEC_VERSION": "V2"}
PAIR = {name: columns for name, columns in TABLES.items() if name != "trips"}
METADATA = metadata_of(PAIR, PEOPLE, keys=("people", "person")) | {"METADATA_SPEC_VERSION": "V2"}
DOMAIN = {
    "homes": {
        "tenure": {"range_values": ["own", "rent"], "range_is_nullable": True},
        "rooms": {"range_min": 1, "range_max": 9, "range_is_nullable": True},
    },
    "people": {
        "sex": {"range_values": ["f", "m"]},
        "age": {"range_min": 0, "range_max": 99, "range_is_nullable": True},
        "born": {"range_min": "1920-01-01", "range_max": "2025-12-31", "range_is_nullable": True},
    },
}
CASES: dict[str, dict[str, Any]] = {
    "declared": {"domain": DOMAIN},
    "learned": {"epsilon": 12.0},
    "one child": {"domain": DOMAIN, "max_children": 1},
    "another family": {"domain": DOMAIN, "neighbours": "replace_one"},
    "a chain": {"domain": DOMAIN, "max_children": {"people": 3, "trips": 2}},
}
TRIPS = {
    "mode": {"range_values": ["car", "foot"]},
    "km": {"range_min": 0, "range_max": 30, "range_is_nullable": True},
}
Tables = dict[str, pd.DataFrame]


def first_tables() -> Tables:
    rng, n, m = np.random.default_rng(1), 300, 700
    homes = {
        "home": [f"h{i}" for i in range(n)], "tenure": rng.choice(["own", "rent"], n), "rooms": rng.integers(1, 9, n),
    }  # fmt: skip
    people = {
        "person": range(m), "of": [f"h{i}" for i in rng.integers(0, n, m)],
        "email": [f"{MARK}{i}@example.org" for i in range(m)],
        "sex": np.where(rng.random(m) < 0.4, "f", "m"), "age": rng.integers(0, 90, m),
        "born": pd.Timestamp("1960-01-01") + pd.to_timedelta(rng.integers(0, 9000, m), unit="D"),
    }  # fmt: skip
    return {"homes": pd.DataFrame(homes), "people": pd.DataFrame(people)}


def other_tables() -> Tables:
    """Other rows in every respect: doubles as keys, repeated and missing ones, orphans, cells outside."""
    rng, n, m = np.random.default_rng(2), 90, 400
    homes = {
        "home": np.where(np.arange(n) % 9 == 0, np.nan, np.arange(n) // 2),
        "tenure": rng.choice(["own", None, MARK], n), "rooms": rng.choice([2.5, np.nan, 400.0], n),
    }  # fmt: skip
    people = {
        "person": [f"{MARK}{i}" for i in range(m)],
        "of": pd.Series(rng.integers(0, 60, m), dtype="Int64").mask(np.arange(m) % 7 == 0).array, "email": None,
        "sex": rng.choice(["f", MARK], m), "age": rng.integers(-5, 500, m).astype(float),
        "born": pd.Timestamp("1999-01-01"),
    }  # fmt: skip
    shuffled = pd.DataFrame(people, index=np.zeros(m, dtype=int)).sample(frac=1, random_state=3)
    return {"homes": pd.DataFrame(homes).iloc[::-1], "people": shuffled}


def no_tables() -> Tables:
    return {name: table.iloc[:0] for name, table in first_tables().items()}


def fit(tables: Tables, **options: Any) -> PlausibleDeniabilityMultiTableSynthesizer:
    is_chain = isinstance(options.get("max_children"), dict)
    if is_chain:
        people = tables["people"]
        said = {"by": people["person"], "mode": people["sex"], "km": people["age"]}
        trips = pd.DataFrame({name: column.repeat(2).array for name, column in said.items()})
        tables = {**tables, "trips": trips}
        options["domain"] = {**options["domain"], "trips": TRIPS}
    synth = PlausibleDeniabilityMultiTableSynthesizer(
        copy.deepcopy(CHAIN if is_chain else METADATA),
        **{"epsilon": 6.0, "delta": 1e-6, "max_children": 3, **options},
    )
    synth.fit(tables)
    return synth


def seen(tables: Tables, **options: Any) -> dict[str, Any]:
    """What leaves a fit."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        synth = fit(tables, **options)
    release = synth.release()
    state = {place: text for place, text in leaves(synth) if not place.startswith(".budget")}
    return {
        "warnings": notes_of(said),
        "release file": release.to_bytes(),
        "readable release file": release.to_bytes(readable=True),
        "words": str(release),
        "ledger": synth.privacy_ledger().to_json(),
        "scale": {name: table.to_csv() for name, table in synth.sample_scale(0.3).items()},
        "children": {
            name: (table.to_csv(), table.dtypes.astype(str).to_dict())
            for name, table in synth.sample(40, "people").items()
        },
        "state": state,
    }


def check(case: str, *others: Tables) -> None:
    answers: list[Any] = []
    with recorded(answers, again=False):
        one = seen(first_tables(), **CASES[case])
    assert MARK not in repr(one)
    for other in others:
        with recorded(answers, again=True):
            check_same(one, seen(other, **CASES[case]))


@pytest.mark.parametrize("case", CASES)
def test_what_leaves_depends_on_the_rows_through_noisy_answers_alone(case):
    check(case, other_tables(), *([no_tables()] if case == "declared" else []))


honest = related_fit.fit_tables


def _key_kept(told: Any, families: JoinedTables, *others: Any) -> Any:
    release = honest(told, families, *others)
    object.__setattr__(release, "whose", families.tables["people"]["of"].iloc[0])
    return release


def _parents_from_the_rows(told: Any, families: JoinedTables, *others: Any) -> Any:
    def simulated(*given: Any) -> pd.DataFrame:
        homes = families.tables["homes"]
        tenure = homes["tenure"].value_counts().index[0]
        return found(*given).assign(tenure=tenure, rooms=len(homes) % 9 + 1)

    found = simulation.simulate_rows
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulation, "simulate_rows", simulated)
        return honest(told, families, *others)


def _orphans_told(told: Any, families: JoinedTables, *others: Any) -> Any:
    warnings.warn(f"{len(families.tables['people'])} children are used", UserWarning, stacklevel=2)
    return honest(told, families, *others)


SIDE_DOORS: dict[str, Callable[..., Any]] = {
    "a key kept": _key_kept,
    "parents simulated from the rows": _parents_from_the_rows,
    "a warning that counts": _orphans_told,
}


@pytest.mark.parametrize("planted", SIDE_DOORS)
def test_planted_side_doors_are_seen(planted, monkeypatch):
    monkeypatch.setattr(multi_table_synthesizer, "fit_tables", SIDE_DOORS[planted])
    with pytest.raises(AssertionError, match=r"depend|asked of other rows|should be|differ"):
        check("declared", other_tables())


def test_a_second_fit_leaves_nothing_of_the_first_and_a_failed_one_leaves_the_first(monkeypatch):
    synth = fit(first_tables(), domain=DOMAIN)
    first = synth.release()
    for wrong in ({}, {"homes": first_tables()["homes"]}, {**first_tables(), "people": pd.DataFrame()}):
        with pytest.raises(ValueError, match="data"):
            synth.fit(wrong)
    assert synth.release() is first
    with monkeypatch.context() as patch:
        patch.setattr(multi_table_synthesizer, "fit_tables", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            synth.fit(other_tables())
    assert synth.release() is first
    assert synth.privacy_ledger().entries == first.ledger.entries
    before = {place for place, _ in leaves(synth)}
    synth.fit(other_tables())
    assert synth.release() is not first
    assert first.digest not in str(dict(leaves(synth)))
    assert before >= {place for place, _ in leaves(synth) if "synth" in place}


def test_no_two_tables_draw_from_one_stream(monkeypatch):
    """Two tables with the same noise would show their difference without any: keys of streams are all different.

    Planted: one stream for all.
    """
    keys: list[bytes] = []
    honest = related_fit.TableFit.run

    def run(self, families, rng, teller):
        keys.append(rng.spawn("any")._key)
        return honest(self, families, rng, teller)

    monkeypatch.setattr(related_fit.TableFit, "run", run)
    fit(first_tables(), domain=DOMAIN)
    assert len({*keys}) == len(keys) == 2
    keys.clear()
    spawn = KeyedRNG.spawn
    monkeypatch.setattr(
        KeyedRNG, "spawn", lambda self, *of: spawn(self, *(("homes",) if of == ("people",) else of))
    )
    fit(first_tables(), domain=DOMAIN)
    assert len({*keys}) < len(keys)


def fails_of_rows(tables: dict[str, pd.DataFrame], *more: Any) -> Any:
    return join_families(tables, *more) if tables["homes"].empty else 1 / 0


def test_a_budget_is_drawn_once_and_before_the_rows(tmp_path, monkeypatch):
    """Also where the fit then fails; and it is read again afterwards, and refuses another unit."""
    budget = Budget(2.5, 1e-5, tmp_path / "budget")
    synth = fit(first_tables(), domain=DOMAIN, epsilon=1.0, budget=budget)
    assert budget.charged()["epsilon"] == pytest.approx(synth.privacy_ledger().total())
    assert budget.covers(synth.privacy_ledger())
    assert "one family" in Budget(2.5, 1e-5, tmp_path / "budget").sentence()
    with monkeypatch.context() as patch:
        patch.setattr(multi_table_synthesizer, "join_families", fails_of_rows)
        with pytest.raises(ZeroDivisionError):
            synth.fit(first_tables())
    assert 1.9 < budget.charged()["epsilon"] <= 2
    with pytest.raises(ValueError, match=r"at most 2 are used.*earlier fits protect.*at most 3 are used"):
        fit(first_tables(), domain=DOMAIN, epsilon=0.1, budget=budget, max_children=2)
    with pytest.raises(ValueError, match="exceed"):
        synth.fit(first_tables())
