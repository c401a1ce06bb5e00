"""Profiles of single losses: against enumerated mechanisms."""

from __future__ import annotations

import math

import numpy as np
import oracles_accounting as oracle
import pytest

from sdv_plausible.privacy.accounting.losses import (
    ZCDP,
    ApproxDP,
    DiscreteLaplaceLoss,
    GaussianLoss,
    InfiniteLoss,
    Loss,
    PureDP,
    ReleaseLoss,
)

EPSILONS = np.array([0.0, 0.05, 0.2, 0.5, 0.9, 1.4, 2.5])


@pytest.mark.parametrize(
    ("loss", "atoms"),
    [
        (PureDP(epsilon=0.7), oracle.randomised_response(0.7)),
        (DiscreteLaplaceLoss(epsilon=0.7), oracle.discrete_laplace(0.7)),
        (DiscreteLaplaceLoss(epsilon=0.9, sensitivity=5), oracle.discrete_laplace(0.9, 5)),
        (DiscreteLaplaceLoss(epsilon=1.3, sensitivity=4), oracle.discrete_laplace(1.3, 4)),
    ],
)
def test_profiles_are_exact(loss: Loss, atoms: oracle.Atoms) -> None:
    for claimed in loss.profile(EPSILONS):
        np.testing.assert_allclose(claimed, oracle.profile(atoms, EPSILONS), atol=1e-12)
        # Control: a profile 3 % lower is caught.
        assert float(np.max(oracle.profile(atoms, EPSILONS) - 0.97 * claimed)) > 1e-3


@pytest.mark.parametrize("shift", [2, 5])
def test_integer_shifts_of_discrete_gaussians_are_covered(shift: int) -> None:
    """Sensitivity s at sigma costs no more than s times the unit shift, and GaussianLoss is told the quotient."""
    sigma = 4.0
    claimed = GaussianLoss(sensitivity_over_sigma=shift / sigma).profile(EPSILONS)[0]
    exact = oracle.profile(oracle.discrete_gaussian(sigma, shift), EPSILONS)
    assert np.all(exact <= claimed)
    np.testing.assert_allclose(claimed, exact, rtol=0.6, atol=1e-9)
    one_shift = GaussianLoss(sensitivity_over_sigma=(shift - 1) / sigma).profile(EPSILONS)[0]
    assert np.any(exact > one_shift)  # planted: the sensitivity of one row less


def test_release_loss_is_the_larger_of_size_and_entry() -> None:
    """An entering group: absent without the row, released with probability delta with it."""
    loss = ReleaseLoss(epsilon0=0.7, delta=0.05)
    remove, add = loss.profile(EPSILONS)
    entering = [(0.05, 0.0), (0.95, 1.0)]
    for atoms in (oracle.discrete_laplace(0.7), entering):
        for claimed, direction in ((remove, atoms), (add, oracle.flipped(atoms))):
            exact = np.array([oracle.atoms_delta(direction, e) for e in EPSILONS])
            assert np.all(exact <= claimed + 1e-12)
    assert remove[-1] == 0.05
    assert add[-1] == 0.0


def test_all_uses_together() -> None:
    assert PureDP(epsilon=0.1, count=3).pair() == (pytest.approx(0.3), 0.0)
    assert ApproxDP(epsilon=0.1, delta=1e-3, count=3).pair() == (pytest.approx(0.3), pytest.approx(3e-3))
    assert ApproxDP(epsilon=0.1, delta=0.4, count=3).pair() == (pytest.approx(0.3), 1.0)
    assert ReleaseLoss(epsilon0=0.1, delta=1e-3).pair() == (0.1, 1e-3)
    assert PureDP(epsilon=0.1, count=3).zcdp() == (pytest.approx(3 * 0.1**2 / 2), 0.0)
    assert GaussianLoss(sensitivity_over_sigma=0.1, count=3).zcdp() == (pytest.approx(3 * 0.1**2 / 2), 0.0)
    assert ZCDP(rho=0.2).zcdp() == (0.2, 0.0)
    for loss in (ZCDP(rho=0.2), GaussianLoss(sensitivity_over_sigma=0.1), InfiniteLoss()):
        assert loss.pair() is None
    assert InfiniteLoss().zcdp() is None


def test_values_are_frozen_and_checked() -> None:
    with pytest.raises(AttributeError):
        PureDP(epsilon=1.0).epsilon = 2.0  # type: ignore[misc]
    for bad in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="epsilon"):
            PureDP(epsilon=bad)
    with pytest.raises(ValueError, match=r"count \(0\)"):
        GaussianLoss(sensitivity_over_sigma=0.1, count=0)
