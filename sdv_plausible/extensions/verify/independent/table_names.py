"""Check of table names: each must be a valid file name. Independent of ``utils/file_names.py``."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from sdv_plausible.extensions.verify.independent.verdict import ContradictionError

_CONTROL_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # Unicode categories of control characters
_DEVICE = re.compile(r"(?:CON|PRN|AUX|NUL|(?:COM|LPT)[0-9]|CON(?:IN|OUT)\$)\s*(?:\.|$)")
MAX_NAME_BYTES = 240


def check_table_names(names: Iterable[str]) -> None:
    """Reject names that are paths or devices on some system, and two that are equal on one."""
    first_spelling = dict[str, str]()
    for name in names:
        if not _is_file_name(name):
            raise ContradictionError(
                f"the table name {name!r:.40} cannot be a file name, or leads to another folder"
            )
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
        if first_spelling.setdefault(folded, name) != name:
            raise ContradictionError(
                f"the table names {first_spelling[folded]!r:.40} and {name!r:.40} are one on some systems"
            )


def _is_file_name(name: str) -> bool:
    plain = unicodedata.normalize("NFKC", name)
    return (
        not {unicodedata.category(letter) for letter in {*name} - {*"\u200c\u200d"}} & _CONTROL_CATEGORIES
        and 0 < len(name.encode()) <= MAX_NAME_BYTES
        and not {*name, *plain} & {*'/\\:*?"<>|'}
        and not any(form[:1] in ("", " ", ".", "-", "~") or form[-1:] in (" ", ".") for form in (name, plain))
        and not name[0].isspace()
        and not name[-1].isspace()
        and _DEVICE.match(plain.upper()) is None
    )
