"""Column types of the output that do not depend on any row.

pandas stores whole numbers as int64, but as float64 once one value is missing, truth values as bool or
object, finer numbers in wider types, and lists every value that occurs in a category's type. So no type is
read off a real column under a claim: that of a modelled column follows from its released domain, that of an
invented one from its declaration (docs/explanation/privacy_promise.md). :func:`usual_types` then turns what
was written into the usual types, as a function of the synthetic values alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.columns.id_formats import makes_numbers

FRACTIONS = (
    "latitude", "longitude", "coordinate", "latlng", "local_latlng", "location_on_land", "pyfloat",
    "pydecimal",
)  # fmt: skip


def output_type(attribute: Attribute, stored: Any = None) -> Any:
    """Type in which a modelled column is written."""
    # ``stored``, the real column's, counts for a domain that was inferred alone, which makes no claim.
    is_text = attribute.datetime_format is not None
    if attribute.provenance == "inferred" and stored is not None and not (is_text and stored.kind == "M"):
        return stored
    if attribute.texts:
        return np.dtype(object)  # numbers and texts
    if attribute.kind == "datetime" and not is_text:
        zone = attribute.time_zone
        return np.dtype("M8[ns]") if zone is None else pd.DatetimeTZDtype("ns", zone)
    # Truth values and categories of numbers get their types by usual_types.
    return np.dtype({"integer": np.int64, "float": np.float64}.get(attribute.kind, object))


def invented_type(spec: Mapping[str, Any]) -> Any:
    """Type of a column that is not modelled, such as an id, from its semantic type and format alone."""
    sdtype, form = spec.get("sdtype"), spec.get("regex_format")
    if sdtype in FRACTIONS:
        return np.dtype(np.float64)
    return np.dtype(np.int64 if sdtype == "id" and (not form or makes_numbers(form)) else object)


def usual_types(table: pd.DataFrame, domain: Domain) -> pd.DataFrame:
    """Give synthetic truth values and numeric categories the type that pandas has for them."""
    by_text = {str(name): name for name in table.columns}  # columns named by numbers have them again
    for attribute in domain:
        plain = attribute.values and not any(isinstance(v, str) for v in attribute.values)
        if plain and attribute.provenance != "inferred" and attribute.name in by_text:
            name = by_text[attribute.name]
            table[name] = table[name].infer_objects()
    return table
