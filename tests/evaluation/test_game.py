"""The game of telling real rows from synthetic ones: fair where they have one source, and won where they have not."""

import numpy as np
import pandas as pd
import pytest
from metric_cases import QUICK, bound, categorical_table

from sdv_plausible.evaluation import classifiers
from sdv_plausible.evaluation.metrics import (
    ClassifierAccuracy,
    ClassifierAgreement,
    DistinguishingGame,
    ModelAccuracy,
    PairwiseTotalVariationDistance,
    TotalVariationDistance,
)
from sdv_plausible.evaluation.table_codes import FeatureEncoder


def play(real, synthetic, **more):
    options = {"test_fraction": 0.5, "max_rows": 20_000, "classifiers": ["random_forest"], **QUICK, **more}
    found = DistinguishingGame.compute_breakdown(real, synthetic, **options)
    return found["classifiers"]["random_forest"]["score"], found["num_rows_test"]


def numbers_and_rare_words(seed, num_rows=4000):
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 50_000, num_rows).astype(str)
    return pd.DataFrame({"word": words, "x": rng.normal(size=num_rows)})


def test_the_game_on_rows_of_one_source_is_a_coin_toss():
    """False alarm 1e-6. The words are many and rare: a known vocabulary of one side would give it away (next test)."""
    accuracy, num_test = play(numbers_and_rare_words(1), numbers_and_rare_words(2))
    assert num_test == 4000
    assert abs(accuracy - 0.5) <= bound(num_test)


@pytest.mark.parametrize("bug", ["tested on its training rows", "vocabulary of the real table"])
def test_the_coin_toss_test_sees_planted_bugs(bug, monkeypatch):
    real = numbers_and_rare_words(1)
    if bug == "tested on its training rows":
        mixes = classifiers._mixes
        monkeypatch.setattr(classifiers, "_mixes", lambda *args: (mixes(*args)[0],) * 2)
    else:

        class Knowing(FeatureEncoder):
            def fit(self, frame):
                return super().fit(real)

        monkeypatch.setattr(classifiers, "FeatureEncoder", Knowing)
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
