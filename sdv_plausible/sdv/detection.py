"""Semantic types read off the rows, for columns that nobody declared: no claim can be made with them."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from sdv_plausible.sdv.metadata import detect_metadata
from sdv_plausible.sdv.schema import schema_of
from sdv_plausible.table.columns.cell_texts import Spelling

_LEADING_ZERO = re.compile(r"\s*[+-]?0[0-9]")  # a code, not a number


def detect_types(table: pd.DataFrame, spelling: Spelling) -> dict[str, dict[str, Any]]:
    """Types that SDV detects in columns of text, in the words of its metadata.

    Parameters
    ----------
    table : DataFrame
        Columns of text, missing as None; columns of other types are taken as they are.
    spelling : Spelling
        How numbers and truth values are written.
    """
    guessed = pd.DataFrame({name: _guessed(table[name], spelling) for name in table.columns})
    columns = next(iter(detect_metadata(guessed).to_dict()["tables"].values()))["columns"]
    return schema_of(columns)


def _guessed(column: pd.Series[Any], spelling: Spelling) -> pd.Series[Any]:
    texts = [value for value in column.dropna().unique() if isinstance(value, str)]
    if column.dtype != object or not texts:
        return column
    if {text.strip().casefold() for text in texts} <= {"true", "false"}:
        return column.map({text: spelling.truth(text) for text in texts})
    numbers = {text: spelling.number(text) for text in texts if not _LEADING_ZERO.match(text)}
    if len(numbers) < len(texts) or any(number != number for number in numbers.values()):  # noqa: PLR0124  NaN
        return column
    return pd.to_numeric(column.map(numbers))
