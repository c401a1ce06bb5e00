"""Types that nobody declared, as a step of the fit: paid before it, bounded whatever it says, at every door."""

from __future__ import annotations

import datetime as dt
import functools
import io
import json
import pickle
from copy import deepcopy
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
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
from sdv_plausible.commands.cli import main
from sdv_plausible.fit import arguments
from sdv_plausible.fit import run as run_module
from sdv_plausible.fit.earlier import Earlier
from sdv_plausible.fit.envelope import check_even
from sdv_plausible.fit.run import Fit
from sdv_plausible.fit.telling import FitWarning
from sdv_plausible.fit.told import CATEGORY, MOMENTS
from sdv_plausible.fit.voting import left_open
from sdv_plausible.mechanism.privacy_tests.randomized import RandomizedTest
from sdv_plausible.mechanism.privacy_tests.release_level import ReleaseTest
from sdv_plausible.mechanism.privacy_tests.settings import Settings
from sdv_plausible.models import NAMES, make_learner
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.base import Learner
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.models.latent import latent_learner
from sdv_plausible.models.paper.paper_network import PaperNetwork
from sdv_plausible.models.uniform import Uniform
from sdv_plausible.privacy.accounting.filters import FILTERS, gaussian_cost
from sdv_plausible.privacy.accounting.losses import ApproxDP, GaussianLoss, InfiniteLoss, PureDP
from sdv_plausible.privacy.accounting.sampled_gaussian import SampledGaussianLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import BudgetExceededError, PrivacyLedger
from sdv_plausible.privacy.neighbours import ONE_ROW
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.rules import Inequality
from sdv_plausible.sdv.metadata import detect_metadata, metadata_from_columns, metadata_from_table
from sdv_plausible.table.columns.cell_texts import Spelling, kind_of, read_again, text_of
from sdv_plausible.table.declared.column_types import column_types, metadata_columns
from sdv_plausible.table.declared.domain_file import DomainFile, digest
from sdv_plausible.table.learned import type_votes
from sdv_plausible.table.learned.type_votes import CellKinds

N = 4000


def table(n: int = N) -> pd.DataFrame:
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


def metadata(frame: pd.DataFrame) -> Any:
    return metadata_from_columns({str(name): {"sdtype": "categorical"} for name in frame})


def made(frame: pd.DataFrame, **options: Any) -> PlausibleDeniabilitySynthesizer:
    return PlausibleDeniabilitySynthesizer(metadata(frame), **{"types": "voted", "epsilon": 9.0, **options})


def words_of(synth: PlausibleDeniabilitySynthesizer) -> dict[str, dict[str, Any]]:
    (found,) = synth.metadata.to_dict()["tables"].values()
    return found["columns"]


def types_of(synth: PlausibleDeniabilitySynthesizer) -> dict[str, str]:
    return {name: words["sdtype"] for name, words in words_of(synth).items()}


FOUND = {
    "age": "numerical", "fee": "numerical", "day": "datetime", "sex": "categorical", "sure": "boolean",
    "name": "id", "home": "numerical",
}  # fmt: skip


# --- every door -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"person": Person("home", rows=3)},
        {"neighbours": "replace_one", "test": ReleaseTest(omega=5, k=2), "model": "independent"},
        {"model": "correlated", "test": "randomized"},
        {"domain": {"sex": {"range_values": ["f", "m"]}, "fee": {"range_min": 0.0, "range_max": 900.0}}},
    ],
    ids=["usual", "people", "replaced, seeds", "row by row", "partly declared"],
)
def test_a_fit_votes_with_a_claim_and_no_more_than_epsilon(options: dict[str, Any]) -> None:
    frame = table(3 * N if "person" in options else N)  # their noise is three times as large
    synth = made(frame, **options)
    planned = synth.plan().ledger
    synth.fit(frame)
    ledger = synth.privacy_ledger()
    assert ledger.claims_privacy
    assert [entry.name for entry in ledger.entries].count("types") == 1
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


def test_the_fitted_object_is_as_any_other(tmp_path: Any) -> None:
    frame = table()
    synth = made(frame)
    before = synth.plan().ledger
    assert str(before).count("a vote over the cells of 7 undeclared columns") == 1
    synth.fit(frame)
    assert synth.plan().ledger.losses == before.losses  # of a fit anew, with a vote
    assert synth.get_parameters()["types"] == "voted"
    assert synth.check(frame, show=str)
    assert set(synth.get_domain().names) == {name for name, one in FOUND.items() if one != "id"}
    again = pickle.loads(pickle.dumps(synth))
    assert len(again.sample(3)) == 3
    again.fit(frame.assign(age=[f"x{i % 3}" for i in range(N)]))
    assert types_of(again) == {**FOUND, "age": "categorical"}
    synth.release().save(tmp_path / "t.release")
    back = PlausibleDeniabilitySynthesizer.from_release(type(synth.release()).load(tmp_path / "t.release"))
    assert types_of(back) == FOUND
    assert back.plan().ledger.losses == before.losses
    back.fit(frame)
    assert types_of(back) == FOUND


def test_columns_say_up_to_how_many_cells_may_be_of_another_kind(tmp_path: Any) -> None:
    """From noisy answers, in the object, its release, and what is made of it; in the ledger's words, too. Seeded: no false alarm."""
    frame = table(1500).drop(columns="name")
    synth = made(frame, model="independent", epsilon=4.0, random_state=1)
    synth.fit(frame)
    shares = synth.columns()["other_kind"]
    assert (shares[["age", "fee", "day", "home", "sure"]] <= type_votes.OTHERS).all()
    assert (shares[["age", "fee", "day", "home", "sure"]] > 0).all()
    assert np.isnan(shares["sex"])  # a category was not decided for
    assert f"age {shares['age']:.0%}" in str(synth.privacy_ledger().said("invented"))
    release = synth.release(allow_no_claim=True)
    release.save(tmp_path / "t.release")
    loaded = Release.load(tmp_path / "t.release")
    for other in (release, loaded, PlausibleDeniabilitySynthesizer.from_release(loaded)):
        pd.testing.assert_series_equal(other.columns()["other_kind"], shares)
    document = json.loads(release.to_bytes(readable=True))
    for name, share, why in (
        ("nobody", 0.1, "of a column whose type was voted for"),
        ("age", 1.1, "from 0 to 1"),
    ):
        changed = deepcopy(document)
        changed["settings"]["voted_others"][name] = share
        with pytest.raises(ValueError, match=f"settings.voted_others.{name}: must be .*{why}"):
            Release.from_bytes(json.dumps(changed).encode())


