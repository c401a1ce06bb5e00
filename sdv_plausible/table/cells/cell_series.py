"""Cells of columns as numbers and declared texts, each read as if it were alone, and the door of frames.

pandas stores a column in a type that all of its cells decide together: whole numbers become doubles once one
is missing. What is read of a cell must not depend on that (docs/explanation/proofs/private_domain.md, "From
rows to counts").
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

from sdv_plausible.table.cells.canonical_forms import ODD, plain_objects
from sdv_plausible.table.cells.dates import within_years
from sdv_plausible.table.cells.distinct import as_objects, distinct_values, is_arrow


def plain_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame whose objects are of plain types, and whose moments are within the years 1 to 9999."""
    # Frames enter through here: behind it no cell has a class of its own, which could end a fit. What can be
    # no value, such as a list, is ``ODD``: present, and outside every domain.
    plain = frame
    for place, (_, column) in enumerate(frame.items()):
        found = within_years(_dense(column))
        if is_arrow(column) and any(kind in str(column.dtype) for kind in ("time32", "time64")):
            found = pd.Series(as_objects(column.array.__arrow_array__()), dtype=object)
        held = found.dtype.categories if isinstance(found.dtype, pd.CategoricalDtype) else found
        if held.dtype == object:
            before = held.to_numpy(dtype=object)
            if plain_objects(before) is not before:
                found = pd.Series(plain_objects(found.to_numpy(dtype=object)), dtype=object)
        if found is not column:
            plain = frame.copy(deep=False) if plain is frame else plain
            plain.isetitem(place, found.set_axis(frame.index))  # an array would be looked at again
    return plain


def _dense(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column whose cells are met as any others: no moments and the like in categories or dictionaries."""
    # Of Arrow's dictionaries pandas finds no distinct cells where one is missing, or one more value comes.
    dtype: Any = column.dtype
    if is_arrow(column) and str(dtype.pyarrow_dtype).startswith("dictionary<"):
        cells = column.array.__arrow_array__().cast(dtype.pyarrow_dtype.value_type)
        return pd.Series(pd.arrays.ArrowExtensionArray(cells), index=column.index)
    values = dtype.categories if isinstance(dtype, pd.CategoricalDtype) else None
    if values is None or not (values.dtype.kind in "mM" or isinstance(values.dtype, pd.ArrowDtype)):
        return column
    cells = take(values.array, column.cat.codes.to_numpy(), allow_fill=True)
    return pd.Series(cells, index=column.index)


def without_odd(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column whose odd cells are missing: for readers that know nothing of them."""
    if column.dtype != object:
        return column
    odd = np.array([cell is ODD for cell in column], dtype=bool)
    return column.mask(odd) if odd.any() else column


def as_doubles(column: pd.Series[Any]) -> np.ndarray:
    """Numbers of a column, each cell read as if it were alone, not to be written to; NaN is what is none."""
    if column.dtype.kind in "OcUS":  # pandas takes one way of reading for all texts of a column
        return np.array([_real(cell) for cell in plain_objects(column.to_numpy(dtype=object))], dtype=float)
    if column.dtype.kind in "mM":  # a moment or duration is no number, as it is none among objects
        return np.full(len(column), np.nan)
    return np.asarray(pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan))


def is_number(text: str) -> bool:
    """Whether a text writes a number, so that it is no word beside numbers."""
    return not bool(np.isnan(as_doubles(pd.Series([text], dtype=object))[0]))


def which_text(column: pd.Series[Any], texts: Sequence[str]) -> np.ndarray:
    """Place of each cell among some texts, -1 if it is none of them; each cell is looked at alone."""
    if not texts or column.dtype.kind in "biufcM" or column.dtype.type is Decimal:
        return np.full(len(column), -1)
    where, forms = distinct_values(column)
    places = {text: i for i, text in enumerate(texts)}
    found = [places.get(form, -1) if isinstance(form, str) else -1 for form in forms]
    return np.array([*found, -1], dtype=np.int64)[where]


def holds_one_of(column: pd.Series[Any], texts: Sequence[str]) -> np.ndarray:
    """Mask of cells that are exactly one of some texts."""
    return which_text(column, texts) >= 0


def numbers_alone(column: pd.Series[Any], texts: Sequence[str]) -> pd.Series[Any]:
    """A column of numbers whose declared texts are missing; what is neither stays as it is."""
    numbers = pd.Series(as_doubles(column), index=column.index)
    neither = (numbers.isna() & column.notna()).to_numpy() & ~holds_one_of(column, texts)
    return numbers.astype(object).where(~neither, column) if neither.any() else numbers


def _real(cell: Any) -> float:
    """Return the number that a plain cell is."""
    if type(cell) is str:
        return _number_of_text(cell)
    if type(cell) not in (bool, int, float, Decimal, Fraction):
        return math.nan
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf


def _number_of_text(text: str) -> float:
    """The nearest double. Beside a missing cell or a word pandas reads long whole numbers less exactly."""
    try:
        return float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return math.nan
