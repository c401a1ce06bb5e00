"""The paper's two privacy tests: who passes, what is charged, and the size check."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.release.row_tests import RandomizedTest


def test_the_randomised_test_passes_with_the_probability_of_its_noise():
    """At k' = k the chance is Pr[z >= 0] = 1/(1+a), two below it a^2/(1+a); 20,000 draws, false alarm 1e-6 in all.

    Control: a threshold that is not drawn afresh gives all or nothing.
    """
    test, a = RandomizedTest(k=20, gamma=4.0, epsilon0=0.7), np.exp(-0.7)
    for size, p in ((20, 1 / (1 + a)), (18, a**2 / (1 + a)), (23, 1 - a**4 / (1 + a))):
        passed = int(test.passes(np.full(20_000, size), Coins.from_seed(size)).sum())
        low, high = binom.ppf([2e-7, 1 - 2e-7], 20_000, p)
        assert low <= passed <= high
        one_threshold = 20_000 * int(test.passes(np.array([size]), Coins.from_seed(size))[0])
        assert not low <= one_threshold <= high
