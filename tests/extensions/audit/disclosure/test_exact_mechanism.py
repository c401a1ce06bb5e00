"""The assembled Mechanism 1 and the release-level test on small universes: exact distributions against what is claimed.

Every divergence here is an exact fraction (``sdv_plausible.extensions.audit.disclosure.exact``, which knows nothing of the accountant), in both
directions of adding and removing a row. The planted bugs at the end are mechanisms that look alike and break the claim.
"""

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import partial

import miss_rates
import numpy as np
import pytest
from cases import fast_and_nightly
from doors import release_seeds
from networks import network_likelihood
from oracles_accounting import hockey_stick
from scipy import stats
from theory.conditional_release import conditional_release
from theory.fixed_omega import FixedOmegaRows
from theory.release_test_loss import release_test_loss

from sdv_plausible.extensions.audit.disclosure import exact
from sdv_plausible.mechanism.drawing.mechanism import PlausibleDeniabilityMechanism
from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.mechanism.privacy_tests.release_level import ReleaseTest
from sdv_plausible.mechanism.privacy_tests.row_tests import DeterministicTest, RandomizedTest
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.models.conditional_table import ConditionalTable
from sdv_plausible.privacy.accounting.loss_distribution import Composer, SortedLosses
from sdv_plausible.privacy.accounting.paper_theorems import floor_by_construction, theorem1
from sdv_plausible.privacy.accounting.released_rows import ReleasedRows
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.queryable import SeedRecords
from tests.flat import bound, rebound, settings_of

A = Fraction(1, 2)  # exp(-epsilon0), rational
EPSILON0 = math.log(2)
GAMMA = Fraction(2)
FACTORS = [Fraction(x) for x in ("1", "5/4", "3/2", "2", "3", "5", "8", "20", "100")]
EPSILONS = np.array([math.log(f) for f in FACTORS])
SLACK = 1e-9  # the accountant's side is floating point
ALARM = 1e-7  # p-value at which a statistical check rejects
MISSED = 1e-6  # most that a control may be missed

GROUPS = [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]]  # M(d) = d: the candidate is the seed
OVERLAPPING = [
    [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4), Fraction(0)],
    [Fraction(1, 4), Fraction(1, 2), Fraction(0), Fraction(1, 4)],
    [Fraction(1, 8), Fraction(1, 8), Fraction(1, 4), Fraction(1, 2)],
]


def network() -> BayesianNetwork:
    """Two columns with dyadic tables, so that fractions and doubles are the same numbers."""
    first = ConditionalTable(child=1, parents=(), buckets=(), probabilities=np.array([[0.75, 0.25]]))
    given_it = np.array([[0.5, 0.25, 0.25], [0.125, 0.125, 0.75]])
    second = ConditionalTable(child=0, parents=(1,), buckets=(np.arange(2),), probabilities=given_it)
    return BayesianNetwork([first, second])


def neighbours(kinds: int, sizes: range):
    """Every table of the given sizes, and every row that can be added to it."""
    for n in sizes:
        for table in itertools.combinations_with_replacement(range(kinds), n):
            for extra in range(kinds):
                yield n, table, (*table, extra)


def released(tables, likelihood, test, gamma=GAMMA, num_rows: int = 1):
    """What is released of each of two tables, and the lower of their pass rates."""
    attempts = [exact.attempt(t, likelihood, test, gamma) for t in tables]
    floor = float(min(map(sum, attempts)))
    return *(exact.rows_given_release(w, num_rows) if floor else {} for w in attempts), floor


def excess(claim, more, less) -> float:
    """Largest amount by which the exact divergence exceeds a claimed profile (removing, adding)."""
    removed = (
        float(hockey_stick(more, less, f)) - r * (1 + SLACK) for f, r in zip(FACTORS, claim[0], strict=True)
    )
    added = (
        float(hockey_stick(less, more, f)) - a * (1 + SLACK) for f, a in zip(FACTORS, claim[1], strict=True)
    )
    return max(*removed, *added)


@pytest.mark.parametrize(
    ("likelihood", "gamma"), [(GROUPS, GAMMA), (OVERLAPPING, GAMMA), (OVERLAPPING, Fraction(5))]
)
def test_theorem_1_covers_every_pair(likelihood, gamma) -> None:
    """One attempt, events among rows."""
    k, checked = 3, 0
    for n, *tables in neighbours(len(likelihood), range(1, 6)):
        attempts = (exact.attempt(t, likelihood, exact.randomized_pass(k, A), gamma) for t in tables)
        less, more = (dict(enumerate(one)) for one in attempts)
        for t, floor in itertools.product((1, 2), ({}, {"n_lower": n})):
            claim = theorem1(k, float(gamma), EPSILON0, t, **floor)
            factor = Fraction(math.exp(claim.epsilon) * (1 + SLACK))
            divergence = max(hockey_stick(more, less, factor), hockey_stick(less, more, factor))
            assert float(divergence) <= claim.delta * (1 + SLACK)
            checked += 1
    assert checked > 100


