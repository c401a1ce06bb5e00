"""Exact queries about the raw columns of a table in parts, for learning domains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.queries.count_queries import UnpicklableRows
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.sources.source import Source, categories_to_objects
from sdv_plausible.table.learned.raw_queries import FrameColumns, NumberReading, TypedValue, in_public_order
from sdv_plausible.table.learned.value_grid import ValueGrid

Valued = tuple[dict[TypedValue, int], int, int]
Points = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class RowCountTask:
    """Task: number of rows."""

    def count(self, part: pd.DataFrame, number: int) -> int:  # noqa: ARG002
        """Count one part."""
        return len(part)

    def merge(self, one: int, other: int) -> int:
        """Add."""
        return one + other


@dataclass(frozen=True)
class DistinctValuesTask:
    """Task: distinct values with counts, missing cells and rows."""

    rules: RuleSet
    name: str

    def count(self, part: pd.DataFrame, number: int) -> Valued:  # noqa: ARG002
        """Count one part."""
        values, counts, missing = _apply_rules(self.rules, part).value_counts(self.name)
        return dict(zip(values, counts.tolist(), strict=True)), missing, len(part)

    def merge(self, one: Valued, other: Valued) -> Valued:
        """Add the counts of equal values."""
        counts = dict(one[0])
        for value, count in other[0].items():
            counts[value] = counts.get(value, 0) + count
        return counts, one[1] + other[1], one[2] + other[2]


@dataclass(frozen=True)
class PrecisionTask:
    """Task: number of cells at every level of precision."""

    rules: RuleSet
    reading: NumberReading

    def count(self, part: pd.DataFrame, number: int) -> np.ndarray:  # noqa: ARG002
        """Count one part."""
        return _apply_rules(self.rules, part).precision_counts(self.reading)

    def merge(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Add."""
        return one + other


@dataclass(frozen=True)
class GridPointsTask:
    """Task: occurring points of a value grid, with counts."""

    rules: RuleSet
    reading: NumberReading
    grid: ValueGrid

    def count(self, part: pd.DataFrame, number: int) -> Points:  # noqa: ARG002
        """Count one part."""
        return _apply_rules(self.rules, part).point_counts(self.reading, self.grid)

    def merge(self, one: Points, other: Points) -> Points:
        """Add the counts of equal points."""
        points, where = np.unique(np.concatenate([one[0], other[0]]), return_inverse=True)
        counts = np.zeros(len(points), dtype=np.int64)
        np.add.at(counts, where, np.concatenate([one[1], other[1]]))
        return points, counts


class SourceColumns(UnpicklableRows):
    """Exact queries about columns of a table in parts.

    Each query is one pass over one column, and its result is cached. Memory grows with the number of distinct
    values only.
    """

    def __init__(
        self, source: Source, rules: RuleSet, names: Sequence[str], size: list[int] | None = None
    ) -> None:
        # ``rules``: rules that make the model's columns.
        # ``names``: columns to read where rules need several.
        # ``size``: the number of rows once it is counted. Objects on the same rows share the list, so that
        # one pass counts it.
        self._source, self._rules, self._all = source, rules, tuple(names)
        self._size = [] if size is None else size
        self._results: dict[
            str, tuple[Any, Any]
        ] = {}  # the latest of each kind: a column is queried several times

    def num_rows(self) -> int:
        """Return the number of rows."""
        if not self._size:
            self._size.append(int(self._source.total(RowCountTask(), self._all[:1])))
        return self._size[0]

    def value_counts(self, name: str) -> tuple[list[TypedValue], np.ndarray, int]:
        """Distinct values, their counts, and the number of missing cells."""
        counts, missing, _ = self._cached(
            "values", name, lambda: self._count_column(DistinctValuesTask(self._rules, name), name)
        )
        order = in_public_order(counts)
        return order, np.array([counts[v] for v in order], dtype=np.int64), missing

    def precision_counts(self, reading: NumberReading) -> np.ndarray:
        """Number of cells at every level of precision, of each special text, unparsed and missing."""
        return np.asarray(
            self._cached(
                "levels",
                reading,
                lambda: self._count_column(PrecisionTask(self._rules, reading), reading.name),
            )
        )

    def point_counts(self, reading: NumberReading, grid: ValueGrid) -> Points:
        """Occurring grid points, increasing, and their counts."""
        task = GridPointsTask(self._rules, reading, grid)
        points: Points = self._cached(
            "points", (reading, grid), lambda: self._count_column(task, reading.name)
        )
        return points

    def _count_column(self, task: Any, name: str) -> Any:
        return self._source.total(task, self._all if self._rules.deriving_rules else (name,))

    def _cached(self, kind: str, key: Any, count: Callable[[], Any]) -> Any:
        if kind not in self._results or self._results[kind][0] != key:
            self._results[kind] = (key, count())
        return self._results[kind][1]


def _apply_rules(rules: RuleSet, part: pd.DataFrame) -> FrameColumns:
    return FrameColumns(rules.fold(categories_to_objects(part)) if rules.deriving_rules else part)
