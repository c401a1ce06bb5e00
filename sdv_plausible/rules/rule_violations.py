"""Rows that break rules, for the data owner."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd

import sdv_plausible.rules as kinds
from sdv_plausible.rules.rule import DerivingRule, Rule
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.table.columns.domain import Attribute
from sdv_plausible.table.data_checks import Check, Finding, check_columns


def check_rows(
    rule_set: RuleSet, declared: Mapping[str, tuple[Attribute, bool | None]], table: pd.DataFrame,
    show: Callable[[str], object],
) -> tuple[Check, set[str]]:  # fmt: skip
    """Compare rows with declarations and rules. Not private."""
    # ``declared``: attribute and declared nullability of every declared column that the model sees. The
    # second result names the checked columns, directly or by a surrogate or rule: that all their cells fit is
    # reported, too. Columns with undeclared values are not among them.
    known = {name: attribute for name, (attribute, _) in declared.items()}
    nullable = {name: missing for name, (_, missing) in declared.items()}
    columns_check = check_columns(rule_set.fold(table), known, nullable, show)
    check = Check((*columns_check.findings, *rule_findings(rule_set, table)))
    modelled = set(declared) - set(rule_set.added)
    return check, modelled.union(*(rule.columns for rule in rule_set.rules if _can_misfit(rule, nullable)))


def _can_misfit(rule: Rule, nullable: Mapping[str, bool | None]) -> bool:
    """Whether a row can break a rule or its surrogates; undeclared dates with times cannot."""
    return (
        not isinstance(rule, kinds.DateAndTime)
        or rule.date in nullable
        or nullable.get(rule.time) is not None
    )


def rule_findings(rule_set: RuleSet, table: pd.DataFrame) -> list[Finding]:
    """Rules that rows break, with counts. Not private."""
    findings = []
    for rule, broken in rule_set.broken(table).items():
        rows = int(broken.sum())
        if rows:
            is_deriving = isinstance(rule, DerivingRule)
            what = "counts as the nearest row that keeps it" if is_deriving else "counts, but is never made"
            problem = f"break the rule; such a row {what}"
            findings.append(Finding(f"rule '{rule}'", problem, rows, rows / len(table)))
    return findings
