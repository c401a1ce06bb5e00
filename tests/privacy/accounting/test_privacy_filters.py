"""Privacy filters: the worst that anybody can do who chooses every next cost after seeing the last result.

The adversary of Theorem 1 is enumerated exactly; that of Theorem 2 is integrated over the first result. Both
checks catch three planted bugs: costs composed as if they had been fixed beforehand, a fit that is let
through if *either* filter has room, and one failure share for thresholds and noise together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import oracles_accounting as oracle
import pytest
from scipy.special import log_ndtr

from sdv_plausible.privacy.accounting.composition import calibrate_gaussian, compose
from sdv_plausible.privacy.accounting.gaussian import gaussian_log_delta
from sdv_plausible.privacy.accounting.losses import (
    ZCDP,
    ApproxDP,
    DiscreteLaplaceLoss,
    GaussianLoss,
    InfiniteLoss,
    ReleaseLoss,
)
from sdv_plausible.privacy.accounting.privacy_filters import (
    FAILURE_SHARE,
    FILTERS,
    PrivacyFilter,
    RhoFilter,
    SumFilter,
    add_up,
)

STEP = 0.25  # of epsilon; log likelihood ratios are whole multiples of it
Option = tuple[int, float]  # epsilon in steps, delta
OPTIONS: tuple[Option, ...] = ((0, 0.01), (1, 0.0), (1, 0.005), (2, 0.0), (2, 0.01), (3, 0.0))
EPSILON, DELTA, ROUNDS = 1.0, 0.03, 4
Admits = Callable[[tuple[Option, ...]], bool]


def worst_delta(admits: Admits) -> float:
    """Hockey-stick divergence at EPSILON of the best adversary: each option by its dominating pair, exactly."""

    @cache
    def value(history: tuple[Option, ...], loss: int) -> float:
        best = max(0.0, 1 - math.exp(EPSILON - STEP * loss))  # stop here
        if len(history) == ROUNDS:
            return best
        for option in OPTIONS:
            longer = tuple(sorted((*history, option)))
            if admits(longer):
                steps, delta = option
                up = 1 / (1 + math.exp(-STEP * steps))
                going = up * value(longer, loss + steps) + (1 - up) * value(longer, loss - steps)
                best = max(best, delta + (1 - delta) * going)
        return best

    return value((), 0)


@cache
def delta_if_fixed(history: tuple[Option, ...]) -> float:
    """Exact delta at EPSILON of options that were all fixed beforehand."""
    shown = 1 - math.prod(1 - delta for _, delta in history)
    atoms = oracle.compose_atoms([oracle.randomised_response(STEP * steps) for steps, _ in history])
    return shown + (1 - shown) * oracle.atoms_delta(atoms, EPSILON)


def test_whoever_chooses_as_they_go_stays_within_the_sum():
    """Planted: costs composed as if they had been fixed beforehand."""

    def admits(history: tuple[Option, ...]) -> bool:
        costs = [{"epsilon": STEP * steps, "delta": delta} for steps, delta in history]
        return SumFilter(EPSILON, DELTA).admits(costs)

    assert 0.9 * DELTA < worst_delta(admits) <= DELTA
    assert worst_delta(lambda history: delta_if_fixed(history) <= DELTA) > 1.5 * DELTA


def test_the_sum_is_exact_in_decimals():
    tenth = {"epsilon": 0.1, "delta": 1e-10}
    limit = SumFilter(1.0, 1e-9)
    assert 0.1 * 3 > 0.3  # what adding doubles would do
    assert limit.admits([tenth] * 10)
    assert not limit.admits([tenth] * 11)
    assert not limit.admits([*[tenth] * 10, {"epsilon": 0.0, "delta": 1e-20}])
    assert add_up([tenth] * 3)["epsilon"] == add_up([{"epsilon": 0.3}])["epsilon"]


TOTAL, AT = 1.0, 1e-6


def gaussian_delta(mu: float, epsilon: np.ndarray) -> np.ndarray:
    """Delta of a Gaussian mechanism at every real epsilon."""
    if mu == 0:
        return np.maximum(0.0, -np.expm1(epsilon))
    at_negative = np.exp(log_ndtr(mu / 2 - epsilon / mu)) - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))
    return np.where(epsilon > 0, np.exp(gaussian_log_delta(mu, np.maximum(epsilon, 0))), at_negative)


def after_a_gaussian(mu: float, values: Sequence[Callable[[np.ndarray], np.ndarray]]) -> float:
    """Delta at TOTAL of Gaussian noise, then whichever of the continuations is worst after its result.

    A continuation gives delta at what is left of epsilon, a real number.
    """
    x, width = np.linspace(-40, 40, 400_001, retstep=True)
    density = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    left = TOTAL - (mu * mu / 2 + mu * x)
    worst = np.max([value(left) for value in values], axis=0)
    return float(np.sum(density * worst) * width)


def pair_delta(epsilon: float, delta: float) -> Callable[[np.ndarray], np.ndarray]:
    """Continuation that is (epsilon, delta)-DP and nothing more is known."""

    def value(left: np.ndarray) -> np.ndarray:
        ends = (
            np.maximum(0.0, -np.expm1(left - loss)) / (1 + math.exp(-loss)) for loss in (epsilon, -epsilon)
        )
        return delta + (1 - delta) * sum(ends)

    return value


def test_whoever_chooses_gaussian_noise_as_they_go_stays_within_rho():
    """Noise of any size after the first result, or a threshold, or both: the limits hold."""
    made = RhoFilter(TOTAL, AT)
    limit, failure = made.limits["rho"], made.limits["failure"]
    first = 0.6 * limit
    values = []
    for share in np.linspace(0, 1.2, 25):
        for failing in (0.0, failure, 1.01 * failure):
            second = {"rho": share * limit, "failure": failing}
            if made.admits([{"rho": first, "failure": 0.0}, second]):
                mu = math.sqrt(2 * second["rho"])
                values.append(lambda left, mu=mu, f=failing: f + (1 - f) * gaussian_delta(mu, left))
    assert len(values) > 10
    assert 0.9 * AT < after_a_gaussian(math.sqrt(2 * first), values) <= AT * (1 + 1e-6)


def test_planted_one_delta_for_noise_and_thresholds_is_caught():
    """What is left is spent on noise or on a threshold: either alone would make AT, the choice makes more."""
    whole = calibrated(TOTAL, AT)
    mu = 0.8 * whole
    noise = lambda left: gaussian_delta(math.sqrt(whole**2 - mu**2), left)  # noqa: E731
    failing = AT - float(gaussian_delta(mu, np.array(TOTAL)))
    threshold = lambda left: failing + (1 - failing) * gaussian_delta(0.0, left)  # noqa: E731
    assert after_a_gaussian(mu, [noise]) == pytest.approx(AT, rel=1e-4)
    assert after_a_gaussian(mu, [threshold]) == pytest.approx(AT, rel=1e-4)
    assert after_a_gaussian(mu, [noise, threshold]) > 1.3 * AT


def test_planted_stopping_only_when_both_filters_refuse_is_caught():
    """After Gaussian noise the rest of rho, or the rest of the sum: each alone is within, the choice is not."""
    whole = calibrated(TOTAL, AT)
    mu = 0.5 * whole
    spent = compose([GaussianLoss(sensitivity_over_sigma=mu)], AT / 2)
    rest_of_rho = lambda left: gaussian_delta(math.sqrt(whole**2 - mu**2), left)  # noqa: E731
    rest_of_sum = pair_delta(TOTAL - spent, AT / 2)
    for alone in (rest_of_rho, rest_of_sum):
        assert after_a_gaussian(mu, [alone]) <= AT * (1 + 1e-4)
    assert after_a_gaussian(mu, [rest_of_rho, rest_of_sum]) > 1.1 * AT


def calibrated(epsilon: float, delta: float) -> float:
    """Largest mu of a continuous Gaussian mechanism within (epsilon, delta)."""
    low, high = 1e-3, 10.0
    for _ in range(100):
        middle = (low + high) / 2
        is_within = float(gaussian_delta(middle, np.array(epsilon))) <= delta
        low, high = (middle, high) if is_within else (low, middle)
    return low


def test_the_limit_of_rho_is_the_whole_of_epsilon():
    largest = math.sqrt(2 * RhoFilter(TOTAL, AT).limits["rho"])
    assert largest == pytest.approx(calibrated(TOTAL, AT * (1 - FAILURE_SHARE)), rel=1e-7)
    assert largest <= calibrated(TOTAL, AT * (1 - FAILURE_SHARE))


def test_costs():
    losses = [GaussianLoss(sensitivity_over_sigma=0.1, count=3), ApproxDP(epsilon=0.0, delta=1e-10, count=2)]
    rho = RhoFilter(1.0, 1e-8).cost(losses, 1e-9)
    assert rho == {"rho": pytest.approx(1.5 * 0.1**2, rel=1e-3), "failure": 2e-10}
    assert rho["rho"] >= 1.5 * 0.1**2  # discrete noise costs more than continuous, never less
    assert SumFilter(1.0, 1e-8).cost(losses, 1e-9) == {"epsilon": compose(losses, 1e-9), "delta": 1e-9}
    assert SumFilter(1.0, 1e-8).cost([], 1e-9) == {"epsilon": 0.0, "delta": 0.0}


def test_every_loss_of_a_fit_counts():
    """A vote on types and a learned domain each have a threshold, and each of them may fail."""
    made = RhoFilter(1.0, 1e-8)
    losses = [
        GaussianLoss(sensitivity_over_sigma=0.1), GaussianLoss(sensitivity_over_sigma=0.2, count=3),
        ApproxDP(epsilon=0.0, delta=3e-10), ApproxDP(epsilon=0.0, delta=1e-10, count=2), ApproxDP(epsilon=0.0, delta=3e-10),
    ]  # fmt: skip
    alone = [made.cost([loss], 1e-9) for loss in losses]
    together = made.cost(losses, 1e-9)
    assert together == {u: pytest.approx(math.fsum(cost[u] for cost in alone)) for u in ("rho", "failure")}
    assert together["failure"] == pytest.approx(8e-10)
    assert not made.admits([together, {"rho": 0.0, "failure": 3e-10}])  # of a tenth of 1e-8, 1e-9


def test_rho_refuses_what_is_not_gaussian_and_the_sum_takes_it():
    for loss in (
        DiscreteLaplaceLoss(epsilon=0.5), ReleaseLoss(epsilon0=0.5, delta=1e-9), ZCDP(rho=0.01),
        ApproxDP(epsilon=0.1, delta=1e-9),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"^filter .'rho'.*{type(loss).__name__}.*filter='sum'"):
            RhoFilter(1.0, 1e-8).cost([loss], 1e-8)
        assert SumFilter(1.0, 1e-8).cost([loss], 1e-8)["epsilon"] > 0


@pytest.mark.parametrize("made", FILTERS.values())
def test_no_claim_has_no_cost_and_bad_totals_are_named(made):
    with pytest.raises(ValueError, match="no privacy guarantee"):
        made(1.0, 1e-8).cost([InfiniteLoss()], 1e-9)
    for epsilon, delta in ((0, 1e-8), (math.inf, 1e-8), (1.0, 0), (1.0, 1), ("1", 1e-8)):
        with pytest.raises(ValueError, match=r"^(epsilon|delta) \(.*must"):
            made(epsilon, delta)


@pytest.mark.parametrize("made", FILTERS.values())
def test_what_is_left_can_be_spent_and_no_more(made: type[PrivacyFilter]):
    limit, delta = made(1.0, 1e-8), 1e-9
    costs: list = []
    for wanted in (0.4, None):  # then all that is left
        epsilon = wanted or limit.left(costs, delta)
        mu = calibrate_gaussian(epsilon, delta)
        costs.append(limit.cost([GaussianLoss(sensitivity_over_sigma=mu)], delta))
        assert limit.admits(costs)
    assert limit.left(costs, delta) < 0.05
    more = limit.cost([GaussianLoss(sensitivity_over_sigma=0.01)], delta)
    assert not limit.admits([*costs, more])
    assert limit.left([limit.limits], delta) == 0.0
    # A budget may be exceeded where its file was made by hand: nothing is left then, and no error.
    twice = {unit: 2 * amount for unit, amount in limit.limits.items()}
    assert limit.left([{**twice, "delta": 0.0}], delta) == 0.0
    assert not limit.admits([twice])


def test_what_is_left_needs_its_delta_and_a_unit_without_a_cost_is_free():
    assert SumFilter(1.0, 1e-8).left([], 1e-8) == 1.0
    assert SumFilter(1.0, 1e-8).left([], 2e-8) == 0.0
    limit = RhoFilter(1.0, 1e-8)
    assert limit.admits([{"rho": limit.limits["rho"]}])
    assert limit.admits([])


def test_what_is_left_of_a_total_however_large_and_of_its_last_digits():
    for epsilon in (1.0, 50.0, 200.0):
        whole = RhoFilter(epsilon, 1e-8).left([], 1e-8 * (1 - FAILURE_SHARE))
        assert whole == pytest.approx(epsilon, rel=1e-7)

    def left(epsilon: float, delta: float) -> float:
        limit = RhoFilter(epsilon, 1e-8)
        return limit.left([{"rho": math.nextafter(limit.limits["rho"], 0.0)}], delta)

    assert left(1.0, 1e-8) == 0.0  # Gaussian noise so weak has a smaller delta at epsilon 0
    assert all(0 < left(0.01, delta) < 1e-9 for delta in (1e-12, 1e-14))
