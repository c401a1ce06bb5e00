"""How learners share out a budget over stages: what all of their plans have in common."""

import math

import pytest

from sdv_plausible.extensions.models.gaussian_copula.copula_learner import CopulaPlan
from sdv_plausible.models import make_learner
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.count_learning import counts_entry
from sdv_plausible.models.model_checks import categorical_domain
from sdv_plausible.privacy.accounting.losses import ApproxDP, GaussianLoss, InfiniteLoss, gaussian_noise
from sdv_plausible.privacy.entries import MODEL_PARTS
from sdv_plausible.table.columns.domain import Domain

BUDGET = ModelBudget(epsilon=1.0, delta=1e-6)


def test_the_releases_of_all_stages_take_the_whole_budget_once():
    """A table of ids alone asks nothing of the model."""
    for m in (1, 2, 7):
        plan = CopulaPlan.make(categorical_domain((3,) * m), BUDGET)
        assert sum(sum(plan.release_shares(stage)) for stage in plan.shares) == pytest.approx(1.0)
        losses = [loss for entry in plan.stage_entries() for loss in entry.losses]
        squares = sum(x.count * x.sensitivity_over_sigma**2 for x in losses if isinstance(x, GaussianLoss))
        assert squares == pytest.approx(plan.mu**2)
    for name in ("independent", "correlated", "gaussian_copula"):
        assert make_learner(name).plan(Domain(()), BUDGET) == []


def test_a_failure_adds_to_delta_and_is_no_claim_by_itself():
    """Planted: a failure without noise beside it. Of it alone the ledger would claim epsilon 0."""
    noisy, exact = (counts_entry("size", "rows", MODEL_PARTS, mu, 1, 1e-9) for mu in (0.5, math.inf))
    assert noisy.losses == (*gaussian_noise(0.5), ApproxDP(epsilon=0.0, delta=1e-9))
    assert (exact.losses, exact.status) == ((InfiniteLoss(),), "no claim")
