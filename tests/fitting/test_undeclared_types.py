"""Types that nobody declared, as a step of the fit: paid before it, bounded whatever it says, at every door."""

from __future__ import annotations

import datetime as dt
import functools
import io
import json
import pickle
from copy import deepcopy
from dataclasses import replace
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sentences import notes_of
from voting import held_vote

from sdv_plausible import (
    Budget,
    Domain,
    Person,
    PlausibleDeniabilitySynthesizer,
    Release,
    fit_source,
    metadata_of,
    models,
    to_conformance,
    to_registry,
)
from sdv_plausible.cli.main import main
from sdv_plausible.extensions.models.latent import latent_learner
from sdv_plausible.extensions.models.paper.paper_network import PaperNetwork
from sdv_plausible.extensions.models.uniform import Uniform
from sdv_plausible.fitting import arguments
from sdv_plausible.fitting import fit as run_module
from sdv_plausible.fitting.column_specs import CATEGORY, MOMENTS, split_undeclared
from sdv_plausible.fitting.diagnostics import FitWarning
from sdv_plausible.fitting.fit import Fit
from sdv_plausible.fitting.reused_domain import ReusedDomain
from sdv_plausible.fitting.worst_case_charge import check_uniform_cost
from sdv_plausible.mechanism.privacy_tests.privacy_settings import Settings
from sdv_plausible.mechanism.privacy_tests.release_level import ReleaseTest
from sdv_plausible.mechanism.privacy_tests.row_tests import RandomizedTest
from sdv_plausible.models import NAMES, make_learner
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.base import Learner
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.privacy.accounting.losses import ApproxDP, GaussianLoss, InfiniteLoss, PureDP
from sdv_plausible.privacy.accounting.privacy_filters import FILTERS, gaussian_cost
from sdv_plausible.privacy.accounting.sampled_gaussian import SampledGaussianLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import BudgetExceededError, PrivacyLedger
from sdv_plausible.privacy.neighbours import ONE_ROW
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.rules import Inequality
from sdv_plausible.sdv.metadata import detect_metadata, metadata_from_columns, metadata_from_table
from sdv_plausible.table.columns.cell_reader import Spelling, cell_kind, cell_text, reparse_columns
from sdv_plausible.table.declared.column_types import column_types, metadata_columns
from sdv_plausible.table.declared.domain_file import DomainFile, digest
from sdv_plausible.table.learned import type_inference
from sdv_plausible.table.learned.type_inference import CellKindCounts

N = 4000
FOUND = {
    "age": "numerical", "fee": "numerical", "day": "datetime", "sex": "categorical", "sure": "boolean",
    "name": "id", "home": "numerical",
}  # fmt: skip


def table(n=N):
    """Typed columns: of each kind one."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 90, n),
            "fee": np.round(rng.gamma(3, 50, n), 2),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
            "sex": rng.choice(["f", "m"], n),
            "sure": rng.random(n) < 0.3,
            "name": ["".join(rng.choice(list("abcdef"), 6)) for _ in range(n)],
            "home": rng.integers(0, n // 3, n),
        }
    )


def with_moments(n=1500):
    when = pd.Timestamp("2020-01-01 00:00:01") + pd.to_timedelta(np.arange(n) * 7919, unit="s")
    return table(n)[["age", "sex"]].assign(when=when)


def metadata(names):
    return metadata_from_columns({str(name): {"sdtype": "categorical"} for name in names})


def made(frame, **options):
    return PlausibleDeniabilitySynthesizer(metadata(frame), **{"types": "voted", "epsilon": 9.0, **options})


def fitted(frame, **options):
    synth = made(frame, **options)
    synth.fit(frame)
    return synth


def words(metadata_):
    (found,) = metadata_.to_dict()["tables"].values()
    return found["columns"]


def types_of(synth):
    return {name: one["sdtype"] for name, one in words(synth.metadata).items()}


def names_of(ledger):
    return [entry.name for entry in ledger.entries]


DOORS = pytest.mark.parametrize("door", ["synthesizer", "source"])


def released(door, frame):
    return fit_source(frame, types="voted", epsilon=9.0) if door == "source" else fitted(frame).release()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"person": Person("home", rows=3)},
        {"neighbours": "replace_one", "test": ReleaseTest(omega=5, k=2), "model": "independent"},
        {"model": "correlated", "test": RandomizedTest(row_cap=100)},
        {"domain": {"sex": {"range_values": ["f", "m"]}, "fee": {"range_min": 0.0, "range_max": 900.0}}},
    ],
    ids=["usual", "people", "replaced, seeds", "row by row", "partly declared"],
)
def test_a_fit_votes_with_a_claim_and_no_more_than_epsilon(options):
    frame = table(3 * N if "person" in options else N)  # their noise is three times as large
    synth = made(frame, **options)
    planned = synth.plan().ledger
    synth.fit(frame)
    ledger = synth.privacy_ledger()
    assert ledger.claims_privacy
    assert names_of(ledger).count("types") == 1
    assert ledger.entries[0] == planned.entries[0]
    assert ledger.total() <= max(9.0, planned.total()) * (1 + 1e-3)
    expected = {**FOUND, **({"home": "id"} if "person" in options else {})}
    assert types_of(synth).items() >= {name: one for name, one in expected.items() if name != "name"}.items()
    rows = synth.sample(20)
    assert list(rows) == list(frame)
    assert rows["age"].dtype.kind in "if"
    # whatever ends the noise gave the range
    assert rows["day"].dropna().str.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}").all()
    assert set(rows["sure"].dropna()) <= {True, False}


def test_the_fitted_object_is_as_any_other(tmp_path, monkeypatch):
    frame = table()
    synth = made(frame)
    before = synth.plan().ledger
    assert str(before).count("private type inference from the cells of 7 undeclared columns") == 1
    synth.fit(frame)
    assert synth.plan().ledger.losses == before.losses  # of a fit anew, with a vote
    assert synth.get_parameters()["types"] == "voted"
    assert synth.check(frame, show=str)
    assert set(synth.get_domain().names) == {name for name, one in FOUND.items() if one != "id"}
    assert {"before_charge", "after_charge"}.isdisjoint(vars(synth._ledger))  # what leaves holds no watch
    again = pickle.loads(pickle.dumps(synth))
    assert len(again.sample(3)) == 3
    again.fit(frame.assign(age=[f"x{i % 3}" for i in range(N)]))
    assert types_of(again) == {**FOUND, "age": "categorical"}
    synth.release().save(tmp_path / "t.release")
    back = PlausibleDeniabilitySynthesizer.from_release(Release.load(tmp_path / "t.release"))
    assert types_of(back) == FOUND
    assert back.plan().ledger.losses == before.losses
    back.fit(frame)
    assert types_of(back) == FOUND
    monkeypatch.setattr(type_inference, "infer_types", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        back.fit(frame.assign(age="x"))
    assert types_of(back) == FOUND  # a fit that fails leaves the earlier one
    assert len(back.sample(3)) == 3


def test_columns_say_up_to_how_many_cells_may_be_of_another_kind(tmp_path):
    """From noisy answers, in the object, its release, and what is made of it; in the ledger's words, too. Seeded: no false alarm."""
    frame = table(1500).drop(columns="name")
    synth = fitted(frame, model="independent", epsilon=4.0, random_state=1)
    shares = synth.columns()["other_kind"]
    decided = shares[["age", "fee", "day", "home", "sure"]]
    assert ((decided > 0) & (decided <= type_inference.OTHERS)).all()
    assert np.isnan(shares["sex"])  # a category was not decided for
    assert f"age (up to {shares['age']:.0%})" in str(synth.privacy_ledger().said("invented"))
    release = synth.release(allow_no_claim=True)
    release.save(tmp_path / "t.release")
    loaded = Release.load(tmp_path / "t.release")
    for other in (release, loaded, PlausibleDeniabilitySynthesizer.from_release(loaded)):
        pd.testing.assert_series_equal(other.columns()["other_kind"], shares)
    document = json.loads(release.to_bytes(readable=True))
    for name, share, why in (("nobody", 0.1, "name a column with an inferred type"), ("age", 1.1, "from 0 to 1")):  # fmt: skip
        changed = deepcopy(document)
        changed["settings"]["voted_others"][name] = share
        with pytest.raises(ValueError, match=f"settings.voted_others.{name}: must .*{why}"):
            Release.from_bytes(json.dumps(changed).encode())


