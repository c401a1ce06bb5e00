"""The forecast against what learning does: columns and links, by seeded simulation."""

import math
from dataclasses import replace

import numpy as np
import pytest
from cases import fast_and_slow
from doors import learn
from hypothesis import given
from hypothesis import strategies as st

from sdv_plausible.extensions.models.paper.paper_network import PaperNetwork
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.conditional_table import project_to_simplex
from sdv_plausible.models.forecast import (
    CLASSES,
    noise_distance,
    numeric_category_warnings,
    pair_distances,
    rows_needed,
    shown_distance,
)
from sdv_plausible.models.model_checks import categorical_domain
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.table.columns.domain import Attribute, Domain

DELTA = 1e-9
LEARNERS = [AdaptiveNetwork(), PaperNetwork(), PaperNetwork(structure="independent")]


def forecast(cards, epsilon, rows, learner=LEARNERS[0]):
    return learner.forecast(categorical_domain(cards), ModelBudget(epsilon=epsilon, delta=DELTA), rows)


def simulated(codes, cards, epsilon, seed):
    """Rows of a model that was learned of codes."""
    budget, ledger = ModelBudget(epsilon=epsilon, delta=DELTA), PrivacyLedger(delta=1e-6)
    network = learn(
        AdaptiveNetwork(), codes, categorical_domain(cards), budget, ledger, KeyedRNG.from_seed(seed)
    )
    return network.sample(200_000, KeyedRNG.from_seed(seed))


def test_noise_distance_is_that_of_simulated_noise():
    for cardinality, sigma, rows in ((5, 40, 2000), (100, 30, 9000), (500, 10, 9000)):
        rng, even = np.random.default_rng(3), np.full(cardinality, rows / cardinality)
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
    unordered = categorical_domain([cardinality])["c0"]
    assert shown_distance(unordered, sigma, rows) == noise_distance(cardinality, sigma, rows)
    assert noise_distance(cardinality, sigma, rows) > 1.5 * simulated


def test_columns_that_noise_moves_by_more_than_a_tenth_are_named():
    """Small categories were moved by .12 to .25, and nothing named them. Control: more rows."""
    named = []
    for rows in (300, 400, 1_000):
        found = forecast([9] * 8, 1.0, rows)
        named.append([text for text in found.warnings() if "moved by noise" in text or "close" in text])
        worst = max(found.shown.values())
        assert bool(named[-1]) == (worst > 0.10)
        assert worst < 0.25
    assert [len(texts) for texts in named] == [1, 1, 0]
    assert "c0 (up to " in named[0][0]
    assert "c7 (up to " in named[0][0]


@given(st.integers(1, 300), st.floats(0.01, 1e5), st.integers(1, 10**7))
def test_noise_distance_lies_between_0_and_1(cardinality, sigma, rows):
    assert -1e-9 <= noise_distance(cardinality, sigma, rows) <= 1


