"""Replay through every door: whatever reads a table under a claim, the same noisy answers give the very same files and words.

Doors are every engine of ``fit_source``, the commands that fit, ``declare --private``, the vote on types and the app. What opens the
door to the rows, and which commands there are, is read off the package (``guarded.py``): one without a case is named.
"""

from __future__ import annotations

import contextlib
import functools
import io
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import guarded
import pandas as pd
import pytest
import ruled
from cases import fast_and_nightly, fast_and_slow
from engines import HELD, held
from replaying import check_same, recorded
from test_replay import ARCS, COLUMNS, DECLARED, broken_rules, first_table, fit, other_table, shown

from sdv_plausible import Budget, PlausibleDeniabilitySynthesizer, fit_source
from sdv_plausible.cli import main
from sdv_plausible.extensions.app.pages import background_fit
from sdv_plausible.extensions.app.pages.release_request import read_request
from sdv_plausible.extensions.app.review.review import ReviewedTable
from sdv_plausible.fitting import domain_learning, partitioned_table
from sdv_plausible.fitting import fit_source as fit_source_module
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.table.declared.domain_file import DomainFile, draft_domain_file
from tests.flat import values

pytestmark = pytest.mark.filterwarnings(
    "ignore:.* (most cells are outside|cells are missing although):UserWarning"
)
Run = Callable[[pd.DataFrame, Path], dict[str, Any]]


def other() -> pd.DataFrame:
    """The other table; columns that are invented have the types of the first one's, but many cells of them are missing."""
    found = other_table().assign(ticket=lambda table: [f"T-{x}" for x in table["ticket"]])
    invented = {name: found[name].where(found.index % 3 > 0, None) for name in ("id", "ticket", "email")}
    return found.assign(**invented)


def other_for(engine: str) -> pd.DataFrame:
    """The same; of a Parquet file the schema is public: bits of numbers and units of dates are the first one's."""
    same = {"age": "float64", "start": first_table()["start"].dtype}
    return other().astype(same) if engine == "parquet" else other()


def replayed(run: Run, first: pd.DataFrame, second: pd.DataFrame, folder: Path) -> None:
    """Compare what a door gives for two tables, each in a folder of its own."""
    answers: list[Any] = []
    seen = []
    for name, table in (("first", first), ("other", second)):
        (folder / name).mkdir()
        with recorded(answers, again=name == "other"), pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder / name)
            seen.append(run(table, folder / name))
        assert answers
    check_same(*seen)


@contextlib.contextmanager
def ways_to_the_rows() -> Iterator[set[tuple[str, int]]]:
    """Modules and first lines of the package's functions under way when rows get a door, or a synthesizer is made."""
    found: set[tuple[str, int]] = set()

    def noted(honest: Callable[..., None]) -> Callable[..., None]:
        def made(*args: Any, **kwargs: Any) -> None:
            frame = sys._getframe(1)
            while frame is not None:
                path = Path(frame.f_code.co_filename)
                if path.is_relative_to(guarded.PACKAGE):
                    found.add((path.relative_to(guarded.PACKAGE).as_posix(), frame.f_code.co_firstlineno))
                frame = frame.f_back
            honest(*args, **kwargs)

        return made

    with pytest.MonkeyPatch.context() as patch:
        for kind in (Queryable, PlausibleDeniabilitySynthesizer):
            patch.setattr(kind, "__init__", functools.wraps(kind.__init__)(noted(kind.__init__)))
        yield found


VOTED: dict[str, Any] = {"types": "voted", "domain": None, "model": "independent", "epsilon": 9.0}
SOURCES: dict[str, dict[str, Any]] = {
    "voted": {**VOTED, "person": "ticket", "rows_per_person": 2, "scratch": "scratch"},
    # The other models ask by the same door, see test_replay.py.
    **{f"model {name}": guarded.models(ARCS)[name] for name in ("adaptive", "cfs", "copula")},
    **{
        f"protects a {name}": {**guarded.parameters_of(unit), "scratch": "scratch"} for name, unit in guarded.UNITS.items()
    },
    "private": {"domain": None, "epsilon": 4.0, "delta": 1e-6, "max_bins": 20},
    "seeds": {"model": "independent", "omega": 5, "k": 2, "epsilon0": 2.0, "split": (0.3, 0.3, 0.4)},
    "words": {"model": "independent", "locales": ["en_GB"], "table_name": "people", "rows": 150, "workers": 3},
}  # fmt: skip


def source(engine: str = "pandas", **options: Any) -> Run:
    """What a fit of a table in parts leaves: its release."""
    usual = {"domain": DECLARED, "rows": 200, **options}
    columns = None if options.get("types") == "voted" else COLUMNS

    def run(frame: pd.DataFrame, folder: Path) -> dict[str, Any]:
        (folder / "scratch").mkdir()
        fitted = fit_source(held(engine, frame, folder), columns, **values(**usual))
        return {"release file": fitted.to_bytes()}

    return run


