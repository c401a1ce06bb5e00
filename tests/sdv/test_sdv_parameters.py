"""Parameters after construction: whatever is set, or changed in what was given, the ledger stays true of the fit."""

from __future__ import annotations

import inspect
import json
import pickle
import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sdv.metadata import Metadata

from sdv_plausible import Budget, PaperNetwork, Person, PlausibleDeniabilitySynthesizer
from sdv_plausible.fitting import object_state
from sdv_plausible.fitting.fit_rows import InMemoryRows
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.rules import Inequality
from sdv_plausible.sdv import sdv_versions as sdv_compat
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.table.declared.domain_file import DomainFile
from tests.flat import values

COLUMNS = {
    "home": {"sdtype": "id"},
    "sex": {"sdtype": "categorical"},
    "age": {"sdtype": "numerical"},
    "since": {"sdtype": "numerical"},
}
DOMAIN = {
    "sex": {"range_values": ["m", "f"], "range_is_nullable": False},
    "age": {"range_min": 0, "range_max": 99, "range_is_nullable": False},
    "since": {"range_min": 0, "range_max": 99, "range_is_nullable": False},
}
NAMES = {*inspect.signature(PlausibleDeniabilitySynthesizer).parameters} - {"metadata", "budget", "moved"}


def table(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    since, sex = rng.integers(0, 50, n), rng.choice(["m", "f"], n)
    return pd.DataFrame({"home": np.arange(n) % 40, "sex": sex, "age": since + 10, "since": since})


def make(**options: Any) -> PlausibleDeniabilitySynthesizer:
    options = values(**{"domain": DOMAIN, "model": "independent", **options})
    return PlausibleDeniabilitySynthesizer(metadata_from_columns(COLUMNS), **options)


def test_every_parameter_is_fixed():
    synth = make()
    before = synth.get_parameters()
    for name in NAMES:
        with pytest.raises(
            AttributeError, match=rf"^{name} \(.*Create a new synthesizer: .*{name}=\.\.\.\)"
        ) as raised:
            setattr(synth, name, "something else")
        assert "\n" not in str(raised.value)
    assert synth.get_parameters() == before
    assert vars(synth)["epsilon"] == before["epsilon"]  # as in objects that were saved before


def test_whatever_a_fit_is_told_is_handed_on_and_no_words_of_rows_are_kept():
    """A part of a fit that no door sets anew comes back as it was read, also from a saved object."""
    anew = {
        "column_specs",
        "specs",
        "extra_entries",
        "stored_settings",
        "name",
        "as_declared",
        "rounding",
        "public",
    }
    synth, entry = make(), LedgerEntry(name="a", mechanism="b", losses=(), scope="c", parts=())
    synth._fit_template = replace(synth._fit_template, worst_case=entry)
    for one in (synth, pickle.loads(pickle.dumps(synth))):
        known, fit = one._fit_template, one._next_fit()
        assert fit.worst_case == entry
        assert {f.name for f in fields(fit) if getattr(fit, f.name) is not getattr(known, f.name)} <= anew
        assert (known.specs, known.column_specs.columns, known.stored_settings, known.public) == (
            {},
            {},
            {},
            None,
        )


def test_the_cap_on_a_persons_rows_is_read_where_the_ledger_reads_it(monkeypatch):
    """Even by whoever goes around the constructor: noise, ledger and choice have one number."""
    synth, used, honest = make(person="home"), [], InMemoryRows.of_persons
    vars(synth)["person"] = Person("home", rows=2000)

    def chosen(*given: Any) -> InMemoryRows:
        used.append(honest(*given))
        return used[-1]

    monkeypatch.setattr(InMemoryRows, "of_persons", chosen)
    synth.fit(table())
    assert len(used[0]) == 40
    assert "at most 1 is used" in str(synth.privacy_ledger())


def change_domain(given: dict[str, Any]) -> None:
    given["domain"]["age"]["range_max"] = 30


def change_rules(given: dict[str, Any]) -> None:
    given["rules"].clear()


def change_model(given: dict[str, Any]) -> None:
    given["model"].structure["sex"].clear()


def change_locales(given: dict[str, Any]) -> None:
    given["locales"].append("xx_XX")


CHANGES: list[Callable[[dict[str, Any]], None]] = [change_domain, change_rules, change_model, change_locales]


def given() -> dict[str, Any]:
    return {
        "domain": {name: dict(spec) for name, spec in DOMAIN.items()}, "rules": [Inequality("since", "age")],
        "locales": ["en_US"], "model": PaperNetwork(structure={"sex": ["since"]}), "random_state": 3,
    }  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("through", ["what was given", "what is shown", "get_parameters"])
def test_what_was_given_is_copied(change, through):
    first, second = given(), given()
    plain, synth = make(**first), make(**second)
    shown = {name: getattr(synth, name) for name in second}
    change(
        {"what was given": second, "what is shown": shown, "get_parameters": synth.get_parameters()}[through]
    )
    assert str(synth.plan()) == str(plain.plan())
    for made in (plain, synth):
        made.fit(table())
    assert synth.privacy_ledger().to_json() == plain.privacy_ledger().to_json()
    pd.testing.assert_frame_equal(synth.sample(50), plain.sample(50))
    assert synth.get_parameters()["domain"] == DOMAIN


def test_without_copies_a_change_would_be_seen(monkeypatch):
    """The control of the test above."""
    monkeypatch.setattr(object_state, "deepcopy", lambda value: value)
    options = given()
    synth = make(**options)
    change_domain(options)
    assert synth.get_parameters()["domain"] != DOMAIN


def test_metadata_is_copied_and_a_change_of_the_copy_is_refused():
    metadata = metadata_from_columns(COLUMNS)
    synth = PlausibleDeniabilitySynthesizer(metadata, domain=DOMAIN)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        synth.fit(table())
        synth.sample(2)
    assert not [one for one in said if "metadata has been modified" in str(one.message)]
    metadata.update_column("sex", "table", sdtype="id")
    with pytest.warns(UserWarning, match="Your metadata has been modified"):
        synth.sample(2)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        synth.fit(table())
    assert len([one for one in said if "metadata has been modified" in str(one.message)]) == 1
    assert "sex" in synth.get_domain().names
    synth = deepcopy(synth)  # without the caller's own
    synth.sample(2)
    synth.metadata.update_column("sex", "table", sdtype="id")
    with pytest.raises(ValueError, match="metadata was changed after this synthesizer was created"):
        synth.fit(table())


@pytest.mark.parametrize("types", ["declared", "voted"])
def test_an_error_made_of_the_warning_pays_for_nothing(types, tmp_path):
    metadata = metadata_from_columns(COLUMNS)
    budget = Budget(5.0, 1e-6, tmp_path / "budget.json")
    synth = PlausibleDeniabilitySynthesizer(metadata, types=types, budget=budget)
    metadata.update_column("sex", "table", sdtype="id")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="Your metadata has been modified"):
            synth.fit(table())
    assert not any(budget.charged().values())


