"""Files that a path, a folder or a pattern names: all that hold rows of the table, and each once."""

from __future__ import annotations

import glob
import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from sdv_plausible.table.files.text_files import TEXT_EXTENSIONS

_NUMBERED = "[0-9]" * 5
VERSIONED = (
    "_delta_log/", ".hoodie/", "metadata/v[0-9]*.metadata.json", f"metadata/{_NUMBERED}-*.metadata.json",
)  # fmt: skip
"""In folders of tables that keep earlier versions of rows: Delta's, Hudi's, Iceberg's."""


def files_of(path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[Path]:
    """Files that a path names, or several: itself, those of a folder, or those that a pattern fits, sorted.

    Names below a folder, or where a pattern has a wildcard, that begin with "." or "_" are what programs
    keep, or are writing; but for parts such as ``_year=2020``.

    Raises
    ------
    ValueError
        If there is none, or two are one: its rows would count twice, and the ledger speaks of one row. If a
        folder below cannot be read, or is a link, or a link leads nowhere: rows would be lost silently.
    """
    if not isinstance(path, (str, os.PathLike)):
        several = [one for each in path for one in files_of(each)]
        return _each_once(", ".join(str(os.fspath(one)) for one in path), several)
    text, folder = os.fspath(path), Path(path)
    found = {folder} if folder.is_file() else set[Path]()
    if folder.is_dir():
        found = _kept(text, folder, _below(text, folder))
        other = {one for one in found if one.suffix.lower() not in (".parquet", *TEXT_EXTENSIONS)}
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
    return _each_once(text, found)


def _each_once(text: str, found: Iterable[Path]) -> list[Path]:
    """The files, sorted; none may be another one by another name."""
    seen: dict[tuple[int, int], Path] = {}
    files = sorted(found)
    for one in files:
        about = one.stat()  # of what a link leads to
        place = about.st_dev, about.st_ino
        if place in seen:
            raise ValueError(
                f"source ({text!r}): {seen[place]} and {one} are the same file, whose rows would count "
                "twice: remove one, or give a pattern that fits one of them"
            )
        seen[place] = one
    return files


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
