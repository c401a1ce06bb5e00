"""What charged entries allow: never more than the losses they state, and nothing is spent by what is refused."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.privacy.accounting.losses import (
    ZCDP,
    ApproxDP,
    BoundedRangeLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    InfiniteLoss,
    PureDP,
    ReleaseLoss,
)
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import BudgetExceededError
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.questions.budget import Allowance, Meter


def entry(*losses) -> LedgerEntry:
    return LedgerEntry(name="model", mechanism="test", losses=losses, scope="test")


def allowed(*losses) -> Allowance:
    return Allowance.of([entry(*losses)])


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ((), Allowance(mu=0.0)),
        ((GaussianLoss(sensitivity_over_sigma=0.5),), Allowance(mu=0.5)),
        ((GaussianLoss(sensitivity_over_sigma=0.5, count=4),), Allowance(mu=1.0)),
        ((PureDP(epsilon=0.2, count=3),), Allowance(mu=0.0, epsilon=0.6)),
        ((ApproxDP(epsilon=0.2, delta=0.01, count=3),), Allowance(mu=0.0, epsilon=0.6, failure=0.03)),
        ((DiscreteLaplaceLoss(epsilon=0.25, sensitivity=2, count=2),), Allowance(mu=0.0, epsilon=0.5)),
        ((ReleaseLoss(epsilon0=1.0, delta=1e-6),), Allowance(mu=0.0, epsilon=1.0, failure=1e-6)),
    ],
)
def test_what_each_loss_pays_for(losses, expected):
    found = allowed(*losses)
    assert (found.mu, found.epsilon, found.failure) == pytest.approx(
        (expected.mu, expected.epsilon, expected.failure)
    )
    assert found.is_private


def test_entries_add_up():
    """Squares of Gaussian parameters, and plain sums of the rest."""
    found = Allowance.of([entry(GaussianLoss(sensitivity_over_sigma=3.0), PureDP(epsilon=1.0)), entry(GaussianLoss(sensitivity_over_sigma=4.0), ApproxDP(epsilon=0.5, delta=0.1))])  # fmt: skip
    assert (found.mu, found.epsilon, found.failure) == pytest.approx((5.0, 1.5, 0.1))


def test_no_claim_allows_everything_without_noise():
    found = allowed(InfiniteLoss(), GaussianLoss(sensitivity_over_sigma=1.0))
    assert (found.mu, found.epsilon, found.failure) == (math.inf, math.inf, 1.0)
    assert not found.is_private
    assert found.sigma(0.1) == 0.0
    Meter(found).spend(share=0.9, epsilon=1e9, failure=1.0)


def test_a_loss_that_no_question_draws_on_pays_for_none():
    assert allowed(ZCDP(rho=1.0)) == Allowance(mu=0.0)


@settings(max_examples=100)
@given(st.floats(0.01, 10), st.floats(1e-6, 1), st.floats(0.1, 9))
def test_noise_bought_by_a_share_costs_that_share(mu, share, sensitivity):
    """A release of sensitivity s and noise sigma costs (s / sigma)^2 out of mu^2."""
    sigma = Allowance(mu=mu).sigma(share, sensitivity)
    assert (sensitivity / sigma) ** 2 == pytest.approx(share * mu**2)


@pytest.mark.parametrize("neighbours", [Neighbours(rows=3), Neighbours(replace=True)])
def test_counts_get_the_noise_of_all_that_one_unit_moves(neighbours):
    """In terms of one row there is less mu, by as much as a unit moves the counts more than one row does."""
    whole = Allowance(mu=0.6, epsilon=0.2, failure=0.1)
    of_rows = whole.for_counts(neighbours)
    assert of_rows.sigma(0.25) == pytest.approx(whole.sigma(0.25, neighbours.histogram_l2))
    assert (of_rows.epsilon, of_rows.failure) == (whole.epsilon, whole.failure)
    assert whole.sigma(0.25) == pytest.approx(1 / 0.3)


# --- spending ---------------------------------------------------------------------------------------------------------

COSTS = ("share", "epsilon", "failure")


@settings(max_examples=200)
@given(st.lists(st.tuples(st.sampled_from(COSTS), st.floats(0, 0.6)), max_size=12))
def test_what_was_spent_never_exceeds_what_was_paid_for(asked):
    """And what is refused spends nothing: the same spending without it ends where it ends."""
    meter = Meter(Allowance(mu=1.0, epsilon=0.7, failure=0.3))
    most = {"share": 1.0, "epsilon": 0.7, "failure": 0.3}
    spent = dict.fromkeys(COSTS, 0.0)
    for what, cost in asked:
        if spent[what] + cost <= most[what] * (1 + 1e-9):
            meter.spend(**{what: cost})
            spent[what] += cost
        else:
            with pytest.raises(BudgetExceededError, match=rf"^{what} \(.*exceeds what is left"):
                meter.spend(**{what: cost})
        assert {name: getattr(meter, name) for name in COSTS} == spent


def test_of_several_costs_none_is_spent_where_one_is_refused():
    meter = Meter(Allowance(mu=1.0, epsilon=1.0, failure=0.1))
    for costs in (
        {"share": 0.5, "epsilon": 2.0},
        {"share": 0.5, "failure": 0.2},
        {"epsilon": 0.5, "failure": 0.2},
    ):
        with pytest.raises(BudgetExceededError):
            meter.spend(**costs)
    assert (meter.share, meter.epsilon, meter.failure) == (0.0, 0.0, 0.0)


def test_shares_that_add_up_to_the_whole_are_allowed_and_no_more():
    """Ten tenths miss 1 by rounding; a further 1e-6 of it is refused."""
    meter = Meter(Allowance(mu=0.3))
    for _ in range(10):
        meter.spend(share=0.1)
    with pytest.raises(BudgetExceededError, match="1e-06"):
        meter.spend(share=1e-6)


def test_a_refusal_says_what_is_left():
    meter = Meter(Allowance(mu=1.0, epsilon=0.75))
    meter.spend(epsilon=0.5)
    with pytest.raises(BudgetExceededError, match=r"^epsilon \(0\.3\) .* left \(0\.25\)$"):
        meter.spend(epsilon=0.3)
    tenths = Meter(Allowance(mu=1.0, epsilon=0.3))
    for _ in range(3):  # 0.1 + 0.1 + 0.1 > 0.3 by rounding
        tenths.spend(epsilon=0.1)
    with pytest.raises(BudgetExceededError, match=r"left \(0\)$"):
        tenths.spend(epsilon=0.1)


def test_nothing_is_allowed_where_nothing_was_paid_for():
    meter = Meter(allowed())
    for what in COSTS:
        with pytest.raises(BudgetExceededError, match=f"^{what}"):
            meter.spend(**{what: 1e-12})
    meter.spend(share=0.0)


@pytest.mark.parametrize("what", COSTS)
@pytest.mark.parametrize("cost", [-1e-9, math.nan, -math.inf])
def test_a_cost_is_a_number_of_at_least_zero(what, cost):
    """A negative cost would give budget back."""
    meter = Meter(Allowance(mu=1.0, epsilon=1.0, failure=1.0))
    with pytest.raises(ValueError, match=rf"^{what} \(.*at least 0"):
        meter.spend(**{what: cost})
    assert getattr(meter, what) == 0.0


def test_answers_are_numbered():
    meter = Meter(Allowance(mu=1.0))
    assert [meter.next_answer() for _ in range(4)] == [1, 2, 3, 4]


def test_choices_are_counted_and_each_costs_the_least_that_was_charged():
    """A choice is not bought by a sum: many small ones pay for no large one."""
    found = Allowance.of(
        [entry(BoundedRangeLoss(epsilon=0.2, count=3)), entry(BoundedRangeLoss(epsilon=0.1))]
    )
    assert (found.mu, found.choices, found.choice) == (0.0, 4, 0.1)
    meter = Meter(found)
    for _ in range(4):
        meter.spend_choice()
    with pytest.raises(BudgetExceededError, match="all 4"):
        meter.spend_choice()
    free = Meter(allowed(InfiniteLoss()))
    free.spend_choice()
