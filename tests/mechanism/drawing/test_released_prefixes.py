"""What the release test lets out, and the law of the rows that are drawn from it."""

from fractions import Fraction

import numpy as np
import oracles
import pytest
from networks import FALSE_ALARM, UNIVERSE, Fixed, network, p_value

from sdv_plausible.mechanism.drawing import released_prefixes
from sdv_plausible.mechanism.drawing.mechanism import TooFewReleasedError
from sdv_plausible.mechanism.drawing.released_prefixes import LEAST_WEIGHTED, ReleasedPrefixes, ReleasedSeeds
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.models.conditional_table import ConditionalTable
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

ALONE = ReleasedPrefixes(kept=0, prefixes=np.empty((1, 0), dtype=int), sizes=np.ones(1, dtype=int))
SOME = ReleasedPrefixes(kept=2, prefixes=np.array([[0, 1], [1, 0], [1, 1]]), sizes=np.array([50, 30, 20]))
RELEASED = ReleasedSeeds(parts=(SOME, ALONE))  # prefixes over columns 2 and 0, and the model alone


def exact_law(net, known=()):
    """Half of the rows from the prefixes by their sizes, half from the model alone; of those with the known values."""
    prefix = {(0, 1): Fraction(1, 2), (1, 0): Fraction(3, 10), (1, 1): Fraction(1, 5)}
    law = []
    for y in UNIVERSE:
        given_prefix = oracles.likelihood(net.tables, y, y, 2) * prefix.get((y[2], y[0]), Fraction(0))
        law.append((given_prefix + oracles.likelihood(net.tables, y, y, 4)) / 2)
    fits = [all(y[c] == v for c, v in dict(known).items()) for y in UNIVERSE]
    law = [p if fit else Fraction(0) for p, fit in zip(law, fits, strict=True)]
    return [p / sum(law) for p in law]


def test_released_seeds_have_the_exact_law():
    """Systematic rows scatter less than independent ones: chi-square is on the safe side. Control: equal weights."""
    net = network()
    assert p_value(RELEASED.sample(20_000, net, KeyedRNG.from_seed(2)), exact_law(net)) > FALSE_ALARM
    equal = ReleasedPrefixes(kept=2, prefixes=SOME.prefixes, sizes=np.ones(3, dtype=int))
    rows = ReleasedSeeds(parts=(equal, ALONE)).sample(20_000, net, KeyedRNG.from_seed(2))
    assert p_value(rows, exact_law(net)) < FALSE_ALARM


def test_known_values_give_the_exact_conditional():
    """Known columns inside the prefix and beyond it; 400 of a pool of 20,000. Control: rows without their weights."""
    net = network()
    for known in ({3: 2}, {0: 1}, {2: 1, 1: 2}, {0: 1, 3: 2}, {0: 1, 1: 2, 2: 1, 3: 0}):
        rows = RELEASED.sample_given(400, known, net, KeyedRNG.from_seed(8))
        assert len(rows) == 400
        assert p_value(rows, exact_law(net, known)) > FALSE_ALARM
    known, rng = {3: 2}, KeyedRNG.from_seed(8)
    starts = [(part.start(5000, net, rng), part.kept) for part in (SOME, ALONE)]
    drawn = [net.complete_given(*start, known, rng) for start in starts]
    unweighted = np.concatenate([codes for codes, _ in drawn])
    assert p_value(unweighted, exact_law(net, known)) < FALSE_ALARM


def test_known_values_of_each_row_give_the_exact_conditional():
    """Rejection sampling, rows of two combinations mixed: each has its conditional law. Control: all tries accepted."""
    net, which = network(), np.arange(4000) % 2
    first = [{0: 1}, {0: 0}]
    for known in ([{3: 2}, {3: 1}], [{2: 1, 1: 2}, {2: 0, 1: 0}], [{0: 1, 3: 2}, {0: 0, 3: 3}], first):
        each = {c: np.array([known[0][c], known[1][c]])[which] for c in known[0]}
        codes, found = RELEASED.sample_each(each, net, KeyedRNG.from_seed(8))
        assert found.all()
        for i, one in enumerate(known):
            assert p_value(codes[which == i], exact_law(net, one)) > FALSE_ALARM
    net.max_log_weight = lambda known, kept: np.full(len(which), -100.0)
    codes, _ = RELEASED.sample_each(each, net, KeyedRNG.from_seed(8))
    assert p_value(codes[which == 0], exact_law(net, first[0])) < FALSE_ALARM


