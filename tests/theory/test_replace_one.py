"""Replacing one row: two steps, and the entropy's sensitivity by brute force."""

import math

import numpy as np
import oracles_accounting as oracle
import pytest

from sdv_plausible.privacy.accounting.sensitivity import entropy_sensitivity


def test_replace_one_is_two_steps():
    """(2 epsilon, (1 + e^epsilon) delta) from one row removed, one added (conditional_release.md, Remark 3)."""
    rng, epsilon = np.random.default_rng(0), 0.5
    for p, between, q in rng.dirichlet(np.ones(4), (200, 3)):
        delta = max(beyond(p, between, epsilon), beyond(between, q, epsilon))
        assert beyond(p, q, 2 * epsilon) <= (1 + math.exp(epsilon)) * delta + 1e-12


def beyond(p, q, epsilon):
    return np.maximum(p - math.exp(epsilon) * q, 0).sum()


@pytest.mark.parametrize("n", range(1, 9))
def test_entropy_sensitivity_is_the_largest_change(n):
    """Of n rows (entropy_sensitivity.md, Theorem 2): that of adding a row to n - 1."""
    worst = 0.0
    for counts in oracle.histograms(n - 1):
        values = [oracle.entropy(more) for more in oracle.one_row_more(counts)]
        worst = max(worst, max(values) - min(values))
    assert worst == pytest.approx(entropy_sensitivity(n - 1), abs=1e-12)
    assert n == 1 or worst > entropy_sensitivity(n) + 1e-3  # planted: a row too many
