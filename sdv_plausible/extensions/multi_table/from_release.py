"""Recover the arguments of a multi-table synthesizer from its release."""

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
    """Constructor arguments of a release, without learned domains: a refit learns them again."""
    settings, tree = release.tables[release.tree.root].settings, release.tree
    relationships = [
        {
            "parent_table_name": link.parent, "parent_primary_key": link.primary_key,
            "child_table_name": link.child, "child_foreign_key": link.foreign_key,
        }
        for link in tree.links
    ]  # fmt: skip
    return {
        "metadata": {
            "tables": {name: _table(release, name) for name in tree.tables},
            "relationships": relationships,
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
    table_release, domain, columns = release.tables[name], release.whole(name), dict[str, Any]()
    for column in release.own_columns(name):
        columns[column.name] = dict(column.spec)
        if column.name in domain and (date_format := domain[column.name].datetime_format) is not None:
            # A domain file may have declared the format.
            columns[column.name].setdefault("datetime_format", date_format)
    key = table_release.schema.primary_key
    keys = {} if key is None else {"primary_key": list(key) if isinstance(key, tuple) else key}
    return {"columns": columns, **keys}


def _declared(release: FamilyRelease, name: str) -> dict[str, Any]:
    table_release, domain = release.tables[name], release.whole(name)
    assumed = table_release.ledger.assumed_types
    types = {
        column.name: type_words(column.spec)
        for column in release.own_columns(name)
        if assumed and column.name not in assumed
    }
    types |= {a.name: words for a in domain if a.name not in assumed and (words := _forms(a))}
    declared = {
        a.name: without_assumed_format(a, table_release.ledger) for a in domain if a.provenance == "declared"
    }
    rules = {
        made: _with_rule(rule, attribute, table_release.domain)
        for rule in table_release.rules.rule_set.deriving_rules
        for made, attribute in table_release.rules.made.items()
        if made in rule.made and (made in declared or made not in assumed)
    }
    return {**types, **declared, **rules}


def _forms(attribute: Attribute) -> dict[str, Any]:
    """Formats that SDV metadata cannot declare: numbers written as text, and dates with a time kept whole."""
    if attribute.number_format is not None:
        return {"sdtype": "numerical", "number_format": attribute.number_format}
    form = attribute.datetime_format
    return {"sdtype": "datetime", "parts": "whole"} if form is not None and shows_time(form) else {}


def _with_rule(rule: DerivingRule, attribute: Attribute, domain: Domain) -> dict[str, Any]:
    """Declaration of a column that a rule splits: how it is split, and its range if that was declared."""
    if isinstance(rule, kinds.DateAndTime):
        words: dict[str, Any] = {"sdtype": "datetime", "parts": "split", "resolution": rule.resolution}
    elif isinstance(rule, kinds.Multiple):
        words = {"sdtype": "numerical", "resolution": rule.step}
        steps = domain[rule.steps]
        specials = [low for low, high in zip(steps.lower, steps.upper, strict=True) if low == high]
        if 0 < len(specials) < len(steps.lower):
            words["special_values"] = [low * rule.step for low in specials]
    else:
        raise ValueError(f"column {attribute.name!r} is made by a rule that no declaration says: {rule}")
    if attribute.provenance != "declared":
        return {word: value for word, value in words.items() if word != "special_values"}
    bounds: list[Any] = [attribute.lower[0], attribute.upper[-1]]
    if attribute.kind == "datetime":
        timestamps = pd.Series(bounds, dtype="M8[ns]").dt.tz_localize("UTC")
        bounds = [str(one.tz_localize(None)) for one in timestamps]
        if (date_format := attribute.datetime_format) is not None:
            bounds = write_dates(timestamps, date_format).to_list()
    words |= dict(zip(("range_min", "range_max"), bounds, strict=True))
    return words | {"range_is_nullable": attribute.nullable}


def _roles(release: FamilyRelease, name: str) -> dict[str, Any]:
    domain, roles = release.tables[name].domain, dict[str, Any]()
    for role in release.roles[name]:
        attribute = domain[role.column]
        index = role.code - len(attribute.lower)  # codes: bins first, then values, then missing
        value = attribute.values[index] if index < len(attribute.values) else None
        roles.setdefault(role.column, {})[value] = role.often
    return roles


def _epsilon(release: FamilyRelease) -> float:
    """Epsilon of all tables together, without entries that have no finite loss."""
    if math.isinf(release.tables[release.tree.root].settings["epsilon"]):
        return math.inf
    charged = PrivacyLedger(delta=release.ledger.delta, neighbours=release.ledger.neighbours)
    for entry in release.ledger.entries:
        if not any(isinstance(loss, InfiniteLoss) for loss in entry.losses):
            charged.charge(entry)
    return charged.total()
