"""Writing tables to files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdv_plausible.table.files.text_files import is_parquet

if TYPE_CHECKING:
    import pandas as pd


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write rows as CSV or Parquet. In Parquet, columns with values of several types become text."""
    if is_parquet(path):
        _with_single_types(table).to_parquet(path, index=False)
    else:
        _with_integers(table).to_csv(path, index=False)


def cells_as_text(column: pd.Series[Any]) -> list[str | None]:
    """Cells as texts, for a file whose columns have one type each."""
    return [None if missing else str(cell) for cell, missing in zip(column, column.isna(), strict=True)]


def _with_single_types(table: pd.DataFrame) -> pd.DataFrame:
    import pyarrow as pa

    table = table.copy(deep=False)
    for name in table.select_dtypes(["object", "category"]):
        try:
            pa.array(table[name], from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            table[name] = cells_as_text(table[name])
    return table


def _with_integers(table: pd.DataFrame) -> pd.DataFrame:
    """Table with columns of whole floats as integers: 24 is written, not 24.0."""
    floats = table.select_dtypes("float")
    whole = [
        name
        for name in floats
        if ((floats[name] % 1 == 0) & (floats[name].abs() < 2**53) | floats[name].isna()).all()
    ]
    return table.astype(dict.fromkeys(whole, "Int64"))
