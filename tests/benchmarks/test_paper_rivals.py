"""The private linear classifiers that the paper's table 4 compares with: noise, conditions, convergence.

False-alarm probabilities are stated at each statistical test; each has a planted bug that it catches.
"""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from scipy import sparse, stats

from benchmarks.paper.private_linear import (
    HUBER,
    LOGISTIC,
    Loss,
    check_conditions,
    minimise,
    objective_noise,
    objective_perturbation,
    output_perturbation,
    output_rate,
    random_vector,
)
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

pytestmark = pytest.mark.slow

LOSSES, METHODS = {"logistic": LOGISTIC, "huber": HUBER}, [output_perturbation, objective_perturbation]
FALSE_ALARM = 1e-6


def small_table(n: int = 400, d: int = 5, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Rows of norm at most 1 and noisy labels."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d))
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))
    return rows, np.where(rows[:, 0] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_slope_and_curvature_are_those_of_the_value(loss: Loss) -> None:
    z = np.linspace(-4, 4, 8001)
    middle, step = (z[1:] + z[:-1]) / 2, z[1] - z[0]
    np.testing.assert_allclose(np.diff(loss.value(z)) / step, loss.slope(middle), atol=1e-3)
    assert (np.abs(loss.slope(z)) <= 1).all()
    bends = np.diff(loss.slope(z)) / step
    assert bends.min() >= -1e-12
    assert bends.max() <= loss.curvature * (1 + 1e-6)
    assert bends.max() >= loss.curvature * 0.99  # the bound is attained: a smaller one would be wrong
    by_hand = HUBER.value(np.array([2.0, 1.5, 1.0, 0.5, 0.0, -1.0]))
    np.testing.assert_allclose(by_hand, [0, 0, 0.125, 0.5, 1, 2])


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_replacing_a_row_moves_the_minimiser_by_at_most_the_bound(loss: Loss) -> None:
    rows, labels = small_table(60)
    regulariser, moved = 0.05, []
    before = minimise(rows, labels, regulariser, loss)
    for i in range(20):
        other_rows, other_labels = rows.copy(), labels.copy()
        other_rows[i], other_labels[i] = -rows[i] / np.linalg.norm(rows[i]), labels[i]
        moved.append(float(np.linalg.norm(minimise(other_rows, other_labels, regulariser, loss) - before)))
    bound = 2 / (len(rows) * regulariser)
    assert max(moved) <= bound
    assert max(moved) > bound / 10  # the neighbours are not all harmless


def norm_p_value(vectors: np.ndarray, rate: float) -> float:
    """Kolmogorov-Smirnov against the norm's law, Gamma(d, 1/rate)."""
    law = stats.gamma(vectors.shape[1], scale=1 / rate)
    return float(stats.kstest(np.linalg.norm(vectors, axis=1), law.cdf).pvalue)


def test_noise_has_the_stated_density() -> None:
    """False alarm: p below 1e-6 / 3 in one of three tests, so at most 1e-6 (and the seed is fixed)."""
    rate, d, rng = 0.7, 6, KeyedRNG.from_seed(11)
    drawn = np.stack([random_vector(d, rate, rng) for _ in range(4000)])
    assert norm_p_value(drawn, rate) > FALSE_ALARM / 3
    for wrong in (rate * 0.8, rate * 1.25, rate * math.sqrt(2)):  # control: scales that are off are caught
        assert norm_p_value(drawn, wrong) < FALSE_ALARM / 3
    gaussian = np.random.default_rng(1).normal(scale=d / rate / math.sqrt(d), size=drawn.shape)
    assert norm_p_value(gaussian, rate) < FALSE_ALARM / 3  # control: right size, wrong shape
    # Uniform direction: each coordinate of the unit vector, squared, is Beta(1/2, (d - 1)/2); signs are even.
    unit = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    squares = stats.kstest(unit[:, 0] ** 2, stats.beta(0.5, (d - 1) / 2).cdf).pvalue
    signs = stats.binomtest(int((unit[:, 1] > 0).sum()), len(unit)).pvalue
    assert min(squares, signs) > FALSE_ALARM / 3
    cube = np.random.default_rng(2).uniform(-1, 1, size=drawn.shape)  # control: not rotation invariant
    cube /= np.linalg.norm(cube, axis=1, keepdims=True)
    assert stats.kstest(cube[:, 0] ** 2, stats.beta(0.5, (d - 1) / 2).cdf).pvalue < FALSE_ALARM / 3


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_output_perturbation_adds_noise_of_the_theorems_scale(loss: Loss) -> None:
    """False alarm at most 1e-6: one Kolmogorov-Smirnov test. Control: half of n, lambda or epsilon."""
    rows, labels = small_table()
    rows, labels = small_table()
    regulariser, epsilon, rng = 0.01, 0.8, KeyedRNG.from_seed(5)
    fitted = minimise(rows, labels, regulariser, loss)
    given = (rows, labels, regulariser, epsilon, loss, rng, fitted)
    noise = np.stack([output_perturbation(*given) for _ in range(3000)]) - fitted
    rate = len(rows) * regulariser * epsilon / 2
    assert norm_p_value(noise, rate) > FALSE_ALARM
    assert max(norm_p_value(noise, rate / 2), norm_p_value(noise, 2 * rate)) < FALSE_ALARM


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("regulariser", [0.05, 1e-4])
def test_objective_perturbation_tilts_by_noise_of_the_theorems_scale(loss: Loss, regulariser: float) -> None:
    """The tilt is read off the stationarity condition of the release. False alarm at most 1e-6 per case; controls: factor 2."""
    rows, labels = small_table(200, 3)
    epsilon, rng = 1.0, KeyedRNG.from_seed(8)
    rate, extra = objective_noise(len(rows), regulariser, epsilon, loss.curvature)
    tilts = []
    for _ in range(300):
        f = objective_perturbation(rows, labels, regulariser, epsilon, loss, rng)
        gradient = rows.T @ (labels * loss.slope(labels * (rows @ f))) / len(rows) + (regulariser + extra) * f
        tilts.append(-len(rows) * gradient)
    drawn = np.stack(tilts)
    assert norm_p_value(drawn, rate) > FALSE_ALARM
    assert max(norm_p_value(drawn, 2 * rate), norm_p_value(drawn, rate / 2)) < FALSE_ALARM


def test_rates_by_hand() -> None:
    assert output_rate(1000, 0.01, 1.0) == pytest.approx(5.0)
    # n lambda = 10, c = 1/4: epsilon' = 1 - 2 ln(1 + 1/40)
    assert objective_noise(1000, 0.01, 1.0, 0.25) == (pytest.approx((1 - 2 * math.log(1.025)) / 2), 0.0)
    # n lambda = 0.1, c = 1: 2 ln(1 + 10) > 1, so epsilon' = 1/2 and Delta = c / (n (e^(1/4) - 1)) - lambda > 0
    rate, extra = objective_noise(1000, 1e-4, 1.0, 1.0)
    assert rate == 0.25
    assert 0 < extra == pytest.approx(1 / (1000 * (math.exp(0.25) - 1)) - 1e-4)


def test_objective_perturbations_two_losses_add_up_to_epsilon() -> None:
    """The proof's two terms: the tilt's density (2 rate) and the determinant (2 ln(1 + c / (n (lambda + Delta))))."""
    for n, epsilon, curvature, regulariser in itertools.product(
        (100, 10_000, 1_000_000), (0.1, 1.0, 5.0), (0.25, 1.0), (1e-5, 1e-3, 0.1)
    ):
        rate, extra = objective_noise(n, regulariser, epsilon, curvature)
        assert extra >= 0
        determinant = 2 * math.log1p(curvature / (n * (regulariser + extra)))
        assert (
            2 * rate + determinant <= epsilon * (1 + 1e-9) < 4 * rate + determinant
        )  # control: doubled rate


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("method", METHODS)
def test_converges_to_the_classifier_without_privacy(loss: Loss, method: object) -> None:
    """At epsilon 1e9 the norm of the noise is below 1e-4 but for a probability under 1e-100; at 0.1 it is not."""
    rows, labels = small_table()
    plain, distances = minimise(rows, labels, 0.01, loss), []
    for epsilon in (0.1, 1e3, 1e9):
        released = method(rows, labels, 0.01, epsilon, loss, KeyedRNG.from_seed(2))  # type: ignore[operator]
        distances.append(float(np.linalg.norm(released - plain)))
    assert max(0.5, distances[1]) < distances[0]
    assert distances[2] < min(1e-3, distances[1])


def test_minimise_finds_the_minimum_and_agrees_on_sparse_rows() -> None:
    rows, labels = small_table()
    for loss in LOSSES.values():
        found = minimise(rows, labels, 0.01, loss)
        gradient = rows.T @ (labels * loss.slope(labels * (rows @ found))) / len(rows) + 0.01 * found
        assert np.linalg.norm(gradient) < 1e-5
        np.testing.assert_allclose(minimise(sparse.csr_matrix(rows), labels, 0.01, loss), found, atol=1e-4)

    from sklearn.linear_model import LogisticRegression

    twin = LogisticRegression(C=1 / (len(rows) * 0.01), fit_intercept=False, tol=1e-8).fit(rows, labels)
    np.testing.assert_allclose(minimise(rows, labels, 0.01, LOGISTIC), twin.coef_[0], atol=1e-3)


def test_conditions_are_checked() -> None:
    rows, labels = small_table(20)
    check_conditions(rows, labels, 0.1, 1.0)
    check_conditions(sparse.csr_matrix(rows), labels, 0.1, 1.0)
    for words, given in (
        ("norm", (3 * rows, labels, 0.1, 1.0)),
        ("norm", (sparse.csr_matrix(3 * rows), labels, 0.1, 1.0)),
        ("labels", (rows, 2 * labels, 0.1, 1.0)),
        ("regulariser", (rows, labels, 0.0, 1.0)),
        *(("epsilon", (rows, labels, 0.1, epsilon)) for epsilon in (0.0, -1.0, math.inf, math.nan)),
    ):
        for method in (
            check_conditions,
            *(partial(m, loss=HUBER, rng=KeyedRNG.from_seed(0)) for m in METHODS),
        ):
            with pytest.raises(ValueError, match=words):
                method(*given)
