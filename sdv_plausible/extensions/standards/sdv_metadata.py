"""SDV metadata V2 of a release's columns: ranges, values, digits and nulls, where SDV has a field for them.

Source: ``sdv/metadata/_single_table.py`` of SDV 2.0.
"""

from __future__ import annotations

from typing import Any

from sdv_plausible.extensions.standards.release_description import ReleaseDescription

FIELDS: dict[str, tuple[str, ...]] = {
    "numerical": ("range_min", "range_max", "range_is_nullable", "decimal_places"),
    "datetime": ("datetime_format", "range_min", "range_max", "range_is_nullable"),
    "categorical": ("range_values", "range_is_nullable"),
    "ordinal": ("range_values", "range_is_nullable"),
    "boolean": ("range_is_nullable",),
    "id": ("regex_format",),
}
"""Fields of SDV's metadata by sdtype; any other sdtype has ``pii`` only."""


def to_sdv_metadata(description: ReleaseDescription) -> dict[str, Any]:
    """Return the document, as ``Metadata.load_from_dict`` of SDV 2.0 takes it."""
    columns = {}
    for name, spec in description.columns.items():
        fields = ("sdtype", *FIELDS.get(spec["sdtype"], ("pii",)))
        columns[name] = {field: spec[field] for field in fields if field in spec}
    primary, alternate, related = description.keys
    table = {
        "columns": columns,
        "primary_key": _plain(primary),
        "alternate_keys": list(map(_plain, alternate)),
        "column_relationships": [{"type": kind, "column_names": list(names)} for kind, names in related],
    }
    table = {name: value for name, value in table.items() if value}
    return {"tables": {description.table: table}, "relationships": [], "METADATA_SPEC_VERSION": "V2"}


def _plain(key: Any) -> Any:
    return list(key) if isinstance(key, tuple) else key
