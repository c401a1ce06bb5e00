"""GreedyBayes as a learner: its public checks, what it charges and draws, and what it finds."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from doors import learn

from sdv_plausible.extensions.models.datasynthesizer import greedy_bayes as learning
from sdv_plausible.extensions.models.datasynthesizer.greedy_bayes import (
    GRID,
    GreedyBayes,
    GreedyPlan,
    rows_times_information,
)
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.model_checks import categorical_domain, check_learner
from sdv_plausible.privacy.accounting.losses import BoundedRangeLoss, GaussianLoss
from sdv_plausible.privacy.accounting.sensitivity import information_sensitivity_in_steps
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.queries.count_queries import Axis
from sdv_plausible.queries.queryable import NoisyValues

M = 6
DOMAIN = categorical_domain((3,) * M)
BUDGET = ModelBudget(epsilon=1.0, delta=1e-6)
FREE = ModelBudget(epsilon=math.inf, delta=1e-6)


def chain(n, seed=0):
    """Each column repeats the one before in eight of ten rows."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (n, M)).astype(np.int32)
    for j in range(1, M):
        same = rng.random(n) < 0.8
        codes[same, j] = codes[same, j - 1]
    return codes


def fit(codes, budget=BUDGET, **options):
    return learn(
        GreedyBayes(**options), codes, DOMAIN, budget, PrivacyLedger(delta=1e-6), KeyedRNG.from_seed(1)
    )


@pytest.mark.slow
def test_public_checks():
    check_learner(GreedyBayes())


def test_parents_are_at_most_k_and_visited_before():
    for most in (1, 2, 4):
        before = []
        for child, parents in fit(chain(2_000), max_parents=most).structure():
            assert len(parents) <= most
            assert set(parents) <= set(before)
            before.append(child)
        assert sorted(before) == list(range(M))


@pytest.mark.parametrize(("budget", "tolerance"), [(FREE, 0.02), (BUDGET, 0.04)])
def test_neighbouring_columns_agree_as_in_the_data(budget, tolerance):
    """0.8 + 0.2/3. Control: columns two apart agree less. Seeded coins: no false alarm."""
    codes = fit(chain(20_000), budget, max_parents=1).sample(20_000, KeyedRNG.from_seed(2))
    agree = (codes[:, 1:] == codes[:, :-1]).mean(axis=0)
    np.testing.assert_allclose(agree, 0.8 + 0.2 / 3, atol=tolerance)
    assert (codes[:, 2:] == codes[:, :-2]).mean() < 0.8


def test_without_noise_the_most_informative_pair_comes_next():
    codes = chain(3_000)
    network = fit(codes, FREE, max_parents=1)
    visited = [network.structure()[0][0]]
    for child, (parent,) in network.structure()[1:]:
        pairs = itertools.product([j for j in range(M) if j not in visited], visited)
        tables = {(x, p): np.histogram2d(codes[:, p], codes[:, x], bins=3)[0] for x, p in pairs}
        scores = {pair: rows_times_information(table) for pair, table in tables.items()}
        assert scores[child, parent] >= max(scores.values()) - 2 * GRID
        visited.append(child)


def test_what_is_charged_is_what_is_drawn():
    """Every choice has the charged range, at a sensitivity for more rows than there are; tables hide what is empty."""
    n, ledger = 500, PrivacyLedger(delta=1e-6)
    with record_calls() as calls:
        learn(GreedyBayes(), chain(n), DOMAIN, BUDGET, ledger, KeyedRNG.from_os_entropy())
    losses = [loss for entry in ledger.entries for loss in entry.losses]
    (loss,) = [x for x in losses if isinstance(x, BoundedRangeLoss)]
    choices = [call for call in calls if call.name == "exponential_choice"]
    assert len(choices) == loss.count == M - 1
    assert {call.budget for call in choices} == {loss.epsilon}
    least = information_sensitivity_in_steps(n + 1, GRID)
    assert all(call.sensitivity >= least for call in choices)  # fails with probability 1e-8 at most
    squares = sum((call.sensitivity / call.scale) ** 2 for call in calls if call.name == "discrete_gaussian")
    charged = sum(x.count * x.sensitivity_over_sigma**2 for x in losses if isinstance(x, GaussianLoss))
    assert squares <= charged * (1 + 1e-9)


