"""Cells of columns as numbers and declared texts, each read by itself, and normalisation of input frames.

pandas chooses a column's type from all cells together: whole numbers become doubles once one is missing. The
value read from a cell must not depend on that (docs/explanation/proofs/private_domain.md, "From rows to
counts").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.extensions import take

from sdv_plausible.table.cells.canonical_forms import (
    NOT_A_VALUE,
    as_objects,
    distinct_values,
    is_arrow,
    to_builtins,
)
from sdv_plausible.table.cells.dates import mask_out_of_range


def normalize_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Copy of a frame with objects of plain types and moments within the years 1 to 9999."""
    # Every input frame passes through here. Afterwards no cell has a custom class, which could end a fit. A
    # cell that cannot be a value, such as a list, is ``NOT_A_VALUE``: present, and outside every domain.
    plain = frame
    for place, (_, column) in enumerate(frame.items()):
        cleaned = mask_out_of_range(_dense(column))
        if is_arrow(column) and any(kind in str(column.dtype) for kind in ("time32", "time64")):
            cleaned = pd.Series(as_objects(column.array.__arrow_array__()), dtype=object)
        objects = cleaned.dtype.categories if isinstance(cleaned.dtype, pd.CategoricalDtype) else cleaned
        if objects.dtype == object:
            original = objects.to_numpy(dtype=object)
            if to_builtins(original) is not original:
                cleaned = pd.Series(to_builtins(cleaned.to_numpy(dtype=object)), dtype=object)
        if cleaned is not column:
            plain = frame.copy(deep=False) if plain is frame else plain
            plain.isetitem(place, cleaned.set_axis(frame.index))  # an array's type would be inferred again
    return plain


def _dense(column: pd.Series[Any]) -> pd.Series[Any]:
    """Column without categories of moments or Arrow types and without Arrow dictionaries."""
    # pandas fails to factorise Arrow dictionaries with missing cells.
    dtype: Any = column.dtype
    if is_arrow(column) and str(dtype.pyarrow_dtype).startswith("dictionary<"):
        cells = column.array.__arrow_array__().cast(dtype.pyarrow_dtype.value_type)
        return pd.Series(pd.arrays.ArrowExtensionArray(cells), index=column.index)
    values = dtype.categories if isinstance(dtype, pd.CategoricalDtype) else None
    if values is None or not (values.dtype.kind in "mM" or isinstance(values.dtype, pd.ArrowDtype)):
        return column
    cells = take(values.array, column.cat.codes.to_numpy(), allow_fill=True)
    return pd.Series(cells, index=column.index)


def mask_invalid(column: pd.Series[Any]) -> pd.Series[Any]:
    """Column with invalid cells (``NOT_A_VALUE``) set to missing, for readers that do not handle them."""
    if column.dtype != object:
        return column
    odd = np.array([cell is NOT_A_VALUE for cell in column], dtype=bool)
    return column.mask(odd) if odd.any() else column


def as_doubles(column: pd.Series[Any]) -> np.ndarray:
    """Numbers of a column as read-only doubles, each cell read by itself; NaN where a cell is no number."""
    if column.dtype.kind in "OcUS":  # pandas would choose one parser for all texts of a column
        return np.array([_real(cell) for cell in to_builtins(column.to_numpy(dtype=object))], dtype=float)
    if column.dtype.kind in "mM":  # moments and durations are no numbers, as among objects
        return np.full(len(column), np.nan)
    return np.asarray(pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan))


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    return not bool(np.isnan(as_doubles(pd.Series([text], dtype=object))[0]))


def text_indices(column: pd.Series[Any], texts: Sequence[str]) -> np.ndarray:
    """Index of each cell among the given texts, -1 if it is none of them; each cell is compared by itself."""
    if not texts or column.dtype.kind in "biufcM" or column.dtype.type is Decimal:
        return np.full(len(column), -1)
    where, forms = distinct_values(column)
    places = {text: i for i, text in enumerate(texts)}
    indices = [places.get(form, -1) if isinstance(form, str) else -1 for form in forms]
    return np.array([*indices, -1], dtype=np.int64)[where]


def is_any_text(column: pd.Series[Any], texts: Sequence[str]) -> np.ndarray:
    """Mask of cells that exactly equal one of the given texts."""
    return text_indices(column, texts) >= 0


def numbers_without_texts(column: pd.Series[Any], texts: Sequence[str]) -> pd.Series[Any]:
    """Column of numbers with the declared texts set to missing; other unreadable cells stay as they are."""
    numbers = pd.Series(as_doubles(column), index=column.index)
    neither = (numbers.isna() & column.notna()).to_numpy() & ~is_any_text(column, texts)
    return numbers.astype(object).where(~neither, column) if neither.any() else numbers


def _real(cell: Any) -> float:
    """Number of a plain cell, or NaN."""
    if type(cell) is str:
        return _number_of_text(cell)
    if type(cell) not in (bool, int, float, Decimal, Fraction):
        return math.nan
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf


def _number_of_text(text: str) -> float:
    """Nearest double; pandas parses long whole numbers less exactly next to missing cells or words."""
    try:
        return float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return math.nan
