"""Table Schema of Frictionless Data for a release's columns.

extensions/codebooks/table_schema.py reads it back. Source: Table Schema of Data Package 2.0
(datapackage.org/standard/table-schema).
"""

from __future__ import annotations

from typing import Any

from sdv_plausible.extensions.standards.release_description import ReleaseDescription

_TYPES = {"text": "string", "mixed": "any"}
PROFILE = "https://datapackage.org/profiles/2.0/tableschema.json"


def to_table_schema(description: ReleaseDescription) -> dict[str, Any]:
    """Return the schema of the rows: types, ranges, values, and whether cells may be missing."""
    primary, *_ = description.keys
    key = {} if primary is None else {"primaryKey": [primary] if isinstance(primary, str) else list(primary)}
    return {
        "$schema": PROFILE,
        "title": description.name,
        "description": description.description,
        "fields": [_field(description, name) for name in description.columns],
        "missingValues": [""],
        **key,
    }


def _field(description: ReleaseDescription, name: str) -> dict[str, Any]:
    column = description.columns[name]
    kind, values = description.cell_kinds[name], column.get("range_values")
    kind = _TYPES.get(kind, kind)
    limits: dict[str, Any] = {}
    if "range_is_nullable" in column:
        limits["required"] = not column["range_is_nullable"]
    if values and kind != "boolean":
        limits["enum"] = values if kind != "string" else list(map(str, values))
    if "range_min" in column and kind not in ("any", "string"):
        limits |= {"minimum": column["range_min"], "maximum": column["range_max"]}
    date_format = {"format": column.get("datetime_format", "any")} if column["sdtype"] == "datetime" else {}
    order = {"categories": limits["enum"], "categoriesOrdered": True} if column["sdtype"] == "ordinal" else {}
    return {
        "name": name,
        "type": kind,
        **date_format,
        **order,
        "description": description.column_texts[name],
        "constraints": limits,
    }
