"""Real rows that break the rules, for their holder; and the ledger's line about rules."""

from __future__ import annotations

import pandas as pd

from sdv_plausible.privacy.ledger import LedgerEntry
from sdv_plausible.rules.rule import MakingRule
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.table.checking import Finding


def rule_findings(rule_set: RuleSet, table: pd.DataFrame) -> list[Finding]:
    """Rules that rows break. Not private.

    Parameters
    ----------
    rule_set : RuleSet
        The rules.
    table : DataFrame
        The real rows.
    """
    findings = []
    for rule, broken in rule_set.broken(table).items():
        rows = int(broken.sum())
        if rows:
            made = isinstance(rule, MakingRule)
            what = "counts as the nearest row that keeps it" if made else "counts, but is never made"
            findings.append(
                Finding(f"rule '{rule}'", f"break the rule; such a row {what}", rows, rows / len(table))
            )
    return findings


def rule_entries(rule_set: RuleSet) -> list[LedgerEntry]:
    """One line without cost: rules are declared without the rows."""
    if not rule_set:
        return []
    how = f"declared: {'; '.join(map(str, rule_set.rules))}"
    return [LedgerEntry(name="rules", mechanism=how, losses=(), scope="every row", parts=("domain",))]
