"""Rows in memory and in parts answer a fit alike."""

from __future__ import annotations

import importlib
import inspect
import pickle
import pkgutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sdv_plausible
from sdv_plausible.fit.rows import Rows, TableRows
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.questions.codes import CodeArray
from sdv_plausible.questions.counts import ExactCounts
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.sources.coded import SourceCounts
from sdv_plausible.sources.raw_columns import SourceColumns
from sdv_plausible.sources.source import FrameSource, Source
from sdv_plausible.sources.source_rows import SourceRows
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.learned.raw_counts import ExactColumns, FrameColumns

NAMES = ["age", "sex"]
TABLE = pd.DataFrame(
    {"age": np.arange(300) % 7, "sex": np.where(np.arange(300) % 3, "m", "f"), "home": np.arange(300) % 40}
)
DOMAIN = Domain(
    (
        Attribute(name="age", kind="categorical", values=tuple(range(7))),
        Attribute(name="sex", kind="categorical", values=("f", "m")),
    )
)
PEOPLE = Neighbours(rows=2, person="home")


def in_memory() -> Rows:
    return TableRows(TABLE[NAMES], RuleSet(), TABLE["home"])


def in_parts(folder: Path) -> Rows:
    return SourceRows(FrameSource(TABLE, 70), RuleSet(), NAMES, folder)


@pytest.fixture(params=["memory", "parts", "parts without a folder"])
def rows(request: pytest.FixtureRequest, tmp_path: Path) -> Rows:
    if request.param == "memory":
        return in_memory()
    return (
        in_parts(tmp_path)
        if request.param == "parts"
        else SourceRows(FrameSource(TABLE, 70), RuleSet(), NAMES)
    )


def test_counts_are_those_of_the_table(rows: Rows) -> None:
    assert rows.columns(NAMES).num_rows() == 300
    values, counts, missing = rows.columns(NAMES).value_counts("sex")
    assert dict(zip([value for _, value in values], counts.tolist(), strict=True)) == {"f": 100, "m": 200}
    assert missing == 0
    assert rows.coded(DOMAIN, Coins.from_seed(0)).num_rows() == 300


def test_what_is_shown_is_the_beginning_and_the_schema(rows: Rows) -> None:
    pd.testing.assert_frame_equal(
        rows.begins(5).reset_index(drop=True), TABLE[NAMES].iloc[:5], check_dtype=False
    )
    assert list(rows.schema().columns) == NAMES
    assert len(rows.schema()) == 0


def test_of_every_person_so_many_rows(tmp_path: Path) -> None:
    for made in (in_memory(), in_parts(tmp_path)):
        chosen = made.of_persons(PEOPLE, Coins.from_seed(3))
        assert chosen.columns(NAMES).num_rows() == 2 * 40  # each of 40 has seven rows and more
        assert chosen.coded(DOMAIN, Coins.from_seed(0)).num_rows() == 2 * 40


def test_rows_stay_where_they_are_without_persons(rows: Rows) -> None:
    assert rows.of_persons(Neighbours(), Coins.from_seed(3)) is rows


# --- rows stay -------------------------------------------------------------------------------------------------

PROTOCOLS: tuple[Any, ...] = (ExactCounts, ExactColumns, Source, Rows)


def seeing() -> list[type]:
    """Classes of the package that offer all that a protocol of rows asks for, found by their methods."""
    for module in pkgutil.walk_packages(sdv_plausible.__path__, f"{sdv_plausible.__name__}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    classes = {
        kind
        for name, module in list(sys.modules.items())
        if name.startswith(f"{sdv_plausible.__name__}.")
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == name and kind not in PROTOCOLS and not inspect.isabstract(kind)
    }
    return sorted(
        (kind for kind in classes if any(offers(kind, protocol) for protocol in PROTOCOLS)), key=lambda k: k.__name__
    )  # fmt: skip


def offers(kind: type, protocol: Any) -> bool:
    return all(hasattr(kind, name) for name in vars(protocol) if not name.startswith("_"))


def can_be_saved(kind: type) -> bool:
    """Whether pickle takes an object of the class, whatever it holds."""
    try:
        pickle.dumps(object.__new__(kind))
    except TypeError as refused:
        return "rows cannot be pickled" not in str(refused)
    return True


def test_whatever_sees_rows_refuses_to_be_pickled() -> None:
    """An object that is pickled with a synthesizer, or sent to a worker, would take the rows along."""
    found = seeing()
    assert all(any(offers(kind, protocol) for kind in found) for protocol in PROTOCOLS)
    assert {SourceRows, TableRows, SourceColumns, SourceCounts, FrameColumns, CodeArray} <= set(found)
    assert [kind.__name__ for kind in found if can_be_saved(kind)] == []


def test_an_engine_that_can_be_pickled_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (SourceColumns, TableRows):
        monkeypatch.setattr(kind, "__getstate__", lambda rows: dict(vars(rows)))
        assert can_be_saved(kind)


def test_a_cap_that_is_ignored_would_be_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sdv_plausible.fit.rows.choose_rows", lambda persons, *_: np.arange(len(persons)))
    monkeypatch.setattr("sdv_plausible.sources.source_rows.of_persons", lambda source, *_: (source, False))
    with pytest.raises(AssertionError):
        test_of_every_person_so_many_rows(tmp_path)


def test_what_can_be_no_name_is_nobodys() -> None:
    names = pd.Series([["SECRET"], {"SECRET": 1}, "a"] * 100)
    assert len(TableRows(TABLE[NAMES], RuleSet(), names).of_persons(PEOPLE, Coins.from_seed(3))) == 2
