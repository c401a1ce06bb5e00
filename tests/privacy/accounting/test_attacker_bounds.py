"""Bounds on membership attackers: closed form, every attacker of small mechanisms, and a bound that must be caught."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

from sdv_plausible.privacy.accounting.attacker_bounds import (
    FALSE_ALARMS,
    AttackerBounds,
    attackers,
    true_positive_rate,
)
from sdv_plausible.privacy.accounting.composition import compose_delta
from sdv_plausible.privacy.accounting.losses import (
    ApproxDP,
    DiscreteLaplaceLoss,
    GaussianLoss,
    InfiniteLoss,
    PureDP,
)


@pytest.mark.parametrize("mu", [0.05, 0.18, 1.0])
def test_gaussian_noise_by_its_closed_form(mu):
    """Never below, and at most 1 % above in the advantage's terms."""
    loss = GaussianLoss(sensitivity_over_sigma=mu)
    found, mu = attackers([loss]), loss.mu  # of the discrete noise
    assert found.advantage == pytest.approx(2 * norm.cdf(mu / 2) - 1, rel=0.01)
    assert found.advantage >= (2 * norm.cdf(mu / 2) - 1) * (1 - 1e-12)
    for rate in FALSE_ALARMS:
        exact = norm.cdf(norm.ppf(rate) + mu)
        assert exact <= found.hits[rate] <= exact + 0.01 * found.advantage


def noisy(epsilon: float, value: int, reach: int = 12) -> np.ndarray:
    """Discrete Laplace around a value, on -reach..reach + 1, its tails in the last cells."""
    a = math.exp(-epsilon)
    z = np.arange(-200, 201) + value
    mass = (1 - a) / (1 + a) * a ** np.abs(np.arange(-200, 201))
    return np.bincount(np.clip(z, -reach, reach + 1) + reach, weights=mass, minlength=2 * reach + 2)


def best_attack(p: np.ndarray, q: np.ndarray, rate: float) -> float:
    """Largest true positive rate at a false positive rate: Neyman and Pearson's test, randomised at its border."""
    order = np.argsort(-p / q)
    false, true = np.cumsum(q[order]), np.cumsum(p[order])
    return float(np.interp(rate, np.append(0.0, false), np.append(0.0, true)))


@pytest.mark.parametrize("rate", [0.3, 0.01, 0.001])
def test_no_attacker_of_a_noisy_count_beats_the_bound(rate):
    """Both directions. The best attacker comes close: the bound is not vacuous."""
    less, more = noisy(0.7, 0), noisy(0.7, 1)
    claimed = true_positive_rate(lambda e: compose_delta([DiscreteLaplaceLoss(epsilon=0.7)], e), rate)
    hits = [best_attack(more, less, rate), best_attack(less, more, rate)]
    assert 0.99 * claimed <= max(hits) <= claimed * (1 + 1e-9)
    advantage = np.abs(more - less).sum() / 2
    assert attackers([DiscreteLaplaceLoss(epsilon=0.7)]).advantage == pytest.approx(advantage, rel=1e-3)


def test_one_direction_alone_is_caught():
    """Planted: a mechanism that sometimes shows that a unit was there, and the profile of adding alone."""
    with_unit, without = np.array([0.5, 0.4, 0.1]), np.array([0.55, 0.45, 0.0])

    of = lambda p, q: lambda e: float(np.maximum(p - math.exp(e) * q, 0).sum())  # noqa: E731
    both = [of(with_unit, without), of(without, with_unit)]
    alarms = [
        list(a)
        for n in range(4)
        for a in itertools.combinations(range(3), n)
        if sum(without[list(a)]) <= 0.001
    ]
    hit = max(sum(with_unit[a]) for a in alarms)
    assert hit == pytest.approx(0.1)
    assert true_positive_rate(lambda e: max(f(e) for f in both), 0.001) >= hit
    assert true_positive_rate(both[1], 0.001) < hit


def test_no_claim_nothing_and_hardly_any():
    for losses, advantage in (([InfiniteLoss()], 1.0), ([], 0.0), ([ApproxDP(epsilon=60.0, delta=0.0)], 1.0)):
        found = attackers(losses)
        assert found.advantage == pytest.approx(advantage)
        assert all(rate <= hit <= 1 for rate, hit in found.hits.items())
    assert attackers([PureDP(epsilon=0.1)]).hits[0.01] <= math.exp(0.1) * 0.01 * (1 + 1e-4)


def test_the_sentence_says_both():
    found = AttackerBounds(0.0724, {0.01: 0.0156, 0.001: 0.00179})
    assert found.sentence("one row is in the data") == (
        "An attacker who tries to tell from this release whether one row is in the data is right at most 53.7 % "
        "of the time (50 % is guessing)."
    )
    assert found.rare() == (
        "At low false-alarm rates: with 1 % false alarms at most 1.6 % hits, and with 0.1 % false "
        "alarms at most 0.18 % hits. At any rate, hits exceed false alarms by at most 7.3 % (0 % is guessing)."
    )


def test_the_share_of_right_guesses_is_rounded_up():
    for advantage, said in ((0.0, "50"), (1e-9, "50.1"), (0.9999, "99.995"), (1.0, "100")):
        assert f" at most {said} % of the time" in AttackerBounds(advantage, {}).sentence(
            "one row is in the data"
        )


def test_a_rate_outside_is_refused():
    with pytest.raises(ValueError, match=r"false_positive_rate \(0\)"):
        true_positive_rate(lambda e: 0.0, 0)
