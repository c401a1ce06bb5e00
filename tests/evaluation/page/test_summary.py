"""What the page keeps of tables: dependences, distances; of the release, nothing real."""

import pandas as pd
import pytest

from sdv_plausible.evaluation.page.summary import summarise_comparison, summarise_release
from sdv_plausible.evaluation.tables import prepare


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
