"""File names derived from names in documents, which may come from an untrusted source."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

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
            f"{path} is a link that leads out of its folder: remove it, or choose another folder"
        )
    return path


def _is_invisible(character: str) -> bool:
    """Return whether a character controls a terminal, a line or the writing direction."""
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") and character not in _JOINERS
