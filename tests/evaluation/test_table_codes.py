"""Codes of evaluation: every kind of column, and no difference that the data do not have."""

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.evaluation.table_codes import (
    encode,
    encode_pair,
    quantile_edges,
    sample_positions,
    to_numbers,
)
from sdv_plausible.evaluation.table_pair import prepare_pair


def codes_of(real, synthetic, kind="categorical", **options):
    frames = [pd.DataFrame({"x": real}), pd.DataFrame({"x": synthetic})]
    coded = encode(frames, {"x": kind}, **options)
    return coded.tables[0][:, 0].tolist(), coded.tables[1][:, 0].tolist(), coded.cardinalities[0]


def test_categories_get_equal_codes_whatever_the_dtype():
    real = pd.Series(["b", "a", None, "b"], dtype="category")
    synthetic = pd.Series(["a", "c", "b", np.nan], dtype=object)
    assert codes_of(real, synthetic) == ([1, 2, 0, 1], [2, 3, 1, 0], 4)
    # Numbers are equal across dtypes, but not to text.
    assert codes_of(pd.Series([1, 2]), pd.Series([2.0, 1.0]))[:2] == ([1, 2], [2, 1])
    assert codes_of(pd.Series([True, False]), pd.Series([1, 0], dtype=object))[:2] == ([1, 2], [1, 2])
    assert codes_of(pd.Series([1]), pd.Series(["1"]))[:2] == ([1], [2])
    assert codes_of(pd.array([1, pd.NA], dtype="Int64"), pd.Series([np.nan, 1.0]))[:2] == ([1, 0], [0, 1])


def test_quantile_bins_hold_equal_shares_and_frequent_values_stand_alone():
    edges = quantile_edges(np.arange(1000.0), 4)
    assert edges.tolist() == [249, 499, 749]
    mostly_zero = np.array([0.0] * 90 + list(range(1, 31)))
    edges = quantile_edges(mostly_zero, 4)
    assert edges.tolist() == [0.0]  # quartiles 0, 0 and 0: one bin of zeros, one above
    assert quantile_edges(np.array([3.0, 1.0, 2.0, np.nan]), 20).tolist() == [1.0, 2.0]
    assert quantile_edges(np.array([np.nan]), 20).size == 0


def test_numbers_fall_into_the_real_datas_bins():
    real = pd.Series([1.0, 2.0, 3.0, 4.0, np.nan])
    synthetic = pd.Series(["0", 2.5, 99, None, "junk"], dtype=object)
    # Below the range, in the upper half, above the range, missing, unreadable.
    assert codes_of(real, synthetic, "numerical", num_bins=2) == ([1, 1, 2, 2, 0], [3, 2, 3, 0, 4], 5)
    with pytest.raises(ValueError, match=r"num_bins \(0\) must be at least 1"):
        codes_of(real, real, "numerical", num_bins=0)


def test_datetimes_are_read_in_utc_and_by_format():
    zoned = pd.Series(pd.date_range("2020-01-01", periods=2, tz="Europe/Berlin"))
    values, unreadable = to_numbers(zoned, "datetime")
    assert values[0] == pd.Timestamp("2019-12-31 23:00").timestamp()
    assert not unreadable.any()
    text = pd.Series(["03.02.2021", None, "never"])
    values, unreadable = to_numbers(text, "datetime", "%d.%m.%Y")
    assert values[0] == pd.Timestamp("2021-02-03").timestamp()
    assert np.isnan(values[1:]).all()
    assert unreadable.tolist() == [False, False, True]


def test_subsampling_is_drawn_without_replacement_and_reported():
    rng = np.random.default_rng(0)
    assert sample_positions(5, None, rng).tolist() == [0, 1, 2, 3, 4]
    drawn = sample_positions(1000, 100, rng)
    assert drawn.size == np.unique(drawn).size == 100
    pair = prepare_pair(pd.DataFrame({"x": range(50)}), pd.DataFrame({"x": range(20)}))
    used = encode_pair(pair, 20, 30, 0)[1]
    assert used == {"num_rows_real": 30, "num_rows_synthetic": 20, "subsampled": True}
    assert not encode_pair(pair, 20, None, 0)[1]["subsampled"]

    synthetic = pd.DataFrame(
        {"x": [str(i) for i in range(100)]}
    )  # whose sample does not depend on the real rows
    pairs = [prepare_pair(pd.DataFrame({"x": ["r"] * n}), synthetic) for n in (5, 50_000)]
    first, second = (encode_pair(pair, 20, 10, 0)[0].tables[1] for pair in pairs)
    assert (first == second).all()
