"""Correlations of ordered columns: measured together, cleaned together, and kept in the rows. All is seeded: no false alarm."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from sdv_plausible.models.adaptive import adaptive_network, linear_dependence, schedule
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.adaptive.linear_dependence import (
    CUT,
    Correlation,
    factor_analysis,
    integer_scores,
    significant_correlations,
)
from sdv_plausible.models.adaptive.measurements import ConditioningColumns, Measurements
from sdv_plausible.models.adaptive.public_prior import PublicCodes
from sdv_plausible.models.adaptive.refitting import ReplayedMeasurements
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.budget_tracker import QueryBudget
from sdv_plausible.queries.count_queries import MAX_SCORE, Axis, CodeArray, QueryRecord, ScoreProducts
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


def fitted(
    codes: np.ndarray, epsilon: float = 0.5, domain: Domain = DOMAIN
) -> tuple[BayesianNetwork, Transcript]:
    """A network and the answers that it was made of."""
    learner, budget, ledger = (
        AdaptiveNetwork(),
        ModelBudget(epsilon=epsilon, delta=1e-9),
        PrivacyLedger(delta=1e-9),
    )
    rows, transcript = CodeArray(codes, domain.cardinalities), Transcript()
    door = Queryable(rows, ledger, learner.plan(domain, budget), KeyedRNG.from_seed(5), transcript=transcript)
    return learner.fit(door, domain, budget, KeyedRNG.from_seed(6)), transcript


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


def unequal(columns: int, values: int, most: float, rows: int) -> tuple[np.ndarray, Domain]:
    """Codes of normals whose correlations differ, and their domain."""
    rng, bins = np.random.default_rng(1), tuple(range(values))
    common, own = rng.normal(size=(rows, 1)), rng.normal(size=(rows, columns))
    loadings = np.sqrt(np.linspace(most / 2, most, columns))
    normal = loadings * common + np.sqrt(1 - loadings**2) * own
    codes = np.clip(np.rint(values / 6 * normal + values / 2), 0, values - 1).astype(np.int32)
    attributes = (Attribute(name=f"x{j}", kind="integer", lower=bins, upper=bins) for j in range(columns))
    return codes, Domain(tuple(attributes))


CASES = {"pairs again after the sets": (6, 24, 0.5, 8_000, 2.0), "columns again": (4, 10, 0.4, 3_000, 0.8)}


@pytest.mark.parametrize("case", CASES)
def test_a_refit_tilts_when_the_fit_did(monkeypatch, case):
    """Where unspent shares buy second tables, before or after the tilt; up to rounding."""
    *shape, epsilon = CASES[case]
    codes, domain = unequal(*shape)
    monkeypatch.setattr(adaptive_network, "NUM_SIMULATED", 4_000)
    seen: list[str] = []
    for name in ("tilt_unmeasured", "measure_again", "measure_sets"):
        honest = getattr(Measurements, name)

        def watched(self, *given, honest=honest, name=name):
            result = honest(self, *given)
            seen.extend([name] * (name == "tilt_unmeasured" or bool(result)))
            return result

        monkeypatch.setattr(Measurements, name, watched)
    model, transcript = fitted(codes, epsilon, domain)
    assert seen == [
        *["tilt_unmeasured"] * (2 if "sets" in case else 0),
        "measure_again",
        *["tilt_unmeasured"] * ("sets" not in case),
    ]
    answers = [answer for answer in transcript.answers if answer.asked.tables]
    again = AdaptiveNetwork().refit(answers, domain, KeyedRNG.from_os_entropy())
    drawn = model.sample(500, KeyedRNG.from_seed(1))
    np.testing.assert_allclose(again.log_suffix(drawn), model.log_suffix(drawn), atol=1e-9)


def test_a_refit_uses_products_on_its_own_buckets_alone():
    """As many buckets in another order are other buckets. Control: the same ones."""
    axes = (Axis.of_codes(0, VALUES), Axis.of_codes(1, VALUES))
    backwards = (Axis(0, np.arange(VALUES)[::-1]), axes[1])
    made = lambda kind, over, values: NoisyAnswer(  # noqa: E731
        asked=over if kind == "products" else QueryRecord(kind=kind, tables=(over,)), values=values,
        noise="discrete gaussian", scale=1.0, paid_by=(),
    )  # fmt: skip
    one_way = [made("counts", (Axis.of_codes(j, VALUES),), np.full(VALUES, 40)) for j in range(COLUMNS)]
    pair = made("counts", axes, np.diag(np.full(VALUES, 40)))
    for over, is_used in ((axes, True), (backwards, False)):
        query = ScoreProducts([over], dict.fromkeys((0, 1), np.arange(VALUES) - VALUES // 2))
        answer = made("products", query.asked(), np.array([40_000]))
        replayed = ReplayedMeasurements(one_way, [answer, pair], DOMAIN)
        replayed.replay_correlations([answer])
        assert replayed.may_tilt == is_used


def measured(schedule_: schedule.Schedule, **options: Any) -> tuple[Measurements, Transcript]:
    """Measurements of eight dependent columns."""
    budget, transcript = ModelBudget(epsilon=2.0, delta=1e-9), Transcript()
    door = Queryable(
        CodeArray(normals(0.5), DOMAIN.cardinalities), PrivacyLedger(delta=1e-9),
        AdaptiveNetwork().plan(DOMAIN, budget), KeyedRNG.from_seed(5), transcript=transcript,
    )  # fmt: skip
    return Measurements(door, DOMAIN, schedule_, **options), transcript


def test_what_no_product_costs_is_left():
    """Beside a published table nothing is asked, and the share is spent later; nor are pairs that are given."""
    planned = schedule.Schedule.make(ROWS, QueryBudget(mu=0.4), COLUMNS, COLUMNS)
    assert planned.product_share > 0
    made, transcript = measured(planned, public=PublicCodes(codes=normals(0.5, 200)))
    assert not products(transcript.answers)
    assert made.unspent == planned.product_share
    made, transcript = measured(planned, beside=ConditioningColumns(columns=frozenset({0, 1, 2})))
    (answer,) = products(transcript.answers)
    pairs = {tuple(axis.column for axis in axes) for axes in answer.asked.tables}
    assert pairs == {*itertools.combinations(range(COLUMNS), 2)} - {*itertools.combinations(range(3), 2)}
    assert made.unspent == 0


def test_shares_add_up_to_one():
    """Of every power, number of columns and number of ordered ones."""
    for rows, mu, columns in itertools.product(
        (10, 300, 4_000, 10**5, 10**7), (0.02, 0.3, 2.0), (1, 2, 8, 100)
    ):
        for ordered in {0, min(2, columns), columns}:
            made = schedule.Schedule.make(rows, QueryBudget(mu=mu), columns, ordered)
            parts = [schedule.SIZE_SHARE, made.margin_share, made.product_share]
            parts += [share for one in made.rounds for share in (one.score_share, one.pair_share)]
            parts += [made.sets.score_share, made.sets.table_share] if made.sets else []
            assert min(parts) >= 0
            assert sum(parts) == pytest.approx(1)
            assert bool(made.product_share) <= (ordered > 1)
    assert not schedule.Schedule.make(10**6, QueryBudget(mu=np.inf), 8, 8).product_share
    mixed = schedule.Schedule.make(10**6, QueryBudget(mu=1.0), 8, 2).product_share
    assert mixed == pytest.approx(schedule.PRODUCT_SHARE / 4)


def test_two_values_are_no_order():
    two, three = (
        Attribute(name="x", kind="integer", lower=tuple(range(n)), upper=tuple(range(n))) for n in (2, 3)
    )
    assert [schedule.num_ordered(Domain((one,))) for one in (two, three)] == [0, 1]


def test_the_strongest_correlations_are_kept(monkeypatch):
    """Four of the six of four columns, where no more may be kept; and never one below the least."""
    scores = dict.fromkeys(range(4), np.array([-1, 0, 1]))
    counts = dict.fromkeys(range(4), np.array([500, 0, 500]))
    pairs = list(itertools.combinations(range(4), 2))
    sums = 1000 * np.array([0.3, 0.8, -0.9, 0.2, 0.7, 0.04])
    for limit, kept in ((1, [(0, 1), (0, 2), (0, 3), (1, 3)]), (15, pairs[:-1])):
        monkeypatch.setattr(linear_dependence, "MAX_PER_COLUMN", limit)
        monkeypatch.setattr(linear_dependence, "factor_analysis", lambda noisy, _: noisy)
        found = significant_correlations(sums, 1.0, pairs, scores, counts)
        assert list(found) == kept


def test_replicates_keep_the_correlations(monkeypatch):
    """As :func:`test_correlations_survive_a_small_budget`. Control: without the products, less than .6."""
    monkeypatch.setattr(adaptive_network, "NUM_SIMULATED", 4_000)
    model, transcript = fitted(normals(0.5))
    above, kept = np.triu_indices(COLUMNS, 1), []
    truth = np.corrcoef(normals(0.5).T)[above]
    for kinds in (("counts", "distances", "products"), ("counts", "distances")):
        answers = [a for a in transcript.answers if a.asked.tables and a.asked.kind in kinds]
        independent = np.column_stack(
            [model.sample(4_000, KeyedRNG.from_seed(j))[:, j] for j in range(COLUMNS)]
        )
        again = AdaptiveNetwork().redrawn(answers, DOMAIN, independent, KeyedRNG.from_seed(4))
        rows = again.sample(ROWS, KeyedRNG.from_seed(3))
        kept.append(float(np.mean(np.corrcoef(rows.T)[above] / truth)))
    assert kept[0] > 0.85
    assert kept[1] < 0.6


def test_tilted_tables():
    """Of what differs by more than its error; with structural zeros, and deviations of the noise; they are the model's now."""
    planned = schedule.Schedule.make(ROWS, QueryBudget(mu=0.4), COLUMNS, COLUMNS)
    made, _ = measured(planned)
    rng = np.random.default_rng(0)
    made.simulated = np.column_stack([rng.choice(len(p), ROWS, p=p / p.sum()) for p in made.coarse])
    made._correlations = {
        (0, 1): Correlation(value=0.9, error=0.01), (2, 3): Correlation(value=0.15, error=0.1)
    }  # fmt: skip
    possible = np.ones((len(made.coarse[0]), len(made.coarse[1])), dtype=bool)
    possible[-1, -1] = False
    made._possible = {(0, 1): possible}
    made.tilt_unmeasured()
    assert list(made._tilted_tables) == [(0, 1)]
    table, deviations = made._tilted_tables[0, 1], made._tilted_deviations[0, 1] * made.total
    assert table[-1, -1] == 0 < table[-2, -2]
    assert deviations.min() >= 1
    assert 3 < deviations.max() < 100
    pair = np.array([[0, 1]])
    assert (made._estimates(pair)[0][0] == table).all()
    strong = np.diag(made.coarse[0]) * made.total
    made._keep_modelled(pair, [strong])
    assert not made._modelled_pairs
    made._tilted_tables = {}
    made._keep_modelled(pair, [strong])
    assert list(made._modelled_pairs) == [(0, 1)]


def test_pairs_that_were_not_measured_are_no_zeros():
    """Where some pairs of columns are unknown, nothing is shrunk."""
    noisy, errors = np.full((4, 4), 0.1), np.full((4, 4), 0.5)
    np.fill_diagonal(errors, np.inf)
    assert np.abs(factor_analysis(noisy, errors)).max() == 0
    errors[0, 1] = errors[1, 0] = np.inf
    assert factor_analysis(noisy, errors) is noisy
