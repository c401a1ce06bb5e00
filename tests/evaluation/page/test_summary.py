"""What the page keeps of tables: histograms, dependences, distances; of the release, nothing real."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.evaluation.page.summary import histogram, summarise_comparison, summarise_release
from sdv_plausible.evaluation.tables import prepare


def test_histograms_by_hand():
    one = histogram("x", "numerical", [pd.Series([1, 1, 2, None]), pd.Series([2, 2, 3, 3])])
    assert one.labels == ("1", "2", "3", "missing")
    assert one.shares == ((0.5, 0.25, 0.0, 0.25), (0.0, 0.5, 0.5, 0.0))
    two = histogram("c", "categorical", [pd.Series(["a", "b", "b", None]), pd.Series(["z"] * 4)])
    assert two.labels == ("b", "a", "z", "missing")
    assert two.shares == ((0.5, 0.25, 0.0, 0.25), (0.0, 0.0, 1.0, 0.0))


@pytest.mark.parametrize(
    ("values", "kind", "ordered"),
    [
        (np.arange(1000), "numerical", True),
        (np.random.default_rng(0).standard_cauchy(1000), "numerical", True),
        ([np.nan] * 5, "numerical", True),
        ([np.inf, -np.inf, 1.0], "numerical", True),
        ([7], "numerical", True),
        (pd.date_range("2020-01-01", periods=100, freq="min"), "datetime", True),
        ([f"v{i}" for i in range(100)], "categorical", False),
        ([None, None], "categorical", False),
    ],
)
def test_shares_of_any_column_sum_to_one(values, kind, ordered):
    one = histogram("x", kind, [pd.Series(values)])
    assert one.ordered == ordered
    assert len(one.labels) == len(one.shares[0]) <= 21
    assert sum(one.shares[0]) == pytest.approx(1.0)
    assert all(0 <= position <= len(one.labels) for position, _ in one.marks)


def test_integer_bins_name_their_values_and_hold_every_row():
    one = histogram("x", "numerical", [pd.Series(range(17, 97))])
    assert one.labels[0] == "17 to 20"
    assert one.shares[0] == pytest.approx([0.05] * 20)


def test_a_release_summary_takes_no_real_row():
    """The signature is the guarantee: one table, and no argument for another."""
    synthetic = pd.DataFrame({"a": ["x", "y", "x", "y"], "b": [1, 2, 1, 2]})
    kinds = {"a": "categorical", "b": "numerical"}
    found = summarise_release(synthetic, kinds, {}, num_bins=20, max_rows=None, random_state=0)
    assert found.num_rows == 4
    assert found.dependence[0, 1] == pytest.approx(1.0)
    assert [len(h.shares) for h in found.histograms] == [1, 1]


def test_the_reference_of_a_comparison_is_halves_or_held_out_rows():
    frame = pd.DataFrame({"a": ["x", "y"] * 50, "b": ["x", "y"] * 50})
    pair = prepare(frame, frame)
    options = {"num_bins": 20, "max_rows": None, "random_state": 0}
    halves = summarise_comparison(pair, None, holdout=None, **options)
    assert halves.reference == "two halves of the real rows"
    # a and b are equal: shuffled, half of the rows fall into cells that were empty
    assert halves.independent_pairs[0] == pytest.approx(0.5, abs=0.25)
    held = summarise_comparison(pair, None, holdout=pd.DataFrame({"a": ["z"], "b": ["z"]}), **options)
    assert held.reference == "real rows against held-out ones"
    assert held.reference_columns.tolist() == [1, 1]
    single = prepare(frame.iloc[:1], frame)
    assert summarise_comparison(single, None, holdout=None, **options).reference_pairs.size == 0
