"""Counts among drawn records follow the hypergeometric law. False alarms: below 1e-6 in all, and the seed is fixed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.noise_samplers import hypergeometric_counts

DRAWS = 40_000


def p_value(found: np.ndarray, law: np.ndarray) -> float:
    expected = law * len(found)
    keep = expected >= 5
    seen = np.bincount(found, minlength=len(law)).astype(float)
    seen, expected = (np.append(counts[keep], counts[~keep].sum()) for counts in (seen, expected))
    some = expected > 0
    if not some.all() and seen[~some].sum() > 0:
        return 0.0
    return float(stats.chisquare(seen[some], expected[some] * seen[some].sum() / expected[some].sum()).pvalue)


@pytest.mark.parametrize(("counts", "population", "drawn"), [(30, 100, 20), (3, 10, 8), (60, 100, 50)])
@pytest.mark.parametrize("stops", [True, False])
def test_law(counts: int, population: int, drawn: int, stops: bool) -> None:
    stop = counts * drawn // population if stops else 1000
    found = hypergeometric_counts(np.full(DRAWS, counts), population, drawn, stop, KeyedRNG.from_seed(1))
    law, binomial = (  # planted: the second, with replacement
        np.append(masses[:stop], masses[stop:].sum() if stops else [])
        for masses in (
            stats.hypergeom(population, counts, drawn).pmf(np.arange(drawn + 1)),
            stats.binom(drawn, counts / population).pmf(np.arange(drawn + 1)),
        )
    )
    assert p_value(found, law) > 1e-7
    if not np.allclose(law, binomial, atol=0.01):
        assert p_value(found, binomial) < 1e-7


def test_ends() -> None:
    counts = np.array([0, 5, 10])
    for drawn, stop, found in ((10, 100, [0, 5, 10]), (0, 100, [0, 0, 0]), (10, 7, [0, 5, 7])):
        assert hypergeometric_counts(counts, 10, drawn, stop, KeyedRNG.from_seed(1)).tolist() == found
