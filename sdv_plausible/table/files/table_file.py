"""One file of a table, whole: by its ending CSV or Parquet."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pandas as pd

from sdv_plausible.table.files.csv_files import count_codes, count_unreadable, csv_columns, read_csv
from sdv_plausible.table.files.parquet_files import parquet_columns, read_parquet
from sdv_plausible.table.files.text_files import Files, is_parquet


def columns_of(file: Files, known: Collection[str] = ()) -> list[str]:
    """Names of its columns, from the header alone; errors as for :func:`read_file`."""
    # ``known`` are names that were declared, of which one may hold what looks like another separator.
    if _is_parquet(file):
        return parquet_columns(file.path)
    return csv_columns(file.path, known=known, **file.csv)


def read_file(file: Files, types: Any) -> pd.DataFrame:
    """Its rows, each cell by itself as its column is declared; the rest is left out."""
    if _is_parquet(file):
        return read_parquet(file.path, types, **file.cells)
    return read_csv(file.path, types, **file.csv, **file.cells)


def unreadable(file: Files, types: Any) -> dict[str, int]:
    """Cells that are not what their column is declared to be, by column: none of a Parquet file."""
    return {} if _is_parquet(file) else count_unreadable(file.path, types, **file.csv, **file.cells)


def written_as_codes(file: Files, types: Any) -> dict[str, int]:
    """Cells of numbers that lose zeros in front, a plus or digits, by column: none of a Parquet file."""
    return {} if _is_parquet(file) else count_codes(file.path, types, **file.csv, **file.cells)


def _is_parquet(file: Files) -> bool:
    """Whether it is; what is said of CSV alone is then refused."""
    if found := is_parquet(file.path):
        file.check_parquet()
    return found
