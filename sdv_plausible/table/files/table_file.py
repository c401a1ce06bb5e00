"""A table in one file: CSV, Parquet or Excel, by its extension."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from sdv_plausible.table.files.csv_files import count_codes, count_unreadable, csv_columns, read_csv
from sdv_plausible.table.files.parquet_files import parquet_columns, read_parquet
from sdv_plausible.table.files.text_files import Files, is_excel, is_parquet

if TYPE_CHECKING:
    import pandas as pd


def file_columns(file: Files, known: Collection[str] = ()) -> list[str]:
    """Column names, from the header alone; errors as for :func:`read_file`."""
    # ``known``: declared names, which may contain another separator.
    if is_excel(file.path):
        return _excel(file).excel_columns(file.path, file.sheet, known)
    if _is_parquet(file):
        return parquet_columns(file.path)
    return csv_columns(file.path, known=known, **file.csv)


def read_file(file: Files, types: Any) -> pd.DataFrame:
    """Rows of a file, each cell parsed by itself as declared; undeclared columns are left out."""
    if is_excel(file.path):
        return _excel(file).read_excel(file.path, types, sheet=file.sheet, **file.cells)
    if _is_parquet(file):
        return read_parquet(file.path, types, **file.cells)
    return read_csv(file.path, types, **file.csv, **file.cells)


def count_unreadable_cells(file: Files, types: Any) -> dict[str, int]:
    """Number of cells per column that do not match their declaration; empty for Parquet files."""
    if is_excel(file.path):
        counts = _excel(file).parse_excel(file.path, file.sheet, types, file.spelling)[1]
        return {name: count for name, count in counts.items() if count}
    return {} if _is_parquet(file) else count_unreadable(file.path, types, **file.csv, **file.cells)


def count_code_cells(file: Files, types: Any) -> dict[str, int]:
    """Number of cells per numeric column that are written as codes, such as 007; empty for typed cells."""
    if is_excel(file.path) or _is_parquet(file):
        return {}
    return count_codes(file.path, types, **file.csv, **file.cells)


def _is_parquet(file: Files) -> bool:
    """Whether a file is Parquet. Options of other kinds of files raise an error."""
    file.check_options(Path(file.path).suffix)
    return is_parquet(file.path)


def _excel(file: Files) -> Any:
    """The module for Excel files, loaded if there is one. Options of other kinds of files raise an error."""
    from sdv_plausible.table.files import excel_files

    file.check_options(".xlsx")
    return excel_files


def write_table(table: pd.DataFrame, path: Path, kind: str | None = None) -> None:
    """Write rows as "csv", "parquet" or "xlsx", by default as the path's ending says."""
    # In Parquet, columns with values of several types become text.
    kind = kind or path.suffix.lower().removeprefix(".")
    if kind == "xlsx":
        _excel(Files(path)).write_excel(table, path)
    elif kind == "parquet":
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
