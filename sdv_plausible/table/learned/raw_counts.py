"""Exact answers about single columns before there are codes, and questions that learn a domain.

What is counted of a cell is a function of *that cell*, never of how pandas stores the column, which other
rows decide (docs/explanation/proofs/private_domain.md, "From rows to counts").
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd

from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.questions.counts import Asked, SeesRows
from sdv_plausible.table.cells.dates import as_nanoseconds
from sdv_plausible.table.cells.distinct import distinct_values
from sdv_plausible.table.cells.forms import has_form
from sdv_plausible.table.cells.rounding import SIZES, classes, sizes
from sdv_plausible.table.cells.series import as_doubles, holds_one_of
from sdv_plausible.table.learned.lattice import DATE_UNITS, MOST_DECIMALS, Lattice

Flagged = tuple[
    bool, Hashable
]  # is it a truth value, and the value: 1 and 1.0 are one value, True is another


@dataclass(frozen=True)
class Reading:
    """How the cells of a column become numbers."""

    name: str
    sdtype: str
    datetime_format: str | None = None
    # Declared codes in words beside numbers: cells that hold one are neither numbers nor missing
    texts: tuple[str, ...] = ()

    @property
    def levels(self) -> int:
        """Number of levels of precision, finest last."""
        return len(DATE_UNITS) if self.sdtype == "datetime" else MOST_DECIMALS + 2


class ExactColumns(Protocol):
    """A table whose columns can be counted one by one. Whoever holds one sees the rows.

    Only the door does.
    """

    def num_rows(self) -> int:
        """Return the number of rows."""

    def value_counts(self, name: str) -> tuple[list[Flagged], np.ndarray, int]:
        """Values that occur, in an order of their own, their counts, and the missing cells."""

    def precision_counts(self, reading: Reading) -> np.ndarray:
        """Cells of every level of precision, and last those that hold no number, shape (levels + 1,)."""

    def point_counts(self, reading: Reading, lattice: Lattice) -> tuple[np.ndarray, np.ndarray]:
        """Lattice points that occur, increasing, and their counts."""


class FrameColumns(SeesRows):
    """A pandas DataFrame in memory; an engine of exact answers about columns."""

    def __init__(self, table: pd.DataFrame) -> None:
        self._table = table
        self._last: _Numbers | None = None  # a column is asked for several times in a row

    def num_rows(self) -> int:
        """Return the number of rows."""
        return len(self._table)

    def value_counts(self, name: str) -> tuple[list[Flagged], np.ndarray, int]:
        """Values that occur, their counts, and the number of missing cells."""
        counts, missing = value_counts(self._table[name])
        order = in_public_order(counts)
        return order, np.array([counts[v] for v in order], dtype=np.int64), missing

    def precision_counts(self, reading: Reading) -> np.ndarray:
        """Cells of every level of precision, and last those that hold no number."""
        numbers = self._numbers(reading)
        return np.bincount(
            np.append(numbers.precision, np.full(numbers.missing, reading.levels)),
            minlength=reading.levels + 1,
        )

    def point_counts(self, reading: Reading, lattice: Lattice) -> tuple[np.ndarray, np.ndarray]:
        """Lattice points that occur, and their counts."""
        return self._numbers(reading).point_counts(lattice)

    def _numbers(self, reading: Reading) -> _Numbers:
        if self._last is None or self._last.reading != reading:
            self._last = _Numbers.read(self._table[reading.name], reading)
        return self._last


# --- questions ------------------------------------------------------------------------------------

_PUBLIC_CELLS = "docs/explanation/proofs/private_domain.md, Lemma 1"
_OCCURRING = "docs/explanation/proofs/private_domain.md, Lemma 2"


@dataclass(frozen=True)
class MissingOrNot:
    """How many cells of a column are present, and missing."""

    name: str
    proof = _PUBLIC_CELLS

    def asked(self) -> Asked:
        """Say what is asked."""
        return Asked(kind="present and missing", columns=(self.name,))

    def exact(self, rows: ExactColumns) -> np.ndarray:
        """Return present and missing, shape (2,)."""
        _, _, missing = rows.value_counts(self.name)
        return np.array([rows.num_rows() - missing, missing], dtype=np.int64)

    def sensitivity(self, neighbours: Neighbours) -> float:
        """One row is in one cell."""
        return neighbours.histogram_l2


@dataclass(frozen=True)
class Precision:
    """How many cells of a column need each level of precision, and how many are missing."""

    reading: Reading
    proof = _PUBLIC_CELLS

    def asked(self) -> Asked:
        """Say what is asked."""
        return Asked(kind="precision", columns=(self.reading.name,), details={"sdtype": self.reading.sdtype})

    def exact(self, rows: ExactColumns) -> np.ndarray:
        """Return one count per level, and last that of missing cells."""
        return rows.precision_counts(self.reading)

    def sensitivity(self, neighbours: Neighbours) -> float:
        """One row is at one level."""
        return neighbours.histogram_l2


@dataclass(frozen=True, eq=False)
class RunCounts:
    """How many cells of a column are in disjoint runs of lattice points, some points aside."""

    reading: Reading
    lattice: Lattice
    # Ends of the runs, both inside; public, or from earlier answers
    first: np.ndarray
    last: np.ndarray
    without: Sequence[int] = field(default=())  # points that are not counted, from earlier answers
    proof = _PUBLIC_CELLS

    def asked(self) -> Asked:
        """Say what is asked."""
        runs = {"first": self.first, "last": self.last, "without": np.array(self.without, dtype=np.int64)}
        return Asked(kind="runs", columns=(self.reading.name,), details={**_lattice(self.lattice), **runs})

    def exact(self, rows: ExactColumns) -> np.ndarray:
        """Return one count per run."""
        points, counts = rows.point_counts(self.reading, self.lattice)
        counts = np.where(np.isin(points, self.without), 0, counts)
        up_to = np.concatenate([[0], np.cumsum(counts)])
        return (
            up_to[np.searchsorted(points, self.last, side="right")]
            - up_to[np.searchsorted(points, self.first, side="left")]
        )

    def sensitivity(self, neighbours: Neighbours) -> float:
        """One row is in one run at most."""
        return neighbours.histogram_l2


@dataclass(frozen=True)
class RoundingCounts:
    """How many numbers of each size are multiples of which step, some points aside.

    Zero is a multiple of everything and is not counted.
    """

    reading: Reading
    lattice: Lattice
    steps: tuple[int, ...]  # increasing from 1; a point counts for the largest that divides it
    without: tuple[int, ...] = ()  # points that are not counted, from earlier answers
    proof = _PUBLIC_CELLS

    def asked(self) -> Asked:
        """Say what is asked."""
        points = {"steps": self.steps, "without": np.array(self.without, dtype=np.int64)}
        return Asked(
            kind="rounding", columns=(self.reading.name,), details={**_lattice(self.lattice), **points}
        )

    def exact(self, rows: ExactColumns) -> np.ndarray:
        """Return one count per size and step, size after size."""
        points, counts = rows.point_counts(self.reading, self.lattice)
        counts = np.where(np.isin(points, (*self.without, 0)), 0, counts)
        cells = sizes(points) * len(self.steps) + classes(points, self.steps)
        found = np.zeros(SIZES * len(self.steps), dtype=np.int64)
        np.add.at(found, cells, counts)
        return found

    def sensitivity(self, neighbours: Neighbours) -> float:
        """One row has one size, and one largest step."""
        return neighbours.histogram_l2


@dataclass(frozen=True)
class FrequentValues:
    """Values of a category; the one public cell is missing."""

    name: str
    proof = _OCCURRING

    def asked(self) -> Asked:
        """Say what is asked."""
        return Asked(kind="frequent values", columns=(self.name,), details={"public": ("missing",)})

    def occurring(self, rows: ExactColumns) -> tuple[Sequence[Flagged], np.ndarray, np.ndarray]:
        """Return values, their counts, and (missing,)."""
        values, counts, missing = rows.value_counts(self.name)
        return values, counts, np.array([missing], dtype=np.int64)


@dataclass(frozen=True)
class FrequentPoints:
    """Single numbers or moments, as lattice points."""

    reading: Reading
    lattice: Lattice
    proof = _OCCURRING

    def asked(self) -> Asked:
        """Say what is asked."""
        return Asked(
            kind="frequent points",
            columns=(self.reading.name,),
            details={**_lattice(self.lattice), "public": ()},
        )

    def occurring(self, rows: ExactColumns) -> tuple[Sequence[int], np.ndarray, np.ndarray]:
        """Return points and their counts; there is no public cell."""
        points, counts = rows.point_counts(self.reading, self.lattice)
        return points.tolist(), counts, np.zeros(0, dtype=np.int64)


def _lattice(lattice: Lattice) -> dict[str, Any]:
    """What a lattice's points stand for."""
    points = {"kind": lattice.kind, "decimals": lattice.decimals, "unit": lattice.unit}
    return points if lattice.shown == "moments" else {**points, "shown": lattice.shown}


