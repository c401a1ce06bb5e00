"""Intervals on simulated answers cover at 95 +- 1 %, through the door, whatever the law of the noise.

Cells' noise is independent, so misses are binomial: of 14,400 intervals of a case between 4 and 6 % may miss. The exact
probability of a miss is computed for each law (a law's quantile, rounded up to a whole count), and with it the chance of
a false alarm: below 1e-4 in each case. Planted: intervals that ignore the scale, or one law for another, are caught but
for a probability below 1e-6.
"""

from __future__ import annotations

import math
from itertools import product

import miss_rates
import numpy as np
import pandas as pd
import pytest
from scipy.special import erfc
from scipy.stats import binom

from sdv_plausible import StatedCounts, fit_answers
from sdv_plausible.release.intervals import confidence_limits, margins

pytestmark = pytest.mark.slow
SIDE, MISS, BAND = 120, 0.05, 0.01
CELLS = SIDE * SIDE
SIDES = [*range(SIDE)]
DOMAIN = {"a": {"range_values": SIDES}, "b": {"range_values": SIDES}, "c": {"range_values": ["x", "y"]}}
TRUTH = pd.DataFrame([*product(SIDES, SIDES)], columns=["a", "b"])
TRUTH["true"] = np.random.default_rng(1).integers(200, 400, CELLS)
SIGMA, WIDE, OWN = 30.0, 100.0, np.geomspace(40, 400, CELLS)


def told(noise, scale, seed):
    rng = np.random.default_rng(seed)
    errors = {"gaussian": rng.normal, "laplace": rng.laplace}[noise](0, scale, CELLS)
    table = TRUTH[["a", "b"]].assign(count=TRUTH["true"] + errors)
    if np.ndim(scale):
        table, scale = table.assign(error=scale), "error"
    return StatedCounts(table=table, noise=noise, scale=scale)


def three_ways():
    """Counts over three columns, of which a margin is asked for that adds two up."""
    halves = [told("gaussian", WIDE, seed).table.assign(c=c) for seed, c in ((7, "x"), (8, "y"))]
    halves[1]["count"] -= TRUTH["true"]
    return StatedCounts(table=pd.concat(halves), scale=WIDE)


CASES = {
    "gaussian": lambda: told("gaussian", SIGMA, 1),
    "laplace": lambda: told("laplace", SIGMA, 2),
    "errors of their own": lambda: told("gaussian", OWN, 3),
    "holders": lambda: told("gaussian", 0.6 * SIGMA, 4).added(told("gaussian", 0.8 * SIGMA, 5)),
    "added up": three_ways,
}


def misses(case):
    c = StatedCounts(table=pd.DataFrame({"c": ["x", "y"], "count": [1, 1]}), scale=1e8)
    found = fit_answers([CASES[case](), c], DOMAIN).margins(["a", "b"]).reset_index()
    truth = TRUTH["true"].to_numpy() * (2 if case == "holders" else 1)
    return int(((found["lower"] > truth) | (found["upper"] < truth)).sum())


def is_right(missed):
    return MISS - BAND <= missed / CELLS <= MISS + BAND


def test_coverage():
    assert [case for case in CASES if not is_right(misses(case))] == []


def gaussian(sigma, told):
    """Mean probability of a miss: of noise beyond the interval for what is told, rounded to whole counts."""
    half = confidence_limits.half_widths("discrete gaussian", told, MISS)
    return float(erfc((half + 0.5) / sigma / 2**0.5).mean())


def test_a_false_alarm_is_rare():
    """Misses of unequal probabilities vary less than equal ones of their mean (Hoeffding 1956)."""
    laplace = float(confidence_limits.half_widths("discrete laplace", SIGMA, MISS))
    rare = {
        "gaussian": gaussian(SIGMA, SIGMA),
        "laplace": math.exp(-(laplace + 0.5) / SIGMA),
        "errors of their own": gaussian(OWN, OWN),
        "holders": gaussian(SIGMA, SIGMA),
        "added up": gaussian(2**0.5 * WIDE, 2**0.5 * WIDE + 0.5),
    }
    low, high = math.ceil((MISS - BAND) * CELLS), math.floor((MISS + BAND) * CELLS)
    assert {*rare} == {*CASES}
    for chance in rare.values():
        assert binom.cdf(low - 1, CELLS, chance) + binom.sf(high, CELLS, chance) < 1e-4


def test_intervals_that_ignore_the_scale_are_caught(monkeypatch):
    """Planted: every interval is that of a tenth of its noise."""
    right = confidence_limits.half_widths
    tenth = lambda noise, scales, miss: right(noise, np.asarray(scales) / 10, miss)  # noqa: E731
    monkeypatch.setattr(margins, "half_widths", tenth)
    assert [case for case in CASES if is_right(misses(case))] == []
    assert miss_rates.binomial(CELLS, MISS, 0.8, 1e-4) < 1e-6


def test_one_law_for_another_is_caught(monkeypatch):
    """Planted: Laplace noise with the Gaussian quantile of the same parameter is missed in one of seven."""
    right = confidence_limits.half_widths
    other = lambda _, scales, miss: right("discrete gaussian", scales, miss)  # noqa: E731
    monkeypatch.setattr(margins, "half_widths", other)
    assert not is_right(misses("laplace"))
    assert miss_rates.binomial(CELLS, MISS, math.exp(-1.96 - 0.5 / SIGMA), 1e-4) < 1e-6