def test_at_gamma_1_only_equal_likelihoods_are_plausible() -> None:
    """The test allows gamma 1: its enumeration must end, and join nothing else."""
    half, third = [Fraction(1, 2)] * 2, [Fraction(1, 3), Fraction(2, 3)]
    likelihood, table = [half, half, third], (0, 1, 1, 2)
    assert exact.plausible_seeds(0, 0, table, likelihood, Fraction(1)) == 3
    assert exact.plausible_seeds(0, 2, table, likelihood, Fraction(1)) == 1
    assert sum(exact.attempt(table, likelihood, exact.deterministic_pass(2), Fraction(1))) == Fraction(3, 4)


def test_conditional_release_covers_one_released_row() -> None:
    for n, *tables in neighbours(len(OVERLAPPING), range(1, 6)):
        less, more, floor = released(tables, OVERLAPPING, exact.randomized_pass(3, A))
        for t in (1, 2):
            claim = conditional_release(3, float(GAMMA), EPSILON0, t, pass_rate_floor=floor, n_lower=n)
            remove, add = (Fraction(math.exp(x.epsilon) * (1 + SLACK)) for x in (claim.remove, claim.add))
            assert float(hockey_stick(more, less, remove)) <= claim.remove.delta * (1 + SLACK)
            assert float(hockey_stick(less, more, add)) <= claim.add.delta + SLACK


@pytest.mark.parametrize("num_rows", fast_and_nightly([1, 2], [3]))
def test_rows_of_a_fixed_omega_stay_within_the_claim(num_rows: int) -> None:
    """A network that keeps its first column: two prefix groups. The claim must also be reached somewhere, to 80 %."""
    best = 0.0
    _, likelihood = network_likelihood(network(), [(1, Fraction(1))])
    for n, *tables in neighbours(2, range(1, 7)):  # records 0 and 1 differ in the column that is kept
        less, more, floor = released(tables, likelihood, exact.randomized_pass(3, A), num_rows=num_rows)
        rows = FixedOmegaRows(num_rows=num_rows, k=3, epsilon0=EPSILON0, pass_rate_floor=floor, n_lower=n)
        claim = rows.profile(EPSILONS)
        assert excess(claim, more, less) <= 0
        spent = zip(FACTORS, claim[0], strict=True)
        best = max(best, *(float(hockey_stick(more, less, f)) / r for f, r in spent if r > 1e-6))
    assert best > 0.8


@pytest.mark.parametrize(
    ("num_rows", "sizes"), fast_and_nightly([(2, range(4, 7))], [(1, range(3, 9)), (3, range(6, 7))])
)
def test_the_entry_of_the_ledger_covers_the_mixture_with_seed_free_proposals(
    num_rows: int, sizes: range
) -> None:
    """What a fit charges for rows: omega 1, half of the proposals seed-free, which is what bounds the pass rate."""
    share, checked = Fraction(1, 2), 0
    settings = settings_of(
        epsilon=1.0, delta=0.95, k=2, gamma=2.0, epsilon0=EPSILON0, omega=1, test="randomized", row_cap=num_rows,
        seed_free_share=float(share),
    )  # fmt: skip
    _, likelihood = network_likelihood(network(), [(1, 1 - share), (2, share)])
    for n, *tables in neighbours(2, sizes):
        (loss,) = rebound(settings.test, least_rows=n).charge(1.0)[-1].losses
        less, more, floor = released(tables, likelihood, exact.randomized_pass(2, A), num_rows=num_rows)
        assert floor >= floor_by_construction(float(share), 2, EPSILON0, n) * (1 - SLACK)
        total = Composer(SortedLosses.of([loss])).distribution(0.0)
        composed = np.array([total.delta(float(epsilon)) for epsilon in EPSILONS])
        assert excess((composed, composed), more, less) <= 0
        checked += 1
    assert checked >= 14


def test_rows_of_any_model_stay_within_the_claim() -> None:
    """Overlapping likelihoods, where gamma matters; the same claim with gamma = 1 would be wrong."""
    for n, *tables in neighbours(len(OVERLAPPING), range(2, 6)):
        less, more, floor = released(tables, OVERLAPPING, exact.randomized_pass(3, A), Fraction(5), 2)
        common = {"num_rows": 2, "k": 3, "epsilon0": EPSILON0, "t": 1, "pass_rate_floor": floor, "n_lower": n}
        assert excess(ReleasedRows(gamma=5.0, **common).profile(EPSILONS), more, less) <= 0
    # One record of another kind is 50 times likelier to make candidate 0: with known equal likelihoods (gamma = 1) the
    # new row could at most double a partition, here it is worth 50.
    unequal = [[Fraction(1, 50), Fraction(49, 50)], [Fraction(1), Fraction(0)]]
    tables = [(0,) * 6, (0,) * 6 + (1,)]
    less, more, floor = released(tables, unequal, exact.randomized_pass(1, A), Fraction(100))
    common = {"num_rows": 1, "k": 1, "epsilon0": EPSILON0, "pass_rate_floor": floor, "n_lower": 6}
    assert excess(ReleasedRows(gamma=100.0, t=1, **common).profile(EPSILONS), more, less) <= 0
    assert excess(FixedOmegaRows(**common).profile(EPSILONS), more, less) > 0


