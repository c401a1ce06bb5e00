"""Column types of the output that do not depend on any row.

pandas stores whole numbers as int64, but as float64 once one value is missing, truth values as bool or
object, finer numbers in wider types, and lists every value that occurs in a category's type. So no type is
read off a real column under a claim: that of a modelled column follows from its released domain, that of an
invented one from its declaration (docs/explanation/privacy_promise.md). Nor does it hang on the synthetic
rows: what may be missing has the type that pandas has for such a column, whether or not a cell is missing in
these rows. :func:`usual_types` then gives categories theirs.
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

FRACTIONS = (
    "latitude", "longitude", "coordinate", "latlng", "local_latlng", "location_on_land", "pyfloat",
    "pydecimal",
)  # fmt: skip

_WITH_MISSING: Mapping[str, Any] = {"b": object, "i": np.float64}  # by kind, as pandas has them
_MASKED: Mapping[str, Any] = {"b": "boolean", "i": "Int64"}  # as other libraries do


def output_type(attribute: Attribute, stored: Any = None) -> Any:
    """Type in which a modelled column is written."""
    # ``stored``, the real column's, counts for a domain that was inferred alone, which makes no claim.
    is_text = attribute.datetime_format is not None
    if attribute.provenance == "inferred" and stored is not None and not (is_text and stored.kind == "M"):
        return stored
    if attribute.texts or attribute.number_format is not None:
        return np.dtype(object)  # numbers and texts
    if attribute.kind == "datetime" and not is_text:
        zone = attribute.time_zone
        return np.dtype("M8[ns]") if zone is None else pd.DatetimeTZDtype("ns", zone)
    # Truth values and categories of numbers get their types by usual_types.
    whole = np.float64 if attribute.nullable else np.int64
    return np.dtype({"integer": whole, "float": np.float64}.get(attribute.kind, object))


def invented_type(spec: Mapping[str, Any]) -> Any:
    """Type of a column that is not modelled, such as an id, from its semantic type and format alone."""
    sdtype, form = spec.get("sdtype"), spec.get("regex_format")
    if sdtype in FRACTIONS:
        return np.dtype(np.float64)
    return np.dtype(np.int64 if sdtype == "id" and (not form or makes_numbers(form)) else object)


def _spelled(attribute: Attribute, cell: Any) -> Any:
    """A number as its column writes it; texts that stand beside numbers stay as they are."""
    if isinstance(cell, str):
        return cell
    decimals = 0 if attribute.kind == "integer" else attribute.decimals
    return write_number(cell, str(attribute.number_format), decimals)


def usual_types(table: pd.DataFrame, domain: Domain, *, masked: bool = False) -> pd.DataFrame:
    """Give synthetic truth values, numbers and categories the type that pandas has, or their spelling.

    ``masked``: and whole numbers and truth values of which some may be missing one that loses nothing by
    that, as other libraries' frames have.
    """
    by_text = {str(name): name for name in table.columns}  # columns named by numbers have them again
    for attribute in domain:
        kind, name = _usual_type(attribute), by_text.get(attribute.name)
        if attribute.number_format is not None and name is not None:
            table[name] = table[name].map(partial(_spelled, attribute), na_action="ignore").astype(object)
            continue
        if kind is None or name is None or attribute.provenance == "inferred":
            continue
        # or was given as missing in all rows, though it never is
        if kind.kind in "bi" and (attribute.nullable or table[name].isna().any()):
            table[name] = table[name].astype((_MASKED if masked else _WITH_MISSING)[kind.kind])
        elif attribute.values:
            table[name] = table[name].astype(kind)
    return table


def _usual_type(attribute: Attribute) -> np.dtype[Any] | None:
    """Type of a column of truth values or numbers none of which is missing; None for others."""
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
