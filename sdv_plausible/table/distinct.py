"""Distinct values of a column, each compared as a whole and by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd


def distinct_values(column: pd.Series[Any]) -> tuple[np.ndarray, Sequence[Any]]:
    """Where among its distinct values each cell is, missing is -1, and those values as they are."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.codes.to_numpy(), column.cat.categories.to_list()
    if is_arrow(column):
        where, found = pd.factorize(column.array)
        return where, as_objects(found.__arrow_array__())
    if column.dtype == object or isinstance(column.dtype, pd.StringDtype):
        return distinct_objects(column.to_numpy(dtype=object))
    where, values = pd.factorize(column)
    return where, list(values)


def distinct_objects(cells: np.ndarray) -> tuple[np.ndarray, Sequence[Any]]:
    """The same of an array of objects.

    Of texts alone pandas reads each up to its first NUL, so that one cell would take others for its own: a
    missing one beside them has it compare whole cells.
    """
    where, values = pd.factorize(np.append(cells, np.array([None], dtype=object)))
    return where[:-1], list(values)


def is_arrow(column: pd.Series[Any]) -> bool:
    """Whether a column's type is one of Arrow's."""
    return isinstance(column.dtype, pd.ArrowDtype)


def as_objects(cells: Any) -> list[Any]:
    """Arrow's cells as Python's objects; one that Python has none for, such as the year 10000, is missing."""
    try:
        return list(cells.to_pylist())
    except (ValueError, OverflowError):
        return list(map(_as_object, cells))


def _as_object(cell: Any) -> Any:
    try:
        return cell.as_py()
    except (ValueError, OverflowError):
        return None
