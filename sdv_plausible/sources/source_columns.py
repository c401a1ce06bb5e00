"""Exact answers about the raw columns of a table that is read in parts, to learn domains from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.queries.count_queries import UnpicklableRows
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.sources.source import Source, with_objects
from sdv_plausible.table.learned.raw_queries import FrameColumns, NumberReading, TypedValue, in_public_order
from sdv_plausible.table.learned.value_grid import ValueGrid

Valued = tuple[dict[TypedValue, int], int, int]
Points = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class RowCountTask:
    """Work: rows."""

    def count(self, part: pd.DataFrame, number: int) -> int:  # noqa: ARG002
        """Count one part."""
        return len(part)

    def merge(self, one: int, other: int) -> int:
        """Add."""
        return one + other


@dataclass(frozen=True)
class DistinctValuesTask:
    """Work: values that occur, missing cells and rows."""

    rules: RuleSet
    name: str

    def count(self, part: pd.DataFrame, number: int) -> Valued:  # noqa: ARG002
        """Count one part."""
        values, counts, missing = _folded(self.rules, part).value_counts(self.name)
        return dict(zip(values, counts.tolist(), strict=True)), missing, len(part)

    def merge(self, one: Valued, other: Valued) -> Valued:
        """Add the counts of equal values."""
        counts = dict(one[0])
        for value, count in other[0].items():
            counts[value] = counts.get(value, 0) + count
        return counts, one[1] + other[1], one[2] + other[2]


@dataclass(frozen=True)
class PrecisionTask:
    """Work: cells of every level of precision."""

    rules: RuleSet
    reading: NumberReading

    def count(self, part: pd.DataFrame, number: int) -> np.ndarray:  # noqa: ARG002
        """Count one part."""
        return _folded(self.rules, part).precision_counts(self.reading)

    def merge(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Add."""
        return one + other


@dataclass(frozen=True)
class GridPointsTask:
    """Work: lattice points that occur."""

    rules: RuleSet
    reading: NumberReading
    lattice: ValueGrid

    def count(self, part: pd.DataFrame, number: int) -> Points:  # noqa: ARG002
        """Count one part."""
        return _folded(self.rules, part).point_counts(self.reading, self.lattice)

    def merge(self, one: Points, other: Points) -> Points:
        """Add the counts of equal points."""
        points, where = np.unique(np.concatenate([one[0], other[0]]), return_inverse=True)
        counts = np.zeros(len(points), dtype=np.int64)
        np.add.at(counts, where, np.concatenate([one[1], other[1]]))
        return points, counts


class SourceColumns(UnpicklableRows):
    """A table in parts; an engine of exact answers about columns.

    A pass reads one column, and counts are kept for the questions after it. Distinct values are held, and
    nothing else that grows with the rows.

    Parameters
    ----------
    source : Source
        The table.
    rules : RuleSet
        Of which the model's columns follow.
    names : sequence of str
        Columns that are read where rules need several.
    size : list of int, optional
        The number of rows once it was counted: of all that look at the same rows, one pass counts it.
    """

    def __init__(
        self, source: Source, rules: RuleSet, names: Sequence[str], size: list[int] | None = None
    ) -> None:
        self._source, self._rules, self._all = source, rules, tuple(names)
        self._size = [] if size is None else size
        self._kept: dict[str, tuple[Any, Any]] = {}  # of each kind the last: a column is asked several times

    def num_rows(self) -> int:
        """Return the number of rows."""
        if not self._size:
            self._size.append(int(self._source.total(RowCountTask(), self._all[:1])))
        return self._size[0]

    def value_counts(self, name: str) -> tuple[list[TypedValue], np.ndarray, int]:
        """Values that occur, their counts, and the number of missing cells."""
        counts, missing, _ = self._once(
            "values", name, lambda: self._total(DistinctValuesTask(self._rules, name), name)
        )
        order = in_public_order(counts)
        return order, np.array([counts[v] for v in order], dtype=np.int64), missing

    def precision_counts(self, reading: NumberReading) -> np.ndarray:
        """Cells of every level of precision, then of every text beside, unread cells, missing ones."""
        return np.asarray(
            self._once(
                "levels", reading, lambda: self._total(PrecisionTask(self._rules, reading), reading.name)
            )
        )

    def point_counts(self, reading: NumberReading, lattice: ValueGrid) -> Points:
        """Lattice points that occur, increasing, and their counts."""
        work = GridPointsTask(self._rules, reading, lattice)
        found: Points = self._once("points", (reading, lattice), lambda: self._total(work, reading.name))
        return found

    def _total(self, work: Any, name: str) -> Any:
        return self._source.total(work, self._all if self._rules.deriving_rules else (name,))

    def _once(self, kind: str, key: Any, count: Callable[[], Any]) -> Any:
        if kind not in self._kept or self._kept[kind][0] != key:
            self._kept[kind] = (key, count())
        return self._kept[kind][1]


def _folded(rules: RuleSet, part: pd.DataFrame) -> FrameColumns:
    return FrameColumns(rules.fold(with_objects(part)) if rules.deriving_rules else part)
