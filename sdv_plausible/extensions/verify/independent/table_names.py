"""Names of tables: a second statement of the rule that each can be the name of a file in one folder."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from sdv_plausible.extensions.verify.independent.verdict import ContradictionError

_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # categories of characters that control what is shown
_DEVICE = re.compile(r"(?:CON|PRN|AUX|NUL|(?:COM|LPT)[0-9]|CON(?:IN|OUT)\$)\s*(?:\.|$)")
MOST = 240


def check_table_names(names: Iterable[str]) -> None:
    """Refuse names that are paths or devices on some system, and two that are one name there."""
    seen = dict[str, str]()
    for name in names:
        if not _is_file_name(name):
            raise ContradictionError(
                f"the table name {name!r:.40} cannot be a file name, or leads to another folder"
            )
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
        if seen.setdefault(folded, name) != name:
            raise ContradictionError(
                f"the table names {seen[folded]!r:.40} and {name!r:.40} are one on some systems"
            )


def _is_file_name(name: str) -> bool:
    plain = unicodedata.normalize("NFKC", name)
    return (
        not {unicodedata.category(letter) for letter in {*name} - {*"\u200c\u200d"}} & _UNSEEN
        and 0 < len(name.encode()) <= MOST
        and not {*name, *plain} & {*'/\\:*?"<>|'}
        and not any(form[:1] in ("", " ", ".", "-", "~") or form[-1:] in (" ", ".") for form in (name, plain))
        and not name[0].isspace()
        and not name[-1].isspace()
        and _DEVICE.match(plain.upper()) is None
    )
