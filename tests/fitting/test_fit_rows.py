"""Rows in memory and in parts answer a fit alike."""

from __future__ import annotations

import importlib
import inspect
import pickle
import pkgutil
import sys

import numpy as np
import pandas as pd
import pytest

import sdv_plausible
from sdv_plausible.fitting.fit_rows import FitRows, InMemoryRows
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import CodeArray, ExactCounts
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.sources.source import FrameSource, Source
from sdv_plausible.sources.source_columns import SourceColumns
from sdv_plausible.sources.source_counts import SourceCounts
from sdv_plausible.sources.source_rows import SourceRows
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.learned.raw_queries import ExactColumns, FrameColumns

NAMES = ["age", "sex"]
AT = np.arange(300)
TABLE = pd.DataFrame({"age": AT % 7, "sex": np.where(AT % 3, "m", "f"), "home": AT % 40})
DOMAIN = Domain((Attribute(name="age", kind="categorical", values=tuple(range(7))), Attribute(name="sex", kind="categorical", values=("f", "m"))))  # fmt: skip
PEOPLE = Neighbours(rows=2, person="home")


def every_kind(folder):
    """Rows in memory, in parts, and in parts without a folder."""
    parts = [SourceRows(FrameSource(TABLE, 70), RuleSet(), NAMES, *given) for given in ((folder,), ())]
    return [InMemoryRows(TABLE[NAMES], RuleSet(), TABLE["home"]), *parts]


def test_counts_are_those_of_the_table(tmp_path):
    """What is shown of it is the beginning and the schema."""
    for rows in every_kind(tmp_path):
        assert rows.columns(NAMES).num_rows() == 300
        values, counts, missing = rows.columns(NAMES).value_counts("sex")
        found = dict(zip([value for _, value in values], counts.tolist(), strict=True))
        assert found == {"f": 100, "m": 200}
        assert missing == 0
        assert rows.coded(DOMAIN, KeyedRNG.from_seed(0)).num_rows() == 300
        begins = rows.begins(5).reset_index(drop=True)
        pd.testing.assert_frame_equal(begins, TABLE[NAMES].iloc[:5], check_dtype=False)
        assert list(rows.schema().columns) == NAMES
        assert len(rows.schema()) == 0
        assert rows.of_persons(Neighbours(), KeyedRNG.from_seed(3)) is rows  # without persons they stay


def test_of_every_person_so_many_rows(tmp_path):
    for made in every_kind(tmp_path)[:2]:
        chosen = made.of_persons(PEOPLE, KeyedRNG.from_seed(3))
        assert chosen.columns(NAMES).num_rows() == 2 * 40  # each of 40 has seven rows and more
        assert chosen.coded(DOMAIN, KeyedRNG.from_seed(0)).num_rows() == 2 * 40


# --- rows stay -------------------------------------------------------------------------------------------------

PROTOCOLS = (ExactCounts, ExactColumns, Source, FitRows)


def seeing():
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
    return [kind for kind in classes if any(offers(kind, protocol) for protocol in PROTOCOLS)]


def offers(kind, protocol):
    return all(hasattr(kind, name) for name in vars(protocol) if not name.startswith("_"))


def can_be_saved(kind):
    """Whether pickle takes an object of the class, whatever it holds."""
    try:
        pickle.dumps(object.__new__(kind))
    except TypeError as refused:
        return "rows cannot be pickled" not in str(refused)
    return True


def test_whatever_sees_rows_refuses_to_be_pickled(monkeypatch):
    """An object that is pickled with a synthesizer, or sent to a worker, would take the rows along."""
    found = seeing()
    assert all(any(offers(kind, protocol) for kind in found) for protocol in PROTOCOLS)
    assert {SourceRows, InMemoryRows, SourceColumns, SourceCounts, FrameColumns, CodeArray} <= set(found)
    assert [kind.__name__ for kind in found if can_be_saved(kind)] == []
    for kind in (SourceColumns, InMemoryRows):
        monkeypatch.setattr(kind, "__getstate__", lambda rows: dict(vars(rows)))
        assert can_be_saved(kind)


def test_a_cap_that_is_ignored_would_be_seen(monkeypatch, tmp_path):
    monkeypatch.setattr(
        "sdv_plausible.table.contribution_bounding.choose_rows", lambda persons, *_: np.arange(len(persons))
    )
    monkeypatch.setattr("sdv_plausible.sources.source_rows.of_persons", lambda source, *_: (source, False))
    with pytest.raises(AssertionError):
        test_of_every_person_so_many_rows(tmp_path)


def test_what_can_be_no_name_is_nobodys():
    names = pd.Series([["SECRET"], {"SECRET": 1}, "a"] * 100)
    assert len(InMemoryRows(TABLE[NAMES], RuleSet(), names).of_persons(PEOPLE, KeyedRNG.from_seed(3))) == 2
