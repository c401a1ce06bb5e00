"""A mistake that can be seen without the rows costs nothing: the draw is the last thing before the first look.

Cases come from the signatures of the doors, so that a new parameter is tried without being listed here.
"""

from __future__ import annotations

import datetime as dt
import inspect
import itertools
import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import dateutil.tz
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import pytz
from rdt.transformers import FloatFormatter, PseudoAnonymizedFaker
from sdv.errors import InvalidDataError
from tables import DOUBTFUL, ENGINES, held

from sdv_plausible import (
    AdaptiveNetwork,
    Attribute,
    Budget,
    PaperNetwork,
    Person,
    PlausibleDeniabilitySynthesizer,
    Release,
    ReleaseTest,
    fit_source,
)  # fmt: skip
from sdv_plausible.cli import files
from sdv_plausible.cli.main import main
from sdv_plausible.extensions.models.paper import structure
from sdv_plausible.fitting import partitioned_table as fit_parts
from sdv_plausible.fitting.domain_learning import learned_file
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.rules import Implies, Inequality, Multiple
from sdv_plausible.sdv import synthesizer
from sdv_plausible.sdv.metadata import metadata_from_columns, metadata_from_table
from sdv_plausible.sources import source_rows
from sdv_plausible.table import contribution_bounding
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
        "sdtype": "datetime", "range_min": "2020-01-01", "range_max": "2020-12-31", "range_is_nullable": False,
    },
}  # fmt: skip
PRIVATE = DomainFile(columns={n: {"sdtype": s["sdtype"]} for n, s in DOMAIN.items()})
Door = Callable[..., Any]
Synth = PlausibleDeniabilitySynthesizer


def table(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    sex, age = rng.choice(["m", "f"], n), rng.integers(0, 99, n)
    return pd.DataFrame({"home": np.arange(n) % 20, "sex": sex, "age": age, "day": day})


def untyped(domain: dict[str, Any]) -> dict[str, Any]:
    """Declarations without what metadata says."""
    left = {n: s for n, s in domain.items() if n != "home"}
    return {
        n: {k: v for k, v in s.items() if k != "sdtype"} if isinstance(s, dict) else s
        for n, s in left.items()
    }


def by_synthesizer(budget: Budget, table: pd.DataFrame, **options: Any) -> None:
    domain, metadata = options.pop("domain", DOMAIN), options.pop("metadata", None) or COLUMNS
    metadata = metadata_from_columns(metadata) if isinstance(metadata, dict) else metadata
    domain = untyped(domain) if isinstance(domain, dict) and domain.keys() <= {*DOMAIN} else domain
    Synth(metadata, **values(**{"domain": domain, "budget": budget, "model": "independent", **options})).fit(
        table
    )


def by_source(budget: Budget, table: Any, **options: Any) -> None:
    fit_source(
        **values(**{"source": table, "domain": DOMAIN, "budget": budget, "model": "independent", **options})
    )


DOORS: dict[str, Door] = {"synthesizer": by_synthesizer, "source": by_source}
SIGNATURES: dict[str, Any] = {"synthesizer": Synth, "source": fit_source}
ODD = [3.5, -1, "no such thing", ["\ud800"], {"nobody": ["sex"]}, b"x", object(), float("nan")]
NUMBERS = itertools.count()


def new_budget(folder: Path, epsilon: float = 2.0, delta: float = 1e-8) -> Budget:
    return Budget(epsilon, delta, folder / f"b{next(NUMBERS)}")


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


@contextmanager
def costing_nothing(folder: Path, match: str, errors: Any = ValueError) -> Iterator[Budget]:
    """A budget from which what is refused with these words draws nothing."""
    budget = new_budget(folder)
    with pytest.raises(errors, match=match):
        yield budget
    assert charged(budget) == 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("door", DOORS)
def test_no_odd_parameter_spends_a_budget_and_then_fails(door, tmp_path):
    for name in inspect.signature(SIGNATURES[door]).parameters:
        budget = new_budget(tmp_path, 1e4, 1e-3)
        for value in ODD if name != "budget" else ():
            refused(DOORS[door], budget, table(), **{name: value})


def date_texts() -> pd.DataFrame:
    rows = table()
    return rows.assign(day=rows["day"].dt.strftime("%d.%m.%Y"))


def named_twice() -> pd.DataFrame:
    return pd.concat([table(), table()[["sex"]]], axis=1)


def sequences(**more: Any) -> Any:
    return metadata_from_table({"columns": COLUMNS, "sequence_key": "home", **more})


def zoned(zone: Any) -> pd.DataFrame:
    return table().assign(day=lambda t: t["day"].dt.tz_localize(zone))


FORMATTED = {**DOMAIN["day"], "datetime_format": "%Y-%m-%d"}
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
    "a zone and a format": (zoned("UTC"), {"domain": {**DOMAIN, "day": FORMATTED}}),
    "a zone of a file, which no release can name": (zoned(dateutil.tz.gettz("Europe/Berlin")), {}),
    "a zone of the machine": (zoned(dateutil.tz.tzlocal()), {}),
    "a zone of minutes": (zoned(pytz.FixedOffset(90)), {}),
    "a zone of a name": (zoned(dt.timezone(dt.timedelta(hours=1), "CET+")), {}),
}  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
def test_mistakes_that_read_no_row_cost_nothing(door, tmp_path):
    taken = [
        mistake for mistake, (rows, options) in MISTAKES.items()
        if not refused(DOORS[door], new_budget(tmp_path), rows, **options)
    ]  # fmt: skip
    assert taken == []