@pytest.mark.parametrize("engine", HELD)
def test_no_engine_leaves_anything_of_the_rows(engine: str, tmp_path: Path) -> None:
    known = {name: words for name, words in DECLARED.items() if name != "grade"}
    run = source(engine, domain=known, epsilon=4.0, model="independent")
    replayed(run, first_table(), other_for(engine), tmp_path)


@pytest.mark.parametrize("engine", fast_and_nightly(["pandas", "arrow"], ["polars", "parquet", "dask"]))
def test_columns_of_categories_leave_nothing_of_the_rows(engine: str, tmp_path: Path) -> None:
    """Whose categories are the values of the rows."""
    first, second = (table.astype({"city": "category"}) for table in (first_table(), other()))
    replayed(source(engine, model="independent"), first, second, tmp_path)


@pytest.mark.parametrize("case", SOURCES)
def test_no_fit_of_a_table_in_parts_leaves_anything_of_the_rows(case: str, tmp_path: Path) -> None:
    replayed(source(**SOURCES[case]), first_table(), other(), tmp_path)


@pytest.mark.parametrize("engine", fast_and_slow(HELD, lambda engine: engine in ("pandas", "csv")))
def test_types_that_are_voted_for_in_parts_leave_nothing_of_the_rows(engine: str, tmp_path: Path) -> None:
    replayed(source(engine, **VOTED), first_table(), other_for(engine), tmp_path)


def test_rules_of_all_kinds_leave_nothing_of_the_rows_in_parts(tmp_path: Path) -> None:
    def run(frame: pd.DataFrame, folder: Path) -> dict[str, Any]:
        options = {"domain": ruled.DOMAIN, "rules": ruled.RULES, "max_bins": 6, "rows": 90, "epsilon": 4.0}
        return {"release file": fit_source(frame, ruled.COLUMNS, **values(**options)).to_bytes()}

    replayed(run, ruled.table(), broken_rules(), tmp_path)


def test_a_budget_is_drawn_from_alike_in_parts(tmp_path: Path) -> None:
    def run(frame: pd.DataFrame, folder: Path) -> dict[str, Any]:
        budget = Budget(1.5, 1e-8, folder / "budget.json")
        return {**source(model="independent", budget=budget)(frame, folder), "charged": budget.charged()}

    replayed(run, first_table(), other(), tmp_path)


@pytest.mark.parametrize(
    ("stored", "engine"), [("categories", "pandas"), ("whole numbers", "dask"), ("doubles", "pandas")]
)
def test_types_of_invented_columns_make_no_difference_in_parts(
    stored: str, engine: str, tmp_path: Path
) -> None:
    table, numbers = first_table(), first_table()["ticket"].factorize()[0]
    ids = {"categories": table["ticket"].astype("category"), "whole numbers": numbers, "doubles": numbers / 2}
    replayed(source(engine, model="independent"), table, table.assign(ticket=ids[stored]), tmp_path)


DECLARATIONS = {name: {**spec, **DECLARED.get(name, {})} for name, spec in COLUMNS.items()}


def command(
    *words: str, outputs: Collection[str], types_alone: Collection[str] = (), nothing: Collection[str] = ()
) -> Run:
    """What a command prints, and the files that it writes; of some columns types alone are declared, of some nothing."""
    told = {name: words for name, words in DECLARATIONS.items() if name not in nothing}
    told |= {name: COLUMNS[name] for name in types_alone}

    def run(frame: pd.DataFrame, folder: Path) -> dict[str, Any]:
        frame.to_csv("table.csv", index=False)
        DomainFile(columns=told).save("domain.json")
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            assert main.main([*words, "table.csv", "--domain", "domain.json", "--json"]) == 0
        return {"said": said.getvalue(), **{name: Path(name).read_bytes() for name in outputs}}

    return run


def app(columns: Collection[str] = ()) -> Run:
    """What a fit of the app tells, and its files that may be published; some columns are declared by nobody."""

    class Told(list[Any]):
        send = list.append

    def run(frame: pd.DataFrame, folder: Path) -> dict[str, Any]:
        frame.to_csv("table.csv", index=False)
        known = {name: words for name, words in DECLARATIONS.items() if name not in columns}
        table = ReviewedTable(Path("table.csv"), tuple(COLUMNS), {"encoding": "utf-8"})
        fields = {"rows": "60", "epsilon": "4", "model": "independent"}
        order, refused = read_request(table, draft_domain_file(tuple(COLUMNS), known), fields)
        assert order is not None, refused
        told = Told()
        background_fit.run(order, folder, told)
        assert told[-1] == ("stage", 4), told
        files = {made.name: folder / made.name for made in background_fit.FILES.values() if made.is_public}
        return {
            "said": [said for said in told if said[0] != "warnings"],  # which are for the holder
            **{name: path.read_bytes() for name, path in files.items() if path.exists()},
        }

    return run


