"""A published table: drawn towards as far as the noisy answers say, and left alone where it is from elsewhere."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from sdv_plausible.models.adaptive import public_prior
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.adaptive.public_prior import (
    PriorWeight,
    PublicCodes,
    dependence_share,
    shrink_to_prior,
)
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import CodeArray
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.queries.transcript import Transcript
from sdv_plausible.table.columns.domain import Attribute, Domain

CARDS = (20, 4, 4, 3, 2)
NUMBER = Attribute(name="a", kind="integer", lower=tuple(range(20)), upper=tuple(range(20)))
NAMED = [Attribute(name=f"c{j}", kind="categorical", values=tuple(range(c))) for j, c in enumerate(CARDS[1:])]
DOMAIN = Domain((NUMBER, *NAMED))
BUDGET = ModelBudget(epsilon=0.1, delta=1e-9)


def codes(rows, seed):
    """A chain: every column follows the one before it."""
    rng = np.random.default_rng(seed)
    found = [np.minimum(rng.poisson(6, rows), 19)]
    for size in CARDS[1:]:
        follows = found[-1] * size // (found[-1].max() + 1)
        found.append(np.where(rng.random(rows) < 0.7, follows, rng.integers(0, size, rows)))
    return np.column_stack(found).astype(np.int32)


def permuted(table, seed):
    """Every column permuted by itself: one generator, so that no two columns get the same permutation."""
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.permutation(column) for column in table.T])


def renamed(table, seed):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.permutation(size)[c] for size, c in zip(CARDS, table.T, strict=True)])


def fitted(rows, public, seed):
    """Rows of a model, and what was asked."""
    learner = AdaptiveNetwork(public=None if public is None else PublicCodes(codes=public))
    transcript, ledger = Transcript(), PrivacyLedger(delta=1e-9)
    plan, rng = learner.plan(DOMAIN, BUDGET), KeyedRNG.from_seed(seed)
    door = Queryable(CodeArray(rows, CARDS), ledger, plan, rng, transcript=transcript)
    model = learner.fit(door, DOMAIN, BUDGET, KeyedRNG.from_seed(seed + 1))
    return model.sample(20_000, KeyedRNG.from_seed(seed + 2)), transcript.answers


def distance(first, second):
    """Mean total variation distance of pairs."""
    found = []
    for i, j in itertools.combinations(range(len(CARDS)), 2):
        cells = CARDS[i] * CARDS[j]
        numbers = (t[:, i] * CARDS[j] + t[:, j] for t in (first, second))
        one, two = (np.bincount(cell, minlength=cells) / len(cell) for cell in numbers)
        found.append(0.5 * np.abs(one - two).sum())
    return float(np.mean(found))


ROWS = codes(6000, 0)
TRUTH = codes(200_000, 1)


def mean_distance(public):
    return float(np.mean([distance(fitted(ROWS, public, seed)[0], TRUTH) for seed in range(0, 15, 3)]))


def test_a_table_of_the_same_population_helps_and_one_from_elsewhere_does_no_harm(monkeypatch):
    """Planted: margins and dependence are believed whatever was answered: far worse than without."""

    def believed(self, j, noisy, sigma, total):
        known = np.bincount(self.codes[:, j], minlength=len(noisy))
        return known * total / known.sum(), 0.01 * sigma, True

    class Blind(PriorWeight):
        @classmethod
        def of(cls, found):
            return PriorWeight(others=1.0, measured=dict.fromkeys(found, 1.0))

    public, alone = codes(300, 2), mean_distance(None)
    both = mean_distance(public)
    assert both < 0.9 * alone
    assert both < distance(public, TRUTH)
    for spoil in (permuted, renamed):
        assert mean_distance(spoil(public, 3)) < 1.1 * alone
    monkeypatch.setattr(PublicCodes, "_margin", believed)
    monkeypatch.setattr(public_prior, "PriorWeight", Blind)
    assert mean_distance(renamed(public, 3)) > 1.5 * alone


def test_shrinkage_follows_the_fit():
    rng = np.random.default_rng(0)
    truth, sigma = np.full(50, 1000.0), 100.0
    noisy, spread = truth + rng.normal(0, sigma, 50), np.full(50, 20.0**2)
    near, left, fits = shrink_to_prior(noisy, sigma, truth + rng.normal(0, 20, 50), spread)
    assert np.abs(near - truth).mean() < 0.4 * np.abs(noisy - truth).mean()
    assert left < 0.5 * sigma
    assert fits
    far, left, fits = shrink_to_prior(noisy, sigma, truth + rng.normal(0, 2000, 50), spread)
    assert np.abs(far - noisy).max() < 0.2 * sigma
    assert left > 0.95 * sigma
    assert not fits
    one = truth.copy()
    one[0] += 5000  # a single value that the published table lacks
    assert shrink_to_prior(one, sigma, truth, spread)[0][0] > one[0] - sigma


def test_a_column_of_one_value_takes_nothing_from_the_published_table():
    made = PublicCodes(codes=np.zeros((500, 1), dtype=int))
    counts, left, fits = made.margins([np.array([480.0])], [7.0], 480.0)
    assert counts[0].tolist() == [480.0]
    assert left == [7.0]  # 0 would divide by it
    assert fits == [False]


def test_trust_is_the_share_that_measured_pairs_show():
    apart = np.full((4, 4), 100.0)
    published = apart + 50 * (np.eye(4) - 0.25)
    share, deviation = dependence_share(apart + 0.5 * (published - apart), apart, published, 10.0)
    assert share == pytest.approx(0.5)
    assert deviation == pytest.approx(10 / np.linalg.norm(published - apart))
    pairs = [(0, j) for j in range(1, 9)]
    assert PriorWeight.of(dict.fromkeys(pairs, (1.0, 0.1))).others == pytest.approx(1.0, abs=0.01)
    assert PriorWeight.of({e: (0.1 * (-1) ** e[1], 0.1) for e in pairs}).others < 0.02
    assert PriorWeight.of({}).others == 0.0


def test_chance_in_a_small_table_is_no_dependence():
    table = permuted(codes(300, 4), 5)
    buckets = [np.arange(size) for size in CARDS]
    coarse = [np.bincount(c, minlength=s) / len(table) for c, s in zip(table.T, CARDS, strict=True)]
    ordered = [a.is_ordered for a in DOMAIN]
    assert len(PublicCodes(codes=table).pairs(buckets, coarse, ordered)) <= 2
    assert (0, 1) in PublicCodes(codes=codes(300, 4)).pairs(buckets, coarse, ordered)


def test_columns_may_be_absent():
    public = codes(300, 2)
    public[:, [1, 3]] = -1
    found, _ = fitted(ROWS, public, 0)
    assert found.shape == (20_000, len(CARDS))
    table = codes(1000, 7)
    counts = [np.bincount(c, minlength=s).astype(float) for c, s in zip(table.T, CARDS, strict=True)]
    sigmas = [9.0] * len(CARDS)
    after, left, _ = PublicCodes(codes=public).margins(counts, sigmas, 1000.0)
    assert (after[1] == counts[1]).all()
    assert (left[1], left[0] < 9.0) == (9.0, True)


def test_the_same_questions_are_charged():
    """What is asked keeps to the budget with the published table as without: the door sees to it."""
    for public in (None, codes(300, 2)):
        _, answers = fitted(ROWS, public, 0)
        spent = sum(len(a.asked.tables) / a.scale**2 if a.scale else 0.0 for a in answers)
        assert 0 < spent <= BUDGET.gaussian() ** 2 * 1.01
    kept = AdaptiveNetwork()
    assert replace(kept, public=PublicCodes(codes=codes(5, 0))) != kept
    assert kept.public is None
