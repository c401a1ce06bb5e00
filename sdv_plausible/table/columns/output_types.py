"""Column types of the output, independent of the rows.

pandas stores whole numbers as int64, but as float64 once one value is missing, and booleans as bool or
object. It also lists every occurring value in a category's type. Under a privacy claim, therefore, no type is
taken from a real column. The type of a modelled column follows from its released domain, that of a generated
one from its declaration (docs/explanation/privacy_promise.md). The type does not depend on the synthetic rows
either: a nullable column has the type that pandas uses with missing cells, whether or not these rows have
one. :func:`to_pandas_types` then sets the types of categories.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.table.cells.dates import as_nanoseconds, shows_date
from sdv_plausible.table.cells.number_texts import write_number
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.columns.id_formats import makes_numbers

FLOAT_SDTYPES = (
    "latitude", "longitude", "coordinate", "latlng", "local_latlng", "location_on_land", "pyfloat",
    "pydecimal",
)  # fmt: skip

_WITH_MISSING: Mapping[str, Any] = {"b": object, "i": np.float64}  # pandas' default types, by kind
_MASKED: Mapping[str, Any] = {"b": "boolean", "i": "Int64"}  # pandas' nullable types, by kind


def output_type(attribute: Attribute, stored: Any = None) -> Any:
    """Output type of a modelled column."""
    # ``stored``, the real column's type, is used only for inferred domains, which have no privacy claim.
    is_text = attribute.datetime_format is not None
    if attribute.provenance == "inferred" and stored is not None and not (is_text and stored.kind == "M"):
        return stored
    if attribute.texts or attribute.number_format is not None:
        return np.dtype(object)  # numbers and texts
    if attribute.kind == "datetime" and not is_text:
        zone = attribute.time_zone
        return np.dtype("M8[ns]") if zone is None else pd.DatetimeTZDtype("ns", zone)
    # usual_types sets the types of booleans and of numeric categories.
    whole = np.float64 if attribute.nullable else np.int64
    return np.dtype({"integer": whole, "float": np.float64}.get(attribute.kind, object))


def generated_type(spec: Mapping[str, Any]) -> Any:
    """Output type of a generated column, such as an id, from its sdtype and format alone."""
    sdtype, form = spec.get("sdtype"), spec.get("regex_format")
    if sdtype in FLOAT_SDTYPES:
        return np.dtype(np.float64)
    return np.dtype(np.int64 if sdtype == "id" and (not form or makes_numbers(form)) else object)


def _formatted(attribute: Attribute, cell: Any) -> Any:
    """Number as text in its column's format; texts stay as they are."""
    if isinstance(cell, str):
        return cell
    decimals = 0 if attribute.kind == "integer" else attribute.decimals
    return write_number(cell, str(attribute.number_format), decimals)


def to_pandas_types(table: pd.DataFrame, domain: Domain, *, masked: bool = False) -> pd.DataFrame:
    """Give booleans, numbers and categories of a synthetic table pandas' usual type, or their number format.

    With ``masked``, nullable whole numbers and booleans get pandas' nullable types, which lose nothing.
    """
    by_text = {str(name): name for name in table.columns}  # columns may be named by numbers
    for attribute in domain:
        kind, name = _usual_type(attribute), by_text.get(attribute.name)
        if attribute.number_format is not None and name is not None:
            table[name] = table[name].map(partial(_formatted, attribute), na_action="ignore").astype(object)
            continue
        if kind is None or name is None or attribute.provenance == "inferred":
            continue
        # A column that is never missing may be conditioned to be missing in all rows.
        if kind.kind in "bi" and (attribute.nullable or table[name].isna().any()):
            table[name] = table[name].astype((_MASKED if masked else _WITH_MISSING)[kind.kind])
        elif attribute.values:
            table[name] = table[name].astype(kind)
    return table


def _usual_type(attribute: Attribute) -> np.dtype[Any] | None:
    """Type of a column of booleans or numbers without missing values; None for other columns."""
    if attribute.texts or attribute.kind == "datetime":
        return None
    kinds = {type(value.item() if isinstance(value, np.generic) else value) for value in attribute.values}
    if attribute.kind == "integer" or kinds == {bool}:
        return np.dtype(np.int64 if attribute.kind == "integer" else bool)
    if not kinds or not kinds <= {int, float}:
        return None
    if kinds == {int} and max(map(abs, attribute.values)) >= 2**63:  # type: ignore[arg-type]
        return None
    return np.dtype(np.int64 if kinds == {int} else np.float64)


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
