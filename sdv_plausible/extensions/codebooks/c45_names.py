"""Code books of the UCI repository: ``.names`` files, as C4.5 reads them (Quinlan 1993).

First the classes, then a line for each column, ``age: continuous.`` or ``sex: Female, Male.``; what follows a
``|`` is a comment. Such a file has no ranges. The classes are the last column of the table.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sdv_plausible.table.declared.codebook import (
    Codebook,
    CodebookReader,
    Message,
    categories,
    plain,
    ranged,
    read_text,
)
from sdv_plausible.table.declared.spec_words import check_words

CLASSES = "class"  # the column of the classes, which is the table's last one by whatever name
UNKNOWN = "?"


def read_c45_names(path: Path) -> Codebook:
    """Read a ``.names`` file."""
    entries = _entries(read_text(path, "list of names and values"))
    if not entries or ":" in entries[0]:
        raise ValueError(
            f"{path} is no .names file: its first line must list the classes, such as 'no, yes.'"
        )
    columns: dict[str, dict[str, Any]] = {}
    said = "stands for an unknown value in such files: add it to the values of columns that have it"
    messages: list[Message] = [(None, f"{UNKNOWN!r} {said}")]
    for entry in entries[1:]:
        name, colon, told = (part.strip() for part in entry.partition(":"))
        if not colon or not name or not told:
            raise ValueError(f"{path}: {entry[:60]!r} must be a name, a colon and values, or 'continuous'")
        if name in columns or name == CLASSES:
            raise ValueError(f"{path}: {name!r} has two lines; leave one out")
        columns[name], more = _words(name, told)
        messages += more
    columns[CLASSES] = categories(plain(_values(entries[0])))
    return Codebook(columns=columns, messages=tuple(messages), of_last=CLASSES)


def _entries(text: str) -> list[str]:
    """What is told, a line each, without comments."""
    lines = (line.partition("|")[0].strip() for line in text.splitlines())
    return [line.removesuffix(".") for line in lines if line]


def _words(name: str, told: str) -> tuple[dict[str, Any], list[Message]]:
    if told.casefold() == "continuous":
        return ranged(name, None, None)
    if told.casefold() == "ignore":
        return {"sdtype": None}, [(name, "to be ignored, as the file says")]
    if re.fullmatch(r"discrete\s+\d+", told.casefold()):
        return {"sdtype": "categorical"}, [(name, "a category whose values are not listed")]
    words = categories(plain(_values(told)))
    check_words(name, words)
    return words, []


def _values(told: str) -> list[str]:
    return [value.strip() for value in told.split(",") if value.strip()]


READER = CodebookReader(read_c45_names, endings=(".names",))
