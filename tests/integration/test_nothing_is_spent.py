"""A mistake that can be seen without the rows costs nothing: the draw is the last thing before the first look.

Cases come from the signatures of the doors, so that a new parameter is tried without being listed here.
"""

from __future__ import annotations

import datetime as dt
import inspect
import json
import warnings
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import dateutil.tz
import numpy as np
import pandas as pd
import pytest
import pytz
from sdv.errors import InvalidDataError
from tables import DOUBTFUL, ENGINES, held

from sdv_plausible import (
    AdaptiveNetwork,
    Attribute,
    PaperNetwork,
    Person,
    PlausibleDeniabilitySynthesizer,
    Release,
    ReleaseTest,
    fit_source,
)
from sdv_plausible.commands import on_disk
from sdv_plausible.commands.cli import main
from sdv_plausible.fit.budget import Budget
from sdv_plausible.fit.learned_domain import learned_file
from sdv_plausible.rules import Implies, Multiple
from sdv_plausible.sdv.metadata import metadata_from_columns, metadata_from_table
from sdv_plausible.table.declared.domain_file import DomainFile
from tests.flat import values

COLUMNS = {
    "home": {"sdtype": "id"},
    "sex": {"sdtype": "categorical"},
    "age": {"sdtype": "numerical"},
    "day": {"sdtype": "datetime"},
}
DOMAIN: dict[str, Any] = {
    "home": {"sdtype": "id"},
    "sex": {"sdtype": "categorical", "range_values": ["m", "f"], "range_is_nullable": False},
    "age": {"sdtype": "numerical", "range_min": 0, "range_max": 99, "range_is_nullable": False},
    "day": {
        "sdtype": "datetime",
        "range_min": "2020-01-01",
        "range_max": "2020-12-31",
        "range_is_nullable": False,
    },
}
Door = Callable[..., Any]


def table(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    return pd.DataFrame(
        {
            "home": np.arange(n) % 20,
            "sex": rng.choice(["m", "f"], n),
            "age": rng.integers(0, 99, n),
            "day": day,
        }
    )


def by_synthesizer(budget: Budget, table: pd.DataFrame, **options: Any) -> None:
    columns = {name: dict(spec) for name, spec in COLUMNS.items()}
    domain = {
        "domain": {n: {k: v for k, v in s.items() if k != "sdtype"} for n, s in DOMAIN.items() if n != "home"}
    }
    metadata = options.pop("metadata", None) or metadata_from_columns(columns)
    synth = PlausibleDeniabilitySynthesizer(
        metadata, **values(**{**domain, "budget": budget, "model": "independent", **options})
    )
    synth.fit(table)


def by_source(budget: Budget, table: Any, **options: Any) -> None:
    fit_source(
        **values(**{"source": table, "domain": DOMAIN, "budget": budget, "model": "independent", **options})
    )


DOORS: dict[str, tuple[Door, Any]] = {
    "synthesizer": (by_synthesizer, PlausibleDeniabilitySynthesizer),
    "source": (by_source, fit_source),
}
ODD = [3.5, -1, "no such thing", ["\ud800"], {"nobody": ["sex"]}, b"x", object(), float("nan")]
CASES = [
    (door, name)
    for door, (_, signature) in DOORS.items()
    for name in inspect.signature(signature).parameters
    if name != "budget"
]


def charged(budget: Budget) -> float:
    return budget.charged()["epsilon"]


def refused(door: Door, budget: Budget, given: Any, /, **options: Any) -> bool:
    """Try a fit; True if it refused. What it refuses must have cost nothing."""
    before = charged(budget)
    try:
        door(budget, given, **options)
    except Exception as error:
        if charged(budget) != before:
            raise AssertionError(f"spent for nothing by {options!r:.200}: {error!r:.200}") from error
        return True
    return False


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("door", "name"), CASES)
def test_no_odd_parameter_spends_a_budget_and_then_fails(door, name, tmp_path):
    budget, (fit, _) = Budget(1e4, 1e-3, tmp_path / "b"), DOORS[door]
    for value in ODD:
        refused(fit, budget, table(), **{name: value})


def date_texts() -> pd.DataFrame:
    rows = table()
    return rows.assign(day=rows["day"].dt.strftime("%d.%m.%Y"))


def named_twice() -> pd.DataFrame:
    rows = table()
    return pd.concat([rows, rows[["sex"]]], axis=1)


def sequences(**more: Any) -> Any:
    return metadata_from_table({"columns": COLUMNS, "sequence_key": "home", **more})


