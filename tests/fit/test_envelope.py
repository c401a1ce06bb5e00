"""What stands for every outcome of a vote: with what was spent before, it is the budget and no more."""

from __future__ import annotations

import pytest

from sdv_plausible.fit.envelope import envelope_entry, with_more
from sdv_plausible.fit.voting import TYPES_SHARE
from sdv_plausible.models import make_learner
from sdv_plausible.privacy.accounting.composition import calibrate_gaussian, compose
from sdv_plausible.privacy.accounting.losses import GaussianLoss, Loss, PureDP
from sdv_plausible.privacy.neighbours import ONE_ROW
from sdv_plausible.release.settings import Settings
from sdv_plausible.table.domain import Attribute, Domain

DOMAIN = Domain((Attribute(name="a", kind="categorical", values=("x", "y")),))


def losses_before(settings: Settings, epsilon: float) -> tuple[Loss, ...]:
    mu = calibrate_gaussian(epsilon, settings.model_delta / 4)
    return (GaussianLoss(sensitivity_over_sigma=mu),)


@pytest.mark.parametrize("model", ["bayesian_network", "gaussian_copula", "correlated", "random"])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
def test_an_envelope_holds_what_is_left_and_no_more(model: str, epsilon: float) -> None:
    learner = make_learner(model)
    settings = Settings.of(epsilon, 1e-9, "release", ONE_ROW, learner)
    earlier = losses_before(settings, 0.3 * epsilon)
    vote = losses_before(settings, TYPES_SHARE * epsilon)
    parts = ("structure", "parameters")
    entry = envelope_entry(settings, learner, [with_more(DOMAIN)], earlier, vote, parts)
    total = compose((*earlier, *vote, *entry.losses), settings.model_delta)
    assert total <= epsilon * (1 + 1e-9)
    # The planted fault: what was learned before is forgotten, and the envelope takes its part, too.
    greedy = envelope_entry(settings, learner, [with_more(DOMAIN)], (), vote, parts)
    assert compose((*earlier, *vote, *greedy.losses), settings.model_delta) > epsilon


def test_nothing_is_left_of_a_budget_that_was_spent_before() -> None:
    learner = make_learner("correlated")
    settings = Settings.of(1.0, 1e-9, "release", ONE_ROW, learner)
    with pytest.raises(ValueError, match=r"epsilon \(1.0\) is used up"):
        envelope_entry(settings, learner, [with_more(DOMAIN)], (PureDP(epsilon=2.0),), (), ("parameters",))
