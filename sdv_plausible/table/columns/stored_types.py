"""Storage types of Parquet columns, so that synthetic rows have the types of the original file.

The file's schema is public. Only the kind of each type is used: the scale of decimals and the width of
integers come from the released column, since a writer may choose them from the rows. Whether a type can hold
a column depends on the released domain, not on the sampled rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.table.cells.date_texts import shows_date
from sdv_plausible.table.cells.dates import as_nanoseconds
from sdv_plausible.table.columns.domain import Attribute, Domain

STORAGE_PATTERN = r"date|decimal|bool|category|number|float32|timestamp\[(s|ms|us|ns)\]"
_KINDS = {
    r"date32\[day\]|date64\[ms\]": "date",
    r"decimal(32|64|128|256)\(.*\)": "decimal",
    r"dictionary<values=(large_)?string.*": "category",
    r"float": "float32",
    r"u?int(8|16|32|64)|double": "number",
}
_OFFSET = r"%z|Z$|\+00:00$"  # UTC offset in a date format
_ATTRS_KEY = "sdv_plausible: storage"  # key in DataFrame.attrs
_DIGITS = 38  # maximum precision of a decimal


def storage_kind(kind: Any) -> str | None:
    """Storage kind of an Arrow type; None if it needs no conversion."""
    # Integers of any width and doubles are one kind: a single row may decide which one a writer chooses.
    name = re.sub(r", tz=.*\]", "]", str(kind))
    storage = next((s for pattern, s in _KINDS.items() if re.fullmatch(pattern, name)), name)
    return storage if re.fullmatch(STORAGE_PATTERN, storage) else None


def record_storage(table: pd.DataFrame, schema: Any) -> pd.DataFrame:
    """Record in a frame's attrs how the file stored its columns, from its Arrow schema."""
    table.attrs[_ATTRS_KEY] = {name: storage_kind(schema.field(name).type) for name in table.columns}
    return table


def recorded_storage(table: Any) -> dict[str, str]:
    """Storage kinds recorded in a frame's attrs; empty for other frames."""
    recorded = getattr(table, "attrs", {}).get(_ATTRS_KEY) or {}
    return {
        str(name): stored
        for name, stored in recorded.items()
        if isinstance(stored, str) and re.fullmatch(STORAGE_PATTERN, stored)
    }


def restore_storage(table: pd.DataFrame, storage: Mapping[str, str], domain: Domain) -> pd.DataFrame:
    """Convert columns to their storage types; columns that do not fit stay as they are."""
    labels = {str(label): label for label in table.columns}
    for attribute in domain:
        stored, label = storage.get(attribute.name), labels.get(attribute.name)
        if stored is not None and label is not None:
            table[label] = _to_storage(table[label], attribute, stored)
    return table


def arrow_type(attribute: Attribute, stored: str) -> Any:
    """Arrow type of a column for its storage kind; None if another type holds it."""
    import pyarrow as pa

    if not _fits_storage(attribute, stored):
        return None
    if stored == "date":
        return pa.date32()
    if stored.startswith("timestamp"):
        is_offset = re.search(_OFFSET, attribute.datetime_format or "")
        return pa.timestamp(stored[10:-1], "UTC" if is_offset else attribute.time_zone)
    if stored == "decimal":
        return pa.decimal128(_DIGITS, attribute.decimals or 0)
    return {"number": pa.int64(), "bool": pa.bool_(), "float32": pa.float32()}.get(stored)


def _to_storage(column: pd.Series[Any], attribute: Attribute, stored: str) -> pd.Series[Any]:
    missing = column.isna()
    if not _fits_storage(attribute, stored):
        return column
    if attribute.kind == "datetime" and attribute.datetime_format is not None:
        column = _to_moments(column, attribute.datetime_format)
    if stored == "date":
        return column.dt.date.astype(object).mask(missing, None)
    if stored.startswith("timestamp"):
        unit, zone = stored[10:-1], attribute.time_zone or getattr(column.dtype, "tz", None)
        return column.astype(np.dtype(f"M8[{unit}]") if zone is None else pd.DatetimeTZDtype(unit, zone))
    if stored == "decimal":
        digits = attribute.decimals or 0
        cells = [
            None if gone else Decimal(f"{number:.{digits}f}")
            for number, gone in zip(column, missing, strict=True)
        ]
        return pd.Series(cells, index=column.index, name=column.name, dtype=object)
    if stored == "category":
        return column.astype(pd.CategoricalDtype(list(attribute.values), attribute.kind == "ordinal"))
    if stored == "float32":
        return column.astype(np.float32)
    plain, nullable = ("bool", "boolean") if stored == "bool" else ("int64", "Int64")
    # A column that is never missing may be conditioned to be missing in all rows.
    return column.astype(
        pd.api.types.pandas_dtype(nullable if attribute.nullable or missing.any() else plain)
    )


def _to_moments(column: pd.Series[Any], form: str) -> pd.Series[Any]:
    """Moments of texts in a detected format; in UTC if the format has an offset."""
    moments = pd.Series(as_nanoseconds(column, form).view("M8[ns]"), index=column.index, name=column.name)
    return moments.dt.tz_localize("UTC") if re.search(_OFFSET, form) else moments


def uses_storage(words: Mapping[str, Any], *, voted: bool) -> bool:
    """Whether the storage type applies: not if a date format was declared."""
    return voted or words.get("datetime_format") is None


def _fits_storage(attribute: Attribute, stored: str) -> bool:
    """Whether a storage type can hold a column's whole domain."""
    if attribute.texts or attribute.number_format is not None or attribute.provenance == "inferred":
        return False
    if attribute.kind == "datetime":
        is_plain_date = stored == "date" and attribute.time_zone is None
        if attribute.datetime_format is not None and not shows_date(attribute.datetime_format):
            return False
        return is_plain_date or stored.startswith("timestamp")
    kinds = {type(value.item() if isinstance(value, np.generic) else value) for value in attribute.values}
    if stored == "category":
        return kinds == {str}
    if stored == "bool":
        return kinds == {bool}
    if stored in ("decimal", "float32"):
        ends = [abs(end) for end in (*attribute.lower, *attribute.upper)]
        most = 2.0**127 if stored == "float32" else 10.0**15
        known = stored == "float32" or attribute.kind == "integer" or attribute.decimals is not None
        return attribute.kind in ("integer", "float") and bool(ends) and known and max(ends) < most
    return stored == "number" and (kinds == {int} or (attribute.kind == "integer" and bool(attribute.lower)))
