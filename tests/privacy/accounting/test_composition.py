"""Composition: against exact enumeration of small mechanisms, exact closed forms, and an independent accountant."""

from __future__ import annotations

import itertools
import math

import numpy as np
import oracles_accounting as oracle
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.optimize import brentq
from theory.optimal_composition import optimal_composition

from sdv_plausible.privacy.accounting.composition import _MARGIN, calibrate_gaussian, compose, compose_delta
from sdv_plausible.privacy.accounting.gaussian import zcdp_delta
from sdv_plausible.privacy.accounting.losses import (
    ZCDP,
    ApproxDP,
    DiscreteLaplaceLoss,
    GaussianLoss,
    InfiniteLoss,
    Loss,
    PureDP,
    ReleaseLoss,
    gaussian_noise,
)
from sdv_plausible.privacy.accounting.released_rows import ReleasedRows

EPSILONS = np.array([0.0, 0.05, 0.2, 0.5, 0.9, 1.4, 2.5])

RESPONSE, LAPLACE, GAUSSIAN = oracle.randomised_response, oracle.discrete_laplace, oracle.discrete_gaussian
MIXES = [
    ([DiscreteLaplaceLoss(epsilon=0.3, count=3)], [LAPLACE(0.3)] * 3),
    ([PureDP(epsilon=0.4, count=2), DiscreteLaplaceLoss(epsilon=0.6)], [RESPONSE(0.4)] * 2 + [LAPLACE(0.6)]),
    (
        [DiscreteLaplaceLoss(epsilon=0.5, sensitivity=3, count=2), PureDP(epsilon=0.2)],
        [LAPLACE(0.5, 3)] * 2 + [RESPONSE(0.2)],
    ),
    ([GaussianLoss(sensitivity_over_sigma=0.4), PureDP(epsilon=0.3)], [GAUSSIAN(2.5), RESPONSE(0.3)]),
    ([GaussianLoss(sensitivity_over_sigma=mu) for mu in (0.5, 0.7)], [GAUSSIAN(2.0), GAUSSIAN(1 / 0.7)]),
]


@pytest.mark.parametrize(("used", "mechanisms"), MIXES)
def test_composition_against_enumeration(used: list[Loss], mechanisms: list[oracle.Atoms]) -> None:
    exact = oracle.profile(oracle.compose_atoms(mechanisms), EPSILONS)
    claimed = np.array([compose_delta(used, e) for e in EPSILONS])
    assert np.all(claimed >= exact * (1 - 1e-9))
    gaussian = any(isinstance(loss, GaussianLoss) for loss in used)
    kept = exact > 1e-6
    np.testing.assert_allclose(claimed[kept], exact[kept], rtol=0.25 if gaussian else 2e-3)
    for delta in (1e-2, 1e-4):
        at = np.array([compose(used, delta)])
        assert float(oracle.profile(oracle.compose_atoms(mechanisms), at)[0]) <= delta * (1 + 1e-9)
    # Planted: one use not charged.
    forgotten = [*used[:-1]] or [DiscreteLaplaceLoss(epsilon=0.3, count=2)]
    assert np.any(exact > np.array([compose_delta(forgotten, e) for e in EPSILONS]) + 1e-4)


def test_directions_compose_apart_and_the_worse_counts() -> None:
    """A mechanism that differs by direction: a group that enters with probability delta, next to noise."""
    delta = 0.02
    entering = [(delta, 0.0), (1 - delta, 1.0)]
    atoms = oracle.compose_atoms([entering, oracle.randomised_response(0.5)])
    used = [ReleaseLoss(epsilon0=1e-6, delta=delta), PureDP(epsilon=0.5)]
    remove = [oracle.atoms_delta(atoms, e) for e in EPSILONS]
    add = [oracle.atoms_delta(oracle.flipped(atoms), e) for e in EPSILONS]
    claimed = [compose_delta(used, e) for e in EPSILONS]
    worse = [max(pair) for pair in zip(remove, add, strict=True)]
    assert all(c >= w - 1e-12 for c, w in zip(claimed, worse, strict=True))
    assert claimed == pytest.approx(worse, abs=2e-4)
    assert any(a > r + 1e-3 for r, a in zip(remove, add, strict=True))  # neither direction alone would do
    assert any(r > a + 1e-2 for r, a in zip(remove, add, strict=True))


