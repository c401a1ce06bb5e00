"""The paper's two privacy tests: who passes, what is charged, and the size check."""

import contextlib
import inspect
import math
import re
from types import SimpleNamespace

import guarded
import numpy as np
import pytest
from doors import door
from release_cases import SEEDS, network
from scipy.stats import binom

from sdv_plausible import PlausibleDeniabilitySynthesizer
from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.mechanism.privacy_tests import row_tests
from sdv_plausible.mechanism.privacy_tests.row_tests import SIZE_EPSILON, DeterministicTest, RandomizedTest
from sdv_plausible.privacy.accounting import released_rows
from sdv_plausible.privacy.accounting.losses import DiscreteLaplaceLoss, InfiniteLoss
from sdv_plausible.privacy.accounting.paper_theorems import floor_by_construction, theorem1_best
from sdv_plausible.privacy.accounting.released_rows import checked_rows_loss, rows_loss
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.queries.budget_tracker import QueryBudget
from sdv_plausible.queries.count_queries import CodeArray
from sdv_plausible.queries.queryable import Queryable
from tests.flat import bound, rebound


def test_the_randomised_test_passes_with_the_probability_of_its_noise():
    """Pr[z >= 0] = 1/(1+a) at k, a^2/(1+a) two below; 20,000 draws, false alarm 1e-6. Control: one threshold."""
    test, a = RandomizedTest(k=20, gamma=4.0, epsilon0=0.7), np.exp(-0.7)
    for size, p in ((20, 1 / (1 + a)), (18, a**2 / (1 + a)), (23, 1 - a**4 / (1 + a))):
        passed = int(test.passes(np.full(20_000, size), KeyedRNG.from_seed(size)).sum())
        low, high = binom.ppf([2e-7, 1 - 2e-7], 20_000, p)
        assert low <= passed <= high
        one_threshold = 20_000 * int(test.passes(np.array([size]), KeyedRNG.from_seed(size))[0])
        assert not low <= one_threshold <= high


def test_the_threshold_has_the_noise_that_is_charged():
    with record_calls() as calls:
        RandomizedTest(k=20, gamma=4.0, epsilon0=0.7).passes(np.arange(5), KeyedRNG.from_os_entropy())
    (call,) = calls
    assert (call.name, call.sensitivity, call.budget, call.shape) == ("discrete_laplace", 1.0, 0.7, (5,))
    assert call.source == "keyed stream"  # so that SDV's reset_sampling repeats the rows


@pytest.mark.parametrize("law", ["discrete_laplace", "laplace"])
@pytest.mark.parametrize("neighbours", guarded.UNITS.values(), ids=guarded.UNITS)
def test_the_threshold_is_that_of_all_rows_of_a_unit(neighbours, law):
    """Its centre is the least count that is surely of k units; with almost no noise who passes is sure but there."""
    test = bound(RandomizedTest, k=20, gamma=4.0, epsilon0=1000.0, neighbours=neighbours, threshold_noise=law)
    centre = 19 * neighbours.rows + 1
    counts = {20 - 2: False, centre - 1: False, centre + 1: True}
    if law == "discrete_laplace":
        counts[centre] = True
    with record_calls() as calls:
        passed = test.passes(np.array(list(counts)), KeyedRNG.from_os_entropy())
    assert passed.tolist() == list(counts.values())
    (call,) = calls
    assert call.sensitivity == neighbours.rows
    assert call.scale == pytest.approx(neighbours.rows / 1000)


SEEN = {"k": 50, "gamma": 4.0, "epsilon0": 1.0, "delta": 1e-6, "row_cap": 100, "seed_free_share": 0.4}
TEST = bound(RandomizedTest, least_rows=900, **SEEN)