@pytest.mark.skipif(not sdv_compat.TAKES_DICT, reason="SDV 1 detects no ranges")
@pytest.mark.parametrize("options", [{}, {"person": "sex"}, {"types": "voted"}, {"domain": "written"}])
def test_metadata_that_was_written_comes_back_as_it_was_given(options):
    """Ranges and values too. Otherwise they may be the rows': what is kept, and leaves with the object, is its schema."""
    metadata = Metadata.detect_from_dataframes({"table": table()})
    said, written = metadata.to_dict(), options == {"domain": "written"}
    synth = PlausibleDeniabilitySynthesizer(metadata, **options)
    assert (synth.get_metadata().to_dict() == said) == written
    synth.get_metadata().update_column("sex", "table", sdtype="id")
    metadata.update_column("sex", "table", sdtype="id")
    assert (synth.get_metadata().to_dict() == said) == written
    schemas = [synth.get_metadata("modified"), deepcopy(synth).get_metadata()]
    for schema in schemas if written else [*schemas, synth.get_metadata()]:
        columns = schema.tables["table"].columns.values()
        assert {word for column in columns for word in column} <= {"sdtype", "pii"}
    with pytest.raises(ValueError, match="version"):
        synth.get_metadata("last")


def test_a_budget_may_be_set_later_and_must_be_one(tmp_path):
    synth = make()
    synth.budget = 3  # type: ignore[assignment]
    with pytest.raises(ValueError, match=r"budget \(3\) must be a Budget"):
        synth.fit(table())
    synth.budget = budget = Budget(2.0, 1e-8, tmp_path / "b")
    synth.fit(table())
    assert budget.charged()["epsilon"] > 0.9


def test_a_published_table_that_is_shown_is_a_copy():
    synth = make(public=table()[["sex"]].head(20), model="bayesian_network")
    synth.public.drop(index=range(19), inplace=True)
    assert len(synth.public) == 20


@pytest.mark.filterwarnings("ignore:.*most cells are outside:UserWarning")
@pytest.mark.parametrize("where", ["mapping", "file"])
def test_what_did_not_fit_is_in_no_saved_object_and_no_domain_file(where, tmp_path):
    """What a fit compares is on record whatever came out: the record tells of no row."""
    found = []
    for age in (10, 500):  # inside the declaration, or outside in all rows
        path = tmp_path / f"{age}.json"
        DomainFile(columns=DOMAIN).save(path)
        synth = make(domain=path if where == "file" else DOMAIN, model="uniform")
        synth.fit(table().assign(age=age))
        synth.save(tmp_path / f"{age}.pkl")
        loaded = PlausibleDeniabilitySynthesizer.load(tmp_path / f"{age}.pkl")
        looked = json.loads(path.read_text()).get("looked")
        found.append((loaded._looked, looked))
    assert found[0] == found[1]
    assert found[0][1] is None if where == "mapping" else set(found[0][1]) == set(DOMAIN)
