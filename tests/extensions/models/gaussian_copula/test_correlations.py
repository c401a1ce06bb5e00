"""Polychoric correlations from noisy tables, and factors that make a matrix of them positive definite."""

import itertools

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import multivariate_normal

from sdv_plausible.extensions.models.gaussian_copula import copula_model
from sdv_plausible.extensions.models.gaussian_copula.copula_model import LEAST_SPREAD, factors, polychoric

MASS = np.array([0.2, 0.3, 0.4, 0.1])


def table(rho, n=100_000, seed=0):
    z = np.random.default_rng(seed).multivariate_normal([0, 0], [[1, rho], [rho, 1]], n)
    codes = np.searchsorted(ndtri(np.cumsum(MASS)[:-1]), z)
    return np.bincount(codes[:, 0] * 4 + codes[:, 1], minlength=16).reshape(4, 4).astype(float)


def test_the_correlation_is_found():
    """Noise alone moves little: of a hundred rows under noise of a thousand the estimate stays near zero."""
    for rho, sigma in itertools.product((-0.9, -0.3, 0.0, 0.5, 0.95), (0.0, 60.0)):
        noise = sigma * np.random.default_rng(1).normal(size=(4, 4))
        assert polychoric(table(rho) + noise, sigma, 1e5, MASS, MASS) == pytest.approx(rho, abs=0.02)
    rng = np.random.default_rng(2)
    found = [polychoric(rng.normal(0, 1000, (4, 4)), 1000.0, 100.0, MASS, MASS) for _ in range(50)]
    assert np.abs(found).max() < 0.05


def test_cells_are_those_of_a_normal():
    at = 150
    rho = float(np.sin(copula_model._ANGLES[at]))
    cells = copula_model.cell_probabilities(MASS, MASS)[at]
    assert cells.sum() == pytest.approx(1)
    corner = multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf(ndtri([0.5, 0.2]))
    assert cells[:2, :1].sum() == pytest.approx(corner, abs=1e-5)


def test_factors_make_the_correlations_and_what_cannot_be_positive_definite():
    """Correlations of noise alone: no vectors have them. Control: the last given matrix is indefinite."""
    rng = np.random.default_rng(3)
    some = rng.normal(size=(10, 3))
    wanted = some @ some.T + np.diag(rng.uniform(1, 3, 10))
    scale = np.sqrt(np.diag(wanted))
    wanted /= np.outer(scale, scale)
    loadings = factors(wanted)
    found = loadings @ loadings.T
    np.testing.assert_allclose(found[~np.eye(10, dtype=bool)], wanted[~np.eye(10, dtype=bool)], atol=1e-3)
    for m in (1, 2, 3, 12):
        wanted = np.random.default_rng(4).uniform(-0.99, 0.99, (m, m))
        wanted = np.triu(wanted, 1) + np.triu(wanted, 1).T + np.eye(m)
        loadings = factors(wanted)
        found = loadings @ loadings.T
        np.fill_diagonal(found, 1.0)
        assert np.linalg.eigvalsh(found)[0] >= LEAST_SPREAD**2 - 1e-9
    assert np.linalg.eigvalsh(wanted)[0] < 0


def test_values_without_an_order_are_put_into_one():
    """Column 0 is ordered; column 1 is its codes shuffled: the scores find the order."""
    shuffled = np.array([2, 0, 3, 1])
    tables = {(0, 1): table(0.9)[:, shuffled]}
    scores = copula_model.latent_scores(tables, [MASS, MASS[shuffled]], [True, False])
    found = shuffled[np.argsort(scores[1])].tolist()
    assert found in ([0, 1, 2, 3], [3, 2, 1, 0])