def test_the_rows_are_charged_at_the_declared_number_of_seeds():
    """By the theorem for released rows, with the floor that holds by construction; the deltas add up to the test's."""
    for gamma in (1.0, 4.0):
        size, rows = TEST.charge(gamma)
        (checked, failed), (charged,) = size.losses, rows.losses
        wanted, _ = rows_loss(
            num_rows=100, k=50, gamma=gamma, epsilon0=1.0, delta=1e-6 - failed.delta, n_lower=900,
            pass_rate_floor=floor_by_construction(0.4, 50, 1.0, 900),
            seed_free_share=0.4 if gamma == 1 else 0.0,  # of prefix groups alone it is known to reveal nothing
        )  # fmt: skip
        assert charged == wanted
        assert checked == DiscreteLaplaceLoss(epsilon=SIZE_EPSILON)
        assert {entry.parts for entry in (size, rows)} == {("seeds",)}


def test_what_is_out_of_reach_is_refused_before_anything_is_looked_at():
    """Also where a unit is replaced that leaves a row at least: no error of a formula for no rows."""
    far = bound(RandomizedTest, k=400, gamma=4.0, epsilon0=0.1, delta=1e-12, least_rows=2)
    alone = bound(RandomizedTest, k=1, gamma=1.0, least_rows=1, neighbours=Neighbours(replace=True))
    for test, said in (
        (far, r"k \(400\) and epsilon0 \(0.1\) cannot be reached with least_rows \(2\)"),
        (alone, r"cannot be reached with least_rows \(1\)"),
    ):
        with pytest.raises(ValueError, match=said):
            test.charge(1.0)


def test_rows_that_tables_of_a_replacement_have_in_common(monkeypatch):
    """One less than declared, and never said to be none."""
    counted = []

    def loss(**given):
        counted.append(given["n_lower"])
        return InfiniteLoss(), 1.0

    monkeypatch.setattr(released_rows, "rows_loss", loss)
    for least_rows in (1, 2, 3):
        rebound(TEST, Neighbours(replace=True), least_rows=least_rows).charge(1.0)
    assert counted == [1, 1, 2]


def test_looking_at_some_seeds_is_charged_with_where_counting_stops():
    """Where the user says nothing, so far beyond k that a candidate surely passes: fails with less than exp(-50)."""
    common = {"k": 20, "gamma": 4.0, "epsilon0": 0.5}
    test = bound(RandomizedTest, delta=1e-4, row_cap=20, least_rows=100, max_check_plausible=150, **common)
    ends = (None, 60, 119, 120, 121)
    stops = {stop: rebound(test, max_plausible=stop).charge(4.0)[1].losses for stop in ends}
    assert stops[None] == stops[120] != stops[119]
    common |= {"pass_rate_floor": floor_by_construction(0.5, 20, 0.5, 60), "num_rows": 20, "delta": 0.99e-4}
    wanted, _ = checked_rows_loss(n_lower=100, max_checked=150, max_plausible=60, **common)
    assert stops[60] == (wanted,)


@pytest.mark.parametrize(
    ("limits", "counted"),
    [
        ({"least_rows": 21}, 21), ({"max_plausible": 22}, 22), ({"max_check_plausible": 20}, 20),
        ({"max_check_plausible": 22, "max_plausible": 21}, 21), ({"max_check_plausible": 21, "max_plausible": 22}, 21),
    ],
    ids=str,
)  # fmt: skip
def test_the_floor_of_the_pass_rate_is_that_of_the_seeds_that_are_counted(limits, counted):
    """Pr[z >= k - counted] of a proposal without a seed. Planted: a limit that is forgotten."""
    usual = {"k": 20, "gamma": 1.0, "epsilon0": 0.5, "delta": 0.1, "row_cap": 1, "least_rows": 400}
    test = bound(RandomizedTest, **{**usual, **limits})
    (loss,) = test.charge(1.0)[1].losses
    a = math.exp(-0.5)
    above = 1 - a ** (counted - 20 + 1) / (1 + a) if counted >= 20 else a ** (20 - counted) / (1 + a)
    assert loss.pass_rate_floor == pytest.approx(test.seed_free_share * above, rel=1e-9)
    forgotten = floor_by_construction(test.seed_free_share, 20, 0.5, 400)
    assert forgotten > 1.1 * loss.pass_rate_floor


