"""Multiples of a step, and their nearest one."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.rules import Multiple, Sum
from sdv_plausible.table.columns.domain import Attribute


def test_multiples_come_back_exactly():
    for step in (0.1, 0.25, 1 / 3, 1, 5, 1000):
        rule = Multiple("x", step)
        steps = Attribute(name=rule.steps, kind="integer", lower=(-50,), upper=(300,), nullable=True)
        (made,) = rule.attributes({rule.steps: steps}, {}, {})
        table = pd.DataFrame({rule.steps: [-50, 0, 3, 299, np.nan]})
        found = rule.unfold(table, {}, {"x": made})["x"]
        assert rule.holds(pd.DataFrame({"x": found}), {}).all()
        assert np.allclose(found[:4], np.array([-50, 0, 3, 299]) * step)
        assert found.isna().tolist() == [False] * 4 + [True]
        assert rule.fold(pd.DataFrame({"x": found}), {})[rule.steps].tolist()[:4] == [-50, 0, 3, 299]
        whole = rule.unfold(table[:4], {}, {"x": made})["x"]
        assert (whole.dtype == np.int64) == float(step).is_integer()
        assert rule.fits({rule.steps: steps}, {"x": made})


def test_others_count_as_the_nearest():
    table = pd.DataFrame({"x": [0.1, 0.13, 0.99, np.nan, np.inf]})
    rule = Multiple("x", 0.25)
    assert rule.fold(table, {})[rule.steps].tolist()[:3] == [0, 1, 4]
    assert rule.fold(table, {})[rule.steps].isna().tolist() == [False] * 3 + [True] * 2
    assert rule.holds(table, {}).tolist() == [False, False, False, True, True]


def test_the_declared_range_in_steps():
    ends = {"sdtype": "numerical", "range_min": 0.1, "range_max": 2.6, "range_is_nullable": True}
    found = Multiple("x", 0.25).surrogate_specs({"x": {**ends, "special_values": [-1]}})["x / 0.25"]
    assert found == {**ends, "range_min": 1, "range_max": 10, "decimal_places": 0, "special_values": [-4]}
    large = {"sdtype": "numerical", "range_min": 0, "range_max": 2**62}
    (found,) = Multiple("x", 1).surrogate_specs({"x": large}).values()
    assert found["range_max"] == 2**62
    for wrong in (0, -1, float("nan")):
        with pytest.raises(ValueError, match="step"):
            Multiple("x", wrong)
    for step, words, said in (
        (5e-324, {"range_min": 0, "range_max": 200}, "resolution .5e-324. of column 'x'"),
        (1e-300, {"range_min": -1e300, "range_max": 0}, "resolution .1e-300. of column 'x'"),
        (0.5, {"special_values": [1e300]}, "resolution .0.5. of column 'x'"),
        (0.5, {"special_values": ["?"]}, "text special_values"),
    ):
        with pytest.raises(Refused, match=f"{said}.*"):
            Multiple("x", step).surrogate_specs({"x": {"sdtype": "numerical", **words}})


def test_ends_of_noise_beyond_64_bits_end_no_fit():
    for step, far in itertools.product((100, 10**6, 0.25), (2**61, 2**62)):
        rule = Multiple("wage", step)
        steps = Attribute(name=rule.steps, kind="integer", lower=(-far,), upper=(far,))
        (made,) = rule.attributes({rule.steps: steps}, {}, {})
        values = rule.unfold(pd.DataFrame({rule.steps: [-far, 0, far]}), {}, {"wage": made})["wage"]
        assert np.isfinite(values.astype(float)).all()
    parts = {n: Attribute(name=n, kind="integer", lower=(0,), upper=(2**62,)) for n in "ab"}
    (made,) = Sum("t", ("a", "b")).attributes(parts, {}, {})
    table = pd.DataFrame({"a": [2**62], "b": [2**62]})
    assert Sum("t", ("a", "b")).unfold(table, {}, {"t": made})["t"].iloc[0] == 2.0**63
