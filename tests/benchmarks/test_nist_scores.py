"""NIST's scores on tables small enough to count by hand."""

import numpy as np
import pandas as pd
import pytest

from benchmarks import nist_scores
from benchmarks.raw_codebooks import CodeBook

BOOK = CodeBook(metadata={}, domain={})


def _frame(**columns: list[object]) -> pd.DataFrame:
    return pd.DataFrame(columns)


def test_the_same_table_has_the_full_score_and_cannot_be_told_apart():
    rng = np.random.default_rng(0)
    real = pd.DataFrame({"AGEP": rng.integers(0, 99, 500), "SEX": rng.integers(1, 3, 500)})
    coded = nist_scores.as_codes(real, [])
    assert nist_scores.k_marginal(*nist_scores.binned(coded, coded)) == 1000
    assert nist_scores.propensity(coded, coded) == pytest.approx(0)


def test_k_marginal_is_1000_less_500_times_the_distance_of_pairs():
    real, made = _frame(A=[0, 0, 1, 1], B=[0, 0, 1, 1]), _frame(A=[0, 0, 1, 1], B=[0, 1, 1, 1])
    assert nist_scores.pair_distances(real, made) == {("A", "B"): 0.5}
    assert nist_scores.k_marginal(real, made) == 750


def test_where_areas_are_a_column_pairs_are_compared_within_them():
    real = _frame(PUMA=[0, 0, 1, 1], A=[0, 0, 1, 1], B=[0, 0, 1, 1])
    made = _frame(PUMA=[0, 1, 0, 1], A=[0, 0, 1, 1], B=[0, 0, 1, 1])
    assert nist_scores.k_marginal(real[["A", "B"]], made[["A", "B"]]) == 1000
    assert nist_scores.k_marginal(real, made) == 500


def test_values_beyond_the_real_ones_have_a_bin_of_their_own():
    real = pd.DataFrame({"AGEP": np.arange(100.0)})
    made = pd.DataFrame({"AGEP": np.r_[np.arange(99.0), 120.0]})
    one, two = nist_scores.binned(real, made)
    assert two["AGEP"].iloc[-1] > one["AGEP"].max()


def test_violations_are_counted_check_by_check():
    table = _frame(AGEP=[10, 10, 2, 40, 40], MSP=["N", "1", "N", "N", "1"], EDU=["3", "12", "1", "12", "12"])
    found = nist_scores.inconsistencies(table, BOOK)
    assert {name for name, number in found.items() if number == 1} == {
        "child_MSP", "child_phd", "infant_EDU", "adult_N",
    }  # fmt: skip
    assert (found["violations"], found["rows"]) == (4, 3)


def test_rows_that_no_other_equals_are_looked_for_among_the_made_ones():
    real, made = _frame(A=[1, 1, 2, 3], B=[1, 1, 1, 1]), _frame(A=[1, 2, 2, 9], B=[1, 1, 1, 1])
    assert nist_scores.unique_exact_matches(real, made) == (1, 50.0)