def test_rows_that_cannot_be_are_not_found_and_no_weight_is_above_its_bound():
    net = network()
    y = next(y for y in UNIVERSE if oracles.likelihood(net.tables, y, y, 4) == 0)
    each = {c: np.array([v, UNIVERSE[0][c]]) for c, v in enumerate(y)}
    assert not RELEASED.sample_each(each, net, KeyedRNG.from_seed(0))[1][0]
    assert RELEASED.sample_given(5, dict(enumerate(y)), net, KeyedRNG.from_seed(0)).shape == (0, 4)
    codes = np.array(UNIVERSE, dtype=np.int32)
    known = {1: codes[:, 1], 3: codes[:, 3]}
    for kept in (0, 2, 4):
        _, weight = net.complete_given(codes.copy(), kept, known, KeyedRNG.from_seed(0))
        assert (weight <= net.max_log_weight(known, kept) + 1e-12).all()


def test_rows_of_weight_zero_are_never_chosen(monkeypatch):
    """At u next to 1 rounding must not fall behind the last row with weight: rows of another prefix follow."""
    first = ConditionalTable(child=0, parents=(), buckets=(), probabilities=np.array([[0.5, 0.5]]))
    chances = np.array([[0.3, 0.7], [0.0, 1.0]])
    second = ConditionalTable(child=1, parents=(0,), buckets=(np.arange(2),), probabilities=chances)
    net, rng = BayesianNetwork([first, second]), Fixed.at(1 - 2.0**-53)

    def ordered(codes, kept, known, rng):
        """First rows that fit, with weights whose sum rounds; then one that does not fit."""
        codes = np.zeros((len(codes), 2), dtype=int)
        codes[-1] = 1
        weight = np.log(np.full(len(codes), 0.1))
        weight[-1] = -np.inf
        return codes, weight

    monkeypatch.setattr(net, "complete_given", ordered)
    assert (ReleasedSeeds(parts=(ALONE,)).sample_given(3, {1: 0}, net, rng) == 0).all()
    _, log_weight = ordered(np.zeros((LEAST_WEIGHTED, 2)), 0, {}, rng)
    cumulative = np.cumsum(np.exp(log_weight - log_weight.max()))
    # Control: weights shared out first and added up then fall short of 1, and u behind the last row that fits.
    short = np.cumsum(np.exp(log_weight - log_weight.max()) / cumulative[-1])
    assert np.searchsorted(short, 1 - 2.0**-53, side="right") >= LEAST_WEIGHTED - 1


def test_prefixes_are_sorted_with_their_sizes():
    """In an order that says nothing: that of the values."""
    rng, prefixes = np.random.default_rng(0), np.array([[2, 0], [0, 1], [0, 0], [1, 5], [0, 7]])
    for order in (rng.permutation(5) for _ in range(5)):
        made = ReleasedPrefixes.sort(prefixes[order], np.arange(5)[order] * 10)
        assert made.prefixes.tolist() == [[0, 0], [0, 1], [0, 7], [1, 5], [2, 0]]
        assert made.sizes.tolist() == [20, 10, 40, 30, 0]
        assert made.kept == 2


def test_prefixes_start_rows_in_proportion_to_their_sizes():
    """At every point of the unit interval, its ends included: never one without size at the edge of another."""
    net = network()
    for points, prefix in (((0.0, 0.4999), [0, 1]), ((0.5, 0.7999), [1, 0]), ((0.8, 1 - 2.0**-53), [1, 1])):
        for u in points:
            codes = SOME.start(3, net, Fixed.at(u))
            assert codes[:, [2, 0]].tolist() == [prefix] * 3
            assert (codes[:, [1, 3]] == 0).all()
    assert (ALONE.start(3, net, Fixed.at(0.5)) == 0).all()


def test_rows_of_many_are_drawn_independently(monkeypatch):
    """Beyond so many rows nothing is spread evenly: the law is the same. Control: few rows scatter less than chance."""
    net, seen = network(), []
    honest = net.complete

    def complete(*told, systematic=False):
        seen.append(systematic)
        return honest(*told, systematic=systematic)

    monkeypatch.setattr(released_prefixes, "SYSTEMATIC_ROWS", 1000)
    net.complete = complete
    assert p_value(RELEASED.sample(20_000, net, KeyedRNG.from_seed(2)), exact_law(net)) > FALSE_ALARM
    RELEASED.sample(1000, net, KeyedRNG.from_seed(2))
    assert seen == [False, True]


def test_parts_of_which_nothing_was_released_are_left_out():
    """Where nothing is left it is one clear error."""
    empty = ReleasedPrefixes(kept=1, prefixes=np.empty((0, 1), dtype=int), sizes=np.empty(0, dtype=int))
    assert ReleasedSeeds(parts=(empty, SOME, ALONE)).usable() == (SOME, ALONE)
    nothing, net, said = ReleasedSeeds(parts=(empty,)), network(), r"share 1 attributes.*lower k"
    with pytest.raises(TooFewReleasedError, match=said):
        nothing.sample(3, net, KeyedRNG.from_seed(0))
    with pytest.raises(TooFewReleasedError, match=said):
        nothing.sample_given(3, {0: 1}, net, KeyedRNG.from_seed(0))
