"""What the holder of the rows is told, and the ledger's line."""

from __future__ import annotations

import json

import pandas as pd
import pytest
import ruled

from sdv_plausible import PlausibleDeniabilitySynthesizer, metadata_of
from sdv_plausible.cli.main import main
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.rules.rules_and_declarations import rule_findings

WORDS = {name: {**spec, **ruled.DOMAIN.get(name, {})} for name, spec in ruled.COLUMNS.items()}
RULES = RuleSet.make(ruled.RULES, WORDS)


def test_broken_rules_are_counted():
    table = ruled.table()
    assert rule_findings(RULES, table) == []
    table.loc[1:3, "end"] = table["start"]
    table.loc[5, ["age", "sex", "marital", "level"]] = [3, "f", "married", 2]
    table.loc[5, "rate"], table.loc[5, "title"] = 1.25, "Ms"
    found = {finding.column: (finding.cells, finding.problem) for finding in rule_findings(RULES, table)}
    assert {name: cells for name, (cells, _) in found.items()} == {
        "rule 'start < end'": 3, "rule 'if age <= 15, then marital is single'": 1,
        "rule 'tax = fee * rate'": 1, "rule 'net = total + 0.5 * fee * rate - level + 3'": 1,
    }  # fmt: skip
    assert "nearest row" in found["rule 'start < end'"][1]
    assert "never generated" in found["rule 'if age <= 15, then marital is single'"][1]
    assert "start < end" in str(ruled.synthesizer().check(table))


# --- rules changed after a look ---------------------------------------------------------------------------------------

OLD = {"rule": "inequality", "low": "start", "high": "end", "strict": False}
STRICT, OTHER = {**OLD, "strict": True}, {"rule": "multiple", "column": "start", "step": 1}
NUMBER = {"sdtype": "numerical", "range_min": 0, "range_max": 9}


def checked(folder, ends):
    """A domain file after ``check`` looked at the rows, and the rules that it was given."""
    table, domain, rules = (folder / name for name in ("rows.csv", "domain.json", "rules.json"))
    pd.DataFrame({"start": [1, 5, 2], "end": ends}).to_csv(table, index=False)
    domain.write_text(json.dumps({"start": NUMBER, "end": NUMBER}))
    rules.write_text(json.dumps([OLD]))
    assert main(["check", str(table), "--domain", str(domain), "--rules", str(rules)]) == 0
    return domain


@pytest.fixture
def looked(tmp_path, capsys):
    """After rows were counted that break a rule."""
    domain = checked(tmp_path, [2, 3, 4])
    assert "which rules there are. If one is changed now" in capsys.readouterr().out
    return domain


def ledger(domain, rules):
    synth = PlausibleDeniabilitySynthesizer(metadata_of(domain), domain=str(domain), rules=rules)
    return synth.plan().ledger


def test_rules_that_are_changed_after_a_look_end_the_claim(looked):
    for rules, claims in (([OLD], True), ([STRICT], False), ([OLD, OTHER], False), ([], False)):
        found = ledger(looked, rules)
        assert found.claims_privacy == claims
        assert ("changed after a comparison with the rows" in str(found)) == (not claims)


def test_the_first_look_counts_and_a_public_source_is_a_way_out(looked, tmp_path):
    again = tmp_path / "strict.json"
    again.write_text(json.dumps([STRICT]))
    assert main(["check", str(tmp_path / "rows.csv"), "--domain", str(looked), "--rules", str(again)]) == 0
    assert not ledger(looked, [STRICT]).claims_privacy
    document = json.loads(looked.read_text())
    looked.write_text(json.dumps({**document, "rules_source": "the law of 1999"}))
    assert ledger(looked, [STRICT]).claims_privacy
    assert "from the law of 1999" in str(ledger(looked, [STRICT]))
    looked.write_text(json.dumps({**document, "looked_rules": ["x"]}))
    with pytest.raises(ValueError, match="Restore the|restore the"):
        ledger(looked, [OLD])


def test_that_no_row_breaks_a_rule_is_a_look_too(tmp_path, capsys):
    """Else ever stricter rules are tried out on the rows until one breaks, and the last good one is kept."""
    domain = checked(tmp_path, [2, 5, 4])
    said = capsys.readouterr().out
    assert "every cell matches" in said
    assert "which rules there are. If one is changed now" in said
    assert "start, end were compared" in said  # that every cell matches is told, too
    assert ledger(domain, [OLD]).claims_privacy
    assert not ledger(domain, [STRICT]).claims_privacy


def test_that_nothing_is_written_down_is_said(looked, tmp_path, capsys):
    """Control: the record is what ends the claim."""
    table, metadata, rules = (str(tmp_path / name) for name in ("rows.csv", "metadata.json", "rules.json"))
    metadata_of({"start": NUMBER, "end": NUMBER}).save_to_json(metadata)
    assert main(["check", table, "--metadata", metadata, "--rules", rules]) == 0
    assert "keeps a record of this look" in capsys.readouterr().out
    domain = tmp_path / "domain.json"
    domain.write_text(json.dumps({"start": NUMBER, "end": NUMBER}))
    assert all(ledger(domain, rules).claims_privacy for rules in ([OLD], [STRICT], []))
