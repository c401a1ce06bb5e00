"""Rows under the randomised test: exact enumeration with fractions, dense searches, and formulas that must be caught."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import oracles_accounting as oracle
import pytest

from sdv_plausible.privacy.accounting.bernoulli_pairs import BernoulliPairs, optimal_composition
from sdv_plausible.privacy.accounting.released_rows import (
    FixedOmegaRows,
    SeedTestRows,
    fixed_omega_loss,
    largest_mass_increase,
    max_rows,
    seed_test_loss,
)
from sdv_plausible.privacy.accounting.theorem1 import conditional_release, log_pass_probability, theorem1, theorem1_best

A = Fraction(1, 5)  # exp(-epsilon0): rational, so that everything below is exact
EPSILON0 = math.log(5)
FACTORS = [Fraction(x) for x in ("1", "11/10", "3/2", "2", "3", "5", "8", "20", "100")]
SLACK = 1e-9  # relative, for the float side of the comparison

# Likelihoods of 4 candidates under 3 kinds of record. The first is one fixed omega (disjoint groups); in the second records
# overlap at different probabilities, so that gamma matters.
PREFIXES = [[Fraction(1), 0, 0, 0], [0, Fraction(1, 2), Fraction(1, 2), 0], [0, 0, 0, Fraction(1)]]
OVERLAPPING = [
    [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4), 0],
    [Fraction(1, 4), Fraction(1, 2), 0, Fraction(1, 4)],
    [Fraction(1, 6), Fraction(1, 6), Fraction(1, 6), Fraction(1, 2)],
]


def released_pairs(likelihood, gamma, test, num_rows, sizes):
    """Every neighbour pair: table, added record, distributions of N released rows with and without it, and the pass rates."""
    for n in sizes:
        for table in oracle.multisets(len(likelihood), n):
            for extra in range(len(likelihood)):
                more = oracle.attempt((*table, extra), likelihood, gamma, test)
                less = oracle.attempt(table, likelihood, gamma, test)
                if sum(more) and sum(less):
                    rows = [{y: p / sum(w) for y, p in enumerate(w) if p} for w in (more, less)]
                    yield n, table, extra, *(oracle.sequences(r, num_rows) for r in rows), float(min(sum(more), sum(less)))


def excess(claim, more, less):
    """Largest amount by which the exact divergence exceeds a claimed profile, both directions."""
    epsilon = np.array([math.log(f) for f in FACTORS])
    remove, add = claim.profile(epsilon)
    worst = -1.0
    for factor, r, a in zip(FACTORS, remove, add, strict=True):
        worst = max(worst, float(oracle.hockey_stick(more, less, factor)) - r * (1 + SLACK))
        worst = max(worst, float(oracle.hockey_stick(less, more, factor)) - a * (1 + SLACK))
    return worst


def test_noise_tails_of_the_oracle_are_sums() -> None:
    mass = {z: (1 - A) / (1 + A) * A ** abs(z) for z in range(-60, 61)}
    for s in range(-5, 6):
        assert float(sum(p for z, p in mass.items() if z >= s)) == pytest.approx(float(oracle.geometric_tail(s, A)))


@pytest.mark.parametrize("noise", ["laplace", "discrete_laplace"])
def test_pass_probability_is_the_noise_tail_and_log_concave(noise: str) -> None:
    for k, epsilon0 in [(1, 2.0), (7, 0.5), (50, 0.1)]:
        c = np.arange(3 * k + 40)
        log_p = log_pass_probability(c, k, epsilon0, noise)  # type: ignore[arg-type]
        expected = [oracle.pass_probability(int(x), k, epsilon0, noise) for x in c]
        np.testing.assert_allclose(np.exp(log_p), expected, rtol=1e-12)
        assert np.all(np.diff(log_p, 2) <= 1e-12)
    assert np.isfinite(log_pass_probability(1, 10**6, 1.0, noise))  # type: ignore[arg-type]


def test_fixed_omega_rows_are_tosses_of_one_coin() -> None:
    """The enumerated divergence equals that of the two binomials, for every pair of neighbours."""
    checked = 0
    for _, table, extra, more, less, _ in released_pairs(PREFIXES, Fraction(2), oracle.randomised_test(3, A), 3, (3, 4, 5)):
        c = table.count(extra)
        if c == 0:
            continue
        group = {y for y, p in enumerate(PREFIXES[extra]) if p}
        share = [float(sum(p for y, p in d.items() if y[0] in group)) for d in (more, less)]
        if share[1] > 1 - 1e-12:
            continue
        assert share[0] == pytest.approx(oracle.fixed_omega_coin(c, share[1], 3, EPSILON0, "discrete_laplace"), rel=1e-9)
        for factor in FACTORS:
            exact = float(oracle.hockey_stick(more, less, factor))
            assert oracle.binomial_delta(3, share[0], share[1], math.log(factor)) == pytest.approx(exact, abs=1e-12)
            checked += 1
    assert checked > 300


@pytest.mark.parametrize("num_rows", [1, 3])
def test_fixed_omega_claim_covers_every_pair(num_rows: int) -> None:
    test = oracle.randomised_test(3, A)
    worst, tightest = -1.0, 0.0
    for n, _, _, more, less, floor in released_pairs(PREFIXES, Fraction(2), test, num_rows, (1, 2, 4, 5)):
        claim = FixedOmegaRows(num_rows=num_rows, k=3, epsilon0=EPSILON0, pass_rate_floor=floor, n_lower=n)
        worst = max(worst, excess(claim, more, less))
        exact = float(oracle.hockey_stick(more, less, Fraction(3, 2)))
        if exact > 0:
            tightest = max(tightest, exact / float(claim.profile(math.log(1.5))[0]))
    assert worst <= 0
    assert tightest > 0.9  # the claim is reached: it would catch a formula that is too small


@pytest.mark.parametrize(
    ("mutant", "likelihood"),
    [("deterministic", PREFIXES), ("deterministic", OVERLAPPING), ("narrow noise", PREFIXES), ("fewer rows", PREFIXES)],
)
def test_mutants_of_the_mechanism_break_the_claim(mutant: str, likelihood: list[list[Fraction]]) -> None:
    """Planted bugs: a sharp threshold, noise two thirds as wide, one row more than charged."""
    test = {"deterministic": oracle.deterministic_test(3), "narrow noise": oracle.randomised_test(3, A * A)}.get(
        mutant, oracle.randomised_test(3, A)
    )
    num_rows = 3 if mutant == "fewer rows" else 2
    worst = -1.0
    for n, _, _, more, less, floor in released_pairs(likelihood, Fraction(2), test, num_rows, (4, 5)):
        if likelihood is PREFIXES:
            claim = FixedOmegaRows(num_rows=2, k=3, epsilon0=EPSILON0, pass_rate_floor=floor, n_lower=n)
        else:
            claim = SeedTestRows(num_rows=2, k=3, gamma=2, epsilon0=EPSILON0, t=2, pass_rate_floor=floor, n_lower=n)
        worst = max(worst, excess(claim, more, less))
    assert worst > 1e-3


@pytest.mark.parametrize("t", [1, 2, 3])
@pytest.mark.parametrize("likelihood", [PREFIXES, OVERLAPPING])
def test_any_model_claim_covers_every_pair(likelihood: list[list[Fraction]], t: int) -> None:
    worst = -1.0
    for n, _, _, more, less, floor in released_pairs(likelihood, Fraction(2), oracle.randomised_test(3, A), 2, (2, 3, 4, 5)):
        claim = SeedTestRows(num_rows=2, k=3, gamma=2.0, epsilon0=EPSILON0, t=t, pass_rate_floor=floor, n_lower=n)
        worst = max(worst, excess(claim, more, less))
    assert worst <= 0


def mixture_attempt(table, test, weights, groups):
    """Omega drawn per candidate: outcome (omega, prefix group); groups[w] maps a record to its group."""
    out: oracle.Distribution = {}
    for w, (weight, group) in enumerate(zip(weights, groups, strict=True)):
        for seed in table:
            c = sum(1 for d in table if group[d] == group[seed])
            key = (w, group[seed])
            out[key] = out.get(key, Fraction(0)) + weight / len(table) * test(c)
    return out


def test_mixture_over_omega_is_covered_with_gamma_one_and_floor_by_construction() -> None:
    """Groups of four records under omega = m (all), a coarse and a fine prefix; omega is part of the output."""
    groups = [(0, 0, 0, 0), (0, 0, 1, 1), (0, 1, 2, 3)]
    weights = [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
    test = oracle.randomised_test(3, A)
    worst, without_small, pairs = -1.0, -1.0, 0
    for n in (3, 4):
        for table in oracle.multisets(4, n):
            for extra in range(4):
                more, less = (mixture_attempt(t, test, weights, groups) for t in ((*table, extra), table))
                floor = float(weights[0]) * oracle.pass_probability(n, 3, EPSILON0, "discrete_laplace")
                assert floor <= float(min(sum(more.values()), sum(less.values())))
                rows = [oracle.sequences({y: p / sum(w.values()) for y, p in w.items()}, 2) for w in (more, less)]
                for t in (1, 2):
                    claim = SeedTestRows(num_rows=2, k=3, gamma=1, epsilon0=EPSILON0, t=t, pass_rate_floor=floor, n_lower=n)
                    worst = max(worst, excess(claim, *rows))
                    pairs += 1
                tight = float(min(sum(more.values()), sum(less.values())))
                bare = _WithoutSmallPartitions(
                    num_rows=2, k=3, gamma=1, epsilon0=EPSILON0, t=2, pass_rate_floor=tight, n_lower=n
                )
                without_small = max(without_small, excess(bare, *rows))
    assert pairs > 300
    assert worst <= 0
    assert without_small > 1e-3  # planted: small partitions not charged


class _WithoutSmallPartitions(SeedTestRows):
    def _small(self) -> float:
        return 0.0


@pytest.mark.parametrize(("gamma", "t"), [(1.0, 3), (4.0, 5), (2.0, 1)])
def test_any_model_claim_is_the_theorem_recomputed(gamma: float, t: int) -> None:
    """Theorem 2 of the proof page term by term, where small partitions and the shift of epsilon are not small."""
    num_rows, k, epsilon0, n, floor = 20, 6, 0.8, 90, 0.7
    p = [oracle.pass_probability(c, k, epsilon0, "discrete_laplace") for c in range(200)]
    small = (1 + gamma * (t - 1)) * p[t] / (n * floor)
    ratio = (1 + gamma / t) * p[t + 1] / p[t]
    mass = max(p[c + 1] + gamma * c * (p[c + 1] - p[c]) for c in range(199))
    top = min(ratio - 1, mass / (n * floor * (1 - small)))
    kept = (1 - small) ** num_rows
    rows = SeedTestRows(num_rows=num_rows, k=k, gamma=gamma, epsilon0=epsilon0, t=t, pass_rate_floor=floor, n_lower=n)
    for epsilon in (0.5, 1.5, 3.0):
        shifted = max(0.0, epsilon + num_rows * math.log(1 - small))
        worst = [0.0, 0.0]
        for increase in np.linspace(top / 30, top, 30):
            a0 = increase / (ratio - 1) * (1 - 1e-12)
            a1 = ratio * a0 / (1 + increase)
            worst[0] = max(worst[0], oracle.binomial_delta(num_rows, a1, a0, shifted))
            worst[1] = max(worst[1], oracle.binomial_delta(num_rows, a0, a1, shifted))
        for found, delta in zip(rows.profile(epsilon), worst, strict=True):
            expected = 1 - kept + kept * delta
            assert expected * (1 - 1e-9) <= float(found) <= expected * 1.06 + (1 - kept) * delta
    delta = 1 - kept + 1e-3
    found = rows.epsilon(delta)
    assert float(max(rows.profile(found))) <= delta * 1.1
    assert found > -num_rows * math.log(1 - small)


def test_any_model_claim_needs_gamma() -> None:
    """Planted: the factor gamma forgotten in ratio and mass. One record's likelihood is gamma times the others'."""
    likelihood = [[Fraction(11, 1000), Fraction(989, 1000)], [Fraction(1, 10), Fraction(9, 10)]]
    gamma, test, table = Fraction(10), oracle.randomised_test(2, Fraction(1, 2)), (0,) * 4
    more, less = (oracle.attempt(t, likelihood, gamma, test) for t in ((*table, 1), table))
    rows = [oracle.sequences({y: p / sum(w) for y, p in enumerate(w)}, 2) for w in (more, less)]
    common = {
        "num_rows": 2, "k": 2, "epsilon0": math.log(2), "t": 4, "n_lower": 4,
        "pass_rate_floor": float(min(sum(more), sum(less))),
    }  # fmt: skip
    factors = [Fraction(x) for x in ("3/2", "2", "3")]

    def gap(gamma_claimed: float) -> float:
        claim = _WithoutSmallPartitions(gamma=gamma_claimed, **common)
        exact = np.array([float(oracle.hockey_stick(*rows, f)) for f in factors])
        return float(np.max(exact - claim.profile(np.log([float(f) for f in factors]))[0]))

    assert gap(10.0) <= 0
    assert gap(1.0) > 1e-6


def test_theorem1_unconditional_pair_must_not_be_composed_over_released_rows() -> None:
    """One row each: the table {x} against {x, z}. Theorem 1's delta is tiny, the released row gives z away half the time."""
    test = oracle.randomised_test(6, A)
    more, less = (oracle.attempt(t, PREFIXES, Fraction(2), test) for t in ((0, 1), (0,)))
    rows = [{y: p / sum(w) for y, p in enumerate(w) if p} for w in (more, less)]
    exact = float(oracle.hockey_stick(*rows, Fraction(10**6)))
    assert exact == pytest.approx(0.5)
    assert theorem1(6, 2.0, EPSILON0, 1).delta < 1e-3  # the wrong claim
    floor = float(min(sum(more), sum(less)))
    claim = conditional_release(6, 2.0, EPSILON0, 1, pass_rate_floor=floor, n_lower=1)
    assert claim.remove.delta >= exact - 1e-12


