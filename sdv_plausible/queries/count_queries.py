"""Exact counts of coded rows, and the queries that are functions of them.

:class:`ExactCounts` is the interface of an engine: it counts along axes and needs neither an order of the
rows nor all of them in memory. :class:`CodeArray` is the engine for arrays.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar, runtime_checkable
from weakref import WeakKeyDictionary

import numpy as np

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.utils.counting import Covering, is_worthwhile, joint_counts, pair_counts


@dataclass(frozen=True, eq=False)
class Axis:
    """One axis of a count table: a column whose codes are grouped into buckets.

    Parameters
    ----------
    column : int
        Column number.
    buckets : ndarray of int, shape (cardinality,)
        Bucket of every code, 0 to size - 1 (the paper's ``bkt``). It may depend on the rows only through
        noisy answers.
    """

    column: int
    buckets: np.ndarray

    @classmethod
    def of_codes(cls, column: int, cardinality: int) -> Axis:
        """Axis with one bucket per code of a column."""
        return cls(column, np.arange(cardinality))

    @cached_property
    def size(self) -> int:
        """Number of buckets."""
        return int(self.buckets.max(initial=-1)) + 1

    @cached_property
    def is_identity(self) -> bool:
        """Whether every code is its own bucket, in order."""
        return bool((self.buckets == np.arange(len(self.buckets))).all())


Axes = Sequence[Axis]
MAX_SCORE = 32  # largest absolute score of a bucket


@dataclass(frozen=True, kw_only=True, eq=False)
class QueryRecord:
    """Description of a query: public words, and numbers that are derived from earlier answers."""

    kind: str  # kind of query, such as "counts"
    tables: Sequence[Axes] = ()  # axes of the count tables that the answer depends on
    columns: tuple[str, ...] = ()  # names of the raw columns that the answer depends on
    details: Mapping[str, Any] = field(default_factory=dict)  # further parameters of the query


def shape(axes: Axes) -> tuple[int, ...]:
    """Shape of the count table over some axes."""
    return tuple(axis.size for axis in axes)


def number_axes(sets: Sequence[Axes]) -> tuple[list[Axis], list[list[int]]]:
    """List the axes of some sets, a repeated one once per repetition, and the positions of the sets' axes."""
    numbers: dict[tuple[Axis, int], int] = {}
    positions = [  # the second part of a key counts earlier occurrences of the axis in its set
        [numbers.setdefault((axis, list(axes[:i]).count(axis)), len(numbers)) for i, axis in enumerate(axes)]
        for axes in sets
    ]
    return [axis for axis, _ in numbers], positions


class UnpicklableRows:
    """Base of classes that hold rows: their objects cannot be pickled."""

    def __getstate__(self) -> dict[str, Any]:
        raise TypeError("rows cannot be pickled: only answers may leave this object")


class ExactCounts(Protocol):
    """Coded rows that can be counted. An engine sees the rows, so only a query session may hold one."""

    def num_rows(self) -> int:
        """Return the number of rows."""

    def tables(self, sets: Sequence[Axes]) -> Iterator[np.ndarray]:
        """Count every set of axes and yield int64 tables of their shapes, in order.

        One pass over the rows may serve all sets.
        """

    def groups(self, columns: Sequence[int], least: int) -> tuple[np.ndarray, np.ndarray]:
        """Return combinations of codes with at least ``least`` rows, (g, columns), and their sizes, (g,).

        The order is arbitrary.
        """

    def part(self, low: float, high: float, rng: KeyedRNG) -> ExactCounts:
        """Return the rows whose own uniform number in [0, 1), drawn from this stream, is in [low, high).

        Equal streams give equal numbers: adjacent parts are disjoint and cover their union.
        """

    def records(self) -> np.ndarray:
        """Return the codes of all rows, (n, m), where memory allows."""


@runtime_checkable
class BatchCounts(Protocol):
    """Optional interface of an engine that counts many tables faster together than one by one."""

    def tables_together(self, sets: Sequence[Axes]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield positions of sets of equal shape with their tables, (positions, *shape); every set once."""


def count_tables(rows: ExactCounts, sets: Sequence[Axes]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Count every set of axes in any order: positions of sets of equal shape, and their tables."""
    if isinstance(rows, BatchCounts):
        yield from rows.tables_together(sets)
        return
    for i, table in enumerate(rows.tables(sets)):
        yield np.array([i]), table[None]


Rows_contra = TypeVar("Rows_contra", contravariant=True)


class Query(Protocol[Rows_contra]):
    """A query on rows: an exact integer answer, its sensitivity, and the page that proves the sensitivity.

    A new kind of query is a class with these three members. Its parameters must come from public knowledge
    and earlier answers. Two members are optional: a method ``asked()`` describes the query for the release
    (:class:`~sdv_plausible.queries.transcript.QueryRecord`), and ``apart`` is the number of separate charges
    (:func:`num_charges`).
    """

    @property
    def proof(self) -> str:
        """Page and statement that prove the sensitivity."""

    def exact(self, rows: Rows_contra) -> np.ndarray:
        """Return the exact answer, an integer array whose shape does not depend on the rows."""

    def sensitivity(self, neighbours: Neighbours) -> float:
        """Return an upper bound on the L2 distance between the exact answers of two neighbouring tables."""


def num_charges(question: Any) -> int:
    """Number of separate charges of an answer: 1, or the query's ``apart``.

    With n charges, one unit moves each of the n numbers by at most the n-th part of the sensitivity (of its
    square, in L2).
    """
    return check.whole("apart", getattr(question, "apart", 1), 1)


@dataclass(frozen=True)
class NumberOfRows:
    """Query for the number of rows."""

    proof = "docs/explanation/proofs/adaptive_network.md, Lemma 2"

    def asked(self) -> QueryRecord:
        """Describe the query."""
        return QueryRecord(kind="number of rows")

    def exact(self, rows: Any) -> np.ndarray:
        """Return the number of rows, shape (1,)."""
        return np.array([rows.num_rows()], dtype=np.int64)

    def sensitivity(self, neighbours: Neighbours) -> float:
        """Rows of one unit. Replacing a unit changes the number by less but gets the same noise."""
        return float(neighbours.rows)


@dataclass(frozen=True)
class CountTable:
    """Query for the number of rows in every cell of a table over some axes.

    Parameters
    ----------
    axes : sequence of Axis
        Columns with their buckets.
    """

    axes: Axes
    proof = "docs/explanation/proofs/adaptive_network.md, Lemma 2"

    def asked(self) -> QueryRecord:
        """Describe the query."""
        return QueryRecord(kind="counts", tables=(tuple(self.axes),))

    def exact(self, rows: ExactCounts) -> np.ndarray:
        """Return the count table, in the axes' shape."""
        return next(iter(rows.tables([self.axes])))

    def sensitivity(self, neighbours: Neighbours) -> float:
        """L2 sensitivity of a histogram: every row is in one cell."""
        return neighbours.histogram_l2


@dataclass(frozen=True)
class L1Distances:
    """Query for the L1 distances between count tables and a model's estimates: scores of its errors.

    Parameters
    ----------
    sets : sequence of sequences of Axis
        The tables.
    estimates : sequence of ndarray of int
        One estimate per table. They must be functions of earlier answers alone.
    """

    sets: Sequence[Axes]
    estimates: Sequence[np.ndarray]
    proof = "docs/explanation/proofs/adaptive_network.md, Lemma 3"

    def asked(self) -> QueryRecord:
        """Describe the query without the estimates: they are large, and follow from earlier answers."""
        return QueryRecord(kind="distances", tables=tuple(tuple(axes) for axes in self.sets))

    def exact(self, rows: ExactCounts) -> np.ndarray:
        """Return one score per table, shape (number of tables,)."""
        if len(self.sets) != len(self.estimates):
            raise ValueError(
                f"estimates ({len(self.estimates)}) must be as many as sets ({len(self.sets)}): one for each"
            )
        scores = np.zeros(len(self.sets), dtype=np.int64)
        for positions, tables in count_tables(rows, self.sets):
            differences = np.abs(tables - np.stack([self.estimates[i] for i in positions.tolist()]))
            scores[positions] = differences.reshape(len(positions), -1).sum(1)
        return scores

    def sensitivity(self, neighbours: Neighbours) -> float:
        """Reverse triangle inequality: a score moves by at most its table's L1 distance."""
        return neighbours.histogram_l1 * math.sqrt(len(self.sets))


@dataclass(frozen=True)
class ScoreProducts:
    """Query for the sums over the rows of the products of two columns' scores, for some pairs of columns.

    Parameters
    ----------
    sets : sequence of pairs of Axis
        The pairs of columns.
    scores : mapping of int to ndarray of int
        Score of every bucket of each column, of at most ``MAX_SCORE``. They must be functions of earlier
        answers alone.
    """

    sets: Sequence[Axes]
    scores: Mapping[int, np.ndarray]
    proof = "docs/explanation/proofs/adaptive_network.md, Lemma 4"

    @classmethod
    def of(cls, record: QueryRecord) -> ScoreProducts:
        """Return the query that a record describes."""
        sizes = {axis.column: axis.size for axes in record.tables for axis in axes}
        scores = np.split(record.details["scores"], np.cumsum(list(sizes.values()))[:-1])
        return cls(record.tables, dict(zip(sizes, scores, strict=True)))

    def asked(self) -> QueryRecord:
        """Describe the query, with the scores of the columns in the order in which the pairs name them."""
        tables = tuple(tuple(axes) for axes in self.sets)
        columns = dict.fromkeys(axis.column for axes in tables for axis in axes)
        scores = np.concatenate([self.scores[j] for j in columns])
        return QueryRecord(kind="products", tables=tables, details={"scores": scores})

    def exact(self, rows: ExactCounts) -> np.ndarray:
        """Return one sum per pair, shape (number of pairs,)."""
        sums = np.zeros(len(self.sets), dtype=np.int64)
        for positions, tables in count_tables(rows, self.sets):
            pairs = [self.sets[i] for i in positions.tolist()]
            first, second = (np.stack([self.scores[axes[side].column] for axes in pairs]) for side in (0, 1))
            sums[positions] = np.einsum("ka,kab,kb->k", first, tables, second)
        return sums

    def sensitivity(self, neighbours: Neighbours) -> float:
        """One row moves the sum of a pair by at most the product of the largest absolute scores."""
        largest = {j: int(np.abs(scores).max(initial=0)) for j, scores in self.scores.items()}
        squares = (largest[first.column] ** 2 * largest[second.column] ** 2 for first, second in self.sets)
        return neighbours.histogram_l1 * math.sqrt(sum(squares))


# --- Engine for exact counts of rows in memory ----------------------------------------------------


class CodeArray(UnpicklableRows):
    """Rows as integer codes in memory; an engine of exact counts.

    ``codes``, shape (n, m), is fastest in column-major order.
    """

    def __init__(self, codes: np.ndarray, cardinalities: Sequence[int]) -> None:
        self._codes = codes
        self._cardinalities = tuple(cardinalities)
        self._buckets: WeakKeyDictionary[Axis, np.ndarray] = WeakKeyDictionary()

    def num_rows(self) -> int:
        """Return the number of rows."""
        return len(self._codes)

    def tables(self, sets: Sequence[Axes]) -> Iterator[np.ndarray]:
        """Count every set of axes by ``bincount`` of mixed-radix cell numbers."""
        for axes in sets:
            yield self._table(axes)

    def tables_together(self, sets: Sequence[Axes]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Count many tables at once: positions of sets of equal shape, and their tables."""
        # Many rows: count larger tables and take margins. Few rows: count pairs as products of 0/1 matrices.
        axes, places = number_axes(sets)
        if is_worthwhile(len(self._codes), len(sets), len(axes)):
            covering = Covering.of(places, shape(axes), len(self._codes))
            covered = covering.tables(self.counts(axes, covering))
            yield from ((np.array([i]), table[None]) for i, table in covered)
            return
        pairs = np.array([i for i, axes_of in enumerate(sets) if len(axes_of) == 2], dtype=int)
        pair_tables = pair_counts(
            [self._along(axis) for axis in axes], shape(axes), [places[i] for i in pairs.tolist()]
        )
        yield from ((pairs[positions], tables) for positions, tables in pair_tables)
        others = sorted(set(range(len(sets))).difference(pairs.tolist()))
        yield from ((np.array([i]), self._table(sets[i])[None]) for i in others)

    def counts(self, axes: Axes, covering: Covering) -> Iterator[np.ndarray]:
        """Count all blocks of a covering of sets of axes."""
        return covering.counts([self._along(axis) for axis in axes], len(self._codes))

    def _table(self, axes: Axes) -> np.ndarray:
        if not axes:
            return np.array(len(self._codes), dtype=np.int64)
        if len(axes) == 1:
            return np.bincount(self._along(axes[0]), minlength=axes[0].size)
        return joint_counts((self._along(axis) for axis in axes), shape(axes))

    def _along(self, axis: Axis) -> np.ndarray:
        """Bucket of every row, cached for as long as the axis exists."""
        if axis.is_identity:
            return self._codes[:, axis.column]
        if axis not in self._buckets:
            small = axis.buckets.astype(np.min_scalar_type(axis.size))
            self._buckets[axis] = small.take(self._codes[:, axis.column])
        return self._buckets[axis]

    def groups(self, columns: Sequence[int], least: int) -> tuple[np.ndarray, np.ndarray]:
        """Combinations of codes with at least ``least`` rows, and their sizes."""
        from sdv_plausible.privacy.plausible_seeds import PrefixGroups

        ordered = np.asfortranarray(self._codes[:, list(columns)])
        prefixes, sizes = PrefixGroups(ordered, [self._cardinalities[j] for j in columns]).groups(
            len(columns)
        )
        large = sizes >= least
        return prefixes[large], sizes[large]

    def part(self, low: float, high: float, rng: KeyedRNG) -> CodeArray:
        """Rows whose own secret number is in [low, high)."""
        if low <= 0 and high >= 1:
            return self
        uniform = rng.spawn("rows").uniform(len(self._codes))
        return CodeArray(self._codes[(low <= uniform) & (uniform < high)], self._cardinalities)

    def records(self) -> np.ndarray:
        """Codes of all rows, (n, m)."""
        return self._codes
