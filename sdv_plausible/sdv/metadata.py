"""SDV's metadata, made: detected, read from files, and from what is said of columns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from sdv_plausible.fitting.arguments import VOTED
from sdv_plausible.fitting.reused_domain import of_the_rows, was_voted
from sdv_plausible.sdv.sdv_versions import TAKES_DICT
from sdv_plausible.table.columns.column_document import schema_of, type_words
from sdv_plausible.table.declared.column_types import STATED, column_types
from sdv_plausible.table.declared.declarations import given_file


def detect_metadata(frame: pd.DataFrame, table_name: str = "table") -> Any:
    """Metadata that SDV detects in a table."""
    from sdv.metadata import Metadata

    return Metadata.detect_from_dataframes({table_name: frame})


def load_metadata(path: Path, more: Mapping[str, dict[str, Any]] | None = None) -> Any:
    """Metadata from the JSON file that SDV wrote, with more columns where they are given."""
    from sdv.metadata import Metadata

    metadata = Metadata.load_from_json(str(path))
    if not more:
        return metadata
    document = metadata.to_dict()
    next(iter(document["tables"].values()))["columns"].update(more)
    return Metadata.load_from_dict(document)


def metadata_from_columns(columns: dict[str, dict[str, Any]], table_name: str = "table") -> Any:
    """Metadata from column specifications.

    SDV 1.38 does not know the keys of declared ranges and gets none.
    """
    if not TAKES_DICT:
        columns = schema_of(columns)
    made = metadata_from_table({"columns": columns}, table_name)
    setattr(made, STATED, {name: type_words(words) for name, words in columns.items()})
    return made


def metadata_from_table(table: dict[str, Any], table_name: str = "table") -> Any:
    """Metadata from what its document says of one table."""
    from sdv.metadata import Metadata

    document: dict[str, Any] = {"tables": {table_name: table}, "relationships": []}
    if TAKES_DICT:
        document["METADATA_SPEC_VERSION"] = "V2"
    return Metadata.load_from_dict(document)


def metadata_of(domain: Any, table_name: str = "table") -> Any:
    """SDV metadata with the types that declarations tell: nothing is detected, and no row is looked at.

    Parameters
    ----------
    domain : Domain, mapping or path
        Declarations, as for the synthesizer; ``{"sdtype": "id"}`` alone says what a column is.
    table_name : str
        Name of the table.

    Returns
    -------
    sdv.metadata.Metadata

    Raises
    ------
    ValueError
        If a declaration cannot be read, or does not tell its sdtype.

    Examples
    --------
    >>> metadata_of({"age": {"range_min": 0, "range_max": 110}, "name": {"sdtype": "name"}})  # doctest: +SKIP
    """
    made = metadata_from_columns(
        {name: kind.words for name, kind in column_types(domain).items()}, table_name
    )
    file = given_file(domain)
    if was_voted(file):
        setattr(made, VOTED, True)
    for name in of_the_rows(file):
        getattr(made, STATED).pop(name, None)
    return made
