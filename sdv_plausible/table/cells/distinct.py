"""Distinct values of a column, compared in canonical form."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.table.cells.canonical_forms import canonical, is_missing, types_of

IndexArray = np.ndarray[Any, np.dtype[np.int64]]
_COMPARED = frozenset(map(id, (type(None), int, float, str)))  # equal cells of these types have one form


def distinct_values(column: pd.Series[Any]) -> tuple[IndexArray, list[Hashable]]:
    """Index of each cell into a list of canonical forms (-1 is missing), and that list."""
    # A form may occur twice in the list, or be unused.
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _canonicalised(column.cat.codes.to_numpy(), column.cat.categories.to_list())
    if str(column.dtype) == "halffloat[pyarrow]":  # pyarrow 25 and older cannot compare these
        return distinct_objects(column.to_numpy(dtype=object))
    if is_arrow(column):
        where, categories = pd.factorize(column.array)
        return _canonicalised(where, as_objects(categories.__arrow_array__()))
    if column.dtype == object or isinstance(column.dtype, pd.StringDtype):
        return distinct_objects(column.to_numpy(dtype=object))
    where, values = pd.factorize(column)
    return _canonicalised(where, list(values))


def distinct_objects(cells: np.ndarray) -> tuple[IndexArray, list[Hashable]]:
    """The same for an object array."""
    # Canonical forms are compared, not cells: among equal cells of several types, the first would stand
    # for all.
    kinds = types_of(cells)
    if kinds <= _COMPARED:
        # In an array of texts alone, pandas compares each up to its first NUL. A missing cell makes it
        # compare whole texts.
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
    codes = (-1 if is_missing(form) else number.setdefault((type(form), form), len(number)) for form in forms)
    return np.fromiter(codes, dtype=np.int64, count=len(cells)), [form for _, form in number]


def _canonicalised(indices: Any, values: Sequence[Any]) -> tuple[IndexArray, list[Hashable]]:
    """Replace values by canonical forms; values that are missing in Python get index -1."""
    forms = list(map(canonical, values))
    missing = np.array([*map(is_missing, forms), True])
    if not missing[:-1].any():
        return indices.astype(np.int64), forms
    return np.where(missing[indices], -1, indices).astype(np.int64), forms


def is_arrow(column: pd.Series[Any]) -> bool:
    """Whether a column has an Arrow type."""
    return isinstance(column.dtype, pd.ArrowDtype)


def as_objects(cells: Any) -> list[Any]:
    """Arrow cells as Python objects; a cell without an equivalent, such as the year 10000, is missing."""
    try:
        return list(cells.to_pylist())
    except (ValueError, OverflowError):
        return list(map(_as_object, cells))


def _as_object(cell: Any) -> Any:
    try:
        return cell.as_py()
    except (ValueError, OverflowError):
        return None
