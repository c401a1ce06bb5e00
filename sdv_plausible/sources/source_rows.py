"""What a fit asks of the rows of a table that is read in parts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pandas as pd

from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import UnpicklableRows
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.sources.bounded_rows import of_persons
from sdv_plausible.sources.encoded_cache import keep_codes
from sdv_plausible.sources.source import RereadSource, Source
from sdv_plausible.sources.source_columns import SourceColumns
from sdv_plausible.sources.source_counts import PartEncoder, SourceCounts
from sdv_plausible.table.columns.cell_reader import ColumnType, Spelling
from sdv_plausible.table.columns.domain import Domain


class SourceRows(UnpicklableRows):
    """A table that is read in parts.

    Parameters
    ----------
    source : Source
        The table.
    rules : RuleSet
        Of which the model's columns follow.
    names : sequence of str
        The modelled columns.
    folder : Path, optional
        Of this fit alone, on a disk of the holder's: for codes that are made once, and a person's rows.
    """

    def __init__(
        self,
        source: Source,
        rules: RuleSet,
        names: Sequence[str],
        folder: Path | None = None,
        *,
        unnamed: bool = False,
        size: list[int] | None = None,
    ) -> None:
        self._source, self._rules, self._names, self._folder = source, rules, list(names), folder
        self._unnamed = unnamed
        self._size = [] if size is None else size  # the number of rows, once a pass has counted it

    @property
    def unnamed(self) -> bool:
        """Whether the choice left some out, as nobody can tell whose they are."""
        return self._unnamed

    def of_persons(self, neighbours: Neighbours, coins: KeyedRNG) -> SourceRows:
        """Of every person at most as many rows as the unit has, chosen secretly."""
        if neighbours.person is None:
            return self
        chosen, unnamed = of_persons(self._source, neighbours, self._names, coins, self._folder)
        return SourceRows(chosen, self._rules, self._names, self._folder, unnamed=unnamed)

    def read_again(self, types: Mapping[str, ColumnType], spelling: Spelling, rules: RuleSet) -> SourceRows:
        """The same with some columns read as from a file, and other rules."""
        read = RereadSource(self._source, types, spelling)
        gone = {name for name, kind in types.items() if not kind.is_modelled}
        names = [name for name in self._names if name not in gone]
        return SourceRows(read, rules, names, self._folder, unnamed=self.unnamed, size=self._size)

    def begins(self, most: int) -> pd.DataFrame:
        """The first rows; none of a cluster's, which stay where they are."""
        return self._source.begins(self._names, most)

    def schema(self) -> pd.DataFrame:
        """No row, in the types of the parts."""
        return self._source.empty(self._names)

    def folded(self, names: Collection[str]) -> pd.DataFrame:
        """No row of the model's columns."""
        empty = self.schema()
        return (self._rules.fold(empty) if self._rules else empty)[list(names)]

    def columns(self, names: Collection[str]) -> SourceColumns:  # noqa: ARG002  a pass reads what it needs
        """Exact answers about them, in a pass each."""
        return SourceColumns(self._source, self._rules, self._names, self._size)

    def coded(self, domain: Domain, coins: KeyedRNG) -> SourceCounts:
        """Counts of codes, part by part."""
        coder = PartEncoder(domain, self._rules, coins)
        if self._folder is None and not self._source.on_cluster:
            return SourceCounts(self._source, coder, self._names)
        return keep_codes(self._source, coder, self._names, self._folder)
