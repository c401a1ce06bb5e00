"""Codec, plausible seeds, network and mechanism against slow and obvious definitions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from doors import release_seeds
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from sdv_plausible.models.base import Proposals
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.models.conditional_table import ConditionalTable
from sdv_plausible.models.omega import Omega
from sdv_plausible.models.paper.entropies import EntropyTable, count_entropies
from sdv_plausible.models.paper.structure import cfs_merit, correlation_feature_selection
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.privacy.plausible_seeds import PrefixGroups, partition_number, scan_plausible_seeds
from sdv_plausible.questions.codes import CodeArray
from sdv_plausible.questions.queryable import SeedRecords
from sdv_plausible.release.mechanism import PlausibleDeniabilityMechanism, TooFewReleasedError
from sdv_plausible.release.release_level import ReleaseTest
from sdv_plausible.release.row_tests import DeterministicTest, RandomizedTest
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.domain import Attribute, Domain
from sdv_plausible.table.inference import infer_attribute, quantile_bins
from sdv_plausible.table.outside import count_outside
from sdv_plausible.table.specifications import declared_attribute, equal_bins

CARDS = (2, 3, 2, 4)


def network(seed: int = 0) -> BayesianNetwork:
    """Four attributes; the last has two parents, one of them bucketed."""
    rng = np.random.default_rng(seed)

    def rows(configurations: int, cardinality: int) -> np.ndarray:
        p = rng.dirichlet(np.ones(cardinality), configurations)
        p[0, 0] = 0.0  # a cell that cannot be produced
        return p / p.sum(axis=1, keepdims=True)

    identity = np.arange
    return BayesianNetwork(
        [
            ConditionalTable(child=2, parents=(), buckets=(), probabilities=np.array([[0.3, 0.7]])),
            ConditionalTable(child=0, parents=(2,), buckets=(identity(2),), probabilities=rows(2, 2)),
            ConditionalTable(child=1, parents=(0,), buckets=(identity(2),), probabilities=rows(2, 3)),
            ConditionalTable(child=3, parents=(1, 0), buckets=(np.array([0, 1, 1]), identity(2)), probabilities=rows(4, 4)),
        ]
    )


def probability(net: BayesianNetwork, y: tuple[int, ...], seed: np.ndarray, omega: int) -> float:
    """Pr[y = M(seed)] by the definition in section 3.2 of the paper."""
    p, m = 1.0, net.num_attributes
    for position, table in enumerate(net.tables):
        if position < m - omega:
            p *= float(y[table.child] == seed[table.child])
        else:
            row = 0
            for parent, bucket in zip(table.parents, table.buckets, strict=True):
                row = row * (int(bucket.max()) + 1) + int(bucket[y[parent]])
            p *= float(table.probabilities[row, y[table.child]])
    return p


UNIVERSE = list(itertools.product(*(range(c) for c in CARDS)))


@pytest.mark.parametrize("omega", range(5))
def test_likelihood_is_the_definition_and_sums_to_one(omega):
    net = network()
    seeds = np.array(UNIVERSE[::7])
    net.attach_seeds(SeedRecords(seeds))
    candidates = np.array(UNIVERSE)
    proposals = Proposals(
        candidates=candidates, seeds=np.zeros(len(candidates), dtype=int), omega=np.full(len(candidates), omega)
    )
    with np.errstate(divide="ignore"):
        wanted = np.log([[probability(net, y, s, omega) for s in seeds] for y in UNIVERSE])
    found = net.log_likelihood(proposals, np.arange(len(seeds)))
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    np.testing.assert_allclose(np.exp(found).sum(axis=0), 1, rtol=1e-12)


def chi_square_p(net: BayesianNetwork, reference: BayesianNetwork, omega: int, systematic: bool) -> float:
    """P-value of 20,000 candidates of ``net`` from one seed against the likelihood of ``reference``."""
    seed = np.array(UNIVERSE[17])
    coins = Coins.from_seed(11)
    codes = np.tile(seed, (20_000, 1)).astype(np.int32)
    net.complete(codes, net.num_attributes - omega, coins, systematic=systematic)
    expected = 20_000 * np.array([probability(reference, y, seed, omega) for y in UNIVERSE])
    index = np.ravel_multi_index(tuple(codes.T), CARDS)
    observed = np.bincount(index, minlength=len(UNIVERSE))
    if observed[expected == 0].any():
        return 0.0
    used = expected > 0
    statistic = ((observed[used] - expected[used]) ** 2 / expected[used]).sum()
    return float(chi2.sf(statistic, used.sum() - 1))


@pytest.mark.parametrize("omega", [1, 2, 4])
def test_sampler_agrees_with_the_likelihood(omega):
    """False alarm 1e-6 per case (and the coins are fixed). Control: parents' buckets in the wrong order are caught."""
    net = network()
    assert chi_square_p(net, net, omega, systematic=False) > 1e-6
    last = net.tables[3]
    swapped = ConditionalTable(
        child=3, parents=last.parents, buckets=last.buckets, probabilities=last.probabilities[[0, 2, 1, 3]]
    )
    assert chi_square_p(BayesianNetwork([*net.tables[:3], swapped]), net, omega, systematic=False) < 1e-6


