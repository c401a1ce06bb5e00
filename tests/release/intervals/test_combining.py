"""Combining rules: against the formulas written out, and against a known law."""

import numpy as np
import pytest
from scipy.stats import binom, t

from sdv_plausible import combine

ALARM = 1e-6


def test_formulas():
    q, v = np.array([3.0, 4.0, 8.0, 5.0]), np.array([1.0, 2.0, 1.0, 0.4])
    found = combine(q, v)
    whole = 1.25 * q.var(ddof=1)
    variance = whole - v.mean()
    degrees = 3 * (1 - v.mean() / whole) ** 2
    assert found.estimate == pytest.approx(5.0)
    assert found.variance == pytest.approx(variance)
    assert found.degrees == pytest.approx(degrees)
    assert found.upper - found.lower == pytest.approx(2 * t.ppf(0.975, max(degrees, 1)) * variance**0.5)


def test_nothing_is_taken_off_where_nothing_would_be_left():
    q = np.array([1.0, 1.1, 0.9])
    assert combine(q, [5.0] * 3).variance == pytest.approx(combine(q).variance)


def test_arrays_are_combined_entry_by_entry():
    rng = np.random.default_rng(0)
    q, v = rng.normal(size=(6, 2, 3)), rng.random((6, 2, 3)) / 10
    found = combine(list(q), list(v))
    assert found.lower.shape == (2, 3)
    assert found.upper[1, 2] == pytest.approx(combine(q[:, 1, 2], v[:, 1, 2]).upper)


def covered(rounds: int, tables: int, noise: float, within: float, told: float) -> int:
    """Hits of 95 % intervals: truth 0, what was released is off by ``noise``, each table by that again."""
    rng = np.random.default_rng(5)
    released = rng.normal(0, noise, rounds)
    q = released[:, None] + rng.normal(0, noise, (rounds, tables)) + rng.normal(0, within, (rounds, tables))
    found = combine(q.T, np.full((tables, rounds), told**2))
    return int(((found.lower <= 0) & (found.upper >= 0)).sum())


@pytest.mark.parametrize("within", [0.0, 0.3])
def test_coverage(within):
    """False alarm 1e-6 (binomial)."""
    assert covered(4000, 10, 1.0, within, within) >= binom.ppf(ALARM, 4000, 0.94)


def test_an_interval_that_ignores_the_noise_is_caught():
    """Planted: what one table says of itself, in the place of what the tables say together."""
    rng = np.random.default_rng(6)
    q = rng.normal(0, 1.0, 4000) + rng.normal(0, 0.3, 4000)
    assert (np.abs(q) <= 1.96 * 0.3).sum() < binom.ppf(ALARM, 4000, 0.94)


def test_what_does_not_fit_is_refused():
    for estimates, variances, level, said in (
        ([1.0], None, 0.95, "at least 2"), ([1.0, 2.0], [1.0], 0.95, "variances"), ([1.0, 2.0], None, 1.0, "level"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            combine(estimates, variances, level=level)
