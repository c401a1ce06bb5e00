"""Read code books in DDI (Codebook 2.x), the XML format of data archives."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from sdv_plausible.table.declared.codebook import (
    Codebook,
    CodebookReader,
    Message,
    labelled_declaration,
    numerical_declaration,
    parse_number,
    read_text,
)

_READ = {"labl", "qstn", "valrng", "invalrng", "catgry", "varFormat", "location", "txt", "notes", "concept",
         "universe"}  # fmt: skip


def read_ddi(path: Path) -> Codebook:
    """Read the variables of a DDI code book: valid ranges, categories, missing values."""
    # Summary statistics (``sumStat``, ``catStat``) depend on the rows and are never used. Document types and
    # entities are rejected: they can reference files and expand without limit.
    text = read_text(path, "DDI code book")
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ValueError(f"{path}: XML with a document type or entities is not read: take them out")
    try:
        root = ET.fromstring(text)
    except (ET.ParseError, ValueError) as error:
        raise ValueError(f"{path} is no XML: {error}") from error
    variables = [element for element in root.iter() if _tag(element) == "var"]
    if not variables:
        raise ValueError(f"{path} is no DDI code book: it has no variables (var)")
    columns: dict[str, dict[str, Any]] = {}
    messages: list[Message] = []
    for variable in variables:
        name = (variable.get("name") or "").strip()
        if not name or name in columns:
            raise ValueError(f"{path}: a variable has no name, or that of another one ({name!r})")
        columns[name], column_messages = _column(name, variable)
        messages += column_messages
    if any(_tag(element) in ("sumStat", "catStat") for element in root.iter()):
        messages.append((None, "summary statistics are of the rows, and were not used"))
    return Codebook(columns=columns, messages=tuple(messages))


def _column(name: str, variable: ET.Element) -> tuple[dict[str, Any], list[Message]]:
    parts = {tag: [child for child in variable if _tag(child) == tag] for tag in _READ}
    unknown = {_tag(child) for child in variable} - _READ - {"sumStat"}
    messages = [(name, f"not understood: {', '.join(sorted(unknown))}")] if unknown else []
    codes, missing = _codes(parts["catgry"])
    unread = 0
    for part in parts["invalrng"]:
        items = [item for item in part if _tag(item) == "item"]
        missing += [value for item in items if (value := item.get("VALUE") or item.get("value"))]
        unread += len(part) - len(items)
    if unread:
        messages.append((name, "a range of missing values is not read"))
    ranges = [part for parent in parts["valrng"] for part in parent if _tag(part) == "range"]
    is_text = any(form.get("type") == "character" for form in parts["varFormat"])
    if len(ranges) == 1 and not is_text and not (codes and variable.get("intrvl") == "discrete"):
        low, high = (parse_number(ranges[0].get(end)) for end in ("min", "max"))
        codes_outside = [
            code
            for code in dict.fromkeys([*codes, *missing])
            if (parsed := parse_number(code)) is None
            or low is None
            or high is None
            or not low <= parsed <= high
        ]
        declaration, range_messages = numerical_declaration(name, low, high, codes_outside)
    else:
        if ranges:
            messages.append((name, "its range is not used"))
        declaration, range_messages = labelled_declaration(
            name, codes, list(dict.fromkeys(missing)), is_text=is_text
        )
    return declaration, messages + range_messages


def _codes(elements: list[ET.Element]) -> tuple[list[str], list[str]]:
    """All codes with a label, and the codes for missing values among them."""
    codes, missing = [], []
    for element in elements:
        value = next((child.text for child in element if _tag(child) == "catValu"), None)
        if value is not None and value.strip():
            codes.append(value.strip())
            if element.get("missing") in ("Y", "true"):
                missing.append(value.strip())
    return list(dict.fromkeys(codes)), missing


def _tag(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


READER = CodebookReader(read_ddi, endings=(".xml",))
