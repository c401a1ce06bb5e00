"""How a column is stored: what it may be declared as, by its schema alone; texts of Arrow that are none."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from types import EllipsisType
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.table.cells.distinct import as_objects, is_arrow
from sdv_plausible.table.declared.spec_words import CATEGORIES

PERSON = "id"  # declared so, a column says whose a row is
_STORED = {  # names of numpy's, pandas' and Arrow's types; what none of them fits is not read
    "truths": r"bool(ean)?",
    "numbers": r"u?int(8|16|32|64)|float(32|64)?|double|decimal(128|256)\(.*\)",
    "odd numbers": r"float16|float(96|128)|longdouble|complex(64|128)",  # of which pandas reads no dates
    "uncounted numbers": r"complex(192|256)|clongdouble|decimal(32|64)\(.*\)",  # it finds no distinct ones
    "half numbers": r"halffloat",  # of Arrow
    "moments": r"datetime64\[.*\]|timestamp\[.*\]|date(32|64)\[.*\]",
    "texts": r"object|str(ing)?|large_string|category|null",
    "spans": r"(timedelta64|period|interval|duration)\[.*\]",  # which are no numbers, and no names
    "others": r"(time32|time64|fixed_size_binary)\[.*\]|(large_)?binary",
}
_ANY = {"truths", "numbers", "odd numbers", "half numbers", "moments", "texts"}
_READ = {
    "numerical": {"truths", "numbers", "odd numbers", "uncounted numbers", "texts"},
    "datetime": {"truths", "numbers", "moments", "texts"},
    PERSON: _ANY | {"uncounted numbers", "others"},
    **dict.fromkeys(CATEGORIES, _ANY),
}
_LISTS = r"(list|list_view|struct|map|large_list|fixed_size_list)<.*"
_UNREAD: dict[type, str] = {
    **{kind: kind.__name__ for kind in (dt.time, dt.timedelta, list, dict, set, bytes, bytearray)},
    pd.Timedelta: "Timedelta", pd.Period: "Period", pd.Interval: "Interval", np.ndarray: "ndarray",
    EllipsisType: "objects of a class that is no value",  # as :func:`~.forms.plain` has others
}  # fmt: skip
"""Classes of Python objects that no cell is read from: a column of nothing else is stored so."""
_LEAST = 20  # cells of one class from which a check says that it is how a column is stored


def check_storage(table: pd.DataFrame, sdtypes: Mapping[str, str], *, sees_cells: bool = False) -> None:
    """Refuse columns that are stored so that their cells cannot be read as declared."""
    # Of the table the types alone count, unless ``sees_cells``, for the holder of the rows: no fit ends by
    # its cells. Sdtype "id" is that of the column that says whose a row is.
    for name, sdtype in sdtypes.items():
        stored = _stored(table[name].dtype)
        if _kind(stored) in _READ[sdtype]:
            looks = sees_cells and stored == "object" and sdtype != PERSON
            unread = _unread(table[name]) if looks else None
            if unread is None:
                continue
            stored = unread
        raise refused_storage(name, stored, sdtype)


def _kind(stored: str) -> str | None:
    fits = (kind for kind, names in _STORED.items() if re.fullmatch(names, stored, re.IGNORECASE))
    return next(fits, None)


def _unread(column: pd.Series[Any]) -> str | None:
    """Class of a column of objects whose cells, and not just a few, are all of one class that is not read."""
    if len(column) < _LEAST:
        return None
    try:
        present = column[column.notna()]
        classes = set(map(type, present.array))
    except Exception:  # of a class of somebody's own
        return None
    if len(present) < _LEAST or len(classes) != 1:
        return None
    (found,) = classes
    return next((name for known, name in _UNREAD.items() if found is known), None)


def refused_storage(name: str, stored: Any, sdtype: str) -> ValueError:
    """The error of a column whose storage is not read, or does not go with its declaration."""
    stored = str(stored)
    if re.match(_LISTS, stored) or stored in ("list", "dict", "set", "ndarray"):
        return ValueError(
            f"column {name!r} is stored as {stored}: a cell must be one value. Make columns of it first, or "
            "leave it out of metadata and domain"
        )
    if stored in _UNREAD.values() or _kind(stored) in ("spans", "others", None):
        return ValueError(
            f"column {name!r} is stored as {stored}, which is not read: store it as text, such as "
            "'14:30:00' or '2024-03' (in pandas .astype(str)), as numbers or as dates, or leave it out of "
            "metadata and domain"
        )
    return ValueError(
        f"column {name!r} is stored as {stored}, and declared as {sdtype!r}: store it in a type that goes "
        "with that, or declare another sdtype"
    )


def _stored(dtype: Any) -> str:
    """Name of a type; of a dictionary the type of its values."""
    if isinstance(dtype, pd.CategoricalDtype) and _kind(str(dtype.categories.dtype)) == "spans":
        return str(dtype.categories.dtype)
    if not isinstance(dtype, pd.ArrowDtype):
        return str(dtype)
    kind = dtype.pyarrow_dtype
    return str(getattr(kind, "value_type", kind) if str(kind).startswith("dictionary<") else kind)


def with_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame in which Arrow's texts that are no UTF-8 are missing: one would end a fit, and be quoted."""
    # Columns keep their types. Frames enter through here.
    found = frame
    for place, (_, column) in enumerate(frame.items()):
        of_arrow = is_arrow(column) or getattr(column.dtype, "storage", "") == "pyarrow"
        if of_arrow and holds_no_text(cells := column.array.__arrow_array__()):
            found = frame.copy(deep=False) if found is frame else found
            found.isetitem(place, pd.Series(as_objects(cells), index=frame.index, dtype=column.dtype))
    return found


def holds_no_text(cells: Any) -> bool:
    """Whether Arrow's cells are texts of which one is no UTF-8."""
    kind = str(getattr(cells.type, "value_type", cells.type))
    if kind not in ("string", "large_string", "string_view"):
        return False
    try:
        cells.validate(full=True)
    except ValueError:
        return True
    return False
