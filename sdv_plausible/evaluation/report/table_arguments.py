"""The tables and the metadata that a report is given, in all forms that SDMetrics and SDV take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from sdv_plausible.evaluation.tables import as_metadata_dict, with_text_names


def described_tables(metadata: Any, real_data: Any, synthetic_data: Any) -> dict[str, Any]:
    """Return the metadata as ``{"tables": ...}``; of one table without a name it is "table"."""
    described = as_metadata_dict(metadata)
    if described is None:
        raise ValueError(
            "metadata (None) must be a dict or an SDV Metadata object: it says what the columns are"
        )
    if "tables" in described:
        return described
    named = next(
        (data for data in (real_data, synthetic_data) if isinstance(data, Mapping) and len(data) == 1), None
    )
    return {"tables": {next(iter(named)) if named else "table": described}}


def by_table(data: Any, names: list[str], argument: str) -> dict[str, pd.DataFrame]:
    """Return ``{name: frame}`` of what was given."""
    if isinstance(data, pd.DataFrame):
        if len(names) != 1:
            raise ValueError(
                f"{argument} (one DataFrame) must be a dict {{table name: DataFrame}} of tables {names}"
            )
        return {names[0]: with_text_names(data, argument)}
    if isinstance(data, Mapping):
        absent = [name for name in names if not isinstance(data.get(name), pd.DataFrame)]
        if not absent:
            return {name: with_text_names(data[name], argument) for name in names}
        raise ValueError(
            f"{argument} ({sorted(map(str, data))}) must hold a DataFrame for each of the tables {names}"
        )
    raise ValueError(
        f"{argument} ({type(data).__name__}) must be a DataFrame or a dict {{table name: DataFrame}}"
    )