def test_systematic_draws_have_the_law_and_less_scatter():
    net = network()
    p = chi_square_p(net, net, 4, systematic=True)
    assert p > 0.5  # far too good for chance: that is the point
    counts = np.bincount(net.tables[0].draw(np.zeros((1000, 4), dtype=int), Coins.from_seed(1), systematic=True))
    assert abs(counts[0] - 300) <= 1


class _Extreme(Coins):
    """Coins that always land at the end of the unit interval."""

    def uniform(self, size=None):
        return np.full(size, np.nextafter(1.0, 0.0))


def test_cells_of_probability_zero_are_never_drawn():
    configurations = 5000  # large enough for the guided search
    p = np.tile([0.5, 0.0, 0.5, 0.0], (configurations, 1))
    table = ConditionalTable(child=1, parents=(0,), buckets=(np.arange(configurations),), probabilities=p)
    codes = np.zeros((configurations, 2), dtype=np.int64)
    codes[:, 0] = np.arange(configurations)
    coins = _Extreme.from_seed(0)
    coins.__class__ = _Extreme
    assert (table.draw(codes, coins) == 2).all()
    assert set(table.draw(codes, Coins.from_seed(1))) == {0, 2}


def test_guided_search_equals_binary_search():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(40, 0.1), 500)
    table = ConditionalTable(child=1, parents=(0,), buckets=(np.arange(500),), probabilities=p)
    codes = np.stack([rng.integers(0, 500, 50_000), np.zeros(50_000, dtype=int)], axis=1)
    u = Coins.from_seed(3).uniform(len(codes))
    by_hand = np.searchsorted(table._flat, codes[:, 0] + u, side="right") - codes[:, 0] * 40
    assert (table.draw(codes, Coins.from_seed(3)) == by_hand).all()


# --- plausible seeds --------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([CARDS, (50_000,) * 6, (2**31, 2**31, 2**31), (1, 1, 7)]))
def test_prefix_groups_are_counts_of_equal_prefixes(seed, cards):
    """Also where the mixed-radix key outgrows 64 bits."""
    rng = np.random.default_rng(seed)
    pool = np.stack([rng.integers(0, c, 12) for c in cards], axis=1)
    pool[6:, : len(cards) - 1] = pool[:6, : len(cards) - 1]
    seeds, candidates = pool[rng.integers(0, 9, 40)], pool[rng.integers(0, 12, 20)]
    groups = PrefixGroups(seeds, cards)
    for length in range(len(cards) + 1):
        wanted = [(seeds[:, :length] == c[:length]).all(axis=1).sum() for c in candidates]
        assert groups.sizes(candidates, length).tolist() == wanted
        prefixes, sizes = groups.groups(length)
        assert sizes.sum() == len(seeds)
        assert len({tuple(p) for p in prefixes}) == len(prefixes)


