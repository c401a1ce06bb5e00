"""The network: its likelihood is the definition, its sampler draws what the likelihood says."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from sdv_plausible.models import conditional_table
from sdv_plausible.models.base import Proposals
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.models.conditional_table import ConditionalTable
from sdv_plausible.models.omega import Omega
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.questions.queryable import SeedRecords
from sdv_plausible.release.released_prefixes import ReleasedPrefixes, ReleasedSeeds

FALSE_ALARM = 1e-6  # of every statistical test here; the coins are fixed, so that a pass stays a pass
CARDS = (2, 3, 2, 4)
UNIVERSE = oracles.universe(CARDS)


def table(child, parents, buckets, cardinality, rng, zeros=False) -> ConditionalTable:
    configurations = math.prod(int(max(b)) + 1 for b in buckets)
    p = rng.dirichlet(np.ones(cardinality), configurations)
    if zeros and cardinality > 1:
        p[np.arange(configurations), rng.integers(0, cardinality, configurations)] = 0
    p /= p.sum(axis=1, keepdims=True)
    return ConditionalTable(child=child, parents=tuple(parents), buckets=tuple(np.array(b) for b in buckets), probabilities=p)


def network() -> BayesianNetwork:
    """Order 2, 0, 1, 3; the last column has two parents, one of them in buckets; every table has impossible cells."""
    rng = np.random.default_rng(3)
    return BayesianNetwork(
        [
            table(2, (), (), 2, rng),
            table(0, (2,), ([0, 1],), 2, rng),
            table(1, (0,), ([0, 1],), 3, rng, zeros=True),
            table(3, (1, 0), ([1, 0, 1], [0, 1]), 4, rng, zeros=True),
        ]
    )


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
        tables.append(table(int(child), parents, buckets, int(cards[child]), rng, zeros=bool(rng.integers(2))))
    return BayesianNetwork(tables)


# --- likelihood -------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(networks(), st.integers(0, 2**32 - 1))
def test_likelihood_is_the_definition_and_sums_to_one(net, seed):
    """For every seed of a small universe, and every omega: all candidates together have probability 1."""
    candidates = np.array(oracles.universe(net.cardinalities))
    rng = np.random.default_rng(seed)
    seeds = candidates[rng.integers(0, len(candidates), 3)]
    net.attach_seeds(SeedRecords(seeds))
    for omega in range(net.num_attributes + 1):
        proposals = Proposals(
            candidates=candidates, seeds=np.zeros(len(candidates), dtype=int), omega=np.full(len(candidates), omega)
        )
        found = net.log_likelihood(proposals, np.arange(3))
        exact = [[oracles.likelihood(net.tables, y, s, omega) for s in seeds] for y in candidates]
        assert all(abs(sum(column) - 1) < Fraction(1, 10**12) for column in zip(*exact, strict=True))
        np.testing.assert_allclose(np.exp(found), np.array(exact, dtype=float), rtol=1e-12)
        np.testing.assert_allclose(np.exp(found).sum(axis=0), 1, rtol=1e-12)


def test_every_candidate_has_its_own_omega():
    net = network()
    net.attach_seeds(SeedRecords(np.array(UNIVERSE)))
    rng = np.random.default_rng(0)
    candidates, omega = np.array(UNIVERSE)[rng.integers(0, 48, 100)], rng.integers(0, 5, 100)
    found = net.log_likelihood(Proposals(candidates=candidates, seeds=np.zeros(100, dtype=int), omega=omega), np.arange(48))
    wanted = [
        [float(oracles.likelihood(net.tables, y, s, o)) for s in UNIVERSE] for y, o in zip(candidates, omega, strict=True)
    ]
    np.testing.assert_allclose(np.exp(found), wanted, rtol=1e-12)


# --- sampler ----------------------------------------------------------------------------------------------------------


def p_value(codes: np.ndarray, probabilities: list[Fraction]) -> float:
    """Chi-square p-value of rows against exact probabilities over the universe; 0 if an impossible row occurs."""
    observed = np.bincount(np.ravel_multi_index(tuple(codes.T), CARDS), minlength=len(UNIVERSE))
    expected = len(codes) * np.array(probabilities, dtype=float)
    if observed[expected == 0].any():
        return 0.0
    used = expected > 0
    small = used & (expected < 5)  # pooled, where the chi-square law would not hold
    observed = np.append(observed[used & ~small], observed[small].sum())
    expected = np.append(expected[used & ~small], expected[small].sum())
    observed, expected = observed[expected > 0], expected[expected > 0]
    if len(expected) < 2:
        return 1.0
    return float(chi2.sf(((observed - expected) ** 2 / expected).sum(), len(expected) - 1))


def proposed(net: BayesianNetwork, omega, seed_row: int = 17) -> np.ndarray:
    net.attach_seeds(SeedRecords(np.array(UNIVERSE)))
    coins = Coins.from_seed(5)
    rows = np.full(30_000, seed_row)
    return net.propose(rows, Omega.parse(omega).draw(4, len(rows), coins), coins).candidates


def shifted(net: BayesianNetwork) -> BayesianNetwork:
    """Planted bug: the last table is read one configuration further on."""
    last = net.tables[3]
    wrong = ConditionalTable(
        child=3, parents=last.parents, buckets=last.buckets, probabilities=np.roll(last.probabilities, 1, axis=0)
    )
    return BayesianNetwork([*net.tables[:3], wrong])


def swapped(net: BayesianNetwork) -> BayesianNetwork:
    """Planted bug: the buckets of two parents are exchanged in the numbering of configurations."""
    last = net.tables[3]
    wrong = ConditionalTable(child=3, parents=last.parents[::-1], buckets=last.buckets[::-1], probabilities=last.probabilities)
    return BayesianNetwork([*net.tables[:3], wrong])


@pytest.mark.parametrize("omega", [0, 1, 2, 3, "all", (1, 3), (0, 4)])
@pytest.mark.parametrize("guided", [False, True])
def test_sampler_agrees_with_the_likelihood(omega, guided, monkeypatch):
    if guided:
        monkeypatch.setattr(conditional_table, "GUIDED_CELLS", 0)
    net = network()
    low, high = (4, 4) if omega == "all" else omega if isinstance(omega, tuple) else (omega, omega)
    seed = UNIVERSE[17]
    exact = [oracles.mixture(net.tables, y, seed, range(low, high + 1)) for y in UNIVERSE]
    assert p_value(proposed(net, omega), exact) > FALSE_ALARM


@pytest.mark.parametrize("bug", [shifted, swapped])
@pytest.mark.parametrize("omega", [1, (1, 3), "all"])
def test_planted_bugs_are_caught(bug: Callable[[BayesianNetwork], BayesianNetwork], omega):
    net = network()
    low, high = (4, 4) if omega == "all" else omega if isinstance(omega, tuple) else (omega, omega)
    exact = [oracles.mixture(net.tables, y, UNIVERSE[17], range(low, high + 1)) for y in UNIVERSE]
    assert p_value(proposed(bug(net), omega), exact) < FALSE_ALARM


def test_a_candidate_keeps_the_seed_where_it_should():
    net = network()
    seeds = np.array(UNIVERSE)
    net.attach_seeds(SeedRecords(seeds))
    coins = Coins.from_seed(0)
    rows, omega = coins.integers(48, 500), coins.integers(5, 500)
    made = net.propose(rows, omega, coins)
    for position, column in enumerate(net.order):
        kept = position < 4 - omega
        assert (made.candidates[kept, column] == seeds[rows[kept], column]).all()
    assert (made.candidates[omega == 0] == seeds[rows[omega == 0]]).all()
    assert (made.seeds == rows).all()
    assert (made.omega == omega).all()


class Fixed(Coins):
    """Coins that land where they are told."""

    u = 0.0

    def uniform(self, size=None):
        return np.full(size, self.u)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 2.0**-53, 0.5, 1 - 2.0**-53]), st.booleans())
def test_cells_of_probability_zero_are_never_drawn(seed, u, guided):
    """Wherever the zeros stand, at both ends of the unit interval, in tables whose row numbers eat the last bits."""
    rng = np.random.default_rng(seed)
    configurations, cardinality = int(rng.integers(1, 3000)), int(rng.integers(1, 6))
    p = rng.dirichlet(np.full(cardinality, 0.2), configurations)
    p[rng.random(p.shape) < 0.5] = 0
    p[p.sum(axis=1) == 0, 0] = 1
    p /= p.sum(axis=1, keepdims=True)
    made = ConditionalTable(child=1, parents=(0,), buckets=(np.arange(configurations),), probabilities=p)
    codes = np.stack([np.arange(configurations), np.zeros(configurations, dtype=int)], axis=1)
    coins = Fixed(bytes(32), is_secret=False, is_root=True)
    coins.u = u
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conditional_table, "GUIDED_CELLS", 0 if guided else 10**9)
        drawn = made.draw(codes, coins)
    assert ((drawn >= 0) & (drawn < cardinality)).all()
    assert (p[np.arange(configurations), drawn] > 0).all()
    codes[:, 1] = drawn
    assert np.isfinite(made.log_probability(codes)).all()


@pytest.mark.parametrize("systematic", [False, True])
def test_every_single_record_has_the_law_of_the_table(systematic):
    """Systematic draws depend on one another; each by itself must not be any different. Two records are watched.

    Control: draws spread over the interval without the random rank give the first record the first values only.
    """
    p = np.array([[0.1, 0.0, 0.6, 0.3]])
    made = ConditionalTable(child=0, parents=(), buckets=(), probabilities=p)
    codes = np.zeros((7, 1), dtype=int)
    watched = np.array([made.draw(codes, Coins.from_seed(i), systematic=systematic)[[0, 6]] for i in range(3000)])
    for column in watched.T:
        counts = np.bincount(column, minlength=4)
        assert counts[1] == 0
        statistic = ((counts[[0, 2, 3]] - 3000 * p[0, [0, 2, 3]]) ** 2 / (3000 * p[0, [0, 2, 3]])).sum()
        assert chi2.sf(statistic, 2) > FALSE_ALARM
    in_order = np.searchsorted(np.cumsum(p[0]), (0 + np.random.default_rng(0).random(3000)) / 7, side="right")
    counts = np.bincount(in_order, minlength=4)
    assert chi2.sf(((counts[[0, 2, 3]] - 3000 * p[0, [0, 2, 3]]) ** 2 / (3000 * p[0, [0, 2, 3]])).sum(), 2) < FALSE_ALARM


# --- given values -----------------------------------------------------------------------------------------------------


def released(net: BayesianNetwork) -> ReleasedSeeds:
    """Prefixes over columns 2 and 0 with unequal noisy sizes, and the model alone."""
    return ReleasedSeeds(
        parts=(
            ReleasedPrefixes(kept=2, prefixes=np.array([[0, 1], [1, 0], [1, 1]]), sizes=np.array([50, 30, 20])),
            ReleasedPrefixes(kept=0, prefixes=np.empty((1, 0), dtype=int), sizes=np.ones(1, dtype=int)),
        )
    )


def exact_law(net: BayesianNetwork) -> list[Fraction]:
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
        p if all(y[c] == v for c, v in known.items()) else Fraction(0) for y, p in zip(UNIVERSE, exact_law(net), strict=True)
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


def test_impossible_known_values_give_no_row():
    net = network()
    y = next(y for y in UNIVERSE if oracles.likelihood(net.tables, y, y, 4) == 0)
    assert released(net).sample_given(5, dict(enumerate(y)), net, Coins.from_seed(0)).shape == (0, 4)


def test_rows_of_weight_zero_are_never_chosen():
    """At u next to 1 rounding must not fall behind the last row with weight: here only rows of another prefix follow."""
    net = BayesianNetwork(
        [
            ConditionalTable(child=0, parents=(), buckets=(), probabilities=np.array([[0.5, 0.5]])),
            ConditionalTable(child=1, parents=(0,), buckets=(np.arange(2),), probabilities=np.array([[0.3, 0.7], [0.0, 1.0]])),
        ]
    )
    coins = Fixed(bytes(32), is_secret=False, is_root=True)
    coins.u = 1 - 2.0**-53

    class Ordered(ReleasedPrefixes):
        """First the rows that fit, with weights whose sum rounds; then one that does not fit."""

        def draw_given(self, num_rows, known, network, coins):
            codes = np.zeros((num_rows, 2), dtype=int)
            codes[-1] = 1
            weight = np.log(np.full(num_rows, 0.1))
            weight[-1] = -np.inf
            return codes, weight

    part = Ordered(kept=0, prefixes=np.empty((1, 0), dtype=int), sizes=np.ones(1, dtype=int))
    assert (ReleasedSeeds(parts=(part,)).sample_given(3, {1: 0}, net, coins) == 0).all()


# --- construction -----------------------------------------------------------------------------------------------------


def test_order_and_columns_are_checked():
    net = network()
    with pytest.raises(ValueError, match="column 0 comes before one of its parents"):
        BayesianNetwork([net.tables[1], net.tables[0], *net.tables[2:]])
    with pytest.raises(ValueError, match="exactly one table"):
        BayesianNetwork([net.tables[0], net.tables[0]])
    with pytest.raises(ValueError, match="exactly one table"):
        BayesianNetwork(net.tables[:2] + net.tables[3:])
    assert net.order == (2, 0, 1, 3)
    assert net.cardinalities == CARDS


@pytest.mark.parametrize(
    ("probabilities", "rule"),
    [
        ([[0.5, 0.5]], "1 rows for 2 configurations"),
        ([[0.5, 0.6], [0.5, 0.5]], "sum to 1"),
        ([[1.5, -0.5], [0.5, 0.5]], "non-negative"),
        ([[np.nan, 0.5], [0.5, 0.5]], "sum to 1"),
    ],
)
def test_tables_are_checked(probabilities, rule):
    with pytest.raises(ValueError, match=f"table of column 1.*{rule}"):
        ConditionalTable(child=1, parents=(0,), buckets=(np.array([0, 1, 0]),), probabilities=np.array(probabilities))


def test_a_pickled_network_draws_the_same():
    net = network()
    again = pickle.loads(pickle.dumps(net))
    assert (again.sample(500, Coins.from_seed(1)) == net.sample(500, Coins.from_seed(1))).all()


@pytest.mark.parametrize("omega", [-1, 5, (3, 2), (1, 5), (1,), (1, 2, 3), True, 1.0, "some", (0.5, 1), [True, 2]])
def test_bad_omegas(omega):
    with pytest.raises(ValueError, match="omega"):
        Omega.parse(omega).among(4)


@pytest.mark.parametrize(("omega", "values"), [(2, {2}), ("all", {4}), ((1, 3), {1, 2, 3}), ([0, 1], {0, 1})])
def test_good_omegas(omega, values):
    Omega.parse(omega).among(4)
    assert set(Omega.parse(omega).draw(4, 200, Coins.from_seed(0)).tolist()) == values
