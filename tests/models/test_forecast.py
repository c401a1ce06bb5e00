"""The forecast against what learning does: columns and links, by seeded simulation. Controls: wrong noise, wrong rows."""

import math

import numpy as np
import pytest
from cases import fast_and_slow
from doors import learn
from hypothesis import given
from hypothesis import strategies as st

from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.conditional_table import project_to_simplex
from sdv_plausible.models.forecast import (
    CLASSES,
    looks_numeric,
    noise_distance,
    pair_distances,
    rows_needed,
    shown_distance,
)
from sdv_plausible.models.paper.paper_network import PaperNetwork
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.table.columns.domain import Attribute, Domain

DELTA = 1e-9
LEARNERS = [AdaptiveNetwork(), PaperNetwork(), PaperNetwork(structure="independent")]


def domain(*cardinalities):
    return Domain(
        tuple(
            Attribute(name=f"x{j}", kind="categorical", values=tuple(range(c)), provenance="declared")
            for j, c in enumerate(cardinalities)
        )
    )


@pytest.mark.parametrize(("cardinality", "sigma", "rows"), [(5, 40, 2000), (100, 30, 9000), (500, 10, 9000)])
def test_noise_distance_is_that_of_simulated_noise(cardinality, sigma, rows):
    rng = np.random.default_rng(3)
    even = np.full(cardinality, rows / cardinality)
    drawn = [project_to_simplex(even + rng.normal(0, sigma, cardinality), rows) for _ in range(300)]
    simulated = np.abs(np.array(drawn) - even).sum(axis=1).mean() / (2 * rows)
    assert noise_distance(cardinality, sigma, rows) == pytest.approx(simulated, rel=0.15)
    assert noise_distance(cardinality, 2 * sigma, rows) > 1.2 * simulated  # controls
    assert noise_distance(cardinality, sigma / 2, rows) < 0.85 * simulated


def test_of_ordered_columns_the_noise_of_neighbours_averages_out():
    """As simulated over 16 bins; the same codes without an order, and every code by itself, are the controls."""
    rng, cardinality, sigma, rows = np.random.default_rng(4), 96, 30, 9000
    even = np.full(cardinality, rows / cardinality)
    drawn = [(even + rng.normal(0, sigma, cardinality)).reshape(16, -1).sum(axis=1) for _ in range(300)]
    simulated = np.abs(np.array(drawn) - rows / 16).sum(axis=1).mean() / (2 * rows)
    ends = {"lower": tuple(range(cardinality)), "upper": tuple(range(cardinality)), "provenance": "declared"}
    ordered = Attribute(name="x", kind="integer", **ends)
    assert shown_distance(ordered, sigma, rows) == pytest.approx(simulated, rel=0.15)
    assert shown_distance(domain(cardinality)["x0"], sigma, rows) == noise_distance(cardinality, sigma, rows)
    assert noise_distance(cardinality, sigma, rows) > 1.5 * simulated


def test_columns_that_noise_moves_by_more_than_a_tenth_are_named():
    """Small categories were moved by .12 to .25, and nothing named them. Control: more rows."""
    table, budget = domain(*[9] * 8), ModelBudget(epsilon=1.0, delta=DELTA)
    named = []
    for rows in (300, 400, 1_000):
        forecast = AdaptiveNetwork().forecast(table, budget, rows)
        assert forecast is not None
        named.append([text for text in forecast.warnings() if "more than a tenth" in text or "close" in text])
        worst = max(forecast.shown.values())
        assert bool(named[-1]) == (worst > 0.10)
        assert worst < 0.25
    assert [len(texts) for texts in named] == [1, 1, 0]
    assert "'x0' (" in named[0][0]
    assert "'x7' (" in named[0][0]


@given(st.integers(1, 300), st.floats(0.01, 1e5), st.integers(1, 10**7))
def test_noise_distance_lies_between_0_and_1(cardinality, sigma, rows):
    assert -1e-9 <= noise_distance(cardinality, sigma, rows) <= 1