@pytest.mark.parametrize("omegas", [(1, 1), (3, 3), (0, 4), (2, 3)])
def test_look_up_and_scan_agree_bit_for_bit(omegas):
    net = network()
    coins = Coins.from_seed(5)
    seeds = net.sample(300, coins)
    net.attach_seeds(SeedRecords(seeds))
    rows = coins.integers(300, 200)
    proposals = net.propose(rows, Omega.parse(omegas).draw(4, 200, coins), coins)
    own = net.log_likelihood(proposals, np.arange(300))[np.arange(200), rows]
    scanned = scan_plausible_seeds(lambda r: net.log_likelihood(proposals, r), own, 300, gamma=4.0, chunk=37)
    assert (net.count_plausible(proposals, 4.0) == scanned).all()
    limited = scan_plausible_seeds(lambda r: net.log_likelihood(proposals, r), own, 300, gamma=4.0, max_plausible=5)
    assert (limited == np.minimum(scanned, 5)).all()
    partial = scan_plausible_seeds(
        lambda r: net.log_likelihood(proposals, r), own, 300, gamma=4.0, max_check_plausible=100, coins=coins
    )
    assert (partial <= scanned).all()


def test_hidden_omega_counts_by_definition_and_gamma_matters():
    net = network()
    coins = Coins.from_seed(6)
    seeds = net.sample(120, coins)
    net.attach_seeds(SeedRecords(seeds))
    rows = coins.integers(120, 60)
    omegas = (1, 2, 3)
    proposals = net.propose(rows, Omega.parse((1, 3)).draw(4, 60, coins), coins)
    found = {}
    for gamma in (1.5, 4.0, 50.0):
        p = np.array([[np.mean([probability(net, y, s, o) for o in omegas]) for s in seeds] for y in proposals.candidates])
        with np.errstate(divide="ignore"):
            numbers = np.floor(-np.log(p) / math.log(gamma))
        wanted = [(numbers[i] == numbers[i, r]).sum() for i, r in enumerate(rows)]
        found[gamma] = net.count_plausible_mixture(proposals, omegas, gamma)
        assert found[gamma].tolist() == wanted
    assert (found[50.0] > found[1.5]).any()


def test_partition_numbers():
    numbers = partition_number(np.log([1.0, 0.9, 0.26, 0.24, 2.0]), 4.0)
    assert numbers.tolist() == [0, 0, 0, 1, -1]
    assert np.isinf(partition_number(np.array([-np.inf]), 4.0)).all()


# --- mechanism --------------------------------------------------------------------------------------------------------


def mechanism(test, omega=2, n=400):
    net = network()
    seeds = net.sample(n, Coins.from_seed(2))
    net.attach_seeds(SeedRecords(seeds))
    return net, seeds, PlausibleDeniabilityMechanism(model=net, num_seeds=n, test=test, omega=Omega.parse(omega))


def test_released_rows_have_k_plausible_seeds():
    """Control: without the test, rows with fewer come out."""
    for k, sure in ((60, True), (1, False)):
        net, seeds, made = mechanism(DeterministicTest(k=k, gamma=4.0), omega=1)
        rows = made.release(500, Coins.from_seed(1), 100_000)
        kept = list(net.order[:3])
        sizes = np.array([(seeds[:, kept] == row[kept]).all(axis=1).sum() for row in rows])
        assert (sizes.min() >= 60) == sure


def test_too_few_released():
    _, _, made = mechanism(DeterministicTest(k=401, gamma=4.0))
    with pytest.raises(TooFewReleasedError, match=r"k \(401\).*omega \(2\).*Nothing was released"):
        made.release(5, Coins.from_seed(1), 2000)


