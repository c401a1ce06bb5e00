"""Bounded range: the worst position by search, the exponential mechanism by enumeration."""

from __future__ import annotations

import math

import numpy as np
import oracles_accounting as oracle
import pytest

from sdv_plausible.privacy.accounting.composition import calibrate_gaussian, compose, compose_delta
from sdv_plausible.privacy.accounting.losses import BoundedRangeLoss, GaussianLoss, PureDP, ReleaseLoss

EPSILONS = np.array([0.0, 0.05, 0.2, 0.5, 0.9, 1.4, 2.5])


def worst_choice(epsilon: float, at: float) -> float:
    """Exponential mechanism with range epsilon on two groups of candidates: the worst position of the range, by search."""
    shares = np.linspace(0.001, 0.999, 999)
    p = shares * math.exp(epsilon) / (shares * math.exp(epsilon) + 1 - shares)
    return max(oracle.atoms_delta([(a, b), (1 - a, 1 - b)], at) for a, b in zip(p, shares, strict=True))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_profile_is_the_largest_over_positions(epsilon: float) -> None:
    for at in np.linspace(0, epsilon, 6)[:-1]:
        claimed = float(BoundedRangeLoss(epsilon=epsilon).profile(at)[0])
        assert worst_choice(epsilon, at) <= claimed + 1e-12
        assert worst_choice(epsilon, at) == pytest.approx(claimed, rel=1e-3)
    # Planted: half of the range is too little.
    assert worst_choice(epsilon, 0.0) > 1.5 * float(BoundedRangeLoss(epsilon=epsilon / 2).profile(0.0)[0])


def test_exponential_mechanism_is_of_bounded_range() -> None:
    """Scores of sensitivity 1, scale 2/epsilon: 400 random neighbours, three rounds composed."""
    rng = np.random.default_rng(5)
    epsilon = 0.8
    worst = np.zeros(len(EPSILONS))
    for _ in range(400):
        scores = rng.uniform(0, 5, 4)
        atoms = oracle.exponential_mechanism(scores, scores + rng.choice([-1.0, 1.0], 4), 2 / epsilon)
        worst = np.maximum(worst, oracle.profile(oracle.compose_atoms([atoms] * 3), EPSILONS))
    claimed = np.array([compose_delta([BoundedRangeLoss(epsilon=epsilon, count=3)], e) for e in EPSILONS])
    assert np.all(worst <= claimed)
    planted = BoundedRangeLoss(epsilon=epsilon / 2, count=3)
    too_small = np.array([compose_delta([planted], e) for e in EPSILONS])
    assert np.any(worst > too_small + 1e-3)  # planted: the scale of a monotone score used for one that is not


def test_permute_and_flip_is_not_of_bounded_range() -> None:
    """Two candidates, score gap 0 against 2 sensitivities: why its choices must not be composed as bounded-range."""
    epsilon, tied, apart = 1.0, np.array([0.5, 0.5]), np.array([1 - math.exp(-1.0) / 2, math.exp(-1.0) / 2])
    assert np.ptp(np.log(apart / tied)) > 1.4 * epsilon
    softmax = np.exp([0.0, -epsilon]) / (1 + math.exp(-epsilon))
    assert np.ptp(np.log(softmax / tied)) == pytest.approx(epsilon)


def test_it_composes_better_than_a_pure_loss_and_next_to_others() -> None:
    loss = BoundedRangeLoss(epsilon=0.1, count=40)
    assert loss.pair() == (pytest.approx(4.0), 0.0)
    assert loss.zcdp() == (pytest.approx(40 * 0.1**2 / 8), 0.0)
    assert compose([loss], 1e-6) < 0.6 * compose([PureDP(epsilon=0.1, count=40)], 1e-6)
    others = [BoundedRangeLoss(epsilon=0.02, count=12), ReleaseLoss(epsilon0=0.2, delta=1e-10)]
    mu = calibrate_gaussian(1.0, 1e-9, others)
    assert 0.997 < compose([*others, GaussianLoss(sensitivity_over_sigma=mu)], 1e-9) <= 1.0
