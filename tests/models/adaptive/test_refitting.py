"""Refitting: equal answers give the learner's model again, others give others; structure and zeros stay."""

from dataclasses import replace

import numpy as np
import pytest

from sdv_plausible.models.adaptive import refitting
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.adaptive.denoising import nearest_with_margins
from sdv_plausible.models.adaptive.measurements import Measurements
from sdv_plausible.models.adaptive.refitting import column_scores, with_deviation, with_moments
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import CodeArray
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.queries.transcript import Transcript
from sdv_plausible.release.multiple_synthesis import add_noise
from sdv_plausible.table.columns.domain import Attribute, Domain

ROWS = 30_000
A = Attribute(name="a", kind="integer", lower=tuple(range(60)), upper=tuple(range(60)))
NAMED = {"b": tuple("xyz"), "c": (0, 1), "d": (0, 1), "e": (0, 1)}
DOMAIN = Domain((A, *(Attribute(name=n, kind="categorical", values=v) for n, v in NAMED.items())))


def codes():
    rng = np.random.default_rng(3)
    a = rng.integers(0, 60, ROWS)
    b = np.where(rng.random(ROWS) < 0.7, a // 20, rng.integers(0, 3, ROWS))
    c, d = rng.integers(0, 2, (2, ROWS))
    return np.column_stack([a, b, c, d, (c ^ d) ^ (rng.random(ROWS) < 0.05)]).astype(np.int32)


def learned(learner, rows, domain, *, epsilon, seed):
    """A network and the answers that it was made of."""
    budget, ledger = ModelBudget(epsilon=epsilon, delta=1e-9), PrivacyLedger(delta=1e-9)
    codes, plan, transcript = (
        CodeArray(rows, domain.cardinalities),
        learner.plan(domain, budget),
        Transcript(),
    )
    door = Queryable(codes, ledger, plan, KeyedRNG.from_seed(seed), transcript=transcript)
    network = learner.fit(door, domain, budget, KeyedRNG.from_seed(seed + 1))
    return network, tuple(a for a in transcript.answers if a.asked.tables)


@pytest.fixture(scope="module")
def fitted():
    """A network, its answers and the learner: two rounds of pairs and one of sets."""
    learner = AdaptiveNetwork()
    network, answers = learned(learner, codes(), DOMAIN, epsilon=2.0, seed=5)
    assert {len(a.asked.tables[0]) for a in answers if a.asked.kind == "counts"} >= {1, 2, 3}
    return learner, network, answers


def distance(first, second, columns):
    """Distance between two models' tables of some columns, from 100,000 rows each."""
    sizes = [DOMAIN.cardinalities[j] for j in columns]
    tables = []
    for model in (first, second):
        start = np.zeros((100_000, len(DOMAIN)), dtype=np.int32, order="F")
        rows = model.complete(start, np.zeros(len(start), dtype=int), KeyedRNG.from_seed(9), systematic=True)
        cells = np.ravel_multi_index([rows[:, j] for j in columns], sizes)
        tables.append(np.bincount(cells, minlength=int(np.prod(sizes))) / len(start))
    return float(np.abs(tables[0] - tables[1]).sum() / 2)


def test_the_answers_determine_the_model(fitted):
    """Up to 1e-4 of a probability, whatever the coins. Controls: a simulation of another seed, other answers."""
    learner, network, answers = fitted
    rows = network.sample(2_000, KeyedRNG.from_seed(1))
    for seed in (2017, 1):
        again = replace(learner, simulation_seed=seed).refit(answers, DOMAIN, KeyedRNG.from_os_entropy())
        apart = np.abs(np.exp(again.log_suffix(rows)) - np.exp(network.log_suffix(rows))).max()
        assert again.structure() == network.structure()
        assert (apart < 1e-4) == (seed == 2017)
    again = learner.refit(add_noise(answers, KeyedRNG.from_seed(1)), DOMAIN, KeyedRNG.from_seed(7))
    assert 0.003 < distance(again, network, [0]) < 0.1
    assert distance(again, network, [2, 3, 4]) < 0.1  # the exclusive or is still there
    with pytest.raises(ValueError, match="one-way counts of each column"):
        learner.refit(answers[1:], DOMAIN, KeyedRNG.from_seed(7))  # of another table


@pytest.mark.parametrize(("forgets", "linked", "epsilon"), [(False, 1, 4.0), (True, 1, 4.0), (False, 0, 0.1)])
def test_what_was_measured_again_is_known_to_a_refit(monkeypatch, forgets, linked, epsilon):
    """No set is worth its noise, or no pair: pairs, or columns, are asked twice. Control: second answers forgotten."""
    rng = np.random.default_rng(8)
    rows = rng.integers(0, [60, 3, 2, 2, 2], (20_000 if linked else 300, 5)).astype(np.int32)
    if linked:
        rows[:, 1] = np.where(rng.random(len(rows)) < 0.7, rows[:, 0] // 20, rows[:, 1])
    network, answers = learned(AdaptiveNetwork(), rows, DOMAIN, epsilon=epsilon, seed=5)
    asked = [tuple(axis.column for axis in a.asked.tables[0]) for a in answers if a.asked.kind == "counts"]
    assert max(map(asked.count, asked)) == 2
    if forgets:
        monkeypatch.setattr(refitting.ReplayedMeasurements, "replay_again", lambda *_: None)
        monkeypatch.setattr(Measurements, "stream_name", (0,))
    again = AdaptiveNetwork().refit(answers, DOMAIN, KeyedRNG.from_os_entropy())
    drawn = network.sample(2_000, KeyedRNG.from_seed(1))
    apart = np.abs(again.log_suffix(drawn) - network.log_suffix(drawn)).max()
    assert (apart < 1e-3) == (not forgets)


def copies(rows=30_000):
    """Noisy copies of one category: a forest's model has the dependence of any two right but of the last two."""
    rng = np.random.default_rng(4)
    code = rng.integers(0, 4, rows)
    others = [np.where(rng.random(rows) < 0.85, code, rng.integers(0, 4, rows)) for _ in range(5)]
    others[4] = np.where(rng.random(rows) < 0.4, others[3], others[4])
    attributes = [Attribute(name=f"c{j}", kind="categorical", values=tuple(range(4))) for j in range(6)]
    return np.column_stack([code, *others]).astype(np.int32), Domain(tuple(attributes))


@pytest.mark.parametrize("forgets", [False, True])
def test_dependence_that_the_model_has_right_is_kept_and_refitted(monkeypatch, forgets):
    """A pair is scored, not measured, and kept; a refit knows. Control: a refit that does not know of kept pairs."""
    kept = []
    honest = Measurements.estimates

    def seen(self):
        kept.append(set(self._modelled_pairs))
        return honest(self)

    monkeypatch.setattr(Measurements, "estimates", seen)
    rows, domain = copies()
    network, answers = learned(AdaptiveNetwork(), rows, domain, epsilon=1.0, seed=5)
    assert kept[-1], "the case has a kept pair"
    at_fit = kept[-1]
    if forgets:
        monkeypatch.setattr(refitting.ReplayedMeasurements, "_keep_modelled", lambda *_: None)
    again = AdaptiveNetwork().refit(answers, domain, KeyedRNG.from_os_entropy())
    drawn = network.sample(2_000, KeyedRNG.from_seed(1))
    apart = np.abs(np.exp(again.log_suffix(drawn)) - np.exp(network.log_suffix(drawn))).max()
    assert (kept[-1] == at_fit) == (not forgets)
    assert (apart < 1e-4) == (not forgets)


def test_scores_are_orthonormal_under_the_margin():
    """Of mean 0, length 1, none along another; a number's follows its places, a missing value has its own."""
    attribute = Attribute(name="a", kind="integer", lower=(0, 1, 2, 50), upper=(0, 1, 2, 50), nullable=True)
    margin = np.array([0.3, 0.2, 0.1, 0.1, 0.3])
    found = column_scores(attribute, np.array([0, 0, 1, 2, 3]), margin)
    mass = np.array([0.5, 0.1, 0.1, 0.3])
    np.testing.assert_allclose((found * mass) @ np.vstack([np.ones(4), found]).T, np.eye(2, 3, 1), atol=1e-9)
    assert abs(np.diff(found[0])[1]) == pytest.approx(48 * abs(np.diff(found[0])[0]) / 1.6)
    category = Attribute(name="b", kind="categorical", values=tuple("wxyz"))
    found = column_scores(category, np.arange(4), np.array([0.5, 0.3, 0.19, 0.01]))
    assert found.shape == (3, 4)  # of the three common ones
    assert column_scores(category, np.array([0, 0, 1, 1]), np.array([0.5, 0.3, 0.19, 0.01])).shape == (1, 2)


@pytest.mark.parametrize("steps", [refitting.STEPS, 0])
def test_moments_of_the_noisy_table_are_met(monkeypatch, steps):
    """And the margins are. Control: without a step towards them they are not."""
    monkeypatch.setattr(refitting, "STEPS", steps)
    rng = np.random.default_rng(2)
    rows, columns = np.full(5, 200.0), np.array([400.0, 300.0, 200.0, 100.0])
    numbers = Attribute(name="a", kind="integer", lower=tuple(range(5)), upper=tuple(range(5)))
    category = Attribute(name="b", kind="categorical", values=tuple("wxyz"))
    apart, of_numbers = np.outer(rows, columns) / 1000, column_scores(numbers, np.arange(5), rows / 1000)
    scores = [of_numbers, column_scores(category, np.arange(4), columns / 1000)]
    possible = np.ones(apart.shape, dtype=bool)
    seen = nearest_with_margins(apart + rng.normal(0, 10, apart.shape), rows, columns, possible)
    found = with_moments(apart, seen, rows, columns, possible, scores)
    lacking = np.abs(scores[0] @ (seen - found) @ scores[1].T).max()
    assert (lacking < 1e-6 * np.abs(scores[0] @ (seen - apart) @ scores[1].T).max()) == bool(steps)
    np.testing.assert_allclose(found.sum(1), rows)
    np.testing.assert_allclose(found.sum(0), columns)


@pytest.mark.parametrize("steps", [refitting.STEPS, 0])
def test_deviations_of_the_noisy_margin_are_met(monkeypatch, steps):
    """Of a margin whose ends were cleared; where noise would hide them it stays. Control: without a step."""
    monkeypatch.setattr(refitting, "STEPS", steps)
    places = np.arange(21.0)
    truth = np.exp(-((places - 10) ** 2) / 50)
    truth *= 0.9 / truth.sum()  # a tenth is missing
    cleared = np.where(abs(places - 10) > 7, 0, truth)
    cleared *= 0.9 / cleared.sum()
    seen = truth + np.random.default_rng(0).normal(0, 0.001, 21)

    def moments(p):
        apart = places - cleared @ places / 0.9
        return np.array([p @ apart, p @ apart**2 - 0.9 * (cleared @ apart**2) / cleared.sum()])

    found = with_deviation(cleared, seen, places, 0.001)
    goal = moments(seen - (seen.sum() - 0.9) * cleared / 0.9)
    assert (np.abs(moments(found) - goal).max() < 1e-3 * np.abs(goal).max()) == bool(steps)
    assert found.sum() == pytest.approx(0.9)
    assert found.min() >= 0
    assert with_deviation(cleared, seen, places, 0.2) is cleared
    alone = np.eye(21)[10]
    assert with_deviation(alone, seen, places, 0.001) is alone


@pytest.mark.parametrize("shrunk", [False, True])
def test_inference_is_not_shrunk(monkeypatch, shrunk):
    """A weak link stays as strong: mean of 12 within 3 standard errors (1 in 300). Control: cleaned tables."""
    if shrunk:
        monkeypatch.setattr(refitting, "STEPS", 0)
    ends = tuple(range(30))
    domain = Domain(tuple(Attribute(name=n, kind="integer", lower=ends, upper=ends) for n in "ab"))
    learner, found, truths = AdaptiveNetwork(workload=[["a", "b"]]), [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        a, noise = rng.normal(0, 1, (2, 4000))
        numbers = np.stack([a, 0.12 * a + np.sqrt(1 - 0.12**2) * noise], axis=1)
        codes = np.clip(np.round(numbers * 6 + 15), 0, 29).astype(np.int32)
        _, answers = learned(learner, codes, domain, epsilon=1.0, seed=seed)
        rows = np.column_stack([rng.permutation(column) for column in codes.T])
        others = add_noise(answers, KeyedRNG.from_seed(seed))
        again = learner.redrawn(others, domain, rows, KeyedRNG.from_seed(100 + seed))
        found.append(np.corrcoef(again.sample(40_000, KeyedRNG.from_seed(seed)).T)[0, 1])
        truths.append(np.corrcoef(codes.T)[0, 1])
    apart = np.array(found) - truths
    assert (abs(apart.mean()) < 3 * apart.std() / np.sqrt(12)) == (not shrunk)
