"""What SDV's own processing would learn from the rows and must not carry into the output or a saved object."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.sdv.output_types import of_family, row_independent
from sdv_plausible.table.declarations import MODELLED_SDTYPES
from sdv_plausible.table.domain import Domain

Specs = Mapping[str, Mapping[str, Any]]
FRACTIONS = ("latitude", "longitude", "coordinate", "latlng", "local_latlng", "location_on_land", "pyfloat", "pydecimal")
FIRST_NUMBER = 10**8  # SDV gives invented numbers as many digits as those it saw


def without_invented(table: pd.DataFrame, specs: Specs, keys: Collection[str], transformers: Mapping[str, Any]) -> pd.DataFrame:
    """Put stand-ins in the place of keys, ids and personal data, which SDV invents anew.

    SDV's generators would seed themselves with the first real values, repeat the real share of missing values, give numbers
    as many digits as the largest has, and write the column in its real type, whose categories are real values. Of a
    column that they invent they now see only whether it is stored as numbers or as text, and how many rows there are.

    Parameters
    ----------
    table : DataFrame
        The rows, after SDV has validated them; not changed.
    specs : mapping
        The metadata's columns.
    keys : collection of str
        Primary and alternate keys.
    transformers : mapping
        Column to transformer, as far as they are assigned.
    """
    stand_ins = {}
    for name in map(str, table.columns):
        spec = specs.get(name, {})
        if _is_invented(spec, name in keys, transformers.get(name)):
            stand_ins[name] = _stand_in(table[name], spec)
    return table.assign(**stand_ins)


def _is_invented(spec: Mapping[str, Any], is_key: bool, transformer: Any) -> bool:
    if transformer is not None:  # one that repeats the number of values must see them, and ends the claim
        return bool(transformer.is_generator()) and getattr(transformer, "cardinality_rule", None) not in ("match", "scale")
    sdtype = spec.get("sdtype")
    return is_key or sdtype in ("id", "unknown") or (sdtype not in MODELLED_SDTYPES and spec.get("pii", True))


def _stand_in(column: pd.Series[Any], spec: Mapping[str, Any]) -> pd.Series[Any]:
    numbers = pd.Series(np.arange(FIRST_NUMBER, FIRST_NUMBER + len(column)), index=column.index)
    dtype = column.dtype
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype):
        return numbers.astype(of_family(dtype, "Float64" if spec.get("sdtype") in FRACTIONS else "Int64"))
    return numbers.astype(str).astype(dtype if pd.api.types.is_string_dtype(dtype) else object)


def reseed_generators(processor: Any, coins: Coins) -> None:
    """Reseed SDV's generators by coins, and forget the number of rows that they keep."""
    for name, transformer in processor._hyper_transformer.field_transformers.items():
        if transformer is None or not transformer.is_generator():
            continue
        transformer.random_seed = int(coins.spawn(str(name)).integers(2**32 - 1))
        if hasattr(transformer, "_faker_random_seed"):
            transformer._faker_random_seed = transformer.random_seed
        if hasattr(transformer, "data_length"):
            transformer.data_length = 0
        transformer.reset_randomization()


def write_as_domain(processor: Any, domain: Domain) -> None:
    """Write output columns in types, and in the codec's own format, that depend on no single row."""
    processor._dtypes = row_independent(processor._dtypes, domain)
    for attribute in domain:
        if attribute.provenance != "inferred":
            processor.formatters.pop(attribute.name, None)
