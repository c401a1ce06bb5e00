"""State that SDV's base class keeps in a synthesizer: columns, keys, transformers and constraints."""

from __future__ import annotations

from typing import Any

import pandas as pd

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.sdv.placeholder_table import (
    hide_generated,
    make_placeholder_table,
    own_transformers,
    reseed_generators,
    set_output_types,
)
from sdv_plausible.sdv.transient_state import SDV_CONSTRAINTS
from sdv_plausible.table.columns.domain import Domain


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