def test_release_loss_is_below_its_epsilon_delta_pair_and_above_its_parts() -> None:
    losses = (
        ReleaseLoss(epsilon0=0.5, delta=1e-6),
        ApproxDP(epsilon=0.5, delta=1e-6),
        DiscreteLaplaceLoss(epsilon=0.5),
    )
    noise = GaussianLoss(sensitivity_over_sigma=0.2)
    together, pair, part = (compose([loss, noise], 1e-5) for loss in losses)
    assert part <= together <= pair + 1e-6


def test_pure_losses_against_the_closed_form() -> None:
    for epsilon, count, delta in ((0.1, 100, 1e-9), (0.01, 3000, 1e-6), (1.0, 20, 1e-4)):
        exact = optimal_composition(epsilon, 0.0, count, delta)
        found = compose([PureDP(epsilon=epsilon, count=count)], delta)
        assert exact * (1 - 1e-7) <= found <= exact * (1 + 3e-4)
        each = delta / count / 3
        approximate = compose([ApproxDP(epsilon=epsilon, delta=each, count=count)], delta)
        assert approximate == pytest.approx(optimal_composition(epsilon, each, count, delta), rel=3e-4)


def test_gaussians_against_an_independent_accountant() -> None:
    """dp-accounting's own discrete Gaussian, 12 of them, at three widths; ours is above, by at most a thousandth."""
    used, total = [], None
    for sigma, count in [(5.0, 4), (9.0, 5), (20.0, 3)]:
        used.append(GaussianLoss(sensitivity_over_sigma=1 / sigma, count=count))
        one = pld.from_discrete_gaussian_mechanism(
            sigma, value_discretization_interval=2e-4, use_connect_dots=True
        )
        part = one.self_compose(count)
        total = part if total is None else total.compose(part)
    assert total is not None
    for delta in (1e-4, 1e-9):
        theirs = total.get_epsilon_for_delta(delta)
        assert compose(used, delta) == pytest.approx(theirs, rel=2e-3)
        assert compose(used, delta) >= theirs * (1 - 2e-4)


def test_zcdp_adds_up_and_mixes() -> None:
    assert compose([ZCDP(rho=0.01), ZCDP(rho=0.02)], 1e-9) == pytest.approx(compose([ZCDP(rho=0.03)], 1e-9))
    mixed = compose([ZCDP(rho=0.03), PureDP(epsilon=0.1)], 1e-9)
    assert compose([GaussianLoss(sensitivity_over_sigma=math.sqrt(0.06)), PureDP(epsilon=0.1)], 1e-9) < mixed
    assert mixed < compose([ZCDP(rho=0.03)], 1e-9) + 0.1


def test_calibrated_budget_is_met_however_it_is_split() -> None:
    others = [DiscreteLaplaceLoss(epsilon=0.02, count=12), ReleaseLoss(epsilon0=0.2, delta=1e-10)]
    for other in (
        [],
        others,
        [ApproxDP(epsilon=0.0, delta=3e-10)],
        [GaussianLoss(sensitivity_over_sigma=0.05)],
    ):
        mu = calibrate_gaussian(1.0, 1e-9, other)
        for parts in (1, 7, 40):
            used = [*other, *(loss for _ in range(parts) for loss in gaussian_noise(mu / math.sqrt(parts)))]
            assert 0.997 < compose(used, 1e-9) <= 1.0
        assert compose([*other, *gaussian_noise(1.01 * mu)], 1e-9) > 1.0  # nothing is left unused


def test_a_large_budget_is_used_up_too() -> None:
    """There one discrete Gaussian would cost much more than a continuous one; pieces with sigma 5 do not."""
    others = [], [ApproxDP(epsilon=0.0, delta=3e-10)], [PureDP(epsilon=0.5)]
    for epsilon, other in itertools.product((6.0, 10.0, 50.0), others):
        mu = calibrate_gaussian(epsilon, 1e-9, other)
        for shares in ([1.0], [0.7, 0.2, 0.1], [0.02] * 50):
            used = [*other, *(one for share in shares for one in gaussian_noise(mu * math.sqrt(share)))]
            assert compose(used, 1e-9) <= epsilon
        assert compose([*other, *gaussian_noise(mu)], 1e-9) > 0.9999 * epsilon or other
        assert compose([*other, *gaussian_noise(1.01 * mu)], 1e-9) > epsilon


def test_gaussian_accounting_gains_a_tenth_of_rho_over_zcdp() -> None:
    rho = calibrate_gaussian(1.0, 1e-9) ** 2 / 2
    alone = brentq(lambda x: math.log(max(float(zcdp_delta(x, 1.0)), 1e-300) / 1e-9), 1e-4, 0.1)
    assert 1.09 < rho / alone < 1.13