def in_parts(frame: pd.DataFrame, folder: Path) -> dict[str, Any]:
    """What a synthesizer holds that was fitted to a file in parts."""
    known = {"model": "independent", "domain": DECLARED, "person": "ticket", "rows_per_person": 2}
    synth = PlausibleDeniabilitySynthesizer(metadata_from_columns(COLUMNS), **values(**known))
    frame.to_csv(folder / "table.csv", index=False)
    (folder / "scratch").mkdir()
    synth.fit(folder / "table.csv", folder / "scratch")
    return shown(synth)


UNDECLARED = ("grade", "start")
RUNS: dict[str, Run] = {
    "synthesizer": lambda frame, _: shown(fit(metadata_from_columns(COLUMNS), frame, model="independent")),
    "voted": lambda frame, _: shown(
        fit(metadata_from_columns(COLUMNS), frame, model="independent", types="voted", domain=None, epsilon=9.0)
    ),
    "synthesizer in parts": in_parts,
    "fit_source": source(model="independent"),
    "fit": command(
        "fit", "-o", "t.release", "--ledger", "ledger.json", "--model", "independent", "--epsilon", "9",
        nothing=UNDECLARED, outputs=("t.release", "ledger.json"),
    ),
    "synthesize": command(
        "synthesize", "-o", "rows.csv", "-n", "70", "--scratch", ".", "--person", "ticket", "--rows-per-person", "2", "--model", "independent",
        outputs=("rows.csv",),
    ),
    "describe": command(
        "describe", "-o", "table.json", "--epsilon", "9", "--mode", "independent", nothing=UNDECLARED, outputs=("table.json",)
    ),
    "declare": command("declare", "-o", "learned.json", "--private", "4", types_alone=("age",), outputs=("learned.json",)),
    "app": app(UNDECLARED),
}  # fmt: skip


@pytest.mark.parametrize("door", RUNS)
def test_no_door_leaves_anything_of_the_rows(door: str) -> None:
    """Replay through a door, and through the functions of the package that it stands for."""
    first = first_table().assign(grade=lambda table: table["grade"].map("grade {}".format))
    with pytest.MonkeyPatch.context() as patch, ways_to_the_rows() as called, TemporaryDirectory() as folder:
        patch.setattr(
            background_fit, "_compare", lambda *_: None
        )  # pages that compare with the rows take seconds
        replayed(RUNS[door], first, other(), Path(folder))
    places = guarded.doors()
    missed = [name for name, way in guarded.DOORS.items() if way == door and places[name] not in called]
    assert missed == [], "replay does not go through them"


@pytest.mark.slow
def test_pages_of_the_app_that_may_be_published_leave_nothing_of_the_rows(tmp_path: Path) -> None:
    """Beside them it makes pages that compare with the rows, for their holder."""
    replayed(app(UNDECLARED), first_table().assign(grade="grade 1"), other(), tmp_path)
    assert all((tmp_path / "first" / made.name).exists() for made in background_fit.FILES.values())


def write_stored_types(patch: pytest.MonkeyPatch) -> None:
    """Columns are written in the types of the rows, as fit_source did in 0.1."""
    honest, types = partitioned_table.open_source, {}

    def opened(*given: Any, **options: Any) -> Any:
        table = honest(*given, **options)
        types.update(table.empty(table.names).dtypes)
        return table

    patch.setattr(partitioned_table, "open_source", opened)
    patch.setattr(fit_source_module, "output_type", lambda attribute: types[attribute.name])


def count_rows_in_the_domain_file(patch: pytest.MonkeyPatch) -> None:
    honest = domain_learning.build_domain

    def build(table: pd.DataFrame, *told: Any) -> Any:
        longer = lambda age: replace(age, upper=(*age.upper[:-1], age.upper[-1] + len(table)))  # noqa: E731
        return Domain(tuple(longer(one) if one.name == "age" else one for one in honest(table, *told)))

    patch.setattr(domain_learning, "build_domain", build)


def tell_the_exact_number_of_rows(patch: pytest.MonkeyPatch) -> None:
    honest = background_fit._write_release

    def write(done: Any, *more: Any) -> Any:
        done.told.send(("rows", len(done.rows)))
        return honest(done, *more)

    patch.setattr(background_fit, "_write_release", write)


FAULTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "fit_source": write_stored_types, "declare": count_rows_in_the_domain_file, "app": tell_the_exact_number_of_rows,
}  # fmt: skip


@pytest.mark.parametrize("door", FAULTS)
def test_planted_side_doors_are_caught(door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Faults of the other doors are in test_named_mutants.py."""
    FAULTS[door](monkeypatch)
    with pytest.raises(AssertionError, match="depend"):
        test_no_door_leaves_anything_of_the_rows(door)
