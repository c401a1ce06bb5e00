"""What a fit tells the next of its domain: looks, and what learning it cost, which that one pays again."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sdv_plausible.fitting.release_budget import Budget
from sdv_plausible.privacy.accounting.losses import InfiniteLoss
from sdv_plausible.privacy.entries import EARLIER, LedgerEntry, counted
from sdv_plausible.privacy.foreign_texts import entry_name, quoted, says
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.parameter_checks import listed
from sdv_plausible.release.file.document_nodes import DocumentNode
from sdv_plausible.release.file.ledger_section import MOST_COLUMNS, read_ledger, write_ledger
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.table.columns.column_document import type_words
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.declared.declarations import given_file, looked_at
from sdv_plausible.table.declared.domain_file import DomainFile, digest
from sdv_plausible.table.declared.specifications import origin_of
from sdv_plausible.table.learned.private_domain import LearningBudget

_CARRIED = rf'{EARLIER} (without a claim|at epsilon [0-9.e+-]+ and delta [0-9.e+-]+): "[^"]*"'


@dataclass(frozen=True, kw_only=True)
class ReusedDomain:
    """What learning a domain cost, before the fit that uses it."""

    entries: tuple[LedgerEntry, ...] = ()  # its charges, as the later fit's ledger names them
    when: str = ""  # the charge in the budget that it was drawn from; empty where there was none
    what: str = ""
    anew: bool = False  # whether a fit learns all value sets anew, whatever was found before

    @property
    def voted(self) -> bool:
        """Whether types were voted for: how many columns there are is an answer of the rows, too."""
        return any(entry.name == "types" and entry.losses for entry in self.entries)

    @property
    def assumes(self) -> bool:
        """Whether it was learned of columns whose types nobody had vouched for."""
        return any(entry.assumes for entry in self.entries)

    def vouched(self) -> ReusedDomain:
        """The same for who vouches now for the types that were assumed."""
        return replace(self, entries=tuple(entry for entry in self.entries if not entry.assumes))

    def not_in(self, budget: Budget, planned: PrivacyLedger) -> PrivacyLedger:
        """What a fit still has to draw: all that was planned, without what this budget has paid already."""
        if not self.entries or not self.when or not budget.holds(self.when, self.what):
            return planned
        rest = PrivacyLedger(delta=planned.delta, covers=planned.covers, neighbours=planned.neighbours)
        rest.charge(*(entry for entry in planned.entries if entry not in self.entries))
        return rest


def write_learned(
    ledger: PrivacyLedger, domain: Iterable[Attribute], charge: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """What learning a domain cost, as a domain file and a saved Domain hold it."""
    # ``columns``: what it paid for; ``charge``: ``when`` and ``what`` of the one in the budget.
    paid = {attribute.name: digest(attribute) for attribute in domain if attribute.provenance == "private"}
    return {"charge": charge, "columns": paid, "ledger": write_ledger(ledger)}


def with_charges(
    domain: Domain,
    ledger: PrivacyLedger,
    charge: Mapping[str, str] | None = None,
    others: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> Domain:
    """The domain of a fit with what learning it cost, for the next fit that is given it.

    ``others`` are words of the columns that are not modelled: after a vote, answers of the rows.
    """
    # What ended the fit's claim ends that of the domain, if anything of it was learned or its rules were
    # changed after a look: columns that stand in for others are of these rules. ``charge``: ``when`` and
    # ``what`` of the one in the budget that paid for the fit.
    charged = (e for e in counted(ledger.entries) if "domain" in e.parts and e.status == "charged")
    paid = [_of_domain(entry) for entry in charged]
    paid += [entry for entry in ledger.entries if entry.assumes]
    marked = any(e.name == "rules" and e.status == "no claim" for e in ledger.entries)
    if not (paid or marked or any(a.provenance == "private" for a in domain)):
        return domain
    ended = (replace(e, losses=(InfiniteLoss(),)) for e in ledger.entries if e.status == "no claim")
    cost = PrivacyLedger(delta=ledger.delta, covers="the domain", neighbours=ledger.neighbours)
    cost.charge(*paid, *ended)
    learned = write_learned(cost, domain, charge)
    if any(entry.name == "types" for entry in paid):
        learned["types"] = {name: type_words(words) for name, words in others.items()}
    return replace(domain, learned=learned)


def with_looks(domain: Domain, looks: DomainFile, rules: RuleSet, digests: Collection[str]) -> Domain:
    """The domain of a fit with the record of looks at its columns and rules, whose ``digests`` these are.

    What was edited after an earlier look is so by its provenance, or cited its public source.
    """
    through = looks.looked_rules is not None
    seen = (
        name
        for name in domain.names
        if not {name, *rules.behind(name)}.isdisjoint(looks.looked) or (through and name in rules.added)
    )
    return looked_at(domain, {*looks.looked, *seen}, digests if through else None)


def without_assumed_format(attribute: Attribute, ledger: PrivacyLedger) -> Attribute:
    """A declared column without a date format that came from metadata of unknown origin."""
    is_assumed = attribute.name in ledger.assumed_types
    return replace(attribute, datetime_format=None) if is_assumed else attribute


def _of_domain(entry: LedgerEntry) -> LedgerEntry:
    """What an entry charged for the domain: of what stands for domain and model, the domain's most."""
    if not entry.envelope:
        return entry
    how, losses = (
        "value sets, the most that they may cost whatever the types",
        LearningBudget.within(entry.losses).most,
    )
    return replace(entry, mechanism=how, losses=losses, scope="the domain", parts=("domain",), envelope=False)


