"""Quotation of texts from a file, so that they cannot pass for this package's own words."""

from __future__ import annotations

import re

MAX_QUOTED = 2000  # longest quotation, in characters
FILE_SAYS = "The file says"
NAMES = (
    "answers", "as printed", "coins", "column types", "constraints", "count", "domain", "invented",
    "learning", "margins", "model", "noise", "persons", "plausible deniability",
    "public table", "rules", "seeds", "size", "structure", "tables", "training", "transformers", "types",
)  # fmt: skip
"""Entry names that this package uses."""


def quoted(text: str) -> str:
    """Quote a text on one line; non-printable characters are escaped and long texts are cut."""
    short = text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}..."
    plain = "".join(character if character.isprintable() else ascii(character)[1:-1] for character in short)
    return '"' + plain.replace('"', "'") + '"'


def plain_or_quoted(name: str) -> str:
    """Return a name as it is if it is one word, else quoted."""
    return name if re.fullmatch(r"[\w-]{1,60}", name) else quoted(name)


def says(text: str, what: str = "") -> str:
    """Quote a text after the words "The file says"."""
    return f"{FILE_SAYS}{what and f' of {what}'}: {quoted(text)}"


def entry_name(name: str) -> str:
    """Return an entry's name as it is if this package uses it, also after a table name; else quoted."""
    table, _, own = name.rpartition(": ")
    if own not in NAMES:
        return quoted(name)
    return f"{plain_or_quoted(table)}: {own}" if table else own
