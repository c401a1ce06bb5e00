"""All rules together: folding reads each row alone, unfolding keeps every rule, contradictions are told at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import ruled
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.rules import Determined, Equal, Implies, Inequality, Multiple, OneHot, Sum
from sdv_plausible.rules import rule_set as module
from sdv_plausible.rules.rule_set import FittedRules, RuleSet
from sdv_plausible.table.columns.domain import Attribute, Domain

WORDS = {name: {**spec, **ruled.DOMAIN.get(name, {})} for name, spec in ruled.COLUMNS.items()}
CELLS = {
    "date": [None, pd.Timestamp("1700-01-01"), pd.Timestamp("1969-12-31 23:59"), pd.Timestamp("2001-02-03"),
             pd.Timestamp("2001-02-03 04:05:06.000007"), pd.Timestamp("2261-11-30")],
    "number": [None, np.nan, 0, 1, -1, 0.1, 0.3, 1e300, -7.125, 49.99, True],
    "text": [None, "single", "married", "f", "m", "Ms", "odd", ""],
    "flag": [None, True, False],
    "day": [None, "01.01.1950", "31.12.1999", "1.1.50", "odd"],
}  # fmt: skip


def kind(name):
    sdtype = ruled.COLUMNS[name]["sdtype"]
    if sdtype == "datetime":
        return "day" if "datetime_format" in ruled.COLUMNS[name] else "date"
    return {"numerical": "number", "boolean": "flag"}.get(sdtype, "text")


def rule_set(rules=ruled.RULES):
    return RuleSet.make(rules, WORDS)


def frame(rows):
    table = pd.DataFrame(rows, columns=list(ruled.COLUMNS)).astype(object)
    dates = [name for name in table if kind(name) == "date"]
    return table.astype(dict.fromkeys(dates, "M8[ns]"))


ROW = st.fixed_dictionaries({name: st.sampled_from(CELLS[kind(name)]) for name in ruled.COLUMNS})


def folded_rows(rules, table):
    folded = rules.fold(table)[list(rules.added)]
    return [[None if pd.isna(v) else v for v in row] for row in folded.to_numpy(dtype=object).tolist()]


def check_alone(rules, rows, storage="objects"):
    """Each row folds to the same with others beside it, in any order, and alone."""
    together = ruled.STORAGES[storage](frame(rows))
    found, broken = folded_rows(rules, together), rules.broken(together)
    assert folded_rows(rules, together.iloc[::-1])[::-1] == found
    for i, row in enumerate(rows):
        alone = frame([row])
        assert folded_rows(rules, alone)[0] == found[i]
        assert {r: b[0] for r, b in rules.broken(alone).items()} == {r: b[i] for r, b in broken.items()}


@settings(max_examples=15, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=4))
def test_folding_reads_each_row_alone(rows):
    check_alone(rule_set(), rows)


def test_a_rule_that_looks_at_other_rows_is_caught(monkeypatch):
    honest = Multiple.fold
    looks = lambda *given: {name: column - column.min() for name, column in honest(*given).items()}  # noqa: E731
    monkeypatch.setattr(Multiple, "fold", looks)
    rows = [dict(frame([{}]).iloc[0]) | {"fee": fee} for fee in (0.25, 7.0)]
    with pytest.raises(AssertionError):
        check_alone(rule_set(), rows)


def test_rows_that_keep_the_rules_come_back():
    for storage in ruled.STORAGES:
        table = ruled.STORAGES[storage](ruled.table())
        rules, plain = rule_set(), ruled.table()
        folded = rules.fold(table).reset_index(drop=True)
        domain = Domain(tuple(attribute(name, folded) for name in folded))
        back = rules.fitted(domain, plain).unfold(folded)
        for name in rules.made:
            mine, theirs = back[name], plain[name]
            if kind(name) == "number":
                assert np.allclose(mine.astype(float), theirs.astype(float), equal_nan=True), name
            elif kind(name) == "date":
                assert (mine.isna() == theirs.isna()).all()
                assert (mine[mine.notna()] == theirs[mine.notna()]).all(), name
            else:
                assert mine.tolist() == theirs.tolist(), name


def attribute(name, folded):
    """A wide value set of a column of the model."""
    common = {"name": name, "nullable": True}
    if name in ruled.COLUMNS and kind(name) in ("date", "day"):
        ends = (pd.Timestamp("1678-01-01").value, pd.Timestamp("2261-12-31").value)
        return Attribute(kind="datetime", lower=ends[:1], upper=ends[1:], **common)
    if pd.api.types.is_numeric_dtype(folded[name]) or (name in ruled.COLUMNS and kind(name) == "number"):
        if name == "extra":
            return Attribute(kind="float", decimals=1, lower=(0.0,), upper=(10.0,), **common)
        least = int(name == "end - start")  # which is strict
        return Attribute(kind="integer", lower=(least,), upper=(10**4,), **common)
    return Attribute(kind="categorical", values=("a",), **common)


@settings(max_examples=15, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=4))
def test_whatever_is_made_keeps_the_rules_that_make(rows):
    """Also of rows that break them: they become the nearest row that does not."""
    rules, plain = rule_set(), frame(rows)
    table = plain.assign(fee=0.0, extra=0.0, total=0.0, copy=0.0, tax=0.0, net=0.0)
    folded = rules.fold(table)
    model = Domain(tuple(attribute(name, folded) for name in folded))
    whole = folded.assign(**{"one of red, green, blue": "red", "fee / 0.25": 3})
    rows_of_model = whole[[a.name for a in model]]
    back = rules.fitted(model).unfold(rows_of_model)
    for rule in rules.deriving_rules:
        assert rule.holds(back, ruled.formats()).all(), (str(rule), back[list(rule.columns)])


def test_what_a_rule_makes_of_words_that_were_seen_is_edited():
    """Else it is declared in the domain, and a later fit claims it. Control: words that nobody has seen."""
    for seen in ("total", "copy"):
        rules = rule_set([Equal("copy", "total")])
        domain = Domain.from_declarations({"total": {"sdtype": "numerical", "range_min": 0, "range_max": 9}})
        assert rules.fitted(domain).made["copy"].provenance == "declared"
        assert replace(rules, seen=(seen,)).fitted(domain).made["copy"].provenance == "edited"


CONTRADICTIONS = {
    "twice": ([Equal("copy", "total"), Sum("copy", ("fee", "extra"))], "derived twice"),
    "circle": ([Equal("copy", "total"), Equal("total", "copy")], "depend on themselves"),
    "longer circle": ([Sum("total", ("fee", "copy")), Equal("copy", "total")], "depend on themselves"),
    "range": ([Inequality("paid", "born", unit="D")], "contradicts the declared ranges"),
    "strict": ([Inequality("start", "end", strict=True, most=0)], "contradicts the declared ranges"),
    "no multiple": ([Multiple("extra", 99.5), Multiple("level", 7)], "contains no such multiple"),
    "excluding": (
        [Implies({"age": {"max": 15}}, {"marital": "single"}), Implies({"age": {"max": 9}}, {"marital": "married"})],
        "can satisfy all rules",
    ),
    "never": ([Implies({"age": {"min": 200}}, {"marital": "single"})], "no declared value"),
    "undeclared": ([Implies({"age": 3}, {"marital": ["single", "widow"]})], "'widow', which is not a declared value"),
    "missing": ([Implies({"sex": None}, {"marital": "single"})], "missing, which is not a declared value"),
    "undeclared key": ([Determined("title", "sex", {"f": "Ms", "m": "Mr", "x": "Mr"})], "'x', which is not a declared value"),
    "undeclared result": ([Determined("title", "sex", {"f": "Ms", "m": "Dr"})], "'Dr', which is not a declared value"),
    "unknown": ([Equal("copy", "nothing")], "not modelled columns"),
    "text": ([Sum("total", ("fee", "sex"))], "must be of sdtype numerical"),
    "two types": ([Inequality("start", "fee")], "must be of sdtype datetime"),
    "equal types": ([Equal("copy", "sex")], "must be of sdtype categorical"),
    "flags": ([OneHot(["red", "start"])], "must be of sdtype"),
    "dates": ([Multiple("start", 2)], "must be of sdtype numerical"),
    "no rule": (["start < end"], "is not a rule"),
}  # fmt: skip


def test_contradictions_are_told_before_any_row():
    """Of the circles and exclusions, each rule by itself is accepted."""
    for rules, words in CONTRADICTIONS.values():
        with pytest.raises(ValueError, match=words):
            ruled.synthesizer(rules=rules)
    for case in ("twice", "circle", "longer circle", "excluding"):
        for rule in CONTRADICTIONS[case][0]:
            ruled.synthesizer(rules=[rule])
    words = {"a": {"sdtype": "numerical"}, "b": {"sdtype": "numerical"}, "b - a": {"sdtype": "numerical"}}
    with pytest.raises(ValueError, match="rename it"):
        RuleSet.make([Inequality("a", "b")], words)


def test_chains_are_made_in_order():
    rules = rule_set(ruled.RULES[::-1])
    made = set()
    for rule in rules.deriving_rules:
        assert not (set(rule.sources) & set(rules.made)) - made
        made |= set(rule.made)
    assert made == set(rules.made)


# ---- drawing again ----------------------------------------------------------------------------------------------------


WANTED = Domain((Attribute(name="x", kind="integer", lower=(0,), upper=(1,), nullable=True),))
ONES = {"x": {"sdtype": "numerical", "range_min": 0, "range_max": 1}}  # of which only 1 keeps the rule


def ones(share, words=ONES):
    """Rules, and a source of cells of which a share keeps them."""
    rng = np.random.default_rng(0)
    rules = FittedRules(RuleSet.make([Implies({"x": [0, 1, None]}, {"x": 1})], words))
    return rules, lambda number: np.where(rng.random(number) < share, 1, np.nan)


def draw(wanted, share, **more):
    (rules, cells), asked = ones(share), []

    def rows(number, _):
        asked.append(number)
        return pd.DataFrame({"x": cells(number)})

    return rules.draw(wanted, rows, WANTED, **more), asked


def test_rows_are_drawn_again():
    for share in (1.0, 0.5, 0.05):
        table, asked = draw(500, share)
        assert table["x"].tolist() == [1] * 500
        assert table["x"].dtype == np.int64, "the missing cells were in rows that are not here"
        assert list(table.index) == list(range(500))
        assert asked[0] == 500
        assert sum(asked) < 4 * 500 / share


def drawn_by_case(*, each=False):
    """Share of case a, of which the model spoils nine rows of ten, in the rows that are drawn."""
    words = {"x": {"range_values": ["a", "b"]}, "y": {"range_values": ["bad", "good"]}}
    rules = FittedRules(RuleSet.make([Implies({"x": "a"}, {"y": "good"})], words))
    rng = np.random.default_rng(0)

    def rows(number, _):
        x = np.where(rng.random(number) < 0.5, "a", "b")
        return pd.DataFrame({"x": x, "y": np.where((x == "a") & (rng.random(number) < 0.9), "bad", "good")})

    values = {name: tuple(word["range_values"]) for name, word in words.items()}
    domain = Domain(tuple(Attribute(name=n, kind="categorical", values=v) for n, v in values.items()))
    of_each = lambda wanted, number: rows(len(wanted), number)  # noqa: E731
    table = rules.draw_each(4000, of_each, domain) if each else rules.draw(4000, rows, domain)
    assert not ((table["x"] == "a") & (table["y"] == "bad")).any()
    return float((table["x"] == "a").mean())


def test_rows_with_given_values_are_drawn_again():
    def drawn(share):
        rules, cells = ones(share, {**ONES, "k": {"range_values": [*range(500)]}})
        return rules.draw_each(500, lambda wanted, _: pd.DataFrame({"x": cells(len(wanted)), "k": wanted}), WANTED)  # fmt: skip

    for share in (1.0, 0.5, 0.05):
        table = drawn(share)
        assert table["x"].tolist() == [1] * 500
        assert table["x"].dtype == np.int64
        assert table["k"].tolist() == list(range(500)), "each row keeps its given values"
    with pytest.raises(ValueError, match="500 never satisfy all rules"):
        drawn(0.0)


def test_a_case_in_which_the_model_errs_stays_as_frequent(monkeypatch):
    """Five standard deviations: false alarm 6e-7. Control: a row of any case takes the place, one of eleven of case a."""
    for each, name in ((False, "CASE_ROUNDS"), (True, "CASE_TRIES")):
        assert drawn_by_case(each=each) == pytest.approx(0.5, abs=0.04)
        monkeypatch.setattr(module, name, 0)
        assert drawn_by_case(each=each) < 0.2


def test_no_row_to_spare_where_rows_cost():
    _, asked = draw(100, 0.5, spare=False)
    assert asked == sorted(asked, reverse=True)
    assert sum(asked) < 400
    for spare in (True, False):
        table, asked = draw(0, 0.5, spare=spare)
        assert (len(table), asked) == (0, [0])


def test_hopeless_rules_stop_soon_and_rounds_are_bounded(monkeypatch):
    with pytest.raises(ValueError, match="0 satisfy all rules, but 100,000 are needed"):
        draw(100_000, 0.0)
    with pytest.raises(ValueError, match="0 satisfy all rules"):
        draw(1, 0.0)
    monkeypatch.setattr(module, "MAX_ROUNDS", 1)
    with pytest.raises(ValueError, match="satisfy all rules, but 500 are needed"):
        draw(500, 0.05)
