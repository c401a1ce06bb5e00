"""A release in the words of standards that others' tools read, each by its name."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdv_plausible.extensions.standards.croissant import to_croissant
from sdv_plausible.extensions.standards.dcat import to_dcat
from sdv_plausible.extensions.standards.release_description import ReleaseDescription, described
from sdv_plausible.extensions.standards.sdv_metadata import to_sdv_metadata
from sdv_plausible.extensions.standards.table_schema import to_table_schema
from sdv_plausible.privacy.parameter_checks import one_of


@dataclass(frozen=True, kw_only=True)
class Standard:
    """One standard."""

    hint: str
    make: Callable[[ReleaseDescription], dict[str, Any]]
    asks: tuple[str, ...] = ()  # what of the known it has a place for, and should not lack


_BASIC = ("name", "description", "holder", "license", "url", "date")
STANDARDS: dict[str, Standard] = {
    "croissant": Standard(
        hint="Croissant 1.1 of MLCommons, with its responsible-AI fields", make=to_croissant,
        asks=(*_BASIC, "version", "keywords", "purpose", "citation"),
    ),
    "dcat": Standard(
        hint="DCAT-AP 3.0.1 and HealthDCAT-AP: a sample, with DPV's terms", make=to_dcat,
        asks=(*_BASIC, "download", "contact", "keywords", "identifier", "access", "access_rights", "theme",
              "legislation", "category", "type", "provenance", "hdab", "hdab_contact"),
    ),
    "frictionless": Standard(
        hint="Table Schema of Frictionless Data", make=to_table_schema, asks=("name", "description")
    ),
    "sdv": Standard(hint="metadata V2 of SDV, with ranges and nulls", make=to_sdv_metadata),
}  # fmt: skip


def to_standard(
    release: Any, standard: str, *, rows: str | Path | None = None, file: str = "", **known: Any
) -> str:
    """Return a description of a release in the words of a standard, as JSON.

    Parameters
    ----------
    release : Release
        What is described: columns with types, ranges, values and nulls, the claim, what is not covered. No
        row is asked.
    standard : {"croissant", "dcat", "frictionless", "sdv"}
        Croissant 1.1 with its responsible-AI fields; DCAT-AP and HealthDCAT-AP, the release as a sample of
        the table that was protected, with DPV's terms; a Table Schema of Frictionless Data; SDV's metadata
        V2.
    rows : path, optional
        A file of synthetic rows that were drawn from the release: its name and digest are told. Never the
        real one.
    file : str
        Name of the release file; by default the table's.
    **known
        What only a person knows: ``name``, ``description``, ``holder``, ``license``, ``url``, ``download``,
        ``date``, ``keywords``, ``purpose`` and so on (``KNOWN``). What is not given is left out.

    Raises
    ------
    ValueError
        If there is no claim, or something given is unknown or has no such form.
    """
    found = described(release, known, rows, file)
    made = STANDARDS[one_of("standard", standard, STANDARDS)].make(found)
    return json.dumps(made, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
