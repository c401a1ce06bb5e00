"""Rows to train on and to test on: none is in two parts."""

import numpy as np
import pandas as pd
import pytest
from sdmetrics.errors import IncomputableMetricError

from sdv_plausible.evaluation.features import split_rows, split_sizes
from sdv_plausible.evaluation.tables import prepare

REAL = pd.DataFrame({"x": [f"r{i}" for i in range(100)]})
HELD = pd.DataFrame({"x": [f"h{i}" for i in range(40)]})
PAIR = prepare(REAL, REAL)


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
        split_sizes(prepare(REAL[:2], REAL), None, 0.3, None, 2)
    with pytest.raises(ValueError, match="test_fraction"):
        split_sizes(PAIR, None, 1.0, None)
    with pytest.raises(ValueError, match="max_rows"):
        split_sizes(PAIR, None, 0.3, 1)
