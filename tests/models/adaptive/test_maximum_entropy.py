"""From pair tables to a network: what is measured, and what follows from it, is in the simulated rows."""

import itertools
import math

import numpy as np
import pytest

from sdv_plausible.models.adaptive import maximum_entropy
from sdv_plausible.models.adaptive.denoising import rake
from sdv_plausible.models.adaptive.maximum_entropy import (
    Estimates,
    FitPrecision,
    TargetMarginal,
    elimination_order,
    fit_network,
)
from sdv_plausible.models.conditional_table import ConditionalTable
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

SIZES = (20, 4, 2, 4, 20)  # of a chain a - b - c - d - e: links at the ends weak, in the middle strong
FIRST, MIDDLE, LAST = 1, 2, 3


def link(a, b, strength):
    """Joint distribution of a by b codes, of uniform margins, that agree in their leading part so often."""
    same = np.floor(np.arange(a) * b / a)[:, None] == np.arange(b) if a >= b else link(b, a, 1.0).T > 0
    return strength * same / same.sum() + (1 - strength) / (a * b)


def chain():
    pairs, margins = {}, [np.full(k, 1 / k) for k in SIZES]
    for i, strength in enumerate((0.1, 0.9, 0.9, 0.1)):
        pairs[i, i + 1] = link(SIZES[i], SIZES[i + 1], strength)
        pairs[i + 1, i] = pairs[i, i + 1].T
    return Estimates(margins=margins, coarse=margins, buckets=[np.arange(k) for k in SIZES], pairs=pairs)


def distance(rows, i, j, expected):
    """Total variation distance of a simulated pair from what it should be."""
    cells = SIZES[i] * SIZES[j]
    found = np.bincount(rows[:, i] * SIZES[j] + rows[:, j], minlength=cells).reshape(SIZES[i], SIZES[j])
    return float(np.abs(found / len(rows) - expected).sum() / 2)


def farthest(estimates):
    """Largest distance of simulated pairs: those measured, and the two that meet in the middle of the chain."""
    _, rows = fit_network(estimates, 300_000, 40_000, KeyedRNG.from_seed(3))
    first, last = estimates.pairs[FIRST, MIDDLE], estimates.pairs[MIDDLE, LAST]
    through = (first / estimates.margins[MIDDLE]) @ last
    measured = [distance(rows, i, j, table) for (i, j), table in estimates.pairs.items() if i < j]
    return max(*measured, distance(rows, FIRST, LAST, through))


def test_what_two_columns_share_through_a_third_is_kept(monkeypatch):
    """Every column is placed once. Control: by size alone the chain would be torn."""
    estimates = chain()
    alone = Estimates(margins=estimates.margins, coarse=estimates.coarse, buckets=estimates.buckets, pairs={})
    assert sorted(elimination_order(alone)) == sorted(elimination_order(estimates)) == [0, 1, 2, 3, 4]
    assert farthest(chain()) < 0.03
    monkeypatch.setattr(maximum_entropy, "LOSS_STEP", np.inf)
    order = elimination_order(chain())
    assert order.index(MIDDLE) > max(order.index(i) for i in (FIRST, LAST))
    assert farthest(chain()) > 0.1


def parity(bits):
    """Bits, the parity of all of them (nine times in ten), and a column that is its copy as often."""
    size = bits + 1
    cells = np.indices((2,) * size).reshape(size, -1)
    even = cells[:-1].sum(0) % 2 == cells[-1]
    table = (np.where(even, 0.9, 0.1) / 2**bits).reshape((2,) * size)
    half, flat, copy = np.full(2, 0.5), np.full((2, 2), 0.25), np.array([[0.45, 0.05], [0.05, 0.45]])
    pairs = {(i, j): flat for i in range(bits) for j in range(bits) if i != j}
    pairs |= {(bits, size): copy, (size, bits): copy}
    single, own = [half] * (size + 1), [np.arange(2)] * (size + 1)
    sets = {tuple(range(size)): table}
    return Estimates(margins=single, coarse=single, buckets=own, pairs=pairs, levels=own, sets=sets)


