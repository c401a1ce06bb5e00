"""Column types of the output that do not depend on any one row.

pandas stores whole numbers as int64, but as float64 once one value is missing, truth values as bool or object, and a
category column's type lists every value that occurs. SDV writes synthetic columns in the types of the real ones; for
columns with a claim they are replaced by types that follow from the released domain, and :func:`usual_types` then turns
what was written into the usual types, as a function of the synthetic values alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.table.domain import Attribute, Domain


def row_independent(dtypes: pd.Series[Any], domain: Domain) -> pd.Series[Any]:
    """Types for SDV's output: nothing in them tells whether some row has a missing or a rare value.

    Parameters
    ----------
    dtypes : Series of dtype
        Types of the real columns; of invented ones, those of their stand-ins.
    domain : Domain
        Domain of the modelled columns; a column whose domain was inferred keeps its type.
    """
    return pd.Series({name: _column_type(str(name), dtype, domain) for name, dtype in dtypes.items()}, dtype=object)


def _column_type(name: str, dtype: Any, domain: Domain) -> Any:
    return dtype if name not in domain or domain[name].provenance == "inferred" else _modelled_type(domain[name], dtype)


def _modelled_type(attribute: Attribute, dtype: Any) -> Any:
    if isinstance(dtype, pd.CategoricalDtype):
        return pd.CategoricalDtype(list(attribute.values), dtype.ordered) if attribute.values else np.dtype(object)
    if not isinstance(dtype, np.dtype):
        return _extension_type(attribute, dtype)
    if attribute.kind == "integer":
        return np.dtype(np.int64)  # also where one odd cell made it object; SDV leaves float64 if a value is missing
    if attribute.kind == "float":
        return dtype if dtype.kind == "f" else np.dtype(np.float64)
    return np.dtype(object) if dtype.kind in "iufb" else dtype  # dates and text as they are


def _extension_type(attribute: Attribute, dtype: Any) -> Any:
    """An extension type holds missing values as it is; which of its family is decided by the domain, not by the cells."""
    if not pd.api.types.is_numeric_dtype(dtype):
        return dtype
    kinds = {type(value) for value in attribute.values}
    if attribute.kind == "float" or kinds == {float}:
        name = "Float64"
    elif attribute.kind == "integer" or kinds == {int}:
        name = "Int64"
    else:
        return pd.BooleanDtype() if kinds == {bool} and not isinstance(dtype, pd.ArrowDtype) else np.dtype(object)
    return of_family(dtype, name)


def of_family(dtype: Any, name: str) -> Any:
    """The 64-bit type ``name`` ("Int64" or "Float64") among numpy's, Arrow's or pandas' own types, as ``dtype`` is."""
    if isinstance(dtype, np.dtype):
        return np.dtype(name.lower())
    return pd.api.types.pandas_dtype(f"{name.lower()}[pyarrow]" if isinstance(dtype, pd.ArrowDtype) else name)


def usual_types(table: pd.DataFrame, domain: Domain) -> pd.DataFrame:
    """Give synthetic truth values and numeric categories the type that pandas has for them."""
    by_text = {str(name): name for name in table.columns}  # columns named by numbers have them again
    for attribute in domain:
        plain = attribute.values and not any(isinstance(v, str) for v in attribute.values)
        if plain and attribute.provenance != "inferred" and attribute.name in by_text:
            name = by_text[attribute.name]
            table[name] = table[name].infer_objects()
    return table
