"""Structure learning against plain loops: entropies, correlations, merit, greedy search, buckets, orders."""

from __future__ import annotations

import itertools
import math

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.counting import entropy
from sdv_plausible.models.bayesian_network import topological_order
from sdv_plausible.models.buckets import default_buckets
from sdv_plausible.models.conditional_table import num_configurations
from sdv_plausible.models.paper.entropies import EntropyTable, count_entropies
from sdv_plausible.models.paper.parameters import clean_counts, clean_margin, dirichlet_table
from sdv_plausible.models.paper.structure import cfs_merit, check_structure, correlation_feature_selection
from sdv_plausible.models.projection import project_to_simplex
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.questions.codes import CodeArray
from sdv_plausible.questions.counts import Axis
from sdv_plausible.table.domain import Attribute, Domain

CARDS = (3, 2, 4)
BUCKETS = [np.array([0, 1, 0]), np.array([0, 1]), np.array([1, 0, 2, 1])]


def rows(seed: int, n: int = 50) -> np.ndarray:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n)
    b = (a == 2) ^ (rng.random(n) < 0.2)
    return np.stack([a, b, rng.integers(0, 4, n)], axis=1).astype(np.int32)


# --- counts and entropies ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parents", [(), (0,), (2, 1), (1, 0, 2)])
def test_conditional_counts(parents):
    codes = rows(0)
    child = 2 if 2 not in parents else 0 if 0 not in parents else 1
    if child in parents:
        codes = np.concatenate([codes, codes[:, :1]], axis=1)
        child = 3
    cardinality = (*CARDS, 3)[child]
    buckets = [BUCKETS[p] for p in parents]
    axes = [*(Axis(p, b) for p, b in zip(parents, buckets, strict=True)), Axis.of_codes(child, cardinality)]
    found = next(CodeArray(codes, (*CARDS, 3)).tables([axes])).reshape(-1, cardinality)
    assert found.tolist() == oracles.conditional_counts(
        codes.tolist(), child, cardinality, parents, [b.tolist() for b in buckets]
    )
    assert num_configurations(buckets) == len(found)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=40))
def test_entropy_by_definition(values):
    assert entropy(np.bincount(values)) == pytest.approx(oracles.entropy(values), abs=1e-12)


def test_entropy_of_nothing_is_zero():
    assert entropy(np.zeros(4)) == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_entropies_and_correlations_by_definition(seed):
    codes = rows(seed)
    table = count_entropies(CodeArray(codes, CARDS), CARDS, BUCKETS)
    columns = [codes[:, i].tolist() for i in range(3)]
    bucketed = [BUCKETS[i][codes[:, i]].tolist() for i in range(3)]
    np.testing.assert_allclose(table.single, [oracles.entropy(c) for c in columns], atol=1e-12)
    np.testing.assert_allclose(table.bucketed, [oracles.entropy(c) for c in bucketed], atol=1e-12)
    correlation = table.correlation()
    for i, j in itertools.permutations(range(3), 2):
        assert table.joint[i, j] == pytest.approx(oracles.entropy(list(zip(columns[i], bucketed[j], strict=True))), abs=1e-12)
        assert correlation[i, j] == pytest.approx(oracles.symmetrical_uncertainty(columns[i], bucketed[j]), abs=1e-9)


def test_correlation_stays_in_range_under_noise_and_without_variation():
    rng = np.random.default_rng(0)
    for scale in (0.0, 0.1, 5.0):
        noisy = EntropyTable.unflatten(scale * rng.normal(size=20), 4)
        assert np.isfinite(noisy.correlation()).all()
        assert ((noisy.correlation() >= 0) & (noisy.correlation() <= 1)).all()
    constant = count_entropies(CodeArray(np.zeros((10, 2), dtype=int), (1, 1)), (1, 1), [np.zeros(1, dtype=int)] * 2)
    assert (constant.correlation() == 0).all()


