"""What a fit asks of the rows, wherever they are: in memory, or in parts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

import pandas as pd

from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.coded_rows import CodeArray
from sdv_plausible.queries.count_queries import ExactCounts, HoldsRows
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.cell_reader import ColumnType, Spelling, read_again
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.table.contribution_bounding import choose_rows, identities, without_names
from sdv_plausible.table.learned.raw_queries import ExactColumns, FrameColumns

LOOKED_AT = 5000  # rows, for words to their holder


class FitRows(Protocol):
    """Rows behind what a fit may do with them."""

    @property
    def unnamed(self) -> bool:
        """Whether some were left out, as nobody can tell whose they are: for their holder alone."""
        ...

    def of_persons(self, neighbours: Neighbours, coins: KeyedRNG) -> FitRows:
        """Of every person at most as many rows as the unit has, chosen secretly."""
        ...

    def read_again(self, types: Mapping[str, ColumnType], spelling: Spelling, rules: RuleSet) -> FitRows:
        """The same with some columns read as from a file, and other rules."""
        ...

    def begins(self, most: int) -> pd.DataFrame:
        """At most so many rows as given, for words to their holder; none where they are elsewhere."""
        ...

    def schema(self) -> pd.DataFrame:
        """No row, in the types of the table."""
        ...

    def folded(self, names: Collection[str]) -> pd.DataFrame:
        """The model's columns, of which a declared or learned domain reads the types alone."""
        ...

    def columns(self, names: Collection[str]) -> ExactColumns:
        """Engine of exact answers about the model's columns, before there are codes."""
        ...

    def coded(self, domain: Domain, coins: KeyedRNG) -> ExactCounts:
        """Engine of exact counts of codes."""
        ...


class InMemoryRows(HoldsRows):
    """A table in memory.

    Parameters
    ----------
    table : DataFrame
        The modelled columns.
    rules : RuleSet
        Of which the model's columns follow.
    persons : Series, optional
        Whose each row is.
    unnamed : bool
        Whether some were left out already, as nobody can tell whose they are.
    given : DataFrame, optional
        The rows as their holder wrote them.
    """

    def __init__(
        self,
        table: pd.DataFrame,
        rules: RuleSet,
        persons: pd.Series[Any] | None = None,
        *,
        unnamed: bool = False,
        given: pd.DataFrame | None = None,
    ) -> None:
        self._table, self._rules, self._persons = table.reset_index(drop=True), rules, persons
        self._given = self._table if given is None else given
        self._unnamed = unnamed
        self._folded: pd.DataFrame | None = None

    @property
    def unnamed(self) -> bool:
        """Whether the choice left some out, as nobody can tell whose they are."""
        return self._unnamed

    def of_persons(self, neighbours: Neighbours, coins: KeyedRNG) -> InMemoryRows:
        """Of every person at most as many rows as the unit has, chosen secretly."""
        if neighbours.person is None or self._persons is None:
            return self
        chosen, first = choose_rows(self._persons, neighbours.rows, coins), self._persons.iloc[:LOOKED_AT]
        unnamed = without_names(first, identities(first))
        return InMemoryRows(self._table.iloc[chosen], self._rules, unnamed=unnamed)

    def read_again(self, types: Mapping[str, ColumnType], spelling: Spelling, rules: RuleSet) -> InMemoryRows:
        """The same with some columns read as from a file, and other rules."""
        read = read_again(self._table, types, spelling)
        return InMemoryRows(read, rules, unnamed=self._unnamed, given=self._given)

    def __len__(self) -> int:
        return len(self._table)

    def begins(self, most: int) -> pd.DataFrame:
        """The first rows."""
        return self._given.iloc[:most]

    def schema(self) -> pd.DataFrame:
        """No row, in the types of the table."""
        return self._table.iloc[:0]

    def folded(self, names: Collection[str]) -> pd.DataFrame:
        """The model's columns."""
        if self._folded is None:
            self._folded = self._rules.fold(self._table) if self._rules else self._table
        if list(self._folded.columns) != list(names):
            self._folded = self._folded[list(names)]  # once: every selection is a copy
        return self._folded

    def columns(self, names: Collection[str]) -> FrameColumns:
        """Exact answers about them."""
        return FrameColumns(self.folded(names))

    def coded(self, domain: Domain, coins: KeyedRNG) -> CodeArray:
        """Codes of all rows."""
        return CodeArray(Codec(domain).encode(self.folded(domain.names), coins), domain.cardinalities)
