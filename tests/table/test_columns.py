"""Exact answers about single columns: each a function of its cells one by one, against plain loops."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd

from sdv_plausible.table.columns import value_counts


def test_true_and_one_are_told_apart_whatever_comes_first():
    values = [True, 1, 1.0, "1", 2.5, True, np.int64(1), np.True_]
    expected = {(True, True): 3, (False, 1): 3, (False, "1"): 1, (False, 2.5): 1}
    for order in itertools.islice(itertools.permutations(values), 0, 40320, 1777):
        counts, missing = value_counts(pd.Series([*order, None], dtype=object))
        assert missing == 1
        assert counts == expected
        assert {type(v) for _, v in counts} == {bool, int, str, float}
