"""Composition: against exact enumeration of small mechanisms, exact closed forms, and an independent accountant."""

from __future__ import annotations

import itertools
import math

import numpy as np
import oracles_accounting as oracle
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from sdv_plausible.privacy.accounting import losses as losses_module
from sdv_plausible.privacy.accounting.bernoulli_pairs import optimal_composition
from sdv_plausible.privacy.accounting.composition import calibrate_gaussian, compose, compose_delta
from sdv_plausible.privacy.accounting.gaussian import (
    discrete_gaussian_mu,
    discrete_gaussian_sigma,
    gaussian_log_delta,
    zcdp_delta,
)
from sdv_plausible.privacy.accounting.losses import (
    ZCDP,
    ApproxDP,
    BoundedRangeLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    InfiniteLoss,
    LaplaceLoss,
    PureDP,
    ReleaseLoss,
)
from sdv_plausible.privacy.accounting.released_rows import FixedOmegaRows, SeedTestRows, fixed_omega_loss

EPSILONS = np.array([0.0, 0.05, 0.2, 0.5, 0.9, 1.4, 2.5])


def exact_profile(atoms: oracle.Atoms, epsilons: np.ndarray = EPSILONS) -> np.ndarray:
    return np.array([max(oracle.atoms_delta(atoms, e), oracle.atoms_delta(oracle.flipped(atoms), e)) for e in epsilons])


@pytest.mark.parametrize(
    ("loss", "atoms"),
    [
        (PureDP(epsilon=0.7), oracle.randomised_response(0.7)),
        (DiscreteLaplaceLoss(epsilon=0.7), oracle.discrete_laplace(0.7)),
        (DiscreteLaplaceLoss(epsilon=0.9, sensitivity=5), oracle.discrete_laplace(0.9, 5)),
        (DiscreteLaplaceLoss(epsilon=1.3, sensitivity=4), oracle.discrete_laplace(1.3, 4)),
        (LaplaceLoss(epsilon=0.9), oracle.discrete_laplace(0.9, 2000)),  # the limit of fine grids
    ],
)
def test_profiles_are_exact(loss: losses_module.Loss, atoms: oracle.Atoms) -> None:
    tolerance = 1e-3 if isinstance(loss, LaplaceLoss) else 1e-12
    for claimed in loss.profile(EPSILONS):
        np.testing.assert_allclose(claimed, exact_profile(atoms), atol=tolerance)
        assert float(np.max(exact_profile(atoms) - 0.97 * claimed)) > 1e-3  # a profile 3 % lower is caught


def worst_choice(epsilon: float, at: float) -> float:
    """Exponential mechanism with range epsilon on two groups of candidates: the worst position of the range, by search."""
    worst = 0.0
    for share in np.linspace(0.001, 0.999, 999):
        p = share * math.exp(epsilon) / (share * math.exp(epsilon) + 1 - share)
        worst = max(worst, oracle.atoms_delta([(p, share), (1 - p, 1 - share)], at))
    return worst


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_bounded_range_profile_is_the_largest_over_positions(epsilon: float) -> None:
    for at in np.linspace(0, epsilon, 6)[:-1]:
        claimed = float(BoundedRangeLoss(epsilon=epsilon).profile(at)[0])
        assert worst_choice(epsilon, at) <= claimed + 1e-12
        assert worst_choice(epsilon, at) == pytest.approx(claimed, rel=1e-3)
    # Planted: half of the range is too little.
    assert worst_choice(epsilon, 0.0) > 1.5 * float(BoundedRangeLoss(epsilon=epsilon / 2).profile(0.0)[0])


def test_exponential_mechanism_is_of_bounded_range() -> None:
    """Scores of sensitivity 1, scale 2/epsilon: 400 random neighbours, three rounds composed."""
    rng = np.random.default_rng(5)
    epsilon = 0.8
    worst = np.zeros(len(EPSILONS))
    for _ in range(400):
        scores = rng.uniform(0, 5, 4)
        atoms = oracle.exponential_mechanism(scores, scores + rng.choice([-1.0, 1.0], 4), 2 / epsilon)
        worst = np.maximum(worst, exact_profile(oracle.compose_atoms([atoms] * 3)))
    claimed = np.array([compose_delta([BoundedRangeLoss(epsilon=epsilon, count=3)], e) for e in EPSILONS])
    assert np.all(worst <= claimed)
    too_small = np.array([compose_delta([BoundedRangeLoss(epsilon=epsilon / 2, count=3)], e) for e in EPSILONS])
    assert np.any(worst > too_small + 1e-3)  # planted: the scale of a monotone score used for one that is not


