"""All sections of a release file: write a release as one document, and read it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from sdv_plausible.mechanism.drawing.released_prefixes import ReleasedSeeds
from sdv_plausible.models.base import PrefixModel
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.release.file import json_documents
from sdv_plausible.release.file.answers_section import AnswersSection, read_answers, write_answers
from sdv_plausible.release.file.document_nodes import DocumentNode
from sdv_plausible.release.file.domain_section import (
    check_column,
    check_writable_rules,
    read_domain,
    read_rules,
    write_domain,
    write_rules,
)
from sdv_plausible.release.file.ledger_section import (
    RecordedStatement,
    check_ledger_fits,
    read_ledger,
    write_ledger,
)
from sdv_plausible.release.file.model_section import read_model, read_seeds, write_model, write_seeds
from sdv_plausible.release.file.schema_section import TableSchema, read_schema, write_schema
from sdv_plausible.release.file.settings_section import (
    check_settings,
    read_settings,
    read_versions,
    write_settings,
)
from sdv_plausible.rules.rule_set import FittedRules, RuleSet
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.utils.text_output import escape_controls

FORMAT = json_documents.FORMAT
SECTIONS = (
    "answers",
    "domain",
    "format",
    "ledger",
    "model",
    "rules",
    "schema",
    "seeds",
    "settings",
    "versions",
)
_FROM_ROWS = (
    "this file was written by a version that took column types from the real rows, outside its total "
    "({}). If the types contain values, do not share the file. They are not loaded: save the release "
    "again to get a file without them (SECURITY.md)"
)


def check_sections(
    columns: Mapping[str, Attribute],
    rules: RuleSet,
    settings: Mapping[str, Any],
    ledgers: Iterable[PrivacyLedger] = (),
) -> None:
    """Check before a fit that a release file can hold its columns, rules, settings and planned ledgers."""
    for name, attribute in columns.items():
        check_column(name, attribute)
    check_writable_rules(rules)
    check_settings(settings)
    for ledger in ledgers:
        check_ledger_fits(settings["epsilon"], ledger, settings)


def read_sections(data: bytes, max_bytes: int) -> dict[str, Any]:
    """Parse bytes, and read the parts of a release by name."""
    return read_document(json_documents.read(data, max_bytes))


def read_document(document: Any) -> dict[str, Any]:
    """Read the parts of a release by name from a parsed document."""
    top = DocumentNode(document, "")
    if isinstance(top.value, dict) and top.value.get("format") == json_documents.MULTI_TABLE_FORMAT:
        raise ValueError(
            "it is of related tables: FamilyRelease.load reads it, and the commands sample and card"
        )
    if not isinstance(top.value, dict) or top.value.get("format") != FORMAT:
        raise ValueError(f"the entry 'format' must be {FORMAT!r}")
    fields = top.fields(SECTIONS)
    domain = read_domain(fields["domain"])
    rules = read_rules(fields["rules"], domain)
    model = read_model(fields["model"], domain)
    settings = read_settings(fields["settings"])
    ledger, written = read_ledger(fields["ledger"], settings)
    attributes = rules.whole(domain)
    schema = read_schema(fields["schema"], attributes)
    leaked = schema.dtypes_from_rows(attributes)
    if leaked and ledger.claims_privacy:
        names = escape_controls("; ".join(f"{name}: {text}" for name, text in leaked.items()), keep="")
        warnings.warn(_FROM_ROWS.format(names), stacklevel=3)
    return {
        "schema": schema.without_categories(attributes),
        "domain": domain,
        "rules": rules,
        "model": model,
        "seeds": read_seeds(fields["seeds"], model, domain),
        "answers": read_answers(fields["answers"], domain),
        "ledger": ledger,
        "written": written,
        "settings": settings,
        "versions": read_versions(fields["versions"]),
    }


def write_sections(
    *,
    schema: TableSchema,
    domain: Domain,
    model: PrefixModel,
    seeds: ReleasedSeeds,
    answers: AnswersSection,
    ledger: PrivacyLedger,
    settings: Mapping[str, Any],
    versions: Mapping[str, str],
    rules: FittedRules,
    written: RecordedStatement | None,
) -> dict[str, Any]:
    """The document of a release file."""
    return {
        "format": FORMAT,
        "ledger": write_ledger(ledger, written),
        "schema": write_schema(schema, rules.whole(domain)),
        "domain": write_domain(domain),
        "model": write_model(model, domain),
        "seeds": write_seeds(seeds, model, domain),
        "rules": write_rules(rules),
        "answers": write_answers(answers, domain),
        "settings": write_settings(settings),
        "versions": dict(sorted(versions.items())),
    }
