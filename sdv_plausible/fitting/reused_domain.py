"""A domain that an earlier fit learned: its cost, which later fits pay again, and looks at the rows."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sdv_plausible.privacy.accounting.losses import InfiniteLoss
from sdv_plausible.privacy.entries import REUSED_PREFIX, LedgerEntry, entries_in_total
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.ledger_record import entry_name, quoted, rounded_up, says
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.parameter_checks import listed
from sdv_plausible.release.file.document_nodes import DocumentNode
from sdv_plausible.release.file.ledger_section import MOST_COLUMNS, read_ledger, write_ledger
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.table.columns.column_document import type_words
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.declared.declarations import explicit_domain_file, with_access_record
from sdv_plausible.table.declared.domain_file import DomainFile, digest
from sdv_plausible.table.declared.specifications import declared_provenance
from sdv_plausible.table.learned.private_domain import LearningBudget

if TYPE_CHECKING:
    from sdv_plausible.fitting.release_budget import Budget

_CARRIED = rf'{REUSED_PREFIX} (without a claim|at epsilon [0-9.e+-]+ and delta [0-9.e+-]+): "[^"]*"'


@dataclass(frozen=True, kw_only=True)
class ReusedDomain:
    """Cost of a domain that was learned before the fit that uses it."""

    entries: tuple[LedgerEntry, ...] = ()  # its charges, as the ledger of the later fit shows them
    when: str = ""  # date and name of its charge in a budget; empty without one
    what: str = ""
    anew: bool = False  # whether the fit learns all domains again

    @property
    def voted(self) -> bool:
        """Whether its types were inferred, so that even the number of columns depends on the rows."""
        return any(entry.name == "types" and entry.losses for entry in self.entries)

    @property
    def assumes(self) -> bool:
        """Whether it assumes column types of unknown origin."""
        return any(entry.assumes for entry in self.entries)

    def vouched(self) -> ReusedDomain:
        """The cost without assumptions, now that the types are declared."""
        return replace(self, entries=tuple(entry for entry in self.entries if not entry.assumes))

    def not_in(self, budget: Budget, planned: PrivacyLedger) -> PrivacyLedger:
        """The plan without the charges that this budget has paid already."""
        if not self.entries or not self.when or not budget.holds(self.when, self.what):
            return planned
        rest = PrivacyLedger(delta=planned.delta, covers=planned.covers, neighbours=planned.neighbours)
        rest.charge(*(entry for entry in planned.entries if entry not in self.entries))
        return rest


def cost_document(
    ledger: PrivacyLedger, domain: Iterable[Attribute], charge: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The cost of learned columns as a domain file stores it; ``charge`` has ``when`` and ``what``."""
    paid = {attribute.name: digest(attribute) for attribute in domain if attribute.provenance == "private"}
    return {"charge": charge, "columns": paid, "ledger": write_ledger(ledger)}


