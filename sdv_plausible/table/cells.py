"""The one form of a cell's value, whatever the cells beside it made of it.

pandas stores a column in a type that all of its cells decide together: whole numbers become doubles once one
is missing, and of equal values of several types the first one stands for all. Value sets must not depend on
that (docs/explanation/proofs/private_domain.md, "From rows to counts").
"""

from __future__ import annotations

import datetime as dt
import math
import numbers
from collections.abc import Hashable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.table.dates import within_years
from sdv_plausible.table.distinct import as_objects, is_arrow

_INT64, _MOST = 2**63, 10**100


def canonical(value: Any) -> Hashable:
    """Return the form of a present value: numbers as doubles (whole ones as int), moments with a zone in UTC.

    Numbers beyond 2**53 are told apart as far as doubles tell them apart: declare longer ones as text.
    """
    if isinstance(value, (dt.timedelta, np.timedelta64)):
        return _duration(value)
    if isinstance(value, np.generic):
        value = value.item() if not isinstance(value, np.datetime64) else pd.Timestamp(value)
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, complex) and value.imag == 0:
        value = value.real
    if isinstance(value, (numbers.Real, Decimal)):
        return _number(value)
    if isinstance(value, dt.datetime):
        stamp = pd.Timestamp(value)
        return stamp if stamp.tz is None else stamp.tz_convert("UTC")
    return value


def _duration(value: Any) -> Hashable:
    """A duration as pandas has it where all cells of a column are durations; itself beyond pandas' range."""
    try:
        return pd.Timedelta(value)
    except (OverflowError, ValueError):
        return value


def _number(value: Any) -> Hashable:
    try:
        double = float(value)
    except OverflowError:
        return value
    return int(double) if double.is_integer() and abs(double) < _INT64 else double


def has_form(value: Any) -> bool:
    """Whether a value in its one form can be in a domain: any other could be learned, never released."""
    if isinstance(value, str):
        return not any("\ud800" <= letter <= "\udfff" for letter in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, dt.date) or (isinstance(value, int) and abs(value) <= _MOST)


def plain_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame in which no cell by itself makes pandas refuse its column.

    numpy's single cells are Python's, subclasses of text are text, and what cannot even be compared is
    missing: a signalling NaN, and a moment beyond the years 1 to 9999. Frames enter through here.
    """
    plain = frame
    for place, (_, column) in enumerate(frame.items()):
        found = within_years(column)
        if is_arrow(column) and any(kind in str(column.dtype) for kind in ("time32", "time64")):
            found = pd.Series(as_objects(column.array.__arrow_array__()), index=frame.index, dtype=object)
        if column.dtype == object and any(map(_is_odd, set(map(type, column)))):
            cells = np.empty(len(column), dtype=object)
            for i, cell in enumerate(column):
                cells[i] = _plain(cell)
            found = pd.Series(cells, index=frame.index, dtype=object)
        if found is not column:
            plain = frame.copy(deep=False) if plain is frame else plain
            plain.isetitem(place, found)  # type: ignore[arg-type]  # an array would be looked at again
    return plain


def _is_odd(kind: type) -> bool:
    return issubclass(kind, (np.generic, Decimal)) or (issubclass(kind, str) and kind is not str)


def _plain(cell: Any) -> Any:
    if isinstance(cell, np.generic) and not isinstance(cell, (np.datetime64, np.timedelta64)):
        cell = cell.item()
    if isinstance(cell, str):
        return str.__str__(cell)
    return math.nan if isinstance(cell, Decimal) and cell.is_snan() else cell


def as_doubles(column: pd.Series[Any]) -> np.ndarray:
    """Numbers of a column, each cell read as if it were alone; what is no number is NaN."""
    if column.dtype.kind in "OcUS":  # pandas takes one way of reading for all texts of a column
        column = column.map(_real).astype(object)
    return np.array(pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan))


def is_number(text: str) -> bool:
    """Whether a text writes a number, so that it is no word beside numbers."""
    return not bool(np.isnan(as_doubles(pd.Series([text], dtype=object))[0]))


def holds_one_of(column: pd.Series[Any], texts: Sequence[str]) -> np.ndarray:
    """Mask of cells that are exactly one of some texts; each cell is looked at alone."""
    if column.dtype.kind in "biufcM" or column.dtype.type is Decimal:
        return np.zeros(len(column), dtype=bool)
    return np.array(column.isin(list(texts)).to_numpy(dtype=bool))


def numbers_alone(column: pd.Series[Any], texts: Sequence[str]) -> pd.Series[Any]:
    """A column of numbers whose declared texts are missing; what is neither stays as it is."""
    numbers = pd.Series(as_doubles(column), index=column.index)
    neither = (numbers.isna() & column.notna()).to_numpy() & ~holds_one_of(column, texts)
    return numbers.astype(object).where(~neither, column) if neither.any() else numbers


def _real(value: Any) -> Any:
    """Return a cell that pandas converts without a look at the others."""
    if isinstance(value, (complex, np.complexfloating)):
        return value.real if value.imag == 0 else math.nan
    if isinstance(value, str):
        return _number_of_text(value)
    if isinstance(value, np.timedelta64):  # nanoseconds to pandas, beside numbers
        return math.nan
    if isinstance(value, Decimal):  # of 1e999999 pandas would write out the digits, which takes minutes
        return float(value)
    if isinstance(value, int) and abs(value) >= _INT64:
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    return value


def _number_of_text(text: str) -> float:
    """The nearest double. Beside a missing cell or a word pandas reads long whole numbers less exactly."""
    try:
        return float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return math.nan


def unhashable_types(column: pd.Series[Any]) -> list[str]:
    """Names of the types of cells that cannot be values, because they cannot be compared: lists, dicts."""
    kinds = set(map(type, column)) if column.dtype == object else set()
    return sorted(kind.__name__ for kind in kinds if kind.__hash__ is None)