def test_the_mechanism_keeps_nothing_of_its_attempts():
    net, _, made = mechanism(RandomizedTest(k=60, gamma=4.0, epsilon0=1.0))
    made.release(10, Coins.from_seed(1))
    before = {**made.__dict__}, {**net.__dict__}
    made.release(300, Coins.from_seed(9))
    assert made.__dict__ == before[0]
    assert net.__dict__.keys() == before[1].keys()


@pytest.mark.parametrize("omega", [1, 2, (1, 3), "all"])
def test_released_prefixes_have_k_seeds_and_rows_keep_them(omega):
    net, seeds, _ = mechanism(DeterministicTest(k=1, gamma=4.0))
    test = ReleaseTest(k=20, epsilon0=1.0, delta=1e-3)
    released = release_seeds(net, seeds, omega, test, Coins.from_seed(4))
    for part in released.parts:
        for prefix in part.prefixes:
            columns = list(net.order[: part.kept])
            assert (seeds[:, columns] == prefix).all(axis=1).sum() >= 20
    rows = released.sample(500, net, Coins.from_seed(5))
    prefixes = {(p.kept, *map(int, prefix)) for p in released.parts for prefix in p.prefixes}
    for row in rows:
        assert any((p.kept, *map(int, row[list(net.order[: p.kept])])) in prefixes for p in released.parts)


def test_the_pre_threshold_is_what_makes_k_sure():
    """Control: without it, small groups get out sooner or later (here with probability about 0.13 each)."""
    sizes = np.full(5000, 19)
    test = ReleaseTest(k=20, epsilon0=0.5, delta=0.5)
    assert not len(test.release(sizes, Coins.from_os_entropy())[0])
    from sdv_plausible.privacy.noise import mechanisms as noise

    noisy = noise.discrete_laplace(sizes, sensitivity=1, epsilon=0.5, coins=Coins.from_os_entropy())
    assert (noisy >= 20 + test.margin).any()


def test_known_values_are_sampled_from_the_exact_conditional():
    """Chi-square against enumeration, false alarm 1e-6 (fixed coins). Control: ignoring the weights is caught."""
    net = network()
    released = release_seeds(
        net, net.sample(50, Coins.from_seed(0)), "all", ReleaseTest(k=1, epsilon0=1, delta=0.1), Coins.from_seed(0)
    )
    zero = np.zeros(4, dtype=int)
    joint = np.array([probability(net, y, zero, 4) for y in UNIVERSE])
    keep = np.array([y[3] == 2 for y in UNIVERSE])
    wanted = np.where(keep, joint, 0) / joint[keep].sum()

    def p_value(codes: np.ndarray) -> float:
        observed = np.bincount(np.ravel_multi_index(tuple(codes.T), CARDS), minlength=len(UNIVERSE))
        used = wanted > 0
        statistic = ((observed[used] - len(codes) * wanted[used]) ** 2 / (len(codes) * wanted[used])).sum()
        return float(chi2.sf(statistic, used.sum() - 1)) if not observed[~used].any() else 0.0

    assert p_value(released.sample_given(2000, {3: 2}, net, Coins.from_seed(1))) > 1e-6
    clamped, _ = net.complete_given(np.zeros((2000, 4), dtype=np.int32), 0, {3: 2}, Coins.from_seed(1))
    assert p_value(clamped) < 1e-6


# --- domain and codec ---------------------------------------------------------------------------------------------------

