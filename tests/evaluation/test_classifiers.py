"""Classifiers trained on real and on synthetic rows: by hand, and tested on the rows they should be."""

import warnings

import numpy as np
import pandas as pd
from metric_cases import QUICK
from sklearn.utils.parallel import _FuncWrapper

from sdv_plausible.evaluation.classifiers import Training, predict_all
from sdv_plausible.evaluation.metrics import ClassifierAccuracy, ClassifierAgreement, DistinguishingGame

TREE = {"classifiers": ["tree"], "num_runs": 2}


def test_classifiers_by_hand():
    """y equals x in the real rows and is its opposite in the synthetic ones: accuracy 0, agreement 0."""
    x = np.arange(200) % 2
    real, opposite = (pd.DataFrame({"x": x, "y": np.where(y == 1, "yes", "no")}) for y in (x, 1 - x))
    found = ClassifierAccuracy.compute_breakdown(real, opposite, num_runs=2)
    assert found["target"] == "y"
    kinds = {"tree", "random_forest", "adaboost", "logistic_regression", "linear_svm"}
    assert set(found["classifiers"]) == kinds
    for part in found["classifiers"].values():
        assert (part["score"], part["real"]["score"], part["low"], part["high"]) == (0.0, 1.0, 0.0, 0.0)
    assert ClassifierAgreement.compute(real, opposite, **QUICK) == 0.0
    assert ClassifierAccuracy.compute(real, real, **QUICK) == 1.0


def test_a_numerical_target_is_split_at_the_real_median_and_held_out_rows_are_what_is_tested():
    real = pd.DataFrame({"x": np.arange(100.0), "y": np.arange(100.0) * 2})
    found = ClassifierAccuracy.compute_breakdown(real, real, target="y", **TREE)
    assert found["score"] > 0.9
    assert found["majority"] < 0.7
    x = np.arange(60) % 2
    real, opposite = (pd.DataFrame({"x": x, "y": y.astype(str)}) for y in (x, 1 - x))
    found = ClassifierAccuracy.compute_breakdown(real, real, holdout=opposite, **TREE)
    assert (found["score"], found["num_rows_train"], found["num_rows_test"]) == (0.0, 60, 60)


def test_the_ceiling_is_how_often_twins_of_different_real_rows_agree():
    """Labels are coins: a tree learns them by heart, so that twins agree by chance; a copy of the rows is no loss."""
    rng = np.random.default_rng(0)
    real = pd.DataFrame({"x": np.arange(4000.0), "y": rng.choice(["no", "yes"], 4000)})
    options = {**TREE, "ceiling": True}
    copied = ClassifierAgreement.compute_breakdown(real, real, **options)
    assert (copied["score"], copied["num_rows_train"]) == (1.0, 1400)
    assert 0.4 < copied["classifiers"]["tree"]["ceiling"] < 0.65
    sure = real.assign(y=np.where(np.arange(4000) % 2, "yes", "no"), x=np.arange(4000) % 2)
    found = ClassifierAgreement.compute_breakdown(sure, sure, **options)
    assert found["classifiers"]["tree"]["ceiling"] == 1.0
    without = ClassifierAgreement.compute_breakdown(real, real, **TREE)
    assert "ceiling" not in without["classifiers"]["tree"]


def test_each_outcome_is_its_own_classifiers():
    """Trained side by side: those whose seed says nothing do alone what they do among others, run by run."""
    rng = np.random.default_rng(0)
    real, synthetic = (pd.DataFrame(rng.integers(0, 9, (300, 4)), columns=list("abcd")) for _ in range(2))
    for frame in (real, synthetic):
        frame["y"] = np.where((frame["a"] > 4) ^ (frame["b"] > 4), "yes", "no")
    for metric in (ClassifierAgreement, DistinguishingGame):
        together, alone = (
            metric.compute_breakdown(real, synthetic, classifiers=names, num_runs=3)["classifiers"]
            for names in (("tree", "logistic_regression"), ("logistic_regression",))
        )
        assert together["logistic_regression"] == alone["logistic_regression"]
        assert together["logistic_regression"]["runs"] != together["tree"]["runs"]


def test_forests_side_by_side_warn_of_nothing(monkeypatch):
    """scikit-learn empties the warning filters of all threads for a moment, and then misses them in another."""
    in_a_busy_moment = lambda training: _FuncWrapper(lambda: training.labels)()  # noqa: E731
    monkeypatch.setattr(Training, "predict", in_a_busy_moment)
    labels = np.array([0, 1])
    training = Training(name="forest", train=None, labels=labels, test=None, random_state=0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert [one.tolist() for one in predict_all([training] * 8)] == [[0, 1]] * 8
    assert told == []