def test_a_loss_beyond_any_protection_is_added_up() -> None:
    rest = [GaussianLoss(sensitivity_over_sigma=0.2), PureDP(epsilon=0.01, count=50)]
    for epsilon in (51.0, 201.0, 1e6):
        total = compose([ApproxDP(epsilon=epsilon, delta=5e-10), *rest], 1e-9)
        assert epsilon < total <= epsilon + compose(rest, 5e-10) + 1e-6
        assert compose_delta([ApproxDP(epsilon=epsilon, delta=5e-10), *rest], total) <= 1e-9 * (1 + 1e-6)
        beside = [ApproxDP(epsilon=epsilon, delta=1e-11)]
        mu = calibrate_gaussian(epsilon + 5, 1e-9, beside)
        assert 0.95 * (epsilon + 5) < compose([*beside, *gaussian_noise(mu)], 1e-9) <= epsilon + 5
    assert compose([ApproxDP(epsilon=1e6, delta=2e-9), *rest], 1e-9) == math.inf


def test_calibration_refuses_what_is_used_up() -> None:
    others = [ApproxDP(epsilon=60.0 * (1 - _MARGIN), delta=3e-7)]
    assert compose(others, 1e-6) == 60.0 * (1 - _MARGIN)
    for refused, says in (
        (lambda: calibrate_gaussian(1e-7, 1e-9), r"epsilon \(1e-07\) is too small"),
        (
            lambda: calibrate_gaussian(0.5, 1e-9, [PureDP(epsilon=0.6)]),
            "used up: the other losses compose to",
        ),
        (lambda: calibrate_gaussian(60.0, 1e-6, others), "used up: the other losses compose to"),
        (lambda: calibrate_gaussian(0, 1e-9), r"epsilon \(0\) must"),
        (lambda: compose([PureDP(epsilon=1.0)], 1.0), r"delta \(1.0\) must"),
    ):
        with pytest.raises(ValueError, match=says):
            refused()


def test_edges() -> None:
    nothing = [], [PureDP(epsilon=0.0)], [ApproxDP(epsilon=0.0, delta=1e-10, count=5)], [ZCDP(rho=0.0)]
    assert [compose(losses, 1e-9) for losses in nothing] == [0.0] * 4
    endless = (
        [InfiniteLoss(), PureDP(epsilon=1.0)],
        *([ApproxDP(epsilon=0.1, delta=delta)] for delta in (1e-8, 1.0)),
    )
    assert [compose(losses, 1e-9) for losses in endless] == [math.inf] * 3
    assert compose_delta([], 0.0) == 0.0
    assert compose_delta([InfiniteLoss()], 5.0) == 1.0
    assert compose([PureDP(epsilon=1.0)], 1e-9) == pytest.approx(1.0)
    assert compose([PureDP(epsilon=5000.0)], 1e-9) == pytest.approx(5000.0)
    assert compose([GaussianLoss(sensitivity_over_sigma=100.0)], 1e-9) > 1000
    assert compose([PureDP(epsilon=20.0), GaussianLoss(sensitivity_over_sigma=0.2)], 1e-9) < 21.2


def test_smaller_delta_costs_more_and_compose_delta_is_its_inverse() -> None:
    used = [GaussianLoss(sensitivity_over_sigma=0.1, count=5), DiscreteLaplaceLoss(epsilon=0.1, count=4)]
    epsilons = {delta: compose(used, delta) for delta in (1e-3, 1e-6, 1e-9, 1e-12)}
    assert [*epsilons.values()] == sorted(epsilons.values())
    for delta, epsilon in epsilons.items():
        assert compose_delta(used, epsilon) == pytest.approx(delta, rel=1e-3)


def test_rows_compose_like_any_other_loss() -> None:
    common = {"num_rows": 500, "k": 30, "epsilon0": 0.6, "pass_rate_floor": 0.4, "n_lower": 20_000}
    rows = ReleasedRows(gamma=1.0, t=10, **common)
    alone = rows.epsilon(1e-5)
    assert math.isfinite(alone)
    assert compose([rows], 1e-5) == pytest.approx(alone, rel=0.03)
    noise = GaussianLoss(sensitivity_over_sigma=0.2)
    assert alone < compose([rows, noise], 1e-5) < alone + compose([noise], 1e-5)


class Step(Loss):
    """A curve that is no profile: it is not convex, and falls too fast next to 0."""

    def __init__(self, start: float = 0.2) -> None:
        self.start = start

    def profile(self, epsilon):
        delta = np.interp(epsilon, [0.0, 0.3, 0.31, 1.0], [self.start, self.start, 0.02, 0.0])
        return delta, delta


