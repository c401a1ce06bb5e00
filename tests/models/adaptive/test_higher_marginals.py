"""Tables of three and four columns: what is scored, how far scores move, what is chosen, and what is made of them."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import spies
from doors import door, learn

from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.adaptive.higher_marginals import (
    HigherMarginals,
    candidate_sets,
    make_levels,
    with_higher_marginals,
)
from sdv_plausible.models.adaptive.maximum_entropy import Estimates
from sdv_plausible.models.adaptive.schedule import Schedule, SetRound
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import Axis, CodeArray, L1Distances
from sdv_plausible.table.columns.domain import Attribute, Domain

CARDS = (2, 2, 2, 3, 2)
COLUMNS = [Attribute(name=f"c{j}", kind="categorical", values=tuple(range(c))) for j, c in enumerate(CARDS)]
DOMAIN = Domain(tuple(COLUMNS))
UNIVERSE = list(itertools.product(*(range(c) for c in CARDS)))
ROUND = SetRound(score_share=0.1, table_share=0.3, most=100)


def parity(n, bits=2, seed=0):
    """The last column is the parity of the first ones, with a tenth of flips; no pair depends."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, c, n) for c in CARDS], axis=1)
    codes[:, -1] = (codes[:, :bits].sum(1) + (rng.random(n) < 0.1)) % 2
    return codes.astype(np.int32)


def agreement(codes, bits=2):
    """How often the last column is the parity of the first ones."""
    return float((codes[:, -1] == codes[:, :bits].sum(1) % 2).mean())


def fitted(codes, epsilon):
    """Rows of a network that was learned."""
    budget = ModelBudget(epsilon=epsilon, delta=1e-9)
    ledger, rng = PrivacyLedger(delta=1e-9), KeyedRNG.from_seed(4)
    network = learn(AdaptiveNetwork(), codes, DOMAIN, budget, ledger, rng)
    return network.complete(np.zeros((20_000, len(CARDS)), dtype=np.int32), 0, KeyedRNG.from_seed(2))


def tables(codes, mu, simulated=None):
    axes = [Axis.of_codes(j, c) for j, c in enumerate(CARDS)]
    model = parity(50_000, seed=9) if simulated is None else simulated
    return HigherMarginals(door(codes, CARDS, mu, KeyedRNG.from_seed(1)), axes, model, len(codes))


def independent(n):
    rng = np.random.default_rng(8)
    return np.stack([rng.integers(0, c, n) for c in CARDS], axis=1).astype(np.int32)


def test_what_no_pair_shows_is_learned(monkeypatch):
    """Seeded: nine tenths agree with the parity, and so do the model's, but for 2 %. Control: pairs alone."""
    for bits, epsilon in itertools.product((2, 3), (1.0, 10.0, math.inf)):
        codes = parity(20_000, bits)
        assert agreement(fitted(codes, epsilon), bits) == pytest.approx(agreement(codes, bits), abs=0.02)
    made = Schedule.make
    monkeypatch.setattr(Schedule, "make", lambda *args: replace(made(*args), sets=None))
    assert agreement(fitted(parity(20_000), math.inf)) == pytest.approx(0.5, abs=0.03)


def worst_moves(codes):
    """Of every vector of scores of a real fit: how many there are, its longest move, and what its noise was for."""
    with spies.watched() as seen:
        fitted(codes, 5.0)
    found = []
    for asked in seen:
        if asked.kind == "L1Distances":
            neighbours = [CodeArray(np.vstack([codes, row]).astype(np.int32), CARDS) for row in UNIVERSE]
            neighbours += [CodeArray(np.delete(codes, i, axis=0), CARDS) for i in range(5)]
            worst = max(asked.move(other) for other in neighbours)
            found.append((len(asked.answer.values), worst, asked.calls[0].sensitivity))
    return found


def test_scores_of_sets_move_as_far_as_their_noise_is_for(monkeypatch):
    """By every row that may come: 10 sets of three, 5 of four move by the root of 15. Planted: a single score."""
    found = worst_moves(parity(3000))
    assert found[-1][0] == 15
    assert all(worst <= stated * (1 + 1e-12) for _, worst, stated in found)
    assert found[-1][1] == pytest.approx(math.sqrt(15))
    monkeypatch.setattr(L1Distances, "sensitivity", lambda self, neighbours: 1.0)
    assert any(worst > stated for _, worst, stated in worst_moves(parity(3000)))


