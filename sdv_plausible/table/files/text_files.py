"""File options: format and compression are declared, never inferred from rows."""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import os
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.table.columns.cell_reader import FALSE_VALUES, TRUE_VALUES, Spelling

UNPACKERS: dict[str, Callable[..., TextIO]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
TEXT_EXTENSIONS = (".csv", ".tsv", ".txt", *UNPACKERS)  # CSV, compressed or not
BINARY_EXTENSIONS = (
    ".xlsx",
    ".xls",
    ".ods",
    ".zip",
    ".sav",
    ".dta",
    ".feather",
    ".parquet",
)  # common, but not text
CSV_OPTIONS = ("encoding", "separator", "quote")  # options of CSV files, as opposed to their cells
TABLE_KINDS = ("csv", "parquet", "xlsx")  # that are written, by their endings
LARGE_FILE_BYTES = 1 << 28  # bytes above which a file is read in parts automatically
LONGEST_CELL = 2**31 - 1  # characters
DAMAGE_ERRORS = (OSError, EOFError, zlib.error, lzma.LZMAError)  # errors of damaged files


@dataclass(frozen=True)
class Files:
    """CSV or Parquet files to be fitted in parts, or an Excel file, and their options.

    Parameters
    ----------
    path : str, Path, or a sequence of them
        A file, a folder, or a glob pattern; or several.
    encoding, separator, quote, decimal, thousands, na_values, true_values, false_values
        As for :func:`~sdv_plausible.read_csv`. The first three apply to CSV files only.
    sheet : str or None
        As for :func:`~sdv_plausible.read_excel`. An Excel file is read into memory.

    Raises
    ------
    ValueError
        If an option for cells is invalid.
    """

    path: Any
    encoding: str = "utf-8"
    separator: str | None = None
    quote: str = '"'
    decimal: str = "."
    thousands: str | None = None
    na_values: Sequence[str] = ("",)
    true_values: Sequence[str] = TRUE_VALUES
    false_values: Sequence[str] = FALSE_VALUES
    sheet: str | None = None

    def __post_init__(self) -> None:
        _ = self.spelling

    @property
    def spelling(self) -> Spelling:
        """How cells of text are written, in all columns."""
        return Spelling(**self.cells)

    @property
    def cells(self) -> dict[str, Any]:
        """The options for cells."""
        names = ("decimal", "thousands", "na_values", "true_values", "false_values")
        return {name: getattr(self, name) for name in names}

    @property
    def csv(self) -> dict[str, Any]:
        """The options for CSV files."""
        return {name: getattr(self, name) for name in CSV_OPTIONS}

    def check_options(self, ending: str) -> None:
        """Raise ValueError if an option is set that has no effect on files of this ending."""
        kind = {".parquet": "Parquet", ".xlsx": "Excel files"}.get(ending.lower(), "CSV files")
        for name in () if kind == "CSV files" else CSV_OPTIONS:
            if (mark := getattr(self, name)) != getattr(Files, name):
                raise Refused(name, mark, f"only applies to CSV files, not to {kind}", "leave it out")
        if self.sheet is not None and kind != "Excel files":
            rule = f"only applies to Excel files, not to {kind}"
            raise Refused("sheet", self.sheet, rule, "leave it out")


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Whether a file is Parquet, by its extension."""
    return Path(path).suffix.lower() == ".parquet"


def is_excel(path: str | os.PathLike[str]) -> bool:
    """Whether a file is an Excel file (.xlsx), by its extension."""
    return Path(path).suffix.lower() == ".xlsx"


def is_large(path: Path) -> bool:
    """Whether a file is read in parts automatically: as a table it may exceed memory."""
    return path.stat().st_size > LARGE_FILE_BYTES


def reads_in_parts(data: Any) -> bool:
    """Whether data is read in parts automatically: as a table it may exceed memory."""
    is_cluster_frame = type(data).__module__.split(".")[0] in ("dask", "pyspark")
    return isinstance(data, (str, os.PathLike, Files)) or callable(data) or is_cluster_frame


def open_text(path: str | os.PathLike[str], encoding: str) -> TextIO:
    """Open a text file with its line ends unchanged."""
    # ``.gz``, ``.bz2`` and ``.xz`` are decompressed while reading. A damaged file raises one of
    # :data:`DAMAGE_ERRORS`.
    path = Path(path)
    ending = path.suffix.lower()
    if ending in BINARY_EXTENSIONS:
        raise ValueError(
            f"{path} is not a text file, judging by its ending: save the table as CSV (UTF-8) or Parquet"
        )
    if unpack := UNPACKERS.get(ending):
        return unpack(path, "rt", encoding=encoding, newline="")
    return path.open(encoding=encoding, newline="")


def csv_reader(lines: Iterable[str], separator: str = ",", quote: str = '"') -> Any:
    """Strict CSV reader without the csv module's limit on cell length."""
    csv.field_size_limit(LONGEST_CELL)  # global; the default, 131,072, would end a fit
    return csv.reader(lines, delimiter=separator, quotechar=quote, strict=True)
