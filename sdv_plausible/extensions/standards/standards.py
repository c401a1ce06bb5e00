"""Descriptions of a release by metadata standards: Croissant, DCAT, Table Schema and SDV metadata."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdv_plausible.extensions.standards.croissant import to_croissant
from sdv_plausible.extensions.standards.dcat import to_dcat
from sdv_plausible.extensions.standards.release_description import ReleaseDescription, describe_release
from sdv_plausible.privacy.parameter_checks import one_of

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
    """Return SDV metadata V2, the input of ``Metadata.load_from_dict`` in SDV 2.0."""
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


_TYPES = {"text": "string", "mixed": "any"}
PROFILE = "https://datapackage.org/profiles/2.0/tableschema.json"


def to_table_schema(description: ReleaseDescription) -> dict[str, Any]:
    """Return a Frictionless Table Schema: types, ranges, values, and whether cells may be missing."""
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


@dataclass(frozen=True, kw_only=True)
class Standard:
    """A standard, and the function that writes its document."""

    hint: str
    make: Callable[[ReleaseDescription], dict[str, Any]]
    facts: tuple[str, ...] = ()  # recommended facts; the command reports missing ones


_BASIC = ("name", "description", "holder", "license", "url", "date")
STANDARDS: dict[str, Standard] = {
    "croissant": Standard(
        hint="Croissant 1.1 of MLCommons, with its responsible-AI fields", make=to_croissant,
        facts=(*_BASIC, "version", "keywords", "purpose", "citation"),
    ),
    "dcat": Standard(
        hint="DCAT-AP 3.0.1 and HealthDCAT-AP: a sample, with DPV's terms", make=to_dcat,
        facts=(*_BASIC, "download", "contact", "keywords", "identifier", "access", "access_rights", "theme",
              "legislation", "category", "type", "provenance", "hdab", "hdab_contact"),
    ),
    "frictionless": Standard(
        hint="Table Schema of Frictionless Data", make=to_table_schema, facts=("name", "description")
    ),
    "sdv": Standard(hint="metadata V2 of SDV, with ranges and nulls", make=to_sdv_metadata),
}  # fmt: skip


def to_standard(
    release: Any, standard: str, *, rows: str | Path | None = None, file: str = "", **known: Any
) -> str:
    """Describe a release by a metadata standard, as JSON.

    Parameters
    ----------
    release : Release
        The release. Its columns (types, ranges, values, nulls), privacy claim and limits are described, and
        the real rows are not used.
    standard : {"croissant", "dcat", "frictionless", "sdv"}
        Croissant 1.1 with its responsible-AI fields; DCAT-AP and HealthDCAT-AP, with the release as a sample
        of the protected table and DPV terms; Table Schema of Frictionless Data; SDV metadata V2.
    rows : path, optional
        File of synthetic rows drawn from the release; its name and digest are included. Never the real rows.
    file : str
        Name of the release file; by default derived from the table's name.
    **known
        Facts that only the data owner knows: ``name``, ``description``, ``holder``, ``license``, ``url``,
        ``download``, ``date``, ``keywords``, ``purpose`` and so on (``KNOWN``). Missing facts are omitted.

    Returns
    -------
    str
        The JSON document.

    Raises
    ------
    ValueError
        If the release makes no privacy claim, or a fact is unknown or malformed.
    """
    description = describe_release(release, known, rows, file)
    document = STANDARDS[one_of("standard", standard, STANDARDS)].make(description)
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
