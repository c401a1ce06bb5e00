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

_INT64 = 2**63


def canonical(value: Any) -> Hashable:
    """Return the form of a present value: numbers as doubles (whole ones as int), moments with a zone in UTC.

    Numbers beyond 2**53 are told apart as far as doubles tell them apart: declare longer ones as text.
    """
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


def _number(value: Any) -> Hashable:
    try:
        double = float(value)
    except OverflowError:
        return value
    return int(double) if double.is_integer() and abs(double) < _INT64 else double


def as_doubles(column: pd.Series[Any]) -> np.ndarray:
    """Numbers of a column, each cell read as if it were alone; what is no number is NaN."""
    if column.dtype.kind in "Oc":  # one complex number would have pandas give up all texts beside it
        column = column.map(_real).astype(object)
    return np.array(pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan))


def is_number(text: str) -> bool:
    """Whether a text writes a number, so that it is no word beside numbers."""
    return not bool(np.isnan(as_doubles(pd.Series([text], dtype=object))[0]))


def holds_one_of(column: pd.Series[Any], texts: Sequence[str]) -> np.ndarray:
    """Mask of cells that are exactly one of some texts; each cell is looked at alone."""
    if column.dtype.kind in "biufcM":
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
    if isinstance(value, int) and abs(value) >= _INT64:
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    return value


def unhashable_types(column: pd.Series[Any]) -> list[str]:
    """Names of the types of cells that cannot be values, because they cannot be compared: lists, dicts."""
    kinds = set(map(type, column)) if column.dtype == object else set()
    return sorted(kind.__name__ for kind in kinds if kind.__hash__ is None)
