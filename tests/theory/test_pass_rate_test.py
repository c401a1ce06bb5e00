"""The charged pass-rate test: a whole call with its attempt budget, enumerated, and the figures to reach."""

import math
from fractions import Fraction

import numpy as np
import oracles_accounting as oracle
import pytest
from scipy import stats

from sdv_plausible.extensions.audit.disclosure import exact
from sdv_plausible.privacy.accounting.composition import compose_delta
from theory.fixed_omega import FixedOmegaRows, fixed_omega_loss
from theory.pass_rate_test import PassRateTest, pass_rate_step, plan_attempts, row_by_row_loss

A = Fraction(1, 3)
EPSILON0 = math.log(3)
K, ROWS, FLOOR, DELTA, N_LOWER = 5, 12, 0.4, 0.02, 100
PASSES = [float(exact.discrete_laplace_tail(K - c, A)) for c in range(104)]  # by number of plausible seeds


def success(attempts, rate):
    """Pr[at least ROWS acceptances in the given attempts], summed."""
    return 1.0 - math.fsum(stats.binom.pmf(np.arange(ROWS), attempts, rate))


def call(sizes, group, attempts):
    """Outcome of one call: None for the error, else how many rows come from the group that changes."""
    n = sum(sizes)
    mass = [c / n * PASSES[c] for c in sizes]
    rate = math.fsum(mass)
    share, done = mass[group] / rate, success(attempts, rate)
    rows = {x: done * math.comb(ROWS, x) * share**x * (1 - share) ** (ROWS - x) for x in range(ROWS + 1)}
    return {None: 1 - done, **rows}


def divergence(p, q, epsilon):
    return math.fsum(max(0.0, p[o] - math.exp(epsilon) * q[o]) for o in p)


# Tables of 102 seeds: many small groups (pass rate below the floor), a few large ones (above), and all in between.
TABLES = [
    [*([1] * ones), *([2] * twos), *([3] * threes), rest]
    for ones in (0, 20, 50, 80, 100)
    for twos in (0, 8, 20)
    for threes in (0, 10)
    if (rest := 102 - ones - 2 * twos - 3 * threes) > 0
]


def neighbours():
    """Each table, the place of a group (at the end: of a new one), and the table with a row more in that group."""
    for sizes in TABLES:
        for group in {sizes.index(c) for c in set(sizes)}:
            yield sizes, group, [c + (i == group) for i, c in enumerate(sizes)]
        yield [*sizes, 0], len(sizes), [*sizes, 1]


def worst_call(epsilon, attempts):
    worst = 0.0
    for sizes, group, more in neighbours():
        first, second = call(more, group, attempts), call(sizes, group, attempts)
        worst = max(worst, divergence(first, second, epsilon), divergence(second, first, epsilon))
    return worst


def test_call_with_its_error_stays_within_the_total_also_where_the_floor_is_false():
    common = {"num_rows": ROWS, "k": K, "epsilon0": EPSILON0, "delta": DELTA, "pass_rate_floor": FLOOR}
    epsilon, attempts = row_by_row_loss(n_lower=N_LOWER, **common)
    rates = [sum(c / sum(s) * PASSES[c] for c in s) for s in TABLES]
    assert min(rates) < FLOOR < max(rates)  # the declared floor is false for some of them
    assert worst_call(epsilon, attempts) <= DELTA
    # Planted: a budget of attempts so large that the test proves nothing about the floor.
    assert worst_call(epsilon, 1000) > DELTA


def test_false_floor_without_the_test_is_caught():
    """Planted: floor .5 declared, .02 true, rows charged at the declared one."""
    common = {"num_rows": 500, "k": 20, "epsilon0": 0.7, "delta": 1e-5, "n_lower": 2000}
    claimed = fixed_omega_loss(pass_rate_floor=0.5, **common)
    true = oracle.fixed_omega_epsilon(500, 20, 0.7, 1e-5, 0.02, 2000, "discrete_laplace", sizes=[19, 20])
    assert true > 1.5 * claimed


def test_bit_composed_with_rows_covers_the_call():
    step = pass_rate_step(K, EPSILON0, N_LOWER)
    attempts = plan_attempts(ROWS, FLOOR, step, DELTA)
    bit = PassRateTest(num_rows=ROWS, attempts=attempts, pass_rate_floor=FLOOR, step=step)
    rows = FixedOmegaRows(num_rows=ROWS, k=K, epsilon0=EPSILON0, pass_rate_floor=FLOOR, n_lower=N_LOWER)
    for epsilon in (0.2, 0.7, 1.5):
        assert worst_call(epsilon, attempts) <= compose_delta([bit, rows], epsilon)


def test_pass_rate_step_bounds_the_change_between_neighbours():
    step = pass_rate_step(K, EPSILON0, N_LOWER)
    rate = lambda sizes: sum(c / sum(sizes) * PASSES[c] for c in sizes)  # noqa: E731
    rates = [(rate(sizes), rate(more)) for sizes, _, more in neighbours()]
    largest = max(abs(one - other) for one, other in rates)
    assert 0.3 * step < largest <= step


def test_bit_profile_bounds_every_pass_rate():
    bit = PassRateTest(num_rows=200, attempts=500, pass_rate_floor=0.35, step=0.01)
    epsilon = np.array([0.0, 0.02, 0.1, 0.3, 0.6])
    claimed, _ = bit.profile(epsilon)
    exact = np.full(len(epsilon), bit.beta)
    for rate in np.linspace(0.35, 0.9, 1500):
        low, high = (float(x) for x in bit._success([rate, min(1.0, rate + 0.01)]))
        exact = np.maximum(exact, high - np.exp(epsilon) * low)
        exact = np.maximum(exact, (1 - low) - np.exp(epsilon) * (1 - high))
    assert np.all(exact <= claimed * (1 + 1e-9))
    assert np.all(claimed <= exact * 1.05 + 1e-3)
    assert np.all(np.diff(claimed) <= 0)
    # The slabs: within each, neither success nor its log ratio exceeds what is listed.
    slabs = bit.slabs(1e-4)
    for (low, top, ratio), above in zip(slabs, [*[q for q, _, _ in slabs[1:]], 0.99], strict=True):
        for rate in np.linspace(low, above, 5):
            one, two = (float(x) for x in bit._success([rate, min(1.0, rate + 0.01)]))
            assert two <= top * (1 + 1e-9)
            assert math.log(two / one) <= ratio + 1e-9


def test_plan_attempts_is_the_largest_budget():
    attempts = plan_attempts(ROWS, 0.3, 0.03, 0.1)
    assert success(attempts, 0.33) <= 0.1 < success(attempts + 1, 0.33)


@pytest.mark.parametrize(("k", "epsilon0", "limit"), [(50, 1.0, 7.7), (200, 0.1, 1.1)])
def test_figures_to_reach(k, epsilon0, limit):
    """10,000 rows of 735,000 seeds, delta 1e-6, floor .5 with its own cost."""
    common = {"num_rows": 10_000, "delta": 1e-6, "pass_rate_floor": 0.5, "n_lower": 735_000}
    for noise in ("laplace", "discrete_laplace"):
        epsilon, attempts = row_by_row_loss(k=k, epsilon0=epsilon0, noise=noise, **common)
        assert limit * 0.7 < epsilon <= limit
        assert 18_000 < attempts < 20_000
