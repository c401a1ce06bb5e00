"""The section of single columns: by kind, worst first, and where each differs."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.evaluation.page.column_sections import Columns
from sdv_plausible.evaluation.page.histograms import Histogram
from sdv_plausible.evaluation.page.summary import summarise_comparison
from sdv_plausible.evaluation.tables import prepare

TABLES = [("real", "#000"), ("synthetic", "#111")]


def test_histograms_are_drawn_by_kind():
    ordered = Histogram(column="n", ordered=True, labels=("1", "2"), marks=(), shares=((0.5, 0.5),))
    others = Histogram(
        column="c", ordered=False, labels=("x", "y"), marks=(), shares=((0.5, 0.5),), part="part"
    )
    found = Columns.of([ordered, others], TABLES[:1])
    assert [figure.caption for figure in found.figures] == ["n", "c, part"]
    assert [">x<" in figure.picture for figure in found.figures] == [False, True]
    assert found.figures[0].rows == (("1", (0.5,)), ("2", (0.5,)))  # the table behind the picture
    assert found.lines == ()


def compared():
    real = pd.DataFrame({"same": ["a", "b"] * 50, "n": range(100), "off": ["x"] * 90 + ["y"] * 10})
    synthetic = real.assign(off=["x"] * 40 + ["y"] * 60)
    pair = prepare(real, synthetic)
    return summarise_comparison(pair, None, holdout=real, num_bins=20, max_rows=None, random_state=0)


def test_the_worst_column_comes_first_with_what_differs_most():
    found = Columns.compared(["same", "n", "off"], compared(), TABLES)
    assert found.lines[0].column == found.figures[0].caption == "off"
    first = found.lines[0]
    assert (first.where, first.real, first.synthetic) == ("x", 0.9, 0.4)
    assert first.distance == pytest.approx(0.5)
    assert first.chance == pytest.approx(0.0)
    assert {line.column for line in found.lines} == {"same", "n", "off"}


def test_without_distances_columns_stay_in_order():
    """One real row makes no halves."""
    none = dataclasses.replace(compared(), synthetic_columns=np.empty(0), reference_columns=np.empty(0))
    found = Columns.compared(["same", "n", "off"], none, TABLES)
    assert [line.column for line in found.lines] == ["same", "n", "off"]
    assert all(math.isnan(line.distance) for line in found.lines)
