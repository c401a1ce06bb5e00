"""The rows of a fit: the protocol that a fit uses, and a table in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import pandas as pd

from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import CodeArray, ExactCounts, UnpicklableRows
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.cell_reader import ColumnType, Spelling, reparse_columns
from sdv_plausible.table.columns.domain import Domain

if TYPE_CHECKING:
    from sdv_plausible.table.learned.raw_queries import ExactColumns, FrameColumns

LOOKED_AT = 5000  # first rows that diagnostics read


class FitRows(Protocol):
    """The operations of a fit on its rows, in memory or in parts."""

    @property
    def unnamed(self) -> bool:
        """Whether rows without an identifiable person were left out; for the data owner alone."""
        ...

    def of_persons(self, neighbours: Neighbours, rng: KeyedRNG) -> FitRows:
        """Bound contributions: a secret choice of at most ``neighbours.rows`` rows per person."""
        ...

    def read_again(self, types: Mapping[str, ColumnType], spelling: Spelling, rules: RuleSet) -> FitRows:
        """The rows with some columns parsed again as these types, and with other rules."""
        ...

    def begins(self, most: int) -> pd.DataFrame:
        """The first rows as given, at most ``most``, for diagnostics; none of rows on a cluster."""
        ...

    def schema(self) -> pd.DataFrame:
        """An empty table with the table's dtypes."""
        ...

    def folded(self, names: Collection[str]) -> pd.DataFrame:
        """The model's columns, as values: derived columns are left out, surrogates added.

        Where a domain is declared or learned, it is built from their dtypes alone.
        """
        ...

    def columns(self, names: Collection[str]) -> ExactColumns:
        """Engine of exact answers on the model's columns before encoding."""
        ...

    def coded(self, domain: Domain, rng: KeyedRNG) -> ExactCounts:
        """Encode the rows: an engine of exact counts of codes."""
        ...


class InMemoryRows(UnpicklableRows):
    """A table in memory."""

    def __init__(
        self,
        table: pd.DataFrame,
        rules: RuleSet,
        persons: pd.Series[Any] | None = None,
        *,
        unnamed: bool = False,
        given: pd.DataFrame | None = None,
    ) -> None:
        # ``rules``: rules that turn them into the model's columns.
        # ``persons``: person of each row.
        # ``unnamed``: whether rows without an identifiable person were left out already.
        # ``given``: the rows before parsing, for diagnostics.
        self._table, self._rules, self._persons = table.reset_index(drop=True), rules, persons
        self._given = self._table if given is None else given
        self._unnamed = unnamed
        self._folded: pd.DataFrame | None = None

    @property
    def unnamed(self) -> bool:
        """Whether rows without an identifiable person were left out."""
        return self._unnamed

    def of_persons(self, neighbours: Neighbours, rng: KeyedRNG) -> InMemoryRows:
        """Bound contributions: a secret choice of at most ``neighbours.rows`` rows per person."""
        if neighbours.person is None or self._persons is None:
            return self
        from sdv_plausible.table.contribution_bounding import choose_rows, has_unidentified_rows, person_keys

        chosen, first = choose_rows(self._persons, neighbours.rows, rng), self._persons.iloc[:LOOKED_AT]
        unnamed = has_unidentified_rows(first, person_keys(first))
        return InMemoryRows(self._table.iloc[chosen], self._rules, unnamed=unnamed)

    def read_again(self, types: Mapping[str, ColumnType], spelling: Spelling, rules: RuleSet) -> InMemoryRows:
        """The rows with some columns parsed again as these types, and with other rules."""
        table = reparse_columns(self._table, types, spelling)
        return InMemoryRows(table, rules, unnamed=self._unnamed, given=self._given)

    def __len__(self) -> int:
        return len(self._table)

    def begins(self, most: int) -> pd.DataFrame:
        """The first rows as given."""
        return self._given.iloc[:most]

    def schema(self) -> pd.DataFrame:
        """An empty table with the table's dtypes."""
        return self._table.iloc[:0]

    def folded(self, names: Collection[str]) -> pd.DataFrame:
        """The model's columns, as values."""
        if self._folded is None:
            self._folded = self._rules.fold(self._table) if self._rules else self._table
        if list(self._folded.columns) != list(names):
            self._folded = self._folded[list(names)]  # once: every selection is a copy
        return self._folded

    def columns(self, names: Collection[str]) -> FrameColumns:
        """Exact answers on the model's columns."""
        from sdv_plausible.table.learned.raw_queries import FrameColumns

        return FrameColumns(self.folded(names))

    def coded(self, domain: Domain, rng: KeyedRNG) -> CodeArray:
        """Codes of all rows."""
        return CodeArray(Codec(domain).encode(self.folded(domain.names), rng), domain.cardinalities)
