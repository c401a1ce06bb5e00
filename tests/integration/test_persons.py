"""People with several rows, through SDV: what their column and rows leave behind, and the ledger's words."""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import each_once

from sdv_plausible import Person, PlausibleDeniabilitySynthesizer, fit_source
from sdv_plausible.cli.main import main
from sdv_plausible.extensions.app.pages.release_request import read_request
from sdv_plausible.extensions.app.review.review import ReviewedTable
from sdv_plausible.privacy.accounting.composition import calibrate_gaussian
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.sdv import synthesizer as _synthesizer
from sdv_plausible.sdv.metadata import detect_metadata, metadata_from_columns
from sdv_plausible.table.declared import column_types as _column_types
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.declared.domain_file import DomainFile, draft_domain_file
from tests.flat import values

COLUMNS: dict[str, dict[str, Any]] = {
    "home": {"sdtype": "categorical"},
    "ticket": {"sdtype": "id", "regex_format": "T[0-9]{6}"},
    "city": {"sdtype": "categorical"},
    "age": {"sdtype": "numerical"},
}
DECLARED = {
    "city": {"range_values": ["Basel", "Bern", "Chur"], "range_is_nullable": False},
    "age": {"range_min": 0, "range_max": 99, "range_is_nullable": False},
}
Synth = PlausibleDeniabilitySynthesizer
ALONE, SECRET = "home-of-200-rows", "only-one-has-this"


def table(n: int = 6000) -> pd.DataFrame:
    """Homes of about six rows, and one of 200 rows which alone has a city."""
    rng = np.random.default_rng(3)
    homes, tickets = [f"home-{i}" for i in rng.integers(0, n // 6, n)], [f"T{i:06d}" for i in range(n)]
    cities, ages = rng.choice(["Basel", "Bern", "Chur"], n), rng.integers(0, 100, n)
    frame = pd.DataFrame({"home": homes, "ticket": tickets, "city": cities, "age": ages})
    frame.loc[rng.choice(n, 200, replace=False), ["home", "city"]] = [ALONE, SECRET]
    return frame


def fitted(frame: pd.DataFrame | None = None, metadata: Any = None, **options: Any) -> Synth:
    options = {"undeclared": "private", "epsilon": 8.0, **options}
    synth = Synth(metadata or metadata_from_columns(COLUMNS), **values(**options))
    synth.fit(table() if frame is None else frame)
    return synth


def everything(synth: Synth) -> str:
    """Rows, ledger and the saved object, as text."""
    rows = synth.sample(2000)
    return rows.to_csv() + str(synth.privacy_ledger()) + pickle.dumps(synth).decode("latin-1")


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ("written", {}),
        ("detected", {"split": (0.3, 0.3, 0.4)}),
        ("written", {"omega": 1, "epsilon0": 4.0, "k": 2}),
    ],
)
def test_a_value_of_one_person_alone_never_leaves(source: str, options: dict[str, Any]) -> None:
    frame = table()
    metadata = metadata_from_columns(COLUMNS) if source == "written" else detect_metadata(frame)
    if source == "detected":
        metadata.update_column("home", sdtype="categorical")
        metadata.update_column("city", sdtype="categorical")
    shown = everything(fitted(frame, metadata, person="home", rows_per_person=3, **options))
    assert SECRET not in shown
    assert "Basel" in shown
    assert not re.search(r"home-\d", shown)  # nobody's home, nor that of 200 rows
    assert ALONE not in shown


def test_planted_without_a_person_two_hundred_rows_are_two_hundred_people() -> None:
    """The value stands 20 standard deviations above its threshold: hardly ever missed, far below 1e-6."""
    shown = everything(fitted(table().assign(home="x")))
    assert SECRET in shown


