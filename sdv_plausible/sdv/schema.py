"""What of a table and its metadata is schema, and nothing else.

SDV's detection writes minima, maxima, digits, missingness and every category of the rows into the metadata.
None of it is kept: an object holds the columns' names and semantic types, the formats that make text a date
or an id, and the keys.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sdv_plausible.privacy.checks import Refused
from sdv_plausible.table.column_types import metadata_columns
from sdv_plausible.table.words import MODELLED_SDTYPES

SCHEMA_KEYS = ("sdtype", "datetime_format", "regex_format", "pii")  # of a column's metadata


def without_details(metadata: Any) -> Any:
    """Return the metadata with its schema alone, as an object of the same class.

    What is no metadata is returned as it is.
    """
    if not hasattr(metadata, "to_dict") or not hasattr(type(metadata), "load_from_dict"):
        return metadata  # SDV says what is wrong with it
    document = metadata.to_dict()
    for table in document.get("tables", {"table": document}).values():
        table["columns"] = {
            name: {key: value for key, value in spec.items() if key in SCHEMA_KEYS}
            for name, spec in table.get("columns", {}).items()
        }
    return type(metadata).load_from_dict(document)


def is_invented(spec: Mapping[str, Any], is_key: bool) -> bool:
    """Whether a column is not modelled: a key, an id or personal data."""
    sdtype = spec.get("sdtype")
    return is_key or sdtype in ("id", "unknown") or (sdtype not in MODELLED_SDTYPES and spec.get("pii", True))


def check_metadata(metadata: Any) -> None:
    """Refuse what SDV would not know: it asks whatever it is given."""
    if not hasattr(metadata, "_get_single_table_name") and not hasattr(metadata, "columns"):
        rule = "must be SDV's Metadata of one table"
        raise Refused("metadata", type(metadata), rule, "metadata_of(domain) makes one of declarations")


def with_id(metadata: Any, name: str | None) -> Any:
    """Return the metadata with one column as an id, which is invented and never modelled; unchanged for None.

    Raises
    ------
    ValueError
        If the metadata has no such column.
    """
    if name is None or not hasattr(metadata, "to_dict") or not hasattr(type(metadata), "load_from_dict"):
        return metadata
    columns = metadata_columns(metadata)
    if name not in columns:
        raise Refused("person", name, f"must be one of the metadata's columns: {sorted(columns)}")
    if is_invented(columns[name], is_key=False):
        return metadata  # perhaps by a pattern
    document = metadata.to_dict()
    for table in document.get("tables", {"table": document}).values():
        if name in table.get("columns", {}):
            table["columns"][name] = {"sdtype": "id"}
    return type(metadata).load_from_dict(document)


def with_types(metadata: Any, columns: Mapping[str, Mapping[str, Any]], open_: Collection[str]) -> Any:
    """Return the metadata with other words of its columns.

    Keys and relationships of columns that are voted on may have been detected, and are left out.
    """
    document = metadata.to_dict()
    for table in document.get("tables", {"table": document}).values():
        table["columns"] = {name: dict(words) for name, words in columns.items()}
        if _named(table.get("primary_key")) & {*open_}:
            del table["primary_key"]
        for key in ("alternate_keys", "column_relationships"):
            if key in table:
                table[key] = [one for one in table[key] if not _named(one) & {*open_}]
    return type(metadata).load_from_dict(document)


def _named(key: Any) -> set[str]:
    """Columns of a key or relationship."""
    names = key.get("column_names", ()) if isinstance(key, Mapping) else key
    return {names} if isinstance(names, str) else {*(names or ())}
