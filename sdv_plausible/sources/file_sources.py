"""Sources of files, and of engines that return Arrow batches: Parquet, CSV, polars, DuckDB."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.privacy.parameter_checks import require_columns
from sdv_plausible.sources.source import PART_ROWS, FrameSource, LocalSource, SourceError, raise_source_errors
from sdv_plausible.sources.worker_pool import Piece
from sdv_plausible.table.columns.cell_reader import PLAIN_SPELLING, ColumnType, Spelling
from sdv_plausible.table.columns.output_types import storage_kind
from sdv_plausible.table.files.csv_files import check_csv, csv_columns, csv_separator, csv_texts, parse_texts
from sdv_plausible.table.files.parquet_files import parquet_schema, parse_arrow_table, shorten_floats
from sdv_plausible.table.files.table_file import file_columns, read_file
from sdv_plausible.table.files.text_files import Files

TEXT_ROWS = 1 << 16  # records held as text at a time
Batches = Callable[[Sequence[str], int], Iterator[Any]]


class ArrowSource(LocalSource):
    """A table of Arrow batches; cells are parsed as those of a Parquet file."""

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
        # ``schema``: columns and their types.
        # ``batches``: names, number of rows -> Arrow tables of these columns, with about this number of rows.
        # ``types``: types of the columns.
        # ``in_order``: whether every pass gives the same batches.
        super().__init__(rows)
        self._schema, self._batches, self._types, self.in_order = schema, batches, types, in_order
        self._spelling = spelling

    @property
    def names(self) -> Sequence[str]:
        """Column names."""
        return list(self._schema.names)

    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:
        """Yield batches; workers parse their cells."""
        batches = self._batches(names, self.rows)
        for number in itertools.count():
            if (batch := raise_source_errors(lambda: next(batches, None))) is None:
                return
            yield ArrowBatch(number, batch, self._types, self._spelling)

    def empty(self, names: Sequence[str]) -> pd.DataFrame:
        """Return some columns without rows."""
        return parse_arrow_table(self._schema.empty_table().select(list(names)), self._types, self._spelling)


@dataclass(frozen=True)
class ArrowBatch:
    """Rows in Arrow's format."""

    number: int
    table: Any
    types: Mapping[str, ColumnType]
    spelling: Spelling

    def parts(self) -> Iterator[pd.DataFrame]:
        """Parse the cells."""
        yield parse_arrow_table(self.table, self.types, self.spelling, categories=True)


