"""The rows of a table in parts, as a fit uses them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pandas as pd

from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import UnpicklableRows
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.sources.bounded_rows import of_persons
from sdv_plausible.sources.encoded_cache import cache_codes
from sdv_plausible.sources.source import RereadSource, Source
from sdv_plausible.sources.source_columns import SourceColumns
from sdv_plausible.sources.source_counts import PartEncoder, SourceCounts
from sdv_plausible.table.columns.cell_reader import ColumnType, Spelling
from sdv_plausible.table.columns.domain import Domain


class SourceRows(UnpicklableRows):
    """The rows of a table in parts."""

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
        # ``rules``: rules that make the model's columns.
        # ``folder``: a folder of this fit alone, on a disk of the data owner, for codes and the rows of each
        # person.
        self._source, self._rules, self._names, self._folder = source, rules, list(names), folder
        self._unnamed = unnamed
        self._size = [] if size is None else size  # the number of rows, once it is counted

    @property
    def unnamed(self) -> bool:
        """Whether rows were left out because they identify no person."""
        return self._unnamed

    def of_persons(self, neighbours: Neighbours, rng: KeyedRNG) -> SourceRows:
        """At most as many rows of each person as the privacy unit allows, chosen secretly."""
        if neighbours.person is None:
            return self
        chosen, unnamed = of_persons(self._source, neighbours, self._names, rng, self._folder)
        return SourceRows(chosen, self._rules, self._names, self._folder, unnamed=unnamed)

    def read_again(self, types: Mapping[str, ColumnType], spelling: Spelling, rules: RuleSet) -> SourceRows:
        """Parse some columns again, as from a file, and replace the rules."""
        source = RereadSource(self._source, types, spelling)
        unmodelled = {name for name, kind in types.items() if not kind.is_modelled}
        names = [name for name in self._names if name not in unmodelled]
        return SourceRows(source, rules, names, self._folder, unnamed=self.unnamed, size=self._size)

    def begins(self, most: int) -> pd.DataFrame:
        """The first rows; none on a cluster, where the rows stay."""
        return self._source.begins(self._names, most)

    def schema(self) -> pd.DataFrame:
        """The columns without rows, with the dtypes of the parts."""
        return self._source.empty(self._names)

    def folded(self, names: Collection[str]) -> pd.DataFrame:
        """The model's columns without rows."""
        empty = self.schema()
        return (self._rules.fold(empty) if self._rules else empty)[list(names)]

    def columns(self, names: Collection[str]) -> SourceColumns:  # noqa: ARG002  a pass reads what it needs
        """Exact queries about columns, one pass each."""
        return SourceColumns(self._source, self._rules, self._names, self._size)

    def coded(self, domain: Domain, rng: KeyedRNG) -> SourceCounts:
        """Exact counts of codes, part by part."""
        encoder = PartEncoder(domain, self._rules, rng)
        if self._folder is None and not self._source.on_cluster:
            return SourceCounts(self._source, encoder, self._names)
        return cache_codes(self._source, encoder, self._names, self._folder)