MIXES = [
    ([DiscreteLaplaceLoss(epsilon=0.3, count=3)], [oracle.discrete_laplace(0.3)] * 3),
    (
        [PureDP(epsilon=0.4, count=2), DiscreteLaplaceLoss(epsilon=0.6)],
        [oracle.randomised_response(0.4)] * 2 + [oracle.discrete_laplace(0.6)],
    ),
    (
        [DiscreteLaplaceLoss(epsilon=0.5, sensitivity=3, count=2), PureDP(epsilon=0.2)],
        [oracle.discrete_laplace(0.5, 3)] * 2 + [oracle.randomised_response(0.2)],
    ),
    (
        [GaussianLoss(sensitivity_over_sigma=0.4), PureDP(epsilon=0.3)],
        [oracle.discrete_gaussian(2.5), oracle.randomised_response(0.3)],
    ),
    (
        [GaussianLoss(sensitivity_over_sigma=0.5), GaussianLoss(sensitivity_over_sigma=0.7)],
        [oracle.discrete_gaussian(2.0), oracle.discrete_gaussian(1 / 0.7)],
    ),
]


@pytest.mark.parametrize(("used", "mechanisms"), MIXES)
def test_composition_against_enumeration(used: list[losses_module.Loss], mechanisms: list[oracle.Atoms]) -> None:
    exact = exact_profile(oracle.compose_atoms(mechanisms))
    claimed = np.array([compose_delta(used, e) for e in EPSILONS])
    assert np.all(claimed >= exact * (1 - 1e-9))
    gaussian = any(isinstance(loss, GaussianLoss) for loss in used)
    kept = exact > 1e-6
    np.testing.assert_allclose(claimed[kept], exact[kept], rtol=0.25 if gaussian else 2e-3)
    for delta in (1e-2, 1e-4):
        epsilon = compose(used, delta)
        assert float(exact_profile(oracle.compose_atoms(mechanisms), np.array([epsilon]))[0]) <= delta * (1 + 1e-9)
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
    together = compose([ReleaseLoss(epsilon0=0.5, delta=1e-6), GaussianLoss(sensitivity_over_sigma=0.2)], 1e-5)
    pair = compose([ApproxDP(epsilon=0.5, delta=1e-6), GaussianLoss(sensitivity_over_sigma=0.2)], 1e-5)
    part = compose([DiscreteLaplaceLoss(epsilon=0.5), GaussianLoss(sensitivity_over_sigma=0.2)], 1e-5)
    assert part <= together <= pair + 1e-6


@pytest.mark.parametrize(("epsilon", "count", "delta"), [(0.1, 100, 1e-9), (0.01, 3000, 1e-6), (1.0, 20, 1e-4)])
def test_pure_losses_against_the_closed_form(epsilon: float, count: int, delta: float) -> None:
    exact = optimal_composition(epsilon, 0.0, count, delta)
    found = compose([PureDP(epsilon=epsilon, count=count)], delta)
    assert exact * (1 - 1e-7) <= found <= exact * (1 + 3e-4)
    approximate = compose([ApproxDP(epsilon=epsilon, delta=delta / count / 3, count=count)], delta)
    assert approximate == pytest.approx(optimal_composition(epsilon, delta / count / 3, count, delta), rel=3e-4)


