"""What all rules have in common."""

from __future__ import annotations

import pytest
import ruled

from sdv_plausible.rules.date_and_time import DateAndTime
from sdv_plausible.rules.rule import DerivingRule, attribute_specs, check_columns, date_formats
from sdv_plausible.table.columns.domain import Attribute


def test_every_rule_names_its_columns():
    for rule in ruled.RULES:
        assert set(rule.columns) <= set(ruled.COLUMNS)
        assert {name for name, _ in rule.named} <= set(rule.columns)
        if isinstance(rule, DerivingRule):
            assert {*rule.made, *rule.sources} == set(rule.columns)
            assert not set(rule.made) & set(rule.sources)
        assert rule.holds(ruled.table(), ruled.formats()).all()
        says = not rule.holds(shuffled(), ruled.formats()).all()
        assert says is not isinstance(rule, DateAndTime), "but for a split, the rule says something"
    for wrong in (["a", "a"], [1], [""], [], ["a", None]):
        assert check_columns("r", ["a", "b"], 2) == ("a", "b")
        with pytest.raises(ValueError, match="r: columns"):
            check_columns("r", wrong, 1)


def shuffled():
    """Every column by itself: as if nothing were linked."""
    table = ruled.table()
    out = table.assign(**{n: table[n].sample(frac=1, random_state=i).array for i, n in enumerate(table)})
    return out.assign(fee=out["fee"] + 0.1)


def test_words_of_attributes():
    known = {
        "d": Attribute(name="d", kind="datetime", lower=(0,), upper=(1,), datetime_format="%Y"),
        "n": Attribute(name="n", kind="float", decimals=2, lower=(0.0,), upper=(1.0,)),
        "c": Attribute(name="c", kind="ordinal", values=("a",)),
        "b": Attribute(name="b", kind="categorical", values=(False, True)),
    }
    words = attribute_specs(known)
    assert words == {
        "d": {"sdtype": "datetime", "datetime_format": "%Y"}, "n": {"sdtype": "numerical", "decimal_places": 2},
        "c": {"sdtype": "ordinal"}, "b": {"sdtype": "boolean"},
    }  # fmt: skip
    assert date_formats(words) == {"d": "%Y"}
