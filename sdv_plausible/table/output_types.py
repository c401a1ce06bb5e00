"""Column types of the output that do not depend on any one row.

pandas stores whole numbers as int64, but as float64 once one value is missing, truth values as bool or
object, finer numbers in wider types. So columns with a claim are written in types that follow from the
released domain and the column's storage, and :func:`usual_types` then turns what was written into the usual
types, as a function of the synthetic values alone.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd

from sdv_plausible.table.domain import Attribute, Domain

Storage = Literal["numpy", "nullable", "arrow"]
_NAMES = {"integer": "Int64", "float": "Float64"}


def storage(dtype: Any) -> Storage:
    """Whose types a column is stored in.

    Numpy's, pandas' own that hold missing values as they are, or Arrow's.

    pandas' text type counts as numpy's object: inference gives it to columns of text alone, so that one odd
    cell decides.
    """
    if isinstance(dtype, pd.ArrowDtype):
        return "arrow"
    masked = pd.api.types.is_extension_array_dtype(dtype) and getattr(dtype, "na_value", None) is pd.NA
    return "nullable" if masked and not pd.api.types.is_string_dtype(dtype) else "numpy"


def output_type(attribute: Attribute, stored: Any) -> Any:
    """Type in which a modelled column is written.

    Parameters
    ----------
    attribute : Attribute
        The column's domain; one that was inferred keeps the type of the rows.
    stored : dtype
        Type of the real column, of which its storage and whether it is a category count.
    """
    kind = storage(stored)
    if attribute.provenance == "inferred":
        return stored
    if attribute.texts:
        return np.dtype(object)  # numbers and texts
    if isinstance(stored, pd.CategoricalDtype):
        return (
            pd.CategoricalDtype(list(attribute.values), stored.ordered)
            if attribute.values
            else np.dtype(object)
        )
    if attribute.kind == "datetime":
        return _date_type(attribute, kind)
    kinds = {type(value) for value in attribute.values}
    if attribute.kind in _NAMES:
        return of_storage(_NAMES[attribute.kind], kind)
    if kind == "numpy":
        return np.dtype(object)  # truth values and numbers get their types by usual_types
    if kinds <= {bool} and kinds:
        return of_storage("boolean", kind)
    if len(kinds) == 1 and kinds <= {int, float}:
        return of_storage("Int64" if kinds == {int} else "Float64", kind)
    return of_storage("text", kind) if kinds == {str} else np.dtype(object)


def _date_type(attribute: Attribute, kind: Storage) -> Any:
    if attribute.datetime_format is not None:
        return of_storage("text", kind)
    zone = attribute.time_zone
    return np.dtype("M8[ns]") if zone is None else pd.DatetimeTZDtype("ns", zone)


def of_storage(name: str, kind: Storage) -> Any:
    """The 64-bit type "Int64" or "Float64", "boolean" or "text", among those of a storage."""
    if kind == "numpy":
        return np.dtype({"Int64": np.int64, "Float64": np.float64}.get(name, object))
    if kind == "nullable":
        return np.dtype(object) if name == "text" else pd.api.types.pandas_dtype(name)
    arrow = {"Int64": "int64", "Float64": "double", "boolean": "bool", "text": "string"}
    return pd.api.types.pandas_dtype(f"{arrow[name]}[pyarrow]")


def usual_types(table: pd.DataFrame, domain: Domain) -> pd.DataFrame:
    """Give synthetic truth values and numeric categories the type that pandas has for them."""
    by_text = {str(name): name for name in table.columns}  # columns named by numbers have them again
    for attribute in domain:
        plain = attribute.values and not any(isinstance(v, str) for v in attribute.values)
        if plain and attribute.provenance != "inferred" and attribute.name in by_text:
            name = by_text[attribute.name]
            table[name] = table[name].infer_objects()
    return table
