"""From what a user has to a table in parts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pandas as pd

from sdv_plausible.sources.clusters import DaskSource
from sdv_plausible.sources.files import (
    CsvSource,
    duckdb_source,
    files_of,
    parquet_source,
    polars_source,
    table_source,
)
from sdv_plausible.sources.source import PART_ROWS, FrameSource, Source
from sdv_plausible.table.column_types import ColumnType

KNOWN = (
    "a path, folder or pattern of Parquet or CSV files, a pandas or polars frame, an Arrow table, a DuckDB "
    "relation, or a Dask DataFrame"
)


def open_source(
    data: Any, types: Mapping[str, ColumnType], rows: int = PART_ROWS, *, progress: bool = False
) -> Source:
    """Return a table in parts. Nothing of its rows is read.

    Parameters
    ----------
    data : path, frame, relation or table
        See :func:`sdv_plausible.fit_source`.
    types : mapping of str to ColumnType
        What the columns are.
    rows : int
        Rows of a part.
    progress : bool
        Whether passes show how far they are.

    Raises
    ------
    ValueError
        If it is nothing of this, or lacks a column.
    """
    found = _opened(data, types, rows, progress=progress)
    absent = [name for name in types if name not in found.names]
    if absent:
        raise ValueError(f"source lacks the declared columns {absent}; it has {list(found.names)[:20]}")
    return found


def _opened(data: Any, types: Mapping[str, ColumnType], rows: int, *, progress: bool) -> Source:
    if isinstance(data, (str, os.PathLike)):
        paths = files_of(data)
        kinds = {path.suffix.lower() for path in paths}
        if len(kinds) > 1:
            raise ValueError(f"source ({os.fspath(data)!r}) names files of several kinds: {sorted(kinds)}")
        if kinds == {".csv"}:
            return CsvSource(paths, types, rows, progress=progress)
        return parquet_source(paths, types, rows, progress=progress)
    if isinstance(data, pd.DataFrame):
        return FrameSource(data, rows, progress=progress)
    kind = type(data).__module__.split(".")[0]
    if kind == "polars":
        return polars_source(data.lazy(), types, rows, progress=progress)
    if kind in ("duckdb", "_duckdb"):
        return duckdb_source(data, types, rows, progress=progress)
    if kind == "pyarrow" and hasattr(data, "slice"):
        return table_source(data, types, rows, progress=progress)
    if kind == "dask" and hasattr(data, "to_delayed"):
        return DaskSource(data)
    raise ValueError(f"source ({type(data).__name__}) must be {KNOWN}")
