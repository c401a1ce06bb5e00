"""A table in one file, CSV or Parquet by its extension."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pandas as pd

from sdv_plausible.table.files.csv_files import count_codes, count_unreadable, csv_columns, read_csv
from sdv_plausible.table.files.parquet_files import parquet_columns, read_parquet
from sdv_plausible.table.files.text_files import Files, is_parquet


def file_columns(file: Files, known: Collection[str] = ()) -> list[str]:
    """Column names, from the header alone; errors as for :func:`read_file`."""
    # ``known``: declared names, which may contain another separator.
    if _is_parquet(file):
        return parquet_columns(file.path)
    return csv_columns(file.path, known=known, **file.csv)


def read_file(file: Files, types: Any) -> pd.DataFrame:
    """Rows of a file, each cell parsed by itself as declared; undeclared columns are left out."""
    if _is_parquet(file):
        return read_parquet(file.path, types, **file.cells)
    return read_csv(file.path, types, **file.csv, **file.cells)


def count_unreadable_cells(file: Files, types: Any) -> dict[str, int]:
    """Number of cells per column that do not match their declaration; empty for Parquet files."""
    return {} if _is_parquet(file) else count_unreadable(file.path, types, **file.csv, **file.cells)


def count_code_cells(file: Files, types: Any) -> dict[str, int]:
    """Number of cells per numeric column that are written as codes, such as 007; empty for Parquet files."""
    return {} if _is_parquet(file) else count_codes(file.path, types, **file.csv, **file.cells)


def _is_parquet(file: Files) -> bool:
    """Whether a file is Parquet; CSV options then raise an error."""
    if parquet := is_parquet(file.path):
        file.check_parquet()
    return parquet
