"""Writing rows to a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write rows as CSV or Parquet."""
    if path.suffix.lower() == ".parquet":
        table.to_parquet(path, index=False)
    else:
        _whole_numbers(table).to_csv(path, index=False)


def _whole_numbers(table: pd.DataFrame) -> pd.DataFrame:
    """Write 24 and not 24.0 where a synthetic column holds whole numbers alone."""
    floats = table.select_dtypes("float")
    whole = [
        name
        for name in floats
        if ((floats[name] % 1 == 0) & (floats[name].abs() < 2**53) | floats[name].isna()).all()
    ]
    return table.astype(dict.fromkeys(whole, "Int64"))
