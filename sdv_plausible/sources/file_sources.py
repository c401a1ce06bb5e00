"""Files and engines that hand out Arrow's batches: Parquet, CSV, polars, DuckDB."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.sources.source import PART_ROWS, LocalSource, SourceError, quietly
from sdv_plausible.sources.worker_pool import Piece
from sdv_plausible.table.columns.cell_reader import PLAIN_SPELLING, ColumnType, Spelling
from sdv_plausible.table.columns.output_types import storage_kind
from sdv_plausible.table.files.csv_files import check_csv, csv_columns, csv_separator, csv_texts, parse_texts
from sdv_plausible.table.files.parquet_files import parquet_schema, parse_arrow_table, shorten_floats
from sdv_plausible.table.files.text_files import Files

TEXT_ROWS = 1 << 16  # records that are held as text at a time
Batches = Callable[[Sequence[str], int], Iterator[Any]]


class ArrowSource(LocalSource):
    """A table that comes as Arrow's batches; cells are read as those of a Parquet file.

    Parameters
    ----------
    schema : pyarrow.Schema
        Columns and their types.
    batches : callable
        Names and a number of rows -> Arrow tables of these columns, of about so many rows.
    types : mapping of str to ColumnType
        What the columns are.
    in_order : bool
        Whether every pass gives the same batches.
    """

    def __init__(
        self,
        schema: Any,
        batches: Batches,
        types: Mapping[str, ColumnType],
        rows: int = PART_ROWS,
        *,
        in_order: bool = True,
        spelling: Spelling = PLAIN_SPELLING,
    ) -> None:
        super().__init__(rows)
        self._schema, self._batches, self._types, self.in_order = schema, batches, types, in_order
        self._spelling = spelling

    @property
    def names(self) -> Sequence[str]:
        """Column names."""
        return list(self._schema.names)

    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:
        """Batches; whoever counts them reads them cell by cell."""
        batches = self._batches(names, self.rows)
        for number in itertools.count():
            if (batch := quietly(lambda: next(batches, None))) is None:
                return
            yield ArrowBatch(number, batch, self._types, self._spelling)

    def empty(self, names: Sequence[str]) -> pd.DataFrame:
        """No row of some columns."""
        return parse_arrow_table(self._schema.empty_table().select(list(names)), self._types, self._spelling)


@dataclass(frozen=True)
class ArrowBatch:
    """Rows as Arrow holds them."""

    number: int
    table: Any
    types: Mapping[str, ColumnType]
    spelling: Spelling

    def parts(self) -> Iterator[pd.DataFrame]:
        """Read their cells."""
        yield parse_arrow_table(self.table, self.types, self.spelling, categories=True)


class ParquetSource(ArrowSource):
    """Parquet files of one schema; pieces are places in them."""

    pieces_are_places = True

    def __init__(
        self,
        paths: Sequence[Path],
        types: Mapping[str, ColumnType],
        rows: int = PART_ROWS,
        *,
        spelling: Spelling = PLAIN_SPELLING,
    ) -> None:
        import pyarrow as pa

        schema, *others = schemas = [parquet_schema(path) for path in paths]
        known = [name for name in schema.names if name in types]
        for path, other in zip(paths[1:], others, strict=True):
            if any(
                name not in other.names or other.field(name).type != schema.field(name).type for name in known
            ):
                raise ValueError(
                    f"source: {path} stores its columns otherwise than {paths[0]}: write them alike"
                )
        super().__init__(schema, lambda *_: iter(()), types, rows, spelling=spelling)
        self._paths = paths
        self._texts = [name for name in known if pa.types.is_string(schema.field(name).type)]
        self.uneven = _uneven(paths, [one.names for one in schemas])
        stored = {name: storage_kind(schema.field(name).type) for name in known}
        self.storage = {name: kind for name, kind in stored.items() if kind is not None}

    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:
        """Row groups of one file after another: together about a part, or one of several parts."""
        number = 0
        for path in self._paths:
            for groups, size in quietly(partial(_together, path, self.rows)):
                yield RowGroups(
                    number, path, groups, tuple(names), self.rows, tuple(self._texts), self._types,
                    self._spelling,
                )  # fmt: skip
                number += -(-size // self.rows)


def _together(path: Path, rows: int) -> list[tuple[list[int], int]]:
    """Row groups of a file that follow one another, up to so many rows together, and how many they have."""
    import pyarrow.parquet as pq

    found: list[tuple[list[int], int]] = []
    about = pq.read_metadata(path)
    for group in range(about.num_row_groups):
        size = about.row_group(group).num_rows
        if found and found[-1][1] + size <= rows:
            found[-1] = ([*found[-1][0], group], found[-1][1] + size)
        else:
            found.append(([group], size))
    return found


@dataclass(frozen=True)
class RowGroups:
    """Where rows are in a Parquet file."""

    number: int
    path: Path
    groups: Sequence[int]
    names: tuple[str, ...]
    rows: int
    texts: tuple[str, ...]
    types: Mapping[str, ColumnType]
    spelling: Spelling

    def parts(self) -> Iterator[pd.DataFrame]:
        """Read them, so many rows at a time."""
        tables = self._tables()
        while (table := quietly(lambda: next(tables, None))) is not None:
            yield parse_arrow_table(shorten_floats(table), self.types, self.spelling, categories=True)

    def _tables(self) -> Iterator[Any]:
        """Arrow tables of so many rows each, but for the last: its batches end where row groups do."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        held: list[Any] = []
        with pq.ParquetFile(self.path, read_dictionary=list(self.texts)) as file:
            batches = file.iter_batches(self.rows, self.groups, list(self.names), use_threads=False)
            for batch in batches:
                held.append(pa.Table.from_batches([batch]).select(list(self.names)))
                while (size := sum(table.num_rows for table in held)) >= self.rows:
                    over = held[-1].slice(held[-1].num_rows - (size - self.rows))
                    held[-1] = held[-1].slice(0, held[-1].num_rows - (size - self.rows))
                    yield pa.concat_tables(held)
                    held = [over]
        if sum(table.num_rows for table in held):
            yield pa.concat_tables(held)


