"""Distinct values of a column, each compared as a whole, in its one form, and by itself."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.table.cells.canonical_forms import canonical, is_missing, types_of

Where = np.ndarray[Any, np.dtype[np.int64]]
_COMPARED = frozenset(map(id, (type(None), int, float, str)))  # equal cells of these types have one form


def distinct_values(column: pd.Series[Any]) -> tuple[Where, list[Hashable]]:
    """Where among the forms each cell is, missing is -1, and those; one may be there twice, or unused."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _told(column.cat.codes.to_numpy(), column.cat.categories.to_list())
    if str(column.dtype) == "halffloat[pyarrow]":  # pyarrow 25 and older cannot compare these
        return distinct_objects(column.to_numpy(dtype=object))
    if is_arrow(column):
        where, found = pd.factorize(column.array)
        return _told(where, as_objects(found.__arrow_array__()))
    if column.dtype == object or isinstance(column.dtype, pd.StringDtype):
        return distinct_objects(column.to_numpy(dtype=object))
    where, values = pd.factorize(column)
    return _told(where, list(values))


def distinct_objects(cells: np.ndarray) -> tuple[Where, list[Hashable]]:
    """The same of an array of objects."""
    # Each is brought into its form before it is compared with another one: of equal cells of several types
    # the first would stand for all.
    kinds = types_of(cells)
    if kinds <= _COMPARED:
        # Of texts alone pandas reads each up to its first NUL, so that one cell would take others for its
        # own: a missing one beside them has it compare whole cells.
        where, values = pd.factorize(np.append(cells, np.array([None], dtype=object)))
        return where[:-1], list(map(canonical, values))
    if kinds <= _COMPARED | {id(bool)}:
        truths = np.fromiter((cell is True or cell is False for cell in cells), dtype=bool, count=len(cells))
        others = cells.copy()
        others[truths] = None
        where, forms = distinct_objects(others)
        where[truths] = len(forms) + cells[truths].astype(np.int64)
        return where, [*forms, False, True]
    forms = [canonical(cell) for cell in cells]
    number: dict[tuple[type, Hashable], int] = {}
    told = (-1 if is_missing(form) else number.setdefault((type(form), form), len(number)) for form in forms)
    return np.fromiter(told, dtype=np.int64, count=len(cells)), [form for _, form in number]


def _told(where: Any, values: Sequence[Any]) -> tuple[Where, list[Hashable]]:
    """Places of distinct cells of one storage, and their forms; what is missing to Python is so to all."""
    forms = list(map(canonical, values))
    gone = np.array([*map(is_missing, forms), True])
    if not gone[:-1].any():
        return where.astype(np.int64), forms
    return np.where(gone[where], -1, where).astype(np.int64), forms


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