@pytest.mark.parametrize("epsilon", fast_and_slow([0.05, 0.2, 0.6], lambda epsilon: epsilon == 0.2))
def test_columns_are_moved_as_forecast(epsilon):
    """Independent, equally likely values: what the forecast is for. Control: a tenth of the rows."""
    cards, n = (3, 8, 40, 40, 8, 3), 20_000
    budget = ModelBudget(epsilon=epsilon, delta=DELTA)
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(0, c, n) for c in cards], axis=1).astype(np.int32)
    moved = []
    for seed in range(4):
        network = learn(
            AdaptiveNetwork(), codes, domain(*cards), budget, PrivacyLedger(delta=1e-6), Coins.from_seed(seed)
        )
        rows = network.sample(200_000, Coins.from_seed(seed))
        tables = [np.bincount(rows[:, j], minlength=c) / len(rows) for j, c in enumerate(cards)]
        moved.append([np.abs(t - np.bincount(codes[:, j]) / n).sum() / 2 for j, t in enumerate(tables)])
    forecast = AdaptiveNetwork().forecast(domain(*cards), budget, n)
    wrong = AdaptiveNetwork().forecast(domain(*cards), budget, n // 10)
    assert forecast is not None
    assert wrong is not None
    assert 0.5 * forecast.mean < np.mean(moved) < 1.25 * forecast.mean
    assert not 0.5 * wrong.mean < np.mean(moved) < 1.25 * wrong.mean


def test_links_above_the_forecast_are_learned_and_those_below_are_not():
    cards, n = (4,) * 8, 20_000
    budget = ModelBudget(epsilon=0.2, delta=DELTA)
    forecast = AdaptiveNetwork().forecast(domain(*cards), budget, n)
    assert forecast is not None
    assert forecast.link is not None

    def learned(distance, seed):
        """Excess of equal values of columns 0 and 1 in the model, over the real one."""
        rng = np.random.default_rng(seed)
        codes = rng.integers(0, 4, (n, 8)).astype(np.int32)
        copied = (
            rng.random(n) < distance / 0.75
        )  # x1 = x0 with this probability: the pair is 0.75 of it from independence
        codes[copied, 1] = codes[copied, 0]
        network = learn(
            AdaptiveNetwork(), codes, domain(*cards), budget, PrivacyLedger(delta=1e-6), Coins.from_seed(seed)
        )
        rows = network.sample(200_000, Coins.from_seed(seed))
        table = np.bincount(rows[:, 0] * 4 + rows[:, 1], minlength=16).reshape(4, 4) / len(rows)
        return float((np.trace(table) - (table.sum(1) * table.sum(0)).sum()) / distance)

    assert np.mean([learned(3 * forecast.link, seed) for seed in range(5)]) > 0.7
    assert np.mean([learned(0.25 * forecast.link, seed) for seed in range(5)]) < 0.3


@pytest.mark.parametrize("learner", LEARNERS, ids=["adaptive", "cfs", "independent"])
def test_more_rows_and_more_budget_are_better(learner):
    table = domain(2, 30, 7, 100)
    found = [
        [learner.forecast(table, ModelBudget(epsilon=e, delta=DELTA), n) for e in (0.1, 1.0, 5.0)]
        for n in (500, 5000, 500_000)
    ]
    means = np.array([[f.mean for f in row] for row in found])
    assert (np.diff(means, axis=0) < 0).all()
    assert (np.diff(means, axis=1) < 0).all()
    assert found[0][0].warnings()
    assert not found[2][2].warnings()
    assert found[2][2].is_good


def test_no_noise_no_forecast():
    for learner in LEARNERS:
        assert learner.forecast(domain(3, 4), ModelBudget(epsilon=math.inf, delta=DELTA), 100) is None


def test_rows_needed_is_the_first_good_size():
    learner, table, budget = AdaptiveNetwork(), domain(2, 30, 7, 100), ModelBudget(epsilon=1.0, delta=DELTA)
    needed = rows_needed(lambda rows: learner.forecast(table, budget, rows))
    assert needed is not None
    assert learner.forecast(table, budget, needed).is_good  # type: ignore[union-attr]
    assert not learner.forecast(table, budget, needed // 2).is_good  # type: ignore[union-attr]
    assert rows_needed(lambda rows: None) is None


def test_one_column_has_no_links():
    forecast = AdaptiveNetwork().forecast(domain(5), ModelBudget(epsilon=1.0, delta=DELTA), 1000)
    assert forecast is not None
    assert forecast.link is None
    assert "links" not in str(forecast)


@pytest.mark.parametrize(
    ("values", "warned"),
    [
        (range(100), True),
        ([str(v) for v in range(100)], True),
        (["N", *map(str, range(30))], True),
        ([v / 4 for v in range(40)], True),
        (range(19), False),  # few
        ([f"{v:05d}" for v in range(100)], False),  # codes, by their zeros
        ([f"A{v}" for v in range(100)], False),
    ],
)
def test_categories_that_look_like_numbers_are_named(values, warned):
    plain = Attribute(name="age", kind="categorical", values=tuple(values))
    found = looks_numeric(Domain((plain,)))
    assert bool(found) == warned
    assert not warned or ("'age'" in found[0] and "numerical" in found[0])
    grouped = Attribute(name="age", kind="categorical", values=tuple(values), groups=(0,) * len(plain.values))
    ordinal = Attribute(name="age", kind="ordinal", values=tuple(values))
    assert not looks_numeric(Domain((grouped,)))
    assert not looks_numeric(Domain((ordinal,)))


def test_too_many_columns_are_said_and_what_helps():
    """300 columns at 20,000 rows and epsilon 1. Controls: 20 of them, epsilon 10, ten times the rows."""

    def crowded(columns, epsilon, rows):
        budget = ModelBudget(epsilon=epsilon, delta=DELTA)
        forecast = AdaptiveNetwork().forecast(domain(*(5,) * columns), budget, rows)
        assert forecast is not None
        return [w for w in forecast.warnings() if "too many for the budget to carry their links" in w]

    [said] = crowded(300, 1.0, 20_000)
    assert "300 columns" in said
    for way in ("Model fewer columns (about ", "raise epsilon", "more rows"):
        assert way in said
    fewer = int(said.split("(about ")[1].split()[0])
    assert 20 < fewer < 300
    assert not crowded(20, 1.0, 20_000)
    assert not crowded(300, 10.0, 20_000)
    assert not crowded(300, 1.0, 200_000)


@pytest.mark.parametrize("columns", [8, 16])
def test_what_many_columns_cost_is_the_noise_on_the_scores(columns):
    """The first scores that a fit asks for have the noise that the forecast says. Control: twice the columns have twice it."""
    n, budget = 20_000, ModelBudget(epsilon=1.0, delta=DELTA)
    codes = np.random.default_rng(0).integers(0, 3, (n, columns)).astype(np.int32)
    with record_calls() as calls:
        learn(
            AdaptiveNetwork(),
            codes,
            domain(*(3,) * columns),
            budget,
            PrivacyLedger(delta=1e-6),
            Coins.from_seed(0),
        )
    [scale] = [c.scale for c in calls if c.shape == (math.comb(columns, 2),)][:1]
    forecast, wrong = (
        AdaptiveNetwork().forecast(domain(*(3,) * m), budget, n) for m in (columns, 2 * columns)
    )
    assert forecast is not None
    assert wrong is not None
    assert forecast.crowd == pytest.approx(scale / (2 * n), rel=0.02)
    assert wrong.crowd > 1.8 * scale / (2 * n)


def test_pairs_are_forecast_by_how_many_values_they_have():
    """By hand: one small pair, four with one large column, one large pair. Control: a mean of all would hide the last."""
    found = pair_distances(domain(2, 8, 100, 400), 0.25, 10_000)
    power = 10_000 * 0.25 / 1.25
    off = {c: 1 - math.exp(-1.5 * math.sqrt(c**0.75 / power)) for c in (16, 200, 800, 3200, 40_000)}
    assert [*found] == [*CLASSES]
    expected = (off[16], np.mean([off[c] for c in (200, 800, 800, 3200)]), off[40_000])
    assert [*found.values()] == pytest.approx(expected)
    assert np.mean([*found.values()]) < 0.7 * found["both large"]
    ordered = [Attribute(name=n, kind="ordinal", values=tuple(range(400))) for n in "ab"]
    assert pair_distances(Domain(tuple(ordered)), 0.25, 10_000) == {"both large": pytest.approx(
        1 - math.exp(-1.5 * math.sqrt(256**0.75 / power))
    )}  # fmt: skip
    assert pair_distances(domain(5, 1), 0.25, 10_000) == {}


def test_where_no_pair_can_be_measured_every_link_is_lost():
    """A bucket that holds enough of 344 rows holds more than half of them. Control: 100 times the rows.

    That a fit measures none then, tests/fit/test_expected.py sees.
    """
    budget, cards = ModelBudget(epsilon=1.0, delta=DELTA), (3, 3, 2, 31, 11, 66, 41)
    few, many = (AdaptiveNetwork().forecast(domain(*cards), budget, n) for n in (344, 34_400))
    assert few is not None
    assert many is not None
    assert few.link == 1.0
    assert "mostly noise" in few.warnings()[0]
    assert not any("mostly noise" in text for text in many.warnings())
