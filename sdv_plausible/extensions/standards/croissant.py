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


def to_croissant(found: ReleaseDescription) -> dict[str, Any]:
    """Return the JSON-LD document; it lists columns only if a file of synthetic rows was given."""
    known = found.known
    release = _file("release", found.file, found.file, "application/json", found.digest)
    document = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": list(VERSIONS),
        "name": found.name,
        "description": found.description,
        "url": known.get("url"),
        "license": known.get("license"),
        "datePublished": known.get("date"),
        "version": known.get("version"),
        "citeAs": known.get("citation"),
        "keywords": list(as_list(known["keywords"])) if "keywords" in known else None,
        "creator": {"@type": "sc:Organization", "name": known["holder"]} if "holder" in known else None,
        "distribution": [release],
        **_responsible(found),
    }
    if found.rows is not None:
        where = known.get("download", found.rows.name)
        document["distribution"] += [
            _file("file", found.rows.name, where, found.rows_type, found.rows_digest)
        ]
        fields = [_field(found, name) for name in found.columns]
        document["recordSet"] = [{"@type": "cr:RecordSet", "@id": "rows", "name": "rows", "field": fields}]
    return {name: value for name, value in document.items() if value is not None}


def _responsible(found: ReleaseDescription) -> dict[str, Any]:
    """Responsible-AI fields, from the ledger and the holder's facts."""
    return {
        "rai:hasSyntheticData": True,
        "rai:dataCollection": "Rows drawn from a model that was fitted to noisy answers about a table of "
        "real rows, which nobody gets.",
        "rai:dataPreprocessingProtocol": [
            f"{entry.name}: {entry.mechanism} ({entry.scope})" for entry in found.record.used
        ],
        "rai:dataUseCases": [found.known["purpose"]] if "purpose" in found.known else None,
        "rai:dataLimitations": found.limits,
        "rai:dataBiases": [
            "Groups that are small beside the noise are drawn less surely than large ones: rare values and "
            "links of many columns are lost first. Biases of the real table are learned with all else.",
        ],
        "rai:personalSensitiveInformation": [
            found.claim, "Ids and personal data are invented: " + (", ".join(_fake_columns(found)) or "none"),
        ],
        "prov:wasGeneratedBy": {"@type": "prov:Activity", "name": "Synthesis under differential privacy",
                                "description": f"Software: {found.made_with}."},
    }  # fmt: skip


def _fake_columns(found: ReleaseDescription) -> list[str]:
    return [name for name, words in found.columns.items() if "range_is_nullable" not in words]


def _file(name: str, called: str, where: str, kind: str, digest: str) -> dict[str, Any]:
    return {"@type": "cr:FileObject", "@id": name, "name": called, "contentUrl": where,
            "encodingFormat": kind, "sha256": digest}  # fmt: skip


def _field(found: ReleaseDescription, name: str) -> dict[str, Any]:
    source: dict[str, Any] = {"fileObject": {"@id": "file"}, "extract": {"column": name}}
    kind, form = found.kinds[name], found.columns[name].get("datetime_format")
    if kind in ("date", "datetime") and form is not None:
        source["format"] = form
    return {"@type": "cr:Field", "@id": f"rows/{_local_id(found, name)}", "name": name,
            "description": found.said[name], "dataType": _TYPES.get(kind, "sc:Text"),
            "source": source}  # fmt: skip


def _local_id(found: ReleaseDescription, name: str) -> str:
    """Column name as part of an ``@id``: tools reject white space in it, even when escaped."""
    if re.fullmatch(r"[\w.@-]+", name):
        return name
    tame = re.sub(r"[^A-Za-z0-9_.-]+", "_", name)
    return f"{[*found.columns].index(name)}/{tame}"  # no plain name contains a slash
