"""Parts of a table have numbers of their own, on every engine, and coins of their own, in every kind of work.

docs/explanation/proofs/parts.md, Lemmas 2 to 4. All draws are watched: in one pass no two parts may draw from one stream. What is
met is held against what the package has: its engines, and its kinds of work. Planted: parts that all have the number 0.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import sys
from collections import defaultdict
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest
from engines import CLUSTERS, HELD, held
from guarded import unequal

from sdv_plausible import sources
from sdv_plausible.extensions.clusters import cluster_source
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import Axis
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.sources import bounded_rows
from sdv_plausible.sources.source_rows import SourceRows
from sdv_plausible.sources.source_types import engine_of, engines, open_source
from sdv_plausible.table.columns.cell_reader import Spelling
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.table.declared.column_types import column_types

COLUMNS = {"home": {"sdtype": "id"}, "sex": {"sdtype": "categorical"}}
FRAME = pd.DataFrame({"home": [f"h{i % 400}" for i in range(2_100)], "sex": ["f", "m", "x"] * 700})
NAMES = ["sex"]
DOMAIN = Domain.from_declarations({"sex": {"range_values": ["f", "m"], "range_is_nullable": False}})
STRANGERS = [[Axis.of_codes(0, 2)]]  # cells that are x are drawn
# Engine -> whether every pass has the same rows at the same places. A database, a cluster and what opens a stream anew promise
# nothing; a query of polars may be run in any order.
IN_ORDER = {
    "CSV files": True, "Parquet files": True, "Excel file": True, "pandas frame": True, "Arrow table": True, "polars frame": False,
    "DuckDB relation": False, "Dask DataFrame": False, "Spark DataFrame": False, "table of Ibis": False,
    "Arrow stream": False, "function": False,
}  # fmt: skip


@dataclass
class Pass:
    """What one pass over the parts did: for each number a part was given, the streams that it drew from."""

    task: str
    inner: str
    parts: list[tuple[int, frozenset[bytes]]] = field(default_factory=list)

    @property
    def numbers(self):
        return [number for number, _ in self.parts]

    @property
    def shared(self):
        """Streams that were drawn from in several parts."""
        drawn = [stream for _, streams in self.parts for stream in streams]
        return len(drawn) - len(set(drawn))


@contextmanager
def watched(given=None):
    """Watch all passes over the parts of tables; ``given``: a number for all parts in the place of their own.

    A cluster's tasks are done one after another, in this process.
    """
    passes = {}
    held_alive, drawn = [], set()
    draw = KeyedRNG._draw

    def watching(count):
        def counted(task, part, number):
            drawn.clear()
            number = number if given is None else given
            found = count(task, part, number)
            if len(getattr(part, "rows", part)):
                held_alive.append(task)  # or another pass's work would get its identity
                one = passes.setdefault(id(task), Pass(type(task).__name__, innermost(task)))
                one.parts.append((number, frozenset(drawn)))
            return found

        return counted

    def noted(self, n_bytes):
        drawn.add(self._key)
        return draw(self, n_bytes)

    found = []
    with pytest.MonkeyPatch.context() as patch:
        for kind in works(modules()):
            patch.setattr(kind, "count", watching(kind.count))
        patch.setattr(KeyedRNG, "_draw", noted)
        patch.setattr(bounded_rows, "FILES", 8)
        patch.setattr(cluster_source, "PART_ROWS", 1)  # a task for each part
        with in_this_process():
            yield found
    found.extend(passes.values())


def innermost(task):
    """Kind of the work that others pass parts on to."""
    while hasattr(task, "task") or hasattr(task, "counted"):
        task = task.task if hasattr(task, "task") else task.counted
    return type(task).__name__


def passes_of(engine, kept=None, given=None):
    """Everything that a fit does with parts: cells outside the domain, halves by secret numbers, groups.

    ``kept``: with a folder for codes, and for the rows of such units.
    """
    rng = KeyedRNG.from_os_entropy()
    with TemporaryDirectory() as holder, TemporaryDirectory() as scratch, watched(given) as found:
        table = open_source(held(engine, FRAME, Path(holder)), column_types(None, COLUMNS), 300)
        rows = SourceRows(table, RuleSet(), NAMES, Path(scratch) if kept else None)
        rows = rows.of_persons(kept or ONE_ROW, rng.spawn("persons"))
        again = rows.read_again(column_types(None, {"sex": COLUMNS["sex"]}), Spelling(), RuleSet())
        coded = again.coded(DOMAIN, rng.spawn("cells"))
        some = coded.part(0, 0.5, rng.spawn("half")) if kept or table.in_order else coded
        list(some.tables(STRANGERS))
        some.groups([0], 1)
        rows.columns(NAMES).value_counts("sex")
    return found


def in_this_process():
    """Tasks of Dask one after another, where it is installed."""
    has_dask = importlib.util.find_spec("dask") is not None
    return importlib.import_module("dask").config.set(scheduler="synchronous") if has_dask else nullcontext()


def faults(passes):
    """Kinds of work in which parts share a number or a stream."""
    return [one.task for one in passes if one.shared or len(set(one.numbers)) < len(one.numbers)]


KEPT = {"nothing": None, "codes": ONE_ROW, "people": Neighbours(rows=2, person="home")}
# Workers of a cluster keep codes always.
CASES = [(engine, kept) for engine in HELD for kept in KEPT if kept != "nothing" or engine not in CLUSTERS]


@pytest.mark.parametrize(("engine", "kept"), CASES)
def test_every_part_has_a_number_and_coins_of_its_own(engine, kept):
    passes = passes_of(engine, KEPT[kept])
    assert faults(passes) == []
    for one in passes:
        assert len(one.parts) >= 2
        assert all(streams for _, streams in one.parts) == (
            one.inner not in ("DistinctValuesTask", "UnnamedRowsTask", "RowCountTask")
        )


def test_parts_of_one_number_are_caught():
    for kept, drawing in (
        ("nothing", {"CountTablesTask", "GroupSizesTask"}),
        ("codes", {"StoreCodesTask"}),
        ("people", {"DistributeRows"}),
    ):
        passes = passes_of("pandas", KEPT[kept], given=0)
        assert drawing <= {one.task for one in passes if one.shared} <= set(faults(passes))


def works(modules):
    """Classes of work."""
    return [
        kind
        for module in modules
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__ and hasattr(kind, "merge") and hasattr(kind, "count")
        if not getattr(kind, "_is_protocol", False)
    ]


def modules():
    """All modules of the room."""
    names = [found.name for found in pkgutil.iter_modules(sources.__path__)]
    return [importlib.import_module(f"{sources.__name__}.{name}") for name in names]


def kinds_of_work(modules):
    """Kinds of work that look at a part's number."""
    found = works(modules)
    return {kind.__name__ for kind in found if inspect.getsource(kind.count).count("number") > 1}


def test_every_kind_of_work_that_draws_is_among_them():
    cases = [("pandas", kept) for kept in KEPT] + [("spark", "people")]
    passes = [one for engine, kept in cases for one in passes_of(engine, KEPT[kept])]
    drawing = {one.task for one in passes if any(streams for _, streams in one.parts)}
    assert kinds_of_work(modules()) == drawing
    assert kinds_of_work([sys.modules[__name__]]) == {"Planted"}


class Planted:
    """A kind of work that nobody has a case of."""

    def count(self, part, number):
        return float(KeyedRNG.from_seed(number).uniform())

    def merge(self, one, other):
        return one + other


def test_who_promises_an_order_is_known(tmp_path):
    """Rows by secret numbers, and coins that are the same in every pass, need the order that is promised."""
    found = defaultdict(set)
    for name in HELD:
        folder = tmp_path / name
        folder.mkdir()
        data = held(name, FRAME, folder)
        found[engine_of(data)[0].name].add(open_source(data, column_types(None, COLUMNS)).in_order)
    assert found == {name: {promised} for name, promised in IN_ORDER.items()}
    assert (
        unequal([engine.name for engine in engines()], IN_ORDER) == []
    )  # it says of each whether rows keep places