def test_a_type_that_nobody_can_make_up_costs_nothing(tmp_path):
    """Faker's enum needs to be told of what: it was fitted, and no row came. Control: types that it makes up."""
    domain = {name: words for name, words in DOMAIN.items() if name != "home"}
    for sdtype in ("enum", "catgorical", "seed_instance", "get_providers", "generator", "__init__"):
        said = f"column 'home': sdtype .'{sdtype}'. must be|[Ii]nvalid sdtype|not valid"
        for door in DOORS.values():
            with costing_nothing(tmp_path, said, Exception) as budget:
                door(budget, table(), domain=domain, metadata={**COLUMNS, "home": {"sdtype": sdtype}})
    for sdtype in ("passport_number", "user_agent_string", "iban"):
        release = fit_source(table(), domain=DOMAIN | {"home": {"sdtype": sdtype}}, model="independent")
        assert len(release.sample(2)["home"]) == 2


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
    monkeypatch.setattr(files, "read_table", lambda *_: pytest.fail("a row was looked at"))
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


def test_a_private_declaration_costs_nothing_either(tmp_path):
    for rows in (named_twice(), date_texts(), table().drop(columns="age")):
        with costing_nothing(tmp_path, "duplicated|holds dates as text") as budget:
            learned_file(rows, PRIVATE, 0.5, 1e-9, budget=budget)
    learned_file(table(), PRIVATE, 0.5, 1e-9, budget=budget)
    assert charged(budget) > 0.4


