"""Make SDV metadata: detected in a table, read from a file, or from column specifications."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from sdv_plausible.fitting.arguments import VOTED
from sdv_plausible.fitting.reused_domain import columns_from_rows, has_inferred_types
from sdv_plausible.sdv.sdv_versions import TAKES_DICT
from sdv_plausible.table.columns.column_document import type_words, type_words_by_column
from sdv_plausible.table.declared.column_types import DECLARED_TYPES, column_types
from sdv_plausible.table.declared.declarations import explicit_domain_file


def detect_metadata(frame: pd.DataFrame, table_name: str = "table") -> Any:
    """Detect metadata in a table with SDV."""
    from sdv.metadata import Metadata

    return Metadata.detect_from_dataframes({table_name: frame})


def load_metadata(path: Path, more: Mapping[str, dict[str, Any]] | None = None) -> Any:
    """Read metadata from SDV's JSON file, with ``more`` columns."""
    from sdv.metadata import Metadata

    metadata = Metadata.load_from_json(str(path))
    if not more:
        return metadata
    document = metadata.to_dict()
    next(iter(document["tables"].values()))["columns"].update(more)
    return Metadata.load_from_dict(document)


def metadata_from_columns(columns: dict[str, dict[str, Any]], table_name: str = "table") -> Any:
    """Make metadata from column specifications, which count as stated."""
    if not TAKES_DICT:  # SDV 1.38 has no keys for ranges
        columns = type_words_by_column(columns)
    metadata = metadata_from_table({"columns": columns}, table_name)
    setattr(metadata, DECLARED_TYPES, {name: type_words(spec) for name, spec in columns.items()})
    return metadata


def metadata_from_table(table: dict[str, Any], table_name: str = "table") -> Any:
    """Make metadata from the document of one table."""
    from sdv.metadata import Metadata

    document: dict[str, Any] = {"tables": {table_name: table}, "relationships": []}
    if TAKES_DICT:
        document["METADATA_SPEC_VERSION"] = "V2"
    return Metadata.load_from_dict(document)


def metadata_of(domain: Any, table_name: str = "table") -> Any:
    """Make SDV metadata from declared types. Nothing is detected, and no row is read.

    Parameters
    ----------
    domain : Domain, mapping or path
        Declarations, as for the synthesizer. ``{"sdtype": "id"}`` alone declares the type of a column.
    table_name : str
        Name of the table.

    Returns
    -------
    sdv.metadata.Metadata
        With the declared columns.

    Raises
    ------
    ValueError
        If a declaration cannot be read, or has no sdtype.

    Examples
    --------
    >>> metadata_of({"age": {"range_min": 0, "range_max": 110}, "name": {"sdtype": "name"}})  # doctest: +SKIP
    """
    metadata = metadata_from_columns(
        {name: kind.words for name, kind in column_types(domain).items()}, table_name
    )
    file = explicit_domain_file(domain)
    if has_inferred_types(file):
        setattr(metadata, VOTED, True)
    for name in columns_from_rows(file):
        getattr(metadata, DECLARED_TYPES).pop(name, None)
    return metadata
