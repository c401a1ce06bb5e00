"""User-supplied input paths: only regular files are opened, so that no pipe blocks."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path
from typing import BinaryIO

KINDS = {
    stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}  # fmt: skip


def open_regular_file(path: str | os.PathLike[str], name: str = "path") -> BinaryIO:
    """Open a regular file for reading without blocking; ``name`` is the parameter in errors.

    Raises
    ------
    ValueError
        If it is a folder, a pipe, a socket or a device.
    OSError
        If it does not exist or cannot be read.
    """
    check_regular_file(path, name)
    open_mode = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(path, open_mode), "rb")
    try:
        # Check the opened file, which may have been swapped.
        _check_kind(os.fstat(file.fileno()).st_mode, path, name)
    except ValueError:
        file.close()
        raise
    return file


def read_regular_file(path: str | os.PathLike[str], name: str = "path") -> bytes:
    """Return the content of a regular file, opened as in :func:`open_regular_file`."""
    with open_regular_file(path, name) as file:
        return file.read()


def read_text_file(path: str | os.PathLike[str], name: str = "path", encoding: str = "utf-8") -> str:
    """Return the text of a regular file, with normalised line ends."""
    with io.TextIOWrapper(open_regular_file(path, name), encoding=encoding) as file:
        return file.read()


def check_regular_file(path: str | os.PathLike[str], name: str = "path") -> None:
    """Raise ValueError unless the path is a regular file; for callers that open it themselves."""
    _check_kind(Path(path).stat().st_mode, path, name)


def _check_kind(mode: int, path: str | os.PathLike[str], name: str) -> None:
    if not stat.S_ISREG(mode):
        kind = KINDS.get(stat.S_IFMT(mode), "none")
        raise ValueError(
            f"{name} ({os.fspath(path)!r}) must be the path of a regular file, and this is {kind}: name a "
            "file, or copy what is read there into one"
        )
