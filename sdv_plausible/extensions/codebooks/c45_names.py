"""Read ``.names`` files of the UCI repository, the format of C4.5 (Quinlan 1993).

The first line lists the classes, which are the table's last column. Then follows one line per column, such as
``age: continuous.`` or ``sex: Female, Male.``. Comments start with ``|``. The format has no ranges.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sdv_plausible.table.declared.codebook import (
    Codebook,
    CodebookReader,
    Message,
    categorical_declaration,
    numerical_declaration,
    parse_codes,
    read_text,
)
from sdv_plausible.table.declared.specifications import check_spec

CLASSES = "class"  # column of the classes: the table's last one, under any name
UNKNOWN = "?"


def read_c45_names(path: Path) -> Codebook:
    """Read a ``.names`` file."""
    entries = _entries(read_text(path, "list of names and values"))
    if not entries or ":" in entries[0]:
        raise ValueError(
            f"{path} is no .names file: its first line must list the classes, such as 'no, yes.'"
        )
    columns: dict[str, dict[str, Any]] = {}
    unknown_note = "stands for an unknown value in such files: add it to the values of columns that have it"
    messages: list[Message] = [(None, f"{UNKNOWN!r} {unknown_note}")]
    for entry in entries[1:]:
        name, colon, description = (part.strip() for part in entry.partition(":"))
        if not colon or not name or not description:
            raise ValueError(f"{path}: {entry[:60]!r} must be a name, a colon and values, or 'continuous'")
        if name in columns or name == CLASSES:
            raise ValueError(f"{path}: {name!r} has two lines; leave one out")
        columns[name], column_messages = _words(name, description)
        messages += column_messages
    columns[CLASSES] = categorical_declaration(parse_codes(_values(entries[0])))
    return Codebook(columns=columns, messages=tuple(messages), last_column=CLASSES)


def _entries(text: str) -> list[str]:
    """Non-empty lines without comments and final full stops."""
    lines = (line.partition("|")[0].strip() for line in text.splitlines())
    return [line.removesuffix(".") for line in lines if line]


def _words(name: str, description: str) -> tuple[dict[str, Any], list[Message]]:
    if description.casefold() == "continuous":
        return numerical_declaration(name, None, None)
    if description.casefold() == "ignore":
        return {"sdtype": None}, [(name, "to be ignored, as the file says")]
    if re.fullmatch(r"discrete\s+\d+", description.casefold()):
        return {"sdtype": "categorical"}, [(name, "a category whose values are not listed")]
    declaration = categorical_declaration(parse_codes(_values(description)))
    check_spec(name, declaration)
    return declaration, []


def _values(description: str) -> list[str]:
    return [value.strip() for value in description.split(",") if value.strip()]


READER = CodebookReader(read_c45_names, endings=(".names",))
