"""Storage types of columns: compatibility with declared sdtypes, by schema alone, and invalid Arrow texts."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from types import EllipsisType
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.table.cells.canonical_forms import as_objects, is_arrow
from sdv_plausible.table.declared.specifications import CATEGORIES

PERSON_SDTYPE = "id"  # sdtype of the column that identifies the person of a row
_TYPE_NAMES = {  # names of numpy, pandas and Arrow types; all others are unreadable
    "booleans": r"bool(ean)?",
    "numbers": r"u?int(8|16|32|64)|float(32|64)?|double|decimal(128|256)\(.*\)",
    "unusual floats": r"float16|float(96|128)|longdouble|complex(64|128)",  # no dates in pandas
    # pandas cannot factorise these
    "unfactorisable numbers": r"complex(192|256)|clongdouble|decimal(32|64)\(.*\)",
    "half floats": r"halffloat",  # in Arrow
    "dates": r"datetime64\[.*\]|timestamp\[.*\]|date(32|64)\[.*\]",
    "texts": r"object|str(ing)?|large_string|category|null",
    "intervals": r"(timedelta64|period|interval|duration)\[.*\]",  # neither numbers nor names
    "others": r"(time32|time64|fixed_size_binary)\[.*\]|(large_)?binary",
}
_ANY = {"booleans", "numbers", "unusual floats", "half floats", "dates", "texts"}
_READABLE = {
    "numerical": {"booleans", "numbers", "unusual floats", "unfactorisable numbers", "texts"},
    "datetime": {"booleans", "numbers", "dates", "texts"},
    PERSON_SDTYPE: _ANY | {"unfactorisable numbers", "others"},
    **dict.fromkeys(CATEGORIES, _ANY),
}
_LISTS = r"(list|list_view|struct|map|large_list|fixed_size_list)<.*"
_UNREADABLE: dict[type, str] = {
    **{kind: kind.__name__ for kind in (dt.time, dt.timedelta, list, dict, set, bytes, bytearray)},
    pd.Timedelta: "Timedelta", pd.Period: "Period", pd.Interval: "Interval", np.ndarray: "ndarray",
    EllipsisType: "objects of an unsupported class",  # ODD, see :func:`~.canonical_forms.plain`
}  # fmt: skip
"""Unreadable classes of Python objects. A column of one such class is reported as stored in that class."""
_MIN_CELLS = 20  # minimum number of cells of one class to report it


def check_storage(table: pd.DataFrame, sdtypes: Mapping[str, str], *, sees_cells: bool = False) -> None:
    """Raise ValueError for columns whose storage type does not match their sdtype."""
    # Only the table's types are used, unless ``sees_cells`` is set for the data owner: no fit may fail
    # because of cells. Sdtype "id" marks the person column.
    for name, sdtype in sdtypes.items():
        stored = _type_name(table[name].dtype)
        if _type_kind(stored) in _READABLE[sdtype]:
            inspects_cells = sees_cells and stored == "object" and sdtype != PERSON_SDTYPE
            unread_class = _unreadable_class(table[name]) if inspects_cells else None
            if unread_class is None:
                continue
            stored = unread_class
        raise storage_error(name, stored, sdtype)


def _type_kind(stored: str) -> str | None:
    matches = (kind for kind, names in _TYPE_NAMES.items() if re.fullmatch(names, stored, re.IGNORECASE))
    return next(matches, None)


def _unreadable_class(column: pd.Series[Any]) -> str | None:
    """Class of an object column whose cells, at least ``_MIN_CELLS``, all have one unreadable class."""
    if len(column) < _MIN_CELLS:
        return None
    try:
        present = column[column.notna()]
        classes = set(map(type, present.array))
    except Exception:  # a custom class may raise anything
        return None
    if len(present) < _MIN_CELLS or len(classes) != 1:
        return None
    (cell_class,) = classes
    return next((name for class_, name in _UNREADABLE.items() if cell_class is class_), None)


def storage_error(name: str, stored: Any, sdtype: str) -> ValueError:
    """Error for a column whose storage type is unreadable or does not match its declaration."""
    stored = str(stored)
    if re.match(_LISTS, stored) or stored in ("list", "dict", "set", "ndarray"):
        return ValueError(
            f"column {name!r} is stored as {stored}, but a cell must be a single value. Split it into "
            "columns first, or remove it from metadata and domain"
        )
    if stored in _UNREADABLE.values() or _type_kind(stored) in ("intervals", "others", None):
        return ValueError(
            f"column {name!r} is stored as {stored}, which is not supported: store it as text, such as "
            "'14:30:00' or '2024-03' (in pandas .astype(str)), as numbers or as dates, or remove it from "
            "metadata and domain"
        )
    return ValueError(
        f"column {name!r} is stored as {stored}, but declared as {sdtype!r}: store it in a matching type, "
        "or declare another sdtype"
    )


def _type_name(dtype: Any) -> str:
    """Name of a type; for a dictionary, the type of its values."""
    if isinstance(dtype, pd.CategoricalDtype) and _type_kind(str(dtype.categories.dtype)) == "intervals":
        return str(dtype.categories.dtype)
    if not isinstance(dtype, pd.ArrowDtype):
        return str(dtype)
    kind = dtype.pyarrow_dtype
    return str(getattr(kind, "value_type", kind) if str(kind).startswith("dictionary<") else kind)


def mask_invalid_utf8(frame: pd.DataFrame) -> pd.DataFrame:
    """Frame with Arrow texts that are not UTF-8 set to missing: they could end a fit and appear in errors."""
    # Columns keep their types. Every input frame passes through here.
    cleaned = frame
    for place, (_, column) in enumerate(frame.items()):
        is_arrow_backed = is_arrow(column) or getattr(column.dtype, "storage", "") == "pyarrow"
        if is_arrow_backed and has_invalid_utf8(cells := column.array.__arrow_array__()):
            cleaned = frame.copy(deep=False) if cleaned is frame else cleaned
            cleaned.isetitem(place, pd.Series(as_objects(cells), index=frame.index, dtype=column.dtype))
    return cleaned


def has_invalid_utf8(cells: Any) -> bool:
    """Whether Arrow cells are texts of which one is invalid UTF-8."""
    kind = str(getattr(cells.type, "value_type", cells.type))
    if kind not in ("string", "large_string", "string_view"):
        return False
    try:
        cells.validate(full=True)
    except ValueError:
        return True
    return False
