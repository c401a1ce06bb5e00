"""Gaussian budgets in pieces (composition.md, Theorem 4): what answers of any sizes cost is within what was charged.

The answers' exact losses are composed by the oracle; what a budget costs, by the program.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import oracles_accounting as oracle
import pytest

from sdv_plausible.privacy.accounting.composition import calibrate_gaussian, compose, compose_delta
from sdv_plausible.privacy.accounting.gaussian import discrete_gaussian_mu, sigma_within
from sdv_plausible.privacy.accounting.losses import LARGEST_SQUARE, GaussianLoss, gaussian_noise, squares
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.queries.budget_tracker import COARSE, FINE, QueryBudget

ASKED = [(1.0, 1e-5), (2.0, 1e-9), (4.0, 1e-6), (8.0, 1e-6), (10.0, 1e-5)]
NUMERICAL = 1e-12  # of delta: rounding of the oracle's transforms


def allowed(*losses: GaussianLoss) -> QueryBudget:
    return QueryBudget.of([LedgerEntry(name="model", mechanism="", losses=losses, scope="the model")])


def splits(seed: int) -> list[tuple[float, int]]:
    """Shares of mu^2, and the squares of the sensitivities of their answers: a few large, or many small."""
    rng = np.random.default_rng(seed)
    few = [1.0], [0.5, 0.5], [0.9, 0.1], [0.6, 0.3, 0.1]
    many = rng.dirichlet(np.full(rng.integers(2, 40), rng.choice([0.1, 0.5, 2.0])))
    shares = np.array(few[seed]) if seed < len(few) else many
    moved = rng.choice([1, 1, 1, 3, 20], len(shares))
    return [(float(w), int(s)) for w, s in zip(shares, moved, strict=True) if w > 1e-6]


def test_pieces_add_up_to_the_budget_and_none_is_larger_than_a_piece_may_be() -> None:
    some = 1e-4, 0.1, 0.2, 0.2000001, 0.3, math.sqrt(2 * LARGEST_SQUARE), 1.0, 2.0, 30.0
    for mu, count in itertools.product(some, (1, 7)):
        noise = gaussian_noise(mu, count)
        assert squares(noise) == pytest.approx(count * mu * mu, rel=1e-11)
        assert all(loss.sensitivity_over_sigma**2 <= LARGEST_SQUARE * (1 + 1e-9) for loss in noise)
        assert len(noise) <= 2


def test_the_least_sigma_costs_what_it_may_and_hardly_less() -> None:
    for mu in (1e-5, 1e-4, 3e-3, 0.0099, 0.0101, 0.05, 0.2, 0.5, 1.0, 2.0, 5.0):
        sigma = sigma_within(mu)
        assert mu * (1 - 1e-5) <= discrete_gaussian_mu(sigma) <= mu * (1 + 1e-9)
        assert 1 <= sigma * mu < 1.5 + mu


@pytest.mark.parametrize(("epsilon", "delta"), ASKED)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("is_finer", [True, False])
def test_answers_of_any_shares_cost_no_more_than_the_pieces(
    epsilon: float, delta: float, seed: int, is_finer: bool
) -> None:
    """The split is chosen after the charge: large shares get a finer lattice, or more noise. At every epsilon."""
    noise = gaussian_noise(calibrate_gaussian(epsilon, delta))
    assert 0.999 * epsilon < compose(noise, delta) <= epsilon
    allowance = allowed(*noise)
    answers = [
        (allowance.sigma(w, math.sqrt(moved), step), moved, step)
        for w, moved in splits(seed)
        for step in [allowance.granularity(w, math.sqrt(moved)) if is_finer else 1.0]
    ]
    losses, masses = oracle.composed_gaussians(answers)
    for at in (0.0, epsilon / 4, epsilon / 2, epsilon, 1.3 * epsilon):
        assert oracle.delta_of(losses, masses, at) <= compose_delta(noise, at) * (1 + 1e-6) + NUMERICAL


@pytest.mark.parametrize(("epsilon", "delta"), [(8.0, 1e-6), (10.0, 1e-5)])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_a_share_of_more_than_a_piece_would_exceed_the_charge_without_more_noise(
    epsilon: float, delta: float, share: float
) -> None:
    """Planted: the deviation that a sum of squares alone asks for."""
    noise = gaussian_noise(calibrate_gaussian(epsilon, delta))
    plain = 1 / math.sqrt(squares(noise) * share)
    losses, masses = oracle.composed_gaussians([(plain, round(1 / share), 1.0)])
    excess = [
        oracle.delta_of(losses, masses, at) / compose_delta(noise, at) for at in np.linspace(0, epsilon, 200)
    ]
    assert max(excess) > 1.01
    assert allowed(*noise).sigma(share, granularity=1.0) > 1.02 * plain


def test_small_shares_are_worth_all_but_a_little_of_what_was_asked() -> None:
    for epsilon, delta in ASKED:
        noise = gaussian_noise(calibrate_gaussian(epsilon, delta))
        losses, masses = oracle.composed_gaussians([(allowed(*noise).sigma(1 / 60), 60, 1.0)])
        assert oracle.delta_of(losses, masses, 0.99 * epsilon) > delta


@pytest.mark.parametrize("share", [1.0, 0.5, 1 / 3, 0.2, 0.1, 0.05])
def test_large_shares_are_worth_what_was_asked_too(share: float) -> None:
    """composition.md, Theorem 5. Red before: at (10, 1e-5) one answer was worth 93 % of it, thirds of the budget 96 %."""
    for epsilon, delta in ASKED:
        allowance = allowed(*gaussian_noise(calibrate_gaussian(epsilon, delta)))
        answers = [(allowance.sigma(share), round(1 / share), allowance.granularity(share))]
        losses, masses = oracle.composed_gaussians(answers)
        assert oracle.delta_of(losses, masses, 0.99 * epsilon) > delta


@pytest.mark.parametrize("sensitivity", [1.0, 3.0, 40.0])
def test_a_lattice_is_finer_where_the_deviation_is_small_and_no_finer_than_that(sensitivity: float) -> None:
    allowance = allowed(*gaussian_noise(30.0))
    for share in np.geomspace(1e-6, 1.0, 200):
        step = allowance.granularity(float(share), sensitivity)
        plain = sensitivity / (allowance.mu * math.sqrt(share))
        assert math.frexp(step)[0] == 0.5
        assert (step == 1.0) == (plain >= COARSE)
        assert FINE <= plain / step < 2 * FINE or step == 1.0
        assert plain <= allowance.sigma(float(share), sensitivity) < 1.01 * plain


def test_a_budget_of_one_piece_buys_what_its_square_buys() -> None:
    """Up to epsilon 1 or so nothing is taken from large answers: one piece stands for any."""
    noise = gaussian_noise(0.19)
    assert allowed(*noise).rate is None
    assert allowed(*noise).sigma(1.0) == 1 / 0.19
    assert allowed(*noise).granularity(1.0) == 1.0
