"""Files and engines that hand out Arrow's batches: Parquet, CSV, polars, DuckDB."""

from __future__ import annotations

import glob
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.sources.source import PART_ROWS, LocalSource, SourceError, quietly
from sdv_plausible.table.columns.cell_texts import PLAIN, ColumnType, Spelling
from sdv_plausible.table.files.csv_files import check_csv, csv_blocks, csv_columns, csv_separator
from sdv_plausible.table.files.parquet import frame_of, parquet_schema
from sdv_plausible.table.files.text_files import TEXTS, Files

_NUMBERED = "[0-9]" * 5
VERSIONED = (
    "_delta_log/", ".hoodie/", "metadata/v[0-9]*.metadata.json", f"metadata/{_NUMBERED}-*.metadata.json",
)  # fmt: skip
"""In folders of tables that keep earlier versions of rows: Delta's, Hudi's, Iceberg's."""
Batches = Callable[[Sequence[str], int], Iterator[Any]]


class ArrowSource(LocalSource):
    """A table that comes as Arrow's batches; cells are read as those of a Parquet file.

    Parameters
    ----------
    schema : pyarrow.Schema
        Columns and their types.
    batches : callable
        Names and a number of rows -> Arrow tables of these columns, of about so many rows.
    types : mapping of str to ColumnType
        What the columns are.
    in_order : bool
        Whether every pass gives the same batches.
    """

    def __init__(
        self,
        schema: Any,
        batches: Batches,
        types: Mapping[str, ColumnType],
        rows: int = PART_ROWS,
        *,
        in_order: bool = True,
        progress: bool = False,
        spelling: Spelling = PLAIN,
    ) -> None:
        super().__init__(rows, progress=progress)
        self._schema, self._batches, self._types, self.in_order = schema, batches, types, in_order
        self._spelling = spelling

    @property
    def names(self) -> Sequence[str]:
        """Column names."""
        return list(self._schema.names)

    def parts(self, names: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Batches, read cell by cell."""
        batches = self._batches(names, self.rows)
        while (batch := quietly(lambda: next(batches, None))) is not None:
            yield frame_of(batch, self._types, self._spelling, categories=True)

    def empty(self, names: Sequence[str]) -> pd.DataFrame:
        """No row of some columns."""
        return frame_of(self._schema.empty_table().select(list(names)), self._types, self._spelling)


class CsvSource(LocalSource):
    """CSV files, read as :func:`~sdv_plausible.read_csv` reads one."""

    def __init__(
        self,
        paths: Sequence[Path],
        types: Mapping[str, ColumnType],
        rows: int = PART_ROWS,
        *,
        progress: bool = False,
        written: Files | None = None,
    ) -> None:
        super().__init__(rows, progress=progress)
        self._paths, self._types, self._written = paths, types, written or Files("")
        # every header: what only a pass would find has been paid for
        headers = [csv_columns(path, declared=types, **self._written.csv) for path in paths[:1]]
        if self._written.separator is None:  # all files are written alike
            found = csv_separator(paths[0], self._written.encoding, self._written.quote)
            self._written = replace(self._written, separator=found)
        headers += [csv_columns(path, declared=types, **self._written.csv) for path in paths[1:]]
        self._names, self.uneven = headers[0], _uneven(paths, headers)

    def check_form(self) -> None:
        """Raise ValueError if a file is not well formed: one pass, before anything is paid for."""
        for path in self._paths:
            check_csv(path, **self._written.csv)

    @property
    def names(self) -> Sequence[str]:
        """Column names of the first file."""
        return self._names

    def parts(self, names: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Records of one file after another."""
        types = {name: self._types[name] for name in names}
        for path in self._paths:
            for block in csv_blocks(path, types, self.rows, self._written.spelling, **self._written.csv):
                yield block[list(names)]

    def empty(self, names: Sequence[str]) -> pd.DataFrame:
        """No row of some columns."""
        numbers = {name: self._types[name].is_number for name in names}
        return pd.DataFrame(
            {name: pd.Series(dtype=np.float64 if number else object) for name, number in numbers.items()}
        )


def _uneven(paths: Sequence[Path], headers: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Columns that not every file has, and those of which the names of folders tell."""
    everywhere = set.intersection(*map(set, headers))
    seldom = {name for header in headers for name in header} - everywhere
    parts = {part.partition("=")[0] for path in paths[1:] for part in path.parts[:-1] if "=" in part}
    return tuple(sorted(seldom | (parts - everywhere)))


def files_of(path: str | os.PathLike[str]) -> list[Path]:
    """Files that a path names: itself, those of a folder, or those that a pattern fits, sorted.

    Names below a folder, or where a pattern has a wildcard, that begin with "." or "_" are what programs
    keep, or are writing; but for parts such as ``_year=2020``.

    Raises
    ------
    ValueError
        If there is none, or two are one: its rows would count twice, and the ledger speaks of one row. If a
        folder below cannot be read, or is a link, or a link leads nowhere: rows would be lost silently.
    """
    text, folder = os.fspath(path), Path(path)
    found = {folder} if folder.is_file() else set[Path]()
    if folder.is_dir():
        found = _kept(text, folder, _below(text, folder))
        other = {one for one in found if one.suffix.lower() not in (".parquet", *TEXTS)}
        if found > other > set():
            raise _lost(text, min(other), "is no CSV or Parquet file, by its ending")
        found -= other
    elif not found:
        fixed = Path(*itertools.takewhile(lambda part: not glob.has_magic(part), folder.parts))
        for place in _places(folder):
            if not os.access(place, os.R_OK | os.X_OK):
                raise _lost(text, place, "cannot be read")
        found = _kept(text, fixed, map(Path, glob.glob(text, recursive=True)))  # noqa: PTH207  absolute ones too
    if not found:
        raise ValueError(
            f"source ({text!r}) names no file: give a file, a folder, or a pattern such as 'd/*.parquet'"
        )
    seen: dict[tuple[int, int], Path] = {}
    for one in sorted(found):
        about = one.stat()  # of what a link leads to
        first = seen.setdefault((about.st_dev, about.st_ino), one)
        if first != one:
            raise ValueError(
                f"source ({text!r}): {first} and {one} are the same file, whose rows would count twice: "
                "remove one, or give a pattern that fits one of them"
            )
    return sorted(found)


def _lost(text: str, place: Path, why: str) -> ValueError:
    """Say that what is there would be left out silently."""
    return ValueError(
        f"source ({text!r}): {place} {why}, and what it holds would be lost without a word: move it, or give "
        "a pattern of the files that you mean, such as 'd/*/*.parquet'"
    )


def _below(text: str, folder: Path) -> Iterator[Path]:
    """Everything below a folder, but for what programs keep."""

    def unread(error: OSError) -> None:
        raise _lost(text, Path(error.filename or folder), "cannot be read") from None

    for place, folders, names in os.walk(folder, onerror=unread):
        folders[:] = sorted(name for name in folders if not _is_kept_by_programs(name))
        for name in folders:
            if Path(place, name).is_symlink():
                raise _lost(text, Path(place, name), "is a link to a folder")
        yield from (Path(place, name) for name in names)


def _places(pattern: Path) -> set[Path]:
    """Folders whose names a pattern goes through."""
    parts = pattern.parts
    heads = [Path(*parts[:i]) for i in range(1, len(parts)) if glob.has_magic(parts[i])]
    found = {Path(one) for head in heads for one in glob.glob(str(head), recursive=True)}  # noqa: PTH207
    return {one for one in found if one.is_dir()}


def _is_kept_by_programs(part: str) -> bool:
    return part.startswith((".", "_")) and "=" not in part


def _kept(text: str, folder: Path, found: Iterable[Path]) -> set[Path]:
    """Files that are no program's own: of what is found below a folder."""
    kept, alone, folders = set(), dict[Path, bool](), set[Path]()
    for one in found:
        parts = one.relative_to(folder).parts
        if one.is_symlink() and not one.exists() and not any(map(_is_kept_by_programs, parts)):
            raise _lost(text, one, "is a link that leads nowhere")
        if one.is_dir() and not any(map(_is_kept_by_programs, parts)):
            folders.add(one)
        if not one.is_file():
            continue
        for place in one.resolve().parents:  # a partition is of the table above it
            if place not in alone:
                alone[place] = not any(any(place.glob(mark)) for mark in VERSIONED)
            if not alone[place]:
                raise ValueError(
                    f"source ({text!r}) is of a Delta, Iceberg or Hudi table ({place}), whose folder holds "
                    "earlier versions of rows: write its newest version to Parquet, and give that folder"
                )
        if not any(map(_is_kept_by_programs, parts)):
            kept.add(one)
    for place in folders - {parent for one in kept for parent in one.parents} - {folder}:
        if kept and any(place.iterdir()):
            raise _lost(text, place, "is a folder, which the pattern meets and does not enter")
    return kept


def parquet_source(
    paths: Sequence[Path],
    types: Mapping[str, ColumnType],
    rows: int,
    *,
    progress: bool,
    spelling: Spelling = PLAIN,
) -> ArrowSource:
    """Parquet files of one schema.

    Raises
    ------
    ValueError
        If a file stores a declared column otherwise than the first does.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, *others = schemas = [parquet_schema(path) for path in paths]
    known = [name for name in schema.names if name in types]
    for path, other in zip(paths[1:], others, strict=True):
        if any(
            name not in other.names or other.field(name).type != schema.field(name).type for name in known
        ):
            raise ValueError(f"source: {path} stores its columns otherwise than {paths[0]}: write them alike")

    texts = [name for name in known if pa.types.is_string(schema.field(name).type)]

    def batches(names: Sequence[str], rows: int) -> Iterator[Any]:
        for path in paths:
            with pq.ParquetFile(path, read_dictionary=texts) as file:
                for batch in file.iter_batches(rows, columns=list(names)):
                    yield pa.Table.from_batches([batch]).select(list(names))

    made = ArrowSource(schema, batches, types, rows, progress=progress, spelling=spelling)
    made.uneven = _uneven(paths, [one.names for one in schemas])
    return made


def table_source(table: Any, types: Mapping[str, ColumnType], rows: int, *, progress: bool) -> ArrowSource:
    """An Arrow table in memory."""

    def batches(names: Sequence[str], rows: int) -> Iterator[Any]:
        chosen = table.select(list(names))
        for start in range(0, chosen.num_rows, rows):
            yield chosen.slice(start, rows)

    return ArrowSource(table.schema, batches, types, rows, progress=progress)


def polars_source(lazy: Any, types: Mapping[str, ColumnType], rows: int, *, progress: bool) -> ArrowSource:
    """A lazy polars frame, collected batch by batch."""
    import polars as pl

    oldest = pl.CompatLevel.oldest()
    if not hasattr(lazy, "collect_batches"):
        raise SourceError("source: this polars reads no batches: update it, or write the table to Parquet")

    def batches(names: Sequence[str], rows: int) -> Iterator[Any]:
        chosen = lazy.select(list(names))
        for batch in chosen.collect_batches(chunk_size=rows, maintain_order=True):
            yield batch.to_arrow(compat_level=oldest)

    schema = lazy.limit(0).collect().to_arrow(compat_level=oldest).schema
    return ArrowSource(schema, batches, types, rows, in_order=False, progress=progress)


def duckdb_source(
    relation: Any, types: Mapping[str, ColumnType], rows: int, *, progress: bool
) -> ArrowSource:
    """A DuckDB relation: a table, a view or a query, run once for every pass."""
    import pyarrow as pa

    def quoted(names: Sequence[str]) -> str:
        return ", ".join('"' + name.replace('"', '""') + '"' for name in names)

    def batches(names: Sequence[str], rows: int) -> Iterator[Any]:
        reader = getattr(relation.project(quoted(names)), reads)(rows)
        yield from (pa.Table.from_batches([batch]) for batch in reader)

    known = ("to_arrow_reader", "fetch_arrow_reader", "record_batch")  # as its versions call it
    reads = next((name for name in known if hasattr(relation, name)), "")
    if not reads:
        raise SourceError("source: this duckdb reads no batches: update it, or write the table to Parquet")
    schema = relation.limit(0).to_arrow_table().schema
    return ArrowSource(schema, batches, types, rows, in_order=False, progress=progress)