def test_a_single_column_has_entropies():
    table = count_entropies(CodeArray(np.array([[0], [1], [2], [3]]), (4,)), (4,), [np.array([0, 0, 1, 1])])
    assert (table.single[0], table.bucketed[0]) == (2.0, 1.0)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_flatten_and_back(m, seed):
    """The m (m + 1) released numbers lose nothing, and the diagonal, which means nothing, is not among them."""
    rng = np.random.default_rng(seed)
    table = EntropyTable(single=rng.random(m), bucketed=rng.random(m), joint=rng.random((m, m)))
    vector = table.flatten()
    assert vector.shape == (m * (m + 1),)
    again = EntropyTable.unflatten(vector, m)
    assert (again.single == table.single).all()
    assert (again.bucketed == table.bucketed).all()
    off = ~np.eye(m, dtype=bool)
    assert (again.joint[off] == table.joint[off]).all()
    assert (EntropyTable.unflatten(vector, m).flatten() == vector).all()


# --- search -----------------------------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_merit_by_definition(m, seed):
    rng = np.random.default_rng(seed)
    correlation = rng.random((m, m))
    child, *others = rng.permutation(m).tolist()
    for number in range(m):
        assert cfs_merit(correlation, child, others[:number]) == pytest.approx(
            oracles.cfs_merit(correlation, child, others[:number])
        )


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 5), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_greedy_search_by_definition(m, max_cost, seed):
    """Random correlations have no ties, so that the search has one answer: cost bound, acyclicity and order of gains."""
    rng = np.random.default_rng(seed)
    correlation, sizes = rng.random((m, m)), rng.integers(1, 5, m).tolist()
    found = correlation_feature_selection(correlation, [np.arange(s) for s in sizes], max_cost)
    assert [set(p) for p in found] == oracles.greedy_parents(correlation, sizes, max_cost)
    assert oracles.is_acyclic(found)
    assert all(math.prod(sizes[p] for p in chosen) <= max_cost for chosen in found)


def test_the_search_bounds_the_number_of_parents():
    rng = np.random.default_rng(1)
    correlation, buckets = rng.random((6, 6)), [np.arange(2)] * 6
    free = correlation_feature_selection(correlation, buckets, 10**6)
    assert max(map(len, free)) > 1
    for most in (0, 1, 2):
        bounded = correlation_feature_selection(correlation, buckets, 10**6, most)
        assert max(map(len, bounded)) == most


def test_the_order_of_the_columns_does_not_matter():
    rng = np.random.default_rng(2)
    correlation, sizes, shuffle = rng.random((5, 5)), np.array([2, 3, 2, 4, 2]), rng.permutation(5)
    found = correlation_feature_selection(correlation, [np.arange(s) for s in sizes], 20)
    moved = correlation_feature_selection(correlation[np.ix_(shuffle, shuffle)], [np.arange(s) for s in sizes[shuffle]], 20)
    assert {(int(shuffle[c]), int(shuffle[p])) for c, ps in enumerate(moved) for p in ps} == {
        (c, p) for c, ps in enumerate(found) for p in ps
    }


# --- buckets ----------------------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 60), st.booleans(), st.booleans(), st.integers(2, 12), st.integers(0, 2**32 - 1), st.booleans())
def test_default_buckets(size, ordered, nullable, most, seed, with_margin):
    kind = "ordinal" if ordered else "categorical"
    attribute = Attribute(name="x", kind=kind, values=tuple(range(size)), nullable=nullable)
    rng = np.random.default_rng(seed)
    margin = rng.normal(0.02, 0.05, attribute.cardinality) if with_margin else None  # noisy: cells below zero
    bucket = default_buckets(attribute, margin, most)
    assert len(bucket) == attribute.cardinality
    assert set(bucket) == set(range(bucket.max() + 1))  # dense: no empty configuration
    assert bucket.max() + 1 <= most + nullable
    if size <= most:
        assert bucket.tolist() == list(range(attribute.cardinality))
        return
    if nullable:
        assert (bucket == bucket[-1]).sum() == 1  # missing stands alone
    if ordered:
        assert (np.diff(bucket[:size]) >= 0).all()
    elif with_margin:
        alone = [c for c in range(size) if (bucket == bucket[c]).sum() == 1]
        mass = np.maximum(margin[:size], 0)  # cells below zero are all equally unlikely
        assert set(np.flatnonzero(mass > np.sort(mass)[-most])) <= set(alone)


def test_ordered_buckets_have_about_equal_mass():
    margin = np.concatenate([np.full(50, 0.002), np.full(50, 0.018)])
    attribute = Attribute(name="x", kind="integer", lower=tuple(range(100)), upper=tuple(range(100)))
    mass = np.bincount(default_buckets(attribute, margin, 10), margin)
    assert len(mass) == 10
    assert mass.max() < 0.13
    assert np.bincount(default_buckets(attribute, None, 10)).tolist() == [10] * 10


