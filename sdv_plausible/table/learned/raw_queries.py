"""Exact answers about single columns before there are codes, and questions that learn a domain.

What is counted of a cell is a function of *that cell*, never of how pandas stores the column, which other
rows decide (docs/explanation/proofs/private_domain.md, "From rows to counts").
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd

from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.queries.count_queries import HoldsRows, QueryRecord
from sdv_plausible.table.cells.canonical_forms import ODD, has_form
from sdv_plausible.table.cells.cell_series import as_doubles, which_text
from sdv_plausible.table.cells.date_texts import far_dates
from sdv_plausible.table.cells.dates import as_nanoseconds, on_clocks
from sdv_plausible.table.cells.distinct import distinct_values
from sdv_plausible.table.cells.rounding import SIZES, classes, sizes
from sdv_plausible.table.learned.patterns import CLASSES, class_of
from sdv_plausible.table.learned.value_grid import DATE_UNITS, MOST_DECIMALS, ValueGrid

WHOLE = 2.0**63
PRESENT = 2.5  # standard deviations of noise above 0 from which missing cells count as present
STANDS_OUT = 4.0  # standard deviations of noise that a count of cells beside numbers must have
Flagged = tuple[
    bool, Hashable
]  # is it a truth value, and the value: 1 and 1.0 are one value, True is another


@dataclass(frozen=True)
class NumberReading:
    """How the cells of a column become numbers."""

    name: str
    sdtype: str
    datetime_format: str | None = None
    # Declared codes in words beside numbers or dates: cells that hold one are neither those nor missing
    texts: tuple[str, ...] = ()
    time_zone: str | None = None  # of dates: they are counted as its clocks show them

    @property
    def levels(self) -> int:
        """Number of levels of precision, finest last."""
        return len(DATE_UNITS) if self.sdtype == "datetime" else MOST_DECIMALS + 2

    @property
    def beside(self) -> tuple[str, ...]:
        """Texts that are counted beside numbers and dates: the declared ones, and usual dates for "never"."""
        far = far_dates(self.datetime_format) if self.sdtype == "datetime" else ()
        return tuple(dict.fromkeys([*self.texts, *far]))


class ExactColumns(Protocol):
    """A table whose columns can be counted one by one. Whoever holds one sees the rows.

    Only the door does.
    """

    def num_rows(self) -> int:
        """Return the number of rows."""

    def value_counts(self, name: str) -> tuple[list[Flagged], np.ndarray, int]:
        """Values that occur, in an order of their own, their counts, and the missing cells."""

    def precision_counts(self, reading: NumberReading) -> np.ndarray:
        """Cells of every level of precision, then of every text beside, unread cells, missing ones."""
        # Shape (levels + texts beside + 2,).

    def point_counts(self, reading: NumberReading, lattice: ValueGrid) -> tuple[np.ndarray, np.ndarray]:
        """Lattice points that occur, increasing, and their counts."""


class FrameColumns(HoldsRows):
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

    def precision_counts(self, reading: NumberReading) -> np.ndarray:
        """Cells of every level of precision, then of every text beside, unread cells, missing ones."""
        numbers = self._numbers(reading)
        levels = np.bincount(numbers.precision, minlength=reading.levels)
        return np.concatenate([levels, numbers.beside, [numbers.unread, numbers.missing]])

    def point_counts(self, reading: NumberReading, lattice: ValueGrid) -> tuple[np.ndarray, np.ndarray]:
        """Lattice points that occur, and their counts."""
        return self._numbers(reading).point_counts(lattice)

    def _numbers(self, reading: NumberReading) -> _Numbers:
        if self._last is None or self._last.reading != reading:
            self._last = _Numbers.read(self._table[reading.name], reading)
        return self._last


# --- questions ------------------------------------------------------------------------------------

_PUBLIC_CELLS = "docs/explanation/proofs/private_domain.md, Lemma 1"
_OCCURRING = "docs/explanation/proofs/private_domain.md, Lemma 2"


@dataclass(frozen=True)
class MissingCount:
    """How many cells of a column are present, and missing."""

    name: str
    proof = _PUBLIC_CELLS

    def asked(self) -> QueryRecord:
        """Say what is asked."""
        return QueryRecord(kind="present and missing", columns=(self.name,))

    def exact(self, rows: ExactColumns) -> np.ndarray:
        """Return present and missing, shape (2,)."""
        _, _, missing = rows.value_counts(self.name)
        return np.array([rows.num_rows() - missing, missing], dtype=np.int64)

    def sensitivity(self, neighbours: Neighbours) -> float:
        """One row is in one cell."""
        return neighbours.histogram_l2


@dataclass(frozen=True)
class PrecisionQuery:
    """How many cells of a column are of each level of precision, of each text beside, unread, or missing."""

    reading: NumberReading
    proof = _PUBLIC_CELLS

    def asked(self) -> QueryRecord:
        """Say what is asked."""
        details = {"sdtype": self.reading.sdtype, "beside": self.reading.beside}
        return QueryRecord(kind="precision", columns=(self.reading.name,), details=details)

    def exact(self, rows: ExactColumns) -> np.ndarray:
        """Return the counts as the engine has them."""
        return rows.precision_counts(self.reading)

    def sensitivity(self, neighbours: Neighbours) -> float:
        """One row is in one of these cells."""
        return neighbours.histogram_l2


class PrecisionCounts(NamedTuple):
    """The parts of an answer to :class:`PrecisionQuery`."""

    levels: np.ndarray
    beside: dict[str, float]  # of each text
    unread: float  # cells that hold no number, or no date that 64 bits of nanoseconds hold
    missing: float

    @classmethod
    def of(cls, values: np.ndarray, asked: QueryRecord) -> PrecisionCounts:
        """Take the answer apart."""
        beside = list(asked.details["beside"])
        levels, texts, (unread, missing) = np.split(values, [len(values) - len(beside) - 2, len(values) - 2])
        return cls(levels, dict(zip(beside, texts.tolist(), strict=True)), float(unread), float(missing))

    def is_missing(self, sigma: float) -> bool:
        """Whether missing is a value: cells are, or hold something else, which happens seldom."""
        return self.missing > PRESENT * sigma or self.unread > STANDS_OUT * sigma

    def lost(self, kept: Collection[str], sigma: float) -> list[float]:
        """Cells that are there and come out missing, of all but some texts: counts that stand out."""
        others = [self.unread, *(count for text, count in self.beside.items() if text not in kept)]
        return [count for count in others if count > STANDS_OUT * sigma]


@dataclass(frozen=True, eq=False)
class RunCounts:
    """How many cells of a column are in disjoint runs of lattice points, some points aside."""

    reading: NumberReading
    lattice: ValueGrid
    # Ends of the runs, both inside; public, or from earlier answers
    first: np.ndarray
    last: np.ndarray
    without: Sequence[int] = field(default=())  # points that are not counted, from earlier answers
    proof = _PUBLIC_CELLS

    def asked(self) -> QueryRecord:
        """Say what is asked."""
        runs = {"first": self.first, "last": self.last, "without": np.array(self.without, dtype=np.int64)}
        return QueryRecord(
            kind="runs", columns=(self.reading.name,), details={**_lattice(self.lattice), **runs}
        )

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

    reading: NumberReading
    lattice: ValueGrid
    steps: tuple[int, ...]  # increasing from 1; a point counts for the largest that divides it
    without: tuple[int, ...] = ()  # points that are not counted, from earlier answers
    proof = _PUBLIC_CELLS

    def asked(self) -> QueryRecord:
        """Say what is asked."""
        points = {"steps": self.steps, "without": np.array(self.without, dtype=np.int64)}
        return QueryRecord(
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


def counts_points(details: Mapping[str, Any]) -> bool:
    """Whether a question about runs counted every point of a range by itself."""
    first, last = (np.asarray(details[end]) for end in ("first", "last"))
    return bool((first == last).all()) and bool((np.diff(first) == 1).all())


@dataclass(frozen=True)
class PatternCounts:
    """How many cells are of each class of points that may show a pattern, such as first days of a month."""

    reading: NumberReading
    lattice: ValueGrid
    proof = _PUBLIC_CELLS

    def asked(self) -> QueryRecord:
        """Say what is asked."""
        return QueryRecord(kind="patterns", columns=(self.reading.name,), details=_lattice(self.lattice))

    def exact(self, rows: ExactColumns) -> np.ndarray:
        """Return one count per class."""
        points, counts = rows.point_counts(self.reading, self.lattice)
        found = np.zeros(CLASSES, dtype=np.int64)
        np.add.at(found, class_of(points, self.lattice), counts)
        return found

    def sensitivity(self, neighbours: Neighbours) -> float:
        """One row is in one class."""
        return neighbours.histogram_l2


@dataclass(frozen=True)
class FrequentValues:
    """Values of a category; the one public cell is missing."""

    name: str
    proof = _OCCURRING

    def asked(self) -> QueryRecord:
        """Say what is asked."""
        return QueryRecord(kind="frequent values", columns=(self.name,), details={"public": ("missing",)})

    def occurring(self, rows: ExactColumns) -> tuple[Sequence[Flagged], np.ndarray, np.ndarray]:
        """Return values, their counts, and (missing,)."""
        values, counts, missing = rows.value_counts(self.name)
        return values, counts, np.array([missing], dtype=np.int64)


@dataclass(frozen=True)
class FrequentPoints:
    """Single numbers or moments, as lattice points."""

    reading: NumberReading
    lattice: ValueGrid
    proof = _OCCURRING

    def asked(self) -> QueryRecord:
        """Say what is asked."""
        return QueryRecord(
            kind="frequent points",
            columns=(self.reading.name,),
            details={**_lattice(self.lattice), "public": ()},
        )

    def occurring(self, rows: ExactColumns) -> tuple[Sequence[int], np.ndarray, np.ndarray]:
        """Return points and their counts; there is no public cell."""
        points, counts = rows.point_counts(self.reading, self.lattice)
        return points.tolist(), counts, np.zeros(0, dtype=np.int64)


def _lattice(lattice: ValueGrid) -> dict[str, Any]:
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


def _missing(cells: pd.Series[Any], sdtype: str) -> np.ndarray:
    """Mask of missing ones among cells that hold no number or date, the same in every storage.

    NaN is missing, and so is what can be no date: columns of dates hold no moment beyond the year 9999.
    """
    if cells.dtype.kind == "c":  # of which pandas finds half-missing ones missing
        cells = cells.astype(object)
    if cells.dtype == object or isinstance(cells.dtype, pd.CategoricalDtype):
        where, forms = distinct_values(cells)
        odd = [sdtype == "datetime" and form is ODD for form in forms]
        return np.array([*odd, True], dtype=bool)[where]
    return np.isnan(as_doubles(cells)) if cells.dtype.kind in "iuf" else cells.isna().to_numpy()


@dataclass(frozen=True)
class _Numbers:
    """The numbers of a column: those present, what is none, and how fine they are."""

    reading: NumberReading
    present: np.ndarray
    beside: np.ndarray  # cells of each text beside
    unread: int
    missing: int
    _points: dict[ValueGrid, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    @classmethod
    def read(cls, column: pd.Series[Any], reading: NumberReading) -> _Numbers:
        texts = which_text(column, reading.beside)
        beside = np.bincount(texts[texts >= 0], minlength=len(reading.beside))
        column = column[texts < 0]
        if reading.sdtype == "datetime":
            numbers = as_nanoseconds(column, reading.datetime_format, row_by_row=True)
            there = numbers != np.iinfo(np.int64).min
            present = on_clocks(numbers[there], reading.time_zone)
        else:
            numbers = as_doubles(column)
            there = np.isfinite(numbers)
            present = numbers[there]
        missing = int(_missing(column[~there], reading.sdtype).sum())
        return cls(reading, present, beside, int((~there).sum()) - missing, missing)

    @cached_property
    def precision(self) -> np.ndarray:
        """Level of precision of every number present."""
        if self.reading.sdtype == "datetime":
            return np.argmax([self.present % unit == 0 for unit in DATE_UNITS], axis=0)
        level = np.full(len(self.present), MOST_DECIMALS + 1)
        for digits in range(MOST_DECIMALS, -1, -1):
            with np.errstate(over="ignore", invalid="ignore"):
                level[np.round(self.present, digits) == self.present] = digits
        level[np.abs(self.present) >= WHOLE] = MOST_DECIMALS + 1  # beyond the whole numbers of 64 bits
        return level

    def point_counts(self, lattice: ValueGrid) -> tuple[np.ndarray, np.ndarray]:
        """Lattice points that occur, and their counts."""
        if lattice not in self._points:
            self._points[lattice] = np.unique(lattice.index(self.present), return_counts=True)
        return self._points[lattice]