ATTRIBUTES = [
    Attribute(name="a", kind="categorical", values=("x", "y", 3, True), nullable=True),
    Attribute(name="b", kind="ordinal", values=("low", "high")),
    Attribute(name="c", kind="integer", lower=(-5, 0, 1), upper=(-1, 0, 900), nullable=True),
    Attribute(name="d", kind="float", lower=(0.0, 1.5), upper=(1.5, 9.0)),
    Attribute(name="e", kind="datetime", lower=(0, 10**15), upper=(10**15 - 1, 2 * 10**15), unit=10**9, nullable=True),
    Attribute(name="f", kind="integer", nullable=True),
]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_codes_survive_a_round_trip(data):
    domain = Domain(tuple(ATTRIBUTES))
    codes = np.array(
        [data.draw(st.tuples(*(st.integers(0, a.cardinality - 1) for a in ATTRIBUTES))) for _ in range(8)], dtype=np.int32
    )
    codec, coins = Codec(domain), Coins.from_seed(data.draw(st.integers(0, 1000)))
    table = codec.decode(codes, coins)
    assert (codec.encode(table, coins) == codes).all()
    assert table["c"].dropna().mod(1).eq(0).all()
    assert (table["e"].dropna().astype("int64") % 10**9 == 0).all()


def test_cells_outside_the_domain_are_clipped_or_replaced_and_listed():
    domain = Domain((ATTRIBUTES[0], ATTRIBUTES[1], ATTRIBUTES[3]))
    table = pd.DataFrame({"a": ["x", "new", None], "b": ["low", "odd", "high"], "d": [-4.0, 99.0, 1.0]})
    codes = Codec(domain).encode(table, Coins.from_seed(0))
    assert codes[1, 0] == ATTRIBUTES[0].missing_code
    assert codes[1, 1] in (0, 1)
    assert codes[:2, 2].tolist() == [0, 1]
    assert count_outside(table, domain) == {"a": 1, "b": 1, "d": 2}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=300), st.integers(2, 20))
def test_quantile_bins_cover_and_isolate_heavy_values(numbers, max_bins):
    values = np.array(numbers)
    lower, upper = quantile_bins(values, max_bins)
    assert all(low <= high for low, high in zip(lower, upper, strict=True))
    assert all(high < low for high, low in zip(upper, lower[1:], strict=False))
    inside = [(np.array(lower) <= v) & (v <= np.array(upper)) for v in values]
    assert all(i.sum() == 1 for i in inside)
    for value, count in zip(*np.unique(values, return_counts=True), strict=True):
        if count >= len(values) / max_bins:
            assert value in lower
            assert value in upper


def test_equal_bins_partition_the_range():
    lower, upper = equal_bins(-3, 103, 10)
    assert lower[0] == -3
    assert upper[-1] == 103
    assert [u + 1 for u in upper[:-1]] == list(lower[1:])
    assert equal_bins(5, 5, 10) == ((5,), (5,))
    with pytest.raises(ValueError, match="range_max"):
        equal_bins(5, 4, 10)


@pytest.mark.parametrize(
    ("spec", "kind", "cardinality"),
    [
        ({"sdtype": "numerical", "range_min": 0, "range_max": 9}, "integer", 11),
        ({"sdtype": "numerical", "range_min": 0, "range_max": 9, "range_is_nullable": False}, "integer", 10),
        ({"sdtype": "numerical", "range_min": 0.0, "range_max": 9.0, "decimal_places": 1}, "float", 101),
        ({"sdtype": "boolean"}, "categorical", 3),
        ({"sdtype": "ordinal", "range_values": ["a", "b", None]}, "ordinal", 3),
        ({"sdtype": "datetime", "range_min": "2020-01-01", "range_max": "2020-01-31", "datetime_format": "%Y-%m-%d"}, "datetime", 32),
    ],
)  # fmt: skip
def test_declared_attributes(spec, kind, cardinality):
    attribute = declared_attribute("x", spec)
    assert attribute is not None
    assert (attribute.kind, attribute.cardinality, attribute.provenance) == (kind, cardinality, "declared")


def test_a_declaration_that_fixes_nothing():
    assert declared_attribute("x", {"sdtype": "numerical", "range_min": 0}) is None
    assert declared_attribute("x", {"sdtype": "categorical"}) is None


