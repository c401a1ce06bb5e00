"""Refitting: equal answers give the learner's model again, others give others; structure and zeros stay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sdv_plausible.fit.verified import Retold
from sdv_plausible.models.adaptive import refitting
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.adaptive.denoising import nearest_with_margins
from sdv_plausible.models.adaptive.refitting import column_scores, with_deviation, with_moments
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import ONE_ROW
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.questions.budget import Allowance
from sdv_plausible.questions.codes import CodeArray
from sdv_plausible.questions.queryable import Queryable
from sdv_plausible.questions.transcript import Transcript
from sdv_plausible.release.redrawn import redraw
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.verifying.verdict import LieError

ROWS = 30_000
DOMAIN = Domain(
    (
        Attribute(name="a", kind="integer", lower=tuple(range(60)), upper=tuple(range(60))),
        Attribute(name="b", kind="categorical", values=tuple("xyz")),
        Attribute(name="c", kind="categorical", values=(0, 1)),
        Attribute(name="d", kind="categorical", values=(0, 1)),
        Attribute(name="e", kind="categorical", values=(0, 1)),
    )
)


def codes() -> np.ndarray:
    rng = np.random.default_rng(3)
    a = rng.integers(0, 60, ROWS)
    b = np.where(rng.random(ROWS) < 0.7, a // 20, rng.integers(0, 3, ROWS))
    c, d = rng.integers(0, 2, (2, ROWS))
    return np.column_stack([a, b, c, d, (c ^ d) ^ (rng.random(ROWS) < 0.05)]).astype(np.int32)


def learned(
    learner: AdaptiveNetwork,
    rows: np.ndarray,
    domain: Domain,
    *,
    epsilon: float,
    seed: int,
    whole: bool = False,
):
    """A network and the answers that it was made of."""
    budget, transcript = ModelBudget(epsilon=epsilon, delta=1e-9), Transcript()
    door = Queryable(
        CodeArray(rows, domain.cardinalities), PrivacyLedger(delta=1e-9), learner.plan(domain, budget),
        Coins.from_seed(seed), transcript=transcript,
    )  # fmt: skip
    network = learner.fit(door, domain, budget, Coins.from_seed(seed + 1))
    return network, tuple(a for a in transcript.answers if whole or a.asked.tables)


@pytest.fixture(scope="module")
def fitted():
    """A network, its answers and the learner: two rounds of pairs and one of sets."""
    learner = AdaptiveNetwork()
    network, answers = learned(learner, codes(), DOMAIN, epsilon=2.0, seed=5)
    assert {len(a.asked.tables[0]) for a in answers if a.asked.kind == "counts"} >= {1, 2, 3}
    return learner, network, answers


def distance(first: BayesianNetwork, second: BayesianNetwork, columns: list[int]) -> float:
    """Distance between two models' tables of some columns, from 100,000 rows each."""
    sizes = [DOMAIN.cardinalities[j] for j in columns]
    tables = []
    for model in (first, second):
        start = np.zeros((100_000, len(DOMAIN)), dtype=np.int32, order="F")
        rows = model.complete(
            start, np.zeros(len(start), dtype=np.int64), Coins.from_seed(9), systematic=True
        )
        cells = np.ravel_multi_index([rows[:, j] for j in columns], sizes)
        tables.append(np.bincount(cells, minlength=int(np.prod(sizes))) / len(start))
    return float(np.abs(tables[0] - tables[1]).sum() / 2)


@pytest.mark.parametrize("seed", [2017, 1])
def test_the_answers_determine_the_model(seed):
    """Asked again, with these answers, the learner makes the same model, sets and all. Control: another simulation."""
    learner, budget = AdaptiveNetwork(), ModelBudget(epsilon=2.0, delta=1e-9)
    network, answers = learned(learner, codes(), DOMAIN, epsilon=2.0, seed=5, whole=True)
    told = Retold(answers, Allowance.of(learner.plan(DOMAIN, budget)), ONE_ROW)
    try:
        again = replace(learner, simulation_seed=seed).fit(told, DOMAIN, budget, Coins.from_seed(0))
    except LieError:  # other rows choose other tables
        assert seed == 1
        return
    rows = network.sample(2_000, Coins.from_seed(1))
    assert (np.abs(again.log_suffix(rows) - network.log_suffix(rows)).max() == 0) == (seed == 2017)


def test_other_answers_give_another_model(fitted):
    learner, network, answers = fitted
    rows = network.sample(60_000, Coins.from_seed(3))
    again = learner.redrawn(redraw(answers, Coins.from_seed(1)), DOMAIN, rows, Coins.from_seed(7))
    assert 0.003 < distance(again, network, [0]) < 0.1
    assert distance(again, network, [2, 3, 4]) < 0.1  # the exclusive or is still there


def test_answers_of_another_table_are_refused(fitted):
    learner, network, answers = fitted
    rows = network.sample(100, Coins.from_seed(3))
    with pytest.raises(ValueError, match="one-way counts of each column"):
        learner.redrawn(answers[1:], DOMAIN, rows, Coins.from_seed(7))


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
    scores = [
        column_scores(numbers, np.arange(5), rows / 1000),
        column_scores(category, np.arange(4), columns / 1000),
    ]
    apart = np.outer(rows, columns) / 1000
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

    def moments(p: np.ndarray) -> np.ndarray:
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
    """A weak link of two numbers, among noise that hides its cells, is as strong in networks drawn again.

    Their mean of 12, over 12 tables, is within 3 standard errors of the truth: false alarms below 1 in 300
    if seeds were drawn anew. Control: networks of cleaned tables, which keep less than half of it.
    """
    if shrunk:
        monkeypatch.setattr(refitting, "STEPS", 0)
    domain = Domain(
        tuple(Attribute(name=n, kind="integer", lower=tuple(range(30)), upper=tuple(range(30))) for n in "ab")
    )
    learner, found, truths = AdaptiveNetwork(workload=[["a", "b"]]), [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        a, noise = rng.normal(0, 1, (2, 4000))
        numbers = np.stack([a, 0.12 * a + np.sqrt(1 - 0.12**2) * noise], axis=1)
        codes = np.clip(np.round(numbers * 6 + 15), 0, 29).astype(np.int32)
        _, answers = learned(learner, codes, domain, epsilon=1.0, seed=seed)
        rows = np.column_stack([rng.permutation(column) for column in codes.T])
        again = learner.redrawn(
            redraw(answers, Coins.from_seed(seed)), domain, rows, Coins.from_seed(100 + seed)
        )
        found.append(np.corrcoef(again.sample(40_000, Coins.from_seed(seed)).T)[0, 1])
        truths.append(np.corrcoef(codes.T)[0, 1])
    apart = np.array(found) - truths
    assert (abs(apart.mean()) < 3 * apart.std() / np.sqrt(12)) == (not shrunk)