def test_declared_buckets_are_used_and_made_dense():
    attribute = Attribute(name="x", kind="categorical", values=("a", "b", "c"), buckets=(7, 2, 7))
    assert default_buckets(attribute).tolist() == [1, 0, 1]


# --- orders and given structures --------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_parents_come_first_and_small_domains_early(m, seed):
    rng = np.random.default_rng(seed)
    hidden = rng.permutation(m)
    parents = [()] * m
    for position, child in enumerate(hidden):
        parents[child] = tuple(rng.permutation(hidden[:position])[: rng.integers(0, position + 1)].tolist())
    cards = rng.integers(1, 4, m).tolist()
    order = topological_order(tuple(parents), cards)
    assert sorted(order) == list(range(m))
    for position, child in enumerate(order):
        assert set(parents[child]) <= set(order[:position])
        ready = [j for j in order[position:] if set(parents[j]) <= set(order[:position])]
        assert (cards[child], child) == min((cards[j], j) for j in ready)


DOMAIN = Domain(tuple(Attribute(name=n, kind="ordinal", values=(0, 1)) for n in ("a", "b", "c")))


def test_given_structures():
    assert check_structure({"c": ["a", "b", "a"], "b": ("a",)}, DOMAIN) == ((), (0,), (0, 1))
    assert check_structure({}, DOMAIN) == ((), (), ())


@pytest.mark.parametrize(
    ("structure", "rule"),
    [
        ({"z": ["a"]}, r"structure names \['z'\]"),
        ({"a": ["z"]}, r"structure names \['z'\]"),
        ({"a": ["a"]}, "cycle"),
        ({"a": ["b"], "b": ["c"], "c": ["a"]}, "cycle"),
        ({"c": "ab"}, "parents of 'c'.*must be a list"),
    ],
)
def test_bad_structures(structure, rule):
    with pytest.raises(ValueError, match=rule):
        check_structure(structure, DOMAIN)


# --- from counts to tables --------------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 2**32 - 1), st.floats(-50, 500))
def test_projection_is_the_nearest_table(rows_, columns, seed, total):
    """Optimality: cells above zero moved by one shift, cells at zero would have fallen below it."""
    noisy = np.random.default_rng(seed).normal(5, 20, (rows_, columns))
    total = max(total, 1.0)
    found = project_to_simplex(noisy, total)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(total)
    shift = (noisy - found)[found > 0]
    assert np.ptp(shift) < 1e-9
    assert (noisy[found == 0] <= shift.max() + 1e-9).all()


@settings(max_examples=100, deadline=None)
@given(
    st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1), st.sampled_from(["mean", "posterior"]), st.floats(-5, 100)
)
def test_tables_from_any_noisy_counts_are_distributions(configurations, cardinality, seed, draw, total):
    rng = np.random.default_rng(seed)
    margin = clean_margin(rng.normal(0, 30, cardinality), total)
    assert (margin > 0).all()
    assert margin.sum() == pytest.approx(1)
    counts = clean_counts(rng.normal(0, 30, (configurations, cardinality)), total)
    table = dirichlet_table(counts, margin, 0.01, draw, Coins.from_seed(seed))
    assert (table >= 0).all()
    np.testing.assert_allclose(table.sum(axis=1), 1)


def test_posterior_mean_and_draws():
    """Eq. 13, and draws around it: 4,000 of them, mean within 6 standard errors (false alarm below 1e-8)."""
    counts, margin = np.array([[3.0, 1.0], [0.0, 0.0]]), np.array([0.25, 0.75])
    mean = dirichlet_table(counts, margin, 4.0)
    np.testing.assert_allclose(mean, [[4 / 8, 4 / 8], [0.25, 0.75]])
    coins = Coins.from_seed(0)
    draws = np.array([dirichlet_table(counts, margin, 4.0, "posterior", coins) for _ in range(4000)])
    error = np.sqrt(mean * (1 - mean) / (np.array([[8.0], [4.0]]) + 1) / 4000)
    assert (abs(draws.mean(axis=0) - mean) < 6 * error).all()
    assert draws.std(axis=0).min() > 0.1
    with pytest.raises(ValueError, match="needs coins"):
        dirichlet_table(counts, margin, 1.0, "posterior")
