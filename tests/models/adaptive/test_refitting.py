"""Refitting: equal answers give the learner's model again, others give others; structure and zeros stay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.questions.codes import CodeArray
from sdv_plausible.questions.queryable import Queryable
from sdv_plausible.questions.transcript import Transcript
from sdv_plausible.release.redrawn import redraw
from sdv_plausible.table.columns.domain import Attribute, Domain

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


@pytest.fixture(scope="module")
def fitted():
    """A network, its answers and the learner: two rounds of pairs and one of sets."""
    learner, transcript = AdaptiveNetwork(), Transcript()
    budget = ModelBudget(epsilon=2.0, delta=1e-9)
    rows = Queryable(
        CodeArray(codes(), DOMAIN.cardinalities), PrivacyLedger(delta=1e-9), learner.plan(DOMAIN, budget),
        Coins.from_seed(5), transcript=transcript,
    )  # fmt: skip
    network = learner.fit(rows, DOMAIN, budget, Coins.from_seed(6))
    answers = tuple(a for a in transcript.answers if a.asked.tables)
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
def test_the_answers_determine_the_model(fitted, seed):
    """Up to 1e-4 of a probability, whatever the coins. Control: a simulation of another seed."""
    learner, network, answers = fitted
    again = replace(learner, simulation_seed=seed).refit(answers, DOMAIN, Coins.from_os_entropy())
    rows = network.sample(2_000, Coins.from_seed(1))
    apart = np.abs(np.exp(again.log_suffix(rows)) - np.exp(network.log_suffix(rows))).max()
    assert again.structure() == network.structure()
    assert (apart < 1e-4) == (seed == 2017)


def test_other_answers_give_another_model(fitted):
    learner, network, answers = fitted
    again = learner.refit(redraw(answers, Coins.from_seed(1)), DOMAIN, Coins.from_seed(7))
    assert 0.003 < distance(again, network, [0]) < 0.1
    assert distance(again, network, [2, 3, 4]) < 0.1  # the exclusive or is still there


def test_answers_of_another_table_are_refused(fitted):
    learner, _, answers = fitted
    with pytest.raises(ValueError, match="one-way counts of each column"):
        learner.refit(answers[1:], DOMAIN, Coins.from_seed(7))
