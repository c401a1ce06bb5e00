"""Correlations of ordered columns: measured together, cleaned together, and kept in the rows. All is seeded: no false alarm."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import pytest

from sdv_plausible.models.adaptive import schedule
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.adaptive.linear_dependence import (
    CUT,
    factor_analysis,
    integer_scores,
    significant_correlations,
)
from sdv_plausible.models.adaptive.measurements import Measurements
from sdv_plausible.models.adaptive.refitting import ReplayedMeasurements
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.budget_tracker import QueryBudget
from sdv_plausible.queries.count_queries import MAX_SCORE, CodeArray
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.queries.transcript import NoisyAnswer, Transcript
from sdv_plausible.table.columns.domain import Attribute, Domain

ROWS, COLUMNS, VALUES = 8_000, 8, 24
DOMAIN = Domain(
    tuple(
        Attribute(name=f"x{j}", kind="integer", lower=tuple(range(VALUES)), upper=tuple(range(VALUES)))
        for j in range(COLUMNS)
    )
)


def normals(correlation: float, rows: int = ROWS, seed: int = 1) -> np.ndarray:
    """Codes of equally correlated normals."""
    rng = np.random.default_rng(seed)
    common, own = rng.normal(size=(rows, 1)), rng.normal(size=(rows, COLUMNS))
    values = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    return np.clip(np.rint(4 * values + VALUES / 2), 0, VALUES - 1).astype(np.int32)


def fitted(codes: np.ndarray, epsilon: float = 0.5) -> tuple[BayesianNetwork, Transcript]:
    """A network and the answers that it was made of."""
    learner, budget, ledger = (
        AdaptiveNetwork(),
        ModelBudget(epsilon=epsilon, delta=1e-9),
        PrivacyLedger(delta=1e-9),
    )
    rows, transcript = CodeArray(codes, DOMAIN.cardinalities), Transcript()
    door = Queryable(rows, ledger, learner.plan(DOMAIN, budget), KeyedRNG.from_seed(5), transcript=transcript)
    return learner.fit(door, DOMAIN, budget, KeyedRNG.from_seed(6)), transcript


def products(answers: Iterable[NoisyAnswer]) -> list[NoisyAnswer]:
    return [answer for answer in answers if answer.asked.kind == "products"]


def test_noise_is_removed_from_correlations_together():
    """One factor, noise of .1: less than half of the error is left. Control: without shrinkage all of it is."""
    rng = np.random.default_rng(0)
    loadings = rng.uniform(0.4, 0.9, 20)
    truth = np.outer(loadings, loadings)
    noise = np.triu(rng.normal(0, 0.1, truth.shape), 1)
    noisy, errors = truth + noise + noise.T, np.full(truth.shape, 0.1)
    for matrix in (noisy, errors):
        np.fill_diagonal(matrix, 0.0)
    np.fill_diagonal(errors, np.inf)
    above = np.triu_indices(20, 1)
    off = [float(np.abs(matrix - truth)[above].mean()) for matrix in (factor_analysis(noisy, errors), noisy)]
    assert off[0] < 0.5 * off[1]
    np.testing.assert_allclose(
        factor_analysis(truth, np.where(np.isinf(errors), errors, 1e-6))[above], truth[above], atol=0.01
    )


def test_correlations_are_those_of_the_scores():
    """Without noise, and whatever the scores' mean: those of numpy. Pairs within the noise are left out."""
    codes = normals(0.6)[:, :3]
    codes[:, 2] = np.random.default_rng(2).permutation(codes[:, 2])
    scores = {j: integer_scores(np.linspace(-1, 3, VALUES)) for j in range(3)}
    values = np.column_stack([scores[j][codes[:, j]] for j in range(3)])
    pairs = list(itertools.combinations(range(3), 2))
    sums = np.array([values[:, i] @ values[:, j] for i, j in pairs], dtype=float)
    counts = {j: np.bincount(codes[:, j], minlength=VALUES) for j in range(3)}
    found = significant_correlations(sums, 1e-9 * ROWS, pairs, scores, counts)
    assert list(found) == [(0, 1)]
    assert found[0, 1].value == pytest.approx(np.corrcoef(values.T)[0, 1], abs=0.02)
    assert not significant_correlations(sums, 1e6 * ROWS, pairs, scores, counts)