SURROGATE = {**DOMAIN, "sex": {**DOMAIN["sex"], "range_values": ["m", "\ud800"]}}
MISTAKES: dict[str, tuple[pd.DataFrame, dict[str, Any]]] = {
    "a column that is not there, in the structure": (table(), {"structure": {"nobody": ["sex"]}, "model": "bayesian_network"}),
    "a column named twice": (named_twice(), {}),
    "dates as text, without a format": (date_texts(), {}),
    "a lost column": (table().drop(columns="age"), {}),
    "a locale that nobody knows": (table(), {"locales": ["xx_XX"]}),
    "locales of another type": (table(), {"locales": 5}),
    "a lone surrogate": (table(), {"domain": SURROGATE}),
    "a sequence key, of which no release tells": (table(), {"metadata": sequences()}),
    "a sequence index too": (table(), {"metadata": sequences(sequence_index="age")}),
    "a person who is no column": (table(), {"person": "nobody"}),
    "a zone and a format": (
        table().assign(day=lambda t: t["day"].dt.tz_localize("UTC")),
        {"domain": {**DOMAIN, "day": {**DOMAIN["day"], "datetime_format": "%Y-%m-%d"}}},
    ),
}  # fmt: skip


ZONES = {
    "of a file": dateutil.tz.gettz("Europe/Berlin"), "of the machine": dateutil.tz.tzlocal(),
    "of minutes": pytz.FixedOffset(90), "of a name": dt.timezone(dt.timedelta(hours=1), "CET+"),
}  # fmt: skip
MISTAKES |= {
    f"a time zone {what}, which no release can name": (
        table().assign(day=lambda t, zone=zone: t["day"].dt.tz_localize(zone)), {},
    )
    for what, zone in ZONES.items()
}  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_that_read_no_row_cost_nothing(door, mistake, tmp_path):
    rows, options = MISTAKES[mistake]
    if door == "synthesizer" and "domain" in options:
        domain = {n: s for n, s in options["domain"].items() if n != "home"}
        options = {
            **options,
            "domain": {n: {k: v for k, v in s.items() if k != "sdtype"} for n, s in domain.items()},
        }
    budget = Budget(2.0, 1e-8, tmp_path / "b")
    assert refused(DOORS[door][0], budget, rows, **options)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "sdtype", ["enum", "catgorical", "seed_instance", "get_providers", "generator", "__init__"]
)
def test_a_type_that_nobody_can_make_up_costs_nothing(door: str, sdtype: str, tmp_path: Path) -> None:
    """Faker's enum needs to be told of what: it was fitted, and no row came."""
    metadata, budget = dict(COLUMNS, home={"sdtype": sdtype}), Budget(2.0, 1e-8, tmp_path / "b")
    given = {"metadata": metadata_from_columns(metadata)} if door == "synthesizer" else {"metadata": metadata}
    domain = {name: words for name, words in DOMAIN.items() if name != "home"}
    with pytest.raises(
        Exception, match=f"column 'home': sdtype .'{sdtype}'. must be|[Ii]nvalid sdtype|not valid"
    ):
        DOORS[door][0](budget, table(), domain=domain, **given)
    assert charged(budget) == 0


@pytest.mark.parametrize("sdtype", ["passport_number", "user_agent_string", "iban"])
def test_types_that_faker_makes_up_are_taken(sdtype: str) -> None:
    domain = DOMAIN | {"home": {"sdtype": sdtype}}
    assert len(fit_source(table(), domain=domain, model="independent").sample(2)["home"]) == 2


@pytest.mark.parametrize("only_home", [False, True], ids=["declared", "detected"])
def test_the_command_line_asks_what_no_release_tells_before_it_draws_or_reads(
    only_home, tmp_path, capsys, monkeypatch
):
    """Also where undeclared columns are detected, for which cells are read first."""
    columns = {name: spec for name, spec in COLUMNS.items() if name == "home" or not only_home}
    metadata = {**sequences().to_dict()["tables"]["table"], "columns": columns}
    (tmp_path / "m.json").write_text(json.dumps(metadata))
    date_texts().to_csv(tmp_path / "rows.csv", index=False)
    budget = Budget(4.0, 1e-8, tmp_path / "b")
    monkeypatch.setattr(on_disk, "read", lambda *_: pytest.fail("a row was looked at"))
    monkeypatch.chdir(tmp_path)
    command = ["fit", "rows.csv", "--metadata", "m.json", "-o", "x.release"]
    assert main([*command, "--budget", "b", "4", "1e-8"]) != 0
    said = capsys.readouterr().err
    assert "metadata: sequence_key" in said
    assert "person" in said
    assert charged(budget) == 0


def test_other_keys_of_metadata_that_no_release_tells_are_refused_by_name():
    with pytest.raises(ValueError, match="^metadata: nobody, sequence_key "):
        fit_source(table(), {"columns": COLUMNS, "sequence_key": "home", "nobody": 3}, DOMAIN)


