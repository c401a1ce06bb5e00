"""Column types of the output, independent of the rows.

pandas stores whole numbers as int64, but as float64 once one value is missing, and booleans as bool or
object. It also lists every occurring value in a category's type. Under a privacy claim, therefore, no type is
taken from a real column. The type of a modelled column follows from its released domain, that of a generated
one from its declaration (docs/explanation/privacy_promise.md). The type does not depend on the synthetic rows
either: a nullable column has the type that pandas uses with missing cells, whether or not these rows have
one. :func:`to_pandas_types` then sets the types of categories.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

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
