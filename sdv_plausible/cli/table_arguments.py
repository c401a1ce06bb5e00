"""Paths of a command's table: a single file, or a partitioned table (several files, a folder, a pattern)."""

from __future__ import annotations

import argparse
from glob import has_magic
from pathlib import Path
from typing import Any


def is_single_path(path: Any) -> bool:
    """Return whether the path denotes one file, which may not exist."""
    return isinstance(path, Path) and (path.is_file() or not (path.is_dir() or has_magic(str(path))))


def expand_paths(path: Any) -> list[Path]:
    """Return all files of a table; the first has the header."""
    from sdv_plausible.sources.file_patterns import files_of

    return [path] if is_single_path(path) else files_of(path)


def named_paths(value: Any) -> list[Any]:
    """Return an option's value as a list, with folders and patterns expanded."""
    if not isinstance(value, list):
        return [value]
    return [item for entry in value for item in (expand_paths(entry) if isinstance(entry, Path) else [entry])]


def is_partitioned(options: argparse.Namespace) -> bool:
    """Return whether the table may exceed memory: several files, a large file, or a scratch folder."""
    from sdv_plausible.table.files.text_files import is_large

    has_scratch = getattr(options, "scratch", None) is not None
    return has_scratch or not is_single_path(options.data) or is_large(options.data)
