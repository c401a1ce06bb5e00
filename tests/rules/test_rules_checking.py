"""What the holder of the rows is told, and the ledger's line."""

from __future__ import annotations

import ruled

from sdv_plausible.rules.checking import rule_entries, rule_findings
from sdv_plausible.rules.rule_set import RuleSet

WORDS = {name: {**spec, **ruled.DOMAIN.get(name, {})} for name, spec in ruled.COLUMNS.items()}
RULES = RuleSet.make(ruled.RULES, WORDS)


def test_broken_rules_are_counted() -> None:
    table = ruled.table()
    assert rule_findings(RULES, table) == []
    table.loc[1:3, "end"] = table["start"]
    table.loc[5, ["age", "sex", "marital", "level"]] = [3, "f", "married", 2]
    table.loc[5, "rate"], table.loc[5, "title"] = 1.25, "Ms"
    found = {finding.column: (finding.cells, finding.problem) for finding in rule_findings(RULES, table)}
    assert {name: cells for name, (cells, _) in found.items()} == {
        "rule 'start < end'": 3, "rule 'if age <= 15, then marital is single'": 1,
    }  # fmt: skip
    assert "nearest row" in found["rule 'start < end'"][1]
    assert "never made" in found["rule 'if age <= 15, then marital is single'"][1]
    assert "start < end" in str(ruled.synthesizer().check(table))


def test_the_ledger_names_the_rules_and_charges_nothing() -> None:
    (entry,) = rule_entries(RULES)
    assert entry.losses == ()
    assert all(str(rule) in entry.mechanism for rule in ruled.RULES)
    assert rule_entries(RuleSet()) == []
