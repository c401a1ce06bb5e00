"""Options of both row-by-row tests: limits of counting, hidden omega, gamma 1, Laplace threshold."""

import math

import numpy as np
import pytest

from sdv_plausible.mechanism.privacy_tests.row_tests import DeterministicTest, RandomizedTest
from sdv_plausible.models.base import PrefixModel
from sdv_plausible.privacy.accounting.losses import InfiniteLoss
from sdv_plausible.privacy.accounting.paper_theorems import log_pass_probability
from sdv_plausible.privacy.accounting.released_rows import CheckedRows
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from tests.flat import bound

COMMON = {"k": 30, "gamma": 4.0, "epsilon0": 1.0, "delta": 1e-6, "row_cap": 100, "least_rows": 10_000}


def test_limits_below_k_are_refused_and_counting_stops():
    for name in ("max_plausible", "max_check_plausible"):
        for test, options in ((DeterministicTest, {"k": 5, "gamma": 1.0}), (RandomizedTest, COMMON)):
            with pytest.raises(ValueError, match=name):
                bound(test, **options, **{name: options["k"] - 1})
    assert DeterministicTest(k=5, gamma=1, max_check_plausible=50).stop == 5
    assert DeterministicTest(k=5, gamma=1).stop is None
    assert bound(RandomizedTest, **COMMON, max_plausible=39).stop == 39
    assert bound(RandomizedTest, **COMMON, max_check_plausible=100).stop == 80


def test_passes_from_k_on_at_a_gamma_of_at_least_one_and_ends_the_claim():
    test = DeterministicTest(k=5, gamma=1)
    assert test.passes(np.array([0, 4, 5, 6]), KeyedRNG.from_seed(0)).tolist() == [False, False, True, True]
    assert [(entry.name, entry.losses) for entry in test.charge(4.0)] == [("rows", (InfiniteLoss(),))]
    with pytest.raises(ValueError, match="gamma"):
        DeterministicTest(k=5, gamma=0.9)


def test_checked_seeds_are_never_charged_as_full_counts():
    entry = bound(RandomizedTest, **COMMON, max_check_plausible=1000).charge(1.0)[1]
    assert isinstance(entry.losses[0], CheckedRows)
    assert "max_check_plausible = 1,000" in entry.mechanism
    assert not isinstance(bound(RandomizedTest, **COMMON).charge(1.0)[1].losses[0], CheckedRows)


def test_hidden_omega_is_charged_at_its_gamma_and_needs_a_network():
    hidden = bound(RandomizedTest, **COMMON, hidden_omega=True).charge(1.0)[1].epsilon(1e-5)
    known, at_gamma = (bound(RandomizedTest, **COMMON).charge(gamma)[1].epsilon(1e-5) for gamma in (1.0, 4.0))
    assert known < hidden <= at_gamma  # which no candidate without a seed makes cheaper
    test = DeterministicTest(k=5, gamma=2, hidden_omega=True)
    with pytest.raises(ValueError, match="Bayesian network"):
        test.check_model(PrefixModel)
    DeterministicTest(k=5, gamma=2).check_model(PrefixModel)


def test_laplace_threshold_passes_as_often_as_it_says():
    """40,000 thresholds per count; 6 standard deviations, false alarm below 1e-7 (and the seed is fixed)."""
    test = bound(RandomizedTest, **COMMON, threshold_noise="laplace")
    for count in (27, 29, 30, 31, 33):
        passed = test.passes(np.full(40_000, count), KeyedRNG.from_seed(count)).mean()
        p = math.exp(float(log_pass_probability(count, 30, 1.0, "laplace")))
        assert abs(passed - p) < 6 * math.sqrt(p * (1 - p) / 40_000)
    other = bound(RandomizedTest, **COMMON).passes(np.full(40_000, 30), KeyedRNG.from_seed(1)).mean()
    assert abs(other - 0.5) > 0.1  # planted: the other noise passes 73 % at the centre, this one a half
    assert test.charge(1.0)[1].losses[0].noise == "laplace"
