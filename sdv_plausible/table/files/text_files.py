"""Files of a table: how they are written, and packed, is said and read off no row."""

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
TEXTS = (".csv", ".tsv", ".txt", *UNPACKERS)  # CSV, packed or not
NO_TEXT = (".xlsx", ".xls", ".ods", ".zip", ".sav", ".dta", ".feather", ".parquet")  # which people try
MARKS = ("encoding", "separator", "quote")  # how a file of text is written, not its cells
LARGE = 1 << 28  # bytes of a file that is read in parts without being asked
LONGEST_CELL = 2**31 - 1  # letters
DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError)  # while reading


@dataclass(frozen=True)
class Files:
    """CSV or Parquet files, and how they are written: what is fitted in parts.

    Parameters
    ----------
    path : str, Path, or a sequence of them
        A file, a folder, or a pattern; or several.
    encoding, separator, quote, decimal, thousands, na_values, true_values, false_values
        As for :func:`~sdv_plausible.read_csv`; the first three are of CSV files.

    Raises
    ------
    ValueError
        If one of those of cells cannot be.
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

    def __post_init__(self) -> None:
        _ = self.spelling

    @property
    def spelling(self) -> Spelling:
        """How cells of text are written, in all columns alike."""
        return Spelling(**self.cells)

    @property
    def cells(self) -> dict[str, Any]:
        """The same, by name."""
        names = ("decimal", "thousands", "na_values", "true_values", "false_values")
        return {name: getattr(self, name) for name in names}

    @property
    def csv(self) -> dict[str, Any]:
        """Of CSV files alone."""
        return {name: getattr(self, name) for name in MARKS}

    def check_parquet(self) -> None:
        """Raise ValueError if something is said that Parquet files do not have."""
        for name in MARKS:
            if (mark := getattr(self, name)) != getattr(Files, name):
                raise Refused(name, mark, "is of CSV files, and plays no part in Parquet", "leave it out")


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Whether a file is Parquet, by its ending: its cells have types of their own."""
    return Path(path).suffix.lower() == ".parquet"


def is_large(path: Path) -> bool:
    """Whether a file is read in parts without being asked: as a table it may be larger than memory."""
    return path.stat().st_size > LARGE


def is_in_parts(data: Any) -> bool:
    """Whether a table is read in parts though nobody says so: it may be larger than memory."""
    of_a_cluster = type(data).__module__.split(".")[0] in ("dask", "pyspark")
    return isinstance(data, (str, os.PathLike, Files)) or callable(data) or of_a_cluster


def open_text(path: str | os.PathLike[str], encoding: str) -> TextIO:
    """Open a text file, its line ends as they are."""
    # ``.gz``, ``.bz2`` and ``.xz`` are unpacked while they are read, which raises one of :data:`DAMAGED`
    # where the file is damaged.
    path = Path(path)
    ending = path.suffix.lower()
    if ending in NO_TEXT:
        raise ValueError(f"{path} is no text file, by its ending: save the table as CSV (UTF-8) or Parquet")
    if unpack := UNPACKERS.get(ending):
        return unpack(path, "rt", encoding=encoding, newline="")
    return path.open(encoding=encoding, newline="")


def csv_reader(lines: Iterable[str], separator: str = ",", quote: str = '"') -> Any:
    """Records of lines of text, strictly; a cell may be longer than the module csv has it."""
    csv.field_size_limit(LONGEST_CELL)  # the process's own, 131,072 else: one long cell would end a fit
    return csv.reader(lines, delimiter=separator, quotechar=quote, strict=True)
