"""Matrices from formulas: figures 1 and 3 of [AV], and the same laws computed in another way."""

import math

import numpy as np
import pytest
from scipy import stats

from sdv_plausible.extensions.audit.disclosure.count_synthesizers import (
    discrete_gaussian,
    independent_rows,
    laplace,
    multinomial_dirichlet,
)
from sdv_plausible.privacy.accounting.losses import GaussianLoss

FIGURE_1 = """
0.647228 0.294194 0.053490 0.004863 0.000221 0.000004
0.237305 0.395508 0.263672 0.087891 0.014648 0.000977
0.067544 0.241227 0.344610 0.246150 0.087911 0.012559
0.012559 0.087911 0.246150 0.344610 0.241227 0.067544
0.000977 0.014648 0.087891 0.263672 0.395508 0.237305
0.000004 0.000221 0.004863 0.053490 0.294194 0.647228
"""
FIGURE_3 = """
0.816060 0.159046 0.021525 0.002913 0.000394 0.000062
0.183940 0.632121 0.159046 0.021525 0.002913 0.000456
0.024894 0.159046 0.632121 0.159046 0.021525 0.003369
0.003369 0.021525 0.159046 0.632121 0.159046 0.024894
0.000456 0.002913 0.021525 0.159046 0.632121 0.183940
0.000062 0.000394 0.002913 0.021525 0.159046 0.816060
"""
LAST_DIGIT = 5.1e-7


def printed(figure: str) -> np.ndarray:
    return np.array(figure.split(), dtype=float).reshape(6, 6)


def test_figure_1_is_binomial_with_the_posterior_mean():
    matrix = multinomial_dirichlet(5, (0.5, 0.5), "plug_in")
    np.testing.assert_allclose(matrix.probabilities, printed(FIGURE_1), rtol=0, atol=LAST_DIGIT)
    for n1 in range(6):
        law = stats.binom.pmf(range(6), 5, (n1 + 0.5) / 6)
        np.testing.assert_allclose(matrix.probabilities[n1], law, rtol=1e-10)


def test_equation_1_is_beta_binomial():
    matrix = multinomial_dirichlet(5, (0.5, 0.5))
    first = [0.715975, 0.188415, 0.066499, 0.022166, 0.005968, 0.000977]
    np.testing.assert_allclose(matrix.probabilities[0], first, rtol=0, atol=LAST_DIGIT)
    for n1 in range(6):
        law = stats.betabinom.pmf(range(6), 5, n1 + 0.5, 5.5 - n1)
        np.testing.assert_allclose(matrix.probabilities[n1], law, rtol=1e-10)


def test_figure_3_is_laplace_noise_of_scale_one_half():
    matrix = laplace(5, 2.0)
    np.testing.assert_allclose(matrix.probabilities, printed(FIGURE_3), rtol=0, atol=LAST_DIGIT)
    edges = np.array([-np.inf, 0.5, 1.5, 2.5, 3.5, 4.5, np.inf])
    for n1 in range(6):
        law = np.diff(stats.laplace.cdf(edges, n1, 0.5))
        np.testing.assert_allclose(matrix.probabilities[n1], law, rtol=1e-9)
    # control: the scale of the text, 2 / epsilon = 1, is not that of the figure
    assert np.abs(laplace(5, 1.0).probabilities - printed(FIGURE_3)).max() > 0.1


def test_other_numbers_of_synthetic_rows_and_categories():
    matrix = multinomial_dirichlet(4, (0.5, 1.0, 2.0), "plug_in", m=2)
    at = matrix.tables.index((1, 0, 3)), matrix.outcomes.index((0, 1, 1))
    assert matrix.probabilities[at] == pytest.approx(2 * (1 / 7.5) * (5 / 7.5))
    posterior = multinomial_dirichlet(4, (0.5, 1.0, 2.0), m=3)
    law = stats.dirichlet_multinomial(np.array([1.5, 1.0, 5.0]), 3)
    row = posterior.probabilities[posterior.tables.index((1, 0, 3))]
    np.testing.assert_allclose(row, [law.pmf(y) for y in posterior.outcomes], rtol=1e-9)


def test_rows_by_hand():
    suppressed = multinomial_dirichlet(3, (0.0, 1.0)).probabilities[0]  # a category without prior
    np.testing.assert_allclose(suppressed, [1.0, 0.0, 0.0, 0.0])
    matrix = independent_rows([(0, 2), (1, 1)], [[0.25, 0.75], [0.5, 0.5]])
    np.testing.assert_allclose(matrix.probabilities, [[9 / 16, 6 / 16, 1 / 16], [0.25, 0.5, 0.25]])
    sigma, z = 0.8, np.arange(-60, 61)
    mass = np.exp(-(z**2) / (2 * sigma**2))
    row = discrete_gaussian(4, sigma).probabilities[1] * mass.sum()
    assert row[[0, 2, 4]] == pytest.approx([mass[z <= -1].sum(), mass[z == 1][0], mass[z >= 3].sum()])


@pytest.mark.parametrize(("categories", "sensitivity"), [(2, 1.0), (3, math.sqrt(2))])
def test_discrete_gaussian_counts_stay_within_their_loss(categories, sensitivity):
    """Claim and exact delta; control: with the sensitivity of two categories for three, a forgotten root, it is broken."""
    matrix = discrete_gaussian(12, 1.0, categories)
    epsilons = np.linspace(0, 4, 9)
    exact = np.array([matrix.delta(e) for e in epsilons])
    claimed, _ = GaussianLoss(sensitivity_over_sigma=sensitivity).profile(epsilons)
    assert (exact <= claimed * (1 + 1e-9)).all()
    assert (exact > 0.5 * claimed).any()
    if categories == 3:
        rootless, _ = GaussianLoss(sensitivity_over_sigma=1.0).profile(epsilons)
        assert (exact > 1.2 * rootless).any()


def test_thirty_rows_of_three_categories():
    """Exactly: 496 tables; the loss of figure 1 at its worst cell by hand."""
    matrix, noisy = multinomial_dirichlet(30, (0.5, 0.5, 0.5), "plug_in"), laplace(30, 2.0, 3)
    assert matrix.probabilities.shape == (496, 496)
    assert matrix.epsilon == pytest.approx(30 * math.log(3))  # all 30 rows of a category that had 1, and 0
    assert noisy.epsilon == pytest.approx(2.0)
    far = noisy.probabilities[noisy.tables.index((15, 15, 0)), noisy.outcomes.index((15, 16, -1))]
    assert far == pytest.approx(-math.expm1(-0.5) * math.exp(-1) * math.sinh(0.5))


def test_bad_values_are_named():
    for words, wrong in (
        ("two or more", lambda: multinomial_dirichlet(5, (0.5,))),
        ("two or more", lambda: multinomial_dirichlet(5, (0.5, -1.0))),
        ("plug_in", lambda: multinomial_dirichlet(5, (1.0, 1.0), "mean")),
        ("n ", lambda: multinomial_dirichlet(0, (1.0, 1.0))),
        ("m ", lambda: multinomial_dirichlet(5, (1.0, 1.0), m=0)),
        ("one row for each", lambda: independent_rows([(1, 1)], [[0.5, 0.5], [0.5, 0.5]])),
        ("epsilon", lambda: laplace(5, 0.0)),
        ("categories", lambda: laplace(5, 1.0, 1)),
        ("sigma", lambda: discrete_gaussian(5, -1.0)),
    ):
        with pytest.raises(ValueError, match=words):
            wrong()
