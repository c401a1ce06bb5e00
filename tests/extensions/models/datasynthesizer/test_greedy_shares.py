"""Shares of GreedyBayes: they sum to one, and their entries compose to the budget."""

import math

import pytest

from sdv_plausible.extensions.models.datasynthesizer.greedy_bayes import GreedyPlan
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.model_checks import categorical_domain
from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.accounting.losses import InfiniteLoss, PureDP
from sdv_plausible.queries.budget_tracker import QueryBudget


@pytest.mark.parametrize("m", [1, 2, 15])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("spent", [(), (PureDP(epsilon=0.03),)])
def test_entries_compose_to_the_budget_and_hardly_less(m, epsilon, spent):
    budget = ModelBudget(epsilon=epsilon, delta=1e-9, spent=spent)
    plan = GreedyPlan.make(categorical_domain((3,) * m), budget)
    losses = [loss for entry in plan.entries() for loss in entry.losses]
    total = compose([*spent, *losses], budget.delta)
    assert 0.98 * epsilon <= total <= epsilon * (1 + 1e-9)
    allowance = QueryBudget.of(plan.entries())
    assert allowance.mu == pytest.approx(plan.mu)
    assert allowance.choices == m - 1
    assert math.isclose(sum(plan.shares.values()), 1)
    # Planted: the choices are left out of what the counts must leave room for.
    assert m == 1 or compose([*spent, *losses, *losses[-1:]], budget.delta) > epsilon


def test_what_was_left_by_others_holds_for_the_counts_and_without_noise_there_is_no_claim():
    budget = ModelBudget(epsilon=1.0, delta=1e-9, left=0.01)
    assert GreedyPlan.make(categorical_domain((3,) * 3), budget).mu <= 0.01
    (entry,) = GreedyPlan.make(
        categorical_domain((3,) * 3), ModelBudget(epsilon=math.inf, delta=1e-9)
    ).entries()
    assert entry.losses == (InfiniteLoss(),)
    assert "without noise" in entry.note