SEEDS = np.array([0] * 4 + [1] * 2 + [3] + [4] * 3)  # record numbers
SHARE = Fraction(1, 4)
ROWS = 40_000


def released_counts(test: RandomizedTest | DeterministicTest) -> np.ndarray:
    """How often the real mechanism releases every record."""
    model = network()
    records, _ = network_likelihood(model, [])
    model.attach_seeds(SeedRecords(records[SEEDS]))
    mechanism = PlausibleDeniabilityMechanism(
        model=model, num_seeds=len(SEEDS), test=test, omega=Omega.parse((0, 1)), seed_free_share=float(SHARE)
    )
    rows = mechanism.release(ROWS, KeyedRNG.from_os_entropy())
    return np.bincount(rows[:, 0] * 2 + rows[:, 1], minlength=len(records))


def exact_shares(test: exact.PassProbability) -> np.ndarray:
    """The exact distribution of one released row."""
    _, likelihood = network_likelihood(network(), [(0, (1 - SHARE) / 2), (1, (1 - SHARE) / 2), (2, SHARE)])
    attempt = np.array([float(p) for p in exact.attempt(list(SEEDS), likelihood, test, GAMMA)])
    return attempt.reshape(3, -1).sum(axis=0) / attempt.sum()


def test_the_real_mechanism_draws_from_the_exact_distribution() -> None:
    """False alarm: 2 ALARM. Controls: a threshold one off, noise of another scale, and none, are seen."""

    def accepts(expected: exact.PassProbability, test: RandomizedTest | DeterministicTest) -> bool:
        found, share = released_counts(test), exact_shares(expected)
        assert not found[share == 0].any()
        return bool(stats.chisquare(found[share > 0], ROWS * share[share > 0]).pvalue > ALARM)

    randomized, deterministic = exact.randomized_pass(3, A), exact.deterministic_pass(3)
    assert accepts(randomized, RandomizedTest(k=3, gamma=2.0, epsilon0=EPSILON0))
    assert accepts(deterministic, DeterministicTest(k=3, gamma=2.0))
    for planted, real in [
        (RandomizedTest(k=4, gamma=2.0, epsilon0=EPSILON0), exact.randomized_pass(4, A)),
        (RandomizedTest(k=3, gamma=2.0, epsilon0=2 * EPSILON0), exact.randomized_pass(3, A**2)),
        (DeterministicTest(k=3, gamma=2.0), deterministic),
    ]:
        assert not accepts(randomized, planted)
        assert miss_rates.chi_square(ROWS, exact_shares(randomized), exact_shares(real), ALARM) < MISSED


def prefix_p_value(test: ReleaseTest, margin: int, runs: int = 2000) -> float:
    """Chi-square p-value of what the real release test shows against the exact distribution."""
    model, rng = network(), KeyedRNG.from_os_entropy()
    seeds = np.array([[0, 0]] * 6 + [[2, 1]] * 4, dtype=np.int32)
    top, found = 12, Counter()
    for _ in range(runs):
        (shown,) = release_seeds(model, seeds, 1, test, rng).parts
        sizes = zip(shown.prefixes, shown.sizes, strict=True)
        found[tuple((int(p[0]), min(int(s), top)) for p, s in sizes)] += 1
    expected = exact.released_groups({0: 6, 1: 4}, test.k, margin, A, top)
    assert set(found) <= set(expected)
    frequent = [y for y, p in expected.items() if runs * p >= 5]
    counts, masses = [found[y] for y in frequent], [float(runs * expected[y]) for y in frequent]
    rest = runs - sum(counts) + 1e-9, runs - sum(masses) + 1e-9
    return float(stats.chisquare([*counts, rest[0]], [*masses, rest[1]]).pvalue)


def test_the_real_release_test_draws_from_the_exact_distribution() -> None:
    """False alarm: ALARM. Control: of a margin one larger, the sizes of the smaller one never come, which is seen.

    It would be missed if none of 200 runs showed k + margin, the size that comes in at least one of six: below 1e-15.
    """
    test = bound(ReleaseTest, k=3, epsilon0=EPSILON0, delta=0.3)
    assert test.margin == release_test_loss(k=3, epsilon0=EPSILON0, delta=0.3).s
    assert prefix_p_value(test, test.margin) > ALARM
    with pytest.raises(AssertionError):
        prefix_p_value(test, test.margin + 1, 200)


