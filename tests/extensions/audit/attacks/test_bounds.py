"""Bounds from scores: below the truth of known mechanisms, and above a claim that is too small."""

import math

import numpy as np
import pytest
from scipy import stats

from sdv_plausible.extensions.audit.attacks.bounds import attack_bounds, mu_lower_bound, provable


def gaussian_scores(mu: float, runs: int, rng) -> tuple[np.ndarray, np.ndarray]:
    return rng.normal(mu, 1, runs), rng.normal(0, 1, runs)


def test_mu_of_a_gaussian_is_found_and_not_exceeded() -> None:
    """Each bound is above the truth with probability 1e-4 at most. Control: half of the noise contradicts the claim."""
    rng = np.random.default_rng(7)
    for mu in (0.5, 1.5, 3.0):
        one, half = (mu_lower_bound(*gaussian_scores(m, 40_000, rng), false_alarm=1e-4) for m in (mu, 2 * mu))
        assert 0.85 * mu < one <= mu < half
    found = attack_bounds(*gaussian_scores(0.0, 2000, rng), 1e-9, false_alarm=1e-4)
    assert found.epsilon == found.mu == 0  # a coin proves nothing


def test_false_alarms_are_as_rare_as_stated() -> None:
    """At false alarm .2, 400 audits of a true claim; 400 binomial draws of .2 exceed 115 once in 1e5."""
    rng = np.random.default_rng(3)
    alarms = sum(mu_lower_bound(*gaussian_scores(1.0, 400, rng), false_alarm=0.2) > 1.0 for _ in range(400))
    assert alarms <= 115
    assert stats.binom.sf(115, 400, 0.2) < 1e-4


def test_no_run_proves_more_than_the_one_where_everything_is_told() -> None:
    found = attack_bounds(np.ones(2000), np.zeros(2000), 1e-9)
    assert found.epsilon == pytest.approx(found.most_epsilon)
    assert found.mu == pytest.approx(found.most_mu)
    assert found.epsilon == pytest.approx(math.log(1500 / math.log(2 / 0.05)), abs=0.01)
    assert "at most epsilon" in str(found)
    assert found.to_dict()["runs"] == 2000


def test_what_is_provable_is_proved_as_often_as_stated() -> None:
    """The threshold is chosen on few runs, which costs a little: 85 % of it in 9 of 10 audits."""
    epsilon, mu = provable(1.5, 2000, 1e-9)
    rng = np.random.default_rng(11)
    found = [attack_bounds(*gaussian_scores(1.5, 2000, rng), 1e-9) for _ in range(60)]
    assert np.mean([b.mu > 0.95 * mu for b in found]) > 0.8
    assert np.mean([b.epsilon > 0.85 * epsilon for b in found]) > 0.8
    assert mu < 1.5


def test_a_small_delta_leaves_no_power_for_epsilon_but_for_mu() -> None:
    """(1, 1e-9) is mu .18: with 2,000 runs neither tells; with 300,000 mu does and epsilon does not."""
    assert provable(0.18, 2000, 1e-9)[0] < 0.05
    epsilon, mu = provable(0.18, 300_000, 1e-9)
    assert mu > 0.16
    assert epsilon < 0.4


def test_bounds_want_runs_and_probabilities() -> None:
    for words, wrong in (
        ("at least 20 runs", lambda: mu_lower_bound(np.ones(10), np.ones(30))),
        ("false_alarm", lambda: mu_lower_bound(np.ones(30), np.ones(30), false_alarm=0)),
        ("runs", lambda: provable(1.0, 5, 0.0)),
    ):
        with pytest.raises(ValueError, match=words):
            wrong()
