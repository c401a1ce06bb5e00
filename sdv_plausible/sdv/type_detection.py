"""Semantic types read off the rows, for columns that nobody declared: no claim can be made with them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pandas as pd

from sdv_plausible.sdv.metadata import detect_metadata
from sdv_plausible.table.cells.date_texts import BROADER, DIGITS, FORMATS, main_form
from sdv_plausible.table.columns.cell_reader import Spelling, kind_of, plain_numbers, spelling_of_numbers
from sdv_plausible.table.columns.column_document import schema_of


def detect_types(table: pd.DataFrame, spelling: Spelling) -> dict[str, dict[str, Any]]:
    """Types that SDV detects in columns of text, in the words of its metadata.

    Parameters
    ----------
    table : DataFrame
        Columns of text, missing as None; columns of other types are taken as they are.
    spelling : Spelling
        How numbers and truth values are written.
    """
    kinds = {name: _kinds(table[name], spelling) for name in table.columns}
    guessed = pd.DataFrame({name: _guessed(table[name], kinds[name], spelling) for name in table.columns})
    columns = schema_of(next(iter(detect_metadata(guessed).to_dict()["tables"].values()))["columns"])
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
    """Distinct texts of each kind; none of a column that holds other types."""
    if column.dtype != object:
        return Counter()
    texts = [value for value in column.dropna().unique() if isinstance(value, str)]
    return Counter(kind_of(text, spelling) for text in texts)


def _form(kinds: Counter[str]) -> str | None:
    """The format that reads all texts, if one of the list does."""
    dates = {form: kinds[form] for form in FORMATS if kinds[form]}
    if not dates or len(dates) < len(kinds):
        return None
    form = main_form(dates, kinds.total())
    return form if all(form in (other, BROADER.get(other)) for other in dates) else None


def _spelled(kinds: Counter[str], spelling: Spelling) -> str | None:
    """The spelling that reads all texts, if they are numbers as the table does not write them."""
    form, read = spelling_of_numbers(kinds, spelling)
    return form if read == kinds.total() else None


def _guessed(column: pd.Series[Any], kinds: Counter[str], spelling: Spelling) -> pd.Series[Any]:
    if kinds.keys() == {"truth"}:
        return column.map(spelling.truth, na_action="ignore")
    is_date = bool(kinds) and kinds.keys() <= {*FORMATS}
    if kinds and kinds.keys() <= {*plain_numbers(spelling), *DIGITS} and not (is_date and len(kinds) == 1):
        return pd.to_numeric(column.map(spelling.number, na_action="ignore"))
    return column.str.strip() if is_date else column  # of dates SDV tells the format