def test_persons_rows_are_chosen_after_the_draw(tmp_path, monkeypatch):
    """At every door: what is chosen has been looked at."""
    budget, seen = new_budget(tmp_path, 10.0, 1e-7), list[float]()

    def note(honest: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: seen.append(charged(budget)) or honest(*args)  # type: ignore[func-returns-value]

    for module, name in ((contribution_bounding, "choose_rows"), (source_rows, "of_persons")):
        monkeypatch.setattr(module, name, note(getattr(module, name)))
    by_synthesizer(budget, table(), person="home")
    by_source(budget, table(), person="home", scratch=tmp_path)
    learned_file(
        table(), PRIVATE, 0.5, 1e-9, budget=budget, neighbours=Neighbours.parse("add_remove", "home")
    )
    assert len(seen) == 3
    assert seen == sorted(set(seen))
    assert seen[0] > 0


def test_a_draw_before_the_checks_would_be_seen(tmp_path, monkeypatch):
    """The control: a check that comes too late has cost something."""
    for module in (synthesizer, fit_parts):
        monkeypatch.setattr(module, "check_dates", lambda *_: None)

    def late(*_: Any) -> None:
        raise ValueError("dates as text")

    monkeypatch.setattr("sdv_plausible.fitting.fit.build_domain", late)
    for door in DOORS.values():
        with pytest.raises(AssertionError, match="spent for nothing"):
            refused(door, new_budget(tmp_path), date_texts())


def test_a_stream_that_can_be_read_once_costs_nothing(tmp_path):
    """Its later passes would be of no rows."""
    batches = iter([pa.RecordBatch.from_pandas(table())])
    with costing_nothing(tmp_path, "can be read only once") as budget:
        by_source(budget, lambda: batches)


UNORDERED = [engine for engine in ENGINES if engine in ("polars", "duckdb")] + ["a function"]


@pytest.mark.parametrize("engine", UNORDERED)
def test_parts_of_rows_that_keep_no_order_cost_nothing(engine, tmp_path):
    """A database may be asked to keep codes of its rows in a folder; workers of a cluster keep them anyhow."""
    stored = pa.Table.from_pandas(table())
    source = stored.to_batches if engine == "a function" else held(engine, table(), tmp_path)
    for parts in ({"split": (0.2, 0.3, 0.5)}, {"omega": (1, 2)}):
        budget = new_budget(tmp_path)
        assert refused(by_source, budget, source, **parts)
        by_source(budget, source, **parts, scratch=tmp_path)
        assert charged(budget) > 0


SECOND_FILES: dict[str, Callable[[Path], Any]] = {
    "lacks a column": lambda path: table().drop(columns="age").to_csv(path, index=False),
    "is empty": lambda path: path.write_text(""),
    "names a column twice": lambda path: named_twice().to_csv(path, index=False),
    "has another separator": lambda path: table().to_csv(path, index=False, sep=";"),
}


def test_every_header_of_a_folder_is_read_before_the_draw(tmp_path):
    folder, words = tmp_path / "rows", {"domain": {n: s for n, s in DOMAIN.items() if n != "day"}}
    folder.mkdir()
    table().to_csv(folder / "1.csv", index=False)
    budget = new_budget(tmp_path)
    for mistake, write in SECOND_FILES.items():
        write(folder / "2.csv")
        assert refused(by_source, budget, folder, **words), mistake
    table().iloc[:, ::-1].to_csv(folder / "2.csv", index=False)  # in another order: each has names of its own
    by_source(budget, folder, **words)
    assert charged(budget) > 0


@pytest.mark.parametrize("types", ["declared", "voted"])
@pytest.mark.parametrize("door", DOORS)
def test_a_doubtful_header_line_costs_nothing(door, types, tmp_path):
    """Though the rows would go with it."""
    path, columns = tmp_path / "people.csv", {name: {"sdtype": "categorical"} for name in ("town", "age")}
    given = {"domain": None, "metadata": metadata_from_columns(columns) if door == "synthesizer" else None}
    if types == "declared":
        given["domain"] = {name: {**spec, "range_values": ["Bern", "1"]} for name, spec in columns.items()}
    for header in DOUBTFUL.values():
        path.write_text(f"{header}\n" + "Bern;1\n" * 300)
        with costing_nothing(tmp_path, "header line", Exception) as budget:
            DOORS[door](budget, path, types=types, **given)
    path.write_text("town;age\n" + "Bern;1\n" * 300)
    DOORS[door](budget, path, types=types, **given)
    assert charged(budget) > 0


def of_other_metadata(synth: Any) -> None:
    synth.metadata = metadata_from_columns({**COLUMNS, "sex": {"sdtype": "id"}})
    synth.fit(table())


def of_later_rows(synth: Any) -> None:
    """The plan knew nothing of such a column, and its cells decided which error came after the draw."""
    synth.fit(table().assign(mail="u@x.org"))


NEITHER, MAIL = "neither modelled nor generated", {"sdtype": "email", "pii": False}
SYNTHESIZERS: list[tuple[dict[str, Any], Callable[[Any], None], str]] = [
    ({"metadata": {**COLUMNS, "home": MAIL}}, lambda synth: synth.fit(table()), NEITHER),
    ({"metadata": {**COLUMNS, "mail": MAIL}, "undeclared": "infer"}, of_later_rows, NEITHER),
    ({}, lambda synth: synth.fit_processed_data(table()[["sex", "day"]]), "processed_data has columns"),
    ({}, lambda synth: synth.fit_processed_data(table()), "processed_data has columns"),
    ({}, lambda synth: synth.fit_processed_data(table().drop(columns="home")), r"preprocess\(\) of this synthesizer"),
    ({"person": "home"}, lambda synth: synth.fit_processed_data(table().drop(columns="home")), "not identify persons"),
    (
        {"metadata": {**COLUMNS, "day": {"sdtype": "datetime", "datetime_format": "%10Y"}}, "domain": None},
        lambda synth: synth.fit(date_texts()), "datetime_format",
    ),
    ({}, of_other_metadata, "metadata was changed"),
]  # fmt: skip


def test_what_only_the_rows_could_tell_is_refused_before_the_draw(tmp_path):
    for options, fit, words in SYNTHESIZERS:
        given = {"domain": untyped(DOMAIN), "model": "independent", **options}
        metadata = metadata_from_columns(given.pop("metadata", COLUMNS))
        with costing_nothing(tmp_path, words, (ValueError, InvalidDataError)) as budget:
            fit(Synth(metadata, budget=budget, **values(**given)))


def test_a_published_table_that_cannot_be_used_is_refused_when_it_is_given(tmp_path):
    columns = {"low": {"sdtype": "numerical"}, "high": {"sdtype": "numerical"}}
    domain = {name: {"range_min": 0, "range_max": 9, "range_is_nullable": False} for name in columns}
    given = {"domain": domain, "rules": [Inequality("low", "high")]}
    lists = {"low": [[1]], "high": [2]}, "column 'low' holds lists"
    for cells, words in (({"low": [1]}, r"public lacks columns \['high'\] of the rules"), lists):
        with pytest.raises(ValueError, match=words):
            Synth(metadata_from_columns(columns), **values(public=pd.DataFrame(cells), **given))
    nested = pd.DataFrame({"sex": pd.array([[1]] * 50, dtype=pd.ArrowDtype(pa.list_(pa.int64())))})
    with costing_nothing(tmp_path, "'sex' is stored as") as budget:
        by_synthesizer(budget, table(), model="bayesian_network", public=nested)


def test_one_locale_is_a_list_of_one(tmp_path):
    release = fit_source(table(), domain=DOMAIN, model="independent", locales="en_US")
    release.save(tmp_path / "r.release")
    assert Release.load(tmp_path / "r.release").settings["locales"] == ["en_US"]


def test_ids_alone_cost_nothing_and_the_ledger_says_so(tmp_path):
    synth = Synth(metadata_from_columns({"home": {"sdtype": "id"}}), budget=new_budget(tmp_path))
    synth.fit(table()[["home"]])
    assert charged(synth.budget) == synth.privacy_ledger().total() == 0


def test_what_no_command_could_finish_is_refused_before_the_fit(tmp_path, capsys):
    data, domain, rules = (tmp_path / name for name in ("t.csv", "d.json", "r.json"))
    table().drop(columns="home").to_csv(data, index=False)
    domain.write_text(json.dumps({n: w for n, w in DOMAIN.items() if n != "home"}))
    rules.write_text(json.dumps([Implies({"age": {"max": 15}}, {"sex": "f"}).to_dict()]))
    for more, words in (
        ("-n 5 --processes 4", "--processes 4 is for row-by-row tests"),
        (f"-n 5 --test randomized --rules {rules}", "row_cap to the number of rows to draw, such as 10"),
        (
            f"--domain {domain} --test randomized --rows 300 --row-cap 100",
            "row_cap (100) must be at least the number of requested rows (300)",
        ),
    ):
        command = f"synthesize {data} -o {tmp_path}/o.csv --budget {tmp_path}/b 2 1e-8 {more}"
        assert main(command.split()) == 2
        assert words in capsys.readouterr().err
        assert not (tmp_path / "b").exists()


@pytest.mark.filterwarnings("error")
def test_who_makes_errors_of_warnings_keeps_the_fit():
    """What is told of the rows is told once the fit is held: the outcome would depend on them."""
    far = {"age": {"range_min": 200, "range_max": 300}}
    synth = Synth(metadata_from_columns({"age": {"sdtype": "numerical"}}), domain=far)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*close to noise")  # which depends on no row
        with pytest.raises(UserWarning, match="age: most cells are outside"):
            synth.fit(table()[["age"]])
    assert len(synth.sample(5)) == 5


def test_no_more_does_fit_source_lose_one(monkeypatch, capsys):
    monkeypatch.setattr("warnings.warn", lambda text, *_, **__: (_ for _ in ()).throw(UserWarning(text)))
    domain = {**DOMAIN, "age": {**DOMAIN["age"], "range_min": 200, "range_max": 300}}
    assert fit_source(table(), domain=domain, model="independent").ledger.claims_privacy
    assert "age: most cells are outside" in capsys.readouterr().err


def test_a_source_that_cannot_be_read_once_more_does_not_end_a_fit(monkeypatch):
    """The look for warnings comes after all that was paid for."""
    monkeypatch.setattr(source_rows.SourceRows, "begins", lambda *_: 1 / 0)
    assert fit_source(table(), domain=DOMAIN, model="independent").ledger.claims_privacy


def test_an_empty_processed_table_is_fitted_as_any_other():
    """Else the ledger says that nothing was charged, which no table with a row gets."""
    ledgers = []
    for rows in (table().iloc[:0], table().iloc[:1]):
        synth = Synth(metadata_from_columns(COLUMNS), model="independent")
        synth.preprocess(table())
        synth.fit_processed_data(rows.drop(columns="home"))
        ledgers.append([entry for entry in synth.privacy_ledger().entries if entry.name != "noise"])
    assert ledgers[0] == ledgers[1]


def synthesized(rows: pd.DataFrame, domain: Any, **options: Any) -> None:
    metadata = metadata_from_columns({name: {"sdtype": words["sdtype"]} for name, words in domain.items()})
    Synth(metadata, domain=domain, **options).fit(rows)


CATEGORY = {"sdtype": "categorical", "range_values": ["m", "f"]}
WIDE = {f"c{i}": {"sdtype": "categorical", "range_values": [f"v{k}" for k in range(20)]} for i in range(8)}
HUGE = PaperNetwork(structure={"c0": [f"c{i}" for i in range(1, 8)]})
CITED = {f"c{i}": {**CATEGORY, "source": f"{i} " + "s" * 900} for i in range(120)}
TOO_LARGE: dict[str, tuple[Any, dict[str, Any], str]] = {
    "a long name": ({"n" * 1001: CATEGORY}, {}, "rename the column"),
    "half a character in a name": ({"a\ud800": CATEGORY}, {}, "lone surrogate"),
    "a long value": ({"sex": {**CATEGORY, "range_values": ["m", "f" * 100_001]}}, {}, "at most 100000 letters"),
    "tables that no memory holds": (WIDE, {"model": HUGE}, "above 50,000,000"),
    "sources, all in the ledger's notes": (CITED, {"model": "independent"}, "the text of entry domain is longer"),
}  # fmt: skip


def test_what_no_file_or_memory_could_hold_costs_nothing_at_either_door(tmp_path):
    for domain, options, words in TOO_LARGE.values():
        rows = pd.DataFrame({name: domain[name]["range_values"][:2] * 100 for name in domain})
        for fit in (synthesized, fit_source):
            with costing_nothing(tmp_path, words) as budget:
                fit(rows, domain=domain, budget=budget, **options)
    for source in ("x\ud800", "x" * 2000):
        with pytest.raises(ValueError, match="source"):
            fit_source(rows[["c0"]], domain={"c0": {**CITED["c0"], "source": source}})
    with pytest.raises(ValueError, match="table_name"):
        Synth(metadata_from_columns(COLUMNS, "a\ud800"))
    for options in (
        {"types": "Detected"}, {"table_name": "x" * 5000}, {"table_name": "a\ud800"}, {"scratch": "/proc", "rows": 50},
    ):  # fmt: skip
        with costing_nothing(tmp_path, "types|table_name|scratch|/proc", (ValueError, OSError)) as budget:
            by_source(budget, table(), **options)


def test_what_is_no_budget_is_refused_at_every_door():
    with pytest.raises(ValueError, match="budget \\(3\\) must be a Budget"):
        fit_source(table(), domain=DOMAIN, budget=3)
    with pytest.raises(ValueError, match="budget \\(3\\) must be a Budget"):
        learned_file(table(), PRIVATE, 1.0, 1e-9, budget=3)


def test_tables_of_learned_columns_that_no_memory_holds_end_no_fit(monkeypatch):
    """Only the answers tell how large they are: the last parents go, and it is said."""
    monkeypatch.setattr(structure, "MAX_CELLS", 30)
    columns = {name: {"sdtype": "categorical"} for name in ("c0", "c1", "c2")}
    rows = pd.DataFrame({name: ["a", "b", "c", "d"] * 500 for name in columns})
    with pytest.warns(UserWarning, match="parents were left out \\(c2 of c0\\)"):
        release = fit_source(rows, domain=columns, model=PaperNetwork(structure={"c0": ["c1", "c2"]}))
    assert release.ledger.claims_privacy


def test_a_far_number_ends_no_fit_where_warnings_are_errors():
    cells = np.round(np.random.default_rng(0).uniform(0, 100, 500), 2)
    cells[7] = 1e308
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for rules in ((), [Multiple("p", 0.25)]):
            release = fit_source(
                pd.DataFrame({"p": cells}), domain={"p": {"sdtype": "numerical"}}, rules=rules
            )
            assert release.ledger.claims_privacy


@pytest.mark.filterwarnings("ignore:Unable to turn off rounding", "ignore:For this change to take effect")
def test_columns_that_sdv_would_see_are_refused_before_it_looks(tmp_path):
    """A fit without a claim draws nothing: SDV's constraints must not look first, and be refused then."""
    seen = []
    with costing_nothing(tmp_path, "cannot draw") as budget:
        synth = Synth(metadata_from_columns(COLUMNS), budget=budget)
        synth.auto_assign_transformers(table())
        synth.update_transformers({"age": FloatFormatter()})
        synth._fit_rows = lambda *_: seen.append(1)
        synth.fit(table())
    assert not seen


@pytest.mark.filterwarnings("ignore:For this change to take effect")
def test_personal_data_that_sdv_would_hand_on_costs_nothing(tmp_path):
    """Else its value set is read off the rows, and the fit ends after its draw."""
    rows = pd.DataFrame({"em": [f"u{i}@x.y" for i in range(300)], "age": [i % 90 for i in range(300)]})
    columns = {"em": {"sdtype": "email"}, "age": {"sdtype": "numerical"}}
    pseudonyms = PseudoAnonymizedFaker(provider_name="internet", function_name="email")
    for transformer, words in ((None, "has the transformer None"), (pseudonyms, "cannot draw")):
        with costing_nothing(tmp_path, words) as budget:
            synth = Synth(metadata_from_columns(columns), budget=budget)
            synth.auto_assign_transformers(rows)
            synth.update_transformers({"em": transformer})
            synth.fit(rows)


def test_numpys_numbers_in_values_are_in_the_file(tmp_path):
    """A release that holds what no file holds was paid for, and could not be saved."""
    for person in (None, Person("home", rows=np.int64(2))):
        synth = Synth(
            metadata_from_columns(COLUMNS), epsilon=np.float32(1), delta=np.float32(1e-7), person=person,
            test=ReleaseTest(k=np.int64(2), omega=np.int64(1), epsilon0=np.float32(0.5)),
            model=PaperNetwork(structure={"age": {"sex"}}, split=(0.25, 0.25, 0.5)),
            budget=new_budget(tmp_path, 9.0, 1e-6), domain=untyped(DOMAIN),
        )  # fmt: skip
        synth.fit(table())
        synth.release().save(tmp_path / "r.release")
        again = Synth.from_release(Release.load(tmp_path / "r.release"))
        assert again.model == synth.model
        assert again.plan().ledger.split == synth.plan().ledger.split


def test_ranges_and_special_values_beyond_steps_of_rounding_end_no_fit():
    """Rounding is asked of numbers that are small enough: of the special ones, too."""
    rows = pd.DataFrame({"x": [float(i * 997) for i in range(300)]})
    for words in (
        {"range_max": 2**62},
        {"range_max": 1e17, "decimal_places": 2},
        {"range_max": 10**6, "special_values": [2**62]},
        {"range_max": 10**6, "special_values": [10**17], "decimal_places": 2},
    ):
        release = fit_source(rows, domain={"x": {"sdtype": "numerical", "range_min": 0, **words}})
        assert release.ledger.claims_privacy
        assert len(release.sample(5)) == 5


DAY, NO_FILE = pd.Timestamp("2020-01-01").value, "cannot be stored in a release file"
LOST: list[tuple[str, dict[str, Any]]] = [  # what is said of it, and what no file holds
    *((NO_FILE, {"domain": {**DOMAIN, "sex": Attribute(name="sex", kind="categorical", values=("m", "f", value))}})
      for value in (b"x", ("x", 1), float("inf"), 10**101, Decimal("Infinity"))),
    (NO_FILE, {"domain": {**DOMAIN, "age": Attribute(
        name="age", kind="float", lower=(-1e300,), upper=(1e300,), decimals=15
    )}}),
    (NO_FILE, {"domain": {**DOMAIN, "day": Attribute(
        name="day", kind="datetime", lower=(DAY,), upper=(DAY + 10**15,), time_zone="dateutil/Europe/Zurich"
    )}}),
    ("has the name 'zzz'", {"domain": {**DOMAIN, "sex": Attribute(name="zzz", kind="categorical", values=("m", "f"))}}),
    ("a setting cannot be stored in a release file", {"locales": ["en_US"] * 101}),
    ("max_bins", {"max_bins": 2**63}),
    ("a setting cannot be stored in a release file", {"model": AdaptiveNetwork(workload=[["age", "sex"]] * 100_001)}),
]  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
def test_what_is_known_of_a_release_is_written_and_read_before_the_draw(door, tmp_path):
    """Each was paid for, and then no release could be written, or none be read."""
    for said, options in LOST:
        with costing_nothing(tmp_path, said) as budget:
            DOORS[door](budget, table(), **options)


def test_planted_without_the_trial_it_is_paid_and_lost(tmp_path, monkeypatch):
    monkeypatch.setattr("sdv_plausible.release.file.all_sections.check_settings", lambda _: None)
    budget = new_budget(tmp_path)
    release = fit_source(table(), domain=DOMAIN, model="independent", budget=budget, locales=["en_US"] * 101)
    assert charged(budget) > 0
    with pytest.raises(ValueError, match="at most 100 items"):
        Release.from_bytes(release.to_bytes())


def test_a_domain_that_was_learned_at_a_larger_delta_is_refused():
    """Its losses have no epsilon at the fit's: the total was infinite, under a claim."""
    metadata, rows = metadata_from_columns({"age": COLUMNS["age"]}), table()[["age"]]
    first = Synth(metadata, delta=1e-4, model="independent")
    first.fit(rows)
    synth = Synth(metadata, domain=first.get_domain(), delta=1e-9, model="random")
    with pytest.raises(
        ValueError, match="delta .* is smaller than the delta with which the domain was learned"
    ):
        synth.plan()
