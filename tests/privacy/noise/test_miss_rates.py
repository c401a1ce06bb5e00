"""The bounds on missed controls: against the frequency with which a weak fault is really missed."""

from __future__ import annotations

import miss_rates
import numpy as np
import pytest
from scipy import stats

RUNS, DRAWS, ALARM = 4000, 400, 1e-3
ROOM = 4.5 * np.sqrt(0.25 / RUNS)  # of a frequency; the seed is fixed, so that nothing is left to chance
EXPECTED = np.array([0.4, 0.3, 0.2, 0.1])


@pytest.mark.parametrize("strength", [0.03, 0.05, 0.08])
def test_chi_square(strength: float) -> None:
    planted = EXPECTED + strength * np.array([1, 1, -1, -1]) / 2
    counts = np.random.default_rng(1).multinomial(DRAWS, planted, RUNS)
    missed = np.mean(stats.chisquare(counts, EXPECTED * DRAWS, axis=1).pvalue > ALARM)
    bound = miss_rates.chi_square(DRAWS, EXPECTED, planted, ALARM)
    assert missed <= bound + ROOM
    assert bound < 1 or strength < 0.04  # control: it does not say 1 of everything
    assert miss_rates.chi_square(DRAWS, EXPECTED, [0.1, 0.2, 0.3, 0.4], ALARM) < 1e-6


@pytest.mark.parametrize("factor", [1.1, 1.25, 1.4])
def test_kolmogorov_smirnov(factor: float) -> None:
    drawn = factor * np.random.default_rng(2).exponential(size=(300, DRAWS))
    missed = np.mean([stats.kstest(x, stats.expon.cdf).pvalue > ALARM for x in drawn])
    points = np.linspace(0.05, 4, 50)
    bound = miss_rates.kolmogorov_smirnov(
        DRAWS, stats.expon.cdf(points), stats.expon.cdf(points / factor), ALARM
    )
    assert missed <= bound + 4 * ROOM
    assert bound < 0.9 or factor < 1.3
    assert miss_rates.kolmogorov_smirnov(DRAWS, 0.5, 0.9, ALARM) < 1e-6


@pytest.mark.parametrize("planted", [0.33, 0.38, 0.42])
def test_binomial(planted: float) -> None:
    found = np.random.default_rng(3).binomial(DRAWS, planted, RUNS)
    accepted = {x: stats.binomtest(int(x), DRAWS, 0.3).pvalue > ALARM for x in np.unique(found)}
    missed = np.mean([accepted[x] for x in found])
    bound = miss_rates.binomial(DRAWS, 0.3, planted, ALARM)
    assert missed <= bound + ROOM
    assert bound < 0.9 or planted < 0.4
    assert miss_rates.binomial(DRAWS, 0.3, 0.6, ALARM) < 1e-6
