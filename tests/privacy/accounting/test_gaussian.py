"""Gaussian noise: the discrete against the continuous mechanism, and the zCDP conversion."""

from __future__ import annotations

import itertools
import math

import numpy as np
import oracles_accounting as oracle
import pytest

from sdv_plausible.privacy.accounting.gaussian import (
    DISCRETE_EXCESS,
    discrete_gaussian_mu,
    gaussian_log_delta,
    zcdp_delta,
)

EPSILONS = np.array([0.0, 0.05, 0.2, 0.5, 0.9, 1.4, 2.5])


@pytest.mark.parametrize("sigma", [0.35, 0.5, 0.8, 1.0, 1.7, 3.0, 10.0, 40.0])
def test_discrete_gaussian_is_dominated_by_the_stated_gaussian(sigma: float) -> None:
    atoms = oracle.discrete_gaussian(sigma)
    mu = discrete_gaussian_mu(sigma)
    knots = [(2 * m + 1) / (2 * sigma**2) for m in range(math.ceil(12 * sigma) + 2)]
    epsilons = np.unique([0.0, *(k for k in knots if k < 60), *np.linspace(0, min(60, 8 / sigma), 40)])
    exact = np.array([oracle.atoms_delta(atoms, e) for e in epsilons])
    claimed = np.exp(gaussian_log_delta(mu, epsilons))
    assert np.all(exact <= claimed * (1 + 1e-9) + 1e-17)
    assert 1 / sigma < mu <= (1 + DISCRETE_EXCESS / sigma**2) / sigma  # what calibrate_gaussian takes off
    uncorrected = np.exp(gaussian_log_delta(1 / sigma, epsilons))
    assert np.any(exact > uncorrected * (1 + 1e-6))  # planted: 1/sigma itself is too small


def test_discrete_gaussian_factor_for_all_scales() -> None:
    sigmas = np.geomspace(0.05, 60_000, 220)
    factors = np.array([discrete_gaussian_mu(float(s)) * s - 1 for s in sigmas])
    assert np.all(factors > 0)
    assert np.all(factors[sigmas < 1000] <= DISCRETE_EXCESS / sigmas[sigmas < 1000] ** 2 + 2e-9)
    assert np.all(factors[sigmas >= 1000] <= 8.1 / sigmas[sigmas >= 1000] ** 2 + 3e-9)


def test_zcdp_conversion_is_the_minimum_over_renyi_orders() -> None:
    for rho, epsilon in itertools.product((1e-3, 0.02, 0.5), (0.1, 1.0, 4.0)):
        alpha = 1 + np.geomspace(1e-4, 1e6, 400_001)
        log_delta = (alpha - 1) * (alpha * rho - epsilon) - np.log(alpha - 1) + alpha * np.log1p(-1 / alpha)
        best = min(1.0, math.exp(min(0.0, float(log_delta.min()))), math.sqrt(rho / 2))
        found = float(zcdp_delta(rho, epsilon))
        assert best * (1 - 1e-9) <= found <= best * 1.01
    # It bounds the Gaussian, which is rho-zCDP with rho = mu^2 / 2, and is not below it anywhere.
    for mu in (0.1, 0.7, 2.0):
        assert np.all(zcdp_delta(mu * mu / 2, EPSILONS) >= np.exp(gaussian_log_delta(mu, EPSILONS)))