def test_a_curve_that_is_no_profile_is_bounded_from_above() -> None:
    """Randomised response at .2 keeps below it; so must what is composed of it."""
    atoms = oracle.randomised_response(0.2)
    assert np.all(oracle.profile(atoms, EPSILONS) <= Step().profile(EPSILONS)[0])
    exact = oracle.profile(oracle.compose_atoms([atoms] * 3 + [oracle.discrete_laplace(0.5)]), EPSILONS)
    used = [Step(), Step(), Step(), DiscreteLaplaceLoss(epsilon=0.5)]
    claimed = np.array([compose_delta(used, e) for e in EPSILONS])
    assert np.all(exact <= claimed)
    for start in (0.2, 0.9, 1.0):  # at 1 a bound says nothing, and no probability is above it
        alone = np.array([compose_delta([Step(start)], e) for e in EPSILONS])
        assert np.all(oracle.profile(atoms, EPSILONS) <= alone)
        assert np.all(alone <= Step(start).profile(EPSILONS)[0] * (1 + 1e-4) + 2e-13)


BEYOND = ApproxDP(epsilon=60.0, delta=3e-7)  # too large for a distribution of losses: added up
LITTLE = GaussianLoss(sensitivity_over_sigma=0.3)


def test_losses_beyond_any_protection_are_added_to_what_the_others_compose_to() -> None:
    assert compose([BEYOND, LITTLE], 1e-6) == pytest.approx(60 + compose([LITTLE], 7e-7))
    assert compose([BEYOND], 1e-6) == 60.0
    assert compose_delta([BEYOND, LITTLE], 61.0) == pytest.approx(3e-7 + compose_delta([LITTLE], 1.0))
    assert compose_delta([BEYOND], 60.5) == 3e-7
    assert (
        compose_delta([BEYOND], 59.5) == compose_delta([BEYOND, LITTLE], 59.5) == 1.0
    )  # less than they cost
    likely = ApproxDP(epsilon=60.0, delta=0.7)  # deltas are probabilities
    assert compose_delta([likely, likely], 130.0) == 1.0
    assert compose_delta([likely, ApproxDP(epsilon=0.1, delta=0.6)], 61.0) == 1.0


def test_calibration_pays_for_losses_beyond_any_protection_too() -> None:
    mu = calibrate_gaussian(61.0, 1e-6, [BEYOND])
    total = compose([BEYOND, *gaussian_noise(mu)], 1e-6)
    assert 60.99 < total <= 61.0
    assert mu == pytest.approx(calibrate_gaussian(1.0, 7e-7), rel=1e-3)


def test_a_whole_delta_may_be_one_losss() -> None:
    """At equality a pair still holds; where nothing of delta is left, no noise has an epsilon."""
    pair = ApproxDP(epsilon=1.0, delta=1e-6)
    assert compose([pair], 1e-6) == 1.0
    assert compose_delta([pair], 1.0) == 1e-6
    failure = ApproxDP(epsilon=0.0, delta=1e-6)
    assert compose([failure, LITTLE], 1e-6) == math.inf
    assert compose([BEYOND], 3e-7) == math.inf
    assert compose([failure, ZCDP(rho=0.01)], 3e-6) == pytest.approx(compose([ZCDP(rho=0.01)], 2e-6))


def test_a_budget_that_others_have_nearly_used_up_leaves_a_little() -> None:
    """Also where zero-concentrated privacy allows the others more than their Gaussians' own mu."""
    for epsilon in (1.0, 8.0, 30.0):
        whole = calibrate_gaussian(epsilon, 1e-6)
        others = list(gaussian_noise(whole * (1 - 1e-7)))
        left = calibrate_gaussian(epsilon, 1e-6, others)
        assert 0 < left < 0.1 * whole
        assert compose([*others, *gaussian_noise(left)], 1e-6) <= epsilon


def test_any_zcdp_has_an_epsilon() -> None:
    """The best Renyi divergence is searched on a grid: of large rho it is a little above the simple conversion."""
    for rho in (1e6, 1e10, 1e11, 1e12, 1e13):
        simple = rho + 2 * math.sqrt(rho * math.log(1e9))
        assert compose([ZCDP(rho=rho)], 1e-9) == pytest.approx(simple, rel=1e-3)
    assert 0.01 < compose([ZCDP(rho=1e-4)], 1e-6) < 0.1  # little costs little, and never less than nothing
    assert compose([ZCDP(rho=1e-8)], 0.5) == compose([GaussianLoss(sensitivity_over_sigma=1e-6)], 0.5) == 0.0
