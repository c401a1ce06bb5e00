"""What rules leave of the declarations for the model."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pandas as pd
import pytest
import ruled

from sdv_plausible import PlausibleDeniabilitySynthesizer, metadata_of
from sdv_plausible.rules import Equal, Inequality, rules_and_declarations
from sdv_plausible.rules.rule import DerivingRule
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.rules.rules_and_declarations import rule_entries, rules_with_declarations
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.declared.access_log import record_access
from sdv_plausible.table.declared.domain_file import DomainFile, digest, read_domain_file


def read(domain=ruled.DOMAIN, rules=ruled.RULES, columns=ruled.COLUMNS):
    given, columns, rules = rules_with_declarations(rules, domain, columns, 10)
    return (given.columns if isinstance(given, DomainFile) else given), columns, rules


def test_the_model_sees_stand_ins():
    domain, columns, rules = read()
    assert not set(rules.made) & (set(columns) | set(domain))
    assert set(rules.added) <= set(columns)
    ends = {"sdtype": "numerical", "range_min": 1, "range_max": 1460, "decimal_places": 0}
    assert domain["end - start"] == ends
    names = list(columns)
    assert names.index("end - start") == names.index("start") + 1, "in the place of what is made"
    words = {n: {**ruled.COLUMNS[n], **spec} for n, spec in ruled.DOMAIN.items()}
    told, _, _ = read(domain=Domain.from_declarations(words))  # which tells the same
    assert told["end - start"]["range_max"] == 1460
    assert set(told) == set(domain)
    plain = {name: spec for name, spec in ruled.COLUMNS.items() if name != "seen"}  # which shows a time
    domain, columns, rules = read(rules=(), columns=plain)  # without rules nothing changes
    assert domain is ruled.DOMAIN
    assert columns == plain
    assert not rules


def test_what_is_declared_of_a_made_column_is_read_too():
    with pytest.raises(ValueError, match="end"):
        read(domain={**ruled.DOMAIN, "end": {"range_min": "soon", "range_max": "late"}})
    wrong = {**ruled.DOMAIN, "copy": {"range_min": 5, "range_max": 1}}
    with pytest.raises(ValueError, match="copy"):
        read(domain=wrong, rules=[Equal("copy", "total")])


def test_ranges_that_were_detected_declare_nothing():
    columns = {**ruled.COLUMNS, "age": {"sdtype": "numerical", "range_min": 0, "range_max": 3},
               "level": {"sdtype": "numerical", "range_min": 0, "range_max": 9}}  # fmt: skip
    rules = [Inequality("age", "level")]
    assert set(read(domain=None, rules=rules, columns=columns)[0]) == {"seen: time (min)"}  # of any day
    assert read(domain="written", rules=rules, columns=columns)[1]["level - age"]["range_max"] == 9


def test_what_ends_the_claim_of_a_column_ends_that_of_its_stand_in():
    """The end of `end` limits the distance, so an end that was edited after a look limits it too."""
    words = {"start": ruled.DOMAIN["start"], "end": {**ruled.DOMAIN["end"]}}
    rules = [Inequality("start", "end")]
    for looked, edited in (({}, False), ({"end": digest({"range_min": 0})}, True)):
        file = DomainFile(columns=words, looked=looked)
        given = rules_with_declarations(rules, file, ruled.COLUMNS, 10)[0].declarations()
        assert (given["end - start"].get("provenance") == "edited") is edited
        assert "provenance" not in given["start"]


NUMBER = {"sdtype": "numerical"}
SEEN = {
    "a range": ({**NUMBER, "range_min": 0, "range_max": 200}, {**NUMBER, "range_min": 0, "range_max": 78}),
    "read off the rows": (None, {**NUMBER, "range_min": 0, "range_max": 78, "detected": True}),
    "a resolution": ({**NUMBER, "resolution": 1}, {**NUMBER, "resolution": 5}),
}


def test_a_made_column_keeps_the_mark_of_its_words(tmp_path):
    """Also where its stand-in has no range: a rule reads other words of it, and one row decided a bound."""
    path = tmp_path / "d.json"

    def claims(words, rules, **seen):
        DomainFile(columns={"a": NUMBER, "b": words}, **seen).save(path)
        return plan_of({"a": NUMBER, "b": NUMBER}, path, rules).claims_privacy

    for case, (before, after) in SEEN.items():
        rules = [] if case == "a resolution" else [Inequality("a", "b")]
        if before is None:
            assert not claims(after, rules)
            continue
        assert claims(before, rules)
        record_access(path, ["a", "b"], [digest(rule.to_dict()) for rule in rules])
        assert plan_of({"a": NUMBER, "b": NUMBER}, path, rules).claims_privacy
        looked = read_domain_file(path).looked
        assert not claims(after, rules, looked=looked)
        assert claims({**after, "source": "a law"}, rules, looked=looked)


def plan_of(columns, domain, rules=()):
    return PlausibleDeniabilitySynthesizer(metadata_of(columns), domain=domain, rules=rules).plan().ledger


def test_a_domain_of_seen_words_is_not_declared():
    """``from_declarations`` forgot that words were read off the rows, or edited after a look at them."""
    words = {**NUMBER, "range_min": 0, "range_max": 78}
    for mark, origin in (({"detected": True}, "inferred"), ({"provenance": "edited"}, "edited"), ({}, "declared")):  # fmt: skip
        domain = Domain.from_declarations({"b": {**words, **mark}})
        assert domain["b"].provenance == origin
        assert plan_of({"b": words}, domain).claims_privacy == (not mark)


def test_the_ledger_names_the_rules_and_charges_nothing():
    words = {name: {**spec, **ruled.DOMAIN.get(name, {})} for name, spec in ruled.COLUMNS.items()}
    (entry,) = rule_entries(RuleSet.make(ruled.RULES, words))
    assert entry.losses == ()
    assert all(str(rule) in entry.mechanism for rule in ruled.RULES)
    assert rule_entries(RuleSet()) == []


WIDER = {
    **ruled.DOMAIN,
    "start": {"range_min": "1750-01-01", "range_max": "2002-12-31"},
    "end": {"range_min": "2000-01-01", "range_max": "2203-12-31"},
    "paid": {"range_min": "1700-01-01", "range_max": "2104-12-31"},
    "zoned": {"range_min": "1760-01-01", "range_max": "2002-12-31"},
    "later": {"range_min": "2000-01-01", "range_max": "2202-12-31"},
    "fee": {"range_min": -1e6, "range_max": 1e6},
    "extra": {"range_min": 0.0, "range_max": 9e5, "decimal_places": 2},
    "seen": {"range_min": "01.01.1900 00:00", "range_max": "31.12.2002 23:59"},
}
MAKING = [rule for rule in ruled.RULES if isinstance(rule, DerivingRule)]


@pytest.mark.parametrize("rule", MAKING, ids=lambda rule: f"{rule.kind}-{rule.columns[0]}")
def test_what_was_learned_earlier_chooses_no_stand_in(rule, monkeypatch):
    """Nor whether it is learned, and so charged: bounds are answers of the rows. Planted: as if declared."""

    def is_same():
        found = []
        for some in (ruled.DOMAIN, WIDER):
            spec = {n: {**ruled.COLUMNS[n], **words} for n, words in some.items()}
            learned = tuple(replace(a, provenance="private") for a in Domain.from_declarations(spec))
            given, columns, rules = read(domain=Domain(learned, learned={}), rules=[rule])
            found.append(({n: words for n, words in given.items() if n in rules.added}, columns))
        return found[0] == found[1]

    assert is_same()
    monkeypatch.setattr(
        rules_and_declarations, "_known_spec", partial(as_if_declared, rules_and_declarations._known_spec)
    )
    if rule.kind in ("inequality", "multiple", "date_and_time") and getattr(rule, "most", None) is None:
        assert not is_same()


def as_if_declared(honest, spec, attribute):
    if isinstance(attribute, Attribute):
        attribute = replace(attribute, provenance="declared")
    return honest(spec, attribute)


def test_rules_changed_after_a_look_end_the_claim_of_the_next_fit_too():
    """Though nothing was learned: columns that stand in for others are of these rules. Control: as they were."""
    words = {"a": {"sdtype": "numerical", "range_min": 0, "range_max": 9, "decimal_places": 0}}
    words["b"] = {**words["a"], "range_max": 20}
    rule = Inequality("a", "b")
    for looked, claims in (((digest(rule.to_dict()),), True), (("0" * 64,), False)):
        file = DomainFile(columns=words, looked_rules=looked)
        first = PlausibleDeniabilitySynthesizer(metadata_of(words), domain=file, rules=[rule], epsilon=1.0)
        first.fit(pd.DataFrame({"a": [1, 2, 3] * 30, "b": [4, 5, 9] * 30}))
        later = replace(first.get_domain(), looked={}, looked_rules=None)
        assert first.privacy_ledger().claims_privacy == claims
        assert plan_of(later, later).claims_privacy == claims
