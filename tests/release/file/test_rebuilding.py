"""A synthesizer made of a release: SDV's face on it, and nothing in the saved object that is not in the file."""

import copy
import json
import math
import pickle
import warnings
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from releases import CASES, DECLARED, fitted, shared, table
from sdv.sampling import Condition

from sdv_plausible import PaperNetwork, PlausibleDeniabilitySynthesizer, Release, ReleaseTest, fit_source
from sdv_plausible.cli.main import main
from sdv_plausible.rules import Inequality
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.table.declared.domain_file import DomainFile

pytestmark = pytest.mark.filterwarnings("ignore:We strongly recommend saving the metadata:UserWarning")

SECRETS = ("._sampler.rng",)  # the key of the sampling streams, drawn anew
# What the user gave, not the rows: what was declared is in the domain, with its provenance.
# Which columns were compared is on record whatever came out (tests/sdv/test_sdv_parameters.py).
GIVEN = (".domain", "._fit_template.declared", "._column_types", "._looked")
TIMES = ("_synthesizer_id", "_fitted_date", "_creation_date")
GENERATORS = (
    "random_seed",
    "_faker_random_seed",
    "_faker",
    "faker",
    "_random",
    "random_states",
)  # of SDV, reseeded
DERIVED = ("size", "is_identity", "_log", "_guide", "_steps", "is_recorded")  # computed, or of being read
rebuilt_from = PlausibleDeniabilitySynthesizer.from_release


