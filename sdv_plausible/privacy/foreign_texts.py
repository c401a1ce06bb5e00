"""Texts that a file gives: in quotation marks, after words that say whose they are."""

from __future__ import annotations

import re

LONGEST = 2000  # characters of a text that is quoted
FILE_SAYS = "The file says"
NAMES = (
    "answers", "as printed", "coins", "column types", "constraints", "count", "domain", "invented",
    "learning", "margins", "model", "noise", "persons", "plausible deniability",
    "public table", "rules", "seeds", "size", "structure", "tables", "training", "transformers", "types",
)  # fmt: skip
"""Names that the program gives to entries."""


def quoted(text: str) -> str:
    """A text of a file in quotation marks, on one line, cut short where it is very long."""
    cut = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    plain = "".join(one if one.isprintable() else ascii(one)[1:-1] for one in cut)
    return '"' + plain.replace('"', "'") + '"'


def plain_or_quoted(name: str) -> str:
    """A name of a file: as it stands where it is one word."""
    return name if re.fullmatch(r"[\w-]{1,60}", name) else quoted(name)


def says(text: str, what: str = "") -> str:
    """A text of a file, after words that say whose it is."""
    return f"{FILE_SAYS}{what and f' of {what}'}: {quoted(text)}"


def entry_name(name: str) -> str:
    """Name of an entry: as it stands where the program gives this name, also after a table's."""
    table, _, own = name.rpartition(": ")
    if own not in NAMES:
        return quoted(name)
    return f"{plain_or_quoted(table)}: {own}" if table else own