@pytest.mark.parametrize("likelihood", [PREFIXES, OVERLAPPING])
def test_theorem1_and_conditional_release_cover_every_pair(likelihood: list[list[Fraction]]) -> None:
    test = oracle.randomised_test(4, A)
    tightest = 0.0
    for n in (1, 2, 3, 5):
        for table in oracle.multisets(3, n):
            for extra, t in itertools.product(range(3), (1, 2, 3)):
                more, less = (
                    dict(enumerate(oracle.attempt(x, likelihood, Fraction(2), test))) for x in ((*table, extra), table)
                )
                epsilon, delta = theorem1(4, 2.0, EPSILON0, t, n_lower=n)
                factor = Fraction(math.exp(epsilon))
                removed = float(oracle.hockey_stick(more, less, factor))
                assert removed <= delta * (1 + SLACK)
                assert float(oracle.hockey_stick(less, more, factor)) <= delta * (1 + SLACK)
                tightest = max(tightest, removed / delta)
                floors = sum(more.values()), sum(less.values())
                claim = conditional_release(4, 2.0, EPSILON0, t, pass_rate_floor=float(min(floors)), n_lower=n)
                rows = [{y: p / q for y, p in w.items()} for w, q in zip((more, less), floors, strict=True)]
                for pair, direction in ((rows, claim.remove), (rows[::-1], claim.add)):
                    found = float(oracle.hockey_stick(*pair, Fraction(math.exp(direction.epsilon))))
                    assert found <= direction.delta * (1 + SLACK) + 1e-12
    # Where the new row's group is new (c = 0, t = 1) the sharper delta is reached, so a smaller one would be caught.
    assert tightest > 0.9 if likelihood is PREFIXES else tightest > 0.1


