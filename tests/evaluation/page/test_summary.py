"""What the page keeps of tables: dependences, distances; of the release, nothing real."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.evaluation.page.summary import (
    ComparisonSummary,
    RelativeScore,
    ScoreSection,
    overall,
    relative_scores,
    summarise_comparison,
    summarise_release,
)
from sdv_plausible.evaluation.table_pair import prepare_pair


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
    pair = prepare_pair(frame, frame)
    options = {"num_bins": 20, "max_rows": None, "random_state": 0}
    halves = summarise_comparison(pair, None, holdout=None, **options)
    assert halves.reference == "two halves of the real rows"
    # a and b are equal: shuffled, half of the rows fall into cells that were empty
    assert halves.independent_pairs[0] == pytest.approx(0.5, abs=0.25)
    held = summarise_comparison(pair, None, holdout=pd.DataFrame({"a": ["z"], "b": ["z"]}), **options)
    assert held.reference == "real rows against held-out ones"
    assert held.reference_columns.tolist() == [1, 1]
    single = prepare_pair(frame.iloc[:1], frame)
    assert summarise_comparison(single, None, holdout=None, **options).reference_pairs.size == 0


NONE = np.empty(0)
EMPTY = ComparisonSummary(
    histograms=(), real_dependence=np.eye(1), synthetic_dependence=np.eye(1), reference="halves", num_rows=10,
    reference_columns=NONE, reference_pairs=NONE, synthetic_columns=NONE, synthetic_pairs=NONE, independent_pairs=NONE,
)  # fmt: skip


def score(score, ceiling):
    return RelativeScore(name="x", score=score, ceiling=ceiling)


def test_a_score_at_the_ceiling_is_no_loss_and_overall_is_the_mean_of_what_there_is():
    """Shares of what real rows reach, so that nothing is a loss that real rows lose, too."""
    found = [score(*both).relative for both in ((0.9, 0.8), (0.0, 0.0), (0.898, 0.899))]
    assert found == pytest.approx([1.0, 1.0, 0.9989], abs=1e-4)
    assert math.isnan(score(0.9, math.nan).relative)
    scores = ScoreSection.of([score(0.4, 0.8), score(1.0, 1.0), score(math.nan, 1.0)])
    assert (scores.overall, scores.scores[0]) == (0.75, ("x", 0.5, 0.4, 0.8))
    assert math.isnan(overall([]))


def test_each_property_has_its_own_ceiling():
    """Distances are those of equal numbers of rows, where there are some; guessing is the game's ceiling."""
    columns = {"synthetic_columns": np.array([0.2, 0.4]), "reference_columns": np.array([0.1, 0.1])}
    pairs = {"synthetic_pairs": np.array([0.5]), "reference_pairs": np.array([0.2])}
    details = {
        "Column Distances": pd.DataFrame({"Score": [0.9]}),
        "Pair Distances": pd.DataFrame({"Score": [0.9]}),
        "Classifier Agreement": pd.DataFrame({"Score": [0.8, 0.6], "Ceiling": [0.9, 0.7]}),
        "Distinguishing Game": pd.DataFrame({"Score": [0.5]}),
    }
    compared = dataclasses.replace(EMPTY, **columns, **pairs)
    found = [(one.score, one.ceiling) for one in relative_scores(details, compared)]
    assert found == [pytest.approx(both) for both in ((0.7, 0.9), (0.5, 0.8), (0.7, 0.8), (0.5, 1.0))]
    without = relative_scores(details, EMPTY)
    assert without[0].score == 0.9
    assert math.isnan(without[0].ceiling)
