"""Read code books in CSV, with one line per column of the table.

The header is ``name,type,min,max,values,labels,missing,decimals,format``. Only ``name`` is required.

- ``type``: an SDV sdtype, or number, category or date. integer means no decimals; for other numbers, omitted
  ``decimals`` are learned.
- ``values``: separated by ``|``.
- ``labels``: ignored.
- ``missing``: yes or no.
- ``format``: date format such as ``%Y-%m-%d``.
"""

from __future__ import annotations

import csv
import io
import itertools
from pathlib import Path
from typing import Any

from sdv_plausible.table.declared.codebook import (
    PLAIN_TYPES,
    WHOLE_TYPES,
    Codebook,
    CodebookReader,
    Message,
    parse_codes,
    parse_number,
    read_text,
)
from sdv_plausible.table.declared.specifications import check_names, check_spec, implied_sdtype
from sdv_plausible.table.files.csv_files import detect_separator
from sdv_plausible.table.files.text_files import csv_reader

HEADER = ("name", "type", "min", "max", "values", "labels", "missing", "decimals", "format")
_TRUTH = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def read_csv_codebook(path: Path) -> Codebook:
    """Read a code book in CSV."""
    text = io.StringIO(read_text(path, "CSV code book"), newline="")
    first, separator = detect_separator(path, text, '"')
    reader = csv.DictReader(())
    reader.reader = csv_reader(itertools.chain(first, text), separator)
    try:
        lines = list(reader)
    except csv.Error as error:
        raise ValueError(f"{path}: line {reader.line_num} is not CSV: {error}") from error
    header = [str(name) for name in reader.fieldnames or ()]
    if "name" not in header:
        raise ValueError(
            f"{path} is no code book: its header line must have 'name', and may have {HEADER[1:]}"
        )
    unknown = [name for name in header if name not in HEADER]
    unknown_note = f"columns of the code book that are not understood: {', '.join(unknown)}"
    messages: list[Message] = [(None, unknown_note)] if unknown else []
    columns: dict[str, dict[str, Any]] = {}
    check_names([line["name"] for line in lines], str(path))
    for line in lines:
        name = line["name"].strip()
        if None in line or None in line.values():
            raise ValueError(
                f"{path}: the line of {name!r} must have {len(header)} cells, as the header line"
            )
        if name in columns:
            raise ValueError(f"{path}: {name!r} has two lines; leave one out")
        columns[name] = _words(name, {key: value.strip() for key, value in line.items() if value.strip()})
        if columns[name]["sdtype"] is None:
            messages.append((name, "its type is unknown"))
    return Codebook(columns=columns, messages=tuple(messages))


def _words(name: str, cells: dict[str, str]) -> dict[str, Any]:
    column_type = cells.get("type")
    declaration: dict[str, Any] = {
        "sdtype": None if column_type is None else PLAIN_TYPES.get(column_type.casefold(), column_type)
    }
    if "format" in cells:
        declaration["datetime_format"] = cells["format"]
    is_date = declaration["sdtype"] == "datetime" or "format" in cells
    for key, word in (("min", "range_min"), ("max", "range_max")):
        if key in cells:
            declaration[word] = cells[key] if is_date else _number(name, key, cells[key])
    if "values" in cells:
        declaration["range_values"] = parse_codes(cells["values"].split("|"))
    if "decimals" in cells:
        declaration["decimal_places"] = _number(name, "decimals", cells["decimals"])
    elif column_type is not None and column_type.casefold() in WHOLE_TYPES:
        declaration["decimal_places"] = 0
    if "missing" in cells:
        if cells["missing"].casefold() not in _TRUTH:
            raise ValueError(f"column {name!r}: missing ({cells['missing']!r:.60}) must be yes or no")
        declaration["range_is_nullable"] = _TRUTH[cells["missing"].casefold()]
    is_number = not is_date and declaration.keys() & {"range_min", "range_max", "decimal_places"}
    declaration["sdtype"] = (
        declaration["sdtype"] or implied_sdtype(declaration) or ("numerical" if is_number else None)
    )
    check_spec(name, declaration)
    return declaration


def _number(name: str, key: str, text: str) -> int | float:
    value = parse_number(text)
    if value is None:
        raise ValueError(f"column {name!r}: {key} ({text!r:.60}) must be a number, such as 0 or 99.5")
    return value


READER = CodebookReader(read_csv_codebook, endings=(".csv",))
