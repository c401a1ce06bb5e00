"""What SDV sees in the place of a table: a few made-up rows of the same schema.

SDV's processing learns from what it is given: bounds, digits, categories, the share of missing values, the
number of rows, seeds of its generators. So it is given none of it. The rows themselves go past it to the
codec.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.table.columns.output_types import invented_type, output_type
from sdv_plausible.table.declared.spec_words import is_invented

Specs = Mapping[str, Mapping[str, Any]]
NUM_ROWS = 3
_DAYS = pd.Series(pd.date_range("2000-01-01", periods=NUM_ROWS))


def stand_in_table(dtypes: pd.Series[Any], specs: Specs, keys: Collection[str]) -> pd.DataFrame:
    """Make up a table from a schema.

    Parameters
    ----------
    dtypes : Series of dtype
        Types of the real columns; of them only whose they are, and whether dates are dates or text, counts.
    specs : mapping
        The metadata's columns.
    keys : collection of str
        Primary and alternate keys.
    """
    columns = {}
    for name, dtype in dtypes.items():
        spec = specs.get(str(name), {})
        invented = is_invented(spec, str(name) in keys)
        columns[name] = _invented(spec) if invented else _modelled(spec, dtype)
    return pd.DataFrame(columns)


def hide_invented(
    table: pd.DataFrame, specs: Specs, keys: Collection[str], transformers: Mapping[str, Any]
) -> pd.DataFrame:
    """Put stand-ins in the place of what SDV invents, in a table that it will see.

    ``transformers`` are those assigned so far; a generator that repeats the number of values must see them,
    and ends the claim.
    """
    made = stand_in_table(table.dtypes, specs, keys)
    hidden = {}
    for name in map(str, table.columns):
        transformer = transformers.get(name)
        if transformer is not None:
            invented = transformer.is_generator() and getattr(transformer, "cardinality_rule", None) not in (
                "match",
                "scale",
            )
        else:
            invented = is_invented(specs.get(name, {}), name in keys)
        if invented:
            numbers = pd.Series(range(len(table)), index=table.index)
            is_number = pd.api.types.is_numeric_dtype(made[name].dtype)
            hidden[name] = (
                numbers.astype(made[name].dtype) if is_number else numbers.astype(str).astype(object)
            )
    return table.assign(**hidden)


def _invented(spec: Mapping[str, Any]) -> pd.Series[Any]:
    dtype = invented_type(spec)
    made = {"f": [0.5, 1.5, 2.5], "i": range(NUM_ROWS)}.get(dtype.kind, ["a", "b", "c"])
    return pd.Series(made, dtype=dtype)


def _modelled(spec: Mapping[str, Any], dtype: Any) -> pd.Series[Any]:
    sdtype = spec.get("sdtype")
    if sdtype == "datetime":
        if isinstance(dtype, pd.DatetimeTZDtype):
            return _DAYS.dt.tz_localize("UTC").dt.tz_convert(dtype.tz)
        is_text = not pd.api.types.is_datetime64_any_dtype(dtype)
        return (
            _DAYS.dt.strftime(spec.get("datetime_format") or "%Y-%m-%d").astype(object) if is_text else _DAYS
        )
    if sdtype == "numerical":
        return pd.Series([0.0, 1.0, 2.0])
    return pd.Series([True, False, True] if sdtype == "boolean" else ["a", "b", "a"], dtype=object)


def reseed_generators(processor: Any, coins: KeyedRNG) -> None:
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


def write_as_domain(processor: Any, domain: Domain, dtypes: pd.Series[Any]) -> None:
    """Write modelled columns in types, and in the codec's own format, that depend on no single row.

    Parameters
    ----------
    processor : DataProcessor
        SDV's, changed in place.
    domain : Domain
        The modelled columns.
    dtypes : Series of dtype
        Types of the real columns.
    """
    written, transformers = processor._dtypes.astype(object), processor._hyper_transformer.field_transformers
    for attribute in domain:
        if attribute.name in written and attribute.name in dtypes:
            written[attribute.name] = output_type(attribute, dtypes[attribute.name])
        if transformers.get(attribute.name) is None:  # the codec writes it as it should be
            processor.formatters.pop(attribute.name, None)
    processor._dtypes = written


def own_transformers(transformers: Mapping[str, Any]) -> list[str]:
    """Columns whose transformers learn from the rows."""
    # Those of the user, and generators that hand values on or repeat their number.
    given = {str(name): one for name, one in transformers.items() if one is not None}
    own = [name for name, one in given.items() if not one.is_generator() or _hands_on(one)]
    same = ("match", "scale")
    return own + [name for name, one in given.items() if getattr(one, "cardinality_rule", None) in same]


def _hands_on(generator: Any) -> bool:
    """Whether a generator puts other values in the place of the real ones, and a model would see those."""
    made = getattr(generator, "output_properties", None) or {}
    return any((one or {}).get("sdtype") is not None for one in made.values())