def test_one_column_is_alone_two_are_linked_and_too_few_rows_give_a_valid_model():
    for m, budget in itertools.product((1, 2), (BUDGET, FREE)):
        few, ledger = categorical_domain((3,) * m), PrivacyLedger(delta=1e-6)
        network = learn(GreedyBayes(), chain(5_000)[:, :m], few, budget, ledger, KeyedRNG.from_seed(1))
        assert [len(parents) for _, parents in network.structure()] == [0, 1][:m]
    for n, epsilon in itertools.product((0, 1, 3), (0.01, 1.0)):
        network = fit(chain(n), ModelBudget(epsilon=epsilon, delta=1e-6))
        assert len(network.sample(50, KeyedRNG.from_seed(0))) == 50


def test_usual_and_least_options():
    usual = {"max_parents": 4, "usefulness": 4.0, "max_cells": 300_000, "max_candidates": 1000}
    assert GreedyBayes() == GreedyBayes(**usual)
    GreedyBayes(max_parents=1, usefulness=0, max_cells=4, max_candidates=1)
    for name, value in {"max_parents": 0, "usefulness": -1, "max_cells": 3, "max_candidates": 0}.items():
        with pytest.raises(ValueError, match=name):
            GreedyBayes(**{name: value})


PLAN = GreedyPlan.make(DOMAIN, BUDGET)


def most_rows(found, sigma, neighbours=ONE_ROW, plan=PLAN):
    asked = []

    def ask(question, share, failure):
        asked.append((share, failure))
        return NoisyValues(values=np.array([found]), sigma=sigma)

    bound = learning._most_rows(SimpleNamespace(ask=ask, neighbours=neighbours), plan)
    assert asked == [(plan.shares["size"], plan.size_failure)]
    return bound


def test_the_bound_on_the_rows_fails_as_rarely_as_charged():
    """All noise is tried: the chance that the larger neighbour has more rows than the bound. Planted: one less."""
    n, sigma, noise = 1000, 7.0, np.arange(-200, 201)
    law = np.exp(-(noise**2) / (2 * sigma**2))
    law /= law.sum()
    for unit in (ONE_ROW, Neighbours(rows=3, person="home")):
        bounds = np.array([most_rows(n + z, sigma, unit) for z in noise])
        assert law[bounds < n + unit.rows].sum() <= PLAN.size_failure
        assert (bounds - noise == n + unit.rows + math.ceil(sigma * math.sqrt(-2 * math.log(1e-8)))).all()
        assert law[bounds - math.ceil(sigma) < n + unit.rows].sum() > PLAN.size_failure
    assert most_rows(-1e6, 1.0) == 1  # a row at least
    assert most_rows(12.0, 0.0, plan=GreedyPlan.make(DOMAIN, FREE)) == 13


def test_a_table_has_rows_enough_for_its_cells():
    """So many per cell on average, in deviations of its noise."""
    rows = SimpleNamespace(sigma=lambda share: 5.0 if share == PLAN.release_shares("tables")[0] else math.nan)
    for learner, total, cells in (
        (GreedyBayes(usefulness=4.0), 1000.0, 50.0),
        (GreedyBayes(usefulness=4.0), -3.0, 1 / 20),
        (GreedyBayes(usefulness=4.0, max_cells=40), 1000.0, 40.0),
        (GreedyBayes(usefulness=0, max_cells=40), 1000.0, 40.0),
    ):
        assert learner._most_cells(total, rows, PLAN) == pytest.approx(cells)


def test_within_a_bucket_of_the_child_its_margin_decides(monkeypatch):
    """A bucket gets the mass of its noisy count; the prior is the margin, heavier the more noise there is."""
    strengths, honest = [], learning.dirichlet_table

    def table(counts, prior, strength):
        strengths.append((prior.tolist(), strength))
        return honest(counts, prior, strength)

    monkeypatch.setattr(learning, "dirichlet_table", table)
    child, parent = Axis(1, np.array([0, 0, 1])), Axis(0, np.array([0, 1]))
    margins = [np.array([0.5, 0.5]), np.array([0.1, 0.3, 0.6])]
    made = learning._table(child, [parent], np.array([80.0, 20.0, 0.0, 100.0]), 3.0, margins, 200.0)
    strength = 1 + 3 * math.sqrt(2)
    assert strengths == [(pytest.approx([0.4, 0.6]), pytest.approx(strength))]
    first = (80 + 0.4 * strength) / (100 + strength)
    np.testing.assert_allclose(made.probabilities[0], [first / 4, first * 3 / 4, 1 - first])
    assert (made.child, made.parents) == (1, (0,))
