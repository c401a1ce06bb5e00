"""What of a table and its metadata is schema, and nothing else.

SDV's detection writes minima, maxima, digits, missingness and every category of the rows into the metadata. None of it is
kept: an object holds the columns' names and semantic types, the formats that make text a date or an id, and the keys.
"""

from __future__ import annotations

from typing import Any

SCHEMA_KEYS = ("sdtype", "datetime_format", "regex_format", "pii")  # of a column's metadata


def given_columns(metadata: Any) -> dict[str, dict[str, Any]]:
    """Columns of a single table's metadata as they were given, detected values and all."""
    document = metadata.to_dict() if hasattr(metadata, "to_dict") else {}
    tables = document.get("tables")
    tables = [document] if tables is None else list(tables.values())
    return {name: dict(spec) for table in tables[:1] for name, spec in table.get("columns", {}).items()}


def without_details(metadata: Any) -> Any:
    """Return the metadata with its schema alone, as an object of the same class; what is no metadata is returned as it is."""
    if not hasattr(metadata, "to_dict") or not hasattr(type(metadata), "load_from_dict"):
        return metadata  # SDV says what is wrong with it
    document = metadata.to_dict()
    for table in document.get("tables", {"table": document}).values():
        table["columns"] = {
            name: {key: value for key, value in spec.items() if key in SCHEMA_KEYS}
            for name, spec in table.get("columns", {}).items()
        }
    return type(metadata).load_from_dict(document)
