"""The one-run bound: exact for randomised response, sound with delta, and found where all is told."""

import math

import numpy as np
import pytest
from scipy import stats

from sdv_plausible.extensions.audit.attacks.bounds import auc, guess_probability, guesses_bound, one_run_bound


def test_randomised_response_makes_the_bound_an_equality() -> None:
    """Every coin is shown, wrong with probability 1/(1 + e): right guesses are binomial, as Theorem 4 allows at most."""
    chance = 1 / (1 + math.exp(-1.0))
    for right in (50, 75, 80):
        exactly = stats.binom.sf(right - 1, 100, chance)
        assert guess_probability(right, 100, 100, 1.0, 0.0) == pytest.approx(exactly)
    # Control: a claim of .5 is contradicted by what epsilon 1 shows often, and one of 1 is not.
    assert guesses_bound(750, 1000, 1000, 0.0, 1e-3) > 0.5
    assert guesses_bound(731, 1000, 1000, 0.0, 0.05) < 1.0


def test_false_alarms_are_as_rare_as_stated() -> None:
    """300 audits at false alarm .2 of epsilon-randomised response that fails with delta for each canary.

    Such a mechanism is (epsilon, delta)-DP. 300 draws of .2 exceed 95 once in 1e6.
    """
    rng, epsilon, m = np.random.default_rng(5), 1.0, 100
    for delta in (0.0, 0.01):
        alarms = 0
        for _ in range(300):
            was_in, sure = rng.random(m) < 0.5, rng.random(m) < delta
            true = rng.random(m) < 1 / (1 + math.exp(-epsilon))
            scores = np.where(was_in, 1.0, -1.0) * np.where(sure, 2.0, np.where(true, 1.0, -1.0))
            alarms += one_run_bound(scores, was_in, delta, false_alarm=0.2).epsilon > epsilon
        assert alarms <= 95
    # Control: with a twentieth of the canaries told for sure, the bound for delta 0 is above that for delta.
    assert guess_probability(60, 60, 100, 2.0, 0.0) < guess_probability(60, 60, 100, 2.0, 0.05)
    assert guesses_bound(95, 100, 100, 0.05, 0.05) < guesses_bound(95, 100, 100, 0.0, 0.05)


def test_the_bound_grows_with_what_is_right_to_as_much_as_can_be_proved() -> None:
    bounds = [guesses_bound(right, 100, 100, 0.0, 0.05) for right in range(50, 101, 10)]
    assert bounds == sorted(bounds)
    assert bounds[0] == 0.0
    assert guess_probability(100, 100, 100, bounds[-1], 0.0) == pytest.approx(0.05)
    was_in = np.arange(200) % 2 == 0
    found = one_run_bound(was_in.astype(float), was_in, 1e-9)
    assert found.epsilon == pytest.approx(found.most_epsilon)
    assert (found.auc, found.to_dict()["canaries"]) == (1.0, 200)
    assert "200 of 200" in str(found)
    assert auc(np.array([1.0, 1.0, 0.0]), np.array([True, False, False])) == 0.75  # ties count half
    assert math.isnan(auc(np.ones(2), np.array([True, True])))


def test_wrong_arguments_are_named() -> None:
    for words, wrong in (
        ("equally long", lambda: one_run_bound([1.0], [True], 0.0)),
        ("delta", lambda: one_run_bound([1.0, 2.0], [True, False], 1.0)),
        ("must rise", lambda: guess_probability(3, 2, 5, 1.0, 0.0)),
    ):
        with pytest.raises(ValueError, match=words):
            wrong()
