"""What charged entries allow: never more than the losses they state, and nothing is spent by what is refused."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.privacy.accounting.composition import compose, compose_delta
from sdv_plausible.privacy.accounting.gaussian import discrete_gaussian_mu
from sdv_plausible.privacy.accounting.losses import (
    ZCDP,
    ApproxDP,
    BoundedRangeLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    InfiniteLoss,
    PureDP,
    ReleaseLoss,
    gaussian_noise,
)
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import BudgetExceededError, PrivacyLedger
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.queries.budget_tracker import BudgetTracker, QueryBudget
from sdv_plausible.queries.count_queries import CodeArray, NumberOfRows
from sdv_plausible.queries.queryable import Queryable


def entry(*losses):
    return LedgerEntry(name="model", mechanism="test", losses=losses, scope="test")


def allowed(*losses):
    return QueryBudget.of([entry(*losses)])


def test_what_each_loss_pays_for():
    """Squares of Gaussian parameters, and plain sums of the rest."""
    for losses, mu, epsilon, failure in (
        ((), 0.0, 0.0, 0.0),
        ((GaussianLoss(sensitivity_over_sigma=0.5),), 0.5, 0.0, 0.0),
        ((GaussianLoss(sensitivity_over_sigma=0.5, count=4),), 1.0, 0.0, 0.0),
        ((PureDP(epsilon=0.2, count=3),), 0.0, 0.6, 0.0),
        ((ApproxDP(epsilon=0.2, delta=0.01, count=3),), 0.0, 0.6, 0.03),
        ((DiscreteLaplaceLoss(epsilon=0.25, count=2),), 0.0, 0.5, 0.0),
        ((DiscreteLaplaceLoss(epsilon=0.25, sensitivity=2, count=2),), 0.0, 0.0, 0.0),  # less than any such
        ((ReleaseLoss(epsilon0=1.0, delta=1e-6),), 0.0, 0.0, 0.0),  # groups alone
        ((ZCDP(rho=1.0),), 0.0, 0.0, 0.0),  # on which no question draws
    ):
        found = allowed(*losses)
        assert (found.mu, found.epsilon, found.failure) == pytest.approx((mu, epsilon, failure))
        assert found.is_private
    first = entry(GaussianLoss(sensitivity_over_sigma=3.0), PureDP(epsilon=1.0))
    second = entry(GaussianLoss(sensitivity_over_sigma=4.0), ApproxDP(epsilon=0.5, delta=0.1))
    found = QueryBudget.of([first, second])
    assert (found.mu, found.epsilon, found.failure) == pytest.approx((5.0, 1.5, 0.1))


def test_no_claim_allows_everything_without_noise():
    found = allowed(InfiniteLoss(), GaussianLoss(sensitivity_over_sigma=1.0))
    assert (found.mu, found.epsilon, found.failure) == (math.inf, math.inf, 1.0)
    assert not found.is_private
    assert found.sigma(0.1) == 0.0
    BudgetTracker(found).spend(share=0.9, epsilon=1e9, failure=1.0)


@settings(max_examples=100)
@given(st.floats(0.01, 10), st.floats(1e-6, 1), st.floats(0.1, 9))
def test_noise_bought_by_a_share_costs_that_share(mu, share, sensitivity):
    """A release of sensitivity s and noise sigma costs (s / sigma)^2 out of mu^2."""
    sigma = QueryBudget(mu=mu).sigma(share, sensitivity)
    assert (sensitivity / sigma) ** 2 == pytest.approx(share * mu**2)


@pytest.mark.parametrize("neighbours", [Neighbours(rows=3), Neighbours(replace=True)])
def test_counts_get_the_noise_of_all_that_one_unit_moves(neighbours):
    """In terms of one row there is less mu, by as much as a unit moves the counts more than one row does."""
    whole = QueryBudget(mu=0.6, epsilon=0.2, failure=0.1)
    of_rows = whole.for_counts(neighbours)
    assert of_rows.sigma(0.25) == pytest.approx(whole.sigma(0.25, neighbours.histogram_l2))
    assert (of_rows.epsilon, of_rows.failure) == (whole.epsilon, whole.failure)
    assert whole.sigma(0.25) == pytest.approx(1 / 0.3)


# --- pieces (composition.md, Lemma 2) ----------------------------------------------------------------------------------


def test_many_small_charges_pay_for_no_large_answer():
    """Control: as many answers as were charged, or smaller ones, and then none."""
    for what, each, loss in (
        ("epsilon", 0.01, PureDP(epsilon=0.01, count=400)),
        ("epsilon", 0.01, DiscreteLaplaceLoss(epsilon=0.01, count=400)),
        ("share", 1 / 400, GaussianLoss(sensitivity_over_sigma=0.1, count=400)),
    ):
        paid = allowed(loss)
        for wanted, parts in ((400 * each, 1), (1.001 * each, 1), (400 * each, 399)):
            with pytest.raises(BudgetExceededError, match=f"^{what} "):
                BudgetTracker(paid).spend(**{what: wanted}, parts=parts)
        meter = BudgetTracker(paid)
        for _ in range(100):
            meter.spend(**{what: each})
            meter.spend(**{what: each / 2})
            meter.spend(**{what: each / 2})
        meter.spend(**{what: 200 * each}, parts=200)
        with pytest.raises(BudgetExceededError):
            meter.spend(**{what: each / 10})


def test_pieces_pay_for_larger_answers_with_more_noise():
    """Theorem 4: none costs more than its share of what the pieces compose to. A share of one piece: as its square."""
    noise = gaussian_noise(2.0)
    paid, whole = allowed(*noise), sum(loss.count * loss.mu**2 for loss in noise)
    assert paid.mu == pytest.approx(2.0)
    for share, sensitivity in itertools.product((1.0, 0.3, 0.02), (1.0, math.sqrt(3), 5.0)):
        plain = sensitivity / (2.0 * math.sqrt(share))
        for step in (1.0, paid.granularity(share, sensitivity)):
            sigma = paid.sigma(share, sensitivity, step)
            cost = (sensitivity / step * discrete_gaussian_mu(sigma / step)) ** 2
            assert cost <= share * whole * (1 + 1e-9)
            assert sensitivity / sigma <= 2.0 * math.sqrt(share) * (1 + 1e-12)
            assert (sigma > plain * (1 + 1e-6)) == (plain / step < 5)
        BudgetTracker(paid).spend(share=share)


def test_the_door_draws_the_noise_that_large_answers_need():
    """On the lattice that goes with it. Planted: whole numbers would need 13 % more noise."""
    rows = np.zeros((50, 1), dtype=np.int32)
    entries = [entry(*gaussian_noise(2.0))]
    door = Queryable(CodeArray(rows, [2]), PrivacyLedger(delta=1e-6), entries, KeyedRNG.from_seed(1))
    with record_calls() as calls:
        answer = door.ask(NumberOfRows(), 0.9)
    assert calls[0].scale == pytest.approx(answer.sigma) == pytest.approx(door.allowance.sigma(0.9))
    assert calls[0].granularity == answer.granularity == 1 / 16
    assert (answer.values * 16 % 1 == 0).all()
    plain = 1 / (2.0 * math.sqrt(0.9))
    assert answer.sigma < 1.001 * plain < 1.13 * plain < door.allowance.sigma(0.9, granularity=1.0)
    with pytest.raises(BudgetExceededError):
        door.ask(NumberOfRows(), 0.2)


def test_answers_of_several_sizes_may_be_the_more_and_the_smaller():
    """Of squares; what is refused spends nothing."""
    paid = allowed(*KINDS["share"]((0.7, 0.3)))
    meter = BudgetTracker(paid)
    with pytest.raises(BudgetExceededError, match="^share "):
        meter.spend(share=[0.3, 0.71 - 1e-3])
    meter.spend(share=[0.14] * 5)
    with pytest.raises(BudgetExceededError, match=r"^share \(0\.31\)"):
        meter.spend(share=0.31)
    meter.spend(share=[0.1] * 3)
    two = BudgetTracker(paid)
    two.spend(share=0.6)
    with pytest.raises(BudgetExceededError, match="^share "):
        two.spend(share=0.45)
    two.spend(share=0.4)


def test_planted_sums_would_have_cost_more_than_was_charged():
    """Epsilon 4 in one answer, charged as 400 hundredths; and a loss that overstates its sensitivity, which so pays for nothing."""
    total, a = compose([PureDP(epsilon=0.01, count=400)], 1e-9), math.exp(-4.0)
    assert total < 1.2
    assert 1 / (1 + a) - math.exp(total) * a / (1 + a) > 0.9
    charged = compose([DiscreteLaplaceLoss(epsilon=0.5, count=40, sensitivity=1000)], 1e-9)
    assert compose_delta([PureDP(epsilon=0.5, count=40)], charged) > 6e-8


def test_an_epsilon_is_taken_from_one_piece_that_holds_it():
    """And a failure: two of .0049 compose to less than one of .0098."""
    meter = BudgetTracker(allowed(PureDP(epsilon=1.0), PureDP(epsilon=0.25, count=2)))
    for epsilon in (0.2, 0.7, 0.3, 0.25):
        meter.spend(epsilon=epsilon)
    with pytest.raises(BudgetExceededError, match=r"^epsilon \(0\.051\)"):
        meter.spend(epsilon=0.051)
    meter.spend(epsilon=0.04)
    meter = BudgetTracker(allowed(ApproxDP(epsilon=0.0, delta=0.0049, count=2)))
    with pytest.raises(BudgetExceededError, match="^failure "):
        meter.spend(failure=0.0098)
    meter.spend(failure=0.0049)
    meter.spend(failure=0.0049)


def test_a_release_of_groups_is_paid_for_by_its_own_loss():
    """Once, of the sensitivity that was charged: for a larger one as much epsilon is charged less."""
    meter = BudgetTracker(allowed(ReleaseLoss(epsilon0=1.0, delta=1e-6, l1=2), PureDP(epsilon=9.0)))
    for odd in ({"l1": 1}, {"l1": 3}, {"epsilon0": 1.1}, {"delta": 2e-6}):
        with pytest.raises(BudgetExceededError, match="the release of groups exceeds"):
            meter.spend_release(ReleaseLoss(**{"epsilon0": 1.0, "delta": 1e-6, "l1": 2, **odd}))
    meter.spend_release(ReleaseLoss(epsilon0=0.9, delta=1e-6, l1=2))
    with pytest.raises(BudgetExceededError, match="the release of groups exceeds"):
        meter.spend_release(ReleaseLoss(epsilon0=0.1, delta=1e-9, l1=2))
    BudgetTracker(allowed(InfiniteLoss())).spend_release(ReleaseLoss(epsilon0=1.0, delta=1e-6))


KINDS = {
    "share": lambda sizes: [GaussianLoss(sensitivity_over_sigma=size**0.5) for size in sizes],
    "epsilon": lambda sizes: [PureDP(epsilon=size) for size in sizes],
}


def test_what_is_spent_is_gone():
    """Of lines that could be lost: earlier answers, pieces that were taken, and that shrink."""
    for what, charged, first, beyond in (
        ("share", (0.4, 0.2, 0.2, 0.2), 0.4, 0.4),
        ("epsilon", (2, 1, 1), 2, 2),
        ("epsilon", (1, 1), 0, 2),
        ("epsilon", (2, 1, 1, 1), 1.5, 1.5),
    ):
        meter = BudgetTracker(allowed(*KINDS[what](charged)))
        meter.spend(**{what: first})
        with pytest.raises(BudgetExceededError, match=f"^{what} "):
            meter.spend(**{what: beyond})


def test_more_even_epsilons_may_cost_more():
    """So that (b) is not as (a): the planted rule of sums of the largest, at a large epsilon."""
    uneven, even = ([PureDP(epsilon=e) for e in pair] for pair in ((3.0, 1.0), (2.0, 2.0)))
    assert compose_delta(even, 3.9) > 1.02 * compose_delta(uneven, 3.9)
    assert compose_delta(even, 0.5) < compose_delta(uneven, 0.5)


def test_the_cost_of_discrete_noise_is_convex_in_the_square():
    """Of sigma from 10,000 down to .2; no second difference is below 0 beyond rounding."""
    squares = [1.05**i * 1e-8 for i in range(444)]
    costs = [discrete_gaussian_mu(x**-0.5) ** 2 for x in squares]
    slopes = [(b - a) / (y - x) for (x, y), (a, b) in zip(itertools.pairwise(squares), itertools.pairwise(costs), strict=True)]  # fmt: skip
    assert all(after >= before * (1 - 1e-8) for before, after in itertools.pairwise(slopes))
    assert slopes[0] == pytest.approx(1, rel=1e-6)
    assert slopes[-1] > 2


# --- spending ---------------------------------------------------------------------------------------------------------

COSTS = ("share", "epsilon", "failure")


@settings(max_examples=200)
@given(st.lists(st.tuples(st.sampled_from(COSTS), st.floats(0, 0.6)), max_size=12))
def test_what_was_spent_never_exceeds_what_was_paid_for(asked):
    """And what is refused spends nothing: the same spending without it ends where it ends."""
    meter = BudgetTracker(QueryBudget(mu=1.0, epsilon=0.7, failure=0.3))
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
    """Nor for one piece that others go with."""
    meter = BudgetTracker(QueryBudget(mu=1.0, epsilon=1.0, failure=0.1))
    for costs in ({"share": 0.5, "epsilon": 2.0}, {"share": 0.5, "failure": 0.2}, {"epsilon": 0.5, "failure": 0.2}):  # fmt: skip
        with pytest.raises(BudgetExceededError):
            meter.spend(**costs)
    assert (meter.share, meter.epsilon, meter.failure) == (0.0, 0.0, 0.0)
    paid = (GaussianLoss(sensitivity_over_sigma=1.0, count=2), ApproxDP(epsilon=1.0, delta=0.01, count=2))
    meter, costs = BudgetTracker(allowed(*paid)), {"share": 0.5, "epsilon": 1.0, "failure": 0.01}
    for beyond in ({"failure": 0.015}, {"epsilon": 1.5}):
        with pytest.raises(BudgetExceededError):
            meter.spend(**{**costs, **beyond})
    for _ in range(2):
        meter.spend(**costs)


def test_a_refusal_says_what_is_left():
    meter = BudgetTracker(QueryBudget(mu=1.0, epsilon=0.75))
    meter.spend(epsilon=0.5)
    with pytest.raises(BudgetExceededError, match=r"^epsilon \(0\.3\) .* left \(0\.25\)$"):
        meter.spend(epsilon=0.3)
    tenths = BudgetTracker(QueryBudget(mu=1.0, epsilon=0.3))
    for _ in range(3):  # 0.1 + 0.1 + 0.1 > 0.3 by rounding
        tenths.spend(epsilon=0.1)
    with pytest.raises(BudgetExceededError, match=r"left \(0\)$"):
        tenths.spend(epsilon=0.1)


def test_nothing_is_allowed_where_nothing_was_paid_for():
    """Ten tenths miss 1 by rounding and are allowed; a further 1e-6 of it is refused."""
    meter = BudgetTracker(allowed())
    for what in COSTS:
        with pytest.raises(BudgetExceededError, match=f"^{what}"):
            meter.spend(**{what: 1e-12})
    meter.spend(share=0.0)
    meter = BudgetTracker(QueryBudget(mu=0.3))
    for _ in range(10):
        meter.spend(share=0.1)
    with pytest.raises(BudgetExceededError, match="1e-06"):
        meter.spend(share=1e-6)
    assert [meter.next_answer() for _ in range(4)] == [1, 2, 3, 4]


def test_a_cost_is_a_number_of_at_least_zero():
    """A negative cost would give budget back, one among several, too."""
    meter = BudgetTracker(QueryBudget(mu=1.0, epsilon=1.0, failure=1.0))
    for what, cost in [*itertools.product(COSTS, (-1e-9, math.nan, -math.inf)), ("share", [0.7, -0.1])]:
        with pytest.raises(ValueError, match=rf"^{what} \(.*at least 0"):
            meter.spend(**{what: cost})
    assert (meter.share, meter.epsilon, meter.failure) == (0.0, 0.0, 0.0)


def test_choices_are_counted_and_each_costs_the_least_that_was_charged():
    """A choice is not bought by a sum: many small ones pay for no large one."""
    found = allowed(BoundedRangeLoss(epsilon=0.2, count=3), BoundedRangeLoss(epsilon=0.1))
    assert (found.mu, found.choices, found.choice) == (0.0, 4, 0.1)
    meter = BudgetTracker(found)
    for _ in range(4):
        meter.spend_choice()
    with pytest.raises(BudgetExceededError, match="all 4"):
        meter.spend_choice()
    free = BudgetTracker(allowed(InfiniteLoss()))
    free.spend_choice()


def test_answers_keep_to_the_entry_that_costs_least():
    """Several budgets of one door: each pays for the answers within its squares. Planted: the mean of their ratios."""
    charges = [gaussian_noise(mu) for mu in (2.0, 0.3, 0.1)]
    of_all = QueryBudget.of([entry(*losses) for losses in charges])
    squares = of_all.mu**2

    def spends_more(rate, losses):
        door = replace(of_all, rate=rate)
        charged = sum(loss.count * loss.mu**2 for loss in losses)
        whole = sum(loss.count * loss.sensitivity_over_sigma**2 for loss in losses)
        shares = np.array([0.5, 0.3, 0.2]) * whole / squares
        spent = sum(discrete_gaussian_mu(door.sigma(float(x), granularity=1.0)) ** 2 for x in shares)
        return spent > charged * (1 + 1e-9)

    assert not any(spends_more(of_all.rate, losses) for losses in charges)
    mean = sum(loss.count * loss.mu**2 for losses in charges for loss in losses) / squares
    assert mean > of_all.rate
    assert any(spends_more(mean + 0.01, losses) for losses in charges)
