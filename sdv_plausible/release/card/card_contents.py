"""Contents of a privacy card, collected from a release and checked."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sdv_plausible.privacy.ledger_record import (
    CONDITION,
    LedgerRecord,
    LedgerText,
    plain_or_quoted,
    quoted,
    rounded_up,
)
from sdv_plausible.privacy.neighbours import RelatedTablesUnit
from sdv_plausible.privacy.parameter_checks import listed
from sdv_plausible.release.card.conformance import conformance_items
from sdv_plausible.release.card.privacy_card import KNOWN, PrivacyCard
from sdv_plausible.table.columns.domain import MAX_BINS, Attribute
from sdv_plausible.table.declared.declarations import as_domain_file, read_declarations
from sdv_plausible.table.learned.lost_mass import estimate_lost_mass

MAX_LENGTH = 2000  # maximum length of a fact, in characters
PROVENANCE = {
    "declared": "declared, without the rows",
    "private": "learned from the rows, charged in the ledger",
    "inferred": "derived from the rows: no guarantee",
    "edited": "edited after looking at the rows: no guarantee",
}
PLACEHOLDERS, DERIVED = "invented, nothing of it is learned", "made from other columns, by a rule"
ERROR_BARS = (
    "counts of columns with intervals (margins)",
    "tables from which estimates get error bars (sample_multiple)",
)
OWN_MODEL = "of the holder's own"
NO_ERROR_BARS = "none: no noisy counts are in this release"
LIMITS = (
    "Whether what was declared was known without the rows: the software cannot check it, somebody vouches.",
    "Single rows: they do not describe real people. Rare values and dependence of many columns are lost.",
    "Standard analyses of these rows understate uncertainty: use the error bars provided.",
    "The software itself: nobody outside has audited it. This card is its own account, no certificate.",
)
WITHOUT_CLAIM = ("Nothing limits what this release tells of single people: treat it like the table itself.",)

MIN_REPLACED_SHARE = 0.05  # smallest share of replaced values that the card reports


def card_of(
    release: Any, *, budget: Any = None, audit: Any = None, domain: Any = None, known: Mapping[str, str]
) -> PrivacyCard:
    """Make the card of a release; ``known`` holds the data owner's facts. See ``Release.card``."""
    ledger = release.ledger.to_dict()
    record = LedgerRecord.of(ledger) if release.ledger.claims_privacy else None
    if budget is not None and not budget.covers(release.ledger):
        raise ValueError(
            "budget: this release did not draw from it, for less was charged to it, or for another unit: "
            "give the budget that the fit was given, or none"
        )
    texts = LedgerText.of(ledger)
    return PrivacyCard(
        lead=texts.lead,
        total=texts.total,
        claim=record is not None,
        conditions=texts.conditions,
        said=texts.further,
        annex=texts.annex,
        facts=_facts(release, ledger),
        known=_known(known),
        costs=tuple(_cost(entry) for entry in ledger["entries"]),
        columns=tuple(_columns(release, _sources(release, domain))),
        conformance=() if record is None else tuple(
            {"question": item.topic, "answer": item.answer, "state": item.state}
            for item in conformance_items(record)
        ),
        rules=tuple(
            map(str, (*release.rules.rule_set.deriving_rules, *release.rules.rule_set.row_constraints))
        ),
        error_bars=_error_bars(release),
        not_covered=(
            *(() if record is not None else WITHOUT_CLAIM),
            *(_sentence(text) for text in ledger["not_covered"]),
            *LIMITS,
        ),
        budget="" if budget is None else budget.sentence(),
        audit=_audit(audit),
    )  # fmt: skip


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def _facts(release: Any, ledger: Mapping[str, Any]) -> dict[str, str]:
    unit, settings = release.ledger.neighbours, release.settings
    return {
        "table": " and ".join(map(plain_or_quoted, getattr(release, "named", (release.schema.table,)))),
        "total": _total(ledger),
        "protected": unit.protected,
        "compared with": ledger["neighbours"],
        "covers": release.ledger.covers or "what the entries below name",
        "privacy test": str(settings.get("privacy_test", "")),
        "model": plain_or_quoted(str(settings.get("model", ""))) if "model" in settings else OWN_MODEL,
        "columns": f"{len(release.schema.columns)}, of which {len(release.domain)} are modelled",
        "made with": made_with(release.versions),
        "sha256": release.digest,
    }


def made_with(versions: Mapping[str, str]) -> str:
    """Names and versions of the packages that made a release."""
    return ", ".join(f"{_version(name)} {_version(number)}" for name, number in versions.items())


def _version(text: str) -> str:
    return text if re.fullmatch(r"[\w.+!-]{1,40}", text) else quoted(text)


