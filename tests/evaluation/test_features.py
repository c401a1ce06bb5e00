"""Features of classifiers: finite, and knowing missing, unseen and rare values."""

import numpy as np
import pandas as pd

from sdv_plausible.evaluation.features import FeatureEncoder


def test_features_are_finite_and_know_missing_and_unseen():
    train = pd.DataFrame({"x": [1e308, -1e308, np.nan, np.inf], "c": ["a", "a", "b", None]})
    asked = pd.DataFrame({"x": [0.0, np.nan, 5.0], "c": ["b", "z", None]})
    encoder = FeatureEncoder({"x": "numerical", "c": "categorical"}).fit(train)
    for one_hot in (False, True):
        assert np.isfinite(encoder.transform(train, one_hot=one_hot)).all()
        assert np.isfinite(encoder.transform(asked, one_hot=one_hot)).all()
    trees = encoder.transform(asked, one_hot=False)
    assert trees[:, 1].tolist() == [0, 1, 0]  # missing flag of x
    assert trees[:, 2].tolist() == [1, -2, -1]  # rank of "b", unseen, missing
    linear = encoder.transform(asked, one_hot=True)
    assert linear[:, 2:].tolist() == [[0, 0, 0, 0, 1], [0, 1, 0, 0, 0], [1, 0, 0, 0, 0]]


def test_constant_and_empty_columns_make_constant_features():
    frame = pd.DataFrame({"x": [2.0, 2.0], "y": [np.nan, np.nan], "c": ["a", "a"]})
    encoder = FeatureEncoder({"x": "numerical", "y": "numerical", "c": "categorical"}).fit(frame)
    features = encoder.transform(frame, one_hot=False)
    assert (features[0] == features[1]).all()


def test_rare_categories_share_one_indicator():
    values = [f"v{i:03d}" for i in range(200)]
    frame = pd.DataFrame({"c": values + values[:50]})
    encoder = FeatureEncoder({"c": "categorical"}).fit(frame)
    linear = encoder.transform(frame, one_hot=True)
    assert linear.shape == (250, 53)
    assert linear[:, 2].sum() == 150  # the 150 values that occur once