def test_a_table_in_parts_votes_as_one_in_memory(tmp_path):
    frame = table()
    frame.to_csv(tmp_path / "t.csv", index=False)
    for source in (frame, tmp_path / "t.csv"):
        release = fit_source(
            source, types="voted", epsilon=9.0, rows=700, random_state=1, allow_no_claim=True
        )
        assert {c.name: c.spec["sdtype"] for c in release.schema.columns} == FOUND
        assert release.settings["types"] == "voted"
        assert list(release.sample(5)) == list(frame)
    release = fit_source(
        frame, types="voted", epsilon=9.0, person=Person("home", rows=3), scratch=tmp_path,
        domain={"sex": {"range_values": ["f", "m"]}}, budget=Budget(9.0, 1e-8, tmp_path / "b"),
    )  # fmt: skip
    assert release.ledger.claims_privacy
    assert release.ledger.total() <= 9.0
    with pytest.raises(ValueError, match="Remove metadata"):
        fit_source(frame, metadata(frame), types="voted")


def test_a_record_in_the_place_of_the_header_line_is_published_by_no_door(tmp_path, capsys):
    """Names are in the release: without a header line they would be the first person's cells."""
    path, budget = tmp_path / "t.csv", Budget(9.0, 1e-8, tmp_path / "b")
    table(500)[["home", "sex"]].to_csv(path, index=False, header=["SECRET", "2019"])
    with pytest.raises(ValueError, match="The first line must name the columns") as raised:
        fit_source(path, types="voted", budget=budget)
    assert budget.charged()["epsilon"] == 0
    output = tmp_path / "o.csv"
    assert main(["synthesize", str(path), "-o", str(output)]) == 2
    for told in (str(raised.value), capsys.readouterr().err):
        assert str(path) in told
        assert "SECRET" not in told
        assert "2019" not in told.replace(str(path), "")
    assert not output.exists()
    domain = tmp_path / "domain.json"
    domain.write_text('{"2019": {"sdtype": "categorical"}}')
    for known in ({"domain": domain}, {"person": "SECRET", "scratch": tmp_path}):
        release = fit_source(path, types="voted", model="independent", **known)
        assert {column.name for column in release.schema.columns} == {"SECRET", "2019"}
    told = ["--domain", str(domain), "--model", "independent", "--rows", "9"]
    assert main(["synthesize", str(path), "-o", str(output), *told]) == 0


def test_what_metadata_says_plays_no_part():
    """Types, formats and keys may have been detected; names count, and what the domain declares."""
    frame, domain = table(), {"home": {"sdtype": "id"}}
    detected = detect_metadata(frame)
    detected.update_column("name", table_name="table", sdtype="id")
    detected.set_primary_key("name", table_name="table")
    synth = PlausibleDeniabilitySynthesizer(detected, types="voted", domain=domain)
    plain = PlausibleDeniabilitySynthesizer(metadata(frame), types="voted", domain=domain)
    assert synth.plan().ledger.losses == plain.plan().ledger.losses
    assert types_of(synth) == types_of(plain)
    (document,) = synth.metadata.to_dict()["tables"].values()
    assert "primary_key" not in document


@pytest.mark.parametrize("known", [{"person": "name"}, {"domain": {"name": {"sdtype": "id"}}}, {}])
def test_no_key_of_the_metadata_plays_a_part(known):
    """That every id differs is told by the rows, also of a column that is declared: one more row ends it."""
    frame = table(60).assign(name=[f"n{i}" for i in range(60)], other=[f"o{i}" for i in range(60)])
    columns = {name: {"sdtype": "id"} for name in frame}
    keys = {"primary_key": "name", "alternate_keys": ["other"], "column_relationships": []}
    keyed = metadata_from_table({"columns": columns, **keys}, "table")
    keyed.validate()
    schemas = []
    for given in (keyed, metadata_from_columns(columns)):
        synth = PlausibleDeniabilitySynthesizer(given, types="voted", random_state=1, **known)
        synth.fit(frame)
        (document,) = synth.metadata.to_dict()["tables"].values()
        assert {*document} == {"columns"}
        schemas.append(synth.release(allow_no_claim=True).schema)
    assert not schemas[0].keys
    assert schemas[0].columns == schemas[1].columns


def test_tables_of_hardly_any_row_and_with_odd_names_and_numbers_are_fitted():
    """A warning would end a fit that has paid, where warnings are errors, as they are here."""
    for frame in (table().iloc[:0], table().iloc[:1], table().set_axis(range(7), axis=1)):
        assert list(fitted(frame).sample(2)) == list(frame)
    frame = pd.DataFrame({"num": np.arange(240.0).astype("longdouble")})
    frame.loc[0, "num"] = np.longdouble("1e4000")
    for types in ("declared", "voted"):
        given = metadata_from_columns({"num": {"sdtype": "numerical"}})
        synth = PlausibleDeniabilitySynthesizer(given, types=types, epsilon=9.0)
        synth.fit(frame)
        assert synth.privacy_ledger().claims_privacy


def test_a_vote_on_nothing_is_no_vote():
    """All is declared, some by its type alone: so it is in a synthesizer made of the release, too."""
    told = {"age": {"sdtype": "numerical"}, "sex": {"range_values": ["f", "m"]}, "name": {"sdtype": "id"}}
    synth = fitted(table(400)[["age", "sex", "name"]], domain=told)
    back = PlausibleDeniabilitySynthesizer.from_release(synth.release())
    for one in (synth, back):
        assert "types" not in names_of(one.plan().ledger)
    assert back.release().to_bytes() == synth.release().to_bytes()


# --- what is refused beforehand -----------------------------------------------------------------------------


