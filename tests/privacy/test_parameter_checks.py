"""Checks of parameters: what passes is what the rule says, at its very ends; what does not is named with its value."""

from __future__ import annotations

import math
import pickle
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.parameter_checks import Refused

TINY = 5e-324
BELOW, ABOVE = math.nextafter(1.0, 0.0), math.nextafter(1.0, 2.0)
RULES = {
    "positive": (check.positive, [TINY, 1, 1e308, np.float32(0.5), np.int64(3)], [0, -TINY, -1]),
    "non_negative": (check.non_negative, [0, 0.0, TINY, 7], [-TINY, -1]),
    "at_least": (partial(check.at_least, lower=1.0), [1, 1.0, ABOVE], [BELOW, 0, -3]),
    "open_probability": (check.open_probability, [TINY, 0.5, BELOW], [0, 1, -0.1, 1.1]),
    "probability": (check.probability, [0, 0.5, 1], [-TINY, ABOVE]),
    "rate": (check.rate, [TINY, 1], [0, ABOVE, -1]),
    "whole": (partial(check.whole, minimum=2), [2, 3, np.int8(5), 2**63 - 1], [1, 0, -2, 2**63, 10**30]),
}
NO_NUMBERS = [
    True, False, "1", None, math.nan, math.inf, -math.inf, [1], Decimal(1), Fraction(1, 2), 1 + 0j, np.array([1.0]), pd.NA,
    np.complex128(1), 10**400, 10**5000,
]  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_holds_up_to_its_ends(rule):
    function, good, bad = RULES[rule]
    for value in good:
        found = function("x", value)
        assert found == value
        assert type(found) is (int if rule == "whole" else float)
    for value in (*bad, *NO_NUMBERS, *([2.0, 2.5, np.float64(3)] if rule == "whole" else [])):
        with pytest.raises(ValueError, match=r"^x \(.*\) must ") as error:
            function("x", value)
        assert check.shown(value) in str(error.value)
        assert not str(error.value).endswith(":")


def test_the_way_out_is_said():
    with pytest.raises(ValueError, match=r"^delta \(2\) must lie strictly between 0 and 1: try 1e-9$"):
        check.open_probability("delta", 2, "try 1e-9")
    with pytest.raises(ValueError, match=r"^k \(0\) must be a whole number of at least 1: try 50$"):
        check.whole("k", 0, 1, "try 50")


def test_whole_numbers_become_64_bits():
    for values in ([1, -2], 7, [], np.zeros((2, 0), np.uint8), np.array([2**63 - 1], np.uint64), np.int8(3)):
        found = check.integer_array("x", values)
        assert (found.dtype, found.shape) == (np.int64, np.shape(values))
        assert found.tolist() == np.asarray(values).tolist()
    for values in ([1.0], [True], ["a"], [None], [1 + 0j], np.array(["2020"], "M8[Y]")):
        with pytest.raises(TypeError, match=r"^x \(dtype .*must be integers: round first"):
            check.integer_array("x", values)
    with pytest.raises(ValueError, match=r"^x \(9223372036854775808\) must be below 2\*\*63"):
        check.integer_array("x", np.array([5, 2**63], np.uint64))


def test_finite_arrays():
    assert check.finite_array("x", [1, 2.5]).tolist() == [1.0, 2.5]
    assert check.finite_array("x", []).dtype == np.float64
    with pytest.raises(TypeError, match=r"^x \(dtype .*must be numbers"):
        check.finite_array("x", ["1"])
    with pytest.raises(ValueError, match=r"^x must be finite: 2 values are NaN or infinite"):
        check.finite_array("x", [1.0, math.nan, math.inf])


def test_a_refusal_is_made_anew_from_its_sentence() -> None:
    """As SDV does with whatever a call raises: type(error)(words)."""
    for refused in (Refused("k", 0, "must be a whole number"), Refused.saying("rules", "rules: no")):
        assert str(type(refused)(str(refused))) == str(refused)
        assert str(pickle.loads(pickle.dumps(refused))) == str(refused)
        assert refused.field in ("k", "rules")


def test_a_word_is_one_of_those_there_are():
    assert check.one_of("noise", "paper", ("calibrated", "paper")) == "paper"
    for value, says in (
        ("papre", "noise ('papre') must be \"calibrated\" or \"paper\", or None; did you mean 'paper'?"),
        (None, 'noise (None) must be "calibrated" or "paper", or None'),
        (pd.NA, 'noise (NAType) must be "calibrated" or "paper", or None'),
        (np.array(["a", "b"]), 'noise (ndarray) must be "calibrated" or "paper", or None'),
    ):
        with pytest.raises(Refused) as error:
            check.one_of("noise", value, ("calibrated", "paper"), ", or None")
        assert str(error.value) == says
    says = r"^person \('hom'\) must be a column: home, age; did you mean 'home'\?$"
    with pytest.raises(Refused, match=says):
        check.one_of("person", "hom", ("home", "age"), of="a column")
    with pytest.raises(Refused, match=r'^x \(1\) must be "a"$'):
        check.one_of("x", 1, ["a"])


def test_what_was_meant_is_suggested_and_no_word_to_whoever_wrote_it():
    assert check.suggestion("numerical", ["numerical"]) == ""
    assert check.suggestion("numeric", ["numerical", "categorical"]) == "; did you mean 'numerical'?"
    check.require_columns("t.csv", ["a"], ["b", "a"])
    says = r"^t lacks the declared columns \['specis'\]; it has species, 1; did you mean 'species'\?$"
    with pytest.raises(ValueError, match=says):
        check.require_columns("t", ["species", "specis"], ["species", 1])