def test_a_fit_that_fails_leaves_the_earlier_one(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = table()
    synth = made(frame)
    synth.fit(frame)
    monkeypatch.setattr(type_votes, "vote_types", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        synth.fit(frame.assign(age="x"))
    assert types_of(synth) == FOUND
    assert len(synth.sample(3)) == 3


def test_a_table_in_parts_votes_as_one_in_memory(tmp_path: Any) -> None:
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
    with pytest.raises(ValueError, match="leave metadata out"):
        fit_source(frame, metadata(frame), types="voted")


def test_a_record_in_the_place_of_the_header_line_is_published_by_no_door(tmp_path: Any, capsys: Any) -> None:
    """Names are in the release: without a header line they would be the first person's cells."""
    path, budget = tmp_path / "t.csv", Budget(9.0, 1e-8, tmp_path / "b")
    table(500)[["home", "sex"]].to_csv(path, index=False, header=["SECRET", "2019"])
    with pytest.raises(ValueError, match="the first line must name the columns") as raised:
        fit_source(path, types="voted", budget=budget)
    assert budget.charged()["epsilon"] == 0
    output = tmp_path / "o.csv"
    assert main(["synthesize", str(path), "-o", str(output)]) == 2
    for told in (str(raised.value), capsys.readouterr().err):
        assert str(path) in told
        for value in ("SECRET", "2019"):
            assert value not in told.replace(str(path), "")
    assert not output.exists()
    domain = tmp_path / "domain.json"
    domain.write_text('{"2019": {"sdtype": "categorical"}}')
    release = fit_source(path, types="voted", domain=domain, model="independent")
    assert {column.name for column in release.schema.columns} == {"SECRET", "2019"}
    release = fit_source(path, types="voted", person="SECRET", model="independent", scratch=tmp_path)
    assert {column.name for column in release.schema.columns} == {"SECRET", "2019"}
    told = ["--domain", str(domain), "--model", "independent", "--rows", "9"]
    assert main(["synthesize", str(path), "-o", str(output), *told]) == 0


def test_what_metadata_says_plays_no_part() -> None:
    """Types, formats and keys may have been detected; names count, and what the domain declares."""
    frame = table()
    detected = detect_metadata(frame)
    detected.update_column("name", table_name="table", sdtype="id")
    detected.set_primary_key("name", table_name="table")
    synth = PlausibleDeniabilitySynthesizer(detected, types="voted", domain={"home": {"sdtype": "id"}})
    plain = PlausibleDeniabilitySynthesizer(metadata(frame), types="voted", domain={"home": {"sdtype": "id"}})
    assert synth.plan().ledger.losses == plain.plan().ledger.losses
    assert types_of(synth) == types_of(plain)
    (document,) = synth.metadata.to_dict()["tables"].values()
    assert "primary_key" not in document


@pytest.mark.parametrize("known", [{"person": "name"}, {"domain": {"name": {"sdtype": "id"}}}, {}])
def test_no_key_of_the_metadata_plays_a_part(known: Any) -> None:
    """That every id differs is told by the rows, also of a column that is declared: one more row ends it."""
    frame = table(60).assign(name=[f"n{i}" for i in range(60)], other=[f"o{i}" for i in range(60)])
    keyed = metadata_from_table(
        {
            "columns": {name: {"sdtype": "id"} for name in frame},
            "primary_key": "name",
            "alternate_keys": ["other"],
            "column_relationships": [],
        },
        "table",
    )
    keyed.validate()
    released = []
    for given in (keyed, metadata_from_columns({name: {"sdtype": "id"} for name in frame})):
        synth = PlausibleDeniabilitySynthesizer(given, types="voted", random_state=1, **known)
        synth.fit(frame)
        (document,) = synth.metadata.to_dict()["tables"].values()
        assert {*document} == {"columns"}
        released.append(synth.release(allow_no_claim=True).schema)
    assert not released[0].keys
    assert released[0].columns == released[1].columns


@pytest.mark.parametrize("rows", [0, 1])
def test_a_table_of_hardly_any_row_is_fitted(rows: int) -> None:
    frame = table().iloc[:rows]
    synth = made(frame)
    synth.fit(frame)
    assert list(synth.sample(2)) == list(frame)


def test_a_vote_on_nothing_is_no_vote() -> None:
    """All is declared, some by its type alone: so it is in a synthesizer made of the release, too."""
    frame = table(400)[["age", "sex", "name"]]
    words = {"age": {"sdtype": "numerical"}, "sex": {"range_values": ["f", "m"]}, "name": {"sdtype": "id"}}
    synth = made(frame, domain=words)
    synth.fit(frame)
    back = PlausibleDeniabilitySynthesizer.from_release(synth.release())
    for one in (synth, back):
        assert "types" not in {entry.name for entry in one.plan().ledger.entries}
    assert back.release().to_bytes() == synth.release().to_bytes()


def test_columns_without_names_of_text() -> None:
    frame = table().set_axis(range(7), axis=1)
    synth = made(frame)
    synth.fit(frame)
    assert list(synth.sample(2).columns) == list(range(7))


# --- what is refused beforehand -----------------------------------------------------------------------------

REFUSED = {
    "noise": ({"epsilon": float("inf")}, "needs a finite epsilon"),
    "written": ({"domain": "written"}, "does not go with domain"),
    "rules": ({"rules": [Inequality("age", "fee")]}, "rules: age, fee must have a declared type"),
    "structure": (
        {"model": PaperNetwork(structure={"age": ["sex"]})}, "structure: age, sex must have a declared type",
    ),
    "words": ({"domain": {"age": {"decimal_places": 0}}}, "nothing tells what it is|decimal_places"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_when_it_is_said(case: str) -> None:
    options, match = REFUSED[case]
    with pytest.raises(ValueError, match=match):
        made(table(5), **options)


def test_rules_and_structure_of_declared_columns_go_with_a_vote() -> None:
    frame = table()
    low = {"sdtype": "numerical", "range_min": 0, "range_max": 99}
    synth = made(
        frame.assign(more=frame["age"] + 5), domain={"age": low, "more": low}, epsilon=20.0,
        rules=[Inequality("age", "more")],
    )  # fmt: skip
    synth.fit(frame.assign(more=frame["age"] + 5))
    rows = synth.sample(50)
    assert (rows["age"] <= rows["more"]).all()


def test_steps_of_sdv_are_for_declared_types() -> None:
    frame = table(50)
    synth = made(frame)
    for call in (synth.preprocess, synth.auto_assign_transformers):
        with pytest.raises(ValueError, match="call that, give rules"):
            call(frame)


# --- what the outcome decides ends no fit -------------------------------------------------------------------


@pytest.mark.parametrize("door", ["synthesizer", "source"])
def test_all_columns_voted_to_be_ids_leave_one_category(door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = table(300)[["name", "sex"]]
    ids = {"sdtype": "id", "regex_format": "[a-z]{5,9}"}
    monkeypatch.setattr(type_votes, "vote_types", lambda rows, names, *_: dict.fromkeys(names, ids))
    if door == "source":
        release = fit_source(frame, types="voted")
    else:
        synth = made(frame)
        synth.fit(frame)
        release = synth.release()
    assert [c.spec["sdtype"] for c in release.schema.columns] == ["categorical", "id"]
    assert len(release.sample(5)) == 5


@pytest.mark.parametrize("door", ["synthesizer", "source"])
def test_columns_that_a_vote_takes_for_ids_are_named(door: str, recwarn: pytest.WarningsRecorder) -> None:
    """Before, they came out as invented digits without a word. Control: those that are learned."""
    frame = table()
    if door == "synthesizer":
        synth = made(frame)
        synth.fit(frame)
        release = synth.release()
    else:
        release = fit_source(frame, types="voted", epsilon=9.0)
    told = [str(one.message) for one in recwarn if issubclass(one.category, FitWarning)]
    (said,) = [one for one in told if not one.startswith("digits after the point")]  # which are left to noise
    assert said.startswith("name: the cells look like identifiers or free text")
    assert "datetime_format" in said
    assert f"{said}." in str(release.ledger)
    assert any(f"{said}." in one for one in release.ledger.to_dict()["said"])
    loaded = Release.from_bytes(release.to_bytes()).ledger
    text = f"{said}.".replace('"', "'")  # in quotation marks, as a file's
    assert text in str(loaded)
    assert any(text in one for one in loaded.to_dict()["said"])


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ({}, ["e-mail", "phone"]),
        ({"e-mail": {"sdtype": "email"}}, ["phone"]),
        ({"e-mail": {"sdtype": "categorical"}, "phone": {"range_values": ["a", "b", "c"]}}, ["e-mail"]),
        ({"e-mail": {"sdtype": "id"}, "phone": {"range_values": ["a", "b", "c"]}}, []),
    ],
)
def test_a_category_whose_name_tells_who_people_are_is_named(
    words: dict[str, Any], named: list[str], recwarn: pytest.WarningsRecorder
) -> None:
    """By its public name alone, before the fit and after it; no column of another name (filename_count) is."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {name: rng.choice(["a", "b", "c"], N) for name in ("e-mail", "phone", "filename_count")}
    )
    synth = made(frame, domain=words or None)
    end = ": the name suggests personal data"
    planned = [text for text in synth.plan().warnings if end in text]
    synth.fit(frame)
    told = [str(one.message) for one in recwarn if end in str(one.message)]
    assert planned == told
    assert [text.split(end)[0] for text in told] == ([", ".join(named)] if named else [])
    if named == ["e-mail", "phone"]:
        assert '{"e-mail": {"sdtype": "email"}}' in told[0]


@pytest.mark.parametrize("omega", [2, (1, 2)])
def test_an_omega_beyond_the_columns_that_are_left_resamples_them_all(
    omega: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = table(300)[["name", "sex"]]
    words = {"name": {"sdtype": "id", "regex_format": "[a-z]{5,9}"}, "sex": dict(CATEGORY)}
    monkeypatch.setattr(type_votes, "vote_types", lambda *_: words)
    synth = made(frame, test=ReleaseTest(omega=omega, k=5), model="independent")
    with pytest.warns(FitWarning, match="only 1 columns are modelled"):
        synth.fit(frame)
    assert len(synth.sample(5)) == 5
    assert "seeds" in {entry.name for entry in synth.privacy_ledger().entries if entry.losses}
    assert len(type(synth.release()).from_bytes(synth.release().to_bytes()).sample(5)) == 5
    with pytest.raises(ValueError, match="omega"):
        made(frame, test=ReleaseTest(omega=3, k=5)).plan()


def test_a_published_table_is_read_as_the_rows_are() -> None:
    frame = table()
    synth = made(frame, public=table(500)[["age", "name", "day"]])
    synth.fit(frame)
    assert types_of(synth) == FOUND
    assert "public table" in {entry.name for entry in synth.privacy_ledger().entries}


# --- what is drawn before it ----------------------------------------------------------------------------------

OUTCOMES = (
    {"sdtype": "numerical"}, {"sdtype": "boolean"}, CATEGORY, MOMENTS[0], {"sdtype": "id"},
    {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"},
)  # fmt: skip
LEARNERS = ["bayesian_network", "independent", "correlated", PaperNetwork(), "gaussian_copula", "random"]


def outcomes(names: tuple[str, ...], number: int = 6) -> list[dict[str, Any]]:
    rng = np.random.default_rng(4)
    drawn = [{name: OUTCOMES[k] for name, k in zip(names, rng.integers(0, 6, len(names)), strict=True)}
             for _ in range(number)]  # fmt: skip
    return [*(dict.fromkeys(names, one) for one in OUTCOMES if one["sdtype"] != "id"), *drawn]


def plans(fit: Fit) -> list[PrivacyLedger]:
    """Of the fit before the vote, and of random outcomes."""
    found = [one for one in outcomes(fit.told.open) if any(words["sdtype"] != "id" for words in one.values())]
    return [fit.plan().ledger, *(fit.with_types(one).plan().ledger for one in found)]


TOLD = [(columns, model, ReleaseTest()) for columns in (1, 5) for model in LEARNERS]
TOLD += [(5, "bayesian_network", ReleaseTest(omega=1)), (1, "correlated", ReleaseTest(omega=1)),
         (5, "independent", RandomizedTest())]  # fmt: skip


@pytest.mark.parametrize(("columns", "model", "test"), TOLD, ids=lambda one: str(one).partition("(")[0])
def test_the_total_is_the_same_whatever_the_types(columns: int, model: Any, test: Any) -> None:
    """Lemma 3: what is stated does not hang on what the vote finds; and of learning it is epsilon at most."""
    fit = made(table(5).iloc[:, :columns], model=model, epsilon=1.3, test=test)._as_fit()
    one, *others = plans(fit)
    assert all(other.losses == one.losses for other in others)
    alone = PrivacyLedger(delta=fit.settings.model_delta)
    alone.charge(*(entry for entry in one.entries if "seeds" not in entry.parts))
    assert alone.total() <= 1.3
    assert alone.total() > 0.99 * 1.3


@pytest.mark.parametrize("epsilon", [0.000376, 0.00051, 0.01, 6.0, 20.0])
def test_no_outcome_is_beyond_the_envelope_at_any_epsilon(epsilon: float) -> None:
    """Noise that was computed apart adds up to a ten millionth: some outcomes ended fits that had paid."""
    for model in ("bayesian_network", "independent"):
        fit = made(table(5).iloc[:, :5], model=model, epsilon=epsilon)._as_fit()
        one, *others = plans(fit)
        assert all(other.losses == one.losses for other in others)


def test_the_domain_keeps_to_its_share_whatever_the_columns(tmp_path: Any) -> None:
    """Bounded columns alone are dearer than with categories beside them: nothing of that is beyond the envelope."""
    bounded = {f"b{i}": {"sdtype": "numerical", "range_min": 0, "range_max": 10**6} for i in range(12)}
    frame = pd.DataFrame({name: np.arange(500) for name in (*bounded, "one", "open")})
    first = made(frame[["one"]], types="declared", epsilon=0.7)
    first.fit(frame[["one"]])
    known = {**bounded, "one": first.get_domain()["one"]}
    told = DomainFile(columns=known, learned=first.get_domain().learned)
    fit = made(frame, domain=told, epsilon=1.0)._as_fit()
    assert fit.told.open == ("open",)
    for found in OUTCOMES:
        assert fit.with_types({"open": found}).plan().ledger.losses == fit.plan().ledger.losses


@functools.cache
def voted_before(outcome: str) -> tuple[Any, Any]:
    """Metadata and domain after a fit that voted; where the cells are many texts all but one column is an id."""
    frame = table(3000)[["sex"]].assign(
        **{name: voted_cells(outcome, seed) for seed, name in enumerate("abc")}
    )
    first = made(frame, epsilon=4.0, delta=1e-6, model="independent")
    first.fit(frame)
    assert {types_of(first)[name] for name in "abc"} == {outcome if outcome != "moment" else "datetime"}
    return first.metadata, first.get_domain()


def voted_cells(outcome: str, seed: int) -> list[str]:
    random = np.random.default_rng(seed)
    if outcome == "id":
        return ["".join(random.choice(list("abcdef"), 9)) for _ in range(3000)]
    if outcome == "moment":
        seconds = pd.to_timedelta(random.integers(0, 10**7, 3000), unit="s")
        return list((pd.Timestamp("2020-01-01") + seconds).strftime("%Y-%m-%d %H:%M:%S"))
    return list(random.choice(["x", "y"], 3000))


def later_total(model: Any, outcome: str) -> tuple[float, tuple[Any, ...]]:
    metadata_, domain = voted_before(outcome)
    ledger = (
        PlausibleDeniabilitySynthesizer(metadata_, domain=domain, epsilon=7.0, delta=1e-6, model=model)
        .plan()
        .ledger
    )
    assert ledger.claims_privacy
    return ledger.total(), ledger.losses


CHAINED = [*LEARNERS[:-1], PaperNetwork(noise="paper", structure="independent")]
VOTED = ("categorical", "id", "moment")


@pytest.mark.parametrize("model", CHAINED, ids=lambda one: str(one).partition("(")[0])
def test_the_fit_after_a_vote_states_one_total_whatever_was_found(model: Any) -> None:
    """The number of columns is an answer of the vote, which the next fit pays for again."""
    found = {later_total(model, outcome) for outcome in VOTED}
    assert len(found) == 1
    ((total, _),) = found
    assert 6.9 < total <= 7.0


def test_planted_losses_of_the_columns_that_were_found_make_totals_that_hang_on_the_vote(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Earlier, "voted", False)
    monkeypatch.setattr(arguments, "_check_not_voted", lambda *_: None)
    for model in ("independent", "correlated", "gaussian_copula", CHAINED[-1]):
        assert len({later_total(model, outcome) for outcome in VOTED}) > 1


class ByColumns(Learner):
    """A learner of somebody's own: noise of another kind for few columns than for many."""

    makes = BayesianNetwork
    arcs: Any = None
    names_columns: Any = False

    def __init__(self, most: int) -> None:
        self.most = most

    def _of(self, domain: Any) -> Any:
        return make_learner("independent" if len(domain) <= self.most else "correlated")

    def plan(self, domain: Any, budget: Any) -> Any:
        return self._of(domain).plan(domain, budget)

    def fit(self, rows: Any, domain: Any, budget: Any, coins: Any) -> Any:
        return self._of(domain).fit(rows, domain, budget, coins)


@pytest.mark.parametrize("most", [3, 4, 20, 64])
def test_a_learner_that_plans_by_the_number_of_columns_is_refused_after_a_vote(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for outcome in VOTED:
        named = [{"names_columns": True, **arcs} for arcs in ({}, {"arcs": {}}, {"arcs": {"sex": []}})]
        for said in ({}, *(named if outcome != "moment" else ())):
            model = ByColumns(most)
            vars(model).update(said)  # as if it named columns, which nobody had to check before
            with pytest.raises(ValueError, match=r"model \(ByColumns\) plans another kind of noise"):
                later_total(model, outcome)
    monkeypatch.setattr(run_module, "check_even", lambda *_: None)
    if most == 3:  # the planted fault: one outcome states another total
        assert len({later_total(ByColumns(most), outcome) for outcome in VOTED}) > 1


@pytest.fixture
def uncalibrated_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kind of noise is looked at, not how much: to find that takes two seconds for each number of columns."""
    monkeypatch.setattr(
        latent_learner,
        "calibrate_sampled",
        lambda _epsilon, _delta, rate, count, _spent: SampledGaussianLoss(
            rate=rate, sensitivity_over_sigma=0.1, count=count
        ),
    )


@pytest.mark.parametrize("model", [name for name in NAMES if name != "correlated"])
@pytest.mark.usefixtures("uncalibrated_training")
def test_no_learner_of_ours_plans_by_the_number_of_columns(model: str) -> None:
    _even(model, (1.0,))


@pytest.mark.slow
@pytest.mark.parametrize("model", NAMES)
@pytest.mark.usefixtures("uncalibrated_training")
def test_no_learner_of_ours_plans_by_the_number_of_columns_at_any_epsilon(model: str) -> None:
    _even(model, (0.1, 1.0, 10.0))


def _even(model: str, epsilons: tuple[float, ...]) -> None:
    learner = make_learner(model)
    for epsilon in epsilons:
        check_even(Settings.of(epsilon, 1e-9, "release", ONE_ROW, learner), learner, Domain(()))
    assert "model" in models.words_of(learner)  # so that a fit need not ask


@pytest.mark.filterwarnings("ignore:name. most cells are outside")
def test_types_that_a_vote_found_come_with_what_they_cost(tmp_path: Any) -> None:
    """As metadata alone they would be declared for nothing, at both doors, also after a release was loaded."""
    metadata_, domain = voted_before("id")
    first = made(table(600)[["sex", "name"]], epsilon=2.0)
    first.fit(table(600)[["sex", "name"]])
    first.release().save(tmp_path / "first.release")
    again = PlausibleDeniabilitySynthesizer.from_release(Release.load(tmp_path / "first.release"))
    voted = [metadata_, *(one for synth in (first, again) for one in (synth.metadata, synth.get_metadata()))]
    for one in (*voted, deepcopy(first.metadata), pickle.loads(pickle.dumps(first)).metadata):
        for door in (PlausibleDeniabilitySynthesizer, partial(fit_source, table(600)[["sex", "name"]])):
            with pytest.raises(ValueError, match=r'types \("declared"\).* were voted for by an earlier fit'):
                door(metadata=one)
    own = metadata_columns(first.metadata)
    for synth in (
        PlausibleDeniabilitySynthesizer(first.metadata, types="voted"),
        PlausibleDeniabilitySynthesizer(first.metadata, domain=first.get_domain(), epsilon=4.0),
        PlausibleDeniabilitySynthesizer(first.metadata, domain=own),
    ):
        assert synth.plan().ledger.claims_privacy
    second = PlausibleDeniabilitySynthesizer(first.metadata, domain=first.get_domain(), epsilon=4.0)
    second.fit(table(600)[["sex", "name"]])
    second.release().save(tmp_path / "second.release")
    later = PlausibleDeniabilitySynthesizer.from_release(Release.load(tmp_path / "second.release"))
    first.get_domain().save(tmp_path / "d.json")
    for one in (
        second.metadata,
        second.get_metadata(),
        pickle.loads(pickle.dumps(second)).metadata,
        later.metadata,
        *map(metadata_of, (first.get_domain(), tmp_path / "d.json", second.get_domain())),
    ):
        with pytest.raises(ValueError, match="were voted for by an earlier fit"):
            PlausibleDeniabilitySynthesizer(one)
        with pytest.raises(ValueError, match="were voted for by an earlier fit"):
            PlausibleDeniabilitySynthesizer(one, domain="written")
    assert made(table(600)[["sex"]], types="declared").get_metadata().to_dict()
    assert domain.learned


def test_a_fit_after_a_vote_keeps_what_it_planned(tmp_path: Any) -> None:
    metadata_, domain = voted_before("categorical")
    synth = PlausibleDeniabilitySynthesizer(
        metadata_, domain=domain, epsilon=7.0, delta=1e-6, model="correlated"
    )
    planned = synth.plan().ledger
    synth.fit(table(3000)[["sex"]].assign(**{name: voted_cells("categorical", 1) for name in "abc"}))
    assert synth.privacy_ledger().losses == planned.losses
    synth.release().save(tmp_path / "later.release")
    assert Release.load(tmp_path / "later.release").ledger.total() == planned.total()


@pytest.mark.parametrize("outcome", VOTED[:2])
def test_a_second_vote_after_a_vote_is_refused_before_the_draw(
    outcome: str, tmp_path: Any, capsys: Any
) -> None:
    """Which columns it would be on is an answer of the first: at every door."""
    _, domain = voted_before(outcome)
    frame = table(300)[["sex"]].assign(**{name: voted_cells(outcome, 1)[:300] for name in "abc"})
    frame.assign(more="x").to_csv(tmp_path / "t.csv", index=False)
    domain.save(tmp_path / "d.json")
    budget = Budget(50, 1e-5, tmp_path / "b.budget")
    with pytest.raises(ValueError, match="which columns an earlier vote left so"):
        made(frame.assign(more="x"), domain=domain, epsilon=7.0, delta=1e-6, budget=budget).fit(
            frame.assign(more="x")
        )
    with pytest.raises(ValueError, match="which columns an earlier vote left so"):
        fit_source(tmp_path / "t.csv", domain=domain, types="voted", epsilon=7.0, delta=1e-6, budget=budget)
    words = [
        "fit",
        str(tmp_path / "t.csv"),
        "--domain",
        str(tmp_path / "d.json"),
        "-o",
        str(tmp_path / "r.release"),
    ]
    assert main([*words, "--epsilon", "7", "--delta", "1e-6"]) == 2
    assert "which columns an earlier vote left so" in capsys.readouterr().err
    assert budget.charged()["epsilon"] == 0


def test_values_that_a_vote_left_open_are_not_learned_after_it(tmp_path: Any) -> None:
    """Which columns are in no learned domain is an answer of the vote; from_release learns all of them anew."""
    _, domain = voted_before("id")
    told = metadata_from_columns({name: {"sdtype": "categorical"} for name in ("sex", "a", "b", "c")})
    budget = Budget(50, 1e-5, tmp_path / "b.budget")
    frame = table(300)[["sex"]].assign(**{name: voted_cells("id", 1)[:300] for name in "abc"})
    with pytest.raises(ValueError, match="a, b, c are open, and which columns an earlier vote left so"):
        PlausibleDeniabilitySynthesizer(told, domain=domain, epsilon=7.0, delta=1e-6, budget=budget).fit(
            frame
        )
    with pytest.raises(ValueError, match="which columns an earlier vote left so"):
        fit_source(frame, told, domain=domain, epsilon=7.0, delta=1e-6, budget=budget)
    assert budget.charged()["epsilon"] == 0
    ids = DomainFile(
        columns={**{one.name: one for one in domain}, **{name: {"sdtype": "id"} for name in "abc"}},
        learned=domain.learned,
    )
    synth = PlausibleDeniabilitySynthesizer(
        metadata_from_columns({"sex": {"sdtype": "categorical"}, **{name: {"sdtype": "id"} for name in "abc"}}),
        domain=ids, epsilon=7.0, delta=1e-6,
    )  # fmt: skip
    synth.fit(frame)
    again = PlausibleDeniabilitySynthesizer.from_release(synth.release(), epsilon=14.0)
    again.fit(frame)
    assert again.privacy_ledger().claims_privacy


@pytest.mark.parametrize("model", ["correlated", "independent"])
def test_a_fit_anew_of_a_release_after_a_vote_costs_the_same_whatever_was_found(model: str) -> None:
    """And so does the fit that is given its domain."""
    found = set()
    for outcome in VOTED[:2]:
        metadata_, domain = voted_before(outcome)
        frame = table(600)[["sex"]].assign(**{name: voted_cells(outcome, 1)[:600] for name in "abc"})
        synth = PlausibleDeniabilitySynthesizer(
            metadata_, domain=domain, epsilon=7.0, delta=1e-6, model=model
        )
        synth.fit(frame)
        again = PlausibleDeniabilitySynthesizer.from_release(synth.release(), epsilon=14.0)
        again.fit(frame)
        told = metadata_from_columns(words_of(again))
        later = PlausibleDeniabilitySynthesizer(
            told, domain=again.get_domain(), epsilon=21.0, delta=1e-6, model=model
        )
        found.add((again.privacy_ledger().losses, later.plan().ledger.losses))
    assert len(found) == 1


def test_types_of_another_vote_are_not_paid_for() -> None:
    """Patterns of ids are answers of it, too. Control: those of the domain's own vote, and what is declared."""
    own, domain = voted_before("id")
    other = deepcopy(own)
    other.update_column(column_name="a", sdtype="id", regex_format="[a-z]{3}")
    for metadata_ in (other, voted_before("categorical")[0]):
        with pytest.raises(ValueError, match="were voted for by an earlier fit"):
            PlausibleDeniabilitySynthesizer(metadata_, domain=domain, epsilon=7.0, delta=1e-6)
    later = PlausibleDeniabilitySynthesizer(own, domain=domain, epsilon=7.0, delta=1e-6)
    assert later.plan().ledger.claims_privacy
    assert domain.learned["types"]["a"] == {"sdtype": "id", "regex_format": words(own)["a"]["regex_format"]}


def words(metadata_: Any) -> dict[str, Any]:
    (found,) = metadata_.to_dict()["tables"].values()
    return found["columns"]


class ForTwo(Uniform):
    """Laplace noise for two columns, Gaussian for any other number: how many there are is an answer."""

    def plan(self, domain: Domain, budget: Any) -> list[LedgerEntry]:
        if len(domain) != 2:
            return [budget.entry("counts")]
        return [
            LedgerEntry(
                name="model", mechanism="m", scope="model", losses=(PureDP(epsilon=0.2 * budget.epsilon),)
            )
        ]


@pytest.mark.parametrize("fault", [False, True])
def test_no_number_of_columns_in_between_ends_a_fit_that_has_paid(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, fault: bool
) -> None:
    """Of three whose types are open one is an id. Planted: the fewest and the most alone are planned."""
    frame = table(2000)[["sex", "sure", "name"]]
    if fault:
        monkeypatch.setattr(run_module, "is_ours", lambda learner: isinstance(learner, ForTwo))
    budget = Budget(20.0, 1e-6, tmp_path / "b")
    synth = made(frame, epsilon=4.0, model=ForTwo(), budget=budget)
    if fault:
        with pytest.raises(ValueError, match="'learning' must stand for all"):
            synth.fit(frame)
        assert budget.charged()["epsilon"] > 0
        return
    synth.fit(frame)
    assert [types_of(synth)[name] for name in frame] == ["categorical", "boolean", "id"]
    assert synth.privacy_ledger().claims_privacy


def test_columns_of_another_learned_domain_are_not_paid_for(tmp_path: Any) -> None:
    frame = pd.DataFrame({name: ["x", "y", "z"] * 500 for name in "abcd"})

    def learned(names: str, epsilon: float) -> Domain:
        synth = made(frame[[*names]], types="declared", epsilon=epsilon)
        synth.fit(frame[[*names]])
        return synth.get_domain()

    first, second = learned("ab", 1.0), learned("cd", 8.0)
    assert first.learned is not None
    assert [*first.learned["columns"]] == ["a", "b"]
    both = run_module.replace(first, attributes=(*first, *second))
    both.save(tmp_path / "both.json")
    for domain in (both, tmp_path / "both.json"):
        with pytest.raises(ValueError, match="what learning c, d as it is here cost is not with it"):
            made(frame, types="declared", domain=domain, epsilon=2.0)
    dearer = learned("ab", 8.0)  # of the same names, by another fit
    other = [run_module.replace(one, values=("x", "y", "w")) for one in dearer]
    mixed = run_module.replace(first, attributes=(first["a"], other[1]))
    mixed.save(tmp_path / "mixed.json")
    for domain in (mixed, tmp_path / "mixed.json"):
        with pytest.raises(ValueError, match="what learning b as it is here cost is not with it"):
            made(frame[["a", "b"]], types="declared", domain=domain, epsilon=9.0)
    declared = {"b": {"range_values": ["x", "y", "z"]}}
    synth = made(frame[["a", "b"]], types="declared", domain=declared)
    synth.fit(frame[["a", "b"]])
    assert [*synth.get_domain().learned["columns"]] == ["a"]  # another's "b" would be no column of this fit
    few = run_module.replace(first, attributes=tuple(first)[:1])
    assert made(frame[["a"]], types="declared", domain=few, epsilon=9.0).plan().ledger.claims_privacy


def test_a_domain_that_is_passed_on_costs_what_it_cost(tmp_path: Any) -> None:
    """A fit that learned no value set adds nothing to what the next one pays for them."""
    _, domain = voted_before("categorical")
    frame, costs = (
        table(600)[["sex"]].assign(**{name: voted_cells("categorical", 1)[:600] for name in "abc"}),
        [],
    )
    told = metadata_from_columns({name: {"sdtype": "categorical"} for name in frame})
    for _ in range(3):
        synth = PlausibleDeniabilitySynthesizer(told, domain=domain, epsilon=7.0, delta=1e-6)
        costs.append(synth.plan().ledger.losses)
        synth.fit(frame)
        domain = synth.get_domain()
    assert costs[0] == costs[1] == costs[2]


def test_a_plan_by_learned_values_is_refused_after_the_domain_was_learned(tmp_path: Any) -> None:
    class Odd(PaperNetwork):
        def plan(self, domain: Any, budget: Any) -> Any:
            few = next(iter(domain)).cardinality < 3  # 1 or 2 of a learned column
            loss = GaussianLoss(sensitivity_over_sigma=0.1 if few else 0.01)
            return [run_module.replace(entry, losses=(loss,)) for entry in super().plan(domain, budget)]

    frame = pd.DataFrame({"a": ["x", "y", "z", "w"] * 500})
    first = made(frame, types="declared", epsilon=3.0)
    first.fit(frame)
    budget = Budget(9, 1e-6, tmp_path / "b.budget")
    with pytest.raises(ValueError, match="plans by value sets that were learned"):
        made(frame, types="declared", domain=first.get_domain(), model=Odd(), epsilon=5.0, budget=budget).fit(
            frame
        )
    assert budget.charged()["epsilon"] == 0


@pytest.mark.parametrize("model", ["correlated", PaperNetwork(noise="paper")], ids=["greedy", "printed"])
@pytest.mark.parametrize("delta", [1e-11, 1e-9])
def test_a_domain_from_before_is_within_epsilon_with_any_noise(model: Any, delta: float) -> None:
    frame = table(400)[["age", "sex"]]
    first = made(frame[["age"]], types="declared", epsilon=0.3, delta=delta)
    first.fit(frame[["age"]])
    ledger = made(frame, domain=first.get_domain(), model=model, epsilon=1.0).plan().ledger
    assert 0.9 < ledger.total() <= 1.0
    with pytest.raises(ValueError, match="is used up"):
        made(frame, domain=first.get_domain(), model=model, epsilon=0.1).plan()


def test_a_learner_that_names_no_part_is_within_the_envelope() -> None:
    class Odd(PaperNetwork):
        def plan(self, domain: Any, budget: Any) -> Any:
            return [run_module.replace(entry, parts=()) for entry in super().plan(domain, budget)]

    one, *others = plans(made(table(5).iloc[:, :3], model=Odd(), epsilon=1.3)._as_fit())
    assert one.total() <= 1.3
    assert all(other.losses == one.losses for other in others)


def test_a_plan_that_hangs_on_the_learned_domain_is_refused_within_an_envelope(tmp_path: Any) -> None:
    """As it is without a vote: losses that are chosen in the light of the domain's answers have no such bound."""

    class Odd(PaperNetwork):
        def plan(self, domain: Any, budget: Any) -> Any:
            few = next(iter(domain)).cardinality < 3  # a plan sees one code
            loss = PureDP(epsilon=0.1) if few else ApproxDP(epsilon=0.0, delta=1e-12)
            entry = super().plan(domain, budget)[0]
            return [run_module.replace(entry, losses=(loss,))]

    frame = pd.DataFrame({"a": ["x", "y", "z", "w"] * 500, "b": ["k"] * 2000})
    with pytest.raises(ValueError, match="plans by value sets that were learned"):
        made(frame, model=Odd()).fit(frame)


@pytest.mark.parametrize("more", [True, False])
def test_a_plan_by_learned_values_is_refused_whether_it_asks_for_more_or_for_less(more: bool) -> None:
    """One that charges less than was planned would have a total that the learned domain has chosen."""

    class Odd(PaperNetwork):
        def plan(self, domain: Any, budget: Any) -> Any:
            entries = super().plan(domain, budget)
            few = next(iter(domain)).cardinality < 3
            return entries if few == more else entries[:-1]

    frame = pd.DataFrame({"a": ["x", "y", "z", "w"] * 500, "b": ["k", "l"] * 1000})
    synth = made(frame, types="declared", model=Odd(structure="independent"))
    with pytest.raises(ValueError, match="plans by value sets that were learned|what its plan did not say"):
        synth.fit(frame)


def test_the_outcome_with_fewest_columns_is_planned_before_the_draw(tmp_path: Any) -> None:
    class Odd(PaperNetwork):
        def plan(self, domain: Any, budget: Any) -> Any:
            entries = super().plan(domain, budget)
            return (
                entries
                if len(domain) > 1
                else [run_module.replace(entries[0], losses=(PureDP(epsilon=0.01),))]
            )

    fit = made(table(5).iloc[:, :3], model=Odd(), epsilon=1.3)._as_fit()
    assert fit.told.fewest == {"age": CATEGORY, "fee": {"sdtype": "id"}, "day": {"sdtype": "id"}}
    assert gaussian_cost(fit.plan().ledger.envelope.losses) is None  # it stands for anything
    assert fit.with_types(fit.told.fewest).plan().ledger.losses == fit.plan().ledger.losses
    told = made(table(5), domain={"sex": {"range_values": ["f", "m"]}})._as_fit().told
    assert {one["sdtype"] for one in told.fewest.values()} == {"id"}


def test_a_look_at_a_column_stays_on_record_though_its_type_is_open(tmp_path: Any) -> None:
    frame, path = table(600)[["age", "sex"]], tmp_path / "v.json"
    path.write_text(json.dumps({"age": {"sdtype": "numerical", "range_min": 0, "range_max": 99}}))
    made(frame, domain=path).validate(frame)
    synth = made(frame, domain=path)
    synth.fit(frame)
    domain = synth.get_domain()
    assert set(domain.looked) == {"age", "sex"}
    edited = Domain(tuple(
        run_module.replace(one, values=("f", "m", "in one row"), counts=None) if one.name == "sex" else one for one in domain
    ), learned=domain.learned, looked=domain.looked, looked_rules=domain.looked_rules)  # fmt: skip
    told = metadata_from_columns(words_of(synth))
    assert not PlausibleDeniabilitySynthesizer(told, domain=edited, epsilon=20.0).plan().ledger.claims_privacy
    assert PlausibleDeniabilitySynthesizer(told, domain=domain, epsilon=20.0).plan().ledger.claims_privacy


def test_looks_at_columns_that_stand_in_for_declared_ones_stay_on_record() -> None:
    """They are neither declared nor open. Control: a look at what an open column may become is given up."""
    fee = {"sdtype": "numerical", "resolution": 0.5, "range_min": 0.0, "range_max": 900.0}
    _, _, seen = made(table(5), domain={"fee": fee})._as_fit().told.read()
    (stand_in,) = (name for name in seen if name.startswith("fee"))
    assert stand_in not in table(5)
    for looked, claims in ((stand_in, False), ("day: time (s)", True)):
        told = DomainFile(columns={"fee": fee}, looked={looked: digest({})})
        assert (looked in left_open(table(5), told, None)[1].looked) == (not claims)
        assert made(table(5), domain=told).plan().ledger.claims_privacy == claims


def test_looks_at_the_columns_that_a_voted_moment_becomes_end_no_fit_that_has_paid(tmp_path: Any) -> None:
    frame = with_moments()
    first = made(frame)
    first.fit(frame)
    domain = first.get_domain()
    assert "when: time (s)" in domain.looked
    told = DomainFile(columns={"age": {"sdtype": "numerical"}}, looked=dict(domain.looked))
    budget = Budget(20.0, 1e-6, tmp_path / "b")
    synth = made(frame, domain=told, epsilon=15.0, budget=budget)
    synth.fit(frame)
    assert types_of(synth)["when"] == "datetime"
    assert synth.privacy_ledger().claims_privacy


def test_a_vote_that_may_end_the_claim_is_refused_before_the_draw(tmp_path: Any) -> None:
    frame, budget = with_moments(), Budget(20.0, 1e-6, tmp_path / "b")
    synth = made(frame, budget=budget)
    honest = Fit._read_as

    def ended(fit: Fit, found: Any) -> Fit:
        seen = LedgerEntry(name="x", mechanism="x", losses=(InfiniteLoss(),), scope="x", note="seen")
        return run_module.replace(honest(fit, found), side=(*fit.side, seen))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Fit, "_read_as", ended)
        with pytest.raises(ValueError, match="the vote may end the claim"):
            synth.fit(frame)
    assert budget.charged()["epsilon"] == 0


@pytest.mark.parametrize("form", ["%Y-%m-%d %H:%M:%S", "%m/%d/%Y %H:%M", "%Y-%m-%dT%H:%M:%SZ"])
@pytest.mark.parametrize("door", ["synthesizer", "source"])
def test_names_that_a_moment_would_need_are_refused_before_the_draw(
    door: str, form: str, tmp_path: Any
) -> None:
    unit = "s" if "%S" in form else "min"
    frame = (
        with_moments(800)
        .assign(when=lambda t: t["when"].dt.strftime(form))
        .assign(**{f"when: time ({unit})": 1})
    )
    budget = Budget(9.0, 1e-6, tmp_path / "b")
    fit = (
        made(frame, budget=budget).fit
        if door == "synthesizer"
        else partial(fit_source, types="voted", epsilon=9.0, budget=budget)
    )
    with pytest.raises(ValueError, match="the table has a column"):
        fit(frame)
    assert budget.charged()["epsilon"] == 0


def test_settings_of_the_next_fit_do_not_change_what_a_domain_cost() -> None:
    frame = table(800)[["age", "sex"]]
    synth = made(frame, epsilon=2.0)
    synth.fit(frame)
    learned = synth.get_domain().learned
    for options in ({"epsilon": 0.01}, {"delta": 1e-15}, {"test": "randomized"}):
        back = PlausibleDeniabilitySynthesizer.from_release(synth.release(), **options)
        assert back.get_domain().learned == learned


def test_lines_within_the_envelope_are_not_shown_as_if_on_top() -> None:
    frame = table(400)[["age", "sex"]]
    synth = made(frame)
    synth.fit(frame)
    ledger = synth.privacy_ledger()
    kinds = {
        entry["name"]: (entry["provenance"], entry["epsilon"], entry["cost"])
        for entry in ledger.to_dict()["entries"]
    }
    assert {kinds[name] for name in ("domain", "model")} == {("within another", None, "in learning")}
    assert kinds["learning"][0] == "charged"
    told = to_registry(ledger)
    assert (
        told.count("- model:") == told.count("- domain:") == 1
    )  # among the mechanisms, and not among the costs
    assert "type_votes.md" in to_conformance(ledger)
    assert "in learning" in str(ledger)


def test_planted_losses_of_the_outcome_make_a_total_that_hangs_on_it() -> None:
    """Truth values need no thresholds, so that more is left for noise; random rows cost what their domain does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sdv_plausible.privacy.ledger.counted", lambda entries: [
            e for e in entries if not e.envelope
        ])  # fmt: skip
        for model in ("bayesian_network", "random"):
            fit = made(table(5), model=model, epsilon=1.3)._as_fit()
            assert len({round(one.total(1e-6), 9) for one in plans(fit)}) > 1


def test_a_learner_beyond_what_was_kept_is_refused_before_anything_is_drawn(tmp_path: Any) -> None:
    """Gaussian noise that does not keep to the budget: of all columns, and of most of them alone."""

    class Greedy(PaperNetwork):
        least = 0

        def plan(self, domain: Any, budget: Any) -> Any:
            if len(domain) > self.least:
                left = budget.left
                budget = run_module.replace(budget, left=None if left is None else 1.01 * left)
            return super().plan(domain, budget)

    for least in (0, 7):  # of seven columns as moments there are fourteen
        Greedy.least = least
        budget = Budget(500.0, 1e-6, tmp_path / f"{least}.budget")
        with pytest.raises(ValueError, match="entry 'learning' must stand for all"):
            made(table(500), model=Greedy(), budget=budget, epsilon=0.4).fit(table(500))
        assert budget.charged()["epsilon"] == 0


def test_what_was_not_kept_is_never_charged() -> None:
    """The ledger refuses after the vote what was not drawn before it: here, a domain that grew."""
    frame, private, vote, voted = table(300), Fit._private, type_votes.vote_types, []

    def grown(fit: Fit, *told: Any) -> Any:
        plan = private(fit, *told)
        return run_module.replace(plan, mu=9 * plan.mu) if voted else plan

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type_votes, "vote_types", lambda *told: voted.append(1) or vote(*told))
        patch.setattr(Fit, "_private", grown)
        with pytest.raises(ValueError, match="entry 'learning' must stand for all"):
            made(frame).fit(frame)
    assert voted


@pytest.mark.parametrize("model", ["bayesian_network", "correlated"])
def test_the_domain_of_a_vote_costs_the_same_whatever_the_types(model: str) -> None:
    """Whoever is given it pays for the vote and the most that value sets may cost, not for the model."""
    costs = set()
    for names in (["age", "sex"], ["sure", "name"]):
        frame = table(2000)[names].set_axis(["a", "b"], axis=1)
        synth = made(frame, model=model, epsilon=2.0)
        synth.fit(frame)
        told = metadata_from_columns(words_of(synth))
        later = PlausibleDeniabilitySynthesizer(told, domain=synth.get_domain(), epsilon=9.0)
        entries = later.plan().ledger.entries
        assert [entry.name for entry in entries if entry.envelope] == ["learning"]  # this fit's own
        costs.add(
            tuple(loss for e in entries if e.mechanism.startswith("learned earlier") for loss in e.losses)
        )
        assert later.plan().ledger.total() <= 9.0
    assert len(costs) == 1


def with_moments(n: int = 1500) -> pd.DataFrame:
    when = pd.Timestamp("2020-01-01 00:00:01") + pd.to_timedelta(np.arange(n) * 7919, unit="s")
    return table(n)[["age", "sex"]].assign(when=when)


def test_moments_that_were_voted_for_are_split_again_by_a_fit_anew() -> None:
    """Before, the rule that the vote had made was taken for one that somebody knew."""
    frame = with_moments()
    synth = made(frame)
    synth.fit(frame)
    back = PlausibleDeniabilitySynthesizer.from_release(synth.release())
    assert back.plan().ledger.losses == synth.plan().ledger.losses
    assert len(back.sample(3)) == 3
    back.fit(frame.assign(when=frame["age"]))
    assert types_of(back)["when"] == "numerical"


def test_a_workload_names_columns_whose_types_are_known() -> None:
    """Otherwise the vote could make an id of one, and a paid fit would end."""
    with pytest.raises(ValueError, match=r"model \(AdaptiveNetwork\) names its columns, and the types of"):
        made(table(), model=AdaptiveNetwork(workload=[["age", "sex"]]))


def test_a_published_table_may_lack_a_moment_that_is_voted_for() -> None:
    frame = with_moments()
    synth = made(frame, public=frame[["age", "sex"]].iloc[::2])
    synth.fit(frame)
    assert types_of(synth)["when"] == "datetime"
    assert pd.to_datetime(synth.sample(200)["when"], format="ISO8601").nunique() > 50


@pytest.mark.parametrize("filter_", FILTERS)
def test_a_vote_beside_a_domain_that_was_learned_before(filter_: str, tmp_path: Any) -> None:
    frame = with_moments()
    first = PlausibleDeniabilitySynthesizer(
        metadata_from_columns({"age": {"sdtype": "numerical"}}), epsilon=1.0
    )
    first.fit(frame[["age"]])
    budget = Budget(9.0, 1e-6, tmp_path / "b", filter=filter_)
    synth = made(frame, domain=first.get_domain(), epsilon=6.0, delta=1e-8, budget=budget)
    synth.fit(frame)
    ledger = synth.privacy_ledger()
    assert [entry.name for entry in ledger.entries if entry.losses][:3] == ["domain", "types", "learning"]
    assert [entry.envelope for entry in ledger.entries if entry.losses][:3] == [False, False, True]
    assert 0.98 * 6 < ledger.total() <= 6.0  # of Gaussians of two sizes the calibration is coarser
    assert budget.covers(ledger)


def test_the_budget_pays_before_the_first_question(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    frame, budget, honest, seen = table(), Budget(3.0, 1e-8, tmp_path / "b"), type_votes.vote_types, []
    monkeypatch.setattr(
        type_votes, "vote_types", lambda *told: seen.append(dict(budget.charged())) or honest(*told)
    )
    synth = made(frame, epsilon=2.0, budget=budget, person=Person("home", rows=2))
    synth.fit(frame)
    assert seen == [{"epsilon": pytest.approx(2.0, rel=0.01), "delta": 1e-9}]
    assert budget.charged() == seen[0]
    assert budget.covers(synth.privacy_ledger())
    with pytest.raises(BudgetExceededError, match="would exceed"):
        synth.fit(frame)
    assert len(seen) == 1


# --- whom it protects -----------------------------------------------------------------------------------------


def noise_of_the_vote(frame: pd.DataFrame, **options: Any) -> list[tuple[float, float]]:
    """Sensitivity and scale of every answer of a vote, before the domain is asked for."""
    calls: list[Any] = []
    honest = type_votes.vote_types

    def vote(*told: Any) -> Any:
        with record_calls() as seen:
            found = honest(*told)
        calls.extend((call.sensitivity, call.scale) for call in seen)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type_votes, "vote_types", vote)
        made(frame, domain={"home": {"sdtype": "id"}}, **options).fit(frame)
    return calls


def scaled(frame: pd.DataFrame) -> None:
    """Three rows of a person move every count by three: noise is three times as large, of a replaced one more."""
    one = noise_of_the_vote(frame, person=Person("home", rows=1))
    three = noise_of_the_vote(frame, person=Person("home", rows=3))
    replaced = noise_of_the_vote(frame, person=Person("home", rows=3), neighbours="replace_one")
    for at in (0, 1):  # the number of rows, and the families of a column
        assert one[at][0] == 1
        for other, factor in ((three, 3.0), (replaced, 3 * 2**0.5)):
            assert other[at][0] == pytest.approx(factor)
            assert other[at][1] == pytest.approx(factor * one[at][1], rel=1e-3)


def test_a_person_with_several_rows_is_protected_by_the_vote_too() -> None:
    scaled(table(600))


def test_planted_the_sensitivity_of_one_row_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CellKinds, "sensitivity", lambda *_: ONE_ROW.histogram_l2)
    with pytest.raises(AssertionError):
        scaled(table(600))


def test_the_rows_that_vote_are_those_chosen() -> None:
    """Of one person with all the text a row votes: it decides nothing. Control: of many people it does."""
    frame = table(2000)[["age", "home"]].assign(home=lambda t: t.index)
    frame["age"] = frame["age"].astype(object)
    frame.loc[:999, "age"] = "text"
    for home, expected in ((0, "numerical"), (frame.index[:1000], "categorical")):
        table_ = frame.copy()
        table_.loc[:999, "home"] = home
        synth = made(table_, person=Person("home", rows=1), random_state=3)
        synth.fit(table_)
        assert types_of(synth)["age"] == expected


# --- cells ------------------------------------------------------------------------------------------------------


def test_typed_columns_vote_as_the_texts_of_a_file() -> None:
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
    typed, read = (read_again(one, column_types(texts), Spelling()) for one in (frame, written))
    (one, _), (two, _) = (held_vote(one, 9.0, 1e-9, Coins.from_seed(1)) for one in (typed, read))
    assert {name: words["sdtype"] for name, words in one.items()} == {
        **FOUND, "when": "datetime", "date": "datetime", "price": "numerical", "group": "categorical",
    }  # fmt: skip
    assert one == two
    values = [read_again(x, column_types(one), Spelling()) for x in (frame, written)]
    pd.testing.assert_frame_equal(*values)


@pytest.mark.parametrize("types", ["declared", "voted"])
def test_a_number_beyond_all_doubles_is_told_by_no_warning(types: Any) -> None:
    """Which ends a fit that has paid, where warnings are errors, as they are here."""
    far = np.arange(240.0).astype("longdouble")
    far[0] = np.longdouble("1e4000")
    frame = pd.DataFrame({"num": far})
    given = metadata_from_columns({"num": {"sdtype": "numerical"}})
    synth = PlausibleDeniabilitySynthesizer(given, types=types, epsilon=9.0)
    synth.fit(frame)
    assert synth.privacy_ledger().claims_privacy


def test_a_cell_is_read_alone() -> None:
    """1 is 1 whether another row is missing or not; a moment is written as itself, whatever the others are."""
    spelling = Spelling(decimal=",")
    for cells in ([1, 2], [1, None], [1.0, "x"], [True, 1]):
        frame = pd.DataFrame({"x": cells})
        read = read_again(frame, column_types({"x": CATEGORY}), spelling)["x"]
        assert [text for text in read if text in ("1", "1.0")] == ["1"]
    day, noon = pd.Timestamp("2020-02-03"), pd.Timestamp("2020-02-03 12:30:00")
    assert text_of(day, spelling) == text_of(day.date(), spelling) == "2020-02-03"
    assert text_of(noon, spelling) == "2020-02-03 12:30:00"
    assert text_of(day, spelling, "%Y-%m-%d %H:%M:%S") == "2020-02-03 00:00:00"
    assert (
        text_of(noon, spelling, "%Y-%m-%d") == "2020-02-03 12:30:00"
    )  # which is then no date of that format
    assert text_of(noon, spelling, "%Y-%m-%d %H:%M:%S%z") == "2020-02-03 12:30:00"
    assert text_of(noon.tz_localize("UTC"), spelling) == "2020-02-03 12:30:00+00:00"
    assert text_of(day, spelling, "%d-%b-%Y") == "03-Feb-2020"
    assert text_of(1.5, spelling) == "1,5"
    assert kind_of(text_of(1e-9, spelling), spelling) == "number"
    odd = pd.DataFrame({"x": [..., "y" * 200_000, b"b", float("nan"), pd.NaT]}, dtype=object)
    assert read_again(odd, column_types({"x": CATEGORY}), spelling)["x"].isna().all()


def test_the_ledger_that_leaves_holds_no_watch() -> None:
    frame = table(300)
    synth = made(frame)
    synth.fit(frame)
    assert isinstance(synth._ledger, PrivacyLedger)
    assert {"before_charge", "after_charge"}.isdisjoint(vars(synth._ledger))
