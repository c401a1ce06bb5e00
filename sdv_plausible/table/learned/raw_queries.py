"""Queries that learn the domain of a single column, and the exact counts that answer them.

Each count depends on the cell alone, never on the storage type of the column, which other rows determine
(docs/explanation/proofs/private_domain.md, "From rows to counts").
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd

from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.queries.count_queries import QueryRecord, UnpicklableRows
from sdv_plausible.table.cells.canonical_forms import NOT_A_VALUE, distinct_values, is_storable
from sdv_plausible.table.cells.cell_series import as_doubles, text_indices
from sdv_plausible.table.cells.dates import as_nanoseconds, sentinel_texts, utc_to_local
from sdv_plausible.table.cells.rounding import SIZES, size_classes, step_classes
from sdv_plausible.table.learned.value_grid import CLASSES, DATE_UNITS, MOST_DECIMALS, ValueGrid, class_of

WHOLE = 2.0**63
PRESENT = 2.5  # standard deviations of noise from which a column counts as having missing cells
STANDS_OUT = 4.0  # standard deviations of noise that a count of texts or unreadable cells needs
TypedValue = tuple[bool, Hashable]
"""Whether a value is a boolean, and the value: 1 equals 1.0, but True is another value."""
NoisyCount = tuple[float, float]
"""A noisy count, and the variance of its noise."""


@dataclass(frozen=True)
class NumberReading:
    """How to read the cells of a column as numbers or dates."""

    name: str
    sdtype: str
    datetime_format: str | None = None
    # Declared codes in text: such cells are neither numbers (or dates) nor missing.
    texts: tuple[str, ...] = ()
    time_zone: str | None = None  # of dates, which are counted in local time

    @property
    def levels(self) -> int:
        """Number of levels of precision, finest last."""
        return len(DATE_UNITS) if self.sdtype == "datetime" else MOST_DECIMALS + 2

    @property
    def beside(self) -> tuple[str, ...]:
        """Texts with a count of their own: the declared ones, and common placeholder dates for "never"."""
        far = sentinel_texts(self.datetime_format) if self.sdtype == "datetime" else ()
        return tuple(dict.fromkeys([*self.texts, *far]))


class ExactColumns(Protocol):
    """Exact counts of single columns, not private: only the query session may hold an instance."""

    def num_rows(self) -> int:
        """Return the number of rows."""

    def value_counts(self, name: str) -> tuple[list[TypedValue], np.ndarray, int]:
        """Values that occur, in a public order, their counts, and the number of missing cells."""

    def precision_counts(self, reading: NumberReading) -> np.ndarray:
        """Counts of cells by precision level, then by text, then of unreadable and of missing cells."""
        # Shape (levels + texts + 2,).

    def point_counts(self, reading: NumberReading, grid: ValueGrid) -> tuple[np.ndarray, np.ndarray]:
        """Grid points that occur, increasing, and their counts."""


class FrameColumns(UnpicklableRows):
    """Exact counts of the columns of a pandas DataFrame in memory."""

    def __init__(self, table: pd.DataFrame) -> None:
        self._table = table
        self._last: _Numbers | None = None  # consecutive queries read the same column

    def num_rows(self) -> int:
        """Return the number of rows."""
        return len(self._table)

    def value_counts(self, name: str) -> tuple[list[TypedValue], np.ndarray, int]:
        """Values that occur, in a public order, their counts, and the number of missing cells."""
        counts, missing = value_counts(self._table[name])
        order = in_public_order(counts)
        return order, np.array([counts[v] for v in order], dtype=np.int64), missing

    def precision_counts(self, reading: NumberReading) -> np.ndarray:
        """Counts of cells by precision level, then by text, then of unreadable and of missing cells."""
        numbers = self._numbers(reading)
        levels = np.bincount(numbers.precision, minlength=reading.levels)
        return np.concatenate([levels, numbers.beside, [numbers.unread, numbers.missing]])

    def point_counts(self, reading: NumberReading, grid: ValueGrid) -> tuple[np.ndarray, np.ndarray]:
        """Grid points that occur, and their counts."""
        return self._numbers(reading).point_counts(grid)

    def _numbers(self, reading: NumberReading) -> _Numbers:
        if self._last is None or self._last.reading != reading:
            self._last = _Numbers.read(self._table[reading.name], reading)
        return self._last


# --- queries --------------------------------------------------------------------------------------

_PUBLIC_CELLS = "docs/explanation/proofs/private_domain.md, Lemma 1"
_PARTITION_SELECTION = "docs/explanation/proofs/private_domain.md, Lemma 2"


@dataclass(frozen=True)
class MissingCount:
    """Counts of present and of missing cells."""

    name: str
    proof = _PUBLIC_CELLS

    def asked(self) -> QueryRecord:
        """Record of this query."""
        return QueryRecord(kind="present and missing", columns=(self.name,))

    def exact(self, rows: ExactColumns) -> np.ndarray:
        """Counts of present and of missing cells, shape (2,)."""
        _, _, missing = rows.value_counts(self.name)
        return np.array([rows.num_rows() - missing, missing], dtype=np.int64)

    def sensitivity(self, neighbours: Neighbours) -> float:
        """A row is in one cell of the table."""
        return neighbours.histogram_l2


@dataclass(frozen=True)
class PrecisionQuery:
    """Counts of cells by precision level and by text, and of unreadable and missing cells."""

    reading: NumberReading
    proof = _PUBLIC_CELLS

    def asked(self) -> QueryRecord:
        """Record of this query."""
        details = {"sdtype": self.reading.sdtype, "beside": self.reading.beside}
        return QueryRecord(kind="precision", columns=(self.reading.name,), details=details)

    def exact(self, rows: ExactColumns) -> np.ndarray:
        """Counts, shape (levels + texts + 2,)."""
        return rows.precision_counts(self.reading)

    def sensitivity(self, neighbours: Neighbours) -> float:
        """A row is in one cell of the table."""
        return neighbours.histogram_l2


class PrecisionCounts(NamedTuple):
    """The parts of an answer to :class:`PrecisionQuery`."""

    levels: np.ndarray
    beside: dict[str, float]  # count of each text
    unread: float  # cells that are no number, or no date within 64 bits of nanoseconds
    missing: float

    @classmethod
    def of(cls, values: np.ndarray, record: QueryRecord) -> PrecisionCounts:
        """Split an answer into its parts."""
        names = list(record.details["beside"])
        levels, text_counts, (unread, missing) = np.split(
            values, [len(values) - len(names) - 2, len(values) - 2]
        )
        return cls(levels, dict(zip(names, text_counts.tolist(), strict=True)), float(unread), float(missing))

    def is_missing(self, sigma: float) -> bool:
        """Whether the column gets a missing value: many cells are missing or unreadable."""
        return self.missing > PRESENT * sigma or self.unread > STANDS_OUT * sigma

    def lost(self, kept: Collection[str], sigma: float) -> list[float]:
        """Significant counts of cells that become missing: unreadable ones and texts not in ``kept``."""
        others = [self.unread, *(count for text, count in self.beside.items() if text not in kept)]
        return [count for count in others if count > STANDS_OUT * sigma]


@dataclass(frozen=True, eq=False)
class RunCounts:
    """Counts of cells in disjoint runs of grid points, excluding some points."""

    reading: NumberReading
    grid: ValueGrid
    # First and last points of the runs, inclusive: public, or from earlier answers.
    first: np.ndarray
    last: np.ndarray
    without: Sequence[int] = field(default=())  # excluded points, from earlier answers
    proof = _PUBLIC_CELLS

    def asked(self) -> QueryRecord:
        """Record of this query."""
        points = {"first": self.first, "last": self.last, "without": np.array(self.without, dtype=np.int64)}
        return QueryRecord(
            kind="runs", columns=(self.reading.name,), details={**_grid_document(self.grid), **points}
        )

    def exact(self, rows: ExactColumns) -> np.ndarray:
        """One count per run."""
        points, counts = rows.point_counts(self.reading, self.grid)
        counts = np.where(np.isin(points, self.without), 0, counts)
        up_to = np.concatenate([[0], np.cumsum(counts)])
        return (
            up_to[np.searchsorted(points, self.last, side="right")]
            - up_to[np.searchsorted(points, self.first, side="left")]
        )

    def sensitivity(self, neighbours: Neighbours) -> float:
        """A row is in at most one run."""
        return neighbours.histogram_l2


@dataclass(frozen=True)
class RoundingCounts:
    """Counts of numbers by size and by largest step that divides them, excluding some points and zero."""

    reading: NumberReading
    grid: ValueGrid
    steps: tuple[int, ...]  # increasing from 1
    without: tuple[int, ...] = ()  # excluded points, from earlier answers
    proof = _PUBLIC_CELLS

    def asked(self) -> QueryRecord:
        """Record of this query."""
        points = {"steps": self.steps, "without": np.array(self.without, dtype=np.int64)}
        return QueryRecord(
            kind="rounding", columns=(self.reading.name,), details={**_grid_document(self.grid), **points}
        )

    def exact(self, rows: ExactColumns) -> np.ndarray:
        """One count per size and step, in row-major order."""
        points, counts = rows.point_counts(self.reading, self.grid)
        counts = np.where(np.isin(points, (*self.without, 0)), 0, counts)
        cells = size_classes(points) * len(self.steps) + step_classes(points, self.steps)
        table = np.zeros(SIZES * len(self.steps), dtype=np.int64)
        np.add.at(table, cells, counts)
        return table

    def sensitivity(self, neighbours: Neighbours) -> float:
        """A row has one size and one largest step."""
        return neighbours.histogram_l2


def counts_points(details: Mapping[str, Any]) -> bool:
    """Whether a record of :class:`RunCounts` has one run per point of a range."""
    first, last = (np.asarray(details[end]) for end in ("first", "last"))
    return bool((first == last).all()) and bool((np.diff(first) == 1).all())


@dataclass(frozen=True)
class PatternCounts:
    """Counts of cells by class of points, such as first days of a month."""

    reading: NumberReading
    grid: ValueGrid
    proof = _PUBLIC_CELLS

    def asked(self) -> QueryRecord:
        """Record of this query."""
        return QueryRecord(kind="patterns", columns=(self.reading.name,), details=_grid_document(self.grid))

    def exact(self, rows: ExactColumns) -> np.ndarray:
        """One count per class."""
        points, counts = rows.point_counts(self.reading, self.grid)
        table = np.zeros(CLASSES, dtype=np.int64)
        np.add.at(table, class_of(points, self.grid), counts)
        return table

    def sensitivity(self, neighbours: Neighbours) -> float:
        """A row is in one class."""
        return neighbours.histogram_l2


@dataclass(frozen=True)
class FrequentValues:
    """Values of a categorical column; missing is the only public cell."""

    name: str
    proof = _PARTITION_SELECTION

    def asked(self) -> QueryRecord:
        """Record of this query."""
        return QueryRecord(kind="frequent values", columns=(self.name,), details={"public": ("missing",)})

    def occurring(self, rows: ExactColumns) -> tuple[Sequence[TypedValue], np.ndarray, np.ndarray]:
        """Values, their counts, and the number of missing cells, shape (1,)."""
        values, counts, missing = rows.value_counts(self.name)
        return values, counts, np.array([missing], dtype=np.int64)


@dataclass(frozen=True)
class FrequentPoints:
    """Single numbers or dates, as grid points."""

    reading: NumberReading
    grid: ValueGrid
    proof = _PARTITION_SELECTION

    def asked(self) -> QueryRecord:
        """Record of this query."""
        return QueryRecord(
            kind="frequent points",
            columns=(self.reading.name,),
            details={**_grid_document(self.grid), "public": ()},
        )

    def occurring(self, rows: ExactColumns) -> tuple[Sequence[int], np.ndarray, np.ndarray]:
        """Points and their counts; there is no public cell."""
        points, counts = rows.point_counts(self.reading, self.grid)
        return points.tolist(), counts, np.zeros(0, dtype=np.int64)


def _grid_document(grid: ValueGrid) -> dict[str, Any]:
    """Document of a value grid."""
    document = {"kind": grid.kind, "decimals": grid.decimals, "unit": grid.unit}
    return document if grid.shown == "moments" else {**document, "shown": grid.shown}


# --- cells to values and numbers ------------------------------------------------------------------


def weighted_mean(first: NoisyCount, second: NoisyCount) -> NoisyCount:
    """Inverse-variance weighted mean of two estimates of one count."""
    if not first[1] or not second[1]:
        return first if not first[1] else second
    w1, w2 = 1 / first[1], 1 / second[1]
    return (first[0] * w1 + second[0] * w2) / (w1 + w2), 1 / (w1 + w2)


def value_counts(column: pd.Series[Any]) -> tuple[dict[TypedValue, int], int]:
    """Counts of each value, by (is a boolean, value), and the number of missing cells."""
    # The form of a value does not depend on the column's type: 1.0 becomes 1, but True stays True.
    index, forms = distinct_values(column)
    occurrences = np.bincount(index[index >= 0], minlength=len(forms)).tolist()
    counts: dict[TypedValue, int] = {}
    for form, count in zip(forms, occurrences, strict=True):
        if count and is_storable(form):  # a value that no file can hold counts as missing
            key = (type(form) is bool, form)
            counts[key] = counts.get(key, 0) + count
    return counts, len(column) - sum(counts.values())


def in_public_order(values: Iterable[TypedValue]) -> list[TypedValue]:
    """Sort values in an order that does not depend on the rows."""
    return sorted(
        values, key=lambda key: (_type_order(key), key[1] if _type_order(key) != "~" else str(key[1]))
    )


def _type_order(key: TypedValue) -> str:
    if key[0]:
        return "bool"
    for kind in (str, int, float):
        if isinstance(key[1], kind):
            return "str" if kind is str else "number"
    return "~"


def _missing_mask(cells: pd.Series[Any], sdtype: str) -> np.ndarray:
    """Mask of the missing among cells without a number or date, the same for every storage type.

    NaN is missing. In a date column so is any value that cannot be a date, such as years beyond 9999.
    """
    if cells.dtype.kind == "c":  # pandas treats a half-NaN complex number as missing
        cells = cells.astype(object)
    if cells.dtype == object or isinstance(cells.dtype, pd.CategoricalDtype):
        index, forms = distinct_values(cells)
        is_missing = [sdtype == "datetime" and form is NOT_A_VALUE for form in forms]
        return np.array([*is_missing, True], dtype=bool)[index]
    return np.isnan(as_doubles(cells)) if cells.dtype.kind in "iuf" else cells.isna().to_numpy()


@dataclass(frozen=True)
class _Numbers:
    """The numbers of a column, and counts of its other cells."""

    reading: NumberReading
    present: np.ndarray
    beside: np.ndarray  # counts of cells by text
    unread: int
    missing: int
    _points: dict[ValueGrid, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    @classmethod
    def read(cls, column: pd.Series[Any], reading: NumberReading) -> _Numbers:
        texts = text_indices(column, reading.beside)
        text_counts = np.bincount(texts[texts >= 0], minlength=len(reading.beside))
        column = column[texts < 0]
        if reading.sdtype == "datetime":
            numbers = as_nanoseconds(column, reading.datetime_format, row_by_row=True)
            is_number = numbers != np.iinfo(np.int64).min
            present = utc_to_local(numbers[is_number], reading.time_zone)
        else:
            numbers = as_doubles(column)
            is_number = np.isfinite(numbers)
            present = numbers[is_number]
        missing = int(_missing_mask(column[~is_number], reading.sdtype).sum())
        return cls(reading, present, text_counts, int((~is_number).sum()) - missing, missing)

    @cached_property
    def precision(self) -> np.ndarray:
        """Level of precision of every number present."""
        if self.reading.sdtype == "datetime":
            return np.argmax([self.present % unit == 0 for unit in DATE_UNITS], axis=0)
        level = np.full(len(self.present), MOST_DECIMALS + 1)
        for digits in range(MOST_DECIMALS, -1, -1):
            with np.errstate(over="ignore", invalid="ignore"):
                level[np.round(self.present, digits) == self.present] = digits
        level[np.abs(self.present) >= WHOLE] = MOST_DECIMALS + 1  # beyond 64-bit integers
        return level

    def point_counts(self, grid: ValueGrid) -> tuple[np.ndarray, np.ndarray]:
        """Grid points that occur, and their counts."""
        if grid not in self._points:
            self._points[grid] = np.unique(grid.index(self.present), return_counts=True)
        return self._points[grid]