def test_what_cannot_be_is_refused_when_it_is_said():
    """A workload of open columns: the vote could make an id of one, and a paid fit would end."""
    for options, match in (
        ({"epsilon": float("inf")}, "needs a finite epsilon"),
        ({"domain": "written"}, "cannot be combined with domain"),
        ({"rules": [Inequality("age", "fee")]}, "rules: age, fee must have a declared type"),
        ({"model": PaperNetwork(structure={"age": ["sex"]})}, "structure: age, sex must have a declared type"),
        ({"model": AdaptiveNetwork(workload=[["age", "sex"]])}, r"model \(AdaptiveNetwork\) names its columns, but the types of"),
        ({"domain": {"age": {"decimal_places": 0}}}, "its type is unknown|decimal_places"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=match):
            made(table(5), **options)
    synth = made(table(5))
    for call in (synth.preprocess, synth.auto_assign_transformers):
        with pytest.raises(ValueError, match="Call fit\\(\\), replace constraints by rules"):
            call(table(5))


def test_rules_and_structure_of_declared_columns_go_with_a_vote():
    frame, low = table(), {"sdtype": "numerical", "range_min": 0, "range_max": 99}
    frame["more"] = frame["age"] + 5
    options = {"domain": {"age": low, "more": low}, "rules": [Inequality("age", "more")], "epsilon": 20.0}
    rows = fitted(frame, **options).sample(50)
    assert (rows["age"] <= rows["more"]).all()


# --- what the outcome decides ends no fit -------------------------------------------------------------------


@DOORS
def test_all_columns_voted_to_be_ids_leave_one_category(door, monkeypatch):
    ids = {"sdtype": "id", "regex_format": "[a-z]{5,9}"}
    monkeypatch.setattr(type_inference, "infer_types", lambda rows, names, *_: dict.fromkeys(names, ids))
    release = released(door, table(300)[["name", "sex"]])
    assert [c.spec["sdtype"] for c in release.schema.columns] == ["categorical", "id"]
    assert len(release.sample(5)) == 5


@DOORS
def test_columns_that_a_vote_takes_for_ids_are_named(door, recwarn):
    """Before, they came out as invented digits without a word. Control: those that are learned."""
    release = released(door, table())
    told = notes_of(one for one in recwarn if issubclass(one.category, FitWarning))
    (said,) = [one for one in told if not one.startswith("digits after the point")]  # which are left to noise
    assert said.startswith("name: the cells look like identifiers or free text")
    assert "datetime_format" in said
    text = f"{said.partition(' (domain=')[0]}."  # a ledger is read by others than programmers
    for ledger, found in ((release.ledger, text), (Release.from_bytes(release.to_bytes()).ledger, text)):
        assert "domain=" not in str(ledger)
        assert found in str(ledger)
        assert any(found in one for one in ledger.to_dict()["said"])


ABC = {"range_values": ["a", "b", "c"]}


@pytest.mark.parametrize(
    ("domain", "named"),
    [
        ({}, ["e-mail", "phone"]),
        ({"e-mail": {"sdtype": "email"}}, ["phone"]),
        ({"e-mail": {"sdtype": "categorical"}, "phone": ABC}, ["e-mail"]),
        ({"e-mail": {"sdtype": "id"}, "phone": ABC}, []),
    ],
)
def test_a_category_whose_name_tells_who_people_are_is_named(domain, named, recwarn):
    """By its public name alone, before the fit and after it; no column of another name (filename_count) is."""
    rng = np.random.default_rng(0)
    columns = ("e-mail", "phone", "filename_count")
    frame = pd.DataFrame({name: rng.choice(["a", "b", "c"], N) for name in columns})
    synth = made(frame, domain=domain or None)
    end = ": the name suggests personal data"
    planned = [text for text in synth.plan().warnings if end in text]
    synth.fit(frame)
    told = [text for text in notes_of(recwarn) if end in text]
    assert planned == told
    assert [text.split(end)[0] for text in told] == ([", ".join(named)] if named else [])
    if named == ["e-mail", "phone"]:
        assert '{"e-mail": {"sdtype": "email"}}' in told[0]


@pytest.mark.parametrize("omega", [2, (1, 2)])
def test_an_omega_beyond_the_columns_that_are_left_resamples_them_all(omega, monkeypatch):
    frame = table(300)[["name", "sex"]]
    found = {"name": {"sdtype": "id", "regex_format": "[a-z]{5,9}"}, "sex": dict(CATEGORY)}
    monkeypatch.setattr(type_inference, "infer_types", lambda *_: found)
    with pytest.warns(FitWarning, match="left only 1 modelled columns"):
        synth = fitted(frame, test=ReleaseTest(omega=omega, k=5), model="independent")
    assert len(synth.sample(5)) == 5
    assert "seeds" in {entry.name for entry in synth.privacy_ledger().entries if entry.losses}
    assert len(Release.from_bytes(synth.release().to_bytes()).sample(5)) == 5
    with pytest.raises(ValueError, match="omega"):
        made(frame, test=ReleaseTest(omega=3, k=5)).plan()


def test_a_published_table_is_read_as_the_rows_are():
    synth = fitted(table(), public=table(500)[["age", "name", "day"]])
    assert types_of(synth) == FOUND
    assert "public table" in names_of(synth.privacy_ledger())
    frame = with_moments()  # it may lack a moment that is voted for
    synth = fitted(frame, public=frame[["age", "sex"]].iloc[::2])
    assert types_of(synth)["when"] == "datetime"
    assert pd.to_datetime(synth.sample(200)["when"], format="ISO8601").nunique() > 50


# --- what is drawn before it ----------------------------------------------------------------------------------

OUTCOMES = (
    {"sdtype": "numerical"}, {"sdtype": "boolean"}, CATEGORY, MOMENTS[0], {"sdtype": "id"},
    {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"},
)  # fmt: skip
LEARNERS = ["bayesian_network", "independent", "correlated", PaperNetwork(), "gaussian_copula", "random"]
ID = {"sdtype": "id"}


def plans(fit, number=6):
    """Of the fit before the vote, and of random outcomes."""
    rng, names = np.random.default_rng(4), fit.column_specs.open
    drawn = [{n: OUTCOMES[k] for n, k in zip(names, rng.integers(0, 6, len(names)), strict=True)} for _ in range(number)]  # fmt: skip
    found = [*(dict.fromkeys(names, one) for one in OUTCOMES if one != ID), *drawn]
    found = [one for one in found if any(said != ID for said in one.values())]
    return [fit.plan().ledger, *(fit.with_types(one).plan().ledger for one in found)]


def is_even(fit):
    one, *others = plans(fit)
    return all(other.losses == one.losses for other in others)


TOLD = [(columns, model, ReleaseTest()) for columns in (1, 5) for model in LEARNERS]
TOLD += [(5, "bayesian_network", ReleaseTest(omega=1)), (1, "correlated", ReleaseTest(omega=1)),
         (5, "independent", RandomizedTest(row_cap=100))]  # fmt: skip


@pytest.mark.parametrize(("columns", "model", "test"), TOLD, ids=lambda one: str(one).partition("(")[0])
def test_the_total_is_the_same_whatever_the_types(columns, model, test):
    """Lemma 3: what is stated does not hang on what the vote finds; and of learning it is epsilon at most."""
    fit = made(table(5).iloc[:, :columns], model=model, epsilon=1.3, test=test)._next_fit()
    assert is_even(fit)
    alone = PrivacyLedger(delta=fit.settings.model_delta)
    alone.charge(*(entry for entry in fit.plan().ledger.entries if "seeds" not in entry.parts))
    assert 0.99 * 1.3 < alone.total() <= 1.3


@pytest.mark.parametrize("epsilon", [0.000376, 0.00051, 0.01, 6.0, 20.0])
def test_no_outcome_is_beyond_the_envelope_at_any_epsilon(epsilon):
    """Noise that was computed apart adds up to a ten millionth: some outcomes ended fits that had paid."""
    for model in ("bayesian_network", "independent"):
        assert is_even(made(table(5).iloc[:, :5], model=model, epsilon=epsilon)._next_fit())


def test_the_domain_keeps_to_its_share_whatever_the_columns():
    """Bounded columns alone are dearer than with categories beside them: nothing of that is beyond the envelope."""
    bounded = {f"b{i}": {"sdtype": "numerical", "range_min": 0, "range_max": 10**6} for i in range(12)}
    frame = pd.DataFrame({name: np.arange(500) for name in (*bounded, "one", "open")})
    first = fitted(frame[["one"]], types="declared", epsilon=0.7).get_domain()
    told = DomainFile(columns={**bounded, "one": first["one"]}, learned=first.learned)
    fit = made(frame, domain=told, epsilon=1.0)._next_fit()
    assert fit.column_specs.open == ("open",)
    for found in OUTCOMES:
        assert fit.with_types({"open": found}).plan().ledger.losses == fit.plan().ledger.losses


LATER = {"epsilon": 7.0, "delta": 1e-6}
later = partial(PlausibleDeniabilitySynthesizer, **LATER)


@functools.cache
def voted_before(outcome):
    """Metadata and domain after a fit that voted; where the cells are many texts all but one column is an id."""
    first = fitted(voted_rows(outcome), epsilon=4.0, delta=1e-6, model="independent")
    assert {types_of(first)[name] for name in "abc"} == {outcome if outcome != "moment" else "datetime"}
    return first.metadata, first.get_domain()


def voted_rows(outcome, n=3000, seeds=(0, 1, 2)):
    """A column of two values, and three whose cells tell the outcome."""
    cells = {name: voted_cells(outcome, seed)[:n] for name, seed in zip("abc", seeds, strict=True)}
    return table(n)[["sex"]].assign(**cells)


def voted_cells(outcome, seed):
    random = np.random.default_rng(seed)
    if outcome == "id":
        return ["".join(random.choice(list("abcdef"), 9)) for _ in range(3000)]
    if outcome == "moment":
        seconds = pd.to_timedelta(random.integers(0, 10**7, 3000), unit="s")
        return list((pd.Timestamp("2020-01-01") + seconds).strftime("%Y-%m-%d %H:%M:%S"))
    return list(random.choice(["x", "y"], 3000))


def later_total(model, outcome):
    metadata_, domain = voted_before(outcome)
    ledger = later(metadata_, domain=domain, model=model).plan().ledger
    assert ledger.claims_privacy
    return ledger.total(), ledger.losses


CHAINED = [*LEARNERS[:-1], PaperNetwork(noise="paper", structure="independent")]
VOTED = ("categorical", "id", "moment")


@pytest.mark.parametrize("model", CHAINED, ids=lambda one: str(one).partition("(")[0])
def test_the_fit_after_a_vote_states_one_total_whatever_was_found(model):
    """The number of columns is an answer of the vote, which the next fit pays for again."""
    found = {later_total(model, outcome) for outcome in VOTED}
    assert len(found) == 1
    ((total, _),) = found
    assert 6.9 < total <= 7.0


def test_planted_losses_of_the_columns_that_were_found_make_totals_that_hang_on_the_vote(monkeypatch):
    monkeypatch.setattr(ReusedDomain, "voted", False)
    monkeypatch.setattr(arguments, "_check_not_inferred", lambda *_: None)
    for model in ("independent", "correlated", "gaussian_copula", CHAINED[-1]):
        assert len({later_total(model, outcome) for outcome in VOTED}) > 1


class ByColumns(Learner):
    """A learner of somebody's own: noise of another kind for few columns than for many."""

    makes, arcs, names_columns = BayesianNetwork, None, False

    def __init__(self, most):
        self.most = most

    def _of(self, domain):
        return make_learner("independent" if len(domain) <= self.most else "correlated")

    def plan(self, domain, budget):
        return self._of(domain).plan(domain, budget)

    def fit(self, rows, domain, budget, rng):
        return self._of(domain).fit(rows, domain, budget, rng)


@pytest.mark.parametrize("most", [3, 4, 20, 64])
def test_a_learner_that_plans_by_the_number_of_columns_is_refused_after_a_vote(most, monkeypatch):
    for outcome in VOTED:
        named = [{"names_columns": True, **arcs} for arcs in ({}, {"arcs": {}}, {"arcs": {"sex": []}})]
        for said in ({}, *(named if outcome != "moment" else ())):
            model = ByColumns(most)
            vars(model).update(said)  # as if it named columns, which nobody had to check before
            with pytest.raises(ValueError, match=r"model \(ByColumns\) plans different noise"):
                later_total(model, outcome)
    monkeypatch.setattr("sdv_plausible.fitting.worst_case_charge.check_uniform_cost", lambda *_: None)
    if most == 3:  # the planted fault: one outcome states another total
        assert len({later_total(ByColumns(most), outcome) for outcome in VOTED}) > 1


@pytest.mark.parametrize(
    ("models_", "epsilons"),
    [
        ([name for name in NAMES if name != "correlated"], (1.0,)),
        pytest.param(NAMES, (0.1, 1.0, 10.0), marks=pytest.mark.slow),
    ],
    ids=["fast", "all"],
)
def test_no_learner_of_ours_plans_by_the_number_of_columns(models_, epsilons, monkeypatch):
    """The kind of noise is looked at, not how much: to find that takes two seconds for each number of columns."""
    some = lambda _epsilon, _delta, rate, count, _spent: SampledGaussianLoss(rate=rate, sensitivity_over_sigma=0.1, count=count)  # fmt: skip  # noqa: E731
    monkeypatch.setattr(latent_learner, "calibrate_sampled", some)
    for learner in map(make_learner, models_):
        for epsilon in epsilons:
            check_uniform_cost(Settings.of(epsilon, 1e-9, "release", ONE_ROW, learner), learner, Domain(()))
        assert "model" in models.learner_config(learner)  # so that a fit need not ask


@pytest.mark.filterwarnings("ignore:name. most cells are outside")
def test_types_that_a_vote_found_come_with_what_they_cost(tmp_path):
    """As metadata alone they would be declared for nothing, at both doors, also after a release was loaded."""
    frame = table(600)[["sex", "name"]]

    def reloaded(synth):
        synth.release().save(tmp_path / "a.release")
        return PlausibleDeniabilitySynthesizer.from_release(Release.load(tmp_path / "a.release"))

    metadata_, domain = voted_before("id")
    assert domain.learned
    first = fitted(frame, epsilon=2.0)
    copied = (deepcopy(first), pickle.loads(pickle.dumps(first)), reloaded(first))
    for one in (metadata_, first.get_metadata(), copied[-1].get_metadata(), *(x.metadata for x in (first, *copied))):  # fmt: skip
        for door in (PlausibleDeniabilitySynthesizer, partial(fit_source, frame)):
            with pytest.raises(ValueError, match=r'types \("declared"\).* were inferred by an earlier fit'):
                door(metadata=one)
    own, learned = first.metadata, first.get_domain()
    second = PlausibleDeniabilitySynthesizer(own, domain=learned, epsilon=4.0)
    for synth in (
        PlausibleDeniabilitySynthesizer(own, types="voted"), second,
        PlausibleDeniabilitySynthesizer(own, domain=metadata_columns(own)),
    ):  # fmt: skip
        assert synth.plan().ledger.claims_privacy
    second.fit(frame)
    learned.save(tmp_path / "d.json")
    of_second = (x.metadata for x in (second, pickle.loads(pickle.dumps(second)), reloaded(second)))
    of_domain = map(metadata_of, (learned, tmp_path / "d.json", second.get_domain()))
    for one in (*of_second, second.get_metadata(), *of_domain):
        for domain in (None, "written"):
            with pytest.raises(ValueError, match="were inferred by an earlier fit"):
                PlausibleDeniabilitySynthesizer(one, domain=domain)
    assert made(frame[["sex"]], types="declared").get_metadata().to_dict()


@pytest.mark.parametrize("outcome", VOTED[:2])
def test_a_second_vote_after_a_vote_is_refused_before_the_draw(outcome, tmp_path, capsys):
    """Which columns it would be on is an answer of the first: at every door."""
    _, domain = voted_before(outcome)
    frame = voted_rows(outcome, 300).assign(more="x")
    frame.to_csv(tmp_path / "t.csv", index=False)
    domain.save(tmp_path / "d.json")
    budget, why = (
        Budget(50, 1e-5, tmp_path / "b.budget"),
        "which columns an earlier type inference left undeclared",
    )
    with pytest.raises(ValueError, match=why):
        made(frame, domain=domain, **LATER, budget=budget).fit(frame)
    with pytest.raises(ValueError, match=why):
        fit_source(tmp_path / "t.csv", domain=domain, types="voted", **LATER, budget=budget)
    files = [str(tmp_path / "t.csv"), "--domain", str(tmp_path / "d.json"), "-o", str(tmp_path / "r.release")]
    assert main(["fit", *files, "--epsilon", "7", "--delta", "1e-6"]) == 2
    assert why in capsys.readouterr().err
    assert budget.charged()["epsilon"] == 0


def test_values_that_a_vote_left_open_are_not_learned_after_it(tmp_path):
    """Which columns are in no learned domain is an answer of the vote; from_release learns all of them anew."""
    _, domain = voted_before("id")
    told = metadata(("sex", "a", "b", "c"))
    budget = Budget(50, 1e-5, tmp_path / "b.budget")
    frame = voted_rows("id", 300)
    with pytest.raises(
        ValueError,
        match="a, b, c are undeclared, and which columns an earlier type inference left undeclared",
    ):
        later(told, domain=domain, budget=budget).fit(frame)
    with pytest.raises(ValueError, match="which columns an earlier type inference left undeclared"):
        fit_source(frame, told, domain=domain, **LATER, budget=budget)
    assert budget.charged()["epsilon"] == 0
    ids = dict.fromkeys("abc", ID)
    known = DomainFile(columns={**{one.name: one for one in domain}, **ids}, learned=domain.learned)
    synth = later(metadata_from_columns({"sex": {"sdtype": "categorical"}, **ids}), domain=known)
    synth.fit(frame)
    again = PlausibleDeniabilitySynthesizer.from_release(synth.release(), epsilon=14.0)
    again.fit(frame)
    assert again.privacy_ledger().claims_privacy


@pytest.mark.parametrize("model", ["correlated", "independent"])
def test_a_fit_anew_of_a_release_after_a_vote_costs_the_same_whatever_was_found(model):
    """And so does the fit that is given its domain; the fit before keeps what it planned."""
    found = set()
    for outcome in VOTED[:2]:
        metadata_, domain = voted_before(outcome)
        frame = voted_rows(outcome, 600)
        synth = later(metadata_, domain=domain, model=model)
        planned = synth.plan().ledger
        synth.fit(frame)
        assert synth.privacy_ledger().losses == planned.losses
        release = Release.from_bytes(synth.release().to_bytes())
        assert release.ledger.total() == planned.total()
        again = PlausibleDeniabilitySynthesizer.from_release(release, epsilon=14.0)
        again.fit(frame)
        told = metadata_from_columns(words(again.metadata))
        options = {"domain": again.get_domain(), "epsilon": 21.0, "delta": 1e-6, "model": model}
        third = PlausibleDeniabilitySynthesizer(told, **options)
        found.add((again.privacy_ledger().losses, third.plan().ledger.losses))
    assert len(found) == 1


def test_types_of_another_vote_are_not_paid_for():
    """Patterns of ids are answers of it, too. Control: those of the domain's own vote, and what is declared."""
    own, domain = voted_before("id")
    other = deepcopy(own)
    other.update_column(column_name="a", sdtype="id", regex_format="[a-z]{3}")
    for metadata_ in (other, voted_before("categorical")[0]):
        with pytest.raises(ValueError, match="were inferred by an earlier fit"):
            later(metadata_, domain=domain)
    assert later(own, domain=domain).plan().ledger.claims_privacy
    assert domain.learned["types"]["a"] == {"sdtype": "id", "regex_format": words(own)["a"]["regex_format"]}


class ForTwo(Uniform):
    """Laplace noise for two columns, Gaussian for any other number: how many there are is an answer."""

    def plan(self, domain, budget):
        if len(domain) != 2:
            return [budget.entry("counts")]
        loss = PureDP(epsilon=0.2 * budget.epsilon)
        return [LedgerEntry(name="model", mechanism="m", scope="model", losses=(loss,))]


@pytest.mark.parametrize("fault", [False, True])
def test_no_number_of_columns_in_between_ends_a_fit_that_has_paid(tmp_path, monkeypatch, fault):
    """Of three whose types are open one is an id. Planted: the fewest and the most alone are planned."""
    frame = table(2000)[["sex", "sure", "name"]]
    budget = Budget(20.0, 1e-6, tmp_path / "b")
    synth = made(frame, epsilon=4.0, model=ForTwo(), budget=budget)
    if fault:
        monkeypatch.setattr(run_module, "is_builtin", lambda learner: isinstance(learner, ForTwo))
        with pytest.raises(ValueError, match="'learning' must cover all"):
            synth.fit(frame)
        assert budget.charged()["epsilon"] > 0
        return
    synth.fit(frame)
    assert [types_of(synth)[name] for name in frame] == ["categorical", "boolean", "id"]
    assert synth.privacy_ledger().claims_privacy


def test_columns_of_another_learned_domain_are_not_paid_for(tmp_path):
    frame = pd.DataFrame({name: ["x", "y", "z"] * 500 for name in "abcd"})

    def learned(names, epsilon):
        return fitted(frame[[*names]], types="declared", epsilon=epsilon).get_domain()

    first, second = learned("ab", 1.0), learned("cd", 8.0)
    assert [*first.learned["columns"]] == ["a", "b"]
    dearer = replace(learned("ab", 8.0)["b"], values=("x", "y", "w"))  # of the same name, by another fit
    for names, own, foreign in (("abcd", (*first, *second), "c, d"), ("ab", (first["a"], dearer), "b")):
        mixed = replace(first, attributes=own)
        mixed.save(tmp_path / "mixed.json")
        for domain in (mixed, tmp_path / "mixed.json"):
            with pytest.raises(ValueError, match=f"the cost of learning {foreign} is missing"):  # fmt: skip
                made([*names], types="declared", domain=domain)
    synth = fitted(frame[["a", "b"]], types="declared", domain={"b": {"range_values": ["x", "y", "z"]}})
    assert [*synth.get_domain().learned["columns"]] == ["a"]  # another's "b" would be no column of this fit
    few = replace(first, attributes=tuple(first)[:1])
    assert made(["a"], types="declared", domain=few).plan().ledger.claims_privacy


def test_a_domain_that_is_passed_on_costs_what_it_cost():
    """A fit that learned no value set adds nothing to what the next one pays for them."""
    _, domain = voted_before("categorical")
    frame, costs = voted_rows("categorical", 600), []
    for _ in range(3):
        synth = later(metadata(frame), domain=domain)
        costs.append(synth.plan().ledger.losses)
        synth.fit(frame)
        domain = synth.get_domain()
    assert costs[0] == costs[1] == costs[2]


def planning(plan):
    """A learner of somebody's own, whose plan is made of the domain and of what the paper's learner plans."""

    class Odd(PaperNetwork):
        def plan(self, domain, budget):
            return plan(domain, super().plan(domain, budget))

    return Odd


def is_small(domain):
    return next(iter(domain)).cardinality < 3  # before its values were learned a column has one or two


def test_a_plan_by_learned_values_is_refused(tmp_path):
    """After the domain was learned; within an envelope; and whether it asks for more or for less, which what was learned would choose."""
    frame = pd.DataFrame({"a": ["x", "y", "z", "w"] * 500, "b": ["k", "l"] * 1000})
    one, budget = frame[["a"]], Budget(9, 1e-6, tmp_path / "b.budget")
    domain = fitted(one, types="declared", epsilon=3.0).get_domain()
    sizes, kinds = (GaussianLoss(sensitivity_over_sigma=0.01), GaussianLoss(sensitivity_over_sigma=0.1)), (ApproxDP(epsilon=0.0, delta=1e-12), PureDP(epsilon=0.1))  # fmt: skip
    by_size = planning(lambda d, entries: [replace(e, losses=(sizes[is_small(d)],)) for e in entries])
    by_kind = planning(lambda d, entries: [replace(entries[0], losses=(kinds[is_small(d)],))])
    more = planning(lambda d, entries: entries if is_small(d) else entries[:-1])(structure="independent")
    less = planning(lambda d, entries: entries[:-1] if is_small(d) else entries)(structure="independent")
    for data, options in (
        (one, {"types": "declared", "domain": domain, "model": by_size(), "epsilon": 5.0}),
        (frame, {"model": by_kind()}),
        (frame, {"types": "declared", "model": more}),
        (frame, {"types": "declared", "model": less}),
    ):
        with pytest.raises(ValueError, match="plans its cost from learned value sets"):
            made(data, budget=budget, **options).fit(data)
    assert budget.charged()["epsilon"] == 0


@pytest.mark.parametrize("model", ["correlated", PaperNetwork(noise="paper")], ids=["greedy", "printed"])
@pytest.mark.parametrize("delta", [1e-11, 1e-9])
def test_a_domain_from_before_is_within_epsilon_with_any_noise(model, delta):
    frame = table(400)[["age", "sex"]]
    domain = fitted(frame[["age"]], types="declared", epsilon=0.3, delta=delta).get_domain()
    assert 0.9 < made(frame, domain=domain, model=model, epsilon=1.0).plan().ledger.total() <= 1.0
    with pytest.raises(ValueError, match="is used up"):
        made(frame, domain=domain, model=model, epsilon=0.1).plan()


def test_the_outcome_with_fewest_columns_is_planned_before_the_draw():
    pure = (PureDP(epsilon=0.01),)
    odd = planning(lambda d, entries: entries if len(d) > 1 else [replace(entries[0], losses=pure)])
    fit = made(table(5).iloc[:, :3], model=odd(), epsilon=1.3)._next_fit()
    assert fit.column_specs.fewest == {"age": CATEGORY, "fee": ID, "day": ID}
    assert gaussian_cost(fit.plan().ledger.envelope.losses) is None  # it stands for anything
    assert fit.with_types(fit.column_specs.fewest).plan().ledger.losses == fit.plan().ledger.losses
    told = made(table(5), domain={"sex": {"range_values": ["f", "m"]}})._next_fit().column_specs
    assert {one["sdtype"] for one in told.fewest.values()} == {"id"}
    odd = planning(lambda _, entries: [replace(entry, parts=()) for entry in entries])
    fit = made(table(5).iloc[:, :3], model=odd(), epsilon=1.3)._next_fit()
    assert fit.plan().ledger.total() <= 1.3
    assert is_even(fit)


def test_a_look_at_a_column_stays_on_record_though_its_type_is_open(tmp_path):
    frame, path = table(600)[["age", "sex"]], tmp_path / "v.json"
    path.write_text(json.dumps({"age": {"sdtype": "numerical", "range_min": 0, "range_max": 99}}))
    made(frame, domain=path).validate(frame)
    synth = fitted(frame, domain=path)
    domain = synth.get_domain()
    assert set(domain.looked) == {"age", "sex"}
    seen = replace(domain["sex"], values=("f", "m", "in one row"), counts=None)
    edited = replace(domain, attributes=(domain["age"], seen))
    told = metadata_from_columns(words(synth.metadata))
    for used, claims in ((edited, False), (domain, True)):
        plan = PlausibleDeniabilitySynthesizer(told, domain=used, epsilon=20.0).plan()
        assert plan.ledger.claims_privacy == claims


def test_looks_at_columns_that_stand_in_for_declared_ones_stay_on_record():
    """They are neither declared nor open. Control: a look at what an open column may become is given up."""
    fee = {"sdtype": "numerical", "resolution": 0.5, "range_min": 0.0, "range_max": 900.0}
    _, _, seen = made(table(5), domain={"fee": fee})._next_fit().column_specs.read()
    (stand_in,) = (name for name in seen if name.startswith("fee"))
    assert stand_in not in table(5)
    for looked, claims in ((stand_in, False), ("day: time (s)", True)):
        told = DomainFile(columns={"fee": fee}, looked={looked: digest({})})
        assert (looked in split_undeclared(table(5), told, None)[1].looked) == (not claims)
        assert made(table(5), domain=told).plan().ledger.claims_privacy == claims


def test_a_vote_that_may_end_the_claim_is_refused_before_the_draw(tmp_path, monkeypatch):
    budget, honest = Budget(20.0, 1e-6, tmp_path / "b"), Fit._assuming
    seen = LedgerEntry(name="x", mechanism="x", losses=(InfiniteLoss(),), scope="x", note="seen")

    def ended(fit, found):
        return replace(honest(fit, found), extra_entries=(*fit.extra_entries, seen))

    synth = made(with_moments(), budget=budget)
    monkeypatch.setattr(Fit, "_assuming", ended)
    with pytest.raises(ValueError, match="type inference may end the privacy guarantee"):
        synth.fit(with_moments())
    assert budget.charged()["epsilon"] == 0


@pytest.mark.parametrize("form", ["%Y-%m-%d %H:%M:%S", "%m/%d/%Y %H:%M", "%Y-%m-%dT%H:%M:%SZ"])
@DOORS
def test_names_that_a_moment_would_need_are_refused_before_the_draw(door, form, tmp_path):
    frame = with_moments(800).assign(when=lambda t: t["when"].dt.strftime(form))
    frame[f"when: time ({'s' if '%S' in form else 'min'})"] = 1
    budget = Budget(9.0, 1e-6, tmp_path / "b")
    fit = made(frame, budget=budget).fit
    if door == "source":
        fit = partial(fit_source, types="voted", epsilon=9.0, budget=budget)
    with pytest.raises(ValueError, match="the table has a column"):
        fit(frame)
    assert budget.charged()["epsilon"] == 0


def test_lines_within_the_envelope_are_not_shown_as_if_on_top():
    """Settings of the next fit do not change what its domain cost."""
    synth = fitted(table(800)[["age", "sex"]], epsilon=2.0)
    ledger = synth.privacy_ledger()
    kinds = {e["name"]: (e["provenance"], e["epsilon"], e["cost"]) for e in ledger.to_dict()["entries"]}
    assert {kinds[name] for name in ("domain", "model")} == {("within another", None, "in learning")}
    assert kinds["learning"][0] == "charged"
    told = to_registry(ledger)  # among the mechanisms, and not among the costs:
    assert told.count("- model:") == told.count("- domain:") == 1
    assert "type_votes.md" in to_conformance(ledger)
    assert "in learning" in str(ledger)
    for options in ({"epsilon": 0.01}, {"delta": 1e-15}, {"test": "randomized"}):
        back = PlausibleDeniabilitySynthesizer.from_release(synth.release(), **options)
        assert back.get_domain().learned == synth.get_domain().learned


def test_planted_losses_of_the_outcome_make_a_total_that_hangs_on_it(monkeypatch):
    """Truth values need no thresholds, so that more is left for noise; random rows cost what their domain does."""
    alone = lambda entries: [e for e in entries if not e.envelope]  # noqa: E731
    monkeypatch.setattr("sdv_plausible.privacy.ledger.entries_in_total", alone)
    for model in ("bayesian_network", "random"):
        fit = made(table(5), model=model, epsilon=1.3)._next_fit()
        assert len({round(one.total(1e-6), 9) for one in plans(fit)}) > 1


def test_a_learner_beyond_what_was_kept_is_refused_before_anything_is_drawn(tmp_path):
    """Gaussian noise that does not keep to the budget: of all columns, and of most of them alone."""

    class Greedy(PaperNetwork):
        least = 0

        def plan(self, domain, budget):
            if len(domain) > self.least and budget.left is not None:
                budget = replace(budget, left=1.01 * budget.left)
            return super().plan(domain, budget)

    budget = Budget(500.0, 1e-6, tmp_path / "budget")
    for least in (0, 7):  # of seven columns as moments there are fourteen
        Greedy.least = least
        with pytest.raises(ValueError, match="entry 'learning' must cover all"):
            made(table(500), model=Greedy(), budget=budget, epsilon=0.4).fit(table(500))
    assert budget.charged()["epsilon"] == 0


def test_what_was_not_kept_is_never_charged(monkeypatch):
    """The ledger refuses after the vote what was not drawn before it: here, a domain that grew."""
    private, vote, voted = Fit._domain_plan, type_inference.infer_types, []

    def grown(fit, *told):
        plan = private(fit, *told)
        return replace(plan, mu=9 * plan.mu) if voted else plan

    monkeypatch.setattr(type_inference, "infer_types", lambda *told: voted.append(1) or vote(*told))
    monkeypatch.setattr(Fit, "_domain_plan", grown)
    with pytest.raises(ValueError, match="entry 'learning' must cover all"):
        fitted(table(300))
    assert voted


@pytest.mark.parametrize("model", ["bayesian_network", "correlated"])
def test_the_domain_of_a_vote_costs_the_same_whatever_the_types(model):
    """Whoever is given it pays for the vote and the most that value sets may cost, not for the model."""
    costs = set()
    for names in (["age", "sex"], ["sure", "name"]):
        synth = fitted(table(2000)[names].set_axis(["a", "b"], axis=1), model=model, epsilon=2.0)
        told = metadata_from_columns(words(synth.metadata))
        ledger = PlausibleDeniabilitySynthesizer(told, domain=synth.get_domain(), epsilon=9.0).plan().ledger
        assert [e.name for e in ledger.entries if e.envelope] == ["learning"]  # this fit's own
        earlier = [e for e in ledger.entries if e.mechanism.startswith("learned earlier")]
        costs.add(tuple(loss for e in earlier for loss in e.losses))
        assert ledger.total() <= 9.0
    assert len(costs) == 1


def test_moments_that_were_voted_for_are_split_again_by_a_fit_anew(tmp_path):
    """Before, the rule of the vote was taken for one that somebody knew. Looks at what a moment becomes end no fit that has paid."""
    frame = with_moments()
    synth = fitted(frame)
    back = PlausibleDeniabilitySynthesizer.from_release(synth.release())
    assert back.plan().ledger.losses == synth.plan().ledger.losses
    assert len(back.sample(3)) == 3
    back.fit(frame.assign(when=frame["age"]))
    assert types_of(back)["when"] == "numerical"
    looked = dict(synth.get_domain().looked)
    assert "when: time (s)" in looked
    told = DomainFile(columns={"age": {"sdtype": "numerical"}}, looked=looked)
    synth = fitted(frame, domain=told, epsilon=15.0, budget=Budget(20.0, 1e-6, tmp_path / "b"))
    assert types_of(synth)["when"] == "datetime"
    assert synth.privacy_ledger().claims_privacy


@pytest.mark.parametrize("filter_", FILTERS)
def test_a_vote_beside_a_domain_that_was_learned_before(filter_, tmp_path):
    frame = with_moments()
    first = PlausibleDeniabilitySynthesizer(metadata_of({"age": {"sdtype": "numerical"}}), epsilon=1.0)
    first.fit(frame[["age"]])
    budget = Budget(9.0, 1e-6, tmp_path / "b", filter=filter_)
    ledger = fitted(frame, domain=first.get_domain(), epsilon=6.0, delta=1e-8, budget=budget).privacy_ledger()
    paid = [(entry.name, entry.envelope) for entry in ledger.entries if entry.losses]
    assert paid[:3] == [("domain", False), ("types", False), ("learning", True)]
    assert 0.98 * 6 < ledger.total() <= 6.0  # of Gaussians of two sizes the calibration is coarser
    assert budget.covers(ledger)


def test_the_budget_pays_before_the_first_question(tmp_path, monkeypatch):
    frame, budget, honest, seen = table(), Budget(3.0, 1e-8, tmp_path / "b"), type_inference.infer_types, []
    noted = lambda *told: seen.append(dict(budget.charged())) or honest(*told)  # noqa: E731
    monkeypatch.setattr(type_inference, "infer_types", noted)
    synth = fitted(frame, epsilon=2.0, budget=budget, person=Person("home", rows=2))
    assert seen == [{"epsilon": pytest.approx(2.0, rel=0.01), "delta": 1e-9}]
    assert budget.charged() == seen[0]
    assert budget.covers(synth.privacy_ledger())
    with pytest.raises(BudgetExceededError, match="would exceed"):
        synth.fit(frame)
    assert len(seen) == 1


# --- whom it protects -----------------------------------------------------------------------------------------


def noise_of_the_vote(frame, **options):
    """Sensitivity and scale of every answer of a vote, before the domain is asked for."""
    calls, honest = [], type_inference.infer_types

    def vote(*told):
        with record_calls() as seen:
            found = honest(*told)
        calls.extend((call.sensitivity, call.scale) for call in seen)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type_inference, "infer_types", vote)
        fitted(frame, domain={"home": {"sdtype": "id"}}, **options)
    return calls


def test_a_person_with_several_rows_is_protected_by_the_vote_too():
    """Three rows of a person move every count by three: noise is three times as large, of a replaced one more."""
    one = noise_of_the_vote(table(600), person=Person("home", rows=1))
    three = noise_of_the_vote(table(600), person=Person("home", rows=3))
    replaced = noise_of_the_vote(table(600), person=Person("home", rows=3), neighbours="replace_one")
    for at in (0, 1):  # the number of rows, and the families of a column
        assert one[at][0] == 1
        for other, factor in ((three, 3.0), (replaced, 3 * 2**0.5)):
            assert other[at][0] == pytest.approx(factor)
            assert other[at][1] == pytest.approx(factor * one[at][1], rel=1e-3)


def test_planted_the_sensitivity_of_one_row_is_caught(monkeypatch):
    monkeypatch.setattr(CellKindCounts, "sensitivity", lambda *_: ONE_ROW.histogram_l2)
    with pytest.raises(AssertionError):
        test_a_person_with_several_rows_is_protected_by_the_vote_too()


def test_the_rows_that_vote_are_those_chosen():
    """Of one person with all the text a row votes: it decides nothing. Control: of many people it does."""
    frame = table(2000)[["age", "home"]].assign(home=lambda t: t.index)
    frame["age"] = frame["age"].astype(object)
    frame.loc[:999, "age"] = "text"
    for home, expected in ((0, "numerical"), (frame.index[:1000], "categorical")):
        frame.loc[:999, "home"] = home
        assert types_of(fitted(frame, person=Person("home", rows=1), random_state=3))["age"] == expected


# --- cells ------------------------------------------------------------------------------------------------------


def test_typed_columns_vote_as_the_texts_of_a_file():
    frame = table()
    frame["when"] = pd.Timestamp("2020-01-01 00:00:01") + pd.to_timedelta(np.arange(N) * 7919, unit="s")
    frame["date"] = [dt.date(2020, 1, 1) + dt.timedelta(days=i % 200) for i in range(N)]
    frame["price"] = [Decimal(i % 90) / 4 for i in range(N)]
    frame["group"] = frame["sex"].astype("category")
    frame["sure"] = frame["sure"].astype(object)
    for name in ("age", "fee", "sex", "sure", "group", "when"):  # whole numbers become doubles
        frame[name] = frame[name].where(frame.index % 9 > 0)
    file = io.StringIO(frame.to_csv(index=False))
    written = pd.read_csv(file, dtype=str, keep_default_na=False).astype(object)
    texts = dict.fromkeys(frame, CATEGORY)
    typed, read = (reparse_columns(one, column_types(texts), Spelling()) for one in (frame, written))
    (one, _), (two, _) = (held_vote(one, 9.0, 1e-9, KeyedRNG.from_seed(1)) for one in (typed, read))
    assert {name: told["sdtype"] for name, told in one.items()} == {
        **FOUND, "when": "datetime", "date": "datetime", "price": "numerical", "group": "categorical",
    }  # fmt: skip
    assert one == two
    pd.testing.assert_frame_equal(
        *(reparse_columns(x, column_types(one), Spelling()) for x in (frame, written))
    )


def test_a_cell_is_read_alone():
    """1 is 1 whether another row is missing or not; a moment is written as itself, whatever the others are."""
    spelling, text = Spelling(decimal=","), column_types({"x": CATEGORY})
    for cells in ([1, 2], [1, None], [1.0, "x"], [True, 1]):
        read = reparse_columns(pd.DataFrame({"x": cells}), text, spelling)["x"]
        assert [cell for cell in read if cell in ("1", "1.0")] == ["1"]
    day, noon = pd.Timestamp("2020-02-03"), pd.Timestamp("2020-02-03 12:30:00")
    for cell, form, expected in (
        (day, (), "2020-02-03"),
        (day.date(), (), "2020-02-03"),
        (noon, (), "2020-02-03 12:30:00"),
        (day, ("%Y-%m-%d %H:%M:%S",), "2020-02-03 00:00:00"),
        (noon, ("%Y-%m-%d",), "2020-02-03 12:30:00"),  # which is then no date of that format
        (noon, ("%Y-%m-%d %H:%M:%S%z",), "2020-02-03 12:30:00"),
        (noon.tz_localize("UTC"), (), "2020-02-03 12:30:00+00:00"),
        (day, ("%d-%b-%Y",), "03-Feb-2020"),
        (1.5, (), "1,5"),
    ):
        assert cell_text(cell, spelling, *form) == expected
    assert cell_kind(cell_text(1e-9, spelling), spelling) == "number"
    odd = pd.DataFrame({"x": [..., "y" * 200_000, b"b", float("nan"), pd.NaT]}, dtype=object)
    assert reparse_columns(odd, text, spelling)["x"].isna().all()
