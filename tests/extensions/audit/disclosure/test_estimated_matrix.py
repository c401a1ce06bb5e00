"""Matrices by running a synthesizer: the intervals hold the truth, and a planted leak is proved."""

import math

import numpy as np
import pytest

from sdv_plausible.extensions.audit.disclosure.count_synthesizers import multinomial_dirichlet
from sdv_plausible.extensions.audit.disclosure.transition_matrix import OTHER, monte_carlo

RUNS = 4000
ALARM = 1e-7  # that any interval misses


def plug_in(seed: int):
    rng = np.random.default_rng(seed)

    def synthesize(counts: tuple[int, ...]) -> tuple[int, ...]:
        p = (np.array(counts) + 0.5) / (sum(counts) + 0.5 * len(counts))
        return tuple(map(int, rng.multinomial(sum(counts), p)))

    return synthesize


def test_the_intervals_hold_the_truth():
    """False alarm: ALARM, were the seed not fixed. Control: the matrix of Eq. 1, 13 deviations off in a cell."""
    truth = multinomial_dirichlet(5, (0.5, 0.5), "plug_in")
    found = monte_carlo(plug_in(1), 5, 2, RUNS, false_alarm=ALARM)
    assert found.matrix.outcomes == (*truth.outcomes, OTHER)

    def missed(matrix):
        return ((matrix < found.low[:, :-1]) | (matrix > found.high[:, :-1])).any()

    assert not missed(truth.probabilities)
    assert missed(multinomial_dirichlet(5, (0.5, 0.5)).probabilities)
    low, high = found.least_change
    assert low <= truth.least_change <= high
    assert high - low < 0.12
    assert 1.0 < found.epsilon <= truth.epsilon


def test_a_planted_leak_is_proved():
    """Laplace noise of half the scale that epsilon 2 needs: the truth is 4, and 2 is refuted."""
    rng = np.random.default_rng(3)

    def half(counts):
        m = int(np.clip(np.rint(counts[0] + rng.laplace(0, 0.25)), 0, 5))
        return m, 5 - m

    assert 2.0 < monte_carlo(half, 5, 2, 20_000, false_alarm=ALARM).epsilon <= 4.0


def test_unlisted_outputs_are_counted_together():
    found = monte_carlo(lambda n: f"{n[0]} rows", 2, 2, 10, outcomes=["0 rows"])
    np.testing.assert_array_equal(found.matrix.probabilities, [[1, 0], [0, 1], [0, 1]])
    assert found.least_change == (1.0, 1.0)
    assert found.matrix.epsilon == math.inf
    assert found.epsilon < 2.0  # ten runs prove little


def test_bad_values_are_named():
    for wrong in ({"runs": 0}, {"categories": 1}, {"false_alarm": 0.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            monte_carlo(lambda n: n, **{"n": 2, "categories": 2, "runs": 10, **wrong})
