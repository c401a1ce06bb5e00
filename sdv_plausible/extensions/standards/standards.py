"""Descriptions of a release by standards that other tools read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdv_plausible.extensions.standards.croissant import to_croissant
from sdv_plausible.extensions.standards.dcat import to_dcat
from sdv_plausible.extensions.standards.release_description import ReleaseDescription, describe_release
from sdv_plausible.extensions.standards.sdv_metadata import to_sdv_metadata
from sdv_plausible.extensions.standards.table_schema import to_table_schema
from sdv_plausible.privacy.parameter_checks import one_of


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
    """Return a description of a release by a standard, as JSON.

    Parameters
    ----------
    release : Release
        The release. Its columns (types, ranges, values, nulls), its privacy claim and its limits are
        described; the real rows are not used.
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