def test_looking_at_some_seeds_is_for_single_rows_added_or_removed():
    RandomizedTest(k=20, gamma=4.0, epsilon0=0.5, max_check_plausible=150)
    for unit in (Neighbours(replace=True), Neighbours(rows=2, person="home")):
        bound(RandomizedTest, k=20, gamma=4.0, epsilon0=0.5, neighbours=unit)
        with pytest.raises(ValueError, match="max_check_plausible only supports"):
            bound(RandomizedTest, k=20, gamma=4.0, epsilon0=0.5, neighbours=unit, max_check_plausible=150)


def test_usual_parameters_are_the_synthesizers():
    usual = inspect.signature(PlausibleDeniabilitySynthesizer).parameters
    assert RandomizedTest().delta == usual["delta"].default
    assert RandomizedTest.has_delta


@pytest.mark.parametrize("neighbours", guarded.UNITS.values(), ids=guarded.UNITS)
def test_the_rows_of_a_unit_that_is_replaced_are_not_counted_on(neighbours):
    """The tables of a replacement have all other rows in common; a unit that leaves is no row of the smaller table."""
    test = rebound(TEST, neighbours)
    (loss,) = test.charge(1.0)[1].losses
    unit = neighbours.rows
    others = 900 - unit if neighbours.replace else 900
    k, epsilon0 = neighbours.rows_of(50), 1.0 / unit
    common = {"num_rows": 100, "k": k, "gamma": 1.0, "epsilon0": epsilon0, "neighbours": neighbours}
    common |= {"delta": (1 - row_tests.SIZE_DELTA_SHARE) * 1e-6, "seed_free_share": 0.4}
    floors = {n: floor_by_construction(0.4, k, epsilon0, n) for n in (others, 900, 900 - 2 * unit)}
    charged = {n: rows_loss(**common, n_lower=n, pass_rate_floor=floor)[0] for n, floor in floors.items()}
    assert loss == charged[others]
    assert (charged[900] != charged[others]) == neighbours.replace  # the number matters


def test_theorem_1_is_named_even_where_it_says_nothing():
    least = bound(RandomizedTest, k=2, gamma=4.0, epsilon0=1.0, delta=1e-3, row_cap=10, least_rows=10**6)
    assert "would give inf" in least.charge(1.0)[1].mechanism
    added_up = 100 * theorem1_best(50, 4.0, 1.0, 1e-6 / 100).epsilon
    assert f"summed over 100 rows would give {added_up:,.0f}" in TEST.charge(4.0)[1].mechanism


def chance_of_confirming(test, num_seeds):
    """Pr[the declared bound stands with so many seeds]: all noise is tried, its law is a^|z| (1 - a) / (1 + a)."""
    spent, confirmed = set(), []
    for z in range(-1500, 1501):

        def count_rows(epsilon, failure, z=z):
            spent.add((epsilon, failure))
            return num_seeds + z

        with contextlib.suppress(ValueError):
            test.confirm(SimpleNamespace(count_rows=count_rows))
            confirmed.append(z)
    assert spent == {(SIZE_EPSILON, test._size_delta)}  # what the entry "size" pays for
    a = math.exp(-SIZE_EPSILON / test.neighbours.rows)
    return math.fsum(a ** abs(z) for z in confirmed) * (1 - a) / (1 + a)


def confirms_safely(test):
    """Whether a bound that the smaller neighbour, without a unit's rows, does not reach stands as seldom as charged."""
    most = test.least_rows + test.neighbours.rows - 1 - test.neighbours.replace
    return all(chance_of_confirming(test, most - less) <= test._size_delta for less in (0, 1, 50))


@pytest.mark.parametrize("neighbours", guarded.UNITS.values(), ids=guarded.UNITS)
def test_a_bound_that_a_neighbour_without_a_unit_does_not_reach_is_not_confirmed(neighbours):
    assert confirms_safely(rebound(TEST, neighbours))