PRIVATE = DomainFile(columns={n: {"sdtype": s["sdtype"]} for n, s in DOMAIN.items()})


@pytest.mark.parametrize(
    "rows", [named_twice(), date_texts(), table().drop(columns="age")], ids=["twice", "text", "lost"]
)
def test_a_private_declaration_costs_nothing_either(rows, tmp_path):
    budget = Budget(2.0, 1e-8, tmp_path / "b")
    with pytest.raises(ValueError, match="there twice|holds dates as text"):
        learned_file(rows, PRIVATE, 0.5, 1e-9, budget=budget)
    assert charged(budget) == 0
    learned_file(table(), PRIVATE, 0.5, 1e-9, budget=budget)
    assert charged(budget) > 0.4


def test_persons_rows_are_chosen_after_the_draw(tmp_path, monkeypatch):
    """At every door: what is chosen has been looked at."""
    from sdv_plausible.fit import rows
    from sdv_plausible.sources import source_rows

    budget = Budget(10.0, 1e-7, tmp_path / "b")
    seen: list[float] = []

    def note(honest: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: seen.append(charged(budget)) or honest(*args)  # type: ignore[func-returns-value]

    for module, name in ((rows, "choose_rows"), (source_rows, "of_persons")):
        monkeypatch.setattr(module, name, note(getattr(module, name)))
    by_synthesizer(budget, table(), person="home")
    by_source(budget, table(), person="home", scratch=Path(tmp_path))
    from sdv_plausible.privacy.neighbours import Neighbours

    person = Neighbours.parse("add_remove", "home")
    learned_file(table(), PRIVATE, 0.5, 1e-9, budget=budget, neighbours=person)
    assert len(seen) == 3
    assert seen == sorted(set(seen))
    assert seen[0] > 0


@pytest.mark.parametrize("door", DOORS)
def test_a_draw_before_the_checks_would_be_seen(door, tmp_path, monkeypatch):
    """The control: a check that comes too late has cost something."""
    from sdv_plausible.fit import parts
    from sdv_plausible.sdv import fitting

    for module in (fitting, parts):
        monkeypatch.setattr(module, "check_dates", lambda *_: None)
    budget = Budget(2.0, 1e-8, tmp_path / "b")
    rows = date_texts()

    def late(*_: Any) -> None:
        raise ValueError("dates as text")

    monkeypatch.setattr("sdv_plausible.fit.run.build_domain", late)
    with pytest.raises(AssertionError, match="spent for nothing"):
        refused(DOORS[door][0], budget, rows)


def iterated() -> Any:
    import pyarrow as pa

    batches = iter([pa.RecordBatch.from_pandas(table())])
    return lambda: batches


def test_a_stream_that_can_be_read_once_costs_nothing(tmp_path):
    """Its later passes would be of no rows."""
    budget = Budget(2.0, 1e-8, tmp_path / "b")
    with pytest.raises(ValueError, match="can be read once"):
        by_source(budget, iterated())
    assert charged(budget) == 0


UNORDERED = [engine for engine in ENGINES if engine in ("polars", "duckdb")] + ["a function"]


@pytest.mark.parametrize("engine", UNORDERED)
@pytest.mark.parametrize("parts", [{"split": (0.2, 0.3, 0.5)}, {"omega": (1, 2)}], ids=["split", "omega"])
def test_parts_of_rows_that_keep_no_order_cost_nothing(engine, parts, tmp_path):
    """A database may be asked to keep codes of its rows in a folder; workers of a cluster keep them anyhow."""
    import pyarrow as pa

    stored = pa.Table.from_pandas(table())
    source = stored.to_batches if engine == "a function" else held(engine, table(), tmp_path)
    budget = Budget(2.0, 1e-8, tmp_path / "b")
    assert refused(by_source, budget, source, **parts)
    by_source(budget, source, **parts, scratch=tmp_path)
    assert charged(budget) > 0


SECOND_FILES = {
    "lacks a column": lambda path: table().drop(columns="age").to_csv(path, index=False),
    "is empty": lambda path: path.write_text(""),
    "names a column twice": lambda path: named_twice().to_csv(path, index=False),
    "has another separator": lambda path: table().to_csv(path, index=False, sep=";"),
}


@pytest.mark.parametrize("mistake", SECOND_FILES)
def test_every_header_of_a_folder_is_read_before_the_draw(mistake, tmp_path):
    folder, words = tmp_path / "rows", {"domain": {n: s for n, s in DOMAIN.items() if n != "day"}}
    folder.mkdir()
    table().to_csv(folder / "1.csv", index=False)
    SECOND_FILES[mistake](folder / "2.csv")
    budget = Budget(2.0, 1e-8, tmp_path / "b")
    assert refused(by_source, budget, folder, **words)
    table().iloc[:, ::-1].to_csv(folder / "2.csv", index=False)  # in another order: each has names of its own
    by_source(budget, folder, **words)
    assert charged(budget) > 0


@pytest.mark.parametrize("types", ["declared", "voted"])
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("doubt", DOUBTFUL)
def test_a_doubtful_header_line_costs_nothing(doubt, door, types, tmp_path):
    """Though the rows would go with it."""
    path, budget = tmp_path / "people.csv", Budget(2.0, 1e-8, tmp_path / "b")
    columns = {"town": {"sdtype": "categorical"}, "age": {"sdtype": "categorical"}}
    given = {"domain": None, "metadata": metadata_from_columns(columns) if door == "synthesizer" else None}
    if types == "declared":
        given["domain"] = {name: {**spec, "range_values": ["Bern", "1"]} for name, spec in columns.items()}
    path.write_text(f"{DOUBTFUL[doubt]}\n" + "Bern;1\n" * 300)
    with pytest.raises(Exception, match="header line"):
        DOORS[door][0](budget, path, types=types, **given)
    assert charged(budget) == 0
    path.write_text("town;age\n" + "Bern;1\n" * 300)
    DOORS[door][0](budget, path, types=types, **given)
    assert charged(budget) > 0


def other_metadata(synth: Any) -> None:
    synth.metadata = metadata_from_columns({**COLUMNS, "sex": {"sdtype": "id"}})


SYNTHESIZERS: dict[str, tuple[dict[str, Any], Callable[[Any], None], str]] = {
    "neither modelled nor invented": (
        {"metadata": {**COLUMNS, "home": {"sdtype": "email", "pii": False}}},
        lambda synth: synth.fit(table()),
        "neither modelled nor invented",
    ),
    "processed rows that lack a column": (
        {},
        lambda synth: synth.fit_processed_data(table()[["sex", "day"]]),
        r"processed_data has columns",
    ),
    "raw rows as processed ones": ({}, lambda synth: synth.fit_processed_data(table()), "processed_data has columns"),
    "processed rows of persons": (
        {"person": "home"},
        lambda synth: synth.fit_processed_data(table()[["sex", "age", "day"]]),
        "do not say whose they are",
    ),
    "a format that nobody can read": (
        {"metadata": {**COLUMNS, "day": {"sdtype": "datetime", "datetime_format": "%10Y"}}, "domain": None},
        lambda synth: synth.fit(date_texts()),
        "datetime_format",
    ),
    "other metadata": ({}, lambda synth: (other_metadata(synth), synth.fit(table())), "metadata was changed"),
}  # fmt: skip


@pytest.mark.parametrize("case", SYNTHESIZERS)
def test_what_only_the_rows_could_tell_is_refused_before_the_draw(case, tmp_path):
    options, fit, words = SYNTHESIZERS[case]
    budget = Budget(2.0, 1e-8, tmp_path / "b")
    columns = options.get("metadata", COLUMNS)
    domain = {n: {k: v for k, v in s.items() if k != "sdtype"} for n, s in DOMAIN.items() if n != "home"}
    given = {"domain": domain, "model": "independent", **options, "metadata": metadata_from_columns(columns)}
    with pytest.raises((ValueError, InvalidDataError), match=words):
        fit(PlausibleDeniabilitySynthesizer(budget=budget, **values(**given)))
    assert charged(budget) == 0


def test_a_published_table_that_cannot_be_used_is_refused_when_it_is_given():
    from sdv_plausible.rules import Inequality

    columns = {"low": {"sdtype": "numerical"}, "high": {"sdtype": "numerical"}}
    domain = {name: {"range_min": 0, "range_max": 9, "range_is_nullable": False} for name in columns}
    given = {"domain": domain, "rules": [Inequality("low", "high")]}
    metadata = metadata_from_columns(columns)
    with pytest.raises(ValueError, match=r"public lacks columns \['high'\] of the rules"):
        PlausibleDeniabilitySynthesizer(metadata, **values(public=pd.DataFrame({"low": [1]}), **given))
    with pytest.raises(ValueError, match="column 'low' holds lists"):
        PlausibleDeniabilitySynthesizer(
            metadata, **values(public=pd.DataFrame({"low": [[1]], "high": [2]}), **given)
        )


@pytest.mark.parametrize(
    "options",
    [
        {"types": "Detected"},
        {"table_name": "x" * 5000},
        {"table_name": "a\ud800"},
        {"scratch": "/proc", "rows": 50},
    ],
    ids=["types", "a long name", "half a character", "a folder in which none can be made"],
)
def test_what_no_release_could_say_costs_nothing(options, tmp_path):
    budget = Budget(2.0, 1e-8, tmp_path / "b")
    with pytest.raises((ValueError, OSError)):
        by_source(budget, table(), **options)
    assert charged(budget) == 0


def test_one_locale_is_a_list_of_one(tmp_path):
    release = fit_source(table(), domain=DOMAIN, model="independent", locales="en_US")
    release.save(tmp_path / "r.release")
    assert Release.load(tmp_path / "r.release").settings["locales"] == ["en_US"]


def test_ids_alone_cost_nothing_and_the_ledger_says_so(tmp_path):
    budget = Budget(2.0, 1e-8, tmp_path / "b")
    synth = PlausibleDeniabilitySynthesizer(metadata_from_columns({"home": {"sdtype": "id"}}), budget=budget)
    synth.fit(table()[["home"]])
    assert charged(budget) == synth.privacy_ledger().total() == 0


def test_rows_that_this_object_did_not_process_cost_nothing(tmp_path):
    budget = Budget(2.0, 1e-8, tmp_path / "b")
    synth = PlausibleDeniabilitySynthesizer(metadata_from_columns(COLUMNS), budget=budget)
    with pytest.raises(InvalidDataError, match="preprocess\\(\\) of this synthesizer"):
        synth.fit_processed_data(table().drop(columns="home"))
    assert charged(budget) == 0


def test_a_published_table_that_cannot_be_read_costs_nothing(tmp_path):
    import pyarrow as pa

    nested = pd.array([[1]] * 50, dtype=pd.ArrowDtype(pa.list_(pa.int64())))
    budget = Budget(2.0, 1e-8, tmp_path / "b")
    with pytest.raises(ValueError, match="'sex' is stored as"):
        by_synthesizer(budget, table(), model="bayesian_network", public=pd.DataFrame({"sex": nested}))
    assert charged(budget) == 0


def synthesize(folder: Path, *more: str) -> list[str]:
    """The command, to a file of the table."""
    table().drop(columns="home").to_csv(folder / "t.csv", index=False)
    return ["synthesize", str(folder / "t.csv"), "-o", str(folder / "o.csv"), *more]


def test_processes_without_a_row_test_are_refused_before_the_fit(tmp_path, capsys):
    wanted = synthesize(tmp_path, "-n", "5", "--processes", "4")
    assert main([*wanted, "--budget", str(tmp_path / "b"), "2", "1e-8"]) == 2
    assert "--processes 4 is for row-by-row tests" in capsys.readouterr().err
    assert not (tmp_path / "b").exists()


@pytest.mark.filterwarnings("error")
def test_who_makes_errors_of_warnings_keeps_the_fit(tmp_path):
    """What is told of the rows is told once the fit is held: the outcome would depend on them."""
    columns = {"age": {"sdtype": "numerical"}}
    synth = PlausibleDeniabilitySynthesizer(
        metadata_from_columns(columns), domain={"age": {"range_min": 200, "range_max": 300}}
    )
    with pytest.raises(UserWarning, match="age: most cells are outside"):
        synth.fit(table()[["age"]])
    assert len(synth.sample(5)) == 5


def test_a_source_that_cannot_be_read_once_more_does_not_end_a_fit(monkeypatch):
    """The look for warnings comes after all that was paid for."""
    from sdv_plausible.sources.source_rows import SourceRows

    monkeypatch.setattr(SourceRows, "begins", lambda *_: 1 / 0)
    assert fit_source(table(), domain=DOMAIN, model="independent").ledger.claims_privacy


def test_no_more_does_fit_source_lose_one(monkeypatch, capsys):
    monkeypatch.setattr("warnings.warn", lambda text, *_, **__: (_ for _ in ()).throw(UserWarning(text)))
    domain = {**DOMAIN, "age": {**DOMAIN["age"], "range_min": 200, "range_max": 300}}
    assert fit_source(table(), domain=domain, model="independent").ledger.claims_privacy
    assert "age: most cells are outside" in capsys.readouterr().err


def test_an_empty_processed_table_is_fitted_as_any_other():
    """Else the ledger says that nothing was charged, which no table with a row gets."""
    ledgers = []
    for rows in (table().iloc[:0], table().iloc[:1]):
        synth = PlausibleDeniabilitySynthesizer(metadata_from_columns(COLUMNS), model="independent")
        synth.preprocess(table())
        synth.fit_processed_data(rows.drop(columns="home"))
        ledgers.append([entry for entry in synth.privacy_ledger().entries if entry.name != "noise"])
    assert ledgers[0] == ledgers[1]


def test_rules_whose_rows_are_drawn_again_ask_for_a_cap(tmp_path, capsys):
    rule = Implies({"age": {"max": 15}}, {"sex": "f"})
    (tmp_path / "r.json").write_text(json.dumps([rule.to_dict()]))
    wanted = synthesize(tmp_path, "-n", "5", "--test", "randomized")
    wanted += ["--rules", str(tmp_path / "r.json"), "--budget", str(tmp_path / "b"), "2", "1e-8"]
    assert main(wanted) == 2
    assert "row_cap, such as 10" in capsys.readouterr().err
    assert not (tmp_path / "b").exists()


LONG = {
    "a long name": ({"n" * 1001: {"sdtype": "categorical"}}, {}),
    "half a character in a name": ({"a\ud800": {"sdtype": "categorical"}}, {}),
    "a long value": ({"sex": {"sdtype": "categorical"}}, {"range_values": ["m", "f" * 100_001]}),
}


@pytest.mark.parametrize(("columns", "words"), LONG.values(), ids=list(LONG))
def test_what_no_file_could_hold_costs_nothing_at_either_door(columns, words, tmp_path):
    (name,) = columns
    declared, rows = {name: {**columns[name], **words}}, pd.DataFrame({name: ["m", "f"] * 100})
    for number, fit in enumerate(
        (
            lambda budget: PlausibleDeniabilitySynthesizer(
                metadata_from_columns(columns), domain=declared, budget=budget
            ).fit(rows),
            lambda budget: fit_source(rows, domain=declared, budget=budget),
        )
    ):
        budget = Budget(2.0, 1e-8, tmp_path / f"b{number}")
        with pytest.raises(ValueError, match="half a character|rename the column|at most 100000 letters"):
            fit(budget)
        assert charged(budget) == 0


def test_a_name_of_the_table_that_no_file_could_hold_is_refused():
    with pytest.raises(ValueError, match="table_name"):
        PlausibleDeniabilitySynthesizer(metadata_from_columns(COLUMNS, "a\ud800"))


def test_what_is_no_budget_is_refused_at_every_door():
    with pytest.raises(ValueError, match="budget \\(3\\) must be a Budget"):
        fit_source(table(), domain=DOMAIN, budget=3)
    with pytest.raises(ValueError, match="budget \\(3\\) must be a Budget"):
        learned_file(table(), DomainFile(columns=COLUMNS), 1.0, 1e-9, budget=3)


def test_a_cap_below_the_rows_asked_for_costs_nothing(tmp_path, capsys):
    (tmp_path / "d.json").write_text(json.dumps({n: w for n, w in DOMAIN.items() if n != "home"}))
    words = synthesize(tmp_path, "--domain", str(tmp_path / "d.json"), "--test", "randomized")
    more = ["--rows", "300", "--row-cap", "100", "--budget", str(tmp_path / "b"), "2", "1e-8"]
    assert main([*words, *more]) == 2
    assert "row_cap (100) must be at least the rows that are asked for (300)" in capsys.readouterr().err
    assert not (tmp_path / "b").exists()


WIDE = {f"c{i}": {"sdtype": "categorical", "range_values": [f"v{k}" for k in range(20)]} for i in range(8)}


def synthesized(rows: pd.DataFrame, domain: Any, **options: Any) -> None:
    metadata = metadata_from_columns({name: {"sdtype": words["sdtype"]} for name, words in domain.items()})
    PlausibleDeniabilitySynthesizer(metadata, domain=domain, **options).fit(rows)


@pytest.mark.parametrize("door", ["synthesizer", "source"])
def test_tables_that_no_memory_holds_cost_nothing(door, tmp_path):
    budget = Budget(2.0, 1e-8, tmp_path / "b")
    rows = pd.DataFrame({name: ["v0", "v1"] * 50 for name in WIDE})
    options = {
        "domain": WIDE,
        "budget": budget,
        "model": PaperNetwork(structure={"c0": [f"c{i}" for i in range(1, 8)]}),
    }
    fit = fit_source if door == "source" else synthesized
    with pytest.raises(ValueError, match="above 50,000,000"):
        fit(rows, **options)
    assert charged(budget) == 0


def test_tables_of_learned_columns_that_no_memory_holds_end_no_fit(monkeypatch):
    """Only the answers tell how large they are: the last parents go, and it is said."""
    from sdv_plausible.models.paper import structure

    monkeypatch.setattr(structure, "MAX_CELLS", 30)
    columns = {name: {"sdtype": "categorical"} for name in ("c0", "c1", "c2")}
    rows = pd.DataFrame({name: ["a", "b", "c", "d"] * 500 for name in columns})
    with pytest.warns(UserWarning, match="parents were left out \\(c2 of c0\\)"):
        release = fit_source(rows, domain=columns, model=PaperNetwork(structure={"c0": ["c1", "c2"]}))
    assert release.ledger.claims_privacy


@pytest.mark.parametrize("by", ["synthesizer", "source"])
def test_words_that_no_file_could_hold_cost_nothing(by, tmp_path):
    """Sources are in the ledger's notes: together they may be longer than a file's text."""
    cited = {
        f"c{i}": {"sdtype": "categorical", "range_values": ["a", "b"], "source": f"{i} " + "s" * 900}
        for i in range(120)
    }
    rows, budget = pd.DataFrame({name: ["a", "b"] for name in cited}), Budget(2.0, 1e-8, tmp_path / "b")
    fit = fit_source if by == "source" else synthesized
    with pytest.raises(ValueError, match="ledger: its words on domain are longer"):
        fit(rows, domain=cited, budget=budget, model="independent")
    assert charged(budget) == 0
    for source in ("x\ud800", "x" * 2000):
        with pytest.raises(ValueError, match="source"):
            fit_source(rows[["c0"]], domain={"c0": {**cited["c0"], "source": source}})


def test_a_far_number_ends_no_fit_where_warnings_are_errors():
    values = np.round(np.random.default_rng(0).uniform(0, 100, 500), 2)
    values[7] = 1e308
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for rules in ((), [Multiple("p", 0.25)]):
            release = fit_source(
                pd.DataFrame({"p": values}), domain={"p": {"sdtype": "numerical"}}, rules=rules
            )
            assert release.ledger.claims_privacy


@pytest.mark.filterwarnings("ignore:Unable to turn off rounding", "ignore:For this change to take effect")
def test_columns_that_sdv_would_see_are_refused_before_it_looks(tmp_path):
    """A fit without a claim draws nothing: SDV's constraints must not look first, and be refused then."""
    budget = Budget(2.0, 1e-8, tmp_path / "b")
    synth = PlausibleDeniabilitySynthesizer(metadata_from_columns(COLUMNS), budget=budget)
    synth.auto_assign_transformers(table())
    from rdt.transformers import FloatFormatter

    synth.update_transformers({"age": FloatFormatter()})
    seen = []
    synth._fit_rows = lambda *_: seen.append(1)
    with pytest.raises(ValueError, match="cannot draw"):
        synth.fit(table())
    assert charged(budget) == 0
    assert not seen


@pytest.mark.filterwarnings("ignore:For this change to take effect")
@pytest.mark.parametrize("name", ["none", "pseudonyms"])
def test_personal_data_that_sdv_would_hand_on_costs_nothing(name, tmp_path):
    """Else its value set is read off the rows, and the fit ends after its draw."""
    from rdt.transformers import PseudoAnonymizedFaker

    faker = PseudoAnonymizedFaker(provider_name="internet", function_name="email")
    rows = pd.DataFrame({"em": [f"u{i}@x.y" for i in range(300)], "age": [i % 90 for i in range(300)]})
    columns = {"em": {"sdtype": "email"}, "age": {"sdtype": "numerical"}}
    budget = Budget(2.0, 1e-6, tmp_path / "b")
    synth = PlausibleDeniabilitySynthesizer(metadata_from_columns(columns), budget=budget)
    synth.auto_assign_transformers(rows)
    synth.update_transformers({"em": None if name == "none" else faker})
    with pytest.raises(ValueError, match="has the transformer None" if name == "none" else "cannot draw"):
        synth.fit(rows)
    assert charged(budget) == 0


def test_numpys_numbers_in_values_are_in_the_file(tmp_path):
    """A release that holds what no file holds was paid for, and could not be saved."""
    rows, path = table(), tmp_path / "r.release"
    for person in (None, Person("home", rows=np.int64(2))):
        budget = Budget(9.0, 1e-6, tmp_path / f"b{person is None}")
        synth = PlausibleDeniabilitySynthesizer(
            metadata_from_columns(COLUMNS), epsilon=np.float32(1), delta=np.float32(1e-7), person=person,
            test=ReleaseTest(k=np.int64(2), omega=np.int64(1), epsilon0=np.float32(0.5)), budget=budget,
            model=PaperNetwork(structure={"age": {"sex"}}, split=(0.25, 0.25, 0.5)),
            domain={n: {k: v for k, v in s.items() if k != "sdtype"} for n, s in DOMAIN.items() if n != "home"},
        )  # fmt: skip
        synth.fit(rows)
        synth.release().save(path)
        again = PlausibleDeniabilitySynthesizer.from_release(Release.load(path))
        assert again.model == synth.model
        assert again.plan().ledger.split == synth.plan().ledger.split


@pytest.mark.parametrize(
    "words", [{"range_min": 0, "range_max": 2**62}, {"range_min": 0, "range_max": 1e17, "decimal_places": 2}]
)
def test_ranges_beyond_steps_of_rounding_end_no_fit(words):
    rows = pd.DataFrame({"x": [float(i) for i in range(300)]})
    assert fit_source(rows, domain={"x": {"sdtype": "numerical", **words}}).ledger.claims_privacy


DAY = pd.Timestamp("2020-01-01").value
LOST: dict[str, tuple[str, dict[str, Any]]] = {  # what no file holds, and what is said of it
    **{
        f"a value that is {value!r}": ("fits in no release file", {"domain": {**DOMAIN, "sex": Attribute(
            name="sex", kind="categorical", values=("m", "f", value)
        )}})
        for value in (b"x", ("x", 1), float("inf"), 10**101, Decimal("Infinity"))
    },
    "bins wider than a double": ("fits in no release file", {"domain": {**DOMAIN, "age": Attribute(
        name="age", kind="float", lower=(-1e300,), upper=(1e300,), decimals=15
    )}}),
    "a zone of a file": ("fits in no release file", {"domain": {**DOMAIN, "day": Attribute(
        name="day", kind="datetime", lower=(DAY,), upper=(DAY + 10**15,), time_zone="dateutil/Europe/Zurich"
    )}}),
    "a column by another name": ("has the name 'zzz'", {"domain": {**DOMAIN, "sex": Attribute(
        name="zzz", kind="categorical", values=("m", "f")
    )}}),
    "a hundred and one locales": ("a setting fits in no release file", {"locales": ["en_US"] * 101}),
    "bins without end": ("max_bins", {"max_bins": 2**63}),
    "an option of the model without end": (
        "a setting fits in no release file", {"model": AdaptiveNetwork(workload=[["age", "sex"]] * 100_001)}
    ),
}  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("what", LOST)
def test_what_is_known_of_a_release_is_written_and_read_before_the_draw(door, what, tmp_path):
    """Each was paid for, and then no release could be written, or none be read."""
    said, options = LOST[what]
    if door == "synthesizer" and "domain" in options:
        options = {"domain": {n: one for n, one in options["domain"].items() if isinstance(one, Attribute)}}
    if door == "source" and "person" in options:
        options = {**options, "scratch": tmp_path}
    budget = Budget(2.0, 1e-8, tmp_path / "b")
    with pytest.raises(ValueError, match=said):
        DOORS[door][0](budget, table(), **options)
    assert charged(budget) == 0


def test_planted_without_the_trial_it_is_paid_and_lost(tmp_path, monkeypatch):
    monkeypatch.setattr("sdv_plausible.release.file.sections.check_settings", lambda _: None)
    budget = Budget(2.0, 1e-8, tmp_path / "b")
    release = fit_source(table(), domain=DOMAIN, model="independent", budget=budget, locales=["en_US"] * 101)
    assert charged(budget) > 0
    with pytest.raises(ValueError, match="at most 100 items"):
        Release.from_bytes(release.to_bytes())


def test_columns_that_are_neither_modelled_nor_invented_are_refused_whatever_is_inferred(tmp_path):
    """The plan knew nothing of the column, and its cells decided which error came after the draw."""
    columns = {**COLUMNS, "mail": {"sdtype": "email", "pii": False}}
    budget = Budget(2.0, 1e-8, tmp_path / "b")
    with pytest.raises(ValueError, match="neither modelled nor invented"):
        by_synthesizer(
            budget,
            table().assign(mail="u@x.org"),
            metadata=metadata_from_columns(columns),
            undeclared="infer",
        )
    assert charged(budget) == 0


@pytest.mark.parametrize(
    "words", [{"special_values": [2**62]}, {"special_values": [10**17], "decimal_places": 2}]
)
def test_special_values_beyond_the_range_are_no_fault(words, tmp_path):
    """Rounding is asked of numbers that are small enough: of the special ones, too."""
    wide = {"sdtype": "numerical", "range_min": 0, "range_max": 10**6, **words}
    rows = table().assign(age=lambda t: t["age"] * 997)
    assert len(fit_source(rows, domain={**DOMAIN, "age": wide}, model="independent").sample(5)) == 5


def test_a_domain_that_was_learned_at_a_larger_delta_is_refused():
    """Its losses have no epsilon at the fit's: the total was infinite, under a claim."""
    columns = {name: spec for name, spec in COLUMNS.items() if name == "age"}
    metadata, rows = metadata_from_columns(columns), table()[["age"]]
    first = PlausibleDeniabilitySynthesizer(metadata, delta=1e-4, model="independent")
    first.fit(rows)
    synth = PlausibleDeniabilitySynthesizer(metadata, domain=first.get_domain(), delta=1e-9, model="random")
    with pytest.raises(ValueError, match="delta .* is too small for a domain that was learned"):
        synth.plan()
