"""Exact counts of a table that is read in parts: every pass codes each cell and counts all that is asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.coded_rows import CodeArray
from sdv_plausible.queries.count_queries import Axes, Axis, UnpicklableRows, number_axes, shape
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.sources.count_cache import CountCache
from sdv_plausible.sources.fingerprints import Fingerprint, Fingerprints, fingerprint
from sdv_plausible.sources.source import Source, with_objects
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.utils.counting import Covering, is_worthwhile

Span = tuple[float, float, KeyedRNG]
Counted = tuple[int, list[np.ndarray], Fingerprint]
Grouped = tuple[np.ndarray, np.ndarray, Fingerprint]
BYTES_OF_CODE = 4


@dataclass(frozen=True, eq=False)
class PartEncoder:
    """From a part of the table to codes.

    Parameters
    ----------
    domain : Domain
        The codes.
    rules : RuleSet
        Of which the model's columns follow.
    coins : Coins
        For cells outside the domain; a stream for each part.
    spans : tuple of (float, float, Coins)
        Of the secret numbers of rows: a row with a number outside one of them is left out.
    placed : bool
        Whether rows get their coins by their places, the same in every pass: then they must keep them.
    """

    domain: Domain
    rules: RuleSet
    coins: KeyedRNG
    spans: tuple[Span, ...] = ()
    placed: bool = False

    def coded(self, part: pd.DataFrame, number: int) -> tuple[np.ndarray, Fingerprint]:
        """Codes of all rows of a part, and what tells them from others before a coin is drawn."""
        folded = self.rules.fold(with_objects(part)) if self.rules else part
        codec = Codec(self.domain)
        codes = codec.known(folded, np.min_scalar_type(-max(self.cardinalities, default=1)))
        told = fingerprint(codes, number if self.placed else None)
        return codec.fill(codes, self.coins.spawn("part", number)), told

    def codes(self, part: pd.DataFrame, number: int) -> tuple[CodeArray, Fingerprint]:
        """Rows of a part as codes, those that are used, and the fingerprint of all."""
        codes, told = self.coded(part, number)
        kept = np.ones(len(codes), dtype=bool)
        for low, high, coins in self.spans:
            u = coins.spawn("part", number).uniform(len(codes))
            kept &= (low <= u) & (u < high)
        return CodeArray(codes if kept.all() else codes[kept], self.domain.cardinalities), told

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """Codes of every column."""
        return tuple(self.domain.cardinalities)


@dataclass(frozen=True, eq=False)
class CountTablesTask:
    """Work: rows of every part, and their tables over sets of axes.

    What is counted and added are larger tables, where a covering is given, of which sets are margins.

    Parameters
    ----------
    coder : Coder
        How rows become codes.
    sets : tuple of sequence of Axis
        What is asked.
    axes : tuple of Axis
        Of all sets, as :func:`~sdv_plausible.queries.count_queries.numbered` gives them.
    covering : Covering, optional
        Of these.
    small : bool
        Whether sets are taken out of larger tables before counts travel, and not of the sum of all.
    """

    coder: PartEncoder
    sets: tuple[Axes, ...]
    axes: tuple[Axis, ...] = ()
    covering: Covering | None = None
    small: bool = False

    @classmethod
    def of(cls, coder: PartEncoder, sets: Sequence[Axes], num_rows: int, *, small: bool) -> CountTablesTask:
        """Choose a covering for so many rows, if one pays."""
        axes, at = number_axes(sets)
        if not is_worthwhile(num_rows, len(sets), len(axes)):
            return cls(coder, tuple(sets))
        return cls(coder, tuple(sets), tuple(axes), Covering.of(at, shape(axes), num_rows), small)

    def count(self, part: pd.DataFrame, number: int) -> Counted:
        """Count one part."""
        rows, told = self.coder.codes(part, number)
        if self.covering is not None:
            return rows.num_rows(), list(rows.counts(self.axes, self.covering)), told
        found: list[Any] = [None] * len(self.sets)
        for positions, tables in rows.tables_together(self.sets):
            for i, table in zip(positions.tolist(), tables, strict=True):
                found[i] = table.astype(np.int64, copy=False)
        return rows.num_rows(), found, told

    def merge(self, one: Counted, other: Counted) -> Counted:
        """Add them."""
        return (one[0] + other[0], [a + b for a, b in zip(one[1], other[1], strict=True)], one[2] + other[2])

    def packed(self, counted: Counted) -> Counted:
        """What travels of the counts of some parts: no more than what was asked."""
        return (counted[0], self._sets(counted[1]), counted[2]) if self.covering and self.small else counted

    def tables(self, counted: list[np.ndarray]) -> list[np.ndarray]:
        """Tables of the sets, in order, out of the sum of what was counted."""
        return counted if self.covering is None or self.small else self._sets(counted)

    def _sets(self, larger: Iterable[np.ndarray]) -> list[np.ndarray]:
        assert self.covering is not None
        found = dict(self.covering.tables(larger))
        return [found[i] for i in range(len(self.sets))]


@dataclass(frozen=True, eq=False)
class GroupSizesTask:
    """Work: combinations of codes that occur, and their sizes."""

    coder: PartEncoder
    columns: tuple[int, ...]

    def count(self, part: pd.DataFrame, number: int) -> Grouped:
        """Count one part."""
        rows, told = self.coder.codes(part, number)
        return *rows.groups(self.columns, 1), told

    def merge(self, one: Grouped, other: Grouped) -> Grouped:
        """Add the sizes of equal combinations."""
        both, sizes = np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]])
        groups, where = np.unique(both, axis=0, return_inverse=True)
        found = np.zeros(len(groups), dtype=np.int64)
        np.add.at(found, where.ravel(), sizes)
        return groups, found, one[2] + other[2]


def check_places(source: Source) -> None:
    """Refuse parts of rows that may come in another order the next time: a fit asks before a budget has paid.

    Raises
    ------
    ValueError
        If the source does not keep its order.
    """
    if not source.in_order:
        raise ValueError(
            "source: split, and a range of omega, need rows that keep their places, which databases and "
            "clusters do not promise: leave them out, give scratch (a folder for codes that are made "
            "once), or write the table to Parquet first"
        )


class SourceCounts(UnpicklableRows):
    """A table in parts; an engine of exact counts.

    Parameters
    ----------
    source : Source
        The table.
    coder : Coder
        How its rows become codes.
    names : sequence of str
        Columns that are read.
    unchanged : Unchanged, optional
        What earlier passes over the same table were like.
    """

    def __init__(
        self, source: Source, coder: PartEncoder, names: Sequence[str], unchanged: Fingerprints | None = None
    ) -> None:
        self._source, self._coder, self._names = source, coder, tuple(names)
        self._passes, self._rows, self._unchanged = 0, -1, unchanged or Fingerprints()
        self._remembered = CountCache(coder.cardinalities)

    def num_rows(self) -> int:
        """Return the number of rows; the pass that counts them counts every column's codes, too."""
        if self._rows < 0:
            list(self.tables([[axis] for axis in self._remembered.codes]))
        return self._rows

    def tables(self, sets: Sequence[Axes]) -> Iterator[np.ndarray]:
        """Count every set of axes, all in one pass; in none, where earlier ones tell.

        Raises
        ------
        RuntimeError
            If the table has other rows than in an earlier pass.
        """
        yield from self._remembered.tables(sets, self._rows, self._counted)

    def _counted(self, sets: Sequence[Axes]) -> Iterator[np.ndarray]:
        work = CountTablesTask.of(self._next_coder(), sets, self._rows, small=self._source.counts_travel)
        self._rows, found, told = self._source.total(work, self._names)
        self._unchanged.check(told)
        yield from work.tables(found)

    def groups(self, columns: Sequence[int], least: int) -> tuple[np.ndarray, np.ndarray]:
        """Combinations of codes that at least ``least`` rows have, and their sizes; all are held for it.

        Raises
        ------
        RuntimeError
            If the table has other rows than in an earlier pass.
        """
        groups, sizes, told = self._source.total(
            GroupSizesTask(self._next_coder(), tuple(columns)), self._names
        )
        self._unchanged.check(told)
        return groups[sizes >= least], sizes[sizes >= least]

    def part(self, low: float, high: float, coins: KeyedRNG) -> SourceCounts:
        """Rows whose own secret number lies in [low, high).

        Raises
        ------
        ValueError
            If the source may give its rows in another order the next time: a row would change its number
            (docs/explanation/proofs/parts.md, Lemma 3). One that says it keeps its order, and does not,
            stops the fit.
        """
        if low <= 0 and high >= 1:
            return self
        check_places(self._source)
        spans = (*self._coder.spans, (low, high, coins.spawn("rows")))
        part = replace(self._coder, spans=spans)
        return SourceCounts(self._source, part, self._names, self._unchanged)

    def records(self) -> np.ndarray:
        """Refuse: records are what is never in memory.

        Raises
        ------
        ValueError
            Always.
        """
        size = self.num_rows() * len(self._coder.domain) * BYTES_OF_CODE / 1e9
        raise ValueError(
            f"source: this needs all records in memory, about {size:,.1f} GB of codes: use "
            "test='release' and a model that learns from counts, or read the table and use "
            "PlausibleDeniabilitySynthesizer"
        )

    def _next_coder(self) -> PartEncoder:
        """Draw cells outside the domain anew in every pass where rows do not keep their places.

        A row's draws must be its own; by place it would share them with the rows that were there before
        (docs/explanation/proofs/parts.md, Lemma 2).
        """
        self._passes += 1
        placed = self._source.in_order
        coins = self._coder.coins.spawn("pass", 0 if placed else self._passes)
        return replace(self._coder, coins=coins, placed=placed)
