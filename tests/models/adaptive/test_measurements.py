"""What the adaptive learner makes of its answers, against plain loops: totals, fusing, choosing pairs, forests."""

import itertools
import math

import numpy as np
import pytest
from doors import door
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.models.adaptive import denoising, measurements
from sdv_plausible.models.adaptive.measurements import Measurements
from sdv_plausible.models.adaptive.schedule import Schedule
from sdv_plausible.models.model_checks import categorical_domain
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.budget_tracker import QueryBudget
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.table.columns.domain import Attribute, Domain

CARDS = (3, 2, 4, 12)
PAIRS = list(itertools.combinations(range(4), 2))


def domain(cards=CARDS):
    ends = tuple(range(cards[-1]))
    return Domain(
        (*categorical_domain(cards[:-1]), Attribute(name="number", kind="integer", lower=ends, upper=ends))
    )


def table(n, seed=0):
    """Columns 0, 1 and 3 depend on one another, column 2 on none."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, n)
    second = (first == 1) ^ (rng.random(n) < 0.1)
    return np.stack([first, second, rng.integers(0, 4, n), first * 4 + rng.integers(0, 4, n)], axis=1)


def measured(n=5000, mu=1.0, seed=1, cards=CARDS, codes=None):
    schedule = Schedule.make(n, QueryBudget(mu=mu), len(cards))
    rows = door(table(n) if codes is None else codes, cards, mu, KeyedRNG.from_seed(seed))
    return Measurements(rows, domain(cards), schedule), schedule.rounds


def joint(codes, buckets, i, j):
    """Distribution of a pair's buckets, one row after another."""
    found = np.zeros((buckets[i].max() + 1, buckets[j].max() + 1))
    for row in codes:
        found[buckets[i][row[i]], buckets[j][row[j]]] += 1 / len(codes)
    return found


def test_without_noise_the_rows_are_what_is_estimated():
    """Totals, margins, and after all rounds every measured pair, to the last bits."""
    codes = table(5000)
    made, rounds = measured(mu=math.inf)
    assert made.total == 5000
    for j, margin in enumerate(made.margins):
        np.testing.assert_allclose(margin, np.bincount(codes[:, j], minlength=CARDS[j]) / 5000, atol=1e-12)
    for this in rounds:
        made.measure_pairs(this)
    found = made.estimates()
    assert found.pairs
    for (i, j), pair in found.pairs.items():
        np.testing.assert_allclose(pair, joint(codes, made.buckets, i, j), atol=1e-7)
        np.testing.assert_allclose(found.pairs[j, i], pair.T)
    assert {(0, 1), (0, 3)} <= set(found.pairs)


def test_estimates_are_distributions_whatever_the_noise():
    for n, mu in ((0, 0.3), (1, 1.0), (40, 0.1), (3000, 1.0), (100_000, 3.0)):
        made, rounds = measured(n, mu)
        for this in rounds:
            made.measure_pairs(this)
        found = made.estimates()
        assert made.total >= 1
        for margin, coarse, bucket in zip(found.margins, found.coarse, found.buckets, strict=True):
            assert (margin >= 0).all()
            assert margin.sum() == pytest.approx(1)
            np.testing.assert_allclose(coarse, np.bincount(bucket, margin), atol=1e-12)
        for (i, j), pair in found.pairs.items():
            assert pair.shape == (len(found.coarse[i]), len(found.coarse[j]))
            assert (pair >= 0).all()
            np.testing.assert_allclose(pair.sum(axis=0), found.coarse[j], atol=1e-2)  # so many rounds


def test_pairs_that_depend_are_chosen_and_no_pair_twice(monkeypatch):
    """Seeded. Control: among independent columns hardly any is chosen at this noise."""
    asked = []
    honest = Queryable.ask_tables

    def spy(self, sets, shares):
        asked.append([tuple(axis.column for axis in axes) for axes in sets])
        return honest(self, sets, shares)

    monkeypatch.setattr(Queryable, "ask_tables", spy)
    made, rounds = measured(5000, 1.0)
    assert [made.measure_pairs(this) for this in rounds] == [True, True]
    one_way, *pairs = asked
    assert one_way == [(0,), (1,), (2,), (3,)]
    listed = [e for chosen in pairs for e in chosen]
    assert len(set(listed)) == len(listed)
    assert {(0, 1), (0, 3)} <= set(pairs[0])
    assert (1, 3) not in pairs[0]  # first a forest
    rng = np.random.default_rng(5)
    made, rounds = measured(5000, 0.4, codes=np.stack([rng.integers(0, c, 5000) for c in CARDS], axis=1))
    before = len(asked)
    for this in rounds:
        made.measure_pairs(this)
    assert sum(len(chosen) for chosen in asked[before:]) <= 1


def test_what_is_spent_is_the_schedules():
    """Nothing where no pair could pay: columns of one value, or of no row, have nothing to do with one another."""
    made, rounds = measured(5000, 1.0)
    rows = made._rows
    assert rows._meter.share == pytest.approx(Schedule.make(5000, QueryBudget(mu=1.0), 4).margin_share)
    for this in rounds:
        before, chosen = rows._meter.share, made.measure_pairs(this)
        spent = this.score_share + (this.pair_share if chosen else 0)
        assert rows._meter.share - before == pytest.approx(spent)
    assert rows._meter.share <= 1
    same = np.zeros((500, 3), dtype=int)
    for made, rounds in (measured(500, 1.0, cards=(1, 1, 1), codes=same), measured(0, 0.05)):
        spent = made._rows._meter.share
        assert [made.measure_pairs(this) for this in rounds] == [False] * len(rounds)
        assert made._rows._meter.share == spent


