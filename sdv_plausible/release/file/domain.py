"""The domain in a release file: what each column may hold, and where that knowledge came from."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from sdv_plausible.privacy.accounting.losses import InfiniteLoss
from sdv_plausible.privacy.checks import Refused
from sdv_plausible.privacy.entries import LedgerEntry, counted
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.release.file.ledger import write_learned
from sdv_plausible.release.file.parts import Placed, check_writable
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.table.columns.column_document import ATTRIBUTE
from sdv_plausible.table.columns.domain import Attribute, Domain, read_attribute, write_attribute
from sdv_plausible.table.declared.declarations import looked_at
from sdv_plausible.table.declared.domain_file import DomainFile
from sdv_plausible.table.learned.private_domain import Whole

REQUIRED = tuple(name for name in ATTRIBUTE if name != "groups")  # written where there are some


def with_charges(domain: Domain, ledger: PrivacyLedger, charge: Mapping[str, str] | None = None) -> Domain:
    """The domain of a fit with what learning it cost, for the next fit that is given it."""
    # What ended the fit's claim ends that of the domain, if anything of it was learned or its rules were
    # changed after a look: columns that stand in for others are of these rules. ``charge``: ``when`` and
    # ``what`` of the one in the budget that paid for the fit.
    charged = (e for e in counted(ledger.entries) if "domain" in e.parts and e.status == "charged")
    paid = [_of_domain(entry) for entry in charged]
    marked = any(e.name == "rules" and e.status == "no claim" for e in ledger.entries)
    learned = paid or any(a.provenance == "private" for a in domain)
    if domain.learned is not None or not (learned or marked):
        return domain
    ended = (replace(e, losses=(InfiniteLoss(),)) for e in ledger.entries if e.status == "no claim")
    cost = PrivacyLedger(delta=ledger.delta, covers="the domain", neighbours=ledger.neighbours)
    cost.charge(*paid, *ended)
    names = (attribute.name for attribute in domain if attribute.provenance == "private")
    return replace(domain, learned=write_learned(cost, names, charge))


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


def _of_domain(entry: LedgerEntry) -> LedgerEntry:
    """What an entry charged for the domain: of what stands for domain and model, the domain's most."""
    if not entry.envelope:
        return entry
    how, losses = (
        "value sets, the most that they may cost whatever the types",
        Whole.within(entry.losses).most,
    )
    return replace(entry, mechanism=how, losses=losses, scope="the domain", parts=("domain",), envelope=False)


def write_domain(domain: Domain) -> list[dict[str, Any]]:
    """Section of a domain: one object per attribute, in column order."""
    return [write_attribute(attribute) for attribute in domain]


def read_domain(part: Placed) -> Domain:
    """Domain of a section."""
    items = part.items(100_000)
    attributes = tuple(map(_read_modelled, items))
    if not attributes:
        raise part.refuse("must have a column at least")
    return part.checked(lambda: Domain(attributes))


def read_column(part: Placed) -> Attribute:
    """Finished column of an object."""
    part.entries()
    found = part.checked(lambda: read_attribute(part.value, REQUIRED))
    if found.datetime_format is not None:
        part.checked(lambda: pd.Timestamp(0).strftime(found.datetime_format))
    return found


def check_column(name: str, attribute: Attribute) -> None:
    """Refuse a column that no release file can hold, before a fit is paid."""
    what = f"domain of column {name!r}"
    check_writable("domain", what, lambda: write_attribute(attribute), _read_modelled)
    if attribute.name != name:
        raise Refused.saying("domain", f"{what} has the name {attribute.name!r:.60}")


def _read_modelled(part: Placed) -> Attribute:
    attribute = read_column(part)
    _check_arithmetic(part, attribute)
    return attribute


def _check_arithmetic(part: Placed, attribute: Attribute) -> None:
    """Refuse bins in which no value can be drawn without an overflow."""
    widths = [high - low for low, high in zip(attribute.lower, attribute.upper, strict=True)]
    if attribute.kind == "float":
        largest = max((abs(end) for end in (*attribute.lower, *attribute.upper)), default=0.0)
        if (
            not all(map(math.isfinite, widths))
            or not largest * 10.0 ** max(attribute.decimals or 0, 0) < math.inf
        ):
            raise part.refuse("bins must not be wider than a double, also when they are rounded")
