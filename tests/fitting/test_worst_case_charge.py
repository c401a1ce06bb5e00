"""What stands for every outcome of a vote: with what was spent before, it is the budget and no more."""

from __future__ import annotations

from itertools import product

import pytest

from sdv_plausible.extensions.models.uniform import Uniform
from sdv_plausible.fitting.options import TYPES_SHARE
from sdv_plausible.fitting.worst_case_charge import check_uniform_cost, padded_domain, worst_case_entry
from sdv_plausible.mechanism.privacy_tests.privacy_settings import Settings
from sdv_plausible.models import make_learner
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.learner_checks import check_plan_independence
from sdv_plausible.privacy.accounting.composition import calibrate_gaussian, compose
from sdv_plausible.privacy.accounting.losses import ApproxDP, GaussianLoss, PureDP
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.neighbours import ONE_ROW
from sdv_plausible.table.columns.domain import Attribute, Domain

DOMAIN = Domain((Attribute(name="a", kind="categorical", values=("x", "y")),))


def losses_before(settings, epsilon):
    return (GaussianLoss(sensitivity_over_sigma=calibrate_gaussian(epsilon, settings.model_delta / 4)),)


def settings(learner, epsilon=1.0, delta=1e-6):
    return Settings.of(epsilon, delta, "release", ONE_ROW, learner)


def test_an_envelope_holds_what_is_left_and_no_more():
    """Planted: what was learned before is forgotten, and the envelope takes its part, too."""
    parts = ("structure", "parameters")
    for model, epsilon in product(
        ("bayesian_network", "gaussian_copula", "correlated", "random"), (0.2, 1.0, 4.0)
    ):
        learner = make_learner(model)
        made = settings(learner, epsilon, 1e-9)
        earlier, vote = (losses_before(made, share * epsilon) for share in (0.3, TYPES_SHARE))
        honest, greedy = (
            worst_case_entry(made, learner, [padded_domain(DOMAIN)], known, vote, parts)
            for known in (earlier, ())
        )
        assert compose((*earlier, *vote, *honest.losses), made.model_delta) <= epsilon * (1 + 1e-9)
        assert compose((*earlier, *vote, *greedy.losses), made.model_delta) > epsilon
    spent = (PureDP(epsilon=5.0),)
    with pytest.raises(ValueError, match=r"epsilon \(4.0\) is used up"):
        worst_case_entry(made, learner, [padded_domain(DOMAIN)], spent, (), ("parameters",))


class Planned(Uniform):
    """Plans Gaussian noise, with a failure that hangs on the domain."""

    def __init__(self, failure):
        self.failure = failure

    def plan(self, domain, budget):
        failure = ApproxDP(epsilon=0.0, delta=self.failure(domain))
        losses = (GaussianLoss(sensitivity_over_sigma=0.1), failure)
        return [LedgerEntry(name="model", mechanism="m", scope="s", parts=("parameters",), losses=losses)]


def test_of_two_outcomes_failures_the_larger_is_in_the_envelope():
    """How many columns a vote leaves would choose delta, though all noise is of one kind."""
    odd = Planned(lambda domain: 1e-8 if len(domain) > 5 else 2e-8)
    with pytest.raises(ValueError, match="or failure probabilities for few"):
        check_uniform_cost(settings(odd), odd, DOMAIN)
    same = Planned(lambda domain: 1e-8)
    check_uniform_cost(settings(same), same, DOMAIN)
    odd = Planned(lambda domain: 1e-8 * len(domain))
    few, many = DOMAIN, padded_domain(DOMAIN)
    entry = worst_case_entry(settings(odd), odd, [few, many], (), (), ("parameters",))
    failures = [loss.delta for loss in entry.losses if isinstance(loss, ApproxDP)]
    assert any(found == pytest.approx(1e-8 * len(many)) for found in failures)
    assert len(many) > len(few)


def test_what_was_learned_of_numbers_and_moments_may_not_choose_a_plan_either():
    for kind in ("categorical", "integer", "float", "datetime"):
        points = {"values": (0, 1, 2)} if kind == "categorical" else {"lower": (0, 1, 2), "upper": (0, 1, 2)}
        odd = Planned(lambda domain: 1e-8 if max(domain.cardinalities) > 2 else 2e-8)
        for provenance in ("private", "declared"):
            domain = Domain((Attribute(name="a", kind=kind, provenance=provenance, **points),))
            budget = ModelBudget(epsilon=1.0, delta=1e-6)
            if provenance == "private":
                with pytest.raises(ValueError, match="plans its cost from learned value sets"):
                    check_plan_independence(odd, domain, budget)
            else:
                check_plan_independence(odd, domain, budget)
