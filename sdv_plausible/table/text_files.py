"""Text files, packed or not: the ending of the name says which, as nothing is read off the rows."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

UNPACKERS: dict[str, Callable[..., TextIO]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
NO_TEXT = (".xlsx", ".xls", ".ods", ".zip", ".sav", ".dta", ".feather", ".parquet")  # which people try
DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError)  # while reading


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
