"""Flags of which one is set."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.rules import OneHot


def test_flags_come_back():
    for values in ((0, 1), (False, True), ("no", "yes"), (1, 0)):
        off, on = values
        rule = OneHot(["p", "q"], values)
        table = pd.DataFrame({"p": [on, off, on, off], "q": [off, on, on, off]})
        assert rule.holds(table, {}).tolist() == [True, True, False, False]
        which = rule.fold(table, {})[rule.which]
        assert which.tolist()[:3] == ["p", "q", "p"], "the first one that is set"
        assert which[3] is None
        made = {a.name: a for a in rule.attributes({}, {}, {})}
        back = pd.DataFrame(rule.unfold(pd.DataFrame({rule.which: ["p", "q"]}), {}, made))
        assert back.equals(table[:2])
        assert rule.fits({}, made)
        assert OneHot.from_dict(rule.to_dict()).to_dict() == rule.to_dict()


def test_truth_values_follow_from_the_columns_and_wrong_flags_are_refused():
    rule = OneHot(["p", "q"]).resolve({n: {"sdtype": "boolean"} for n in "pq"})
    found = rule.unfold(pd.DataFrame({rule.which: ["p"]}), {}, {})
    assert found["p"].dtype == found["q"].dtype == bool
    plain = OneHot(["p", "q"]).resolve({n: {"sdtype": "numerical"} for n in "pq"})
    assert plain.unfold(pd.DataFrame({rule.which: ["p"]}), {}, {})["p"].dtype == np.int64
    with pytest.raises(ValueError, match="must be two"):
        OneHot(["p", "q"], (1, 1.0))
    with pytest.raises(ValueError, match="at least 2"):
        OneHot(["p"])
    with pytest.raises(ValueError, match="must be numbers"):
        OneHot(["p", "q"], ("no", "yes")).check({n: {"sdtype": "numerical"} for n in "pq"})