# --- cells to values and numbers ------------------------------------------------------------------


def value_counts(column: pd.Series[Any]) -> tuple[dict[Flagged, int], int]:
    """Rows of each value that occurs, by (is it a truth value, value), and of missing ones."""
    # A value has one form whatever the column's type is made by the other rows: 1 and 1.0 are 1, but True is
    # not.
    where, forms = distinct_values(column)
    found = np.bincount(where[where >= 0], minlength=len(forms)).tolist()
    counts: dict[Flagged, int] = {}
    for form, count in zip(forms, found, strict=True):
        if count and has_form(form):  # what can be in no file is missing, each cell by itself
            key = (type(form) is bool, form)
            counts[key] = counts.get(key, 0) + count
    return counts, len(column) - sum(counts.values())


def in_public_order(values: Iterable[Flagged]) -> list[Flagged]:
    """Order that depends on each pair of values alone."""
    return sorted(values, key=lambda key: (_family(key), key[1] if _family(key) != "~" else str(key[1])))


def _family(key: Flagged) -> str:
    if key[0]:
        return "bool"
    for known in (str, int, float):
        if isinstance(key[1], known):
            return "str" if known is str else "number"
    return "~"


@dataclass(frozen=True)
class _Numbers:
    """The numbers of a column: those present, how many are missing, and how fine they are."""

    reading: Reading
    present: np.ndarray
    missing: int
    _points: dict[Lattice, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    @classmethod
    def read(cls, column: pd.Series[Any], reading: Reading) -> _Numbers:
        if reading.sdtype == "datetime":
            numbers = as_nanoseconds(column, reading.datetime_format, row_by_row=True)
            present = numbers[numbers != np.iinfo(np.int64).min]
        else:
            numbers = as_doubles(column[~holds_one_of(column, reading.texts)] if reading.texts else column)
            present = numbers[np.isfinite(numbers)]
        return cls(reading, present, len(numbers) - len(present))

    @cached_property
    def precision(self) -> np.ndarray:
        """Level of precision of every number present."""
        if self.reading.sdtype == "datetime":
            return np.argmax([self.present % unit == 0 for unit in DATE_UNITS], axis=0)
        level = np.full(len(self.present), MOST_DECIMALS + 1)
        for digits in range(MOST_DECIMALS, -1, -1):
            with np.errstate(over="ignore", invalid="ignore"):
                level[np.round(self.present, digits) == self.present] = digits
        return level

    def point_counts(self, lattice: Lattice) -> tuple[np.ndarray, np.ndarray]:
        """Lattice points that occur, and their counts."""
        if lattice not in self._points:
            self._points[lattice] = np.unique(lattice.index(self.present), return_counts=True)
        return self._points[lattice]