@pytest.mark.parametrize("sigma", [0.35, 0.5, 0.8, 1.0, 1.7, 3.0, 10.0, 40.0])
def test_discrete_gaussian_is_dominated_by_the_stated_gaussian(sigma: float) -> None:
    atoms = oracle.discrete_gaussian(sigma)
    mu = discrete_gaussian_mu(sigma)
    knots = [(2 * m + 1) / (2 * sigma**2) for m in range(math.ceil(12 * sigma) + 2)]
    epsilons = np.unique([0.0, *(k for k in knots if k < 60), *np.linspace(0, min(60, 8 / sigma), 40)])
    exact = np.array([oracle.atoms_delta(atoms, e) for e in epsilons])
    claimed = np.exp(gaussian_log_delta(mu, epsilons))
    assert np.all(exact <= claimed * (1 + 1e-9) + 1e-17)
    assert 1 / sigma < mu <= (1 + 1 / (15 * sigma**2)) / sigma  # what calibrate_gaussian takes off
    uncorrected = np.exp(gaussian_log_delta(1 / sigma, epsilons))
    assert np.any(exact > uncorrected * (1 + 1e-6))  # planted: 1/sigma itself is too small


def test_discrete_gaussian_factor_for_all_scales() -> None:
    sigmas = np.geomspace(0.05, 60_000, 220)
    factors = np.array([discrete_gaussian_mu(float(s)) * s - 1 for s in sigmas])
    assert np.all(factors > 0)
    assert np.all(factors[sigmas < 1000] <= 1 / (15 * sigmas[sigmas < 1000] ** 2) + 2e-9)
    assert np.all(factors[sigmas >= 1000] <= 8.1 / sigmas[sigmas >= 1000] ** 2 + 3e-9)
    for mu in (0.01, 0.2, 1.5):
        assert discrete_gaussian_mu(discrete_gaussian_sigma(mu)) == pytest.approx(mu, rel=1e-8)


@pytest.mark.parametrize("shift", [2, 5])
def test_integer_shifts_of_discrete_gaussians_are_covered(shift: int) -> None:
    """Sensitivity s at sigma costs no more than s times the unit shift, and GaussianLoss is told the quotient."""
    sigma = 4.0
    atoms = oracle.discrete_gaussian(sigma, shift)
    claimed = GaussianLoss(sensitivity_over_sigma=shift / sigma).profile(EPSILONS)[0]
    exact = exact_profile(atoms)
    assert np.all(exact <= claimed)
    np.testing.assert_allclose(claimed, exact, rtol=0.6, atol=1e-9)


def test_gaussians_against_an_independent_accountant() -> None:
    """dp-accounting's own discrete Gaussian, 12 of them, at three widths; ours is above, by at most a thousandth."""
    used, total = [], None
    for sigma, count in [(5.0, 4), (9.0, 5), (20.0, 3)]:
        used.append(GaussianLoss(sensitivity_over_sigma=1 / sigma, count=count))
        one = pld.from_discrete_gaussian_mechanism(sigma, value_discretization_interval=2e-4, use_connect_dots=True)
        part = one.self_compose(count)
        total = part if total is None else total.compose(part)
    assert total is not None
    for delta in (1e-4, 1e-9):
        theirs = total.get_epsilon_for_delta(delta)
        assert compose(used, delta) == pytest.approx(theirs, rel=2e-3)
        assert compose(used, delta) >= theirs * (1 - 2e-4)


def test_zcdp_conversion_is_the_minimum_over_renyi_orders() -> None:
    for rho, epsilon in itertools.product((1e-3, 0.02, 0.5), (0.1, 1.0, 4.0)):
        alpha = 1 + np.geomspace(1e-4, 1e6, 400_001)
        log_delta = (alpha - 1) * (alpha * rho - epsilon) - np.log(alpha - 1) + alpha * np.log1p(-1 / alpha)
        best = min(1.0, math.exp(min(0.0, float(log_delta.min()))), math.sqrt(rho / 2))
        found = float(zcdp_delta(rho, epsilon))
        assert best * (1 - 1e-9) <= found <= best * 1.01
    # It bounds the Gaussian, which is rho-zCDP with rho = mu^2 / 2, and is not below it anywhere.
    for mu in (0.1, 0.7, 2.0):
        assert np.all(zcdp_delta(mu * mu / 2, EPSILONS) >= np.exp(gaussian_log_delta(mu, EPSILONS)))