def test_visible_rejection_adds_what_theorem1_does_not_cover() -> None:
    """100 equal rows and an outlier: Pr[reject] jumps by 1/(n+1), far above Theorem 1's delta (privacy.md, section 4)."""
    a = Fraction(math.exp(-2.0))
    test = oracle.randomised_test(7, a)
    less = 1 - sum(oracle.attempt((0,) * 100, PREFIXES, Fraction(2), test))
    more = 1 - sum(oracle.attempt((*((0,) * 100), 1), PREFIXES, Fraction(2), test))
    assert float(less) < 1e-80
    assert float(more) == pytest.approx(1 / 101, rel=1e-4)
    assert theorem1(7, 2.0, 2.0, 3).delta == pytest.approx(math.exp(-8.0))
    assert float(more - less) > 20 * theorem1(7, 2.0, 2.0, 3).delta


def test_theorem1_best_takes_the_largest_t() -> None:
    choice = theorem1_best(50, 4.0, 1.0, 1e-6)
    assert choice.t == 36
    assert choice[:2] == tuple(theorem1(50, 4.0, 1.0, 36))
    assert theorem1(50, 4.0, 1.0, 37).delta > 1e-6
    assert theorem1_best(50, 4.0, 1.0, 1e-6, n_lower=735_000).t > 45  # the new row must also be the seed
    with pytest.raises(ValueError, match="out of reach of k = 5"):
        theorem1_best(5, 4.0, 1.0, 1e-6)
    with pytest.raises(ValueError, match=r"k \(3\) must exceed t \(5\)"):
        theorem1(3, 4.0, 1.0, 5)


