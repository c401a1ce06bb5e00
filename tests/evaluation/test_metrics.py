"""The metrics of [PD] section 6: hand-computed tables, identical tables, noise, agreement with SDMetrics."""

import numpy as np
import pandas as pd
import pytest
from metric_cases import QUICK, categorical_table
from sdmetrics import compute_metrics
from sdmetrics.column_pairs import ContingencySimilarity
from sdmetrics.errors import IncomputableMetricError
from sdmetrics.single_column import TVComplement
from sdmetrics.single_table import SingleTableMetric

from sdv_plausible.evaluation.metrics import (
    ClassifierAccuracy,
    ClassifierAgreement,
    DistinguishingGame,
    ModelAccuracy,
    PairwiseTotalVariationDistance,
    TotalVariationDistance,
)

COUNTED = TotalVariationDistance, PairwiseTotalVariationDistance
ALL = (*COUNTED, ModelAccuracy, ClassifierAccuracy, ClassifierAgreement, DistinguishingGame)


def options_of(metric):
    return {} if metric in COUNTED else {"max_rows": 300} | ({} if metric is ModelAccuracy else QUICK)


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


def test_identical_tables(mixed_table):
    table = mixed_table.drop(columns=["id", "email"]).sample(frac=1, random_state=0)
    assert TotalVariationDistance.compute(table, table.copy()) == 0.0
    assert PairwiseTotalVariationDistance.compute(table, table.copy()) == 0.0
    assert ClassifierAgreement.compute(table, table.copy(), target="city", num_runs=2) == 1.0
    assert DistinguishingGame.compute(table, table.copy(), **QUICK) == 0.5
    assert DistinguishingGame.normalize(0.5) == 1.0


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


@pytest.mark.parametrize("metric", ALL)
def test_odd_columns_work(metric):
    n = 60
    columns = {
        "constant": 1, "missing": np.nan, "half": [None, "a"] * (n // 2),
        "nullable": pd.array([1, 2, pd.NA] * (n // 3), dtype="Int64"),
        "when": pd.date_range("2020-01-01", periods=n, tz="UTC"),
        "huge": np.where(np.arange(n) % 7 == 0, np.inf, 1e308),
        "class": pd.Categorical(["p", "q"] * (n // 2), categories=["p", "q", "never"]),
    }  # fmt: skip
    real = pd.DataFrame(columns)
    synthetic = real.copy()
    synthetic["half"] = "unseen"
    synthetic["class"] = ["new"] * n
    synthetic["when"] = real["when"].dt.tz_localize(None)
    assert 0.0 <= metric.compute(real, synthetic, **options_of(metric)) <= 1.0


def test_tables_too_small_say_why():
    row, column = pd.DataFrame({"a": ["x"], "b": [1]}), pd.DataFrame({"a": ["x", "y", "x", "y"]})
    assert [metric.compute(row, row) for metric in COUNTED] == [0.0, 0.0]
    for metric in ALL[2:]:
        with pytest.raises(IncomputableMetricError, match="at least"):
            metric.compute(row, row)
    for metric, words in (
        (PairwiseTotalVariationDistance, "pairs need two"),
        (ClassifierAccuracy, "the only column"),
    ):
        with pytest.raises(IncomputableMetricError, match=words):
            metric.compute(column, column)


def test_bad_options_get_clear_errors():
    table = categorical_table(40, 0)
    for metric, name, wrong, words in (
        (TotalVariationDistance, "max_rows", 0, r"max_rows \(0\) must be at least 1"),
        (ClassifierAccuracy, "max_rows", 1, r"max_rows \(1\) must be at least 2"),
        (ClassifierAccuracy, "target", "nobody", r"target \('nobody'\) must be one of"),
        (
            ClassifierAccuracy,
            "classifiers",
            ["oracle"],
            r"classifiers \(\['oracle'\]\) must name at least one of",
        ),
        *(
            (metric, "classifiers", (), r"classifiers \(\(\)\) must name at least one of")
            for metric in ALL[3:]
        ),
        (ClassifierAgreement, "num_runs", 0, r"num_runs \(0\) must be at least 1"),
        (ClassifierAgreement, "test_fraction", 1.0, r"test_fraction \(1.0\) must lie between"),
        (DistinguishingGame, "max_rows", 3, r"max_rows \(3\) must be at least 4"),
        (DistinguishingGame, "test_fraction", 0.0, r"test_fraction \(0.0\) must lie between"),
        (DistinguishingGame, "num_runs", 0, r"num_runs \(0\) must be at least 1"),
    ):
        with pytest.raises(ValueError, match=words):
            metric.compute(table, table, **{name: wrong})


def test_runs_are_repeatable_and_differ_by_seed():
    real, synthetic = categorical_table(120, 1), categorical_table(120, 2)
    for metric in (ClassifierAgreement, DistinguishingGame):
        runs = [metric.compute_breakdown(real, synthetic, num_runs=2, random_state=s) for s in (0, 0, 1)]
        assert runs[0] == runs[1] != runs[2]


def test_a_million_rows_are_counted_whole_and_classified_by_a_reported_sample():
    rng = np.random.default_rng(0)
    n = 1_000_000
    tables = [pd.DataFrame({"a": rng.integers(0, 5, n), "b": rng.normal(size=n)}) for _ in range(2)]
    found = PairwiseTotalVariationDistance.compute_breakdown(*tables)
    assert (found["num_rows_real"], found["subsampled"]) == (n, False)
    # 5 x 20 cells: the mean distance of two samples of one source is about sqrt(cells / (2 pi n)) * sqrt(2) / 2
    assert found["score"] < 0.02
    for metric in (ClassifierAgreement, DistinguishingGame):
        found = metric.compute_breakdown(*tables, max_rows=500, classifiers=["tree"], **QUICK)
        assert (found["num_rows_train"], found["num_rows_test"], found["subsampled"]) == (500, 500, True)


def test_one_classifier_all_rows_and_a_sample_that_leaves_rows_out():
    rng, tree = np.random.default_rng(1), {"classifiers": "tree", **QUICK}
    table = pd.DataFrame({"x": rng.normal(size=300), "y": rng.choice(["a", "b"], 300)})
    for metric in ALL[3:]:
        found = metric.compute(table, table, **tree, max_rows=None)
        assert found == metric.compute(table, table, classifiers=("tree",), max_rows=300, **QUICK)
    longer = pd.concat([table, table])  # a longer synthetic table is not cut by max_rows
    for metric, options in ((ClassifierAgreement, tree), (DistinguishingGame, tree), (ModelAccuracy, {})):
        for max_rows, expected in ((None, False), (600, False), (50, True)):
            found = metric.compute_breakdown(table, longer, max_rows=max_rows, **options)
            assert found["subsampled"] is expected
