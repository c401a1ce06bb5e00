"""Resolve a path, folder or pattern to the files of a table, each once."""

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
"""Markers of Delta, Hudi and Iceberg tables, whose folders keep earlier versions of rows."""


def files_of(path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[Path]:
    """Sorted files of one or several paths: a file itself, those of a folder, or the matches of a pattern.

    Names below a folder, or matched by a wildcard, that begin with "." or "_" are internal or temporary files
    of other programs and are ignored, except partitions such as ``_year=2020``.

    Raises
    ------
    ValueError
        If there is no file, or two paths are the same file, whose rows would count twice. Also if rows would
        be lost silently: a folder cannot be read or is a link, or a link is broken.
    """
    if not isinstance(path, (str, os.PathLike)):
        files = [one for each in path for one in files_of(each)]
        return _sorted_unique(", ".join(str(os.fspath(one)) for one in path), files)
    text, folder = os.fspath(path), Path(path)
    matches = {folder} if folder.is_file() else set[Path]()
    if folder.is_dir():
        matches = _select_files(text, folder, _walk(text, folder))
        ignored = {one for one in matches if one.suffix.lower() not in (".parquet", *TEXT_EXTENSIONS)}
        if matches > ignored > set():
            raise _data_loss_error(text, min(ignored), "is no CSV or Parquet file, by its ending")
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
                f"source ({text!r}): {seen[inode]} and {file} are the same file, whose rows would count "
                "twice: remove one, or give a pattern that fits one of them"
            )
        seen[inode] = file
    return files


def _data_loss_error(text: str, place: Path, why: str) -> ValueError:
    """Error about data that would be lost silently."""
    return ValueError(
        f"source ({text!r}): {place} {why}, and what it holds would be lost without a word: move it, or give "
        "a pattern of the files that you mean, such as 'd/*/*.parquet'"
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
            raise _data_loss_error(text, match, "is a link that leads nowhere")
        if match.is_dir() and not any(map(_is_internal, parts)):
            folders.add(match)
        if not match.is_file():
            continue
        for place in match.resolve().parents:  # a partition belongs to the table above it
            if place not in is_unversioned:
                is_unversioned[place] = not any(any(place.glob(mark)) for mark in VERSIONED)
            if not is_unversioned[place]:
                raise ValueError(
                    f"source ({text!r}) is of a Delta, Iceberg or Hudi table ({place}), whose folder holds "
                    "earlier versions of rows: write its newest version to Parquet, and give that folder"
                )
        if not any(map(_is_internal, parts)):
            selected.add(match)
    for place in folders - {parent for match in selected for parent in match.parents} - {folder}:
        if selected and any(place.iterdir()):
            raise _data_loss_error(text, place, "is a folder, which the pattern meets and does not enter")
    return selected