def was_voted(file: DomainFile | None) -> bool:
    """Whether the types of a learned domain were voted for: its record says what that cost."""
    return any(entry.get("name") == "types" and entry.get("losses") for entry in _recorded(file))


def of_the_rows(file: DomainFile | None) -> set[str]:
    """Columns whose types declarations repeat, or may repeat, from the rows: they are no statement."""
    if file is None:
        return set()
    assumed = {name for entry in _recorded(file) for name in entry.get("assumes") or ()}
    origins = {
        name: words.provenance if isinstance(words, Attribute) else origin_of(words)
        for name, words in file.declarations().items()
    }
    return assumed | {name for name, origin in origins.items() if origin in ("inferred", "edited")}


def _recorded(file: DomainFile | None) -> Sequence[Mapping[str, Any]]:
    """Entries of what learning a domain cost, as they are written."""
    return (((file.learned if file else None) or {}).get("ledger") or {}).get("entries") or ()


def earlier_losses(domain: Any, neighbours: Neighbours) -> ReusedDomain:
    """What the domain that a fit is given cost when it was learned."""
    # Refused if the record is damaged, or protects others than the fit does.
    file = given_file(domain)
    if file is None or file.learned is None:
        return ReusedDomain()
    learned = file.learned
    place = str(Path(domain)) if isinstance(domain, (str, os.PathLike)) else "domain"
    parts = DocumentNode(learned, f"{place}: learned").entries()
    if set(parts) - {"columns", "types"} != {"charge", "ledger"}:
        raise DocumentNode(learned, f"{place}: learned").refuse(
            "must have the entries charge, columns and ledger"
        )
    if "columns" in parts:  # version 0.1 named none
        paid = {name: one.text() for name, one in parts["columns"].entries(MOST_COLUMNS).items()}
        known = file.declarations()
        learned_here = (name for name in file.private if name not in file.edited)  # which end the claim
        if strange := [name for name in learned_here if paid.get(name) != digest(known[name])]:
            raise strangers(place, strange, sorted(paid))
    for one in parts["types"].entries(MOST_COLUMNS).values() if "types" in parts else ():
        one.entries()  # complains of what is no mapping of words
    ledger, _ = read_ledger(parts["ledger"])
    if not any(entry.losses or entry.assumes for entry in ledger.entries):
        raise parts["ledger"].refuse("must have a loss: learn the domain anew (declare --private)")
    if ledger.neighbours != neighbours:
        raise ValueError(
            f"domain: it was learned for the {ledger.neighbours.relation}, and this fit is for the "
            f"{neighbours.relation}: fit for the same, or declare the domain"
        )
    at = "without a claim"
    if ledger.claims_privacy:
        at = f"at epsilon {rounded_up(ledger.total())} and delta {rounded_up(ledger.delta)}"
    entries = tuple(_carried(entry, at) for entry in ledger.entries)
    if parts["charge"].value is None:
        return ReusedDomain(entries=entries)
    charge = parts["charge"].fields(("when", "what"))
    return ReusedDomain(entries=entries, when=charge["when"].text(), what=charge["what"].text())


def strangers(place: str, names: Sequence[str], paid: Sequence[str]) -> ValueError:
    """Say that columns were learned by another fit than the record tells of."""
    return ValueError(
        f"{place}: what learning {listed(names)} as it is here cost is not with it ('learned' is of "
        f"{listed(paid) if paid else 'no column'}): two learned domains cannot be made one; give one whole, "
        "as it was learned, learn the columns together, or declare them"
    )


def _carried(entry: LedgerEntry, at: str) -> LedgerEntry:
    """An entry as the later ledger has it, whichever of the fits before it is from."""
    if entry.assumes:
        return replace(entry, envelope=False)
    # What it stood for is not to follow. Its texts are the domain file's, and stay in quotation marks.
    scope = entry.scope if entry.scope in ("the domain", "the types", "everything") else quoted(entry.scope)
    entry = replace(entry, envelope=False, name=entry_name(entry.name), scope=scope)
    if re.fullmatch(_CARRIED, entry.mechanism) and not entry.note:
        return entry
    how, note = f"{EARLIER} {at}: {quoted(entry.mechanism)}", entry.note and says(entry.note)
    if entry.status == "no claim":
        why = quoted(entry.note or entry.mechanism)
        note = f"the domain was learned in a fit without a claim: {why}"
    return replace(entry, mechanism=how, note=note)