def test_zcdp_adds_up_and_mixes() -> None:
    assert compose([ZCDP(rho=0.01), ZCDP(rho=0.02)], 1e-9) == pytest.approx(compose([ZCDP(rho=0.03)], 1e-9))
    mixed = compose([ZCDP(rho=0.03), PureDP(epsilon=0.1)], 1e-9)
    assert compose([GaussianLoss(sensitivity_over_sigma=math.sqrt(0.06)), PureDP(epsilon=0.1)], 1e-9) < mixed
    assert mixed < compose([ZCDP(rho=0.03)], 1e-9) + 0.1


def test_calibrated_budget_is_met_however_it_is_split() -> None:
    others = [BoundedRangeLoss(epsilon=0.02, count=12), ReleaseLoss(epsilon0=0.2, delta=1e-10)]
    for other in ([], others, [ApproxDP(epsilon=0.0, delta=3e-10)], [GaussianLoss(sensitivity_over_sigma=0.05)]):
        mu = calibrate_gaussian(1.0, 1e-9, other)
        for parts in (1, 7, 40):
            used = [*other, *[GaussianLoss(sensitivity_over_sigma=mu / math.sqrt(parts)) for _ in range(parts)]]
            assert 0.997 < compose(used, 1e-9) <= 1.0
        assert compose([*other, GaussianLoss(sensitivity_over_sigma=1.01 * mu)], 1e-9) > 1.0  # nothing is left unused
    finer = calibrate_gaussian(1.0, 1e-9, largest_share=1 / 40)
    assert finer > calibrate_gaussian(1.0, 1e-9)
    assert 0.9999 < compose([GaussianLoss(sensitivity_over_sigma=finer / math.sqrt(40), count=40)], 1e-9) <= 1.0


@pytest.mark.parametrize("epsilon", [6.0, 10.0, 50.0])
def test_a_large_budget_is_used_up_too(epsilon: float) -> None:
    """There the discrete Gaussian's loss against the continuous one is large: zero-concentrated privacy has none."""
    for other in ([], [ApproxDP(epsilon=0.0, delta=3e-10)], [PureDP(epsilon=0.5)]):
        mu = calibrate_gaussian(epsilon, 1e-9, other)
        for shares in ([1.0], [0.7, 0.2, 0.1], [0.02] * 50):
            used = [*other, *[GaussianLoss(sensitivity_over_sigma=mu * math.sqrt(share)) for share in shares]]
            assert compose(used, 1e-9) <= epsilon
        assert compose([*other, GaussianLoss(sensitivity_over_sigma=mu)], 1e-9) > 0.99 * epsilon or other
        assert compose([*other, GaussianLoss(sensitivity_over_sigma=1.05 * mu)], 1e-9) > epsilon


def test_gaussian_accounting_gains_a_tenth_of_rho_over_zcdp() -> None:
    rho = calibrate_gaussian(1.0, 1e-9) ** 2 / 2
    low, high = 1e-4, 0.1
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if float(zcdp_delta(middle, 1.0)) <= 1e-9 else (low, middle)
    assert 1.09 < rho / low < 1.13


@pytest.mark.parametrize("epsilon", [51.0, 201.0, 1e6])
def test_a_loss_beyond_any_protection_is_added_up(epsilon: float) -> None:
    rest = [GaussianLoss(sensitivity_over_sigma=0.2), PureDP(epsilon=0.01, count=50)]
    total = compose([ApproxDP(epsilon=epsilon, delta=5e-10), *rest], 1e-9)
    assert epsilon < total <= epsilon + compose(rest, 5e-10) + 1e-6
    assert compose_delta([ApproxDP(epsilon=epsilon, delta=5e-10), *rest], total) <= 1e-9 * (1 + 1e-6)
    assert compose([ApproxDP(epsilon=1e6, delta=2e-9), *rest], 1e-9) == math.inf
    beside = [ApproxDP(epsilon=epsilon, delta=1e-11)]
    mu = calibrate_gaussian(epsilon + 5, 1e-9, beside)
    assert 0.95 * (epsilon + 5) < compose([*beside, GaussianLoss(sensitivity_over_sigma=mu)], 1e-9) <= epsilon + 5


