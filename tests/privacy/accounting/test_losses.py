"""Profiles of single losses: against enumerated mechanisms."""

from __future__ import annotations

import itertools
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
    PureDP,
    ReleaseLoss,
)

EPSILONS = np.array([0.0, 0.05, 0.2, 0.5, 0.9, 1.4, 2.5])


def test_profiles_are_exact() -> None:
    for loss, atoms in (
        (PureDP(epsilon=0.7), oracle.randomised_response(0.7)),
        (DiscreteLaplaceLoss(epsilon=0.7), oracle.discrete_laplace(0.7)),
        (DiscreteLaplaceLoss(epsilon=0.9, sensitivity=5), oracle.discrete_laplace(0.9, 5)),
        (DiscreteLaplaceLoss(epsilon=1.3, sensitivity=4), oracle.discrete_laplace(1.3, 4)),
    ):
        for claimed in loss.profile(EPSILONS):
            np.testing.assert_allclose(claimed, oracle.profile(atoms, EPSILONS), atol=1e-12)
            # Control: a profile 3 % lower is caught.
            assert float(np.max(oracle.profile(atoms, EPSILONS) - 0.97 * claimed)) > 1e-3


def test_integer_shifts_of_discrete_gaussians_are_covered() -> None:
    """Sensitivity s at sigma costs no more than s times the unit shift, and GaussianLoss is told the quotient."""
    sigma = 4.0
    for shift in (2, 5):
        claimed = GaussianLoss(sensitivity_over_sigma=shift / sigma).profile(EPSILONS)[0]
        exact = oracle.profile(oracle.discrete_gaussian(sigma, shift), EPSILONS)
        assert np.all(exact <= claimed)
        np.testing.assert_allclose(claimed, exact, rtol=0.6, atol=1e-9)
        one_shift = GaussianLoss(sensitivity_over_sigma=(shift - 1) / sigma).profile(EPSILONS)[0]
        assert np.any(exact > one_shift)  # planted: the sensitivity of one row less


def failing(delta: float, atoms: oracle.Atoms) -> oracle.Atoms:
    """With probability delta all is told, on either side; else what the atoms tell."""
    return [(delta, 0.0), *(((1 - delta) * p, (1 - delta) * q) for p, q in atoms), (0.0, delta)]


def test_a_failure_adds_to_what_is_told_without_it() -> None:
    for delta in (0.0, 0.05, 0.4):
        exact = oracle.profile(failing(delta, oracle.randomised_response(0.7)), EPSILONS)
        for claimed in ApproxDP(epsilon=0.7, delta=delta).profile(EPSILONS):
            np.testing.assert_allclose(claimed, exact, atol=1e-12)


def test_release_loss_is_no_larger_than_size_and_entry_of_one_row() -> None:
    for delta, epsilon0 in itertools.product((0.05, 0.3), (0.01, 0.7)):
        entering = [(delta, 0.0), (1 - delta, 1.0)]
        sizes = oracle.profile(oracle.discrete_laplace(epsilon0), EPSILONS)
        profiles = ReleaseLoss(epsilon0=epsilon0, delta=delta).profile(EPSILONS)
        for claimed, atoms in zip(profiles, (entering, oracle.flipped(entering)), strict=True):
            entry = np.array([oracle.atoms_delta(atoms, e) for e in EPSILONS])
            np.testing.assert_allclose(claimed, np.maximum(sizes, entry), atol=1e-12)
        assert profiles[0][-1] == delta  # at 2.5, above epsilon0
        assert profiles[1][-1] == 0.0


def test_an_entering_group_takes_one_row_off_what_the_sizes_change_by() -> None:
    """Scale l1/epsilon0: all l1 rows change sizes, or one enters and l1 - 1 do."""
    for l1, delta in itertools.product((2, 3, 6), (1e-3, 0.3)):
        sizes = oracle.profile(oracle.discrete_laplace(0.9, l1), EPSILONS)
        fewer = oracle.discrete_laplace(0.9 * (l1 - 1) / l1, l1 - 1)
        left = oracle.profile(failing(delta, fewer), EPSILONS)
        for claimed in ReleaseLoss(epsilon0=0.9, delta=delta, l1=l1).profile(EPSILONS):
            np.testing.assert_allclose(claimed, np.maximum(sizes, left), atol=1e-12)


def test_the_laplace_profile_just_below_its_epsilon() -> None:
    """There the last value kept is 0: ``(1 - e^(epsilon - epsilon_0))/(1 + a)``, and never below 0."""
    for gap in (1e-12, 1e-10, 1e-9, 1e-6):
        found = DiscreteLaplaceLoss(epsilon=0.7, sensitivity=2).profile(0.7 - gap)[0]
        assert float(found) == pytest.approx(-math.expm1(-gap) / (1 + math.exp(-0.35)), abs=1e-15, rel=1e-6)
    for sensitivity in range(1, 40):
        for epsilon in np.linspace(0.01, 5, 500)[1::2]:  # rounding alone would make some negative
            loss = DiscreteLaplaceLoss(epsilon=epsilon, sensitivity=sensitivity)
            assert (loss.profile(np.nextafter(epsilon, 0) * np.array([1.0, 1 - 3e-16]))[0] >= 0).all()


def test_once_is_the_default() -> None:
    assert PureDP(epsilon=0.1).pair() == (0.1, 0.0)
    assert ApproxDP(epsilon=0.1, delta=1e-3).pair() == (0.1, 1e-3)
    assert DiscreteLaplaceLoss(epsilon=0.1).pair() == (0.1, 0.0)
    gaussian, release = GaussianLoss(sensitivity_over_sigma=1.0), ReleaseLoss(epsilon0=1.0, delta=0.1)
    assert [loss.count for loss in (gaussian, ZCDP(rho=1.0), release, InfiniteLoss())] == [1, 1, 1, 1]


def test_all_uses_together() -> None:
    assert DiscreteLaplaceLoss(epsilon=0.1, count=3, sensitivity=4).pair() == (pytest.approx(0.3), 0.0)
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
    for made, name in (
        (lambda: PureDP(epsilon=0.1, count=0), "count"),
        (lambda: ApproxDP(epsilon=0.1, delta=0.1, count=0), "count"),
        (lambda: DiscreteLaplaceLoss(epsilon=0.1, count=0), "count"),
        (lambda: DiscreteLaplaceLoss(epsilon=0.1, sensitivity=0), "sensitivity"),
        (lambda: ReleaseLoss(epsilon0=0.1, delta=0.1, l1=0), "l1"),
    ):
        with pytest.raises(ValueError, match=rf"{name} \(0\)"):
            made()