@pytest.mark.parametrize("seed", range(4))
def test_binomial_pairs_agree_with_sums_over_every_count(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(40):
        n = int(rng.integers(1, 300))
        a0 = float(rng.uniform(1e-4, 0.85)) ** float(rng.uniform(1, 3))
        a1 = min(0.9, a0 * math.exp(float(rng.uniform(0.01, 1.0))))
        pair = BernoulliPairs(log_high=np.array([math.log(a1 / a0)]), log_low=np.array([math.log((1 - a1) / (1 - a0))]))
        delta = 10.0 ** -float(rng.uniform(1, 10))
        expected = oracle.binomial_epsilon(n, a1, a0, delta)
        assert float(pair.epsilon(n, delta)[0]) == pytest.approx(expected, abs=1e-6, rel=1e-6)
        grid = np.linspace(0, 2 * expected + 0.5, 9)
        up, down = pair.profile(n, grid)
        np.testing.assert_allclose(up, [oracle.binomial_delta(n, a1, a0, e) for e in grid], rtol=1e-6, atol=1e-13)
        np.testing.assert_allclose(down, [oracle.binomial_delta(n, a0, a1, e) for e in grid], rtol=1e-6, atol=1e-13)


def test_domination_of_coins_is_by_the_range_of_likelihood_ratios() -> None:
    """Lemma 2 of the proof page: a wider range is worse at every epsilon, and only the frontier is kept."""
    rng = np.random.default_rng(0)
    high, low = rng.uniform(0.1, 1.5, 60), -rng.uniform(0.1, 1.5, 60)
    pairs = BernoulliPairs(log_high=high, log_low=low)
    kept = pairs.undominated()
    assert 0 < len(kept) < 60
    grid = np.linspace(0, 4, 30)
    for mine, every in zip(kept.profile(7, grid), pairs.profile(7, grid), strict=True):
        np.testing.assert_array_equal(mine, every)


BRUTE = [
    (150, 14, 0.9, 1e-4, 0.4, 200, "discrete_laplace"),
    (150, 14, 0.9, 1e-4, 0.4, 200, "laplace"),
    (50, 5, 2.0, 1e-2, 1.0, 20, "discrete_laplace"),
    (200, 20, 0.7, 1e-5, 0.3, 900, "laplace"),
]


@pytest.mark.parametrize("case", BRUTE)
def test_fixed_omega_loss_is_the_worst_over_all_sizes_and_rates(case: tuple) -> None:
    num_rows, k, epsilon0, delta, floor, n, noise = case
    brute = oracle.fixed_omega_epsilon(*case, sizes=range(1, 2 * k + 5))
    found = fixed_omega_loss(
        num_rows=num_rows, k=k, epsilon0=epsilon0, delta=delta, pass_rate_floor=floor, n_lower=n, noise=noise
    )
    assert brute * (1 - 1e-6) <= found <= brute * 1.012 + 1e-6
    # Planted: a grid over group sizes that steps over the worst one understates, and would be caught by the line above.
    stepped = oracle.fixed_omega_epsilon(*case, sizes=range(k % 4 + 1, 2 * k, 4))
    assert stepped < brute * (1 - 1e-3)


def test_loss_is_not_monotone_in_the_pass_rate() -> None:
    """With many rows the worst share is inside the admissible range: taking its end alone would understate."""
    k, epsilon0, n, rows, delta = 5, 1.0, 40, 300, 1e-3
    top = min(1 - 1e-9, 4 * oracle.pass_probability(4, k, epsilon0, "discrete_laplace") / (n * 0.02))
    at_end = oracle.binomial_epsilon(rows, oracle.fixed_omega_coin(4, top, k, epsilon0, "discrete_laplace"), top, delta)
    inside = max(
        oracle.binomial_epsilon(rows, oracle.fixed_omega_coin(4, a, k, epsilon0, "discrete_laplace"), a, delta)
        for a in np.linspace(top / 20, top, 20)
    )
    assert inside > 1.05 * at_end
    rows_loss = FixedOmegaRows(num_rows=rows, k=k, epsilon0=epsilon0, pass_rate_floor=0.02, n_lower=n)
    assert rows_loss._worst_pairs(1 / 400).epsilon(rows, delta).max() >= inside


def test_empty_group_is_charged() -> None:
    rows = FixedOmegaRows(num_rows=1000, k=3, epsilon0=0.5, pass_rate_floor=0.5, n_lower=100)
    alone = 1 - (1 - oracle.pass_probability(1, 3, 0.5, "discrete_laplace") / (101 * 0.5)) ** 1000
    assert rows.epsilon(alone * 0.99) == math.inf
    assert rows.epsilon(alone * 1.01) < math.inf
    assert float(rows.profile(50.0)[0]) == pytest.approx(alone)


TABLE = [  # privacy.md, section 4: n, k, epsilon0, rows; Laplace at floors 1, .9, .5; discrete Laplace
    (735_000, 50, 1.0, 10_000, (4.97, 5.50, 6.62), (5.78, 6.11, 7.50)),
    (735_000, 200, 0.1, 10_000, (0.75, 0.78, 0.98), (0.77, 0.79, 1.00)),
    (16_000, 100, 0.3, 1_000, (3.36, 3.47, 4.51), (3.57, 3.72, 4.83)),
]


@pytest.mark.parametrize("row", TABLE)
def test_design_table_is_reproduced(row: tuple) -> None:
    n, k, epsilon0, num_rows, *columns = row
    for noise, values in zip(("laplace", "discrete_laplace"), columns, strict=True):
        for floor, value in zip((1.0, 0.9, 0.5), values, strict=True):
            found = fixed_omega_loss(
                num_rows=num_rows, k=k, epsilon0=epsilon0, delta=1e-6, pass_rate_floor=floor, n_lower=n, noise=noise
            )
            assert found == pytest.approx(value, abs=0.011)


def test_any_model_is_a_thousand_times_below_theorem1_added_up() -> None:
    added = 10_000 * theorem1_best(50, 4.0, 1.0, 1e-10).epsilon
    found = seed_test_loss(num_rows=10_000, k=50, gamma=4.0, epsilon0=1.0, delta=1e-6, pass_rate_floor=0.5, n_lower=735_000)
    assert added > 10_000
    assert found.epsilon < 15
    mixture = seed_test_loss(num_rows=10_000, k=50, gamma=1.0, epsilon0=1.0, delta=1e-6, pass_rate_floor=0.5, n_lower=735_000)
    one_omega = fixed_omega_loss(num_rows=10_000, k=50, epsilon0=1.0, delta=1e-6, pass_rate_floor=0.5, n_lower=735_000)
    assert one_omega <= mixture.epsilon <= 1.02 * one_omega


@pytest.mark.parametrize("noise", ["laplace", "discrete_laplace"])
@pytest.mark.parametrize("gamma", [1.0, 4.0])
def test_largest_mass_increase_is_the_maximum_over_all_sizes(noise: str, gamma: float) -> None:
    for k, epsilon0 in [(1, 3.0), (5, 0.05), (50, 1.0), (200, 0.1)]:
        p = np.array([oracle.pass_probability(c, k, epsilon0, noise) for c in range(6 * k + 800)])
        steps = p[1:] + gamma * np.arange(len(p) - 1) * np.diff(p)
        found = largest_mass_increase(k, epsilon0, gamma, noise)  # type: ignore[arg-type]
        assert max(1.0, steps.max()) <= found * (1 + 1e-12) <= max(1.0, steps.max()) * 1.02


def test_optimal_composition_is_that_of_randomised_response() -> None:
    atoms = oracle.compose_atoms([oracle.randomised_response(0.7)] * 6)
    for total in (1e-2, 1e-3):
        epsilon = optimal_composition(0.7, 0.0, 6, total)
        assert oracle.atoms_delta(atoms, epsilon) == pytest.approx(total, rel=1e-6)
    assert optimal_composition(0.7, 1e-3, 6, 5e-3) == math.inf
    assert optimal_composition(0.0, 1e-3, 6, 1e-2) == 0.0
    assert optimal_composition(0.7, 1e-4, 6, 1e-2) > optimal_composition(0.7, 0.0, 6, 1e-2)


def test_max_rows_inverts_the_loss() -> None:
    def loss(rows: int) -> float:
        return fixed_omega_loss(num_rows=rows, k=50, epsilon0=1.0, delta=1e-6, pass_rate_floor=0.5, n_lower=735_000)

    most = max_rows(epsilon=7.6, delta=1e-6, loss=loss)
    assert loss(most) <= 7.6 < loss(most + 1)
    assert max_rows(epsilon=1e-6, delta=1e-6, loss=lambda rows: rows * 1.0) == 0


def test_errors_name_parameter_value_and_way_out() -> None:
    good = {"num_rows": 10, "k": 5, "epsilon0": 1.0, "delta": 1e-6, "pass_rate_floor": 0.5, "n_lower": 100}
    for name, value in [
        ("num_rows", 0),
        ("k", 0),
        ("epsilon0", -1.0),
        ("delta", 1.0),
        ("pass_rate_floor", 1.5),
        ("n_lower", 0),
    ]:
        with pytest.raises(ValueError, match=rf"{name} \({value}\) must"):
            fixed_omega_loss(**{**good, name: value})
    with pytest.raises(ValueError, match="noise"):
        fixed_omega_loss(**good, noise="gaussian")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="raise epsilon0"):
        fixed_omega_loss(**{**good, "epsilon0": 1e-9})
