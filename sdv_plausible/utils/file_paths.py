"""File names derived from names in documents, which may come from an untrusted source."""

from __future__ import annotations

import io
import os
import re
import stat
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

MAX_NAME_BYTES = 240  # file systems allow 255; the rest is for a suffix
_FORBIDDEN = '/\\:*?"<>|'
_JOINERS = "\u200c\u200d"  # zero-width joiners, required in some languages
_RESERVED = re.compile(
    r"(con|prn|aux|nul|com[0-9]|lpt[0-9]|conin\$|conout\$) *(\..*)?", re.IGNORECASE | re.DOTALL
)


def violated_rule(name: str) -> str | None:
    """Return the rule that a name breaks as a portable file name, or None."""
    # Some systems treat compatibility forms, such as U+FF0F, as the plain characters; check both.
    forms = (name, unicodedata.normalize("NFKC", name))
    if not name.strip():
        return "must not be empty"
    if any(map(_is_invisible, name)) or any(character in form for form in forms for character in _FORBIDDEN):
        return f"must not hold any of {' '.join(_FORBIDDEN)} or an invisible character"
    if len(name.encode()) > MAX_NAME_BYTES:
        return f"must have at most {MAX_NAME_BYTES} bytes in UTF-8"
    if any(form.startswith((".", "-", "~")) for form in forms):
        return "must not begin with . - or ~"
    if any(form != form.strip() or form.endswith(".") for form in forms):
        return "must not begin or end with a space, or end with a dot"
    if any(map(_RESERVED.fullmatch, forms)):
        return "must not be the name of a device on Windows"
    return None


def find_collision(names: Iterable[str]) -> tuple[str, str] | None:
    """Return two names that some file system treats as the same, or None."""
    first_name = dict[str, str]()
    for name in names:
        normalized = unicodedata.normalize("NFKC", name)
        if (
            other := first_name.setdefault(unicodedata.normalize("NFKC", normalized.casefold()), name)
        ) != name:
            return other, name
    return None


def path_in_folder(folder: Path, name: str, ending: str) -> Path:
    """Return the path of a file directly in a folder; names and links must not lead elsewhere."""
    path = folder / f"{name}{ending}"
    if rule := violated_rule(name):
        raise ValueError(f"the file name {name!r:.40} {rule}: choose another name")
    if path.resolve().parent != folder.resolve():
        raise ValueError(
            f"{path} is a link to a place outside its folder: remove it, or choose another folder"
        )
    return path


def _is_invisible(character: str) -> bool:
    """Return whether a character controls a terminal, a line or the writing direction."""
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") and character not in _JOINERS


KINDS = {
    stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}  # fmt: skip


def open_regular_file(path: str | os.PathLike[str], name: str = "path") -> BinaryIO:
    """Open a regular file for reading without blocking; ``name`` is the parameter in errors."""
    # Raises ValueError if it is a folder, a pipe, a socket or a device; OSError if it does not exist or
    # cannot be read.
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
            f"{name} ({os.fspath(path)!r}) must be the path of a regular file, but this is {kind}: give a "
            "file, or copy the data into one"
        )
