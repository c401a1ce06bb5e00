"""Exact counts of a table in parts: every pass encodes each cell and counts all queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import Axes, Axis, CodeArray, UnpicklableRows, number_axes, shape
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.sources.fingerprints import Fingerprint, Fingerprints, fingerprint
from sdv_plausible.sources.source import Source, categories_to_objects
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.utils.counting import (
    MAX_BLOCK_CELLS,
    MAX_TOTAL_CELLS,
    MIN_ROWS_PER_CELL,
    Covering,
    is_worthwhile,
)

Span = tuple[float, float, KeyedRNG]
Counted = tuple[int, list[np.ndarray], Fingerprint]
Grouped = tuple[np.ndarray, np.ndarray, Fingerprint]
BYTES_PER_CODE = 4


@dataclass(frozen=True, eq=False)
class PartEncoder:
    """Encode parts of a table."""

    domain: Domain  # domain of the codes
    rules: RuleSet  # rules that make the model's columns
    rng: KeyedRNG  # for cells outside the domain; each part has its own stream
    # (float, float, KeyedRNG) ranges of secret numbers; a row with a number outside one of them is left out.
    spans: tuple[Span, ...] = ()
    # Whether random numbers depend on a row's position, the same in every pass. Rows must then keep their
    # order.
    placed: bool = False

    def encode_all(self, part: pd.DataFrame, number: int) -> tuple[np.ndarray, Fingerprint]:
        """Codes of all rows of a part, and their fingerprint before random numbers are drawn."""
        folded = self.rules.fold(categories_to_objects(part)) if self.rules else part
        codec = Codec(self.domain)
        codes = codec.known(folded, np.min_scalar_type(-max(self.cardinalities, default=1)))
        digest = fingerprint(codes, number if self.placed else None)
        return codec.fill(codes, self.rng.spawn("part", number)), digest

    def encode(self, part: pd.DataFrame, number: int) -> tuple[CodeArray, Fingerprint]:
        """Codes of the rows within all spans, and the fingerprint of all rows."""
        codes, digest = self.encode_all(part, number)
        is_used = np.ones(len(codes), dtype=bool)
        for low, high, rng in self.spans:
            u = rng.spawn("part", number).uniform(len(codes))
            is_used &= (low <= u) & (u < high)
        return CodeArray(codes if is_used.all() else codes[is_used], self.domain.cardinalities), digest

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """Number of codes of every column."""
        return tuple(self.domain.cardinalities)


@dataclass(frozen=True, eq=False)
class CountTablesTask:
    """Task: number of rows, and tables of counts over sets of axes.

    With a covering, larger tables are counted and merged, and the tables of the sets are their marginals.
    """

    encoder: PartEncoder  # encodes the rows
    sets: tuple[Axes, ...]  # the queries
    # Axes of all sets, from :func:`~sdv_plausible.queries.count_queries.number_axes`.
    axes: tuple[Axis, ...] = ()
    covering: Covering | None = None  # covering of the sets
    # Whether marginals are computed before counts are sent, not from the sum of all counts.
    small: bool = False

    @classmethod
    def of(cls, encoder: PartEncoder, sets: Sequence[Axes], num_rows: int, *, small: bool) -> CountTablesTask:
        """Choose a covering for this number of rows, if it pays off."""
        axes, at = number_axes(sets)
        if not is_worthwhile(num_rows, len(sets), len(axes)):
            return cls(encoder, tuple(sets))
        return cls(encoder, tuple(sets), tuple(axes), Covering.of(at, shape(axes), num_rows), small)

    def count(self, part: pd.DataFrame, number: int) -> Counted:
        """Count one part."""
        rows, digest = self.encoder.encode(part, number)
        if self.covering is not None:
            return rows.num_rows(), list(rows.counts(self.axes, self.covering)), digest
        set_tables: list[Any] = [None] * len(self.sets)
        for positions, tables in rows.tables_together(self.sets):
            for i, table in zip(positions.tolist(), tables, strict=True):
                set_tables[i] = table.astype(np.int64, copy=False)
        return rows.num_rows(), set_tables, digest

    def merge(self, one: Counted, other: Counted) -> Counted:
        """Add."""
        return (one[0] + other[0], [a + b for a, b in zip(one[1], other[1], strict=True)], one[2] + other[2])

    def compact(self, counted: Counted) -> Counted:
        """Reduce counts to the queried tables before they are sent."""
        if not (self.covering and self.small):
            return counted
        return counted[0], self._marginals(counted[1]), counted[2]

    def tables(self, counted: list[np.ndarray]) -> list[np.ndarray]:
        """Tables of the sets, in order, from the merged counts."""
        return counted if self.covering is None or self.small else self._marginals(counted)

    def _marginals(self, larger: Iterable[np.ndarray]) -> list[np.ndarray]:
        assert self.covering is not None
        tables = dict(self.covering.tables(larger))
        return [tables[i] for i in range(len(self.sets))]


@dataclass(frozen=True, eq=False)
class GroupSizesTask:
    """Task: occurring combinations of codes and their sizes."""

    encoder: PartEncoder
    columns: tuple[int, ...]

    def count(self, part: pd.DataFrame, number: int) -> Grouped:
        """Count one part."""
        rows, digest = self.encoder.encode(part, number)
        return *rows.groups(self.columns, 1), digest

    def merge(self, one: Grouped, other: Grouped) -> Grouped:
        """Add the sizes of equal combinations."""
        both, sizes = np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]])
        groups, where = np.unique(both, axis=0, return_inverse=True)
        group_sizes = np.zeros(len(groups), dtype=np.int64)
        np.add.at(group_sizes, where.ravel(), sizes)
        return groups, group_sizes, one[2] + other[2]


def check_row_order(source: Source) -> None:
    """Reject sources whose rows may come in another order in the next pass, before the budget is charged."""
    # Raises ValueError if the source does not keep its order.
    if not source.in_order:
        raise ValueError(
            "source: split, and a range of omega, need a stable row order, which databases and clusters do "
            "not guarantee. Remove them, give scratch (a folder for the encoded rows), or write the table "
            "to Parquet first"
        )


class SourceCounts(UnpicklableRows):
    """Exact counts of a table in parts."""

    def __init__(
        self,
        source: Source,
        encoder: PartEncoder,
        names: Sequence[str],
        fingerprints: Fingerprints | None = None,
    ) -> None:
        # ``fingerprints``: fingerprints of earlier passes over the same table.
        self._source, self._encoder, self._names = source, encoder, tuple(names)
        self._passes, self._rows, self._fingerprints = 0, -1, fingerprints or Fingerprints()
        self._cache = CountCache(encoder.cardinalities)

    def num_rows(self) -> int:
        """Return the number of rows; the same pass counts the codes of every column."""
        if self._rows < 0:
            list(self.tables([[axis] for axis in self._cache.codes]))
        return self._rows

    def tables(self, sets: Sequence[Axes]) -> Iterator[np.ndarray]:
        """Count every set of axes in one pass, or in none if earlier counts suffice."""
        # Raises RuntimeError if the table has other rows than in an earlier pass.
        yield from self._cache.tables(sets, self._rows, self._count)

    def _count(self, sets: Sequence[Axes]) -> Iterator[np.ndarray]:
        task = CountTablesTask.of(self._encoder_of_pass(), sets, self._rows, small=self._source.counts_travel)
        self._rows, counts, digest = self._source.total(task, self._names)
        self._fingerprints.check(digest)
        yield from task.tables(counts)

    def groups(self, columns: Sequence[int], least: int) -> tuple[np.ndarray, np.ndarray]:
        """Combinations of codes that at least ``least`` rows have, and their sizes.

        All combinations are held in memory.
        """
        # Raises RuntimeError if the table has other rows than in an earlier pass.
        groups, sizes, digest = self._source.total(
            GroupSizesTask(self._encoder_of_pass(), tuple(columns)), self._names
        )
        self._fingerprints.check(digest)
        return groups[sizes >= least], sizes[sizes >= least]

    def part(self, low: float, high: float, rng: KeyedRNG) -> SourceCounts:
        """Rows whose secret number lies in [low, high)."""
        # Raises ValueError if the source may give its rows in another order in the next pass: a row's number
        # would change (docs/explanation/proofs/parts.md, Lemma 3). A source that wrongly claims to keep its
        # order stops the fit.
        if low <= 0 and high >= 1:
            return self
        check_row_order(self._source)
        spans = (*self._encoder.spans, (low, high, rng.spawn("rows")))
        part = replace(self._encoder, spans=spans)
        return SourceCounts(self._source, part, self._names, self._fingerprints)

    def records(self) -> np.ndarray:
        """Not supported: the records do not fit in memory."""
        # Raises ValueError always.
        size = self.num_rows() * len(self._encoder.domain) * BYTES_PER_CODE / 1e9
        raise ValueError(
            f"source: this needs all records in memory, about {size:,.1f} GB of codes: use "
            "test='release' and a model that learns from counts, or read the table and use "
            "PlausibleDeniabilitySynthesizer"
        )

    def _encoder_of_pass(self) -> PartEncoder:
        """Encoder of the next pass. Without a fixed order, it draws cells outside the domain anew.

        A row's random numbers must be its own. By position, it would share them with rows at the same
        position in earlier passes (docs/explanation/proofs/parts.md, Lemma 2).
        """
        self._passes += 1
        is_ordered = self._source.in_order
        rng = self._encoder.rng.spawn("pass", 0 if is_ordered else self._passes)
        return replace(self._encoder, rng=rng, placed=is_ordered)


ARRAY_OVERHEAD = 32  # cells: overhead of an array


class CountCache:
    """Tables of counts of the same rows, held by the engine that counted them, and as secret as the rows.

    For one column, or two with a small table, the table of codes is counted: tables over any buckets are
    marginals of it. Larger sets are cached as they were queried. The cache holds at most ``MAX_TOTAL_CELLS``
    cells; queries beyond that are counted each time.
    """

    def __init__(self, cardinalities: Sequence[int]) -> None:
        # ``cardinalities``: number of codes of every column.
        self.codes = [Axis.of_codes(j, size) for j, size in enumerate(cardinalities)]
        self._tables: dict[tuple[Axis, ...], np.ndarray] = {}
        self._cells = 0

    def tables(
        self, sets: Sequence[Axes], num_rows: int, count: Callable[[Sequence[Axes]], Iterable[np.ndarray]]
    ) -> Iterator[np.ndarray]:
        """Tables of all sets, in order."""
        # ``num_rows``: approximate number of rows. For few rows, a table of codes costs more than it saves.
        # ``count``: sets -> their tables, in order: one pass, if a table is missing.
        most = min(MAX_BLOCK_CELLS, num_rows // MIN_ROWS_PER_CELL)
        finest = [self._finest(axes, most) for axes in sets]
        missing = [axes for axes in dict.fromkeys(finest) if axes not in self._tables]
        cells = self._cells + sum(math.prod(shape(axes)) + ARRAY_OVERHEAD for axes in missing)
        if cells > MAX_TOTAL_CELLS:
            yield from count(sets)
            return
        if missing:
            self._tables.update(zip(missing, count(missing), strict=True))
            self._cells = cells
        for axes, cached in zip(sets, finest, strict=True):
            yield _in_buckets(self._tables[cached], cached, axes)

    def _finest(self, axes: Axes, most: int) -> tuple[Axis, ...]:
        """The set to count for a query: its columns' codes, or the query itself."""
        codes = tuple(self.codes[axis.column] for axis in axes)
        if len(codes) == 1 or (len(codes) == 2 and math.prod(shape(codes)) <= most):
            return codes
        return tuple(axes)


def _in_buckets(table: np.ndarray, counted_axes: Axes, axes: Axes) -> np.ndarray:
    """Aggregate a table over codes to buckets; copies a table over the same axes."""
    if all(one is other or other.is_identity for one, other in zip(counted_axes, axes, strict=True)):
        return table.copy()
    aggregated = np.zeros(shape(axes), dtype=np.int64)
    np.add.at(aggregated, np.ix_(*(axis.buckets for axis in axes)), table)
    return aggregated
