"""Predicting a value from the others: by hand, and the most likely value exactly."""

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.evaluation import classifiers
from sdv_plausible.evaluation.metrics import ModelAccuracy


def test_model_accuracy_by_hand_and_by_structure():
    """b copies a, c is alone: given the others b and a are certain, c is its commonest value or not."""
    n = 400
    a, c = np.arange(n) % 4, np.where(np.arange(n) % 3 == 0, "rare", "often")
    table = pd.DataFrame({"a": a, "b": a * 10, "c": c}).astype(str)

    def found(structure):
        told = {"structure": structure, "holdout": table.iloc[:120]}
        return ModelAccuracy.compute_breakdown(table, table, **told)["columns"]

    for structure in (None, {"b": ["a"]}, {"b": "a"}):  # a single parent may be given by itself
        by_column = found(structure)
        assert by_column["a"]["score"] == by_column["b"]["score"] == by_column["b"]["real"] == 1.0
        assert by_column["a"]["majority"] == by_column["a"]["random_guess"] == 0.25
        assert by_column["c"]["majority"] == pytest.approx(80 / 120)
    assert found({})["b"]["score"] == 0.25
    with pytest.raises(ValueError, match=r"structure names \['nobody'\]"):
        found({"c": ["nobody"]})


def test_model_accuracy_by_structure_finds_the_most_likely_value_exactly():
    """Against enumeration of the joint distribution of a chain a -> b -> c with an unseen configuration."""
    rng = np.random.default_rng(3)
    train, test = (rng.integers(0, (3, 2, 4), (n, 3)).astype(np.int32) for n in (60, 200))
    cards, parents = (3, 2, 4), {1: [0], 2: [1]}
    predict = classifiers.network_predictor(parents, cards)

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
