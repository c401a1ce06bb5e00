"""Scores: shares of what real rows reach, so that nothing is a loss that real rows lose, too."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.evaluation.page.summary import (
    ComparisonSummary,
    RelativeScore,
    Scores,
    overall,
    relative_scores,
)

NONE = np.empty(0)
EMPTY = ComparisonSummary(
    histograms=(), real_dependence=np.eye(1), synthetic_dependence=np.eye(1), reference="halves", num_rows=10,
    reference_columns=NONE, reference_pairs=NONE, synthetic_columns=NONE, synthetic_pairs=NONE, independent_pairs=NONE,
)  # fmt: skip


def score(score, ceiling):
    return RelativeScore(name="x", score=score, ceiling=ceiling)


def test_a_score_at_the_ceiling_is_no_loss():
    assert score(0.898, 0.899).relative == pytest.approx(0.9989, abs=1e-4)
    assert score(0.9, 0.8).relative == 1.0
    assert score(0.0, 0.0).relative == 1.0
    assert math.isnan(score(0.9, math.nan).relative)


def test_overall_leads_and_is_the_mean_of_what_there_is():
    found = Scores.of([score(0.4, 0.8), score(1.0, 1.0), score(math.nan, 1.0)])
    assert found.overall == 0.75
    assert found.scores[0] == ("x", 0.5, 0.4, 0.8)
    assert math.isnan(overall([]))


def test_each_property_has_its_own_ceiling():
    """Distances are those of equal numbers of rows, where there are some; guessing is the game's ceiling."""
    compared = dataclasses.replace(
        EMPTY,
        synthetic_columns=np.array([0.2, 0.4]),
        reference_columns=np.array([0.1, 0.1]),
        synthetic_pairs=np.array([0.5]),
        reference_pairs=np.array([0.2]),
    )
    details = {
        "Column Distances": pd.DataFrame({"Score": [0.9]}),
        "Pair Distances": pd.DataFrame({"Score": [0.9]}),
        "Classifier Agreement": pd.DataFrame({"Score": [0.8, 0.6], "Ceiling": [0.9, 0.7]}),
        "Distinguishing Game": pd.DataFrame({"Score": [0.5]}),
    }
    found = [(one.score, one.ceiling) for one in relative_scores(details, compared)]
    assert found == [pytest.approx(both) for both in ((0.7, 0.9), (0.5, 0.8), (0.7, 0.8), (0.5, 1.0))]
    without = relative_scores(details, EMPTY)
    assert without[0].score == 0.9
    assert math.isnan(without[0].ceiling)
