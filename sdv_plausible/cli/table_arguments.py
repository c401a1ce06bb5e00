"""What a command's table may be: a file, or several, a folder or a pattern, which are read in parts."""

from __future__ import annotations

import argparse
from glob import has_magic
from pathlib import Path
from typing import Any


def is_one(path: Any) -> bool:
    """Whether one file is named, which may not be there."""
    return isinstance(path, Path) and (path.is_file() or not (path.is_dir() or has_magic(str(path))))


def each_of(path: Any) -> list[Path]:
    """All files that are named, of which the first has the header."""
    from sdv_plausible.sources.file_patterns import files_of

    return [path] if is_one(path) else files_of(path)


def all_named(value: Any) -> list[Any]:
    """What was given for an option; for folders and patterns their files."""
    if not isinstance(value, list):
        return [value]
    return [one for given in value for one in (each_of(given) if isinstance(given, Path) else [given])]


def is_in_parts(options: argparse.Namespace) -> bool:
    """Whether the table need not fit in memory: several files, a large one, or codes have a folder."""
    from sdv_plausible.table.files.text_files import is_large

    is_asked = getattr(options, "scratch", None) is not None
    return is_asked or not is_one(options.data) or is_large(options.data)
