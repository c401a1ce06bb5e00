"""Counting plausible seeds: look-up, scan and definition give the same integer."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import oracles
import pytest
from cases import fast_and_nightly
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.models.base import Proposals
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.models.conditional_table import ConditionalTable
from sdv_plausible.privacy import plausible_seeds
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.plausible_seeds import PrefixGroups, partition_number, scan_plausible_seeds
from sdv_plausible.queries.queryable import SeedRecords


def test_edges_of_a_partition_belong_to_the_more_likely_side():
    """p <= gamma^-i is in partition i, p just above is not: gamma^-(i+1) < p <= gamma^-i."""
    for i in range(-3, 40):
        edge = 4.0**-i
        assert partition_number(np.log([edge]), 4.0)[0] == i
        assert partition_number(np.log([edge * 1.001]), 4.0)[0] == i - 1
        assert partition_number(np.log([edge * 0.999]), 4.0)[0] == i


BASES = st.sampled_from([Fraction(3, 2), Fraction(2), Fraction(4), Fraction(100)])


@settings(max_examples=100, deadline=None)
@given(st.fractions(Fraction(1, 10**9), 10), BASES)
def test_partition_is_the_definition_away_from_edges(p, gamma):
    exact = oracles.partition(p, gamma)
    edges = [gamma**-exact, gamma ** -(exact + 1)]
    found = partition_number(np.log([float(p)]), float(gamma))[0]
    if min(abs(p / e - 1) for e in edges) > Fraction(1, 10**9):
        assert found == exact
    assert abs(found - exact) <= 1


def test_impossible_and_certain():
    found = partition_number(np.array([-np.inf, 0.0, -0.0]), 4.0)
    assert np.isposinf(found[0])
    assert found[1:].tolist() == [0.0, 0.0]


CARDINALITIES = {
    "small": (2, 3, 1, 4),
    "just dense": (2**11, 2**11),
    "just not dense": (2**11, 2**11, 2),
    "sorted keys": (1000, 1000, 1000),
    "beyond 64 bits": (50_000,) * 12,
    "three levels": (2**31,) * 7,
    "levels with ones between": (2**31, 1, 2**31, 1, 1, 2**31, 3),
}


@pytest.mark.parametrize("case", CARDINALITIES)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), num_seeds=st.integers(0, 30))
def test_prefix_groups_by_definition(case, seed, num_seeds):
    """Candidates among the seeds, branching off a seed anywhere, and with nothing in common."""
    cards = CARDINALITIES[case]
    rng = np.random.default_rng(seed)
    few = (rng.choice(rng.integers(0, c, 3), 40) for c in cards)  # few values: long shared prefixes
    pool = np.stack([*few], axis=1)
    seeds = pool[:num_seeds].astype(np.int32)
    fresh = np.stack([rng.integers(0, c, 5) for c in cards], axis=1)
    candidates = np.concatenate([pool, fresh]).astype(np.int32)
    groups = PrefixGroups(np.asfortranarray(seeds), cards)
    assert groups.num_seeds == num_seeds
    for length in range(len(cards) + 1):
        wanted = [oracles.prefix_size(seeds, y, length) for y in candidates]
        assert groups.sizes(candidates, length).tolist() == wanted
        prefixes, sizes = groups.groups(length)
        found = {tuple(p): int(n) for p, n in zip(prefixes.tolist(), sizes, strict=True) if n}
        assert found == Counter(tuple(s[:length]) for s in seeds.tolist())
    if num_seeds:
        rows = rng.integers(0, num_seeds, len(candidates))
        wanted = [oracles.shared_length(y, seeds[r]) for y, r in zip(candidates, rows, strict=True)]
        assert groups.shared_length(candidates, rows).tolist() == wanted


def test_keys_do_not_wrap_round():
    """Control: one plain 64-bit key per row takes these two prefixes for one."""
    cards = (2**31, 2**31, 2**31)
    seeds = np.array([[0, 5, 6]] * 3)
    other = np.array([[4, 5, 6]])

    wrapped = lambda rows: (rows[:, 0] * 2**31 + rows[:, 1]) * 2**31 + rows[:, 2]  # noqa: E731
    assert wrapped(other)[0] == wrapped(seeds)[0]
    assert PrefixGroups(seeds, cards).sizes(other, 3).tolist() == [0]
    assert PrefixGroups(seeds, cards).sizes(seeds, 3).tolist() == [3, 3, 3]


def test_ranks_between_levels_are_used(monkeypatch):
    """A tiny key limit sends ordinary tables down the multi-level path: same answers."""
    rng = np.random.default_rng(0)
    cards = (5, 4, 3, 6, 2)
    seeds = np.stack([rng.integers(0, c, 200) for c in cards], axis=1)
    candidates = np.stack([rng.integers(0, c, 300) for c in cards], axis=1)
    plain = [PrefixGroups(seeds, cards).sizes(candidates, length) for length in range(6)]
    monkeypatch.setattr(plausible_seeds, "KEY_LIMIT", 100)
    groups = PrefixGroups(seeds, cards)
    for length in range(6):
        assert (groups.sizes(candidates, length) == plain[length]).all()
    assert len(groups._level(5)._ranks) >= 1


CARDS = (2, 3, 4, 3)


def network(seed: int) -> BayesianNetwork:
    rng = np.random.default_rng(seed)

    def table(child, parents, *buckets):
        p = rng.dirichlet(np.full(CARDS[child], 0.7), math.prod(int(max(b)) + 1 for b in buckets))
        p[rng.random(p.shape) < 0.15] = 0
        p[p.sum(axis=1) == 0] = 1
        p /= p.sum(axis=1, keepdims=True)
        return ConditionalTable(
            child=child, parents=parents, buckets=tuple(map(np.array, buckets)), probabilities=p
        )

    return BayesianNetwork(
        [table(1, ()), table(3, (1,), [0, 1, 0]), table(0, ()), table(2, (0, 3), [0, 1], [1, 0, 1])]
    )


def drawn(seed: int, omega, num_seeds: int = 60, num_candidates: int = 40):
    """Network, its seeds and candidates made from them."""
    net, rng = network(seed), KeyedRNG.from_seed(seed)
    net.attach_seeds(SeedRecords(net.sample(num_seeds, rng)))
    rows = rng.integers(num_seeds, num_candidates)
    return net, net.propose(rows, Omega.parse(omega).draw(4, num_candidates, rng), rng)


@pytest.mark.parametrize("omega", [0, 1, 2, 3, 4, "all", (0, 4), (1, 2)])
@pytest.mark.parametrize("seed", fast_and_nightly(range(2), range(2, 4)))
def test_known_omega_look_up_scan_and_definition_agree(omega, seed):
    net, proposals = drawn(seed, omega)
    seeds = net._seeds
    own = net.log_likelihood(proposals, proposals.seeds).diagonal()
    definition = [
        oracles.plausible_seeds(net.tables, y, seeds[s], seeds, [int(o)], Fraction(4))
        for y, s, o in zip(proposals.candidates, proposals.seeds, proposals.omega, strict=True)
    ]
    for gamma in (1.01, 4.0, 1e6):  # irrelevant: all plausible seeds of a known omega are equally likely
        looked_up = net.count_plausible(proposals, gamma)
        likelihood = lambda rows: net.log_likelihood(proposals, rows)  # noqa: E731
        scanned = scan_plausible_seeds(likelihood, own, len(seeds), gamma=gamma, chunk=7)
        assert looked_up.tolist() == scanned.tolist() == definition
        assert (looked_up >= 1).all()  # the true seed is always plausible


def mixture_log_likelihood(
    net: BayesianNetwork, proposals: Proposals, omegas, rows: np.ndarray
) -> np.ndarray:
    """The generic form for the scan: one likelihood for every candidate and record."""
    order = list(net.order)
    by_shared = net.mixture_log_likelihood(proposals.candidates, omegas)
    shared = [
        [oracles.shared_length(y[order], s[order]) for s in net._seeds[rows]] for y in proposals.candidates
    ]
    return np.take_along_axis(by_shared, np.array(shared), axis=1)


@pytest.mark.parametrize("omegas", [(1, 2), (0, 1, 2, 3, 4), (2,), (1, 4), (3, 3, 1)])
@pytest.mark.parametrize("seed", fast_and_nightly([0], [1]))
def test_hidden_omega_look_up_scan_and_definition_agree(omegas, seed):
    net, _ = drawn(seed, 2)
    rng = KeyedRNG.from_seed(seed)
    rows = rng.integers(60, 40)
    omega = np.array(omegas)[rng.integers(len(omegas), 40)]
    proposals = net.propose(rows, omega, rng)
    own = mixture_log_likelihood(net, proposals, omegas, rows).diagonal()
    exact = [[oracles.mixture(net.tables, y, s, omegas) for s in net._seeds] for y in proposals.candidates]
    with np.errstate(divide="ignore"):
        wanted = np.log(np.array(exact, dtype=float))
    likelihood = lambda rows: mixture_log_likelihood(net, proposals, omegas, rows)  # noqa: E731
    np.testing.assert_allclose(likelihood(np.arange(60)), wanted, rtol=1e-9)
    for gamma in (1.2, 4.0, 64.0):
        looked_up = net.count_plausible_mixture(proposals, omegas, gamma)
        scanned = scan_plausible_seeds(likelihood, own, 60, gamma=gamma, chunk=13)
        definition = [
            oracles.plausible_seeds(net.tables, y, net._seeds[s], net._seeds, omegas, Fraction(gamma))
            for y, s in zip(proposals.candidates, rows, strict=True)
        ]
        assert looked_up.tolist() == scanned.tolist() == definition


def hidden_example() -> tuple[BayesianNetwork, Proposals]:
    """Two binary columns, omega 0 or 1 hidden; one seed (0, 0) and nine seeds (0, 1); the candidate is (0, 0).

    The seed (0, 0) makes it with probability (1 + 1/8) / 2, each other with probability (0 + 1/8) / 2: 9 times less.
    """
    half = ConditionalTable(child=0, parents=(), buckets=(), probabilities=np.array([[0.5, 0.5]]))
    rare = ConditionalTable(child=1, parents=(), buckets=(), probabilities=np.array([[0.125, 0.875]]))
    net = BayesianNetwork([half, rare])
    net.attach_seeds(SeedRecords(np.array([[0, 0]] + [[0, 1]] * 9)))
    return net, Proposals(candidates=np.array([[0, 0]]), seeds=np.array([0]), omega=np.array([1]))


def test_with_hidden_omega_another_gamma_gives_another_count():
    net, proposals = hidden_example()
    assert net.count_plausible_mixture(proposals, (0, 1), 4.0).tolist() == [1]
    assert net.count_plausible_mixture(proposals, (0, 1), 16.0).tolist() == [1]  # 9/16, and 1/16: the edge
    assert net.count_plausible_mixture(proposals, (0, 1), 17.0).tolist() == [10]
    for gamma in (4.0, 17.0):
        assert net.count_plausible(proposals, gamma).tolist() == [10]  # known omega: gamma does not matter


def test_a_seed_that_shares_more_than_was_kept_counts_by_what_it_shares():
    """The seed's partition uses the common prefix, not m - omega: control with the latter gives another count."""
    net, proposals = hidden_example()
    partitions = partition_number(net.mixture_log_likelihood(proposals.candidates, (0, 1)), 4.0)[0]
    by_kept, by_shared = partitions[1], partitions[2]
    assert by_kept != by_shared
    assert net.count_plausible_mixture(proposals, (0, 1), 4.0).tolist() == [1]
    assert sum(partitions[s] == by_kept for s in [2] + [1] * 9) == 9  # what the planted bug would return


def test_an_impossible_candidate_has_no_plausible_seeds():
    never = lambda rows: np.full((1, len(rows)), -np.inf)  # noqa: E731
    assert scan_plausible_seeds(never, np.array([-np.inf]), 10, gamma=4.0).tolist() == [0]


def test_counting_needs_seeds():
    net = network(0)
    proposals = Proposals(candidates=np.zeros((1, 4), dtype=int), seeds=np.array([0]), omega=np.array([1]))
    for count in (
        lambda: net.count_plausible(proposals, 4.0),
        lambda: net.count_plausible_mixture(proposals, (1, 2), 4.0),
    ):
        with pytest.raises(RuntimeError, match="attach_seeds"):
            count()
