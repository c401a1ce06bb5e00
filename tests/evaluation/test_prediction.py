"""Predicting a value from the others: by hand, and the most likely value exactly."""

import numpy as np
import pandas as pd
import pytest
from metric_cases import categorical_table

from sdv_plausible.evaluation import prediction
from sdv_plausible.evaluation.metrics import ModelAccuracy


def test_model_accuracy_by_hand_and_by_structure():
    """b copies a, c is alone: given the others b and a are certain, c is its commonest value or not."""
    n = 400
    a = np.arange(n) % 4
    table = pd.DataFrame({"a": a, "b": a * 10, "c": np.where(np.arange(n) % 3 == 0, "rare", "often")}).astype(
        str
    )
    holdout = table.iloc[:120]
    for structure in (None, {"b": ["a"]}):
        found = ModelAccuracy.compute_breakdown(table, table, structure=structure, holdout=holdout)["columns"]
        assert found["a"]["score"] == found["b"]["score"] == found["b"]["real"] == 1.0
        assert found["a"]["majority"] == found["a"]["random_guess"] == 0.25
        assert found["c"]["majority"] == pytest.approx(80 / 120)
    assert (
        ModelAccuracy.compute_breakdown(table, table, structure={}, holdout=holdout)["columns"]["b"]["score"]
        == 0.25
    )


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


def test_a_single_parent_may_be_given_by_itself():
    table = pd.DataFrame({"child": ["a", "b"] * 50, "parent": ["x", "y"] * 50})
    scores = [
        ModelAccuracy.compute(table, table, structure={"child": above}) for above in ("parent", ["parent"])
    ]
    assert scores == [1, 1]
