"""State that SDV's base class keeps in a synthesizer: columns, keys, transformers and constraints."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.sdv.transient_state import SDV_CONSTRAINTS
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.table.columns.output_types import generated_type, output_type
from sdv_plausible.table.declared.specifications import gets_placeholders


class SDVState:
    """A view of the private attributes that SDV keeps in a synthesizer."""

    def __init__(self, synth: Any) -> None:
        self._synth = synth

    @property
    def columns(self) -> dict[str, dict[str, Any]]:
        """The metadata's columns, as changed by constraints."""
        return {name: dict(spec) for name, spec in self._synth._get_table_metadata().columns.items()}

    @property
    def original_columns(self) -> dict[str, dict[str, Any]]:
        """The metadata's columns, as given to SDV."""
        return self._synth._original_metadata.tables[self._synth._table_name].columns

    @property
    def keys(self) -> Any:
        """Primary and alternate keys."""
        return self._synth._data_processor._keys

    @property
    def transformers(self) -> dict[str, Any]:
        """Transformers that are assigned so far, by column."""
        return self._synth._data_processor._hyper_transformer.field_transformers

    @property
    def constraints(self) -> dict[str, list[Any]]:
        """SDV's lists of constraints, by attribute."""
        return {name: getattr(self._synth, name) for name in SDV_CONSTRAINTS}

    @property
    def has_constraints(self) -> bool:
        """Whether the user added constraints."""
        return any(self.constraints.values())

    @property
    def own_transformers(self) -> list[str]:
        """Columns with transformers that learn from rows."""
        return own_transformers(self.transformers)

    @property
    def sees_rows(self) -> bool:
        """Whether constraints or transformers of the user learn from rows."""
        return self.has_constraints or bool(self.own_transformers)

    def turn_off_learning(self) -> None:
        """Turn off what SDV would learn from rows, and the modelling of ids that are no keys."""
        processor = self._synth._data_processor
        processor._enforce_rounding = processor._enforce_min_max_values = False  # the codec does both
        processor._id_columns_use_old_behavior = [
            name for name, spec in self.columns.items() if spec.get("sdtype") == "id"
        ]

    def placeholders(self, dtypes: pd.Series[Any]) -> pd.DataFrame:
        """A placeholder table for columns of these dtypes."""
        return make_placeholder_table(dtypes, self.columns, self.keys)

    def without_generated(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table with placeholders in the columns that SDV generates."""
        return hide_generated(table, self.columns, self.keys, self.transformers)

    def reseed(self, rng: KeyedRNG) -> None:
        """Seed SDV's generators independently of the rows."""
        reseed_generators(self._synth._data_processor, rng)

    def write_domain(self, domain: Domain, dtypes: pd.Series[Any]) -> None:
        """Set the output types and formats of the modelled columns."""
        set_output_types(self._synth._data_processor, domain, dtypes)

    def no_rows(self) -> pd.DataFrame:
        """An empty table with the columns, in their types."""
        types, labels = self._synth._data_processor._dtypes, self._synth._original_columns
        empty = pd.DataFrame({n: pd.Series(dtype=types.get(n, object)) for n in self.original_columns})
        if len(labels):
            empty.columns = labels
        return empty


Specs = Mapping[str, Mapping[str, Any]]
NUM_ROWS = 3
_DAYS = pd.Series(pd.date_range("2000-01-01", periods=NUM_ROWS))


def make_placeholder_table(dtypes: pd.Series[Any], specs: Specs, keys: Collection[str]) -> pd.DataFrame:
    """Make up a table from column names, specifications and keys; dtypes only matter for dates."""
    columns = {}
    for name, dtype in dtypes.items():
        spec = specs.get(str(name), {})
        is_generated = gets_placeholders(spec, str(name) in keys)
        columns[name] = _generated(spec) if is_generated else _modelled(spec, dtype)
    return pd.DataFrame(columns)


def hide_generated(
    table: pd.DataFrame, specs: Specs, keys: Collection[str], transformers: Mapping[str, Any]
) -> pd.DataFrame:
    """Replace the columns that SDV generates by placeholders, in a table that SDV will see."""
    # A generator that keeps the number of values must see them, and ends the claim.
    placeholders = make_placeholder_table(table.dtypes, specs, keys)
    hidden = {}
    for name in map(str, table.columns):
        transformer = transformers.get(name)
        if transformer is not None:
            is_generated = transformer.is_generator() and not _keeps_cardinality(transformer)
        else:
            is_generated = gets_placeholders(specs.get(name, {}), name in keys)
        if is_generated:
            numbers, dtype = pd.Series(range(len(table)), index=table.index), placeholders[name].dtype
            is_number = pd.api.types.is_numeric_dtype(dtype)
            hidden[name] = numbers.astype(dtype) if is_number else numbers.astype(str).astype(object)
    return table.assign(**hidden)


def _generated(spec: Mapping[str, Any]) -> pd.Series[Any]:
    dtype = generated_type(spec)
    cells = {"f": [0.5, 1.5, 2.5], "i": range(NUM_ROWS)}.get(dtype.kind, ["a", "b", "c"])
    return pd.Series(cells, dtype=dtype)


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


def reseed_generators(processor: Any, rng: KeyedRNG) -> None:
    """Seed SDV's generators, and reset the number of rows that they store."""
    for name, transformer in processor._hyper_transformer.field_transformers.items():
        if transformer is None or not transformer.is_generator():
            continue
        transformer.random_seed = int(rng.spawn(str(name)).integers(2**32 - 1))
        if hasattr(transformer, "_faker_random_seed"):
            transformer._faker_random_seed = transformer.random_seed
        if hasattr(transformer, "data_length"):
            transformer.data_length = 0
        transformer.reset_randomization()


def set_output_types(processor: Any, domain: Domain, dtypes: pd.Series[Any]) -> None:
    """Set the output types and formats of modelled columns in SDV's processor, independently of the rows."""
    written, transformers = processor._dtypes.astype(object), processor._hyper_transformer.field_transformers
    for attribute in domain:
        if attribute.name in written and attribute.name in dtypes:
            written[attribute.name] = output_type(attribute, dtypes[attribute.name])
        if transformers.get(attribute.name) is None:  # the codec formats it
            processor.formatters.pop(attribute.name, None)
    processor._dtypes = written


def own_transformers(transformers: Mapping[str, Any]) -> list[str]:
    """Columns whose transformers learn from rows: the user's, and generators that use the values."""
    assigned = {str(name): one for name, one in transformers.items() if one is not None}
    own = [name for name, one in assigned.items() if not one.is_generator() or _has_output(one)]
    return own + [name for name, one in assigned.items() if _keeps_cardinality(one)]


def _has_output(generator: Any) -> bool:
    """Whether a generator maps real values to others, which a model would see."""
    outputs = getattr(generator, "output_properties", None) or {}
    return any((one or {}).get("sdtype") is not None for one in outputs.values())


def _keeps_cardinality(transformer: Any) -> bool:
    return getattr(transformer, "cardinality_rule", None) in ("match", "scale")
