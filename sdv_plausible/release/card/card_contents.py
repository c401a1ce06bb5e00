"""Contents of a privacy card, collected from a release and checked."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sdv_plausible.models import DEFAULT, learner_from_config, named_learner
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
from sdv_plausible.release.card.authority_questions import authority_questions
from sdv_plausible.release.card.conformance import conformance_items
from sdv_plausible.release.card.expected_distances import expected_distances
from sdv_plausible.release.card.privacy_card import KNOWN, PrivacyCard
from sdv_plausible.table.columns.domain import MAX_BINS, Attribute
from sdv_plausible.table.declared.declarations import as_domain_file, read_declarations
from sdv_plausible.table.learned.lost_mass import estimate_lost_mass

MAX_LENGTH = 2000  # maximum length of a fact, in characters
PROVENANCE = {
    "declared": "declared without the rows",
    "private": "learned from the rows with noise, charged in the ledger",
    "inferred": "derived from the rows: no guarantee",
    "edited": "edited after looking at the rows: no guarantee",
}
PLACEHOLDERS, DERIVED = "generated, nothing is learned", "computed from other columns by a rule"
ERROR_BARS = (
    "Counts of every modelled column, with confidence intervals.",
    "Several synthetic tables, from which estimates get confidence intervals.",
)
PRIVACY_TESTS = {
    "release": "of the release as a whole",
    "randomized": "of every row, with a randomized threshold",
    "deterministic": "of every row, with a fixed threshold",
}
OWN_MODEL = "the data owner's own"
NO_ERROR_BARS = "None: this release has no noisy counts."
LIMITS = (
    "Declarations made by looking at the rows. The software cannot check this; a person confirms it.",
    "The truth of single rows. They describe no real people; rare values and complex dependence are lost.",
    "Standard analyses of these rows. They understate uncertainty; use the error bars provided.",
    "Faults of the software. It has had no external audit; this card is its own statement, no certificate.",
)
WITHOUT_CLAIM = (
    "Individual people. Nothing limits what this release reveals; treat it like the table itself.",
)
UNPROTECTED = {"protected": "nobody"}
ASSUMED = "the total holds if these were known without the rows"
NO_ROWS = "not released"
NO_UTILITY = "No figure: expected distances are known only for the default model without seeds."
MEANING = (
    "A distance compares shares in the rows used with shares in many rows of this release: 0 means equal, 1 "
    "is the largest total variation distance. The figures are computed from the noisy answers, without the "
    "rows. They measure usefulness, not privacy."
)
WORTH = (
    "On five public tables (30 fits, epsilon 0.3 to 3, 3,000 to 25,000 rows) the true average was 0.5 to 1.1 "
    "times the expected one for columns, and 0.7 to 1.3 times for pairs."
)
_CODE = re.compile(r"\bperson=")  # the advice to choose another unit, in Python

MIN_REPLACED_SHARE = 0.05  # smallest share of replaced values that the card reports


def card_of(
    release: Any, *, budget: Any = None, audit: Any = None, domain: Any = None, known: Mapping[str, str]
) -> PrivacyCard:
    """Make the card of a release; ``known`` holds the data owner's facts. See ``Release.card``."""
    ledger = release.ledger.to_dict()
    record = LedgerRecord.of(ledger) if release.ledger.claims_privacy else None
    if budget is not None and not budget.covers(release.ledger):
        raise ValueError(
            "budget: this release did not draw from it, because less was charged to it or its unit differs; "
            "give the budget that the fit used, or none"
        )
    texts = LedgerText.of(ledger)
    facts, checked_audit = _known(known), _audit(audit)
    return PrivacyCard(
        lead=texts.lead,
        total=texts.total,
        claim=record is not None,
        conditions=texts.conditions,
        said=texts.further,
        annex=texts.annex,
        facts=_facts(release, ledger),
        known=facts,
        questions=tuple(
            vars(item)
            for item in authority_questions(record, facts, checked_audit, has_budget=budget is not None)
        ),
        utility=_utility(release),
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
            *(_sentence(_without_code(text)) for text in ledger["not_covered"]),
            *LIMITS,
        ),
        budget="" if budget is None else budget.sentence(),
        audit=checked_audit,
    )  # fmt: skip


