"""The metrics of [PD] section 6: hand-computed tables, identical tables, noise, agreement with SDMetrics.

Bounds on accuracies over a test mix of N independent rows are Hoeffding's, ``sqrt(log(2 / ALARM) / (2 N))``: given the
trained classifier, each test is false with probability at most ALARM = 1e-6 over its seed.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sdmetrics import compute_metrics
from sdmetrics.column_pairs import ContingencySimilarity
from sdmetrics.errors import IncomputableMetricError
from sdmetrics.single_column import TVComplement
from sdmetrics.single_table import SingleTableMetric

from sdv_plausible.evaluation import game, prediction
from sdv_plausible.evaluation.features import FeatureEncoder
from sdv_plausible.evaluation.metrics import (
    ClassifierAccuracy,
    ClassifierAgreement,
    DistinguishingGame,
    ModelAccuracy,
    PairwiseTotalVariationDistance,
    TotalVariationDistance,
)

ALL = (
    TotalVariationDistance,
    PairwiseTotalVariationDistance,
    ModelAccuracy,
    ClassifierAccuracy,
    ClassifierAgreement,
    DistinguishingGame,
)
ALARM = 1e-6
QUICK = {"num_runs": 1}


def bound(num_rows):
    return np.sqrt(np.log(2 / ALARM) / (2 * num_rows))


def categorical_table(num_rows, seed, num_columns=4):
    """Columns of 2, 3, ... values, each depending on the one before."""
    rng = np.random.default_rng(seed)
    columns, last = {}, np.zeros(num_rows, dtype=int)
    for j in range(num_columns):
        last = (last + (rng.random(num_rows) < 0.3) * rng.integers(0, j + 2, num_rows)) % (j + 2)
        columns[f"c{j}"] = np.array([f"v{v}" for v in range(j + 2)], dtype=object)[last]
    return pd.DataFrame(columns)


def options_of(metric):
    return {} if "Variation" in metric.name else {"max_rows": 300} | ({} if metric is ModelAccuracy else QUICK)


# Hand-computed


def test_total_variation_by_hand():
    real = pd.DataFrame({"c": ["a", "a", "b", None], "x": [1.0, 2.0, 3.0, 4.0]})
    synthetic = pd.DataFrame({"c": ["a", "b", "b", "z"], "x": [1.0, 1.0, 4.0, 4.0]})
    found = TotalVariationDistance.compute_breakdown(real, synthetic, num_bins=2)
    # c: |1/2 - 1/4| + |1/4 - 1/2| + |0 - 1/4| + |1/4 - 0| over two; x: both halves hold half of the rows
    assert found["columns"] == {"c": {"score": 0.5}, "x": {"score": 0.0}}
    assert found["score"] == TotalVariationDistance.compute(real, synthetic, num_bins=2) == 0.25
    assert TotalVariationDistance.compute(real[["x"]], synthetic[["x"]], num_bins=4) == 0.5
    assert (found["num_rows_real"], found["num_rows_synthetic"], found["subsampled"]) == (4, 4, False)


def test_pairwise_total_variation_by_hand():
    real = pd.DataFrame({"a": [0, 0, 1, 1], "b": ["x", "y", "x", "y"]})
    synthetic = pd.DataFrame({"a": [0, 0, 1, 1], "b": ["x", "x", "y", "y"]})
    found = PairwiseTotalVariationDistance.compute_breakdown(real, synthetic)
    assert found["pairs"] == {("a", "b"): {"score": 0.5}}
    assert TotalVariationDistance.compute(real, synthetic) == 0.0


def test_a_lost_missing_value_is_a_difference():
    real, synthetic = pd.DataFrame({"c": ["a", "b", None, None]}), pd.DataFrame({"c": ["a", "b"]})
    assert TotalVariationDistance.compute(real, synthetic) == 0.5
    assert TVComplement.compute(real["c"], synthetic["c"]) == 1.0  # where SDMetrics differs


def test_model_accuracy_by_hand_and_by_structure():
    """b copies a, c is alone: given the others b and a are certain, c is its commonest value or not."""
    n = 400
    a = np.arange(n) % 4
    table = pd.DataFrame({"a": a, "b": a * 10, "c": np.where(np.arange(n) % 3 == 0, "rare", "often")}).astype(str)
    holdout = table.iloc[:120]
    for structure in (None, {"b": ["a"]}):
        found = ModelAccuracy.compute_breakdown(table, table, structure=structure, holdout=holdout)["columns"]
        assert found["a"]["score"] == found["b"]["score"] == found["b"]["real"] == 1.0
        assert found["a"]["majority"] == found["a"]["random_guess"] == 0.25
        assert found["c"]["majority"] == pytest.approx(80 / 120)
    assert ModelAccuracy.compute_breakdown(table, table, structure={}, holdout=holdout)["columns"]["b"]["score"] == 0.25


def test_model_accuracy_by_structure_finds_the_most_likely_value_exactly():
    """Against enumeration of the joint distribution of a chain a -> b -> c with an unseen configuration."""
    rng = np.random.default_rng(3)
    train, test = (rng.integers(0, (3, 2, 4), (n, 3)).astype(np.int32) for n in (60, 200))
    cards, parents = (3, 2, 4), {1: [0], 2: [1]}
    predict = prediction.network_predictor(parents, cards)

    def likelihood(row):
        p = 1.0
        for child in range(3):
            above = parents.get(child, [])
            same = np.all(train[:, above] == row[above], axis=1)
            share = (np.sum(train[:, child] == row[child]) + 0.5) / (len(train) + 0.5 * cards[child])
            p *= (np.sum(train[same, child] == row[child]) + share) / (same.sum() + 1)
        return p

    for attribute in range(3):
        expected = []
        for row in test:
            options = [np.where(np.arange(3) == attribute, v, row) for v in range(cards[attribute])]
            expected.append(int(np.argmax([likelihood(option) for option in options])))
        assert predict(train, test, attribute).tolist() == expected


def test_an_unknown_column_in_the_structure_is_an_error():
    table = categorical_table(20, 0)
    with pytest.raises(ValueError, match=r"structure names \['nobody'\]"):
        ModelAccuracy.compute(table, table, structure={"c0": ["nobody"]})


def test_classifiers_by_hand():
    """y equals x in the real rows and is its opposite in the synthetic ones: accuracy 0, agreement 0."""
    x = np.arange(200) % 2
    real, opposite = (pd.DataFrame({"x": x, "y": np.where(y == 1, "yes", "no")}) for y in (x, 1 - x))
    found = ClassifierAccuracy.compute_breakdown(real, opposite, num_runs=2)
    assert found["target"] == "y"
    assert set(found["classifiers"]) == {"tree", "random_forest", "adaboost", "logistic_regression", "linear_svm"}
    for part in found["classifiers"].values():
        assert (part["score"], part["real"]["score"], part["low"], part["high"]) == (0.0, 1.0, 0.0, 0.0)
    assert ClassifierAgreement.compute(real, opposite, **QUICK) == 0.0
    assert ClassifierAccuracy.compute(real, real, **QUICK) == 1.0


def test_a_numerical_target_is_split_at_the_real_median():
    real = pd.DataFrame({"x": np.arange(100.0), "y": np.arange(100.0) * 2})
    found = ClassifierAccuracy.compute_breakdown(real, real, target="y", classifiers=["tree"], num_runs=2)
    assert found["score"] > 0.9
    assert found["majority"] < 0.7


def test_held_out_rows_are_what_is_tested():
    x = np.arange(60) % 2
    real = pd.DataFrame({"x": x, "y": x.astype(str)})
    reversed_rows = pd.DataFrame({"x": x, "y": (1 - x).astype(str)})
    found = ClassifierAccuracy.compute_breakdown(real, real, holdout=reversed_rows, classifiers=["tree"], **QUICK)
    assert found["score"] == 0.0
    assert (found["num_rows_train"], found["num_rows_test"]) == (60, 60)


# Identical tables, noise


@pytest.mark.parametrize("seed", range(3))
def test_identical_tables(seed, mixed_table):
    table = mixed_table.drop(columns=["id", "email"]).sample(frac=1, random_state=seed)
    assert TotalVariationDistance.compute(table, table.copy()) == 0.0
    assert PairwiseTotalVariationDistance.compute(table, table.copy()) == 0.0
    assert ClassifierAgreement.compute(table, table.copy(), target="city", num_runs=2) == 1.0
    assert DistinguishingGame.compute(table, table.copy(), **QUICK) == 0.5
    assert DistinguishingGame.normalize(0.5) == 1.0


def play(real, synthetic, **options):
    options = {"num_runs": 1, "test_fraction": 0.5, "max_rows": 20_000, "classifiers": ["random_forest"], **options}
    found = DistinguishingGame.compute_breakdown(real, synthetic, **options)
    return found["classifiers"]["random_forest"]["score"], found["num_rows_test"]


def numbers_and_rare_words(seed, num_rows=4000):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"word": rng.integers(0, 50_000, num_rows).astype(str), "x": rng.normal(size=num_rows)})


def test_the_game_on_rows_of_one_source_is_a_coin_toss():
    """False alarm 1e-6. The words are many and rare: a known vocabulary of one side would give it away (next test)."""
    accuracy, num_test = play(numbers_and_rare_words(1), numbers_and_rare_words(2))
    assert num_test == 4000
    assert abs(accuracy - 0.5) <= bound(num_test)


@pytest.mark.parametrize("bug", ["tested on its training rows", "vocabulary of the real table"])
def test_the_coin_toss_test_sees_planted_bugs(bug, monkeypatch):
    real = numbers_and_rare_words(1)
    if bug == "tested on its training rows":
        mixes = game._mixes
        monkeypatch.setattr(game, "_mixes", lambda *args: (mixes(*args)[0],) * 2)
    else:

        class Knowing(FeatureEncoder):
            def fit(self, frame):
                return super().fit(real)

        monkeypatch.setattr(game, "FeatureEncoder", Knowing)
    accuracy, num_test = play(real, numbers_and_rare_words(2))
    assert abs(accuracy - 0.5) > bound(num_test)


def test_independent_noise_is_told_from_dependent_columns():
    """The game, the pairs and the agreement see that all dependence is gone; the columns alone cannot."""
    real = categorical_table(4000, 1)
    rng = np.random.default_rng(0)
    noise = pd.DataFrame({c: rng.permutation(real[c].to_numpy()) for c in real})
    assert TotalVariationDistance.compute(real, noise) == 0.0
    assert PairwiseTotalVariationDistance.compute(real, noise) > 0.15
    accuracy, num_test = play(real, noise)
    assert accuracy - 0.5 > bound(num_test)
    fresh = categorical_table(4000, 2)
    for metric in (ModelAccuracy, ClassifierAccuracy, ClassifierAgreement):
        options = {"max_rows": 1500} | ({} if metric is ModelAccuracy else QUICK)
        assert metric.compute(real, noise, **options) < metric.compute(real, fresh, **options) - 0.1


def test_held_out_rows_make_the_game_fair_to_copies():
    """Copies of training rows pull a memoriser below 0.5; held-out rows do not know them. False alarm 1e-6."""
    real, holdout = numbers_and_rare_words(1), numbers_and_rare_words(2)
    copied, num_test = play(real, real.copy())
    assert copied < 0.5 - bound(num_test)
    fair, num_test = play(real, real.copy(), holdout=holdout)
    assert abs(fair - 0.5) <= bound(num_test)


# Agreement with SDMetrics


@pytest.mark.parametrize("seed", range(5))
def test_complete_categorical_tables_agree_with_sdmetrics(seed):
    real, synthetic = categorical_table(300, seed), categorical_table(200, seed + 100, num_columns=4)
    synthetic.loc[:9, "c2"] = "unseen"
    columns = TotalVariationDistance.compute_breakdown(real, synthetic)["columns"]
    for name, part in columns.items():
        # SDMetrics gives an unseen category a millionth of a row, hence the tolerance
        assert part["score"] == pytest.approx(1 - TVComplement.compute(real[name], synthetic[name]), abs=1e-7)
    pairs = PairwiseTotalVariationDistance.compute_breakdown(real, synthetic)["pairs"]
    for names, part in pairs.items():
        one, other = real[list(names)], synthetic[list(names)]
        assert part["score"] == pytest.approx(1 - ContingencySimilarity.compute(one, other), abs=1e-12)


def test_sdmetrics_knows_the_metrics_by_name():
    known = SingleTableMetric.get_subclasses()
    assert all(known[metric.__name__] is metric for metric in ALL)
    table = categorical_table(60, 0)
    scores = compute_metrics({m.name: m for m in ALL[:2]}, table, table)
    assert scores["error"].isna().all()
    assert (scores["normalized_score"] == 1.0).all()


@pytest.mark.parametrize("metric", ALL)
def test_scores_lie_in_their_range_and_normalize(metric, mixed_table):
    table = mixed_table.drop(columns=["id", "email"])
    score = metric.compute(table.iloc[:300], table.iloc[300:], **options_of(metric))
    assert metric.min_value <= score <= metric.max_value
    assert 0.0 <= metric.normalize(score) <= 1.0
    assert metric.normalize(metric.max_value) == (0.0 if metric.goal.name == "MINIMIZE" else 1.0)


# Odd tables


@pytest.mark.parametrize("metric", ALL)
def test_odd_columns_work(metric):
    n = 60
    real = pd.DataFrame(
        {
            "constant": 1,
            "missing": np.nan,
            "half": [None, "a"] * (n // 2),
            "nullable": pd.array([1, 2, pd.NA] * (n // 3), dtype="Int64"),
            "when": pd.date_range("2020-01-01", periods=n, tz="UTC"),
            "huge": np.where(np.arange(n) % 7 == 0, np.inf, 1e308),
            "class": pd.Categorical(["p", "q"] * (n // 2), categories=["p", "q", "never"]),
        }
    )
    synthetic = real.copy()
    synthetic["half"] = "unseen"
    synthetic["class"] = ["new"] * n
    synthetic["when"] = real["when"].dt.tz_localize(None)
    assert 0.0 <= metric.compute(real, synthetic, **options_of(metric)) <= 1.0


@pytest.mark.parametrize("metric", ALL)
def test_tiny_tables_work_or_say_why(metric):
    row = pd.DataFrame({"a": ["x"], "b": [1]})
    if metric in ALL[:2]:
        assert metric.compute(row, row) == 0.0
    else:
        with pytest.raises(IncomputableMetricError, match="at least"):
            metric.compute(row, row)


@pytest.mark.parametrize(
    ("metric", "options", "words"),
    [
        (TotalVariationDistance, {"max_rows": 0}, r"max_rows \(0\) must be at least 1"),
        (ClassifierAccuracy, {"max_rows": 1}, r"max_rows \(1\) must be at least 2"),
        (ClassifierAccuracy, {"target": "nobody"}, r"target \('nobody'\) must be one of"),
        (ClassifierAccuracy, {"classifiers": ["oracle"]}, r"classifiers \(\['oracle'\]\) must name at least one of"),
        (ClassifierAgreement, {"num_runs": 0}, r"num_runs \(0\) must be at least 1"),
        (ClassifierAgreement, {"test_fraction": 1.0}, r"test_fraction \(1.0\) must lie between"),
        (DistinguishingGame, {"max_rows": 3}, r"max_rows \(3\) must be at least 4"),
        (DistinguishingGame, {"test_fraction": 0.0}, r"test_fraction \(0.0\) must lie between"),
        (DistinguishingGame, {"num_runs": 0}, r"num_runs \(0\) must be at least 1"),
    ],
)
def test_bad_options_get_clear_errors(metric, options, words):
    table = categorical_table(40, 0)
    with pytest.raises(ValueError, match=words):
        metric.compute(table, table, **options)


def test_one_column_has_no_pairs_and_nothing_to_predict_from():
    table = pd.DataFrame({"a": ["x", "y", "x", "y"]})
    with pytest.raises(IncomputableMetricError, match="pairs need two"):
        PairwiseTotalVariationDistance.compute(table, table)
    with pytest.raises(IncomputableMetricError, match="the only column"):
        ClassifierAccuracy.compute(table, table)


def test_runs_are_repeatable_and_differ_by_seed():
    real, synthetic = categorical_table(300, 1), categorical_table(300, 2)
    for metric in (ClassifierAgreement, DistinguishingGame):
        runs = [metric.compute_breakdown(real, synthetic, num_runs=2, random_state=s) for s in (0, 0, 1)]
        assert runs[0] == runs[1]
        assert runs[0] != runs[2]


def test_a_million_rows_are_counted_whole_and_classified_by_a_reported_sample():
    rng = np.random.default_rng(0)
    n = 1_000_000
    tables = [pd.DataFrame({"a": rng.integers(0, 5, n), "b": rng.normal(size=n)}) for _ in range(2)]
    found = PairwiseTotalVariationDistance.compute_breakdown(*tables)
    assert (found["num_rows_real"], found["subsampled"]) == (n, False)
    # 5 x 20 cells: the mean distance of two samples of one source is about sqrt(cells / (2 pi n)) * sqrt(2) / 2
    assert found["score"] < 0.02
    found = ClassifierAgreement.compute_breakdown(*tables, max_rows=500, classifiers=["tree"], **QUICK)
    assert (found["num_rows_train"], found["num_rows_test"], found["subsampled"]) == (500, 500, True)
    found = DistinguishingGame.compute_breakdown(*tables, max_rows=500, classifiers=["tree"], **QUICK)
    assert (found["num_rows_train"], found["num_rows_test"], found["subsampled"]) == (500, 500, True)


@pytest.mark.parametrize("metric", [ClassifierAccuracy, ClassifierAgreement, DistinguishingGame])
def test_one_classifier_none_and_all_rows(metric):
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"x": rng.normal(size=300), "y": rng.choice(["a", "b"], 300)})
    found = metric.compute(table, table, classifiers="tree", num_runs=1, max_rows=None)
    assert found == metric.compute(table, table, classifiers=("tree",), num_runs=1, max_rows=300)
    with pytest.raises(ValueError, match=r"classifiers \(\(\)\) must name at least one of"):
        metric.compute(table, table, classifiers=())


def test_subsampled_means_that_max_rows_left_rows_out():
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"x": rng.normal(size=300), "y": rng.choice(["a", "b"], 300)})
    for max_rows, expected in ((None, False), (600, False), (50, True)):
        longer = pd.concat([table, table])  # a longer synthetic table is not cut by max_rows
        found = ClassifierAgreement.compute_breakdown(table, longer, classifiers="tree", num_runs=1, max_rows=max_rows)
        assert found["subsampled"] is expected
        found = DistinguishingGame.compute_breakdown(table, longer, classifiers="tree", num_runs=1, max_rows=max_rows)
        assert found["subsampled"] is expected
        assert ModelAccuracy.compute_breakdown(table, longer, max_rows=max_rows)["subsampled"] is expected


def test_a_single_parent_may_be_given_by_itself():
    table = pd.DataFrame({"child": ["a", "b"] * 50, "parent": ["x", "y"] * 50})
    scores = [ModelAccuracy.compute(table, table, structure={"child": above}) for above in ("parent", ["parent"])]
    assert scores == [1, 1]
