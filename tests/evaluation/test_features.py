"""Features of classifiers: finite, and knowing missing, unseen and rare values; rows to train and to test on, apart."""

import numpy as np
import pandas as pd
import pytest
from sdmetrics.errors import IncomputableMetricError

from sdv_plausible.evaluation.table_codes import FeatureEncoder, split_rows, split_sizes
from sdv_plausible.evaluation.table_pair import prepare_pair


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
    first, second = encoder.transform(frame, one_hot=False)
    assert (first == second).all()


def test_rare_categories_share_one_indicator():
    values = [f"v{i:03d}" for i in range(200)]
    frame = pd.DataFrame({"c": values + values[:50]})
    encoder = FeatureEncoder({"c": "categorical"}).fit(frame)
    linear = encoder.transform(frame, one_hot=True)
    assert linear.shape == (250, 53)
    assert linear[:, 2].sum() == 150  # the 150 values that occur once


REAL = pd.DataFrame({"x": [f"r{i}" for i in range(100)]})
HELD = pd.DataFrame({"x": [f"h{i}" for i in range(40)]})
PAIR = prepare_pair(REAL, REAL)


@pytest.mark.parametrize(
    ("holdout", "trainings", "sizes"),
    [(None, 1, (70, 30)), (None, 2, (35, 30)), (HELD, 1, (100, 40)), (HELD, 2, (50, 40))],
)
def test_no_row_is_in_two_parts(holdout, trainings, sizes):
    *found, subsampled = split_sizes(PAIR, holdout, 0.3, None, trainings)
    assert (tuple(found), subsampled) == (sizes, False)
    rng = np.random.default_rng(0)
    real, _, *others = split_rows(PAIR, holdout, sizes, rng, twin=trainings == 2)
    parts = [set(part["x"]) for part in (real, *others)]
    assert [len(part) for part in parts] == [sizes[0], sizes[1], sizes[0]][: 1 + trainings]
    assert len(set.union(*parts)) == sum(map(len, parts))


def test_sizes_are_bounded_and_too_few_rows_are_said():
    assert split_sizes(PAIR, None, 0.3, 20, 2) == (20, 20, True)
    with pytest.raises(IncomputableMetricError, match="at least 3"):
        split_sizes(prepare_pair(REAL[:2], REAL), None, 0.3, None, 2)
    for words, wrong in (("test_fraction", (1.0, None)), ("max_rows", (0.3, 1))):
        with pytest.raises(ValueError, match=words):
            split_sizes(PAIR, None, *wrong)
