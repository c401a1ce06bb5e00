"""From a release of related tables back to what its synthesizer was told."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd

import sdv_plausible.rules as kinds
from sdv_plausible.fitting.reused_domain import without_assumed_format
from sdv_plausible.privacy.accounting.losses import InfiniteLoss
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.table.cells.dates import shows_time, write_dates
from sdv_plausible.table.columns.column_document import type_words

if TYPE_CHECKING:
    from sdv_plausible.extensions.multi_table.related_release import FamilyRelease
    from sdv_plausible.rules.rule import DerivingRule
    from sdv_plausible.table.columns.domain import Attribute, Domain


def arguments_of(release: FamilyRelease) -> dict[str, Any]:
    """The constructor's arguments; value sets that were learned are not among them, and are learned anew."""
    settings, tree = release.tables[release.tree.root].settings, release.tree
    relations = [
        {
            "parent_table_name": link.parent, "parent_primary_key": link.primary_key,
            "child_table_name": link.child, "child_foreign_key": link.foreign_key,
        }
        for link in tree.links
    ]  # fmt: skip
    return {
        "metadata": {
            "tables": {name: _table(release, name) for name in tree.tables},
            "relationships": relations,
        },
        "locales": list(settings["locales"]),
        "epsilon": _epsilon(release),
        "delta": release.ledger.delta,
        "max_children": {link.child: link.most for link in tree.links},
        "domain": {name: _declared(release, name) for name in tree.tables},
        "roles": {name: _roles(release, name) for name in release.roles},
        "types": None if release.ledger.assumed_types else settings["types"],
        "max_bins": settings["max_bins"],
        "neighbours": tree.neighbours,
    }


def _table(release: FamilyRelease, name: str) -> dict[str, Any]:
    one, whole, columns = release.tables[name], release.whole(name), dict[str, Any]()
    for column in release.own_columns(name):
        columns[column.name] = dict(column.spec)
        if column.name in whole and (form := whole[column.name].datetime_format) is not None:
            columns[column.name].setdefault("datetime_format", form)  # a domain file may have told it
    key = one.schema.primary_key
    keys = {} if key is None else {"primary_key": list(key) if isinstance(key, tuple) else key}
    return {"columns": columns, **keys}


def _declared(release: FamilyRelease, name: str) -> dict[str, Any]:
    one, own, assumed = release.tables[name], release.whole(name), release.tables[name].ledger.assumed_types
    known = {
        column.name: type_words(column.spec)
        for column in release.own_columns(name)
        if assumed and column.name not in assumed
    }
    known |= {a.name: words for a in own if a.name not in assumed and (words := _forms(a))}
    declared = {a.name: without_assumed_format(a, one.ledger) for a in own if a.provenance == "declared"}
    rules = {
        made: _with_rule(rule, attribute, one.domain)
        for rule in one.rules.rule_set.deriving_rules
        for made, attribute in one.rules.made.items()
        if made in rule.made and (made in declared or made not in assumed)
    }
    return {**known, **declared, **rules}


def _forms(attribute: Attribute) -> dict[str, Any]:
    """How cells are read that no metadata says: numbers written as text, and moments that stay whole."""
    if attribute.number_format is not None:
        return {"sdtype": "numerical", "number_format": attribute.number_format}
    form = attribute.datetime_format
    return {"sdtype": "datetime", "parts": "whole"} if form is not None and shows_time(form) else {}


def _with_rule(rule: DerivingRule, made: Attribute, domain: Domain) -> dict[str, Any]:
    """Words of a column that the model sees in parts: how it is split, and its range if that was declared."""
    if isinstance(rule, kinds.DateAndTime):
        words: dict[str, Any] = {"sdtype": "datetime", "parts": "split", "resolution": rule.resolution}
    elif isinstance(rule, kinds.Multiple):
        words = {"sdtype": "numerical", "resolution": rule.step}
        steps = domain[rule.steps]
        alone = [low for low, high in zip(steps.lower, steps.upper, strict=True) if low == high]
        if 0 < len(alone) < len(steps.lower):
            words["special_values"] = [low * rule.step for low in alone]
    else:
        raise ValueError(f"column {made.name!r} is made by a rule that no declaration says: {rule}")
    if made.provenance != "declared":
        return {word: said for word, said in words.items() if word != "special_values"}
    ends: list[Any] = [made.lower[0], made.upper[-1]]
    if made.kind == "datetime":
        moments = pd.Series(ends, dtype="M8[ns]").dt.tz_localize("UTC")
        ends = [str(one.tz_localize(None)) for one in moments]
        if (form := made.datetime_format) is not None:
            ends = write_dates(moments, form).to_list()
    words |= dict(zip(("range_min", "range_max"), ends, strict=True))
    return words | {"range_is_nullable": made.nullable}


def _roles(release: FamilyRelease, name: str) -> dict[str, Any]:
    domain, found = release.tables[name].domain, dict[str, Any]()
    for role in release.roles[name]:
        attribute = domain[role.column]
        at = role.code - len(attribute.lower)  # values come after bins, and missing after all
        value = attribute.values[at] if at < len(attribute.values) else None
        found.setdefault(role.column, {})[value] = role.often
    return found


def _epsilon(release: FamilyRelease) -> float:
    """What all tables cost together, also where an entry without noise of its own ends the claim."""
    if math.isinf(release.tables[release.tree.root].settings["epsilon"]):
        return math.inf
    charged = PrivacyLedger(delta=release.ledger.delta, neighbours=release.ledger.neighbours)
    for entry in release.ledger.entries:
        if not any(isinstance(loss, InfiniteLoss) for loss in entry.losses):
            charged.charge(entry)
    return charged.total()
