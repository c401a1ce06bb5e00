"""Detect semantic types of undeclared columns from the rows, without a privacy claim."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pandas as pd

from sdv_plausible.sdv.metadata import detect_metadata
from sdv_plausible.table.cells.dates import BROADER, DIGIT_FORMATS, FORMATS, main_date_format
from sdv_plausible.table.columns.cell_reader import (
    Spelling,
    cell_kind,
    detect_number_format,
    plain_number_kinds,
)
from sdv_plausible.table.columns.column_document import type_words_by_column


def detect_types(table: pd.DataFrame, spelling: Spelling) -> dict[str, dict[str, Any]]:
    """Column specifications that SDV detects, with text columns (missing as None) read by their spelling."""
    kinds = {name: _kinds(table[name], spelling) for name in table.columns}
    guessed = pd.DataFrame({name: _guessed(table[name], kinds[name], spelling) for name in table.columns})
    columns = type_words_by_column(
        next(iter(detect_metadata(guessed).to_dict()["tables"].values()))["columns"]
    )
    forms = {name: form for name, counts in kinds.items() if (form := _form(counts)) is not None}
    spelled = {
        name: form for name, counts in kinds.items() if (form := _spelled(counts, spelling)) is not None
    }
    return (
        columns
        | {name: {"sdtype": "datetime", "datetime_format": form} for name, form in forms.items()}
        | {name: {"sdtype": "numerical", "number_format": form} for name, form in spelled.items()}
    )


def _kinds(column: pd.Series[Any], spelling: Spelling) -> Counter[str]:
    """Number of distinct texts of each kind; empty for a column that is not text."""
    if column.dtype != object:
        return Counter()
    texts = [value for value in column.dropna().unique() if isinstance(value, str)]
    return Counter(cell_kind(text, spelling) for text in texts)


def _form(kinds: Counter[str]) -> str | None:
    """The date format that reads all texts, if there is one."""
    dates = {form: kinds[form] for form in FORMATS if kinds[form]}
    if not dates or len(dates) < len(kinds):
        return None
    form = main_date_format(dates, kinds.total())
    return form if all(form in (other, BROADER.get(other)) for other in dates) else None


def _spelled(kinds: Counter[str], spelling: Spelling) -> str | None:
    """The number format that reads all texts, if it differs from the table's spelling."""
    form, read = detect_number_format(kinds, spelling)
    return form if read == kinds.total() else None


def _guessed(column: pd.Series[Any], kinds: Counter[str], spelling: Spelling) -> pd.Series[Any]:
    if kinds.keys() == {"truth"}:
        return column.map(spelling.truth, na_action="ignore")
    is_date = bool(kinds) and kinds.keys() <= {*FORMATS}
    if (
        kinds
        and kinds.keys() <= {*plain_number_kinds(spelling), *DIGIT_FORMATS}
        and not (is_date and len(kinds) == 1)
    ):
        return pd.to_numeric(column.map(spelling.number, na_action="ignore"))
    return column.str.strip() if is_date else column  # SDV detects the format of dates
