"""Replacing one row: two steps, and the entropy's sensitivity by brute force."""

import math

import oracles_accounting as oracle
import pytest

from sdv_plausible.privacy.accounting.losses import EpsilonDelta
from theory.replace_one import replace_one, replace_one_entropy_sensitivity


def test_replace_one_is_two_steps():
    assert replace_one(EpsilonDelta(0.5, 1e-6)) == pytest.approx((1.0, (1 + math.exp(0.5)) * 1e-6))
    assert replace_one(EpsilonDelta(1e6, 0.0)) == (2e6, 0.0)


@pytest.mark.parametrize("n", range(1, 9))
def test_entropy_sensitivity_is_the_largest_change(n):
    worst = 0.0
    for counts in oracle.histograms(n - 1):
        values = [oracle.entropy(more) for more in oracle.one_row_more(counts)]
        worst = max(worst, max(values) - min(values))
    assert worst == pytest.approx(replace_one_entropy_sensitivity(n), abs=1e-12)
    assert n == 1 or worst > replace_one_entropy_sensitivity(n + 1) + 1e-3  # planted: a row too many
