"""Declarations from a published table: its ranges, values, digits and missing values are public already."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from sdv_plausible.declaring.codebook import Codebook, categories, number, plain
from sdv_plausible.table.columns.column_document import MOST_DIGITS

DATE_FORMATS = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S")
MOST_VALUES = 1000  # of a category: a longer list is names, or an id
WARNING = (
    "A published table is one that everybody may see. A table that is confidential, also an older one of the "
    "same survey, is not: what is read off it costs the people in it their own claim."
)


def words_of_table(table: pd.DataFrame) -> Codebook:
    """Read declarations off a table that was published, nothing of it confidential: text, missing as None."""
    columns: dict[str, Mapping[str, Any]] = {}
    messages = []
    for name in table.columns:
        cells = [str(value) for value in table[name].dropna()]
        found = _words(cells)
        if found is None:
            many = f"more than {MOST_VALUES:,} different texts" if cells else "no value"
            messages.append((name, f"{many}: is it an id?"))
            columns[str(name)] = {"sdtype": None}
        else:
            columns[str(name)] = {**found, "range_is_nullable": len(cells) < len(table)}
    return Codebook(columns=columns, messages=tuple(messages))


def _words(cells: Sequence[str]) -> dict[str, Any] | None:
    values = list(dict.fromkeys(cells))
    if not values:
        return None
    if {value.strip().casefold() for value in values} <= {"true", "false"}:
        return {"sdtype": "boolean", "range_values": [False, True]}
    numbers = [number(value) for value in values if not _is_code(value)]
    found = [value for value in numbers if value is not None]
    if len(found) == len(values):
        return _numbers(values, found)
    for form in DATE_FORMATS:
        if all(_is_date(value, form) for value in values):  # such texts have the order of time
            ends = {"range_min": min(values), "range_max": max(values)}
            return {"sdtype": "datetime", "datetime_format": form, **ends}
    return categories(sorted(plain(values))) if len(values) <= MOST_VALUES else None


def _numbers(texts: Sequence[str], values: Sequence[float]) -> dict[str, Any]:
    words: dict[str, Any] = {"sdtype": "numerical", "range_min": min(values), "range_max": max(values)}
    if not any("e" in text.casefold() for text in texts):
        digits = max(len(text.strip().partition(".")[2]) for text in texts)
        words["decimal_places"] = min(digits, MOST_DIGITS)
    return words


def _is_code(text: str) -> bool:
    """Whether a text of digits is a name, as 01 is, and no number."""
    digits = text.strip().lstrip("-")
    return len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()


def _is_date(text: str, form: str) -> bool:
    try:
        return dt.datetime.strptime(text, form).strftime(form) == text
    except ValueError:
        return False