@pytest.mark.parametrize("epsilon", fast_and_slow([0.05, 0.2, 0.6], lambda epsilon: epsilon == 0.2))
def test_columns_are_moved_as_forecast(epsilon):
    """Independent, equally likely values: what the forecast is for. Control: a tenth of the rows."""
    cards, n, moved = (3, 8, 40, 40, 8, 3), 20_000, []
    codes = np.random.default_rng(0).integers(0, cards, (n, len(cards))).astype(np.int32)
    for seed in range(4):
        rows = simulated(codes, cards, epsilon, seed)
        tables = [np.bincount(rows[:, j], minlength=c) / len(rows) for j, c in enumerate(cards)]
        moved.append([np.abs(t - np.bincount(codes[:, j]) / n).sum() / 2 for j, t in enumerate(tables)])
    right, wrong = (forecast(cards, epsilon, number).mean for number in (n, n // 10))
    assert 0.5 * right < np.mean(moved) < 1.25 * right
    assert not 0.5 * wrong < np.mean(moved) < 1.25 * wrong


def test_links_above_the_forecast_are_learned_and_those_below_are_not():
    cards, n = (4,) * 8, 20_000
    link = forecast(cards, 0.2, n).link

    def learned(distance, seed):
        """Excess of equal values of columns 0 and 1 in the model, over the real one."""
        rng = np.random.default_rng(seed)
        codes = rng.integers(0, 4, (n, 8)).astype(np.int32)
        copied = rng.random(n) < distance / 0.75  # so often equal, the pair is 0.75 of it from independence
        codes[copied, 1] = codes[copied, 0]
        rows = simulated(codes, cards, 0.2, seed)
        table = np.bincount(rows[:, 0] * 4 + rows[:, 1], minlength=16).reshape(4, 4) / len(rows)
        return float((np.trace(table) - (table.sum(1) * table.sum(0)).sum()) / distance)

    assert np.mean([learned(3 * link, seed) for seed in range(5)]) > 0.7
    assert np.mean([learned(0.25 * link, seed) for seed in range(5)]) < 0.3


def test_more_rows_and_more_budget_are_better():
    for learner in LEARNERS:
        cards, sizes = (2, 30, 7, 100), (500, 5000, 500_000)
        found = [[forecast(cards, e, n, learner) for e in (0.1, 1.0, 5.0)] for n in sizes]
        means = np.array([[f.mean for f in row] for row in found])
        assert (np.diff(means, axis=0) < 0).all()
        assert (np.diff(means, axis=1) < 0).all()
        assert found[0][0].warnings()
        assert not found[2][2].warnings()
        assert found[2][2].is_good
        assert forecast((3, 4), math.inf, 100, learner) is None


def test_rows_needed_is_the_first_good_size_and_one_column_has_no_links():
    cards = (2, 30, 7, 100)
    needed = rows_needed(lambda rows: forecast(cards, 1.0, rows))
    assert forecast(cards, 1.0, needed).is_good
    assert not forecast(cards, 1.0, needed // 2).is_good
    assert rows_needed(lambda rows: None) is None
    found = forecast((5,), 1.0, 1000)
    assert found.link is None
    assert "links" not in str(found)


def test_categories_that_look_like_numbers_are_named():
    for values, warned in (
        (range(100), True),
        ([str(v) for v in range(100)], True),
        (["N", *map(str, range(30))], True),
        ([v / 4 for v in range(40)], True),
        (range(19), False),  # few
        ([f"{v:05d}" for v in range(100)], False),  # codes, by their zeros
        ([f"A{v}" for v in range(100)], False),
    ):
        plain = Attribute(name="age", kind="categorical", values=tuple(values))
        found = numeric_category_warnings(Domain((plain,)))
        assert bool(found) == warned
        assert not warned or ("'age'" in found[0] and "numerical" in found[0])
        for told in (replace(plain, groups=(0,) * len(plain.values)), replace(plain, kind="ordinal")):
            assert not numeric_category_warnings(Domain((told,)))


def test_too_many_columns_are_said_and_what_helps():
    """300 columns at 20,000 rows and epsilon 1. Controls: 20 of them, epsilon 10, ten times the rows."""

    def crowded(columns, epsilon, rows):
        warnings = forecast((5,) * columns, epsilon, rows).warnings()
        return [w for w in warnings if "too many for the budget" in w]

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
    """The first scores that a fit asks for have the noise that the forecast says. Control: twice the columns."""
    n, cards = 20_000, (3,) * columns
    codes = np.random.default_rng(0).integers(0, 3, (n, columns)).astype(np.int32)
    with record_calls() as calls:
        simulated(codes, cards, 1.0, 0)
    scale = next(c.scale for c in calls if c.shape == (math.comb(columns, 2),))
    assert forecast(cards, 1.0, n).crowd == pytest.approx(scale / (2 * n), rel=0.02)
    assert forecast(2 * cards, 1.0, n).crowd > 1.8 * scale / (2 * n)


def test_pairs_are_forecast_by_how_many_values_they_have():
    """By hand: one small pair, four with one large column, one large pair: a mean of all would hide the last."""
    found = pair_distances(categorical_domain([2, 8, 100, 400]), 0.25, 10_000)
    power = 10_000 * 0.25 / 1.25
    off = {c: 1 - math.exp(-1.5 * math.sqrt(c**0.75 / power)) for c in (16, 200, 800, 3200, 40_000)}
    assert [*found] == [*CLASSES]
    expected = (off[16], np.mean([off[c] for c in (200, 800, 800, 3200)]), off[40_000])
    assert [*found.values()] == pytest.approx(expected)
    assert np.mean([*found.values()]) < 0.7 * found["both large"]
    ordered = [Attribute(name=n, kind="ordinal", values=tuple(range(400))) for n in "ab"]
    expected = pytest.approx(1 - math.exp(-1.5 * math.sqrt(256**0.75 / power)))
    assert pair_distances(Domain(tuple(ordered)), 0.25, 10_000) == {"both large": expected}
    assert pair_distances(categorical_domain([5, 1]), 0.25, 10_000) == {}


def test_where_no_pair_can_be_measured_every_link_is_lost():
    """Control: 100 times the rows. That a fit measures none then, tests/fitting/test_expected_noise.py sees."""
    few, many = (forecast((3, 3, 2, 31, 11, 66, 41), 1.0, n) for n in (344, 34_400))
    assert few.link == 1.0
    assert "mostly noise" in few.warnings()[0]
    assert not any("mostly noise" in text for text in many.warnings())
