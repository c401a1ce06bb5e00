"""The domain in a release file: the values of each column, and their provenance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from json import dumps
from typing import Any

import pandas as pd

from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.release.file.document_nodes import DocumentNode, check_writable
from sdv_plausible.rules.rule import DerivingRule, Rule, attribute_specs, date_formats
from sdv_plausible.rules.rule_files import rule_from_dict, rule_to_json
from sdv_plausible.rules.rule_set import FittedRules, RuleSet, provenance_of
from sdv_plausible.table.columns.column_document import ATTRIBUTE, OPTIONAL_ENTRIES
from sdv_plausible.table.columns.domain import Attribute, Domain, read_attribute, write_attribute

REQUIRED = tuple(name for name in ATTRIBUTE if name not in OPTIONAL_ENTRIES)


def write_domain(domain: Domain) -> list[dict[str, Any]]:
    """Domain as a section: one object per attribute, in column order."""
    return [write_attribute(attribute) for attribute in domain]


def read_domain(node: DocumentNode) -> Domain:
    """Read and check the section of the domain."""
    items = node.items(100_000)
    attributes = tuple(map(_read_modelled, items))
    if not attributes:
        raise node.refuse("must have a column at least")
    return node.validate(lambda: Domain(attributes))


def read_column(node: DocumentNode) -> Attribute:
    """Read one attribute."""
    node.entries()
    attribute = node.validate(lambda: read_attribute(node.value, REQUIRED))
    if attribute.datetime_format is not None:
        node.validate(lambda: pd.Timestamp(0).strftime(attribute.datetime_format))
    return attribute


def check_column(name: str, attribute: Attribute) -> None:
    """Check before a fit that a release file can hold an attribute."""
    subject = f"domain of column {name!r}"
    check_writable("domain", subject, lambda: write_attribute(attribute), _read_modelled)
    if attribute.name != name:
        raise Refused.saying("domain", f"{subject} has the name {attribute.name!r:.60}")


def _read_modelled(node: DocumentNode) -> Attribute:
    attribute = read_column(node)
    _check_arithmetic(node, attribute)
    return attribute


def _check_arithmetic(node: DocumentNode, attribute: Attribute) -> None:
    """Reject bins whose width or rounded ends overflow."""
    widths = [high - low for low, high in zip(attribute.lower, attribute.upper, strict=True)]
    if attribute.kind == "float":
        largest = max((abs(end) for end in (*attribute.lower, *attribute.upper)), default=0.0)
        if (
            not all(map(math.isfinite, widths))
            or not largest * 10.0 ** max(attribute.decimals or 0, 0) < math.inf
        ):
            raise node.refuse("bins must not be wider than a double, also when they are rounded")


def write_rules(rules: FittedRules) -> list[dict[str, Any]]:
    """Rules as a section, in the order in which they derive columns."""
    return [
        {"rule": rule_to_json(rule), "made": [write_attribute(rules.made[name]) for name in rule.made]}
        for rule in rules.rule_set.rules
    ]


def read_rules(node: DocumentNode, domain: Domain) -> FittedRules:
    """Read and check the section of the rules."""
    deriving_rules: list[DerivingRule] = []
    row_constraints: list[Rule] = []
    made: dict[str, Attribute] = {}
    known = {attribute.name: attribute for attribute in domain}
    for item in node.items(10_000):
        f = item.fields(("rule", "made"))
        rule = _read_rule(f["rule"])
        attributes = [read_column(column) for column in f["made"].items(10_000)]
        derived = {attribute.name: attribute for attribute in attributes}
        if tuple(attribute.name for attribute in attributes) != rule.made:
            raise f["made"].refuse("must be the columns that the rule makes, in order")
        inputs = (*rule.sources, *rule.added) if isinstance(rule, DerivingRule) else rule.columns
        if not set(inputs) <= set(known) or set(derived) & set(known):
            raise item.refuse("must make new columns, of columns of the domain or made before")
        item.validate(partial(_check_rule, rule, known, derived))
        if isinstance(rule, DerivingRule):
            origins = {"edited", provenance_of(known[name].provenance for name in inputs)}
            if not {attribute.provenance for attribute in attributes} <= origins:
                raise f["made"].refuse("must have the provenance of the columns that they are made of")
        known |= derived
        made |= derived
        if isinstance(rule, DerivingRule):
            deriving_rules.append(rule)
        else:
            row_constraints.append(rule)
    added = [name for rule in deriving_rules for name in rule.added]
    if len(set(added)) < len(added):
        raise node.refuse("a column may belong to one rule only")
    if not deriving_rules and not row_constraints:
        return FittedRules()
    return FittedRules(RuleSet(tuple(deriving_rules), tuple(row_constraints), attribute_specs(known)), made)


def _check_rule(rule: Rule, known: Mapping[str, Attribute], derived: Mapping[str, Attribute]) -> None:
    """Reject a rule that does not apply to these columns."""
    if isinstance(rule, DerivingRule) and not rule.fits(known, derived):
        raise ValueError("'made' must be what the rule makes of its columns")
    columns = {**known, **derived}
    no_rows = pd.DataFrame({name: pd.Series([], dtype=object) for name in rule.columns})
    rule.holds(no_rows, date_formats(attribute_specs({name: columns[name] for name in rule.columns})))


def check_writable_rules(rules: RuleSet) -> None:
    """Check before a fit that a release file can hold these rules."""
    for rule in rules.rules:
        check_writable("rules", f"rule '{rule}'", partial(rule_to_json, rule), _read_rule)


def _read_rule(node: DocumentNode) -> Rule:
    rule: Rule = node.validate(lambda: rule_from_dict(node.value))
    if dumps(rule_to_json(rule), sort_keys=True) != dumps(node.value, sort_keys=True):
        raise node.refuse("must be written as a rule is saved")
    return rule
