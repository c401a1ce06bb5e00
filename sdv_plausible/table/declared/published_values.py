"""Declarations from a published table, whose ranges, values, precision and missing cells are public."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import pandas as pd

from sdv_plausible.table.cells.date_texts import DIGIT_FORMATS, FORMATS, read_date, write_date
from sdv_plausible.table.cells.number_texts import plain_number_text
from sdv_plausible.table.columns.cell_reader import PLAIN_SPELLING, Spelling, cell_kind, detect_number_format
from sdv_plausible.table.columns.column_document import MAX_DECIMALS
from sdv_plausible.table.declared.codebook import Codebook, categorical_declaration, parse_codes, parse_number

MOST_VALUES = 1000  # largest number of values of a category; longer lists are names or ids
WARNING = (
    "A published table is one that everybody may see. A table that is confidential, also an older one of the "
    "same survey, is not: what is read off it costs the people in it their own claim."
)


def declarations_of_table(table: pd.DataFrame, spelling: Spelling = PLAIN_SPELLING) -> Codebook:
    """Declarations from a published table of text, with None for missing. Must not be confidential."""
    columns: dict[str, Mapping[str, Any]] = {}
    messages = []
    for name in table.columns:
        cells = [str(value) for value in table[name].dropna()]
        declaration = _words(cells, spelling)
        if declaration is None:
            content = f"more than {MOST_VALUES:,} different texts" if cells else "no value"
            messages.append((name, f"{content}: is it an id?"))
            columns[str(name)] = {"sdtype": None}
        else:
            columns[str(name)] = {**declaration, "range_is_nullable": len(cells) < len(table)}
    return Codebook(columns=columns, messages=tuple(messages))


def _words(cells: Sequence[str], spelling: Spelling) -> dict[str, Any] | None:
    values = list(dict.fromkeys(cells))
    if not values:
        return None
    kinds = Counter(cell_kind(value, spelling) for value in values)
    if kinds.keys() == {"truth"}:
        return {"sdtype": "boolean", "range_values": [False, True]}
    value_format, numbers = detect_number_format(kinds, spelling)
    if numbers == len(values) > max(kinds[value_format] for value_format in DIGIT_FORMATS):
        if value_format is None:
            return _numbers([spelling.plain(value).removeprefix("+") for value in values])
        return {
            **_numbers([plain_number_text(value, value_format) for value in values]),
            "number_format": value_format,
        }
    for value_format in kinds.keys() & {*FORMATS}:  # at most one is the format of all values
        if dates := _dates(values, value_format):
            ends = {"range_min": dates[0], "range_max": dates[-1]}
            return {"sdtype": "datetime", "datetime_format": value_format, **ends}
    return categorical_declaration(sorted(parse_codes(values))) if len(values) <= MOST_VALUES else None


def _numbers(texts: Sequence[str]) -> dict[str, Any]:
    values = [value for text in texts if (value := parse_number(text)) is not None]
    declaration: dict[str, Any] = {"sdtype": "numerical", "range_min": min(values), "range_max": max(values)}
    if not any("e" in text.casefold() for text in texts):
        digits = max(len(text.partition(".")[2]) for text in texts)
        declaration["decimal_places"] = min(digits, MAX_DECIMALS)
    return declaration


def _dates(texts: Sequence[str], date_format: str) -> list[str]:
    """The texts in chronological order; empty unless all match the format exactly."""
    with suppress(ValueError):
        dates = {text.strip(): read_date(text.strip(), date_format) for text in texts}
        if all(write_date(moment, date_format) == text for text, moment in dates.items()):
            return sorted(dates, key=dates.__getitem__)
    return []