class CsvSource(LocalSource):
    """CSV files, read as :func:`~sdv_plausible.read_csv` reads one.

    This process finds the records, whose cells are then read by whoever counts them.
    """

    counts_travel = True  # Python reads every cell, and one thread at a time could

    def __init__(
        self,
        paths: Sequence[Path],
        types: Mapping[str, ColumnType],
        rows: int = PART_ROWS,
        *,
        written: Files | None = None,
    ) -> None:
        super().__init__(max(min(rows, TEXT_ROWS), 1))
        self._paths, self._types, self._written = paths, types, written or Files("")
        # every header: what only a pass would find has been paid for
        headers = [csv_columns(path, declared=types, **self._written.csv) for path in paths[:1]]
        if self._written.separator is None:  # all files are written alike
            found = csv_separator(paths[0], self._written.encoding, self._written.quote)
            self._written = replace(self._written, separator=found)
        headers += [csv_columns(path, declared=types, **self._written.csv) for path in paths[1:]]
        self._names, self.uneven = headers[0], _uneven(paths, headers)

    def check_form(self) -> None:
        """Raise ValueError if a file is not well formed: one pass, before anything is paid for."""
        for path in self._paths:
            check_csv(path, **self._written.csv)

    @property
    def names(self) -> Sequence[str]:
        """Column names of the first file."""
        return self._names

    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:
        """Records of one file after another."""
        types, number = {name: self._types[name] for name in names}, 0
        for path in self._paths:
            for texts in csv_texts(path, types, self.rows, **self._written.csv):
                yield CsvRecords(number, texts, types, self._written.spelling)
                number += 1

    def empty(self, names: Sequence[str]) -> pd.DataFrame:
        """No row of some columns."""
        numbers = {name: self._types[name].is_number for name in names}
        return pd.DataFrame(
            {name: pd.Series(dtype=np.float64 if number else object) for name, number in numbers.items()}
        )


@dataclass(frozen=True)
class CsvRecords:
    """Records of a CSV file, whose cells are texts."""

    number: int
    texts: Mapping[str, Sequence[Sequence[str]]]
    types: Mapping[str, ColumnType]
    spelling: Spelling

    def parts(self) -> Iterator[pd.DataFrame]:
        """Read their cells."""
        yield parse_texts(self.texts, self.types, self.spelling)[list(self.types)]


def _uneven(paths: Sequence[Path], headers: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Columns that not every file has, and those of which the names of folders tell."""
    everywhere = set.intersection(*map(set, headers))
    seldom = {name for header in headers for name in header} - everywhere
    parts = {part.partition("=")[0] for path in paths[1:] for part in path.parts[:-1] if "=" in part}
    return tuple(sorted(seldom | (parts - everywhere)))


def table_source(table: Any, types: Mapping[str, ColumnType], rows: int) -> ArrowSource:
    """An Arrow table in memory."""

    def batches(names: Sequence[str], rows: int) -> Iterator[Any]:
        chosen = table.select(list(names))
        for start in range(0, chosen.num_rows, rows):
            yield chosen.slice(start, rows)

    return ArrowSource(table.schema, batches, types, rows)


def polars_source(lazy: Any, types: Mapping[str, ColumnType], rows: int) -> ArrowSource:
    """A lazy polars frame, collected batch by batch."""
    import polars as pl

    oldest = pl.CompatLevel.oldest()
    if not hasattr(lazy, "collect_batches"):
        raise SourceError("source: this polars reads no batches: update it, or write the table to Parquet")

    def batches(names: Sequence[str], rows: int) -> Iterator[Any]:
        chosen = lazy.select(list(names))
        for batch in chosen.collect_batches(chunk_size=rows, maintain_order=True):
            yield batch.to_arrow(compat_level=oldest)

    schema = lazy.limit(0).collect().to_arrow(compat_level=oldest).schema
    return ArrowSource(schema, batches, types, rows, in_order=False)


def duckdb_source(relation: Any, types: Mapping[str, ColumnType], rows: int) -> ArrowSource:
    """A DuckDB relation: a table, a view or a query, run once for every pass."""
    import pyarrow as pa

    def quoted(names: Sequence[str]) -> str:
        return ", ".join('"' + name.replace('"', '""') + '"' for name in names)

    def batches(names: Sequence[str], rows: int) -> Iterator[Any]:
        reader = getattr(relation.project(quoted(names)), reads)(rows)
        yield from (pa.Table.from_batches([batch]) for batch in reader)

    known = ("to_arrow_reader", "fetch_arrow_reader", "record_batch")  # as its versions call it
    reads = next((name for name in known if hasattr(relation, name)), "")
    if not reads:
        raise SourceError("source: this duckdb reads no batches: update it, or write the table to Parquet")
    schema = relation.limit(0).to_arrow_table().schema
    return ArrowSource(schema, batches, types, rows, in_order=False)
