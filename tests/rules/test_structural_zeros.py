"""Structural zeros: pairs of codes that no row can have."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd

from sdv_plausible.models.adaptive.denoising import rake
from sdv_plausible.rules import Allowed, Forbidden, Implies
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.rules.structural_zeros import possible_pairs
from sdv_plausible.table.columns.domain import Attribute, Domain

AGE = Attribute(name="age", kind="integer", lower=(0, 10, 20), upper=(9, 19, 99), nullable=True)
STATE = Attribute(name="state", kind="categorical", values=("single", "married"))
DAY = 86_400_000_000_000
BORN = Attribute(name="born", kind="datetime", lower=(0, 10 * DAY), upper=(9 * DAY, 19 * DAY), unit=DAY)
WORDS = {
    "age": {"sdtype": "numerical", "range_min": 0, "range_max": 99},
    "state": {"sdtype": "categorical", "range_values": ["single", "married"]},
    "born": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"},
}


def pairs(rules, *attributes):
    return possible_pairs(RuleSet.make(rules if isinstance(rules, list) else [rules], WORDS), Domain(attributes))  # fmt: skip


def test_a_bin_that_a_rule_cuts_stays_possible():
    """Ages to 15 are single: 0..9 never married, 10..19 perhaps. Of other columns the rule says nothing."""
    rule = Implies({"age": {"max": 15}}, {"state": "single"})
    assert pairs(rule, AGE, STATE)[0, 1].tolist() == [[True, False], [True, True], [True, True], [True, True]]
    assert pairs(rule, STATE, AGE)[0, 1].tolist() == [[True, True, True, True], [False, True, True, True]]
    assert pairs(rule, AGE) == {}


def test_of_two_rules_about_a_pair_each_takes_its_own_cells():
    young = Implies({"age": {"max": 9}}, {"state": "single"})
    old = Implies({"age": {"min": 20}}, {"state": "married"})
    for order in ([young, old], [old, young]):
        found = pairs(order, AGE, STATE)
        assert found[0, 1].tolist() == [[True, False], [True, True], [False, True], [True, True]]


def test_dates_and_tables_of_combinations():
    found = pairs(Forbidden({"born": {"min": "1970-01-11"}, "state": "married"}), BORN, STATE)
    assert found[0, 1].tolist() == [[True, True], [True, False]]
    found = pairs(Allowed(["state", "age"], [("married", 30), ("single", 5), ("single", None)]), AGE, STATE)
    assert found[0, 1].tolist() == [[True, False], [False, False], [False, True], [True, False]]


def test_no_possible_pair_is_lost():
    """Against every age there is. Control: the ends of the bins alone lose a pair."""
    for threshold in range(100):
        rules = [
            Forbidden({"age": {"min": threshold, "max": threshold + 3}, "state": "married"}),
            Allowed(["age", "state"], [(threshold, "single"), (threshold, "married"), (3, "single")]),
        ]
        rows = pd.DataFrame(itertools.product(range(100), STATE.values), columns=["age", "state"])
        code = np.searchsorted(AGE.lower, rows["age"], side="right") - 1
        for rule in rules:
            wanted = np.zeros((3, 2), dtype=bool)
            np.logical_or.at(wanted, (code, (rows["state"] == "married").astype(int)), rule.holds(rows, {}))
            found = pairs(rule, AGE, STATE).get((0, 1), np.ones((4, 2), dtype=bool))
            assert (found[:3] == wanted).all()
        ends = pd.DataFrame({"age": [10, 19], "state": "married"})
        if threshold == 9:
            assert not rules[0].holds(ends, {})[0]


def test_the_model_gives_the_zeros_no_mass():
    """The margins stay; without the zeros a third of the mass would be where nothing can be."""
    possible = pairs(Implies({"age": {"max": 9}}, {"state": "single"}), AGE, STATE)[0, 1]
    rows, columns = np.array([0.3, 0.3, 0.3, 0.1]), np.array([0.5, 0.5])
    free, kept = (rake(np.outer(rows, columns) * where, rows, columns) for where in (1, possible))
    assert free[0, 1] > 0.14
    assert kept[0, 1] < 1e-6
    assert np.allclose(kept.sum(1), rows, atol=1e-6)
    assert np.allclose(kept.sum(0), columns, atol=1e-6)


def test_what_a_rule_says_of_two_columns_at_a_time():
    """Each conclusion alone; each two columns of a table. Control: a condition on two columns says nothing of one."""
    early = {"born": {"max": "1970-01-10"}}
    found = pairs(Implies({"age": {"max": 9}}, {"state": "single", **early}), AGE, STATE, BORN)
    assert found[0, 1][0].tolist() == [True, False]
    assert found[0, 2][0].tolist() == [True, False]
    assert pairs(Implies({"age": {"max": 9}, "state": "single"}, early), AGE, STATE, BORN) == {}
    rows = [(5, "single", "1970-01-02"), (30, "married", "1970-01-15")]
    found = pairs(Allowed(["age", "state", "born"], rows), AGE, STATE, BORN)
    assert set(found) == {(0, 1), (0, 2), (1, 2)}
    assert found[1, 2].tolist() == [[True, False], [False, True]]
