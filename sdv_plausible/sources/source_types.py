"""From what a user has to a table in parts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from sdv_plausible.privacy.parameter_checks import require_columns
from sdv_plausible.sources.arrow_streams import READ_ONCE, ibis_source, stream_source
from sdv_plausible.sources.file_patterns import files_of
from sdv_plausible.sources.file_sources import (
    CsvSource,
    ParquetSource,
    duckdb_source,
    polars_source,
    table_source,
)
from sdv_plausible.sources.source import PART_CELLS, PART_ROWS, FrameSource, Source, SourceType
from sdv_plausible.table.columns.cell_reader import ColumnType
from sdv_plausible.table.files.storage_types import check_storage
from sdv_plausible.table.files.text_files import TEXT_EXTENSIONS, Files
from sdv_plausible.utils.entry_points import extension, extension_names

KNOWN = (
    "a path, folder or pattern of Parquet or CSV files, a pandas or polars frame, an Arrow table, a DuckDB "
    "relation, a Dask or Spark DataFrame, a table of Ibis, anything that offers Arrow's C stream again and "
    "again, or a function without arguments that opens an Arrow stream or record batches anew"
)


def open_source(data: Any, types: Mapping[str, ColumnType], rows: int = PART_ROWS) -> Source:
    """Return a table in parts. Nothing of its rows is read.

    Parameters
    ----------
    data : path, frame, relation or table
        See :func:`sdv_plausible.fit_source`.
    types : mapping of str to ColumnType
        What the columns are.
    rows : int
        Rows of a part; fewer where many columns are declared, as a part is held in memory.

    Raises
    ------
    ValueError
        If it is nothing of this, lacks a column, or stores one in a type that its declaration does not go
        with.
    """
    engine, data = engine_of(data)
    rows = min(rows, max(PART_CELLS // max(len(types), 1), 1))
    found = engine.opened(data, types, rows)
    twice = sorted({name for name in types if list(found.names).count(name) > 1})
    if twice:
        raise ValueError(f"source has several columns named {twice}: rename them, every column needs its own")
    require_columns("source", types, found.names)
    modelled = {name: column.sdtype for name, column in types.items() if column.is_modelled}
    check_storage(found.empty(list(types)), modelled)
    if isinstance(data, pd.DataFrame):
        check_storage(data.rename(columns=str), modelled)  # by types that an empty piece has lost
    return found


def engine_of(data: Any) -> tuple[SourceType, Any]:
    """Return the engine of what a user has, and what it opens: of a path, the files that it names.

    Raises
    ------
    ValueError
        If there is none, or it can be read once only.
    """
    data, name = _named(data), type(data).__name__
    if hasattr(data, "__next__") or hasattr(data, "read_next_batch"):
        raise ValueError(READ_ONCE.format(name=name))
    found = next((engine for engine in engines() if engine.holds(data)), None)
    if found is None:
        raise ValueError(f"source ({name}) must be {KNOWN}")
    return found, data


def _library(data: Any) -> str:
    return type(data).__module__.split(".")[0]


class _Files(list[Path]):
    """Files of one kind, which a path, folder or pattern names, and how they are written."""

    def __init__(self, written: Files) -> None:
        super().__init__(files_of(written.path))
        self.written = written

    @property
    def are_csv(self) -> bool:
        """Whether they are CSV, packed or not."""
        return {path.suffix.lower() for path in self} <= {*TEXT_EXTENSIONS}

    def of_parquet(self) -> Files:
        """How their cells are written; what is said of CSV alone is refused."""
        self.written.check_parquet()
        return self.written


def _named(data: Any) -> Any:
    """The files that a path names; anything else as it is."""
    if isinstance(data, (str, os.PathLike)):
        data = Files(data)
    if not isinstance(data, Files):
        return data
    found = _Files(data)
    kinds = {path.suffix.lower() for path in found}
    if len(kinds) > 1:
        raise ValueError(
            f"source ({', '.join(map(str, found[:3]))}, ...) names files of several kinds: {sorted(kinds)}"
        )
    return found


_SPECIFIC = (
    SourceType(
        "CSV files",
        lambda data: isinstance(data, _Files) and data.are_csv,
        lambda data, types, rows: CsvSource(data, types, rows, written=data.written),
    ),
    SourceType(
        "Parquet files",
        lambda data: isinstance(data, _Files),
        lambda data, types, rows: ParquetSource(data, types, rows, spelling=data.of_parquet().spelling),
    ),
    SourceType(
        "pandas frame",
        lambda data: isinstance(data, pd.DataFrame),
        lambda data, _, rows: FrameSource(data, rows),
    ),
    SourceType(
        "polars frame",
        lambda data: _library(data) == "polars",
        lambda data, types, rows: polars_source(data.lazy(), types, rows),
    ),
    SourceType(
        "DuckDB relation",
        lambda data: _library(data) in ("duckdb", "_duckdb") and hasattr(data, "columns"),  # no connection
        duckdb_source,
    ),
    SourceType(
        "Arrow table", lambda data: _library(data) == "pyarrow" and hasattr(data, "slice"), table_source
    ),
)
_PROTOCOLS = (
    SourceType("table of Ibis", lambda data: hasattr(data, "to_pyarrow_batches"), ibis_source),
    SourceType(
        "Arrow stream",
        lambda data: hasattr(data, "__arrow_c_stream__"),
        lambda data, types, rows: stream_source(lambda: data, types, rows),
    ),
    SourceType("function", callable, stream_source),
)


@cache
def engines() -> tuple[SourceType, ...]:
    """All kinds of tables, in order: the first that holds something opens it."""
    registered = (extension("source", name) for name in extension_names("source"))
    return (*_SPECIFIC, *registered, *_PROTOCOLS)