def _without_code(text: str) -> str:
    """Drop the clauses that name arguments in Python: a card has other readers."""
    clauses = re.split(r"(?<=[;.]) ", text)
    return " ".join(clause for clause in clauses if not _CODE.search(clause)).rstrip("; ")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def _facts(release: Any, ledger: Mapping[str, Any]) -> dict[str, str]:
    unit, settings = release.ledger.neighbours, release.settings
    test, has_claim = str(settings.get("privacy_test", "")), ledger["epsilon"] is not None
    return {
        "table": " and ".join(map(plain_or_quoted, getattr(release, "named", (release.schema.table,)))),
        "total": _total(ledger),
        "number of rows": _number_of_rows(release, ledger),
        **({"protected": unit.protected, "neighbours": ledger["neighbours"]} if has_claim else UNPROTECTED),
        "covers": release.ledger.covers or "the scopes of the entries below",
        "privacy test": PRIVACY_TESTS.get(test, test),
        "model": plain_or_quoted(str(settings.get("model", ""))) if "model" in settings else OWN_MODEL,
        "columns": f"{len(release.schema.columns)}, of which {len(release.domain)} are modelled",
        "made with": made_with(release.versions),
        "sha256": release.digest,
    }


def _number_of_rows(release: Any, ledger: Mapping[str, Any]) -> str:
    """The noisy number of rows that the total pays for, and delta times it, or that none is released."""
    try:
        rows = release.answers.number_of_rows()
    except ValueError:
        return NO_ROWS
    of_table = f" of {plain_or_quoted(release.named[0])}" if hasattr(release, "named") else ""
    of_table += " used" if release.ledger.neighbours.of_people else ""
    if ledger["delta"] is None:
        return f"about {rows:,}{of_table} (with noise, but without a guarantee)"
    product = rounded_up(ledger["delta"] * rows, 2)
    return (
        f"about {rows:,}{of_table} (with noise; paid for in the total). Delta times this number is {product}"
        ", which should be far below 1"
    )


def _utility(release: Any) -> tuple[str, ...]:
    """Expected distances of columns and pairs, and how close such figures were to the true ones."""
    if not _has_default_model(release):
        return (NO_UTILITY,)
    expected = expected_distances(release.answers, release.domain)
    if not expected.columns:
        return (NO_UTILITY,)
    lines = [_mean_distance("Columns", {(name,): distance for name, distance in expected.columns.items()})]
    if expected.pairs:
        lines.append(_mean_distance("Pairs of columns", expected.pairs))
    return (*lines, MEANING, WORTH)


def _has_default_model(release: Any) -> bool:
    """Whether rows come from the default model of one table alone: no seed, no published table."""
    settings, seeds = release.settings, getattr(release, "seeds", None)
    if seeds is None or any(part.kept for part in seeds.parts) or "public_rows" in settings:
        return False
    # In earlier files the name of the default model may stand for another one.
    return settings.get("model") == DEFAULT and isinstance(
        learner_from_config(settings), type(named_learner(DEFAULT))
    )


def _mean_distance(of: str, distances: Mapping[tuple[str, ...], float]) -> str:
    worst = max(distances, key=lambda name: distances[name])
    mean = math.fsum(distances.values()) / len(distances)
    largest = f"the largest is {distances[worst]:.2g} ({' and '.join(map(plain_or_quoted, worst))})"
    return f"{of}: expected distance {mean:.2g} on average; {largest}."


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
            raise ValueError(f"{name} is no field of a card; the fields are {', '.join(KNOWN)}")
        if not isinstance(text, str) or not text.strip() or len(text) > MAX_LENGTH:
            raise ValueError(f"{name} must be a text of 1 to {MAX_LENGTH} characters: {KNOWN[name]}")
    return {name: known.get(name, "") for name in KNOWN}


def _cost(entry: Mapping[str, Any]) -> dict[str, str]:
    line = {name: entry[name] for name in ("name", "mechanism", "scope", "note")} | {"epsilon": entry["cost"]}
    return line | {"note": ASSUMED} if entry["provenance"] == "assumed" else line


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
            remarks += f"; up to {mass.most:.0%} of the rows have a replaced value"
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
            f"no source is cited of {listed(other)}: the domain file differs from the release, as it was "
            "edited since or a rule computes the column; give the file that was fitted",
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
        return (f"Counts of the columns of {plain_or_quoted(root)}, with confidence intervals.",)
    return ERROR_BARS[:1] if "public_rows" in release.settings else ERROR_BARS


def _audit(audit: Any) -> dict[str, Any]:
    """Publishable results of an audit of a public or simulated table."""
    if audit is None:
        return {}
    content = audit.publishable() if hasattr(audit, "publishable") else audit
    if not isinstance(content, Mapping) or content.get("may_be_published") is not True:
        raise ValueError(
            "audit must be of a public or simulated table: an audit of real rows depends on them without "
            "noise and must not be published"
        )
    stages: Sequence[Mapping[str, Any]] = content.get("stages", ())
    lines = [{name: str(stage[name]) for name in ("threat", "verdict", "words")} for stage in stages]
    return {"synthesizer": str(content["synthesizer"]), "verdict": str(content["verdict"]), "stages": lines}
