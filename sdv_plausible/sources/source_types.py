"""Open any supported table as a source."""

from __future__ import annotations

import glob
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from sdv_plausible.privacy.parameter_checks import require_columns
from sdv_plausible.sources.file_sources import (
    READ_ONCE,
    CsvSource,
    ExcelSource,
    ParquetSource,
    duckdb_source,
    ibis_source,
    polars_source,
    stream_source,
    table_source,
)
from sdv_plausible.sources.source import PART_CELLS, PART_ROWS, FrameSource, Source, SourceType, library_of
from sdv_plausible.table.columns.cell_reader import ColumnType
from sdv_plausible.table.files.storage_types import check_storage
from sdv_plausible.table.files.text_files import TEXT_EXTENSIONS, Files, is_excel
from sdv_plausible.utils.entry_points import extension, extension_names

KNOWN = (
    "a path, folder or pattern of Parquet or CSV files, a pandas or polars frame, an Arrow table, a DuckDB "
    "relation, a Dask or Spark DataFrame, a table of Ibis, an object whose Arrow C stream can be read "
    "repeatedly, or a function without arguments that opens an Arrow stream or record batches"
)


def open_source(data: Any, types: Mapping[str, ColumnType], rows: int = PART_ROWS) -> Source:
    """Return a table in parts, without reading its rows."""
    # ``types``: types of the columns.
    # ``rows``: rows per part; fewer if there are many columns, since a part is held in memory.
    # Raises ValueError if the table is of no supported kind, lacks a column, or stores a column in a type
    # that does not go with its declaration.
    engine, data = engine_of(data)
    rows = min(rows, max(PART_CELLS // max(len(types), 1), 1))
    source = engine.opened(data, types, rows)
    duplicates = sorted({name for name in types if list(source.names).count(name) > 1})
    if duplicates:
        raise ValueError(f"source has several columns named {duplicates}: give every column a unique name")
    require_columns("source", types, source.names)
    modelled = {name: column.sdtype for name, column in types.items() if column.is_modelled}
    check_storage(source.empty(list(types)), modelled)
    if isinstance(data, pd.DataFrame):
        check_storage(data.rename(columns=str), modelled)  # with dtypes that an empty slice has lost
    return source


def engine_of(data: Any) -> tuple[SourceType, Any]:
    """Return the engine that opens ``data``, and the data to open; paths are resolved to files."""
    # Raises ValueError if there is no such engine, or the data can be read only once.
    data, name = _resolve_paths(data), type(data).__name__
    if hasattr(data, "__next__") or hasattr(data, "read_next_batch"):
        raise ValueError(READ_ONCE.format(name=name))
    match = next((engine for engine in engines() if engine.holds(data)), None)
    if match is None:
        raise ValueError(f"source ({name}) must be {KNOWN}")
    return match, data


class _Files(list[Path]):
    """Files of one kind from a path, folder or pattern, with their format."""

    def __init__(self, written: Files) -> None:
        super().__init__(files_of(written.path))
        self.written = written

    @property
    def are_csv(self) -> bool:
        """Whether they are CSV files, compressed or not."""
        return {path.suffix.lower() for path in self} <= {*TEXT_EXTENSIONS}

    def of_parquet(self) -> Files:
        """The format of cells; rejects options for CSV."""
        self.written.check_options(".parquet")
        return self.written


def _resolve_paths(data: Any) -> Any:
    """Resolve a path to its files; return anything else unchanged."""
    if isinstance(data, (str, os.PathLike)):
        data = Files(data)
    if not isinstance(data, Files):
        return data
    files = _Files(data)
    suffixes = {path.suffix.lower() for path in files}
    if len(suffixes) > 1:
        raise ValueError(
            f"source ({', '.join(map(str, files[:3]))}, ...) names files of different kinds: "
            f"{sorted(suffixes)}"
        )
    return files


_ENGINES = (
    SourceType(
        "Excel file",
        lambda data: isinstance(data, _Files) and is_excel(data[0]),
        lambda data, types, rows: ExcelSource(data, types, rows, written=data.written),
    ),
    SourceType(
        "CSV files",
        lambda data: isinstance(data, _Files) and data.are_csv,
        lambda data, types, rows: CsvSource(data, types, rows, written=data.written),
    ),
    SourceType(
        "Parquet files",
        lambda data: isinstance(data, _Files),
        lambda data, types, rows: ParquetSource(data, types, rows, spelling=data.of_parquet().spelling),
    ),
    SourceType(
        "pandas frame",
        lambda data: isinstance(data, pd.DataFrame),
        lambda data, _, rows: FrameSource(data, rows),
    ),
    SourceType(
        "polars frame",
        lambda data: library_of(data) == "polars",
        lambda data, types, rows: polars_source(data.lazy(), types, rows),
    ),
    SourceType(
        "DuckDB relation",
        lambda data: (
            library_of(data) in ("duckdb", "_duckdb") and hasattr(data, "columns")
        ),  # not a connection
        duckdb_source,
    ),
    SourceType(
        "Arrow table", lambda data: library_of(data) == "pyarrow" and hasattr(data, "slice"), table_source
    ),
)
_PROTOCOLS = (
    SourceType("table of Ibis", lambda data: hasattr(data, "to_pyarrow_batches"), ibis_source),
    SourceType(
        "Arrow stream",
        lambda data: hasattr(data, "__arrow_c_stream__"),
        lambda data, types, rows: stream_source(lambda: data, types, rows),
    ),
    SourceType("function", callable, stream_source),
)


@cache
def engines() -> tuple[SourceType, ...]:
    """All kinds of tables, in order of precedence."""
    registered = (extension("source", name) for name in extension_names("source"))
    return (*_ENGINES, *registered, *_PROTOCOLS)


_NUMBERED = "[0-9]" * 5
VERSIONED = (
    "_delta_log/", ".hoodie/", "metadata/v[0-9]*.metadata.json", f"metadata/{_NUMBERED}-*.metadata.json",
)  # fmt: skip
"""Markers of Delta, Hudi and Iceberg tables, whose folders keep earlier versions of rows."""


def files_of(path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[Path]:
    """Sorted files of one or several paths: a file itself, those of a folder, or the matches of a pattern.

    Names below a folder, or matched by a wildcard, that begin with "." or "_" are internal or temporary files
    of other programs and are ignored, except partitions such as ``_year=2020``.
    """
    # Raises ValueError if there is no file, or two paths are the same file, whose rows would count twice.
    # Also if rows would be lost silently: a folder cannot be read or is a link, or a link is broken.
    if not isinstance(path, (str, os.PathLike)):
        files = [one for each in path for one in files_of(each)]
        return _sorted_unique(", ".join(str(os.fspath(one)) for one in path), files)
    text, folder = os.fspath(path), Path(path)
    matches = {folder} if folder.is_file() else set[Path]()
    if folder.is_dir():
        matches = _select_files(text, folder, _walk(text, folder))
        ignored = {one for one in matches if one.suffix.lower() not in (".parquet", *TEXT_EXTENSIONS)}
        if matches > ignored > set():
            raise _data_loss_error(text, min(ignored), "is not a CSV or Parquet file, judging by its ending")
        matches -= ignored
    elif not matches:
        prefix = Path(*itertools.takewhile(lambda part: not glob.has_magic(part), folder.parts))
        for place in _pattern_folders(folder):
            if not os.access(place, os.R_OK | os.X_OK):
                raise _data_loss_error(text, place, "cannot be read")
        matches = _select_files(text, prefix, map(Path, glob.glob(text, recursive=True)))  # noqa: PTH207  absolute ones too
    if not matches:
        raise ValueError(
            f"source ({text!r}) names no file: give a file, a folder, or a pattern such as 'd/*.parquet'"
        )
    return _sorted_unique(text, matches)


def _sorted_unique(text: str, matches: Iterable[Path]) -> list[Path]:
    """Sort the files; reject two paths to the same file."""
    seen: dict[tuple[int, int], Path] = {}
    files = sorted(matches)
    for file in files:
        status = file.stat()  # of the target of a link
        inode = status.st_dev, status.st_ino
        if inode in seen:
            raise ValueError(
                f"source ({text!r}): {seen[inode]} and {file} are the same file, and its rows would count "
                "twice: remove one, or use a pattern that matches only one"
            )
        seen[inode] = file
    return files


def _data_loss_error(text: str, place: Path, why: str) -> ValueError:
    """Error about data that would be lost silently."""
    return ValueError(
        f"source ({text!r}): {place} {why}, so its rows would be skipped: move it, or use a pattern that "
        "matches all files, such as 'd/*/*.parquet'"
    )


def _walk(text: str, folder: Path) -> Iterator[Path]:
    """Walk a folder, without internal files of other programs."""

    def unread(error: OSError) -> None:
        raise _data_loss_error(text, Path(error.filename or folder), "cannot be read") from None

    for place, folders, names in os.walk(folder, onerror=unread):
        folders[:] = sorted(name for name in folders if not _is_internal(name))
        for name in folders:
            if Path(place, name).is_symlink():
                raise _data_loss_error(text, Path(place, name), "is a link to a folder")
        yield from (Path(place, name) for name in names)


def _pattern_folders(pattern: Path) -> set[Path]:
    """Folders on the way of a pattern."""
    parts = pattern.parts
    heads = [Path(*parts[:i]) for i in range(1, len(parts)) if glob.has_magic(parts[i])]
    matches = {Path(one) for head in heads for one in glob.glob(str(head), recursive=True)}  # noqa: PTH207
    return {one for one in matches if one.is_dir()}


def _is_internal(part: str) -> bool:
    return part.startswith((".", "_")) and "=" not in part


def _select_files(text: str, folder: Path, matches: Iterable[Path]) -> set[Path]:
    """Select the files that are not internal to other programs."""
    selected, is_unversioned, folders = set(), dict[Path, bool](), set[Path]()
    for match in matches:
        parts = match.relative_to(folder).parts
        if match.is_symlink() and not match.exists() and not any(map(_is_internal, parts)):
            raise _data_loss_error(text, match, "is a broken link")
        if match.is_dir() and not any(map(_is_internal, parts)):
            folders.add(match)
        if not match.is_file():
            continue
        for place in match.resolve().parents:  # a partition belongs to the table above it
            if place not in is_unversioned:
                is_unversioned[place] = not any(any(place.glob(mark)) for mark in VERSIONED)
            if not is_unversioned[place]:
                raise ValueError(
                    f"source ({text!r}) is of a Delta, Iceberg or Hudi table ({place}), whose folder also "
                    "contains old versions of rows: write the newest version to Parquet, and use that "
                    "folder"
                )
        if not any(map(_is_internal, parts)):
            selected.add(match)
    for place in folders - {parent for match in selected for parent in match.parents} - {folder}:
        if selected and any(place.iterdir()):
            raise _data_loss_error(text, place, "is a folder that matches the pattern but is not searched")
    return selected
