"""How a column is stored: what it may be declared as, by its schema alone; texts of Arrow that are none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

from sdv_plausible.table.cells.distinct import as_objects, is_arrow
from sdv_plausible.table.declared.words import CATEGORIES

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
_ANY = {"truths", "numbers", "odd numbers", "half numbers", "moments", "texts", "spans", "others"}
_READ = {
    "numerical": {"truths", "numbers", "odd numbers", "uncounted numbers", "texts"},
    "datetime": {"truths", "numbers", "moments", "texts", "spans", "others"},
    PERSON: _ANY - {"spans"} | {"uncounted numbers"},
    **dict.fromkeys(CATEGORIES, _ANY),
}


def check_storage(table: pd.DataFrame, sdtypes: Mapping[str, str]) -> None:
    """Refuse columns that are stored so that their cells cannot be read as declared."""
    # Of the table the types alone count; sdtype "id" is that of the column that says whose a row is.
    for name, sdtype in sdtypes.items():
        stored = _stored(table[name].dtype)
        fits = (kind for kind, names in _STORED.items() if re.fullmatch(names, stored, re.IGNORECASE))
        kind = next(fits, None)
        if kind in _READ[sdtype]:
            continue
        if re.search(r"(list|list_view|struct|map)<", stored):
            raise ValueError(
                f"column {name!r} is stored as {stored}: a cell must be one value. Make columns of it first, "
                "or leave it out of metadata and domain"
            )
        raise refused_storage(name, stored, sdtype)


def refused_storage(name: str, stored: Any, sdtype: str) -> ValueError:
    """The error of a column whose storage does not go with its declaration."""
    return ValueError(
        f"column {name!r} is stored as {stored}, and declared as {sdtype!r}: store it in a type that goes "
        "with that, or declare another sdtype"
    )


def _stored(dtype: Any) -> str:
    """Name of a type; of a dictionary the type of its values."""
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
