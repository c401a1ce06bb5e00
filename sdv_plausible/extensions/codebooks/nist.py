"""Read ``data_dictionary.json``, the code books of NIST's data excerpts.

They map names to ``{"description": ..., "values": {code: meaning, "min": ..., "max": ...}}``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sdv_plausible.table.declared.codebook import (
    Codebook,
    CodebookReader,
    Message,
    categorical_declaration,
    numerical_declaration,
    parse_codes,
    parse_number,
    read_document,
)

_KNOWN = {"description", "values", "details", "link"}


def looks_like(document: Any) -> bool:
    """Whether a document has the format of NIST's data dictionaries."""
    return (
        isinstance(document, dict)
        and bool(document)
        and all(isinstance(entry, dict) and "description" in entry for entry in document.values())
    )


def read_nist(path: Path) -> Codebook:
    """Read a data dictionary."""
    document = read_document(path)
    if not looks_like(document):
        raise ValueError(
            f"{path} is no data dictionary of NIST's form: every column must map to an object with a "
            "'description'"
        )
    columns: dict[str, dict[str, Any]] = {}
    messages: list[Message] = []
    for name, entry in document.items():
        columns[name], column_messages = _column(name, entry)
        messages += column_messages
        unknown = sorted(set(entry) - _KNOWN)
        if unknown:
            messages.append((name, f"not understood: {', '.join(unknown)}"))
    return Codebook(columns=columns, messages=tuple(messages))


def _column(name: str, entry: dict[str, Any]) -> tuple[dict[str, Any], list[Message]]:
    values = entry.get("values")
    if not isinstance(values, dict) or not values:
        return {"sdtype": None}, [(name, "no values are listed")]
    codes = [code for code in values if code not in ("min", "max")]
    if len(codes) == len(values):
        return categorical_declaration(parse_codes(codes)), []
    low, high = parse_number(values.get("min")), parse_number(values.get("max"))
    if low is None or high is None or low > high:
        raise ValueError(
            f"column {name!r}: 'min' ({values.get('min')!r:.60}) and 'max' ({values.get('max')!r:.60}) must "
            "be numbers, min <= max"
        )
    return numerical_declaration(name, low, high, codes)


READER = CodebookReader(read_nist, endings=(".json",), recognizes=looks_like)
