"""Noise on sums over Poisson samples: against dp-accounting, closed forms and a mixture by numbers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.stats import norm

from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.accounting.losses import GaussianLoss
from sdv_plausible.privacy.accounting.sampled_gaussian import SampledGaussianLoss, calibrate_sampled

GRID = np.array([0.0, 0.01, 0.1, 0.5, 1.0, 3.0])


@pytest.mark.parametrize("rate", [0.01, 0.125, 0.9])
def test_the_profile_is_that_of_the_mixture(rate):
    """Hockey-stick divergences of mixture and part, by integration on a fine grid."""
    loss = SampledGaussianLoss(rate=rate, sensitivity_over_sigma=0.5)
    x = np.linspace(-40, 40, 400_001)
    without, with_row = norm.pdf(x), norm.pdf(x, loss.mu)
    mixed = (1 - rate) * without + rate * with_row
    remove, add = loss.profile(GRID)
    for i, eps in enumerate(GRID):
        for found, one, other in ((remove, mixed, without), (add, without, mixed)):
            wanted = np.trapezoid(np.maximum(one - np.exp(eps) * other, 0), x)
            assert abs(found[i] - wanted) < 1e-7 + 1e-4 * wanted


def excess(sigma: float, rate: float, kind: type[SampledGaussianLoss] = SampledGaussianLoss) -> float:
    """Most that a discrete Gaussian on a sample loses beyond its curve, enumerated; both directions."""
    loss = kind(rate=rate, sensitivity_over_sigma=1 / sigma)
    x = np.arange(-60, 61)
    without, with_row = (np.exp(-((x - shift) ** 2) / (2 * sigma**2)) for shift in (0, 1))
    without, with_row = without / without.sum(), with_row / with_row.sum()
    mixed = (1 - rate) * without + rate * with_row
    eps = np.linspace(0, 4, 201)[:, None]
    curves = loss.profile(eps[:, 0])
    pairs = ((mixed, without), (without, mixed))
    return max(
        float((np.maximum(one - np.exp(eps) * other, 0).sum(axis=1) - curve).max())
        for curve, (one, other) in zip(curves, pairs, strict=True)
    )


class Uncorrected(SampledGaussianLoss):
    """Planted bug: discrete noise is taken for continuous noise of the same sigma."""

    @property
    def mu(self) -> float:
        return self.sensitivity_over_sigma


def test_discrete_noise_loses_no_more_than_the_curve_says():
    for rate, sigma in itertools.product((0.05, 0.5, 1.0), (0.4, 0.7, 2.0)):
        assert excess(sigma, rate) <= 1e-12
        assert sigma > 1 or excess(sigma, rate, Uncorrected) > 1e-4


def test_at_rate_1_it_is_the_gaussian():
    whole = GaussianLoss(sensitivity_over_sigma=0.5).profile(GRID)[0]
    for found in SampledGaussianLoss(rate=1.0, sensitivity_over_sigma=0.5).profile(GRID):
        np.testing.assert_allclose(found, whole, rtol=1e-9)


def test_the_total_is_not_below_dp_accountings_and_close_to_it():
    theirs = pld.from_gaussian_mechanism(5.0, sampling_prob=0.125, value_discretization_interval=1e-4)
    wanted = theirs.self_compose(50).get_epsilon_for_delta(1e-6)
    right, lower = (
        compose([SampledGaussianLoss(rate=rate, sensitivity_over_sigma=0.2, count=50)], 1e-6)
        for rate in (0.125, 0.1)
    )
    assert wanted * 0.9999 <= right <= 1.01 * wanted
    assert lower < wanted * 0.99  # control: charging a lower rate than is drawn would be noticed


@pytest.mark.parametrize("rate", [0.01, 0.5, 0.99])
def test_its_renyi_divergences_are_no_larger_than_told(rate):
    """Of mixture and part, either way, by integration, for some orders; and steps add up."""
    loss = SampledGaussianLoss(rate=rate, sensitivity_over_sigma=0.5, count=3)
    x = np.linspace(-40, 40, 400_001)
    without, with_row = norm.logpdf(x), norm.logpdf(x, 0.5)
    mixed = np.logaddexp(np.log1p(-rate) + without, np.log(rate) + with_row)
    for order in (1.1, 2.0, 8.0):
        for one, other in ((mixed, without), (without, mixed)):
            moment = np.trapezoid(np.exp(order * one + (1 - order) * other), x)
            assert 3 * np.log(moment) / (order - 1) <= loss.zcdp().rho * order * (1 + 1e-9)
    assert loss.zcdp().rho == pytest.approx(3 * 0.5**2 / 2)  # that of all rows, which rate 1 attains


def test_noise_is_calibrated_to_the_total():
    other = (GaussianLoss(sensitivity_over_sigma=0.1),)
    loss = calibrate_sampled(1.0, 1e-6, 0.125, 30, other)
    assert 0.99 <= compose([*other, loss], 1e-6) <= 1


def test_what_makes_no_loss_is_refused():
    good = {"rate": 0.1, "sensitivity_over_sigma": 1.0, "count": 1}
    for name, value in (("rate", 0.0), ("rate", 1.5), ("sensitivity_over_sigma", 0.0), ("count", 0)):
        with pytest.raises(ValueError, match=name):
            SampledGaussianLoss(**{**good, name: value})