def _total(ledger: Mapping[str, Any]) -> str:
    """The total, rounded up as in the ledger's sentence."""
    epsilon, delta = ledger["epsilon"], ledger["delta"]
    condition = f", {CONDITION}" if ledger["assumed_types"] else ""
    if epsilon is None:
        return "none"
    return f"epsilon {rounded_up(epsilon)} at delta {rounded_up(delta)}{condition}"


def _known(known: Mapping[str, str]) -> dict[str, str]:
    for name, text in known.items():
        if name not in KNOWN:
            raise ValueError(f"{name} is nothing that a card says; it has {', '.join(KNOWN)}")
        if not isinstance(text, str) or not text.strip() or len(text) > MAX_LENGTH:
            raise ValueError(f"{name} must be a text of up to {MAX_LENGTH} characters: {KNOWN[name]}")
    return {name: known.get(name, "") for name in KNOWN}


def _cost(entry: Mapping[str, Any]) -> dict[str, str]:
    return {name: entry[name] for name in ("name", "mechanism", "scope", "note")} | {"epsilon": entry["cost"]}


def _columns(release: Any, sources: Mapping[str, str]) -> Iterator[dict[str, str]]:
    attributes = release.rules.whole(release.domain)
    replaced = {mass.column: mass for mass in estimate_lost_mass(release.domain, release.answers)}
    for column in release.schema.columns:
        if column.name not in attributes:
            kind = plain_or_quoted(column.spec["sdtype"])
            yield {"column": column.name, "kind": kind, "values": PLACEHOLDERS, "source": ""}
            continue
        attribute = attributes[column.name]
        remarks = f"; {DERIVED}" if column.name in release.rules.made else ""
        if (mass := replaced.get(column.name)) is not None and mass.most >= MIN_REPLACED_SHARE:
            remarks += f"; up to {mass.most:.0%} of the rows have another value than their own"
        yield {
            "column": column.name,
            "kind": f"{attribute.kind}, {attribute.cardinality:,} codes",
            "values": PROVENANCE[attribute.provenance] + remarks,
            "source": sources.get(column.name, ""),
        }


def _sources(release: Any, domain: Any) -> dict[str, str]:
    """Public source that each column's declaration cites, if the declaration matches the release."""
    if domain is None:
        return {}
    file, columns = as_domain_file(domain), {column.name: column for column in release.schema.columns}
    if not columns.keys() & set(file.columns):
        raise ValueError("domain has none of this release's columns: give the file that was declared")
    sources, other = {}, []
    for attribute in release.rules.whole(release.domain):
        declaration = file.columns.get(attribute.name)
        if not isinstance(declaration, Mapping) or not declaration.get("source"):
            continue
        if _matches(declaration, attribute, columns[attribute.name].spec, release.settings):
            sources[attribute.name] = str(declaration["source"])[:MAX_LENGTH]
        else:
            other.append(attribute.name)
    if other:
        warnings.warn(
            f"no source is cited of {listed(other)}: what the domain file declares is not what was released, "
            "for it was edited since, or a rule makes the column; give the file that was fitted",
            stacklevel=4,
        )
    return sources


def _matches(
    declaration: Any, attribute: Attribute, spec: Mapping[str, Any], settings: Mapping[str, Any]
) -> bool:
    """Whether a declaration yields the released attribute of its column."""
    max_bins = settings.get("max_bins", MAX_BINS)
    try:
        declared = read_declarations(
            {attribute.name: declaration}, "private", max_bins, {attribute.name: spec}
        )
    except ValueError:  # the declared type does not match
        return False
    return declared.leads_to(attribute)


def _error_bars(release: Any) -> tuple[str, ...]:
    """Error bars that the release's noisy answers allow."""
    if not any(answer.asked.kind == "counts" for answer in release.answers):
        return (NO_ERROR_BARS,)
    if isinstance(release.ledger.neighbours, RelatedTablesUnit):
        root = release.ledger.neighbours.root
        return (f"counts of columns of {root} with intervals (tables[{root!r}].margins)",)
    return ERROR_BARS[:1] if "public_rows" in release.settings else ERROR_BARS


def _audit(audit: Any) -> dict[str, Any]:
    """Publishable results of an audit of a public or simulated table."""
    if audit is None:
        return {}
    content = audit.publishable() if hasattr(audit, "publishable") else audit
    if not isinstance(content, Mapping) or content.get("may_be_published") is not True:
        raise ValueError(
            "audit must be of a public or simulated table (audit --public): one of real rows is their "
            "function, without noise, and belongs on no card"
        )
    stages: Sequence[Mapping[str, Any]] = content.get("stages", ())
    lines = [{name: str(stage[name]) for name in ("threat", "verdict", "words")} for stage in stages]
    return {"synthesizer": str(content["synthesizer"]), "verdict": str(content["verdict"]), "stages": lines}
