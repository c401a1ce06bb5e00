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
from sdv_plausible.sources.streams import READ_ONCE, ibis_source, stream_source
from sdv_plausible.table.column_types import ColumnType
from sdv_plausible.table.text_files import UNPACKERS

KNOWN = (
    "a path, folder or pattern of Parquet or CSV files, a pandas or polars frame, an Arrow table, a DuckDB "
    "relation, a Dask DataFrame, a table of Ibis, anything that offers Arrow's C stream again and again, or "
    "a function without arguments that opens an Arrow stream or record batches anew"
)

SPARK = (
    "source ({name}) is Spark's, which is not counted where it is: write it to Parquet "
    "(table.write.parquet(folder)), and give the folder, or dask.dataframe.read_parquet(folder) for a cluster"
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
        If it is nothing of this, lacks a column, or stores one in a type that its declaration does not go
        with.
    """
    found = _opened(data, types, rows, progress=progress)
    twice = sorted({name for name in types if list(found.names).count(name) > 1})
    if twice:
        raise ValueError(f"source has several columns named {twice}: rename them, every column needs its own")
    absent = [name for name in types if name not in found.names]
    if absent:
        raise ValueError(f"source lacks the declared columns {absent}; it has {list(found.names)[:20]}")
    _check_storage(found.empty(list(types)), types)
    return found


def _check_storage(empty: pd.DataFrame, types: Mapping[str, ColumnType]) -> None:
    """Refuse nested columns of frames; Arrow's have been by ``empty``."""
    for name, dtype in empty.dtypes.items():
        if isinstance(dtype, pd.ArrowDtype) and dtype.kind == "O" and types[str(name)].is_modelled:
            import pyarrow as pa

            if pa.types.is_nested(dtype.pyarrow_dtype):
                raise ValueError(
                    f"column {name!r} is stored as {dtype.pyarrow_dtype}: a cell must be one value. Make "
                    "columns of it first, or leave it out of metadata and domain"
                )


def _opened(data: Any, types: Mapping[str, ColumnType], rows: int, *, progress: bool) -> Source:
    if isinstance(data, (str, os.PathLike)):
        paths = files_of(data)
        kinds = {path.suffix.lower() for path in paths}
        if len(kinds) > 1:
            raise ValueError(f"source ({os.fspath(data)!r}) names files of several kinds: {sorted(kinds)}")
        if kinds <= {".csv", *UNPACKERS}:
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
    if hasattr(data, "to_pyarrow_batches"):
        return ibis_source(data, types, rows, progress=progress)
    if kind == "pyspark" or hasattr(data, "__next__") or hasattr(data, "read_next_batch"):
        raise ValueError((SPARK if kind == "pyspark" else READ_ONCE).format(name=type(data).__name__))
    if hasattr(data, "__arrow_c_stream__"):
        return stream_source(lambda: data, types, rows, progress=progress)
    if callable(data):
        return stream_source(data, types, rows, progress=progress)
    raise ValueError(f"source ({type(data).__name__}) must be {KNOWN}")