class ParquetSource(ArrowSource):
    """Parquet files of one schema; pieces are locations in them."""

    pieces_are_locations = True

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
                    f"source: {path} has other column types than {paths[0]}: write all files with the same "
                    "schema"
                )
        super().__init__(schema, lambda *_: iter(()), types, rows, spelling=spelling)
        self._paths = paths
        self._texts = [name for name in known if pa.types.is_string(schema.field(name).type)]
        self.uneven = _uneven_columns(paths, [one.names for one in schemas])
        stored = {name: storage_kind(schema.field(name).type) for name in known}
        self.storage = {name: kind for name, kind in stored.items() if kind is not None}

    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:
        """Yield row groups: several that make up about one part, or one of several parts."""
        number = 0
        for path in self._paths:
            for groups, size in raise_source_errors(partial(_group_row_groups, path, self.rows)):
                yield RowGroups(
                    number, path, groups, tuple(names), self.rows, tuple(self._texts), self._types,
                    self._spelling,
                )  # fmt: skip
                number += -(-size // self.rows)


def _group_row_groups(path: Path, rows: int) -> list[tuple[list[int], int]]:
    """Group consecutive row groups of a file up to ``rows`` rows; returns each group and its size."""
    import pyarrow.parquet as pq

    grouped: list[tuple[list[int], int]] = []
    metadata = pq.read_metadata(path)
    for group in range(metadata.num_row_groups):
        size = metadata.row_group(group).num_rows
        if grouped and grouped[-1][1] + size <= rows:
            grouped[-1] = ([*grouped[-1][0], group], grouped[-1][1] + size)
        else:
            grouped.append(([group], size))
    return grouped


@dataclass(frozen=True)
class RowGroups:
    """Location of rows in a Parquet file."""

    number: int
    path: Path
    groups: Sequence[int]
    names: tuple[str, ...]
    rows: int
    texts: tuple[str, ...]
    types: Mapping[str, ColumnType]
    spelling: Spelling

    def parts(self) -> Iterator[pd.DataFrame]:
        """Read the rows, part by part."""
        tables = self._tables()
        while (table := raise_source_errors(lambda: next(tables, None))) is not None:
            yield parse_arrow_table(shorten_floats(table), self.types, self.spelling, categories=True)

    def _tables(self) -> Iterator[Any]:
        """Yield Arrow tables of ``rows`` rows each; batches end at row groups and are joined."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        pending: list[Any] = []
        with pq.ParquetFile(self.path, read_dictionary=list(self.texts)) as file:
            batches = file.iter_batches(self.rows, self.groups, list(self.names), use_threads=False)
            for batch in batches:
                pending.append(pa.Table.from_batches([batch]).select(list(self.names)))
                while (size := sum(table.num_rows for table in pending)) >= self.rows:
                    rest = pending[-1].slice(pending[-1].num_rows - (size - self.rows))
                    pending[-1] = pending[-1].slice(0, pending[-1].num_rows - (size - self.rows))
                    yield pa.concat_tables(pending)
                    pending = [rest]
        if sum(table.num_rows for table in pending):
            yield pa.concat_tables(pending)


class CsvSource(LocalSource):
    """CSV files, parsed as by :func:`~sdv_plausible.read_csv`.

    This process splits the files into records, and workers parse the cells.
    """

    counts_travel = True  # parsing is Python code, which threads cannot run in parallel

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
        # all headers now: a pass would find errors after the budget is charged
        headers = [csv_columns(path, declared=types, **self._written.csv) for path in paths[:1]]
        if self._written.separator is None:  # all files have one format
            found = csv_separator(paths[0], self._written.encoding, self._written.quote)
            self._written = replace(self._written, separator=found)
        headers += [csv_columns(path, declared=types, **self._written.csv) for path in paths[1:]]
        self._names, self.uneven = headers[0], _uneven_columns(paths, headers)

    def check_form(self) -> None:
        """Raise ValueError if a file is malformed: one pass, before the budget is charged."""
        for path in self._paths:
            check_csv(path, **self._written.csv)

    @property
    def names(self) -> Sequence[str]:
        """Column names of the first file."""
        return self._names

    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:
        """Yield records of one file after another."""
        types, number = {name: self._types[name] for name in names}, 0
        for path in self._paths:
            for texts in csv_texts(path, types, self.rows, **self._written.csv):
                yield CsvRecords(number, texts, types, self._written.spelling)
                number += 1

    def empty(self, names: Sequence[str]) -> pd.DataFrame:
        """Return some columns without rows."""
        numbers = {name: self._types[name].is_number for name in names}
        return pd.DataFrame(
            {name: pd.Series(dtype=np.float64 if number else object) for name, number in numbers.items()}
        )


@dataclass(frozen=True)
class CsvRecords:
    """Records of a CSV file, with texts as cells."""

    number: int
    texts: Mapping[str, Sequence[Sequence[str]]]
    types: Mapping[str, ColumnType]
    spelling: Spelling

    def parts(self) -> Iterator[pd.DataFrame]:
        """Parse the cells."""
        yield parse_texts(self.texts, self.types, self.spelling)[list(self.types)]


class ExcelSource(FrameSource):
    """An Excel file, in memory."""

    def __init__(
        self, paths: Sequence[Path], types: Mapping[str, ColumnType], rows: int = PART_ROWS, *, written: Files
    ) -> None:
        if len(paths) > 1:
            raise ValueError(
                f"source ({paths[0]}, ...) names {len(paths)} Excel files: give one, or save them as CSV"
            )
        file = replace(written, path=paths[0])
        self._names = file_columns(file, types)
        require_columns("source", types, self._names)
        super().__init__(read_file(file, types) if types else pd.DataFrame(), rows)

    @property
    def names(self) -> Sequence[str]:
        """Column names of the sheet; the declared ones are read."""
        return self._names


def _uneven_columns(paths: Sequence[Path], headers: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Columns that are missing in some files, and those in folder names."""
    common = set.intersection(*map(set, headers))
    not_common = {name for header in headers for name in header} - common
    partitions = {part.partition("=")[0] for path in paths[1:] for part in path.parts[:-1] if "=" in part}
    return tuple(sorted(not_common | (partitions - common)))


def table_source(table: Any, types: Mapping[str, ColumnType], rows: int) -> ArrowSource:
    """Source of an Arrow table in memory."""

    def batches(names: Sequence[str], rows: int) -> Iterator[Any]:
        chosen = table.select(list(names))
        for start in range(0, chosen.num_rows, rows):
            yield chosen.slice(start, rows)

    return ArrowSource(table.schema, batches, types, rows)


def polars_source(lazy: Any, types: Mapping[str, ColumnType], rows: int) -> ArrowSource:
    """Source of a lazy polars frame, collected batch by batch."""
    import polars as pl

    oldest = pl.CompatLevel.oldest()
    if not hasattr(lazy, "collect_batches"):
        raise SourceError("source: polars is too old to read batches: update it, or use a Parquet file")

    def batches(names: Sequence[str], rows: int) -> Iterator[Any]:
        chosen = lazy.select(list(names))
        for batch in chosen.collect_batches(chunk_size=rows, maintain_order=True):
            yield batch.to_arrow(compat_level=oldest)

    schema = lazy.limit(0).collect().to_arrow(compat_level=oldest).schema
    return ArrowSource(schema, batches, types, rows, in_order=False)


def duckdb_source(relation: Any, types: Mapping[str, ColumnType], rows: int) -> ArrowSource:
    """Source of a DuckDB relation, run once per pass: a table, a view or a query."""
    import pyarrow as pa

    def quoted(names: Sequence[str]) -> str:
        return ", ".join('"' + name.replace('"', '""') + '"' for name in names)

    def batches(names: Sequence[str], rows: int) -> Iterator[Any]:
        reader = getattr(relation.project(quoted(names)), method)(rows)
        yield from (pa.Table.from_batches([batch]) for batch in reader)

    methods = ("to_arrow_reader", "fetch_arrow_reader", "record_batch")  # names in its versions
    method = next((name for name in methods if hasattr(relation, name)), "")
    if not method:
        raise SourceError("source: duckdb is too old to read batches: update it, or use a Parquet file")
    schema = relation.limit(0).to_arrow_table().schema
    return ArrowSource(schema, batches, types, rows, in_order=False)


READ_ONCE = (
    "source ({name}) can be read only once, but a fit reads it several times: give a function without "
    "arguments that opens it again, such as lambda: cursor.execute(query).fetch_record_batch()"
)


def stream_source(opened: Callable[[], Any], types: Mapping[str, ColumnType], rows: int) -> ArrowSource:
    """Source of a function that opens the table: an Arrow stream, or record batches or tables of one schema.

    The function is called for the schema, once per pass, and twice before the first pass: the test that it
    returns the rows again must come before the budget is charged.
    """
    # Raises ValueError if it returns anything else, no batch, or other rows the second time.
    stream = raise_source_errors(opened)
    first = raise_source_errors(lambda: next(_tables(stream), None))
    if first is None:
        raise SourceError("source returned no record batch: for a table without rows, return one empty batch")
    schema = first.schema
    if isinstance(stream, Generator):  # closes its resources
        stream.close()

    def checked_tables() -> Iterator[Any]:
        for table in _tables(opened()):
            if not table.schema.equals(schema):
                raise SourceError(
                    f"source: a batch has the schema {table.schema.names} of types {table.schema.types}, "
                    f"the first one {schema.names} of {schema.types}: use one schema for all batches, as "
                    "with pyarrow.RecordBatch.from_pandas(part, schema=schema)"
                )
            yield table

    def batches(names: Sequence[str], rows: int) -> Iterator[Any]:
        for table in checked_tables():
            chosen = table.select(list(names))
            for start in range(0, chosen.num_rows, rows):
                yield chosen.slice(start, rows)

    source = ArrowSource(schema, batches, types, rows, in_order=False)
    # A stream opened outside the function gives the remaining rows the second time, and none the third time.
    # A pass of the fit would detect this too late, after the budget is charged.
    num_rows = raise_source_errors(lambda: sum(table.num_rows for table in checked_tables()))
    has_rows_again = raise_source_errors(lambda: any(table.num_rows for table in checked_tables()))
    if first.num_rows > num_rows or has_rows_again != bool(num_rows):
        raise SourceError(READ_ONCE.format(name=type(stream).__name__))
    source.fingerprints.check([num_rows])
    return source


def ibis_source(table: Any, types: Mapping[str, ColumnType], rows: int) -> ArrowSource:
    """Source of an Ibis table expression, run once per pass for the declared columns only."""

    def batches(names: Sequence[str], rows: int) -> Iterator[Any]:
        yield from _tables(table.select(list(names)).to_pyarrow_batches(chunk_size=rows))

    schema = table.schema().to_pyarrow()
    return ArrowSource(schema, batches, types, rows, in_order=False)


def _tables(stream: Any) -> Iterator[Any]:
    """Yield Arrow tables of a stream or an iterable of batches; a stream without rows is one empty table."""
    import pyarrow as pa

    if hasattr(stream, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(stream)
        yield _without_string_views(reader.schema.empty_table())
        stream = reader
    for batch in stream:
        if not isinstance(batch, (pa.RecordBatch, pa.Table)):
            raise SourceError(
                f"source returned a {type(batch).__name__}: each batch must be a pyarrow.RecordBatch or "
                "Table, made with one schema, such as pyarrow.RecordBatch.from_pylist(rows, schema=schema)"
            )
        yield _without_string_views(
            pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
        )


def _without_string_views(table: Any) -> Any:
    """Convert string views to plain strings."""
    import pyarrow as pa

    is_view = getattr(pa.types, "is_string_view", lambda _: False)
    types = [pa.large_string() if is_view(field.type) else field.type for field in table.schema]
    return table.cast(pa.schema(zip(table.schema.names, types, strict=True)))
