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
from sdv_plausible.privacy.noise.coins import Coins


def released(net):
    """Prefixes over columns 2 and 0 with unequal noisy sizes, and the model alone."""
    return ReleasedSeeds(
        parts=(
            ReleasedPrefixes(
                kept=2, prefixes=np.array([[0, 1], [1, 0], [1, 1]]), sizes=np.array([50, 30, 20])
            ),
            ReleasedPrefixes(kept=0, prefixes=np.empty((1, 0), dtype=int), sizes=np.ones(1, dtype=int)),
        )
    )


def exact_law(net):
    """Half of the rows from the prefixes by their sizes, half from the model alone."""
    prefix = {(0, 1): Fraction(1, 2), (1, 0): Fraction(3, 10), (1, 1): Fraction(1, 5)}
    law = []
    for y in UNIVERSE:
        given_prefix = oracles.likelihood(net.tables, y, y, 2) * prefix.get((y[2], y[0]), Fraction(0))
        law.append((given_prefix + oracles.likelihood(net.tables, y, y, 4)) / 2)
    return law


def test_released_seeds_have_the_exact_law():
    """Systematic rows scatter less than independent ones, so that chi-square is on the safe side.

    Control: prefixes by equal weights are caught.
    """
    net = network()
    assert p_value(released(net).sample(20_000, net, Coins.from_seed(2)), exact_law(net)) > FALSE_ALARM
    parts = released(net).parts
    equal = ReleasedPrefixes(kept=2, prefixes=parts[0].prefixes, sizes=np.ones(3, dtype=int))
    rows = ReleasedSeeds(parts=(equal, parts[1])).sample(20_000, net, Coins.from_seed(2))
    assert p_value(rows, exact_law(net)) < FALSE_ALARM


@pytest.mark.parametrize("known", [{3: 2}, {0: 1}, {2: 1, 1: 2}, {0: 1, 3: 2}, {0: 1, 1: 2, 2: 1, 3: 0}])
def test_known_values_give_the_exact_conditional(known):
    """Likelihood weighting and resampling, for known columns inside the prefix, beyond it, and both.

    A pool of 20,000 is resampled to 400 rows, so that the pool's own scatter hardly matters.
    Control: the rows without their weights are caught for a known last column.
    """
    net = network()
    law = [
        p if all(y[c] == v for c, v in known.items()) else Fraction(0)
        for y, p in zip(UNIVERSE, exact_law(net), strict=True)
    ]
    total = sum(law)
    law = [p / total for p in law]
    rows = released(net).sample_given(400, known, net, Coins.from_seed(8))
    assert len(rows) == 400
    assert p_value(rows, law) > FALSE_ALARM
    if known == {3: 2}:
        parts = released(net).parts
        coins = Coins.from_seed(8)
        drawn = [net.complete_given(part.start(5000, net, coins), part.kept, known, coins) for part in parts]
        unweighted = np.concatenate([codes for codes, _ in drawn])
        assert p_value(unweighted, law) < FALSE_ALARM


def law_given(net, known):
    law = [
        p if all(y[c] == v for c, v in known.items()) else Fraction(0)
        for y, p in zip(UNIVERSE, exact_law(net), strict=True)
    ]
    return [p / sum(law) for p in law]


@pytest.mark.parametrize("known", [[{3: 2}, {3: 1}], [{0: 1}, {0: 0}], [{2: 1, 1: 2}, {2: 0, 1: 0}], [{0: 1, 3: 2}, {0: 0, 3: 3}]])  # fmt: skip
def test_known_values_of_each_row_give_the_exact_conditional(known):
    """Rejection sampling, rows of two combinations mixed: each combination's rows have its conditional law.

    Control: with all tries accepted, that is, without their weights, a known first column is caught.
    """
    net, rows = network(), 4000
    which = np.arange(rows) % 2
    each = {c: np.array([known[0][c], known[1][c]])[which] for c in known[0]}
    codes, found = released(net).sample_each(each, net, Coins.from_seed(8))
    assert found.all()
    for i, one in enumerate(known):
        assert p_value(codes[which == i], law_given(net, one)) > FALSE_ALARM
    if known[0] == {0: 1}:
        net.most_given = lambda known, kept: np.full(rows, -100.0)
        codes, _ = released(net).sample_each(each, net, Coins.from_seed(8))
        assert p_value(codes[which == 0], law_given(net, known[0])) < FALSE_ALARM


def test_rows_that_cannot_be_are_not_found():
    net = network()
    y = next(y for y in UNIVERSE if oracles.likelihood(net.tables, y, y, 4) == 0)
    each = {c: np.array([v, UNIVERSE[0][c]]) for c, v in enumerate(y)}
    assert not released(net).sample_each(each, net, Coins.from_seed(0))[1][0]


