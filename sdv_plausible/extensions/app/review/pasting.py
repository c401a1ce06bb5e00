"""Declarations pasted from a spreadsheet: one column per line, cells separated by tabs."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass

from sdv_plausible.extensions.app.forms import list_text, read_scalar, selectable_sdtypes
from sdv_plausible.table.columns.column_document import CATEGORIES
from sdv_plausible.table.declared.codebook import PLAIN_TYPES, WHOLE_TYPES
from sdv_plausible.table.files.text_files import csv_reader

CELLS = ("name", "type", "smallest value or values", "largest value", "missing", "public source")
MAX_CHARACTERS = 500_000
MAX_PROBLEMS = 20
_HEADERS = ("name", "column", "variable", "field")
_QUOTED_CHARACTERS = 60


@dataclass(frozen=True)
class PastedColumns:
    """Field texts by column, and lines that were not understood."""

    texts: Mapping[str, Mapping[str, str]]
    problems: tuple[str, ...] = ()


def read_paste(text: str, types: Mapping[str, str]) -> PastedColumns:
    """Read pasted cells; ``types`` are the current sdtypes of the columns that have a form."""
    if len(text) > MAX_CHARACTERS:
        return PastedColumns({}, (f"More than {MAX_CHARACTERS:,} characters: paste fewer columns at a time",))
    try:
        lines = [[cell.strip() for cell in line] for line in csv_reader(io.StringIO(text, newline=""), "\t")]
    except csv.Error as error:
        return PastedColumns({}, (f"The quotes of the pasted cells do not match: {error}",))
    columns: dict[str, Mapping[str, str]] = {}
    problems = []
    for number, line in enumerate(lines, 1):
        name = line[0] if line else ""
        if not any(line) or (number == 1 and name not in types and name.casefold() in _HEADERS):
            continue
        shown = f"Line {number} ({name[:_QUOTED_CHARACTERS]})"
        if name not in types:
            problems.append(f"{shown}: the table has no such column to fill in")
        elif name in columns:
            problems.append(f"{shown}: the column has an earlier line; that one was used")
        elif any(line[len(CELLS) :]):
            problems.append(f"{shown}: more than {len(CELLS)} cells: {', '.join(CELLS)}")
        elif (kind := _sdtype(line)) not in ("", types[name], *selectable_sdtypes({})):
            known = ", ".join(selectable_sdtypes({}))
            problems.append(f"{shown}: type {kind[:_QUOTED_CHARACTERS]!r} is unknown; use {known}")
        else:
            columns[name] = _field_texts(line, kind or types[name])
    if len(problems) > MAX_PROBLEMS:
        problems[MAX_PROBLEMS:] = [f"and {len(problems) - MAX_PROBLEMS:,} more lines"]
    return PastedColumns(columns, tuple(problems))


def _sdtype(line: list[str]) -> str:
    """The sdtype that a line names, or an empty text."""
    kind = line[1] if len(line) > 1 else ""
    return PLAIN_TYPES.get(kind.casefold(), kind)


def _field_texts(line: list[str], sdtype: str) -> dict[str, str]:
    """Texts of the fields that a line sets; an empty cell sets none."""
    _, kind, low, high, missing, source = (line + [""] * len(CELLS))[: len(CELLS)]
    texts = {"sdtype": sdtype, "range_is_nullable": missing.lower(), "source": source}
    if kind.casefold() in WHOLE_TYPES:
        texts["decimal_places"] = "0"
    texts = {word: text for word, text in texts.items() if text}
    if low or high:  # replace the earlier range or values
        is_list = sdtype in CATEGORIES or (not high and re.search(r"[|;]", low) is not None)
        texts |= {"range_min": "" if is_list else low, "range_max": high}
        texts["range_values"] = _values(low) if is_list else ""
    return texts


def _values(cell: str) -> str:
    """A list of values, separated by bars, semicolons or commas, as the form writes it."""
    mark = next((mark for mark in "|;" if mark in cell), None)
    values = [read_scalar(text.strip()) for text in cell.split(mark) if text.strip()] if mark else []
    return list_text(values) if mark else cell
