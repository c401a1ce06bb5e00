"""Real rows that break the rules, for their holder."""

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
    # ``declared``: attribute, and whether missing was declared, of every declared column that the model sees.
    # Second come the columns about whose cells the check tells, be it by a stand-in or by a rule: that all of
    # them fit is told, too. None whose values were left open.
    known = {name: attribute for name, (attribute, _) in declared.items()}
    said = {name: missing for name, (_, missing) in declared.items()}
    found = check_columns(rule_set.fold(table), known, said, show)
    check = Check((*found.findings, *rule_findings(rule_set, table)))
    alone = set(declared) - set(rule_set.added)
    return check, alone.union(*(rule.columns for rule in rule_set.rules if _can_misfit(rule, said)))


def _can_misfit(rule: Rule, said: Mapping[str, bool | None]) -> bool:
    """Whether a row may not fit a rule or its stand-ins: every date has a time of day."""
    return not isinstance(rule, kinds.DateAndTime) or rule.date in said or said.get(rule.time) is not None


def rule_findings(rule_set: RuleSet, table: pd.DataFrame) -> list[Finding]:
    """Rules that rows break. Not private."""
    findings = []
    for rule, broken in rule_set.broken(table).items():
        rows = int(broken.sum())
        if rows:
            made = isinstance(rule, DerivingRule)
            what = "counts as the nearest row that keeps it" if made else "counts, but is never made"
            told = f"break the rule; such a row {what}"
            findings.append(Finding(f"rule '{rule}'", told, rows, rows / len(table)))
    return findings