def strength(i, j):
    return float({(2, 5): 3, (0, 1): 2}.get((i, j), 0))


def test_all_sets_are_scored_where_there_is_room_else_those_that_hold_the_strongest_links():
    threes, fours = (list(itertools.combinations(range(6), size)) for size in (3, 4))
    assert candidate_sets(range(6), 35, strength) == threes + fours
    assert candidate_sets(range(6), 34, strength) == threes
    assert candidate_sets([1, 4], 10, strength) == []
    strongest = [(0, 2, 5), (1, 2, 5), (2, 3, 5), (2, 4, 5), (0, 1, 2), (0, 1, 3)]
    assert candidate_sets(range(6), 6, strength) == strongest
    assert len(set(candidate_sets(range(400), 5000, strength))) == 5000


def test_of_sets_within_one_another_one_is_measured():
    """The exclusive or is in every set that holds its three columns: the smallest table goes first."""
    found = tables(parity(5000), 1.0, independent(50_000))
    assert found.measure(candidate_sets(range(5), 100, strength), ROUND)
    assert list(found._measured) == [(0, 1, 4)]
    assert found._rows._meter.share == pytest.approx(ROUND.score_share + ROUND.table_share)


def test_nothing_is_measured_where_the_model_is_right():
    """Seeded; at this noise any of 15 scores stands out in one of some twenty runs at most."""
    found = tables(parity(5000), 1.0)
    assert not found.measure([], ROUND)
    assert found._rows._meter.share == 0  # nothing is asked where there is no set
    assert not found.measure(candidate_sets(range(5), 100, strength), ROUND)
    assert found._rows._meter.share == pytest.approx(ROUND.score_share)
    assert found.cleaned(lambda part: None) == {}


def estimates(codes):
    single = [np.bincount(codes[:, j], minlength=c) / len(codes) for j, c in enumerate(CARDS)]
    own = [np.arange(c) for c in CARDS]
    return Estimates(margins=single, coarse=single, buckets=own, pairs={}, levels=own)


def test_without_noise_the_tables_are_the_rows_and_a_measured_pair_stays():
    codes = parity(5000)
    found = tables(codes, math.inf, independent(50_000))
    found.measure([(0, 1, 4)], ROUND)
    made = with_higher_marginals(estimates(codes), found)
    counts = np.zeros((2, 2, 2))
    np.add.at(counts, tuple(codes[:, [0, 1, 4]].T), 1 / len(codes))
    np.testing.assert_allclose(made.sets[0, 1, 4], counts, atol=1e-6)
    assert not made.pairs
    found, known = tables(codes, 0.5, independent(50_000)), estimates(codes)
    found.measure([(0, 1, 4)], ROUND)
    pair = np.outer(known.coarse[0], known.coarse[4])
    made = with_higher_marginals(replace(known, pairs={(0, 4): pair, (4, 0): pair.T}), found)
    np.testing.assert_allclose(made.sets[0, 1, 4].sum(1), pair, atol=1e-6)


def test_noise_alone_is_shrunk_away():
    """Where the rows are as the model says, what is measured stays near it: nearer than the noise that was added."""
    codes = independent(2000)
    found = tables(codes, 0.05, independent(50_000))
    answer = found._rows.ask_tables([found._axes_of((0, 1, 2))], [0.3])[0]
    found._measured = {(0, 1, 2): (answer, before := found._estimate((0, 1, 2)))}
    cleaned = found.cleaned(lambda part: None)[0, 1, 2] * len(codes)
    assert np.abs(cleaned - before).sum() < 0.5 * np.abs(answer.values - before).sum()


def test_levels_are_few_and_hold_mass():
    masses = [np.full(40, 1 / 40), np.array([0.6, 0.3, 0.05, 0.03, 0.02]), np.array([1.0])]
    levels = make_levels(masses, [True, False, False])
    assert [int(level.max()) + 1 for level in levels] == [4, 4, 1]
    assert np.bincount(levels[0], masses[0]).min() > 0.15
    assert levels[1].tolist() == [0, 1, 2, 3, 3]
