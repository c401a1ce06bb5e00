"""Semantic types read off the rows, for columns that nobody declared: no claim can be made with them."""

from __future__ import annotations

from typing import Any

import pandas as pd

from sdv_plausible.sdv.metadata import detect_metadata
from sdv_plausible.table.columns.cell_texts import FORMATS, Spelling, kind_of
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
    guessed = pd.DataFrame({name: _guessed(table[name], spelling) for name in table.columns})
    columns = next(iter(detect_metadata(guessed).to_dict()["tables"].values()))["columns"]
    return schema_of(columns)


def _guessed(column: pd.Series[Any], spelling: Spelling) -> pd.Series[Any]:
    texts = [value for value in column.dropna().unique() if isinstance(value, str)]
    if column.dtype != object or not texts:
        return column
    kinds = {kind_of(text, spelling) for text in texts}
    if kinds == {"truth"}:
        return column.map({text: spelling.truth(text) for text in texts})
    if kinds == {"number"}:
        return pd.to_numeric(column.map({text: spelling.number(text) for text in texts}))
    return column.str.strip() if kinds <= {*FORMATS} else column  # of dates SDV tells the format
