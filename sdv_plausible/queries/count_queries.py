"""Exact counts of coded rows, and the questions that are functions of them.

:class:`ExactCounts` is what an engine must offer: counting, by axes that the asker names, and nothing that
needs an order of
the rows or all of them in memory. :class:`~sdv_plausible.queries.coded_rows.CodeArray` is the engine for arrays.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG


@dataclass(frozen=True, eq=False)
class Axis:
    """One axis of a table of counts: a column, whose codes are put into buckets.

    Parameters
    ----------
    column : int
        Column number.
    buckets : ndarray of int, shape (cardinality,)
        Bucket of every code (the paper's ``bkt``), 0 to size - 1. It must not come from the rows but through
        answers.
    """

    column: int
    buckets: np.ndarray

    @classmethod
    def of_codes(cls, column: int, cardinality: int) -> Axis:
        """Axis of a column's codes themselves."""
        return cls(column, np.arange(cardinality))

    @cached_property
    def size(self) -> int:
        """Number of buckets."""
        return int(self.buckets.max(initial=-1)) + 1

    @cached_property
    def is_identity(self) -> bool:
        """Whether every code is a bucket of its own, in order."""
        return bool((self.buckets == np.arange(len(self.buckets))).all())


Axes = Sequence[Axis]


@dataclass(frozen=True, kw_only=True, eq=False)
class QueryRecord:
    """What was asked, in public words and in numbers that come from earlier answers."""

    kind: str  # kind of question, such as "counts"
    # Questions about codes: the axes of every table of counts that the answer is a function of
    tables: Sequence[Axes] = ()
    columns: tuple[str, ...] = ()  # questions about raw columns: their names
    details: Mapping[str, Any] = field(default_factory=dict)  # what else the question was made of


def shape(axes: Axes) -> tuple[int, ...]:
    """Shape of the table of counts over some axes."""
    return tuple(axis.size for axis in axes)


def numbered(sets: Sequence[Axes]) -> tuple[list[Axis], list[list[int]]]:
    """All axes of some sets, and where among them those of each are: of one twice in a set, at two places."""
    numbers: dict[tuple[Axis, int], int] = {}
    at = [
        [numbers.setdefault((axis, list(axes[:i]).count(axis)), len(numbers)) for i, axis in enumerate(axes)]
        for axes in sets
    ]
    return [axis for axis, _ in numbers], at


class HoldsRows:
    """Base of everything that can see rows: it stays in the process that reads them."""

    def __getstate__(self) -> dict[str, Any]:
        raise TypeError("rows cannot be pickled: only answers leave the object that can see them")


class ExactCounts(Protocol):
    """Coded rows that can be counted. Whoever holds one sees the rows: only the door does."""

    def num_rows(self) -> int:
        """Return the number of rows."""

    def tables(self, sets: Sequence[Axes]) -> Iterator[np.ndarray]:
        """Count every set of axes, int64 tables of their shapes, in order.

        One pass over the rows may serve all.
        """

    def groups(self, columns: Sequence[int], least: int) -> tuple[np.ndarray, np.ndarray]:
        """Combinations of codes that at least ``least`` rows have, (g, columns), and their sizes, (g,).

        In any order.
        """

    def part(self, low: float, high: float, coins: KeyedRNG) -> ExactCounts:
        """Rows whose own uniform number in [0, 1), drawn from these named coins, lies in [low, high).

        Equal coins give equal numbers: parts with ends in common are disjoint and fill up their union.
        """

    def records(self) -> np.ndarray:
        """Codes of all rows, (n, m): for what needs them one by one, where memory allows."""


@runtime_checkable
class BatchCounts(Protocol):
    """Rows that can count many tables faster together than one after another; an engine may offer it."""

    def tables_together(self, sets: Sequence[Axes]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Positions of some sets, all of one shape, and their tables, (positions, *shape); every set once."""


def together(rows: ExactCounts, sets: Sequence[Axes]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Count every set of axes, in any order: positions of sets of one shape, and their tables."""
    if isinstance(rows, BatchCounts):
        yield from rows.tables_together(sets)
        return
    for i, table in enumerate(rows.tables(sets)):
        yield np.array([i]), table[None]


Rows_contra = TypeVar("Rows_contra", contravariant=True)


class Query(Protocol[Rows_contra]):
    """Something to ask of rows.

    An exact integer answer, how far one unit moves it, and the page that proves it.

    A new kind of question is a class with these three. Its parameters must come from public knowledge and
    earlier answers: a method ``asked()`` may put them into the release
    (:class:`~sdv_plausible.queries.transcript.QueryRecord`), and ``apart`` says how many numbers are charged one
    by one (:func:`numbers_apart`).
    """

    @property
    def proof(self) -> str:
        """Page and statement that prove the sensitivity."""

    def exact(self, rows: Rows_contra) -> np.ndarray:
        """Return the exact answer, an integer array whose shape does not depend on the rows."""

    def sensitivity(self, neighbours: Neighbours) -> float:
        """L2 distance of the exact answers of two neighbours, at most."""


def numbers_apart(question: Any) -> int:
    """How many numbers an answer is charged as: 1, or what a question states as ``apart``.

    Then each of so many is moved by at most an equal part of its sensitivity (of the square, in L2).
    """
    return check.whole("apart", getattr(question, "apart", 1), 1)


@dataclass(frozen=True)
class NumberOfRows:
    """How many rows there are."""

    proof = "docs/explanation/proofs/adaptive_network.md, Lemma 2"

    def asked(self) -> QueryRecord:
        """Say what is asked."""
        return QueryRecord(kind="number of rows")

    def exact(self, rows: Any) -> np.ndarray:
        """Return one number, shape (1,)."""
        return np.array([rows.num_rows()], dtype=np.int64)

    def sensitivity(self, neighbours: Neighbours) -> float:
        """Return the rows of one unit; replacing it changes the number by less, and gets the same noise."""
        return float(neighbours.rows)


@dataclass(frozen=True)
class CountTable:
    """How many rows are in every cell of a table over some axes.

    Parameters
    ----------
    axes : sequence of Axis
        Columns with their buckets.
    """

    axes: Axes
    proof = "docs/explanation/proofs/adaptive_network.md, Lemma 2"

    def asked(self) -> QueryRecord:
        """Say what is asked."""
        return QueryRecord(kind="counts", tables=(tuple(self.axes),))

    def exact(self, rows: ExactCounts) -> np.ndarray:
        """Return the table, of the axes' shape."""
        return next(iter(rows.tables([self.axes])))

    def sensitivity(self, neighbours: Neighbours) -> float:
        """One row is in one cell."""
        return neighbours.histogram_l2


@dataclass(frozen=True)
class L1Distances:
    """L1 distance of tables of counts from public integer estimates: scores that say where a model is wrong.

    Parameters
    ----------
    sets : sequence of sequences of Axis
        The tables.
    estimates : sequence of ndarray of int
        One for each, functions of earlier answers alone.
    """

    sets: Sequence[Axes]
    estimates: Sequence[np.ndarray]
    proof = "docs/explanation/proofs/adaptive_network.md, Lemma 3"

    def asked(self) -> QueryRecord:
        """Say what is asked; the estimates are large, and follow from earlier answers."""
        return QueryRecord(kind="distances", tables=tuple(tuple(axes) for axes in self.sets))

    def exact(self, rows: ExactCounts) -> np.ndarray:
        """Return one score for each table, shape (number of tables,)."""
        if len(self.sets) != len(self.estimates):
            raise ValueError(
                f"estimates ({len(self.estimates)}) must be as many as sets ({len(self.sets)}): one for each"
            )
        scores = np.zeros(len(self.sets), dtype=np.int64)
        for positions, tables in together(rows, self.sets):
            apart = np.abs(tables - np.stack([self.estimates[i] for i in positions.tolist()]))
            scores[positions] = apart.reshape(len(positions), -1).sum(1)
        return scores

    def sensitivity(self, neighbours: Neighbours) -> float:
        """Reverse triangle inequality: each score moves by the table's own L1 distance at most."""
        return neighbours.histogram_l1 * math.sqrt(len(self.sets))