@pytest.mark.parametrize("kept", [0, 2, 4])
def test_no_weight_is_above_its_bound(kept):
    net = network()
    codes = np.array(UNIVERSE, dtype=np.int32)
    known = {1: codes[:, 1], 3: codes[:, 3]}
    _, weight = net.complete_given(codes.copy(), kept, known, Coins.from_seed(0))
    assert (weight <= net.most_given(known, kept) + 1e-12).all()


def test_impossible_known_values_give_no_row():
    net = network()
    y = next(y for y in UNIVERSE if oracles.likelihood(net.tables, y, y, 4) == 0)
    assert released(net).sample_given(5, dict(enumerate(y)), net, Coins.from_seed(0)).shape == (0, 4)


def test_rows_of_weight_zero_are_never_chosen(monkeypatch):
    """At u next to 1 rounding must not fall behind the last row with weight: here only rows of another prefix follow."""
    net = BayesianNetwork(
        [
            ConditionalTable(child=0, parents=(), buckets=(), probabilities=np.array([[0.5, 0.5]])),
            ConditionalTable(
                child=1,
                parents=(0,),
                buckets=(np.arange(2),),
                probabilities=np.array([[0.3, 0.7], [0.0, 1.0]]),
            ),
        ]
    )
    coins = Fixed.at(1 - 2.0**-53)

    def ordered(codes, kept, known, coins):
        """First rows that fit, with weights whose sum rounds; then one that does not fit."""
        codes = np.zeros((len(codes), 2), dtype=int)
        codes[-1] = 1
        weight = np.log(np.full(len(codes), 0.1))
        weight[-1] = -np.inf
        return codes, weight

    monkeypatch.setattr(net, "complete_given", ordered)
    part = ReleasedPrefixes(kept=0, prefixes=np.empty((1, 0), dtype=int), sizes=np.ones(1, dtype=int))
    assert (ReleasedSeeds(parts=(part,)).sample_given(3, {1: 0}, net, coins) == 0).all()
    _, log_weight = ordered(np.zeros((LEAST_WEIGHTED, 2)), 0, {}, coins)
    cumulative = np.cumsum(np.exp(log_weight - log_weight.max()))
    # Control: of weights shared out first and added up then, the sum falls short of 1, and u behind the last row that fits.
    short = np.cumsum(np.exp(log_weight - log_weight.max()) / cumulative[-1])
    assert np.searchsorted(short, 1 - 2.0**-53, side="right") >= LEAST_WEIGHTED - 1


def test_prefixes_are_sorted_with_their_sizes():
    """In an order that says nothing: that of the values."""
    rng = np.random.default_rng(0)
    prefixes = np.array([[2, 0], [0, 1], [0, 0], [1, 5], [0, 7]])
    for _ in range(5):
        order = rng.permutation(5)
        made = ReleasedPrefixes.sort(prefixes[order], np.arange(5)[order] * 10)
        assert made.prefixes.tolist() == [[0, 0], [0, 1], [0, 7], [1, 5], [2, 0]]
        assert made.sizes.tolist() == [20, 10, 40, 30, 0]
        assert made.kept == 2


def test_prefixes_start_rows_in_proportion_to_their_sizes(monkeypatch):
    """At every point of the unit interval, its ends included: never one without size at the edge of another."""
    net = network()
    (part, alone) = released(net).parts
    for u, prefix in (
        (0.0, [0, 1]),
        (0.4999, [0, 1]),
        (0.5, [1, 0]),
        (0.7999, [1, 0]),
        (0.8, [1, 1]),
        (1 - 2.0**-53, [1, 1]),
    ):
        codes = part.start(3, net, Fixed.at(u))
        assert codes[:, [2, 0]].tolist() == [prefix] * 3
        assert (codes[:, [1, 3]] == 0).all()
    assert (alone.start(3, net, Fixed.at(0.5)) == 0).all()


def test_rows_of_many_are_drawn_independently(monkeypatch):
    """Beyond so many rows nothing is spread evenly: the law is the same. Control: few rows scatter less than chance."""
    net = network()
    monkeypatch.setattr(released_prefixes, "SYSTEMATIC_ROWS", 1000)
    seen = []
    honest = type(net).complete
    monkeypatch.setattr(
        type(net), "complete", lambda self, *a, systematic=False: seen.append(systematic) or honest(self, *a, systematic=systematic)
    )  # fmt: skip
    assert p_value(released(net).sample(20_000, net, Coins.from_seed(2)), exact_law(net)) > FALSE_ALARM
    released(net).sample(1000, net, Coins.from_seed(2))
    assert seen == [False, True]


def test_parts_of_which_nothing_was_released_are_left_out():
    net = network()
    part, alone = released(net).parts
    empty = ReleasedPrefixes(kept=1, prefixes=np.empty((0, 1), dtype=int), sizes=np.empty(0, dtype=int))
    assert ReleasedSeeds(parts=(empty, part, alone)).usable() == (part, alone)
    with pytest.raises(TooFewReleasedError, match="share 1 attributes"):
        ReleasedSeeds(parts=(empty,)).sample(3, net, Coins.from_seed(0))
