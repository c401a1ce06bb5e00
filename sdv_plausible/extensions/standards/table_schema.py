"""Table Schema of Frictionless Data for a release's columns.

extensions/codebooks/table_schema.py reads it back. Source: Table Schema of Data Package 2.0
(datapackage.org/standard/table-schema).
"""

from __future__ import annotations

from typing import Any

from sdv_plausible.extensions.standards.release_description import ReleaseDescription

_TYPES = {"text": "string", "mixed": "any"}
PROFILE = "https://datapackage.org/profiles/2.0/tableschema.json"


def to_table_schema(found: ReleaseDescription) -> dict[str, Any]:
    """Return the schema of the rows: types, ranges, values, and whether cells may be missing."""
    primary, *_ = found.keys
    key = {} if primary is None else {"primaryKey": [primary] if isinstance(primary, str) else list(primary)}
    return {
        "$schema": PROFILE,
        "title": found.name,
        "description": found.description,
        "fields": [_field(found, name) for name in found.columns],
        "missingValues": [""],
        **key,
    }


def _field(found: ReleaseDescription, name: str) -> dict[str, Any]:
    words = found.columns[name]
    kind, values = _TYPES.get(found.kinds[name], found.kinds[name]), words.get("range_values")
    limits: dict[str, Any] = {}
    if "range_is_nullable" in words:
        limits["required"] = not words["range_is_nullable"]
    if values and kind != "boolean":
        limits["enum"] = values if kind != "string" else list(map(str, values))
    if "range_min" in words and kind not in ("any", "string"):
        limits |= {"minimum": words["range_min"], "maximum": words["range_max"]}
    form = {"format": words.get("datetime_format", "any")} if words["sdtype"] == "datetime" else {}
    order = {"categories": limits["enum"], "categoriesOrdered": True} if words["sdtype"] == "ordinal" else {}
    return {
        "name": name,
        "type": kind,
        **form,
        **order,
        "description": found.said[name],
        "constraints": limits,
    }
