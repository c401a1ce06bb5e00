"""A domain file for a table: what public sources say, and blanks for the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sdv_plausible.table.domain_file import DomainFile, is_blank

BLANK: Mapping[str, Any] = {"sdtype": None}
"""Of a column of which nothing is known but its name: a type read off the cells would be the rows'."""


def drafted(names: Sequence[str], said: Mapping[str, Mapping[str, Any]] | None = None) -> DomainFile:
    """Draft a domain file of a table's columns, from its header alone, with what public sources say."""
    known = said or {}
    return DomainFile(columns={name: dict(known.get(name, BLANK)) for name in names})


def blanks(file: DomainFile) -> list[str]:
    """Columns that are to be filled in."""
    return [name for name, words in file.columns.items() if is_blank(words)]