def state(thing: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Path and content of everything in a pickle, but secrets, times and what is derived from the rest."""
    if path.startswith((*SECRETS, *GIVEN)) or path.rsplit(".", 1)[-1] in (*TIMES, *GENERATORS, *DERIVED):
        return
    if isinstance(thing, np.ndarray) and thing.dtype != object:
        yield path, f"{thing.dtype} {thing.shape} {thing.tobytes().hex()}"
    elif isinstance(thing, dict):
        yield path, f"{sorted(map(repr, thing))}"
        for key, value in thing.items():
            yield from state(value, f"{path}.{key}")
    elif isinstance(thing, (list, tuple, set, frozenset, np.ndarray)):
        items = sorted(thing, key=repr) if isinstance(thing, (set, frozenset)) else thing
        yield path, f"{type(thing).__name__} of {len(items)}"
        for i, value in enumerate(items):
            yield from state(value, f"{path}.{i}")
    elif isinstance(thing, (pd.Index, Generator)):
        yield path, f"{type(thing).__name__} {list(thing) if isinstance(thing, pd.Index) else ''}"
    elif isinstance(thing, (pd.Series, pd.DataFrame)):
        yield path, repr(thing.to_dict())
    elif hasattr(thing, "__dict__") and not isinstance(thing, (type, np.dtype)) and not callable(thing):
        yield path, type(thing).__name__
        for key, value in vars(thing).items():
            if key not in ("_home", "_lock", "_cipher"):
                yield from state(value, f"{path}.{key}")
    else:
        yield path, repr(thing)


def saved(synth: PlausibleDeniabilitySynthesizer) -> dict[str, str]:
    return dict(state(pickle.loads(pickle.dumps(synth))))


@pytest.mark.parametrize("case", CASES)
def test_the_saved_object_holds_what_the_file_holds_and_no_more(case):
    """An object made from the file's bytes alone has the same state: so all of it is in the file."""
    synth = shared(case)
    one, other = saved(synth), saved(rebuilt_from(Release.from_bytes(synth.release().to_bytes())))
    assert len(one) > 500
    differing = sorted(path for path in {*one, *other} if one.get(path) != other.get(path))
    assert not differing, {path: (one.get(path), other.get(path)) for path in differing[:5]}


def test_what_a_saved_object_hides_is_found():
    fresh = fitted()  # others sample of the shared one
    for hide in (
        lambda synth: setattr(synth._sampler.model, "rows", 800),
        lambda synth: setattr(synth, "_seen", 800),
        lambda synth: setattr(synth._ledger, "note", "800 rows"),
        lambda synth: synth._sampler.answers[0].asked.__dict__.update(kind="800 rows"),
    ):
        synth = copy.deepcopy(fresh)
        rebuilt = rebuilt_from(Release.from_bytes(synth.release().to_bytes()))
        assert saved(synth) == saved(rebuilt)
        hide(synth)
        assert saved(synth) != saved(rebuilt)


@pytest.mark.parametrize("case", CASES)
def test_it_is_a_synthesizer(case, tmp_path):
    synth = shared(case)
    rebuilt = rebuilt_from(synth.release())
    assert rebuilt.privacy_ledger().to_json() == synth.privacy_ledger().to_json()
    assert rebuilt.get_structure() == synth.get_structure()
    assert rebuilt.metadata.to_dict() == synth.metadata.to_dict()
    assert rebuilt.release() == synth.release()
    rows = rebuilt.sample(300)
    storages = [one.dtypes.astype(str).replace("bool", "object") for one in (rows, synth.sample(300))]
    assert storages[0].to_dict() == storages[1].to_dict()  # truth values are objects where one is missing
    assert rows["key"].is_unique
    assert rows["key"].str.fullmatch(r"P\d{5}").all()
    assert not rows[[*DECLARED]].equals(rebuilt_from(synth.release()).sample(300)[[*DECLARED]])
    given = rebuilt.sample_from_conditions([Condition(num_rows=20, column_values={"city": "Bern"})])
    assert set(given["city"]) == {"Bern"}
    rebuilt.save(tmp_path / "x.pkl")
    again = PlausibleDeniabilitySynthesizer.load(tmp_path / "x.pkl")
    assert len(again.sample(10)) == 10
    assert again.release() == synth.release()


def test_it_can_be_fitted_anew():
    rebuilt = rebuilt_from(shared("partly private").release())
    assert str(rebuilt.plan(100)) == str(shared("partly private").plan(100))
    rebuilt.fit(table(seed=4))
    assert rebuilt.privacy_ledger().claims_privacy
    assert rebuilt.release() != shared("partly private").release()


def test_what_a_rebuilt_one_is_told_is_no_setting_of_the_release():
    """Its ledger and its model are of the fit: so are its settings, until there is another fit."""
    release = shared().release()
    told = {"epsilon": 0.1, "model": "random", "test": ReleaseTest(k=900), "locales": ["de_DE"]}
    again = rebuilt_from(release, **told)
    assert again.release().settings == {**release.settings, "locales": ["de_DE"]}
    again.fit(table(seed=4))
    assert {again.release().settings[name] for name in ("epsilon", "k", "model")} == {0.1, 900, "random"}


def test_unknown_settings_are_refused():
    release = shared().release()
    object.__setattr__(release, "settings", {**release.settings, "from_the_future": 1})
    with pytest.raises(ValueError, match="from_the_future"):
        rebuilt_from(release)


def test_it_returns_what_the_fit_was_given():
    synth = copy.deepcopy(shared())
    synth.fit({"table": table()})
    assert set(rebuilt_from(synth.release()).sample(3)) == {"table"}


def test_infinite_epsilon_comes_back():
    release = fitted(epsilon=math.inf).release(allow_no_claim=True)
    assert rebuilt_from(Release.from_bytes(release.to_bytes())).epsilon == math.inf


def test_types_that_were_voted_for_are_voted_for_again_whatever_is_given(tmp_path):
    """They are the release's own, and paid again: never taken for declared ones, by whatever is given instead."""
    rows = pd.DataFrame({"age": [20, 30, 40] * 700, "city": ["Basel", "Bern", "Genf"] * 700})
    rows.to_csv(tmp_path / "t.csv", index=False)
    assert main(["fit", str(tmp_path / "t.csv"), "-o", str(tmp_path / "t.release")]) == 0
    release = Release.load(tmp_path / "t.release")
    again = rebuilt_from(release)
    assert "types" in {entry.name for entry in again.plan().ledger.entries if entry.losses}
    assert again.release().to_bytes() == release.to_bytes()
    assert again.sample(5)["age"].dtype.kind in "if"
    age = {"age": {"range_min": 0, "range_max": 120, "sdtype": "numerical"}}
    assert "cells of 1 undeclared" in str(rebuilt_from(release, domain=age).plan().ledger)
    with pytest.raises(ValueError, match="Leave types out"):
        rebuilt_from(release, types="declared")


@pytest.mark.parametrize("about", ["learned earlier", "detected", "declared"])
def test_what_a_domain_cost_is_not_left_out_by_another_one(about):
    """A fit anew with a declared domain would not pay again for what the release holds of it."""
    rows = pd.DataFrame({"age": [20, 30, 40] * 700, "city": ["Basel", "Bern", "Genf"] * 700})
    columns = {"age": {"sdtype": "numerical"}, "city": {"sdtype": "categorical"}}
    declared = {
        "age": {"range_min": 0, "range_max": 120},
        "city": {"range_values": ["Basel", "Bern", "Genf"]},
    }
    given: Any = {**declared, "age": {**declared["age"], "detected": about == "detected"}}
    if about == "learned earlier":
        first = PlausibleDeniabilitySynthesizer(metadata_from_columns(columns))
        first.fit(rows)
        given = first.get_domain()
    synth = PlausibleDeniabilitySynthesizer(metadata_from_columns(columns), domain=given)
    synth.fit(rows)
    release = synth.release(allow_no_claim=True)
    if about == "declared":
        again = rebuilt_from(release, domain=declared)
        assert again.plan().ledger.claims_privacy
        return
    with pytest.raises(ValueError, match="would be lost with another one. Leave domain out"):
        rebuilt_from(release, domain=declared)
    rebuilt_from(release)


DETECTED = {"sdtype": "id", "regex_format": "AX-[0-9]{4}", "detected": True}


@pytest.mark.parametrize("kind", ["word", "file"])
def test_what_was_detected_of_an_id_ends_the_claim_at_every_door_and_stays(kind):
    """A pattern that a program read off the ids is in the rows, though no model sees the column."""
    age = {"sdtype": "numerical", "range_min": 0, "range_max": 6}
    words = {key: value for key, value in DETECTED.items() if key != "detected"}
    domain: Any = {"age": age, "key": DETECTED}
    if kind == "file":
        domain = {"schema": "sdv-plausible-declarations/1", "detected": True, "columns": {"key": words}}
    rows = pd.DataFrame({"age": np.arange(400) % 7, "key": [f"AX-{i:04d}" for i in range(400)]})
    columns = {"age": {"sdtype": "numerical"}, "key": words}
    synth = PlausibleDeniabilitySynthesizer(metadata_from_columns(columns), domain=domain)
    synth.fit(rows)
    assert not synth.privacy_ledger().claims_privacy
    with pytest.raises(ValueError, match="of key were detected in the rows"):
        fit_source(rows, {"age": {"sdtype": "numerical"}}, domain)
    by_source = fit_source(rows, {"age": {"sdtype": "numerical"}}, domain, allow_no_claim=True)
    for release in (synth.release(allow_no_claim=True), by_source):
        loaded = Release.from_bytes(release.to_bytes())
        assert not rebuilt_from(loaded).plan().ledger.claims_privacy
    honest = {"age": age, "key": words}
    assert fit_source(rows, domain=honest).ledger.claims_privacy  # the word alone made the difference


@pytest.mark.parametrize("how", ["rules", "words"])
def test_a_release_without_a_claim_gains_none_by_a_fit_anew(how, tmp_path):
    """Rules and words that were changed after a look are the release's as they are."""
    columns = {"x": {"sdtype": "numerical"}, "y": {"sdtype": "numerical"}}
    words = {name: {**one, "range_min": 0, "range_max": 99} for name, one in columns.items()}
    rng = np.random.default_rng(0)
    x = rng.integers(0, 50, 1000)
    rows, path = pd.DataFrame({"x": x, "y": x + rng.integers(0, 36, 1000)}), tmp_path / "d.json"
    DomainFile(columns=words).save(path)
    metadata = metadata_from_columns(columns)

    def made(most):
        return PlausibleDeniabilitySynthesizer(metadata, domain=path, rules=[Inequality("x", "y", most=most)])

    made(20).check(rows, show=str)
    if how == "words":
        file = DomainFile.of(json.loads(path.read_text()))
        DomainFile(
            columns={**file.columns, "y": {**words["y"], "resolution": 7}}, looked=file.looked,
            looked_rules=file.looked_rules,
        ).save(path)  # fmt: skip
        synth = PlausibleDeniabilitySynthesizer(metadata, domain=path)
    else:
        synth = made(36)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        synth.fit(rows)
    assert not synth.privacy_ledger().claims_privacy
    again = rebuilt_from(synth.release(allow_no_claim=True))
    assert not again.plan().ledger.claims_privacy
    if how == "rules":
        other = PlausibleDeniabilitySynthesizer(
            metadata, domain=synth.get_domain(), rules=[Inequality("x", "y", most=36)]
        )
        assert not other.plan().ledger.claims_privacy
    honest = PlausibleDeniabilitySynthesizer(metadata, domain=words, rules=[Inequality("x", "y", most=36)])
    honest.fit(rows)
    assert rebuilt_from(honest.release()).plan().ledger.claims_privacy


def test_a_learner_that_no_file_holds_leaves_the_release_as_it_was():
    """The settings that its ledger counts with are repeated, not those of the learner in its place."""

    class Mine(PaperNetwork):
        """A learner of somebody's own."""

    columns = {name: {"sdtype": "categorical"} for name in "ab"} | {"day": {"sdtype": "datetime"}}
    dates = {"range_min": "2020/01/01", "range_max": "2021/12/31", "datetime_format": "%Y/%m/%d"}
    domain = {"a": {"range_values": ["x", "y"]}, "b": {"range_values": ["u", "v"]}, "day": dates}
    rows = pd.DataFrame(
        {"a": ["x", "y"] * 200, "b": ["u", "v"] * 200, "day": ["2020/01/03", "2021/05/01"] * 200}
    )
    test = ReleaseTest(k=2, omega=1)
    for model in (Mine(split=(0.25, 0.25, 0.5)), PaperNetwork(structure="independent", noise="paper")):
        synth = PlausibleDeniabilitySynthesizer(
            metadata_from_columns(columns), domain=domain, model=model, test=test
        )
        synth.fit(rows)
        release = Release.from_bytes(synth.release().to_bytes())
        again = rebuilt_from(release)
        assert again.release().settings == release.settings
        again.fit(rows)
        assert again.release().ledger.claims_privacy
