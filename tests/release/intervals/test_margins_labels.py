"""Labels of codes, bins and groups."""

import numpy as np
import pandas as pd

from sdv_plausible.queries.count_queries import Axis
from sdv_plausible.release.intervals.margins import axis_labels
from sdv_plausible.table.columns.domain import Attribute


def test_categories_and_their_groups():
    a = Attribute(name="a", kind="categorical", values=("x", "y", True), nullable=True)
    assert axis_labels(a, Axis.of_codes(0, 4)) == ["x", "y", True, "missing"]
    assert axis_labels(a, Axis(0, np.array([1, 0, 1, 1]))) == ["y", "x or True or missing"]


def test_ordered_values_are_ranges():
    a = Attribute(name="a", kind="ordinal", values=("low", "middle", "high"))
    assert axis_labels(a, Axis(0, np.array([0, 0, 1]))) == ["low to middle", "high"]


def test_numbers_bins_and_texts():
    a = Attribute(
        name="n", kind="integer", lower=(0, 1, 2, 10), upper=(0, 1, 9, 19), values=("N",), nullable=True
    )
    assert axis_labels(a, Axis.of_codes(0, 6)) == [0, 1, "2 to 9", "10 to 19", "N", "missing"]
    grouped = axis_labels(a, Axis(0, np.array([0, 1, 1, 0, 1, 2])))
    assert grouped == ["0 or 10 to 19", "1 to 9 or N", "missing"]


def test_dates():
    day = 86_400 * 10**9
    a = Attribute(name="d", kind="datetime", lower=(0, day), upper=(0, 2 * day), unit=day)
    found = axis_labels(a, Axis.of_codes(0, 2))
    assert found[0] == pd.Timestamp("1970-01-01")
    assert found[1] == "1970-01-02 00:00:00 to 1970-01-03 00:00:00"