def test_calibration_refuses_what_is_used_up() -> None:
    with pytest.raises(ValueError, match=r"epsilon \(1e-07\) is too small"):
        calibrate_gaussian(1e-7, 1e-9)
    with pytest.raises(ValueError, match="used up: the other losses compose to"):
        calibrate_gaussian(0.5, 1e-9, [PureDP(epsilon=0.6)])
    with pytest.raises(ValueError, match=r"epsilon \(0\) must"):
        calibrate_gaussian(0, 1e-9)
    with pytest.raises(ValueError, match=r"delta \(1.0\) must"):
        compose([PureDP(epsilon=1.0)], 1.0)


def test_edges() -> None:
    assert compose([], 1e-9) == 0.0
    assert compose_delta([], 0.0) == 0.0
    assert compose([InfiniteLoss(), PureDP(epsilon=1.0)], 1e-9) == math.inf
    assert compose_delta([InfiniteLoss()], 5.0) == 1.0
    assert compose([PureDP(epsilon=0.0)], 1e-9) == 0.0
    assert compose([ApproxDP(epsilon=0.0, delta=1e-10, count=5)], 1e-9) == 0.0
    assert compose([ApproxDP(epsilon=0.1, delta=1e-8)], 1e-9) == math.inf
    assert compose([ApproxDP(epsilon=0.1, delta=1.0)], 1e-9) == math.inf
    assert compose([PureDP(epsilon=1.0)], 1e-9) == pytest.approx(1.0)
    assert compose([PureDP(epsilon=5000.0)], 1e-9) == pytest.approx(5000.0)
    assert compose([GaussianLoss(sensitivity_over_sigma=100.0)], 1e-9) > 1000
    assert compose([ZCDP(rho=0.0)], 1e-9) == 0.0
    assert compose([PureDP(epsilon=20.0), GaussianLoss(sensitivity_over_sigma=0.2)], 1e-9) < 21.2


def test_smaller_delta_costs_more_and_compose_delta_is_its_inverse() -> None:
    used = [GaussianLoss(sensitivity_over_sigma=0.1, count=5), BoundedRangeLoss(epsilon=0.1, count=4)]
    epsilons = [compose(used, delta) for delta in (1e-3, 1e-6, 1e-9, 1e-12)]
    assert epsilons == sorted(epsilons)
    for epsilon, delta in zip(epsilons, (1e-3, 1e-6, 1e-9, 1e-12), strict=True):
        assert compose_delta(used, epsilon) == pytest.approx(delta, rel=1e-3)


def test_rows_compose_like_any_other_loss() -> None:
    common = {"num_rows": 500, "k": 30, "epsilon0": 0.6, "pass_rate_floor": 0.4, "n_lower": 20_000}
    rows = FixedOmegaRows(**common)  # type: ignore[arg-type]
    alone = fixed_omega_loss(delta=1e-6, **common)  # type: ignore[arg-type]
    assert alone * 0.99 <= compose([rows], 1e-6) <= alone * 1.03
    more = compose([rows, GaussianLoss(sensitivity_over_sigma=0.2)], 1e-6)
    assert alone < more < alone + compose([GaussianLoss(sensitivity_over_sigma=0.2)], 1e-6)
    # Planted: one neighbour pair's group size in place of the largest over all of them.
    pair = rows._worst_pairs(1 / 50)
    fixed = type(pair)(log_high=pair.log_high[:3], log_low=pair.log_low[:3])
    assert float(fixed.profile(500, np.array([1.0]))[0][0]) < float(rows.profile(1.0)[0]) / 2
    general = SeedTestRows(gamma=1.0, t=20, **common)  # type: ignore[arg-type]
    assert compose([general], 1e-5) == pytest.approx(general.epsilon(1e-5), rel=0.03)


def test_values_are_frozen_and_checked() -> None:
    with pytest.raises(AttributeError):
        PureDP(epsilon=1.0).epsilon = 2.0  # type: ignore[misc]
    for bad in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="epsilon"):
            PureDP(epsilon=bad)
    with pytest.raises(ValueError, match=r"count \(0\)"):
        GaussianLoss(sensitivity_over_sigma=0.1, count=0)