def with_cost(
    domain: Domain,
    ledger: PrivacyLedger,
    charge: Mapping[str, str] | None = None,
    others: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> Domain:
    """The domain of a fit with its cost, for later fits; ``others`` are inferred types of other columns."""
    # An entry without a guarantee also ends that of the domain if a column was learned or a rule was changed
    # after a look.
    charged = (e for e in entries_in_total(ledger.entries) if "domain" in e.parts and e.status == "charged")
    paid = [_of_domain(entry) for entry in charged]
    paid += [entry for entry in ledger.entries if entry.assumes]
    marked = any(e.name == "rules" and e.status == "no claim" for e in ledger.entries)
    if not (paid or marked or any(a.provenance == "private" for a in domain)):
        return domain
    ended = (replace(e, losses=(InfiniteLoss(),)) for e in ledger.entries if e.status == "no claim")
    cost = PrivacyLedger(delta=ledger.delta, covers="the domain", neighbours=ledger.neighbours)
    cost.charge(*paid, *ended)
    learned = cost_document(cost, domain, charge)
    if any(entry.name == "types" for entry in paid):
        learned["types"] = {name: type_words(words) for name, words in others.items()}
    return replace(domain, learned=learned)


def with_look_record(domain: Domain, looks: DomainFile, rules: RuleSet, digests: Collection[str]) -> Domain:
    """The domain of a fit with the record of looks at its columns and rules, which have these ``digests``."""
    saw_rules = looks.looked_rules is not None
    seen = (
        name
        for name in domain.names
        if not {name, *rules.behind(name)}.isdisjoint(looks.looked) or (saw_rules and name in rules.added)
    )
    return with_access_record(domain, {*looks.looked, *seen}, digests if saw_rules else None)


def without_assumed_format(attribute: Attribute, ledger: PrivacyLedger) -> Attribute:
    """A declared column without its date format if that came from metadata of unknown origin."""
    is_assumed = attribute.name in ledger.assumed_types
    return replace(attribute, datetime_format=None) if is_assumed else attribute


def _of_domain(entry: LedgerEntry) -> LedgerEntry:
    """The charge for the domain in an entry: of a worst-case charge, the most that the domain may cost."""
    if not entry.envelope:
        return entry
    how, losses = (
        "value sets, upper bound on their cost for all possible types",
        LearningBudget.within(entry.losses).most,
    )
    return replace(entry, mechanism=how, losses=losses, scope="the domain", parts=("domain",), envelope=False)


def has_inferred_types(file: DomainFile | None) -> bool:
    """Whether the types of a learned domain were inferred, by its record of the cost."""
    return any(entry.get("name") == "types" and entry.get("losses") for entry in _recorded(file))


def columns_from_rows(file: DomainFile | None) -> set[str]:
    """Columns whose declared types may come from the rows, so that they declare nothing."""
    if file is None:
        return set()
    assumed = {name for entry in _recorded(file) for name in entry.get("assumes") or ()}
    origins = {
        name: words.provenance if isinstance(words, Attribute) else declared_provenance(words)
        for name, words in file.declarations().items()
    }
    return assumed | {name for name, origin in origins.items() if origin in ("inferred", "edited")}


def _recorded(file: DomainFile | None) -> Sequence[Mapping[str, Any]]:
    """Ledger entries in the record of a learned domain, as JSON."""
    return (((file.learned if file else None) or {}).get("ledger") or {}).get("entries") or ()


def read_reused_domain(domain: Any, neighbours: Neighbours) -> ReusedDomain:
    """The cost of the domain that a fit is given; ValueError if its record is damaged or for another unit."""
    file = explicit_domain_file(domain)
    if file is None or file.learned is None:
        return ReusedDomain()
    learned = file.learned
    place = str(Path(domain)) if isinstance(domain, (str, os.PathLike)) else "domain"
    parts = DocumentNode(learned, f"{place}: learned").entries()
    if set(parts) - {"columns", "types"} != {"charge", "ledger"}:
        raise DocumentNode(learned, f"{place}: learned").refuse(
            "must have exactly the entries charge, columns and ledger"
        )
    if "columns" in parts:  # version 0.1 named none
        paid = {name: one.text() for name, one in parts["columns"].entries(MOST_COLUMNS).items()}
        known = file.declarations()
        learned_here = (
            name for name in file.private if name not in file.edited
        )  # an edited column ends the guarantee
        if unpaid := [name for name in learned_here if paid.get(name) != digest(known[name])]:
            raise unpaid_columns(place, unpaid, sorted(paid))
    for one in parts["types"].entries(MOST_COLUMNS).values() if "types" in parts else ():
        one.entries()  # raises unless it is a mapping
    ledger, _ = read_ledger(parts["ledger"])
    if not any(entry.losses or entry.assumes for entry in ledger.entries):
        raise parts["ledger"].refuse("must have a loss: learn the domain again (declare --private)")
    if ledger.neighbours != neighbours:
        raise ValueError(
            f"domain: it was learned for the {ledger.neighbours.relation}, but this fit is for the "
            f"{neighbours.relation}. Use the same person and neighbours, or declare the domain"
        )
    at = "without a claim"
    if ledger.claims_privacy:
        at = f"at epsilon {rounded_up(ledger.total())} and delta {rounded_up(ledger.delta)}"
    entries = tuple(_carried(entry, at) for entry in ledger.entries)
    if parts["charge"].value is None:
        return ReusedDomain(entries=entries)
    charge = parts["charge"].fields(("when", "what"))
    return ReusedDomain(entries=entries, when=charge["when"].text(), what=charge["what"].text())


def unpaid_columns(place: str, names: Sequence[str], paid: Sequence[str]) -> ValueError:
    """The error for learned columns whose cost the record does not contain."""
    return ValueError(
        f"{place}: the cost of learning {listed(names)} is missing ('learned' covers "
        f"{listed(paid) if paid else 'no column'}). Learned domains cannot be merged: use one unchanged, "
        "learn all columns together, or declare them"
    )


def _carried(entry: LedgerEntry, at: str) -> LedgerEntry:
    """An entry of an earlier fit as the ledger of a later fit shows it."""
    if entry.assumes:
        return replace(entry, envelope=False)
    # It no longer covers other entries. Its texts come from the domain file, and are quoted.
    scope = entry.scope if entry.scope in ("the domain", "the types", "everything") else quoted(entry.scope)
    entry = replace(entry, envelope=False, name=entry_name(entry.name), scope=scope)
    if re.fullmatch(_CARRIED, entry.mechanism) and not entry.note:
        return entry
    how, note = f"{REUSED_PREFIX} {at}: {quoted(entry.mechanism)}", entry.note and says(entry.note)
    if entry.status == "no claim":
        why = quoted(entry.note or entry.mechanism)
        note = f"the domain was learned in a fit without a privacy guarantee: {why}"
    return replace(entry, mechanism=how, note=note)
