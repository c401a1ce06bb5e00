"""One fixed omega: the loss is exactly that of two binomials, and the worst over all group sizes and pass rates."""

import math
from fractions import Fraction

import oracles_accounting as oracle
import pytest
from oracles_accounting import PREFIXES, TOLERANCE

from sdv_plausible.extensions.audit.disclosure import exact
from sdv_plausible.privacy.accounting.released_rows import released_rows_loss
from theory.fixed_omega import FixedOmegaRows, fixed_omega_loss

A = Fraction(1, 5)  # exp(-epsilon0): rational, so that the enumeration is exact
EPSILON0 = math.log(5)
GAMMA = Fraction(2)
COMMON = {"k": 3, "epsilon0": EPSILON0}


def test_rows_are_tosses_of_one_coin():
    """The enumerated divergence equals that of the two binomials, for every pair of neighbours."""
    checked = 0
    pairs = oracle.released_pairs(PREFIXES, GAMMA, exact.randomized_pass(3, A), 3, (3, 4, 5))
    for _, table, extra, more, less, _ in pairs:
        c = table.count(extra)
        first = [p > 0 for p in PREFIXES[extra]]
        share = [float(d.reshape(4, -1)[first].sum()) for d in (more, less)]
        if c == 0 or share[1] > 1 - 1e-12:
            continue
        coin = oracle.fixed_omega_coin(c, share[1], 3, EPSILON0, "discrete_laplace")
        assert share[0] == pytest.approx(coin, rel=1e-9)
        exact_deltas = oracle.hockey_sticks(more, less)
        for epsilon, delta in zip(oracle.EPSILONS, exact_deltas, strict=True):
            assert oracle.binomial_delta(3, share[0], share[1], epsilon) == pytest.approx(delta, abs=1e-12)
            checked += 1
    assert checked > 300


@pytest.mark.parametrize("num_rows", [1, 3])
def test_claim_covers_every_pair(num_rows):
    worst, tightest = -1.0, 0.0
    pairs = oracle.released_pairs(PREFIXES, GAMMA, exact.randomized_pass(3, A), num_rows, (1, 2, 4, 5))
    for n, _, _, more, less, floor in pairs:
        claim = FixedOmegaRows(num_rows=num_rows, pass_rate_floor=floor, n_lower=n, **COMMON)
        worst = max(worst, oracle.excess(claim, more, less))
        tightest = max(tightest, oracle.hockey_sticks(more, less)[2] / claim.profile(oracle.EPSILONS)[0][2])
    assert worst <= TOLERANCE
    assert tightest > 0.9  # the claim is reached: it would catch a formula that is too small


MUTANTS = {
    "deterministic": (exact.deterministic_pass(3), 2),
    "narrow noise": (exact.randomized_pass(3, A * A), 2),
    "fewer rows": (exact.randomized_pass(3, A), 3),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_of_the_mechanism_break_the_claim(mutant):
    """Planted bugs: a sharp threshold, noise half as wide, one row more than charged (that row alone shows it)."""
    test, num_rows = MUTANTS[mutant]
    worst = -1.0
    for n, _, _, more, less, floor in oracle.released_pairs(PREFIXES, GAMMA, test, num_rows, (4, 5)):
        claim = FixedOmegaRows(num_rows=2, pass_rate_floor=floor, n_lower=n, **COMMON)
        worst = max(worst, oracle.excess(claim, more, less))
    assert worst > 1e-3


def test_loss_is_the_worst_over_all_sizes_and_rates():
    for case in (
        (150, 14, 0.9, 1e-4, 0.4, 200, "discrete_laplace"),
        (150, 14, 0.9, 1e-4, 0.4, 200, "laplace"),
        (50, 5, 2.0, 1e-2, 1.0, 20, "discrete_laplace"),
        (200, 20, 0.7, 1e-5, 0.3, 900, "laplace"),
    ):
        k, names = case[1], ("num_rows", "k", "epsilon0", "delta", "pass_rate_floor", "n_lower", "noise")
        brute = oracle.fixed_omega_epsilon(*case, sizes=range(1, 2 * k + 5))
        found = fixed_omega_loss(**dict(zip(names, case, strict=True)))
        assert brute * (1 - 1e-6) <= found <= brute * 1.012 + 1e-6
        # Planted: a grid over group sizes that steps over the worst one understates, and would be caught above.
        assert oracle.fixed_omega_epsilon(*case, sizes=range(k % 4 + 1, 2 * k, 4)) < brute * (1 - 1e-3)


def test_empty_group_is_charged():
    rows = FixedOmegaRows(num_rows=1000, k=3, epsilon0=0.5, pass_rate_floor=0.5, n_lower=100)
    alone = 1 - (1 - oracle.pass_probability(1, 3, 0.5, "discrete_laplace") / (101 * 0.5)) ** 1000
    assert rows.epsilon(alone * 0.99) == math.inf
    assert rows.epsilon(alone * 1.01) < math.inf
    assert float(rows.profile(50.0)[0]) == pytest.approx(alone)


TABLE = [  # n, k, epsilon0, rows; Laplace at floors 1, .9, .5; discrete Laplace
    (735_000, 50, 1.0, 10_000, (4.97, 5.50, 6.62), (5.78, 6.11, 7.50)),
    (735_000, 200, 0.1, 10_000, (0.75, 0.78, 0.98), (0.77, 0.79, 1.00)),
    (16_000, 100, 0.3, 1_000, (3.36, 3.47, 4.51), (3.57, 3.72, 4.83)),
]


def test_design_table_is_reproduced_and_releases_charge_a_little_more():
    for n, k, epsilon0, num_rows, *columns in TABLE:
        rows = {"num_rows": num_rows, "k": k, "epsilon0": epsilon0, "delta": 1e-6, "n_lower": n}
        for noise, values in zip(("laplace", "discrete_laplace"), columns, strict=True):
            for floor, value in zip((1.0, 0.9, 0.5), values, strict=True):
                found = fixed_omega_loss(pass_rate_floor=floor, noise=noise, **rows)
                assert found == pytest.approx(value, abs=0.011)
        if k == 50:
            released = released_rows_loss(gamma=1.0, pass_rate_floor=0.5, **rows).epsilon
            assert found <= released <= 1.02 * found