def test_scores_are_bounded_integers():
    scores = integer_scores(np.array([-5.0, -1.0, 0.0, 1.0, 9.0]))
    assert scores.tolist() == [-MAX_SCORE, -MAX_SCORE // CUT, 0, MAX_SCORE // CUT, MAX_SCORE]
    assert np.abs(integer_scores(np.array([-0.5, 0.25]))).max() == MAX_SCORE


def test_correlations_survive_a_small_budget(monkeypatch):
    """Epsilon .5, 8,000 rows: .85 of the correlations. Control: without the query, less than .6."""
    codes = normals(0.5)
    above = np.triu_indices(COLUMNS, 1)
    truth, kept = np.corrcoef(codes.T)[above], []
    for share in (schedule.PRODUCT_SHARE, 0.0):
        monkeypatch.setattr(schedule, "PRODUCT_SHARE", share)
        model, transcript = fitted(codes)
        assert len(products(transcript.answers)) == bool(share)
        rows = model.sample(ROWS, KeyedRNG.from_seed(3))
        kept.append(float(np.mean(np.corrcoef(rows.T)[above] / truth)))
    assert kept[0] > 0.85
    assert kept[1] < 0.6


@pytest.mark.parametrize(("epsilon", "rounds"), [(0.5, 1), (2.0, 2)])
@pytest.mark.parametrize("forgets", [False, True])
def test_a_refit_knows_the_correlations(monkeypatch, forgets, epsilon, rounds):
    """Up to 1e-3 of a log probability. Control: a refit that does not know the products."""
    model, transcript = fitted(normals(0.5), epsilon)
    scores = [answer for answer in transcript.answers if answer.asked.kind == "distances"]
    assert sum(len(answer.asked.tables[0]) == 2 for answer in scores) == rounds
    if forgets:
        monkeypatch.setattr(ReplayedMeasurements, "replay_correlations", lambda *_: None)
    answers = [answer for answer in transcript.answers if answer.asked.tables]
    again = AdaptiveNetwork().refit(answers, DOMAIN, KeyedRNG.from_os_entropy())
    drawn = model.sample(2_000, KeyedRNG.from_seed(1))
    assert (np.abs(again.log_suffix(drawn) - model.log_suffix(drawn)).max() < 1e-3) == (not forgets)


def test_no_query_where_its_noise_would_hide_every_correlation():
    """Fifty rows; and one ordered column has no pair."""
    assert not products(fitted(normals(0.7)[:50])[1].answers)
    budget = QueryBudget(mu=0.2)
    assert schedule.Schedule.make(1e5, budget, 8, 8).product_share == schedule.PRODUCT_SHARE
    assert schedule.Schedule.make(1e5, budget, 8, 1).product_share == 0
    assert schedule.Schedule.make(100, budget, 8, 8).product_share == 0


@pytest.mark.parametrize("correlation", [0.5, 0.0])
def test_pairs_whose_correlation_the_model_has_are_left_alone(monkeypatch, correlation):
    """A tilt is for what the model lacks: unmeasured pairs, of columns that depend."""
    seen: list[int] = []
    honest = Measurements.tilt_unmeasured

    def watched(self):
        honest(self)
        seen.append(len(self._tilted_tables))
        assert self._tilted_tables.keys().isdisjoint(self._noisy_pairs)

    monkeypatch.setattr(Measurements, "tilt_unmeasured", watched)
    fitted(
        normals(correlation)
        if correlation
        else np.random.default_rng(1).integers(0, VALUES, (ROWS, COLUMNS)).astype(np.int32)
    )
    assert (max(seen, default=0) > 0) == bool(correlation)