def test_a_set_is_in_the_rows_and_what_depends_on_it_too(monkeypatch):
    """The copy agrees in 0.9 * 0.9 + 0.1 * 0.1 of all rows. Control: the label comes after its copy."""
    for bits, max_cost in itertools.product((2, 3), (300_000, 2**5)):
        _, rows = fit_network(parity(bits), max_cost, 40_000, KeyedRNG.from_seed(3))
        even = rows[:, :bits].sum(1) % 2
        assert (rows[:, bits] == even).mean() == pytest.approx(0.9, abs=0.02)
        assert (rows[:, bits + 1] == even).mean() == pytest.approx(0.82, abs=0.02)
    assert elimination_order(parity(2))[-1] != 2
    monkeypatch.setattr(maximum_entropy, "elimination_order", lambda estimates, *_: [0, 1, 3, 2])
    _, rows = fit_network(parity(2), 300_000, 40_000, KeyedRNG.from_seed(3))
    assert abs((rows[:, 3] == rows[:, :2].sum(1) % 2).mean() - 0.82) > 0.1


def fitted(child, known, rows, rounds):
    """Joint mass of each row and the child."""
    base, weights = maximum_entropy.maximum_entropy_factors(child, known, rows, FitPrecision(rounds=rounds))
    p = np.tile(base, (len(rows), 1))
    for k, w in zip(known, weights, strict=True):
        p *= w[k.cells(rows)]
    return p / p.sum(axis=1, keepdims=True) / len(rows)


@pytest.mark.parametrize("rounds", [1, 12])
@pytest.mark.parametrize("seed", range(3))
def test_conditionals_with_sets_have_their_margins(seed, rounds):
    """Parents on uneven levels: the law of parents' levels and child's levels is the target's. Control: one round."""
    rng = np.random.default_rng(seed)
    law = rng.dirichlet(np.ones(12)).reshape(4, 3)
    truth = rng.dirichlet(np.ones(3), size=(4, 3)) * law[..., None]
    level, child = np.array([0, 1, 1, 0]), np.array([0, 1, 0])
    joint = np.zeros((2, 3, 2))
    np.add.at(joint, (level[:, None, None], np.arange(3)[:, None], child[None, None]), truth)
    rows = np.repeat(np.indices((4, 3)).reshape(2, -1).T, np.rint(law.ravel() * 30_000).astype(int), axis=0)
    own = {"strength": 1.0, "scatter": 0.0}
    known = [
        TargetMarginal(parents=(0,), levels=(np.arange(4),), child=np.arange(3), joint=truth.sum(1), **own),
        TargetMarginal(parents=(1,), levels=(np.arange(3),), child=np.arange(3), joint=truth.sum(0), **own),
        TargetMarginal(parents=(0, 1), levels=(level, np.arange(3)), child=child, joint=joint, **own),
    ]
    p = fitted(truth.sum((0, 1)), known, rows, rounds)
    apart = []
    for k in known:
        found = np.zeros_like(k.target)
        np.add.at(found, (k.cells(rows)[:, None], k.child[None]), p)
        apart.append(float(np.abs(found - k.target).sum()))
    assert (max(apart) < 0.012) == (rounds == 12)


TRUE = link(20, 20, 0.95)


def far_from(tables, strengths, rounds, **own):
    """A parent and its copy, each measured with a table; how far the law of parent and child is from some tables."""
    rows, codes = np.repeat(np.arange(20), 500)[:, None].repeat(2, axis=1), np.arange(20)
    shape = {"levels": (codes,), "child": codes, **own}
    told = enumerate(zip(tables, strengths, strict=True))
    known = [TargetMarginal(parents=(q,), joint=t, strength=s, **shape) for q, (t, s) in told]
    law = fitted(np.full(20, 1 / 20), known, rows, rounds).reshape(20, 500, 20).sum(axis=1)
    return [np.abs(table - TRUE).sum() / 2 for table in (law, *tables)]


def with_noise(table, seed=0):
    noisy = np.maximum(table + np.random.default_rng(seed).normal(0, 0.002, (20, 20)), 0)
    return rake(noisy, np.full(20, 1 / 20), np.full(20, 1 / 20))


def test_tables_that_differ_by_noise_alone_are_met_together():
    """No law meets both tables. Control: cells without scatter."""
    tables = [with_noise(TRUE, seed) for seed in (0, 1)]
    for scatter in (0.002, 0.0):
        law, *own = far_from(tables, (1.0, 1.0), 12, scatter=scatter)
        assert (law < 1.2 * max(own)) == (scatter > 0)