def test_planted_the_person_column_modelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_synthesizer, "with_person", lambda metadata, *_: metadata)
    monkeypatch.setattr(_column_types, "person_spec", lambda *_: {"sdtype": "categorical"})
    frame = table().assign(home=lambda t: "home-" + (t["age"] // 34).astype(str))  # few homes of many rows
    domain = {**DECLARED, "home": {"range_values": sorted(frame["home"].unique())}}
    shown = everything(fitted(frame, person="home", rows_per_person=2000, domain=domain))
    assert re.search(r"home-\d", shown)


def test_the_person_column_is_invented_whatever_it_was() -> None:
    frame = table().assign(day=pd.Timestamp("2020-01-01"))
    frame["number"] = frame.groupby("home").ngroup() + 20_000_000  # invented ones are below 2^24
    day = {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"}
    columns = {**COLUMNS, "day": day, "number": {"sdtype": "numerical"}}
    for person in ("number", "day", "city", "ticket"):
        synth = fitted(frame, metadata_from_columns(columns), person=person, rows_per_person=50)
        rows = synth.sample(300)
        assert person not in synth.get_structure()
        assert list(rows.columns) == list(frame.columns)
        assert not set(rows[person].astype(str)) & set(frame[person].astype(str)) or person == "ticket"
        assert synth.metadata.tables["table"].columns[person]["sdtype"] == "id"
    assert rows["ticket"].str.fullmatch(r"T\d{6}").all()  # its own pattern


def at_synthesizer(domain: Any, types: str, folder: Path) -> None:
    given: dict[str, Any] = {"domain": domain, "types": types, "person": "home", "epsilon": 8.0}
    synth = Synth(metadata_from_columns(COLUMNS), **given)
    assert synth.metadata.tables["table"].columns["home"]["sdtype"] == "id"
    synth.plan()


def at_source(domain: Any, types: str, folder: Path) -> None:
    release = fit_source(
        table(600), None if types == "voted" else COLUMNS, domain, types=types, person="home", epsilon=8.0,  # type: ignore[arg-type]
        model="independent", scratch=folder, allow_no_claim=True,
    )  # fmt: skip
    assert "home" not in release.domain.names


def at_command(domain: Any, types: str, folder: Path, *words: str) -> None:
    table(600).to_csv(folder / "t.csv", index=False)
    (folder / "m.json").write_text(json.dumps({"columns": COLUMNS}))
    DomainFile(columns=domain).save(folder / "d.json")
    given = ["--metadata", "m.json", "--domain", "d.json", "--person", "home"]
    words = words or ("plan", *given, "--types", types)
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(said := io.StringIO()):
        patch.chdir(folder)
        code = main(list(words))
    if code:
        raise ValueError(said.getvalue().removeprefix("sdv-plausible: error: "))


def at_private(domain: Any, types: str, folder: Path) -> None:
    rest = {name: words for name, words in COLUMNS.items() if name != "home"}
    given = ["--domain", "d.json", "--person", "home", "--private", "8", "--overwrite"]
    at_command({**rest, **domain}, types, folder, "declare", "t.csv", "-o", "out.json", *given)


def at_app(domain: Any, types: str, folder: Path) -> None:
    rest = {} if types == "voted" else {name: words for name, words in COLUMNS.items() if name != "home"}
    table(600).to_csv(folder / "t.csv", index=False)
    file = draft_domain_file([*COLUMNS], {**rest, **domain})
    order, _ = read_request(ReviewedTable(folder / "t.csv", tuple(COLUMNS), {}), file, {"person": "home"})
    assert order is not None
    assert order.types["home"].sdtype == "id"
    order.plan()


AT = (at_synthesizer, at_source, at_command, at_private, at_app)
MODELLED = [
    {"sdtype": "categorical"},
    {"range_values": ["a", "b"]},
    {"kind": "categorical", "values": ["a", "b"], "nullable": False},
]


@pytest.mark.parametrize("door", AT)
@pytest.mark.parametrize("types", ["declared", "voted", pytest.param("detected", marks=pytest.mark.slow)])
def test_the_person_column_is_an_id_at_every_door_or_refused(door: Any, types: str, tmp_path: Path) -> None:
    """Whatever metadata has detected: some modelled it, and its values came out; others spoke of metadata."""
    for words in MODELLED:
        with pytest.raises(
            ValueError, match=r"^person \('home'\) identifies persons.* declare it as .sdtype.: .id."
        ):
            door({"home": words}, types, tmp_path)
    for said in ({"home": {"sdtype": "id"}}, {}) if types != "detected" else ():
        # where nothing may be left open but to be learned, it is to be said
        with (
            pytest.raises(ValueError, match="set sdtype")
            if door is at_private and not said
            else nullcontext()
        ):
            door(said, types, tmp_path)


def test_a_person_column_that_metadata_is_said_to_declare_is_refused() -> None:
    with pytest.raises(ValueError, match="identifies persons"):
        Synth(metadata_from_columns(COLUMNS), domain="written", person="home")
    words = {"home": {"sdtype": "id", "computer_representation": "Int64"}}  # no word of ours, and no matter
    assert column_types("written", {"columns": words}, "home")["home"].sdtype == "id"


def noise_of(neighbours: Neighbours, **options: Any) -> list[tuple[float, float]]:
    """Sensitivity and spent share of mu^2 of every Gaussian noise call of a fit."""
    person = {"person": "home", "rows_per_person": neighbours.rows} if neighbours.rows > 1 else {}
    relation = "replace_one" if neighbours.replace else "add_remove"
    frame, columns = table().drop(columns="ticket"), {k: v for k, v in COLUMNS.items() if k != "ticket"}
    metadata = metadata_from_columns({**columns, "home": {"sdtype": "id"}})
    options = {"domain": DECLARED, "undeclared": "infer", "epsilon": 1.0, **options}
    with record_calls() as calls:
        synth = fitted(frame, metadata, neighbours=relation, **person, **options)
    assert synth.privacy_ledger().claims_privacy
    return [(c.sensitivity, (c.sensitivity / c.scale) ** 2) for c in calls if c.name == "discrete_gaussian"]


def check_noise(neighbours: Neighbours, found: list[tuple[float, float]]) -> None:
    """Number of rows, tables, scores of one pair; entropies in steps of 2^-20 bits. All within (1, 1e-9)."""
    usual = {float(neighbours.rows), neighbours.histogram_l2, float(neighbours.histogram_l1)}
    assert all(s > 1000 or any(s == pytest.approx(u) for u in usual) for s, _ in found)
    assert sum(s == pytest.approx(neighbours.histogram_l2) for s, _ in found) >= 2
    assert sum(spent for _, spent in found) <= calibrate_gaussian(1.0, 1e-9) ** 2 * (1 + 1e-9)


UNITS = [Neighbours(rows=7), Neighbours(replace=True), Neighbours(rows=2, replace=True)]


LEARNERS = [{}, {"structure": "cfs"}, {"model": "independent"}, {"split": (0.3, 0.3, 0.4)}]


@pytest.mark.parametrize(("neighbours", "options"), each_once(UNITS, LEARNERS))
def test_every_noise_is_that_of_the_unit(neighbours: Neighbours, options: dict[str, Any]) -> None:
    check_noise(neighbours, noise_of(neighbours, **options))


@pytest.mark.parametrize("neighbours", UNITS)
def test_planted_the_noise_of_one_row(neighbours: Neighbours, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Queryable, "neighbours", ONE_ROW)
    with pytest.raises(AssertionError):
        check_noise(neighbours, noise_of(neighbours))


def test_the_ledger_says_who_is_protected_and_what_bounding_does() -> None:
    synth = fitted(person="home", rows_per_person=3, domain=DECLARED, epsilon=1.0)
    ledger, planned = synth.privacy_ledger(), synth.plan(table_rows=6000)
    assert ledger.total() <= 1.0
    whose = "any one person (all rows with one value of home, of which at most 3 are used)"
    assert whose in ledger.sentence()
    assert planned.ledger.entries == tuple(entry for entry in ledger.entries if entry.name != "noise")
    bias = "people with more than 3 rows count as if they had 3"
    assert any(bias in warning for warning in planned.warnings)
    assert "people with more than 3 rows" in str(ledger)
    assert all(word not in str(ledger) for word in ("6000", "6,000", "home-"))


def test_a_forecast_is_for_the_noise_of_the_unit() -> None:
    near = {}
    for rows in (1, 10):
        synth = Synth(metadata_from_columns(COLUMNS), domain=DECLARED, person=Person("home", rows=rows))
        near[rows] = synth.plan(table_rows=6000).forecast.columns["age"]
    assert near[10] > 5 * near[1]


def test_save_and_load_keep_the_unit(tmp_path: Path) -> None:
    synth = fitted(person="home", rows_per_person=3)
    synth.save(tmp_path / "synth.pkl")
    loaded = Synth.load(tmp_path / "synth.pkl")
    assert str(loaded.privacy_ledger()) == str(synth.privacy_ledger())
    assert loaded.get_parameters()["person"] == Person("home", rows=3)
    pd.testing.assert_frame_equal(loaded.sample(50), synth.sample(50))


@pytest.mark.parametrize(("privacy_test", "k", "seeds"), [("randomized", 20, 58), ("deterministic", 5, 13)])
def test_row_by_row_tests_count_people(privacy_test: str, k: int, seeds: int) -> None:
    options = {"omega": 1, "row_cap": 50, "least_rows": 500, "epsilon0": 3.0, "test": privacy_test, "k": k}
    synth = fitted(person="home", rows_per_person=3, domain=DECLARED, undeclared="infer", **options)
    ledger = synth.privacy_ledger()
    assert f"{seeds} " in str(ledger)  # k - 1 people have one row less, at most
    assert f"{k} people" in str(ledger)
    assert ledger.claims_privacy == (privacy_test == "randomized")
    assert len(synth.sample(50)) == 50


def test_the_number_of_rows_that_is_confirmed_is_that_of_the_rows_used() -> None:
    options = {"domain": DECLARED, "undeclared": "infer", "test": "randomized", "k": 20, "row_cap": 50}
    with pytest.raises(ValueError, match=r"least_rows \(5500\) is not confirmed"):
        fitted(person="home", rows_per_person=1, least_rows=5500, **options)


def test_processed_rows_do_not_say_whose_they_are() -> None:
    synth = Synth(metadata_from_columns(COLUMNS), domain=DECLARED, person="home")
    synth.fit_processed_data(synth.preprocess(table()))
    assert not synth.privacy_ledger().claims_privacy
    assert "processed rows do not identify persons" in synth.privacy_ledger().sentence()


def test_errors_name_the_column_and_the_way_out() -> None:
    metadata = metadata_from_columns(COLUMNS)
    with pytest.raises(ValueError, match=r"person \('house'\) must be one of the metadata's columns"):
        Synth(metadata, person="house")
    of = {"source": table().drop(columns="home"), "domain": {"homes": {"sdtype": "id"}, **DECLARED}}
    said = r"^person \('home'\) must be a column that .* did you mean 'homes'\?$"
    with pytest.raises(ValueError, match=said):
        fit_source(person="home", scratch=".", **of)
    with pytest.raises(ValueError, match=r"person \(None\) must be the name of the column"):
        Synth(metadata, person=Person(None, rows=4))
    synth = Synth(metadata, domain=DECLARED, person="home")
    with pytest.raises(Exception, match=r"columns \['home'\] of the metadata are not in the data"):
        synth.fit(table().drop(columns="home"))
    with pytest.warns(UserWarning, match="do not identify a person"):  # which ends no fit
        synth.fit(table(500).assign(home=[[SECRET]] * 500))
    assert len(synth.sample(5)) == 5
