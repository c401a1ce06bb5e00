"""DCAT-AP and HealthDCAT-AP description of the protected table, with the release as a sample and DPV terms.

The table itself is described by the holder's facts only; the release is its ``adms:sample``. Missing facts
are omitted, even where a profile requires them.

Sources: DCAT-AP 3.0.1 (semiceu.github.io/DCAT-AP), HealthDCAT-AP release 5, W3C DPV 2.3 (w3id.org/dpv).
"""

from __future__ import annotations

import re
from typing import Any

from sdv_plausible.extensions.standards.release_description import ReleaseDescription, as_list

CONTEXT = {
    "adms": "http://www.w3.org/ns/adms#", "dcat": "http://www.w3.org/ns/dcat#",
    "dcatap": "http://data.europa.eu/r5r/", "dct": "http://purl.org/dc/terms/", "dpv": "https://w3id.org/dpv#",
    "eli": "http://data.europa.eu/eli/ontology#",
    "foaf": "http://xmlns.com/foaf/0.1/", "healthdcatap": "http://healthdataportal.eu/ns/health#",
    "skos": "http://www.w3.org/2004/02/skos/core#", "rdfs": "http://www.w3.org/2000/01/rdf-schema#", "spdx": "http://spdx.org/rdf/terms#",
    "vcard": "http://www.w3.org/2006/vcard/ns#", "xsd": "http://www.w3.org/2001/XMLSchema#",
}  # fmt: skip
_MEDIA = "http://www.iana.org/assignments/media-types/"
_FILE_TYPE = "http://publications.europa.eu/resource/authority/file-type/"
_TEXTS = {"identifier": "dct:identifier", "keywords": "dcat:keyword"}
_ADDRESSES = {  # term and class of the target
    "url": ("dcat:landingPage", "foaf:Document"),
    "access_rights": ("dct:accessRights", "dct:RightsStatement"),
    "theme": ("dcat:theme", "skos:Concept"),
    "legislation": ("dcatap:applicableLegislation", "eli:LegalResource"),
    "category": ("healthdcatap:healthCategory", "skos:Concept"),
    "type": ("dct:type", "skos:Concept"),
}


def to_dcat(description: ReleaseDescription) -> dict[str, Any]:
    """Return the description of the table, with its synthetic sample, as JSON-LD."""
    known, law = description.known, _addresses(description, "legislation")
    table: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "dcat:Dataset",
        "dct:title": description.name,
        "dct:description": known.get("description", "The table from which the synthetic sample was made."),
        **{term: as_list(known[name]) for name, term in _TEXTS.items() if name in known},
        **_addresses(description, *_ADDRESSES),
    }
    if "holder" in known:
        table["dct:publisher"] = _agent(known["holder"], known.get("contact"))
    if "contact" in known:
        table["dcat:contactPoint"] = _contact(known.get("holder", ""), known["contact"])
    if "hdab" in known:
        table["healthdcatap:hdab"] = _agent(known["hdab"], known.get("hdab_contact"))
    if "provenance" in known:
        table["dct:provenance"] = {"@type": "dct:ProvenanceStatement", "rdfs:label": known["provenance"]}
    if "access" in known:
        access = {"@type": "dcat:Distribution", "dcat:accessURL": {"@id": known["access"]}, **law}
        table["dcat:distribution"] = [access]
    return table | {"adms:sample": [_sample(description) | law]}


def _sample(description: ReleaseDescription) -> dict[str, Any]:
    """The synthetic rows or, without them, the release file."""
    known = description.known
    kind, format_, digest = "application/json", "JSON", description.digest
    if description.rows is not None:
        kind, digest = description.rows_type, description.rows_digest
        format_ = "CSV" if kind == "text/csv" else "PARQUET"
    total, conditions = description.record.words.total, description.record.words.conditions
    sample: dict[str, Any] = {
        "@type": "dcat:Distribution",
        "dct:title": f"Synthetic sample: {description.name}",
        "dct:description": f"Synthetic rows, made with differential privacy. {description.claim}",
        "dcat:mediaType": {"@id": _MEDIA + kind, "@type": "dct:MediaType"},
        "dct:format": {"@id": _FILE_TYPE + format_, "@type": "dct:MediaTypeOrExtent"},
        "spdx:checksum": {
            "@type": "spdx:Checksum",
            "spdx:algorithm": {"@id": "spdx:checksumAlgorithm_sha256", "@type": "spdx:ChecksumAlgorithm"},
            "spdx:checksumValue": {"@type": "xsd:hexBinary", "@value": digest},
        },
        "dpv:hasData": {"@type": "dpv:SyntheticData"},
        "dpv:hasTechnicalMeasure": {
            "@type": "dpv:DifferentialPrivacy", "rdfs:label": total, "rdfs:comment": conditions,
        },
    }  # fmt: skip
    if "download" in known:
        sample |= {term: {"@id": known["download"]} for term in ("dcat:accessURL", "dcat:downloadURL")}
    if "license" in known:
        sample["dct:license"] = {"@id": known["license"], "@type": "dct:LicenseDocument"}
    if "date" in known:
        sample["dct:issued"] = {"@type": "xsd:date", "@value": known["date"]}
    return sample


def _addresses(description: ReleaseDescription, *names: str) -> dict[str, Any]:
    values = {name: as_list(description.known[name]) for name in names if name in description.known}
    return {
        term: [{"@id": value, "@type": kind, **_label(kind, value)} for value in values[name]]
        for name, (term, kind) in _ADDRESSES.items()
        if name in values
    }


def _label(kind: str, address: str) -> dict[str, str]:
    """A ``skos:Concept`` needs a label: the code at the end of the authority's address."""
    return {"skos:prefLabel": re.split("[/#]", address)[-1]} if kind == "skos:Concept" else {}


def _agent(name: str, contact: str | None) -> dict[str, Any]:
    point = {} if contact is None else {"dcat:contactPoint": _contact(name, contact)}
    return {"@type": "foaf:Agent", "foaf:name": name, **point}


def _contact(name: str, contact: str) -> dict[str, Any]:
    term = "vcard:hasEmail" if contact.startswith("mailto:") else "vcard:hasURL"
    return {"@type": "vcard:Kind", "vcard:fn": name or contact, term: {"@id": contact}}