@pytest.mark.parametrize(("k", "delta"), [(1, 0.3), (2, 0.3), (3, 0.2)])
def test_the_release_test_loses_exactly_what_is_claimed(k: int, delta: float) -> None:
    """At epsilon0, over all pairs of three groups with up to five rows."""
    test, loss = (
        made(k=k, epsilon0=EPSILON0, delta=delta) for made in (partial(bound, ReleaseTest), release_test_loss)
    )

    def worst(margin: int) -> float:
        found, factor, top = [], 1 / A, 7
        for _, *tables in neighbours(3, range(6)):
            less, more = (
                exact.released_groups({g: t.count(g) for g in range(3)}, k, margin, A, top) for t in tables
            )
            found += [hockey_stick(more, less, factor), hockey_stick(less, more, factor)]
        return float(max(found))

    assert worst(test.margin) == pytest.approx(loss.delta, rel=1e-9)
    assert loss.delta <= delta
    assert worst(test.margin - 1) > delta  # planted bug: a margin one too small


def test_a_sharp_threshold_breaks_the_claim() -> None:
    """Noise left out: the claim of the randomised test is contradicted for events among rows, in both directions."""
    k, seen, never = 3, set(), np.ones(len(FACTORS))
    for n, *tables in neighbours(2, range(3, 7)):
        less, more, floor = released(tables, GROUPS, exact.deterministic_pass(k))
        if not floor:
            continue
        rows = FixedOmegaRows(num_rows=1, k=k, epsilon0=EPSILON0, pass_rate_floor=floor, n_lower=n)
        remove, add = rows.profile(EPSILONS)
        seen |= {"remove"} if excess((remove, never), more, less) > 0.01 else set()
        seen |= {"add"} if excess((never, add), more, less) > 0.01 else set()
    assert seen == {"remove", "add"}


def rows_with_one_threshold(table, k: int, num_rows: int, reach: int) -> dict:
    """N rows when one noise is drawn for all candidates: a mistake.

    Thresholds that nothing passes are drawn again. Noise below ``-reach`` counts as ``-reach``, where everything passes.
    """
    mixture, whole = Counter(), Fraction(0)
    for z in range(-reach, max(len(table) - k, 0) + 1):
        weight = exact.discrete_laplace_tail(reach, A) if z == -reach else exact.discrete_laplace_mass(z, A)
        passing = exact.attempt(table, GROUPS, exact.deterministic_pass(k + z), GAMMA)
        if sum(passing):
            whole += weight
            for rows, p in exact.rows_given_release(passing, num_rows).items():
                mixture[rows] += weight * p
    return {rows: p / whole for rows, p in mixture.items()}


def test_one_noise_for_all_candidates_breaks_the_claim() -> None:
    k, num_rows, worst, reused = 4, 3, [], []
    for n, *tables in neighbours(2, range(7, 8)):
        less, more, floor = released(tables, GROUPS, exact.randomized_pass(k, A), num_rows=num_rows)
        rows = FixedOmegaRows(num_rows=num_rows, k=k, epsilon0=EPSILON0, pass_rate_floor=floor, n_lower=n)
        worst.append(excess(rows.profile(EPSILONS), more, less))
        less, more = (rows_with_one_threshold(t, k, num_rows, 8) for t in tables)
        reused.append(excess(rows.profile(EPSILONS), more, less))
    assert max(worst) <= 0
    assert max(reused) > 0.1


def test_a_visible_rejection_breaks_the_claim() -> None:
    """100 equal records, M(d) = d, one outlier added: the outlier is rejected, and that it is rejected shows."""
    k, t, a = 7, 3, Fraction(math.exp(-2.0))
    equal, outlier = (0,) * 100, (0,) * 100 + (1,)
    claim = theorem1(k, 2.0, 2.0, t)
    factor = Fraction(math.exp(claim.epsilon))
    attempts = [exact.attempt(rows, GROUPS, exact.randomized_pass(k, a), GAMMA) for rows in (equal, outlier)]
    less, more = (exact.with_rejection(w) for w in attempts)
    assert float(less["rejected"]) < 1e-80
    assert float(more["rejected"]) == pytest.approx(1 / 101, rel=1e-3)
    assert float(hockey_stick(more, less, factor)) > 20 * claim.delta
    # Hidden, as the mechanism does it, the pair stays far within the claim of a released row.
    hidden = [exact.rows_given_release(w, 3) for w in attempts]
    rows = FixedOmegaRows(num_rows=3, k=k, epsilon0=2.0, pass_rate_floor=0.9, n_lower=100)
    assert excess(rows.profile(EPSILONS), hidden[1], hidden[0]) <= 0
