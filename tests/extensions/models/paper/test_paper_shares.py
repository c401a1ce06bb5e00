"""How the paper's learner shares out its budget: planned is what was allowed, and charged what is asked."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.extensions.models.paper.paper_network import PaperNetwork
from sdv_plausible.extensions.models.paper.paper_plans import SHARES, SIZE_FAILURE, LearningPlan
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.accounting.losses import ApproxDP, GaussianLoss, InfiniteLoss
from sdv_plausible.queries.budget_tracker import QueryBudget
from sdv_plausible.table.columns.domain import Attribute, Domain

STRUCTURES = {"cfs": "cfs", "independent": "independent", "given": {"x1": ["x0"]}}


def domain(m):
    return Domain(tuple(Attribute(name=f"x{i}", kind="ordinal", values=(0, 1)) for i in range(m)))


@settings(max_examples=40, deadline=None)
@given(st.floats(0.01, 20), st.floats(1e-12, 1e-2), st.integers(1, 30))
def test_plans_keep_to_their_budget(epsilon, delta, m):
    for learner in (PaperNetwork(), PaperNetwork(structure="independent"), AdaptiveNetwork()):
        entries = learner.plan(domain(m), ModelBudget(epsilon=epsilon, delta=delta))
        assert compose([loss for entry in entries for loss in entry.losses], delta) <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
def test_the_entries_pay_for_exactly_what_is_asked(structure):
    """Tables and scores at their own shares: the squares of all of them together are mu^2, once."""
    for m in (2, 5, 11):
        plan = LearningPlan.make(structure, domain(m), ModelBudget(epsilon=1.0, delta=1e-6))
        assert sum(plan.shares.values()) == pytest.approx(1.0)
        allowed = QueryBudget.of(plan.entries(structure))
        assert allowed.mu == pytest.approx(plan.mu)
        assert allowed.failure == plan.size_failure
        for stage in plan.shares:
            asked = plan.release_shares(stage)
            assert len(asked) == {"size": 1, "structure": m * (m + 1)}.get(stage, m)
            assert sum(asked) == pytest.approx(plan.shares[stage])
            assert plan.mu_each(stage) ** 2 == pytest.approx(plan.mu**2 * asked[0])
    plan = LearningPlan.make(structure, domain(4), ModelBudget(epsilon=math.inf, delta=1e-6))
    losses = [loss for entry in plan.entries(structure) for loss in entry.losses]
    assert (plan.mu, len(losses)) == (math.inf, len(plan.shares))
    assert all(isinstance(loss, InfiniteLoss) for loss in losses)  # without noise every stage ends the claim


def test_stages_that_are_not_made_cost_nothing():
    budget = ModelBudget(epsilon=1.0, delta=1e-6)
    plans = {name: LearningPlan.make(structure, domain(4), budget) for name, structure in STRUCTURES.items()}
    assert {name: sorted(plan.shares) for name, plan in plans.items()} == {
        "cfs": sorted(SHARES), "independent": ["margins"], "given": ["margins", "tables"],
    }  # fmt: skip
    assert plans["cfs"].size_failure == pytest.approx(SIZE_FAILURE * 1e-6)
    assert {plans["independent"].size_failure, plans["given"].size_failure} == {0.0}
    assert plans["independent"].mu > plans["cfs"].mu  # no failure to leave room for
    declared = [entry for entry in plans["given"].entries(STRUCTURES["given"]) if not entry.losses]
    assert [(entry.name, entry.status) for entry in declared] == [("structure", "declared")]


def test_each_stage_pays_for_its_own_part():
    """What is shown of a release as covered follows from it."""
    budget = ModelBudget(epsilon=1.0, delta=1e-6)
    entries = LearningPlan.make("cfs", domain(4), budget).entries("cfs")
    of, about = ("parameters",), ("structure",)
    parts = [("margins", of), ("size", about), ("structure", about), ("tables", of)]
    assert [(entry.name, entry.parts) for entry in entries] == parts
    kinds = {entry.name: [type(loss) for loss in entry.losses] for entry in entries}
    assert kinds == {**{name: [GaussianLoss] for name in SHARES}, "size": [GaussianLoss, ApproxDP]}
