"""Croissant description of a release, with the responsible-AI fields.

Croissant is the metadata format of MLCommons for data sets.

Sources: Croissant Format Specification 1.1, Croissant RAI Specification 1.0 (docs.mlcommons.org/croissant).
"""

from __future__ import annotations

import re
from typing import Any

from sdv_plausible.extensions.standards.release_description import ReleaseDescription, as_list

VERSIONS = ("http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0")
_TYPES = {"boolean": "sc:Boolean", "integer": "sc:Integer", "number": "sc:Float", "date": "sc:Date",
          "datetime": "sc:DateTime"}  # fmt: skip
_CROISSANT_TERMS = (
    "arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field", "fileObject",
    "fileProperty", "fileSet", "format", "includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5",
    "parentField", "path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate",
    "separator", "source", "subField", "transform",
)  # fmt: skip
CONTEXT: dict[str, Any] = {
    "@language": "en", "@vocab": "https://schema.org/", "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/", "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/", "prov": "http://www.w3.org/ns/prov#", "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"}, "examples": {"@id": "cr:examples", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"}, "name": {"@container": "@language"},
    "description": {"@container": "@language"}, **{name: f"cr:{name}" for name in _CROISSANT_TERMS},
}  # fmt: skip


def to_croissant(description: ReleaseDescription) -> dict[str, Any]:
    """Return the JSON-LD document; it lists columns only if a file of synthetic rows was given."""
    known = description.known
    release = _file("release", description.file, description.file, "application/json", description.digest)
    document = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": list(VERSIONS),
        "name": description.name,
        "description": description.description,
        "url": known.get("url"),
        "license": known.get("license"),
        "datePublished": known.get("date"),
        "version": known.get("version"),
        "citeAs": known.get("citation"),
        "keywords": list(as_list(known["keywords"])) if "keywords" in known else None,
        "creator": {"@type": "sc:Organization", "name": known["holder"]} if "holder" in known else None,
        "distribution": [release],
        **_responsible(description),
    }
    if description.rows is not None:
        address = known.get("download", description.rows.name)
        document["distribution"] += [
            _file("file", description.rows.name, address, description.rows_type, description.rows_digest)
        ]
        fields = [_field(description, name) for name in description.columns]
        document["recordSet"] = [{"@type": "cr:RecordSet", "@id": "rows", "name": "rows", "field": fields}]
    return {name: value for name, value in document.items() if value is not None}


def _responsible(description: ReleaseDescription) -> dict[str, Any]:
    """Responsible-AI fields, from the ledger and the holder's facts."""
    return {
        "rai:hasSyntheticData": True,
        "rai:dataCollection": "Rows drawn from a model that was fitted to noisy answers about a table of "
        "real rows, which nobody gets.",
        "rai:dataPreprocessingProtocol": [
            f"{entry.name}: {entry.mechanism} ({entry.scope})" for entry in description.record.used
        ],
        "rai:dataUseCases": [description.known["purpose"]] if "purpose" in description.known else None,
        "rai:dataLimitations": description.limits,
        "rai:dataBiases": [
            "Groups that are small beside the noise are drawn less surely than large ones: rare values and "
            "links of many columns are lost first. Biases of the real table are learned with all else.",
        ],
        "rai:personalSensitiveInformation": [
            description.claim,
            "Ids and personal data are invented: " + (", ".join(_fake_columns(description)) or "none"),
        ],
        "prov:wasGeneratedBy": {"@type": "prov:Activity", "name": "Synthesis under differential privacy",
                                "description": f"Software: {description.made_with}."},
    }  # fmt: skip


def _fake_columns(description: ReleaseDescription) -> list[str]:
    return [name for name, column in description.columns.items() if "range_is_nullable" not in column]


def _file(name: str, title: str, address: str, kind: str, digest: str) -> dict[str, Any]:
    return {"@type": "cr:FileObject", "@id": name, "name": title, "contentUrl": address,
            "encodingFormat": kind, "sha256": digest}  # fmt: skip


def _field(description: ReleaseDescription, name: str) -> dict[str, Any]:
    source: dict[str, Any] = {"fileObject": {"@id": "file"}, "extract": {"column": name}}
    kind, date_format = description.cell_kinds[name], description.columns[name].get("datetime_format")
    if kind in ("date", "datetime") and date_format is not None:
        source["format"] = date_format
    return {"@type": "cr:Field", "@id": f"rows/{_local_id(description, name)}", "name": name,
            "description": description.column_texts[name], "dataType": _TYPES.get(kind, "sc:Text"),
            "source": source}  # fmt: skip


def _local_id(description: ReleaseDescription, name: str) -> str:
    """Column name as part of an ``@id``: tools reject white space in it, even when escaped."""
    if re.fullmatch(r"[\w.@-]+", name):
        return name
    ascii_name = re.sub(r"[^A-Za-z0-9_.-]+", "_", name)
    return f"{[*description.columns].index(name)}/{ascii_name}"  # no plain name contains a slash
