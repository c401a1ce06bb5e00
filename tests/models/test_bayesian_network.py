"""The network: its likelihood is the definition, its sampler draws what the likelihood says."""

import itertools
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import CARDS, FALSE_ALARM, UNIVERSE, network, p_value, table

from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.models import bayesian_network, conditional_table
from sdv_plausible.models.base import Proposals
from sdv_plausible.models.bayesian_network import BayesianNetwork, topological_order
from sdv_plausible.models.conditional_table import ConditionalTable
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.queryable import SeedRecords


@st.composite
def networks(draw):
    """Any structure over up to five columns, with any buckets, in any order of columns."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m = draw(st.integers(1, 5))
    cards = rng.integers(1, 4, m)
    order = rng.permutation(m)
    tables = []
    for position, child in enumerate(order):
        parents = rng.permutation(order[:position])[: rng.integers(0, position + 1)].tolist()
        buckets = [np.unique(rng.integers(0, cards[p], cards[p]), return_inverse=True)[1] for p in parents]
        zeros = bool(rng.integers(2))
        tables.append(table(int(child), parents, buckets, int(cards[child]), rng, zeros=zeros))
    return BayesianNetwork(tables)


@settings(max_examples=60, deadline=None)
@given(networks(), st.integers(0, 2**32 - 1))
def test_likelihood_is_the_definition_and_sums_to_one(net, seed):
    """For every seed of a small universe, and every omega: all candidates together have probability 1."""
    candidates = np.array(oracles.universe(net.cardinalities))
    rng = np.random.default_rng(seed)
    seeds = candidates[rng.integers(0, len(candidates), 3)]
    net.attach_seeds(SeedRecords(seeds))
    for omega in range(net.num_attributes + 1):
        own, of_each = np.zeros(len(candidates), dtype=int), np.full(len(candidates), omega)
        proposals = Proposals(candidates=candidates, seeds=own, omega=of_each)
        found = net.log_likelihood(proposals, np.arange(3))
        exact = [[oracles.likelihood(net.tables, y, s, omega) for s in seeds] for y in candidates]
        assert all(abs(sum(column) - 1) < Fraction(1, 10**12) for column in zip(*exact, strict=True))
        np.testing.assert_allclose(np.exp(found), np.array(exact, dtype=float), rtol=1e-12)
        np.testing.assert_allclose(np.exp(found).sum(axis=0), 1, rtol=1e-12)


def test_every_candidate_has_its_own_omega():
    net, rng = network(), np.random.default_rng(0)
    net.attach_seeds(SeedRecords(np.array(UNIVERSE)))
    candidates, omega = np.array(UNIVERSE)[rng.integers(0, 48, 100)], rng.integers(0, 5, 100)
    proposals = Proposals(candidates=candidates, seeds=np.zeros(100, dtype=int), omega=omega)
    found = np.exp(net.log_likelihood(proposals, np.arange(48)))
    for of_one, y, o in zip(found, candidates, omega, strict=True):
        wanted = [float(oracles.likelihood(net.tables, y, s, o)) for s in UNIVERSE]
        np.testing.assert_allclose(of_one, wanted, rtol=1e-12)


def proposed(net, omega, seed_row=17):
    net.attach_seeds(SeedRecords(np.array(UNIVERSE)))
    rng = KeyedRNG.from_seed(5)
    rows = np.full(30_000, seed_row)
    return net.propose(rows, Omega.parse(omega).draw(4, len(rows), rng), rng).candidates


def exact(net, omega):
    low, high = (4, 4) if omega == "all" else omega if isinstance(omega, tuple) else (omega, omega)
    return [oracles.mixture(net.tables, y, UNIVERSE[17], range(low, high + 1)) for y in UNIVERSE]


@pytest.mark.parametrize("guided", [False, True])
def test_sampler_agrees_with_the_likelihood(guided, monkeypatch):
    if guided:
        monkeypatch.setattr(conditional_table, "GUIDED_CELLS", 0)
    net = network()
    for omega in (0, 1, 2, 3, "all", (1, 3), (0, 4)):
        assert p_value(proposed(net, omega), exact(net, omega)) > FALSE_ALARM


def test_planted_bugs_are_caught():
    """The last table is read one configuration further on; the buckets of its two parents are exchanged."""
    net, last = network(), network().tables[3]
    shifted = {"probabilities": np.roll(last.probabilities, 1, axis=0)}
    swapped = {"parents": last.parents[::-1], "buckets": last.buckets[::-1]}
    for change, omega in itertools.product((shifted, swapped), (1, (1, 3), "all")):
        wrong = BayesianNetwork([*net.tables[:3], replace(last, **change)])
        assert p_value(proposed(wrong, omega), exact(net, omega)) < FALSE_ALARM


def test_a_candidate_keeps_the_seed_where_it_should():
    net, seeds, rng = network(), np.array(UNIVERSE), KeyedRNG.from_seed(0)
    net.attach_seeds(SeedRecords(seeds))
    rows, omega = rng.integers(48, 500), rng.integers(5, 500)
    made = net.propose(rows, omega, rng)
    for position, column in enumerate(net.order):
        kept = position < 4 - omega
        assert (made.candidates[kept, column] == seeds[rows[kept], column]).all()
    assert (made.candidates[omega == 0] == seeds[rows[omega == 0]]).all()
    assert (made.seeds == rows).all()
    assert (made.omega == omega).all()


def test_order_and_columns_are_checked():
    net = network()
    with pytest.raises(ValueError, match="column 0 comes before one of its parents"):
        BayesianNetwork([net.tables[1], net.tables[0], *net.tables[2:]])
    for tables in ([net.tables[0], net.tables[0]], net.tables[:2] + net.tables[3:]):
        with pytest.raises(ValueError, match="exactly one table"):
            BayesianNetwork(tables)
    assert (net.order, net.cardinalities) == ((2, 0, 1, 3), CARDS)
    again = pickle.loads(pickle.dumps(net))
    assert (again.sample(500, KeyedRNG.from_seed(1)) == net.sample(500, KeyedRNG.from_seed(1))).all()


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


@pytest.mark.parametrize("bug", [None, "of the record before", "kept are drawn too"])
@pytest.mark.parametrize("kept", [0, 2, "each its own"])
def test_many_records_go_through_the_network_as_few_do(kept, bug, monkeypatch):
    """Blocks of an odd size; what is kept stays. False alarm ``FALSE_ALARM``; planted: parents of the record before."""
    net, number = network(), 60_000
    monkeypatch.setattr(bayesian_network, "MANY", 1)
    monkeypatch.setattr(bayesian_network, "AT_ONCE", 4_999)
    if bug == "of the record before":
        draw = ConditionalTable.draw_many
        other = lambda self, codes, rng: draw(self, np.roll(codes, 1, 0), rng)  # noqa: E731
        monkeypatch.setattr(ConditionalTable, "draw_many", other)
    seeds = net.sample(number, KeyedRNG.from_seed(1))
    lengths = np.arange(number) % 5 if kept == "each its own" else np.full(number, kept)
    given = np.where(bug == "kept are drawn too", 0, lengths)
    codes = net.complete(seeds.copy(), given, KeyedRNG.from_seed(2))
    assert codes.dtype == seeds.dtype
    kept_at = [(lengths > position, child) for position, child in enumerate(net.order)]
    stays = all((codes[kept, child] == seeds[kept, child]).all() for kept, child in kept_at)
    law = [Fraction(float(p)) for p in np.exp(net.log_suffix(np.array(UNIVERSE))[:, 0])]
    is_right = stays and p_value(codes, law) > FALSE_ALARM
    assert is_right == (bug is None or (bug == "kept are drawn too" and kept == 0))