def test_a_strong_table_is_met_closely_beside_a_weak_noisy_one(monkeypatch):
    """One copy measured well, one under noise. Control: no table counts as strong."""
    tables = [TRUE, with_noise(link(20, 20, 0.5))]
    assert far_from(tables, (1.8, 0.9), 3, scatter=0.002, posterior=0.0002)[0] < 0.1
    monkeypatch.setattr(maximum_entropy, "STRONG", math.inf)
    assert far_from(tables, (1.8, 0.9), 3, scatter=0.002, posterior=0.0002)[0] > 0.1


def districts(sets):
    """A place lies in one of eight regions and of four zones, and tells each; a set holds levels of region and zone."""
    single = [np.full(8, 1 / 8), np.full(16, 1 / 16), np.full(4, 1 / 4), np.full(2, 1 / 2)]
    region, zone = np.kron(np.eye(8), np.ones((1, 2))) / 16, np.kron(np.eye(4), np.ones((4, 1))) / 16
    table = np.zeros((2, 2, 2))
    table[[0, 1], [0, 1]] = 0.25
    return Estimates(
        margins=single, coarse=single, buckets=[np.arange(len(p)) for p in single],
        pairs={(0, 1): region, (1, 0): region.T, (1, 2): zone, (2, 1): zone.T},
        levels=[np.arange(8) // 2 % 2, np.arange(16) // 4 % 2, np.arange(4) % 2, np.arange(2)],
        sets={(0, 2, 3): table} if sets else {},
    )  # fmt: skip


def lost(rows):
    """How often region and zone do not go together."""
    return float((rows[:, 0] // 2 != rows[:, 2]).mean())


@pytest.mark.parametrize("sets", [False, True])
def test_a_set_does_not_stand_for_the_buckets_of_its_columns(sets, monkeypatch):
    """What region and zone share through the place is finer than the levels of the set that holds both."""
    _, rows = fit_network(districts(sets), 300_000, 40_000, KeyedRNG.from_seed(3))
    assert lost(rows) < 0.01
    monkeypatch.setattr(maximum_entropy, "elimination_order", lambda estimates, *_: [3, 0, 2, 1])
    _, rows = fit_network(districts(sets), 300_000, 40_000, KeyedRNG.from_seed(3))
    assert lost(rows) > 0.3  # control: the place last


def law(estimates, **options):
    """Structure, conditional probabilities and simulated rows of a fit."""
    network, rows = fit_network(estimates, 300_000, 40_000, KeyedRNG.from_seed(3), **options)
    structure = [(t.child, t.parents) for t in network.tables]
    return structure, np.concatenate([t.probabilities.ravel() for t in network.tables]), rows


@pytest.mark.parametrize("forgets", [False, True])
def test_rows_that_nobody_asks_for_are_left_out_and_the_network_is_the_same(forgets, monkeypatch):
    """Control: a fit that leaves out the parents' rows as well gets other conditionals."""
    structure, probabilities, rows = law(chain())
    assert rows.any(axis=0).all()
    if forgets:
        draw = ConditionalTable.draw
        nothing = lambda *given, **how: np.zeros_like(draw(*given, **how))  # noqa: E731
        monkeypatch.setattr(ConditionalTable, "draw", nothing)
    same, last, fewer = law(chain(), is_last=True)
    assert same == structure
    assert (np.abs(last - probabilities).max() < 0.02) != forgets
    parents = {j for _, of in same for j in of}
    assert forgets or set(np.flatnonzero(~fewer.any(axis=0))) == set(range(len(SIZES))) - parents


@pytest.mark.parametrize("most", [20_000_000, 100])
def test_all_conditional_tables_together_stay_within_their_bound(most, monkeypatch):
    """What is not tabulated loses nothing. Control: within the usual bound the tables take more cells."""
    monkeypatch.setattr(maximum_entropy, "MOST_CELLS", most)
    network, rows = fit_network(chain(), 300_000, 40_000, KeyedRNG.from_seed(3))
    tables = [t for t in network.tables if isinstance(t, ConditionalTable)]
    assert (sum(t.probabilities.size for t in tables) <= 100) == (most == 100)
    assert (len(tables) < len(SIZES)) == (most == 100)
    assert max(distance(rows, i, j, table) for (i, j), table in chain().pairs.items() if i < j) < 0.03