@pytest.mark.parametrize("delta", [1e-6, 1e-3, 0.5])
def test_a_bound_that_a_neighbour_does_not_reach_is_confirmed_as_often_as_charged(delta):
    test = bound(RandomizedTest, k=50, gamma=4.0, epsilon0=1.0, delta=delta, least_rows=900)
    assert confirms_safely(test)
    assert chance_of_confirming(test, 900) > test._size_delta / 1.2  # the margin is no larger than it must be
    assert chance_of_confirming(test, 1400) > 0.99


def test_the_size_check_without_its_margin_is_caught(monkeypatch):
    """Mutants: the noisy number itself is compared, so that a bound too high stands every other time; one too small."""
    honest = row_tests.size_lower_bound_margin
    monkeypatch.setattr(row_tests, "size_lower_bound_margin", lambda *given: honest(*given) - 1)
    assert not confirms_safely(TEST)
    monkeypatch.setattr(row_tests, "size_lower_bound_margin", lambda *given: 0)
    assert not confirms_safely(TEST)
    assert chance_of_confirming(TEST, TEST.least_rows) > 0.5


def seeds(number):
    """A door to so many rows that the test's entries open."""
    codes = CodeArray(np.zeros((number, 1), dtype=int), [1])
    return Queryable(codes, PrivacyLedger(delta=1e-6), TEST.charge(1.0), KeyedRNG.from_seed(0))


def test_the_check_asks_the_seeds_once_within_its_entry():
    """Both entries open one door: it takes its own epsilon and delta, not those of the rows."""
    alone = QueryBudget.of([TEST.charge(1.0)[0]])
    assert (alone.epsilon, alone.failure) == (SIZE_EPSILON, TEST._size_delta)
    with record_calls() as calls:
        TEST.confirm(seeds(1400))
    assert [(call.name, call.budget) for call in calls] == [("discrete_laplace", SIZE_EPSILON)]
    margin = row_tests.size_lower_bound_margin(SIZE_EPSILON, TEST._size_delta)
    said = r"least_rows \(900\) is not confirmed.*Set a lower number"
    with pytest.raises(ValueError, match=said) as refused:
        TEST.confirm(seeds(9))
    found = set(re.findall(r"\d+", str(refused.value)))
    assert found == {"900", str(margin), "0", "1"}  # no count of the seeds
    DeterministicTest(k=3, gamma=4.0).confirm(seeds(9))  # nothing is declared, nothing is asked


def test_records_are_handed_out_to_mechanism_1_only_when_paid_for():
    """A visible failure is for those without a claim."""
    for test, gives_up in ((DeterministicTest(k=3, gamma=4.0), True), (TEST, False)):
        net, cards, omega = network(), (2, 3, 4, 3), Omega.parse(1)
        with pytest.raises(ValueError, match="no entry 'rows'"):
            test.start(net, door(SEEDS, cards, 1.0), omega, KeyedRNG.from_seed(0))
        ledger = PrivacyLedger(delta=1e-6)
        rows = Queryable(CodeArray(SEEDS, cards), ledger, test.charge(4.0), KeyedRNG.from_seed(0))
        sampler = test.start(net, rows, omega, KeyedRNG.from_seed(1))
        assert sampler.gives_up == gives_up
        made = sampler.mechanism
        assert (made.num_seeds, made.omega, made.test) == (300, omega, test)
        assert made.seed_free_share == (0.0 if gives_up else 0.4)
        assert (net.seeds == SEEDS).all()


def test_what_to_expect_of_a_small_table():
    test, said = DeterministicTest(k=50, gamma=4.0), "k (50) is above the number of rows (49)"
    assert test.complaints(49)[0].startswith(said)
    assert test.complaints(50) == []
    assert TEST.complaints(1) == []  # under a claim the number of rows makes no error
    assert [w.split(" ")[0] for w in TEST.warnings(101, 49)] == ["num_rows", "least_rows", "k"]
    assert TEST.warnings(100, 900) == []
