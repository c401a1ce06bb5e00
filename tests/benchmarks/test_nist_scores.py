"""NIST's scores on tables small enough to count by hand."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.nist_scores import (
    as_codes,
    binned,
    inconsistencies,
    k_marginal,
    pair_distances,
    propensity,
    unique_exact_matches,
)
from benchmarks.raw_codebooks import CodeBook

BOOK = CodeBook(metadata={}, domain={})


def _frame(**columns: list[object]) -> pd.DataFrame:
    return pd.DataFrame(columns)


def test_the_same_table_has_the_full_score_and_cannot_be_told_apart():
    rng = np.random.default_rng(0)
    coded = as_codes(_frame(AGEP=rng.integers(0, 99, 500), SEX=rng.integers(1, 3, 500)), [])
    assert k_marginal(*binned(coded, coded)) == 1000
    assert propensity(coded, coded) == pytest.approx(0)
    one, two = binned(_frame(AGEP=np.arange(100.0)), _frame(AGEP=np.r_[np.arange(99.0), 120.0]))
    assert two["AGEP"].iloc[-1] > one["AGEP"].max()  # beyond the real ones: a bin of its own


def test_k_marginal_is_1000_less_500_times_the_distance_of_pairs():
    real, made = _frame(A=[0, 0, 1, 1], B=[0, 0, 1, 1]), _frame(A=[0, 0, 1, 1], B=[0, 1, 1, 1])
    assert pair_distances(real, made) == {("A", "B"): 0.5}
    assert k_marginal(real, made) == 750
    # Where areas are a column, pairs are compared within them.
    real, made = (_frame(PUMA=area, A=[0, 0, 1, 1], B=[0, 0, 1, 1]) for area in ([0, 0, 1, 1], [0, 1, 0, 1]))
    assert k_marginal(real[["A", "B"]], made[["A", "B"]]) == 1000
    assert k_marginal(real, made) == 500


def test_violations_are_counted_check_by_check_and_rows_that_no_other_equals_are_looked_for():
    table = _frame(AGEP=[10, 10, 2, 40, 40], MSP=["N", "1", "N", "N", "1"], EDU=["3", "12", "1", "12", "12"])
    found = inconsistencies(table, BOOK)
    once = {name for name, number in found.items() if number == 1}
    assert once == {"child_MSP", "child_phd", "infant_EDU", "adult_N"}
    assert (found["violations"], found["rows"]) == (4, 3)
    real, made = _frame(A=[1, 1, 2, 3], B=[1, 1, 1, 1]), _frame(A=[1, 2, 2, 9], B=[1, 1, 1, 1])
    assert unique_exact_matches(real, made) == (1, 50.0)