def test_each_margin_is_the_inverse_variance_mean_over_all_tables_it_is_in():
    """By least squares: a bucket's count is seen in its own table (codes added up) and as a line of every pair."""
    made, rounds = measured(3000, 0.6, seed=3)
    precise = [1 / (c * s**2) for c, s in zip(CARDS, made._sigmas, strict=True)]
    mean = sum(w * t.sum() for w, t in zip(precise, made._counts, strict=True)) / sum(precise)
    assert made.total == pytest.approx(mean)
    assert len(set(made._sigmas)) > 1
    made.measure_pairs(rounds[0])
    cleaned = {}
    made._clean = lambda j, counts: cleaned.setdefault(j, counts) / made.total  # what goes into cleaning
    made._fuse()
    assert made._noisy_pairs
    for j, bucket in enumerate(made.buckets):
        for b in range(bucket.max() + 1):
            codes = np.flatnonzero(bucket == b)
            seen = [(made._counts[j][codes].sum(), len(codes) * made._sigmas[j] ** 2)]
            for e, (pair, _, sigma) in made._noisy_pairs.items():
                if j in e:
                    line = pair[b] if e[0] == j else pair[:, b]
                    seen.append((line.sum(), len(line) * sigma**2))
            mean = sum(v / w for v, w in seen) / sum(1 / w for _, w in seen)
            assert cleaned[j][codes].sum() == pytest.approx(mean)
            moved = cleaned[j][codes] - made._counts[j][codes]
            assert np.ptp(moved) < 1e-6  # spread evenly over the bucket's codes


def test_cells_that_noise_explains_keep_a_trace(monkeypatch):
    """A copy of a column: beside the diagonal TRACE of independence is left. Planted: exact zeros."""
    one = np.repeat(np.arange(12), 1000)
    codes = np.stack([one, one, 0 * one], axis=1)

    def beside_the_diagonal():
        made, rounds = measured(len(one), 0.3, cards=(12, 12, 2), codes=codes)
        made.measure_pairs(rounds[0])
        found = made.estimates()
        away = found.pairs[0, 1] / np.outer(found.coarse[0], found.coarse[1])
        return float(np.median(away[~np.eye(12, dtype=bool)]))

    assert beside_the_diagonal() == pytest.approx(denoising.TRACE, rel=0.2)
    monkeypatch.setattr(denoising, "TRACE", 0.0)
    assert beside_the_diagonal() < 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_pairs_are_chosen_by_the_largest_gain(seed, monkeypatch):
    """All numbers of pairs are tried: scores less chance, capped, less the L1 noise of measuring so many."""
    made, rounds = measured(2000, 0.7, seed=seed)
    rng = np.random.default_rng(seed)
    estimates, every_chance = made._estimates(np.array(PAIRS))
    estimate = dict(zip(PAIRS, estimates, strict=True))
    noisy = rng.uniform(0, 2500, len(PAIRS))
    this = rounds[-1]
    chosen, shares = made._worth_measuring(np.array(PAIRS), noisy - every_chance, this)
    scores, prices = [], []
    for e, value in zip(PAIRS, noisy, strict=True):
        chance = sum(x if x < 0.5 else 0.8 * math.sqrt(x) for x in estimate[e].ravel())
        most = made.total * min(2.0, *(4 * (1 - max(made.coarse[j])) for j in e))
        scores.append(min(value - chance, most))
        prices.append(float(made._noise_cost(np.array([e]))[0]))
    best, wanted = 0.0, []
    for k in range(1, len(PAIRS) + 1):
        deviation = made._rows.sigma(this.pair_share / k)
        top = sorted(range(len(PAIRS)), key=lambda i: deviation * prices[i] - scores[i])[:k]
        roots = [prices[i] ** (1 / 3) for i in top]
        parts = [this.pair_share * r / sum(roots) for r in roots]
        gain = sum(scores[i] - made._rows.sigma(s) * prices[i] for i, s in zip(top, parts, strict=True))
        if gain > best:
            best, wanted = gain, [PAIRS[i] for i in top]
    assert [PAIRS[i] for i in chosen] == wanted
    assert sum(shares) == pytest.approx(this.pair_share if wanted else 0)


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 7), st.integers(0, 2**32 - 1))
def test_a_forest_takes_the_best_pairs_that_close_no_circle(columns, seed):
    """Kruskal's way, written out."""
    rng = np.random.default_rng(seed)
    pairs = list(itertools.combinations(range(columns), 2))
    pairs = [pairs[i] for i in rng.permutation(len(pairs))[: rng.integers(1, len(pairs) + 1)]]
    ranked = rng.permutation(len(pairs))
    tree, wanted = list(range(columns)), []
    for i in ranked:
        a, b = (tree[j] for j in pairs[i])
        if a != b:
            wanted.append(i)
            tree = [a if t == b else t for t in tree]
    assert measurements._spanning_forest(ranked, np.array(pairs), columns).tolist() == wanted
