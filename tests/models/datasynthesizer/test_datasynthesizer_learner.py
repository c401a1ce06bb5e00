"""GreedyBayes as a learner: its public checks, what it charges and draws, and what it finds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from doors import learn

from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.checks import check_learner
from sdv_plausible.models.datasynthesizer.information import GRID, rows_times_information
from sdv_plausible.models.datasynthesizer.learner import CorrelatedLearner
from sdv_plausible.privacy.accounting.losses import BoundedRangeLoss
from sdv_plausible.privacy.accounting.sensitivity import information_sensitivity_in_steps
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.table.domain import Attribute, Domain

M = 6
DOMAIN = Domain(tuple(Attribute(name=f"x{i}", kind="ordinal", values=(0, 1, 2)) for i in range(M)))
BUDGET = ModelBudget(epsilon=1.0, delta=1e-6)
FREE = ModelBudget(epsilon=math.inf, delta=1e-6)


def chain(n: int, seed: int = 0) -> np.ndarray:
    """Each column repeats the one before in eight of ten rows."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (n, M)).astype(np.int32)
    for j in range(1, M):
        same = rng.random(n) < 0.8
        codes[same, j] = codes[same, j - 1]
    return codes


def fit(codes: np.ndarray, budget: ModelBudget = BUDGET, **options):
    return learn(
        CorrelatedLearner(**options), codes, DOMAIN, budget, PrivacyLedger(delta=1e-6), Coins.from_seed(1)
    )


@pytest.mark.slow
def test_public_checks():
    check_learner(CorrelatedLearner())


@pytest.mark.parametrize("max_parents", [1, 2, 4])
def test_parents_are_at_most_k_and_visited_before(max_parents):
    network = fit(chain(2_000), max_parents=max_parents)
    before: list[int] = []
    for child, parents in network.structure():
        assert len(parents) <= max_parents
        assert set(parents) <= set(before)
        before.append(child)
    assert sorted(before) == list(range(M))
    assert max(len(parents) for _, parents in network.structure()) <= max_parents


@pytest.mark.parametrize(("budget", "tolerance"), [(FREE, 0.02), (BUDGET, 0.04)])
def test_neighbouring_columns_agree_as_in_the_data(budget, tolerance):
    """0.8 + 0.2/3. Control: columns two apart agree less. Seeded coins: no false alarm."""
    codes = fit(chain(20_000), budget, max_parents=1).sample(20_000, Coins.from_seed(2))
    agree = (codes[:, 1:] == codes[:, :-1]).mean(axis=0)
    np.testing.assert_allclose(agree, 0.8 + 0.2 / 3, atol=tolerance)
    assert (codes[:, 2:] == codes[:, :-2]).mean() < 0.8


def test_without_noise_the_most_informative_pair_comes_next():
    codes = chain(3_000)
    network = fit(codes, FREE, max_parents=1)
    visited = [network.structure()[0][0]]
    for child, (parent,) in network.structure()[1:]:
        rest = [j for j in range(M) if j not in visited]
        scores = {
            (x, p): rows_times_information(np.histogram2d(codes[:, p], codes[:, x], bins=3)[0])
            for x in rest
            for p in visited
        }
        assert scores[child, parent] >= max(scores.values()) - 2 * GRID
        visited.append(child)


def test_what_is_charged_is_what_is_drawn():
    """Every choice has the charged range, at a sensitivity for more rows than there are; tables hide what is empty."""
    n, ledger = 500, PrivacyLedger(delta=1e-6)
    with record_calls() as calls:
        learn(CorrelatedLearner(), chain(n), DOMAIN, BUDGET, ledger, Coins.from_os_entropy())
    (loss,) = [x for entry in ledger.entries for x in entry.losses if isinstance(x, BoundedRangeLoss)]
    choices = [call for call in calls if call.name == "exponential_choice"]
    assert len(choices) == loss.count == M - 1
    assert {call.budget for call in choices} == {loss.epsilon}
    least = information_sensitivity_in_steps(n + 1, GRID)
    assert all(call.sensitivity >= least for call in choices)  # fails with probability 1e-8 at most
    squares = sum((call.sensitivity / call.scale) ** 2 for call in calls if call.name == "discrete_gaussian")
    charged = sum(
        x.count * x.sensitivity_over_sigma**2
        for entry in ledger.entries
        for x in entry.losses
        if hasattr(x, "sensitivity_over_sigma")
    )
    assert squares <= charged * (1 + 1e-9)


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("epsilon", [0.01, 1.0])
def test_too_few_rows_for_any_table_leave_columns_independent_and_valid(n, epsilon):
    network = fit(chain(n), ModelBudget(epsilon=epsilon, delta=1e-6))
    assert len(network.sample(50, Coins.from_seed(0))) == 50


@pytest.mark.parametrize(
    "options", [{"max_parents": 0}, {"usefulness": -1}, {"max_cells": 1}, {"max_candidates": 0}]
)
def test_options_are_checked(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        CorrelatedLearner(**options)