def test_inferred_attributes_read_the_rows():
    assert infer_attribute("x", pd.Series([1, 2, 2]), "numerical").lower == (1, 2)
    assert infer_attribute("x", pd.Series([0.25, 1.5, None]), "numerical").decimals == 2
    assert infer_attribute("x", pd.Series([1.0, None, 4.0]), "numerical").kind == "integer"
    assert infer_attribute("x", pd.Series([b"a", 1, "z"]), "categorical").cardinality == 3
    with pytest.raises(ValueError, match="infinite"):
        infer_attribute("x", pd.Series([1.0, np.inf]), "numerical")
    with pytest.raises(ValueError, match="dates that cannot be read"):
        infer_attribute("x", pd.Series(["soon"]), "datetime", {"datetime_format": "%Y"})


def test_domain_files(tmp_path):
    domain = Domain(tuple(ATTRIBUTES[1:]))
    domain.save(tmp_path / "d.json")
    assert Domain.load(tmp_path / "d.json") == domain
    for text in ("{", "[]", '{"schema": "other"}', '{"schema": "sdv-plausible-domain/1", "attributes": [{"nome": 1}]}'):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(ValueError, match="domain"):
            Domain.load(tmp_path / "bad.json")


@pytest.mark.parametrize(
    "parts",
    [
        {"kind": "colour", "values": (1,)}, {"kind": "categorical"}, {"kind": "categorical", "values": (1, 1)},
        {"kind": "float", "lower": (0.0, 0.0), "upper": (1.0, 1.0)}, {"kind": "float", "lower": (2.0,), "upper": (1.0,)},
        {"kind": "categorical", "values": (1, 2), "buckets": (0,)},
    ],
)  # fmt: skip
def test_contradictory_attributes(parts):
    with pytest.raises(ValueError, match="'x'"):
        Attribute(name="x", **parts)


# --- the paper's structure learning -----------------------------------------------------------------------------------


def test_cfs_finds_the_parents_and_avoids_redundant_ones():
    rng = np.random.default_rng(1)
    a = rng.integers(0, 4, 5000)
    codes = np.stack([a, a, (a + rng.integers(0, 2, 5000)) % 4, rng.integers(0, 3, 5000)], axis=1)
    table = count_entropies(CodeArray(codes, (4, 4, 4, 3)), (4, 4, 4, 3), [np.arange(4)] * 3 + [np.arange(3)])
    correlation = table.correlation()
    assert correlation[0, 1] == pytest.approx(1)
    assert correlation[3, 0] < 0.01
    both, one = cfs_merit(correlation, 2, [0, 1]), cfs_merit(correlation, 2, [0])
    assert both == pytest.approx(one)  # a copy of a parent adds nothing
    parents = correlation_feature_selection(correlation, [np.arange(4)] * 3 + [np.arange(3)], max_cost=100)
    assert sum(len(p) for p in parents[:3]) >= 2
    assert parents[3] == () or all(correlation[3, p] < 0.01 for p in parents[3])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 7), st.integers(1, 30))
def test_cfs_is_acyclic_and_keeps_to_max_cost(seed, m, max_cost):
    rng = np.random.default_rng(seed)
    buckets = [np.arange(rng.integers(1, 5)) for _ in range(m)]
    parents = correlation_feature_selection(rng.random((m, m)), buckets, max_cost)
    seen: set[int] = set()
    while len(seen) < m:
        ready = {j for j in range(m) if j not in seen and set(parents[j]) <= seen}
        assert ready
        seen |= ready
    assert all(math.prod(len(buckets[p]) for p in ps) <= max_cost for ps in parents)


def test_entropy_table_round_trip():
    rng = np.random.default_rng(0)
    vector = rng.random(12)
    np.testing.assert_array_equal(EntropyTable.unflatten(vector, 3).flatten(), vector)
