"""Histograms: shares by hand, bars of their own, times of day, nothing lost and nothing invented."""

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.evaluation.page.summary import clock_histogram, column_histograms, histogram


def test_histograms_by_hand():
    one = histogram("x", "numerical", [pd.Series([1, 1, 2, None]), pd.Series([2, 2, 3, 3])])
    assert one.labels == ("1", "2", "3", "missing")
    assert one.shares == ((0.5, 0.25, 0.0, 0.25), (0.0, 0.5, 0.5, 0.0))
    two = histogram("c", "categorical", [pd.Series(["a", "b", "b", None]), pd.Series(["z"] * 4)])
    assert two.labels == ("b", "a", "z", "missing")
    assert two.shares == ((0.5, 0.25, 0.0, 0.25), (0.0, 0.0, 1.0, 0.0))


def test_shares_of_any_column_sum_to_one():
    for values, kind, ordered in (
        (np.arange(1000), "numerical", True),
        (np.random.default_rng(0).standard_cauchy(1000), "numerical", True),
        ([np.nan] * 5, "numerical", True),
        ([np.inf, -np.inf, 1.0], "numerical", True),
        ([7], "numerical", True),
        (pd.date_range("2020-01-01", periods=100, freq="min"), "datetime", True),
        ([f"v{i}" for i in range(100)], "categorical", False),
        ([None, None], "categorical", False),
    ):
        one = histogram("x", kind, [pd.Series(values)])
        assert one.ordered == ordered
        assert len(one.labels) == len(one.shares[0]) <= 21
        assert sum(one.shares[0]) == pytest.approx(1.0)
        assert all(0 <= position <= len(one.labels) for position, _ in one.marks)
    whole = histogram("x", "numerical", [pd.Series(range(17, 97))])  # bins that name their values
    assert whole.labels[0] == "17 to 20"
    assert whole.shares[0] == pytest.approx([0.05] * 20)


def test_a_value_that_many_rows_share_has_a_bar_of_its_own():
    """In an equal bin with its neighbours nobody would see that the synthetic rows miss it."""
    real = pd.Series([0.0] * 900 + list(np.linspace(1, 1000, 100)))
    synthetic = pd.Series(list(np.linspace(0.1, 20, 900)) + list(np.linspace(1, 1000, 100)))
    one = histogram("gain", "numerical", [real, synthetic])
    assert one.spikes == 1
    assert one.labels[0] == "exactly 0"
    assert (one.shares[0][0], one.shares[1][0]) == (0.9, 0.0)
    assert one.marks[0] == (0.5, "0")
    assert histogram("even", "numerical", [pd.Series(range(1000))]).spikes == 0
    few = histogram("few", "numerical", [pd.Series([0] * 90 + [1, 2])])
    assert (few.spikes, few.labels) == (0, ("0", "1", "2"))  # each has a bar anyway


def test_bins_grow_where_one_would_hold_most():
    """Half of the values lie in a thousandth of the range: equal bins would show one bar."""

    def largest(values):
        return max(histogram("x", "numerical", [pd.Series(values)]).shares[0])

    assert largest(np.geomspace(1, 1e6, 1000).round()) < 0.15
    assert largest(np.linspace(1, 1e6, 1000).round()) < 0.15
    assert largest([-1.0, *np.geomspace(1, 1e6, 999)]) > 0.5  # no logarithm of what is not above zero


def test_times_of_day_have_a_picture_and_dates_have_none():
    days = pd.Series(pd.date_range("2020-01-01", periods=50))
    assert clock_histogram("day", "datetime", [days]) is None
    assert len(column_histograms({"day": "datetime"}, [days.to_frame("day")], {})) == 1
    stamps = days + pd.to_timedelta([9] * 49 + [17], unit="h")
    two = column_histograms({"at": "datetime"}, [stamps.to_frame("at"), days.to_frame("at")], {})
    assert [one.part for one in two] == ["", "time of day"]
    assert two[1].labels[9] == "09:00 to 09:59"
    assert (two[1].shares[0][9], two[1].shares[0][17], two[1].shares[1][0]) == (0.98, 0.02, 1.0)
    assert clock_histogram("n", "numerical", [pd.Series([1.5])]) is None


@pytest.mark.parametrize(("values", "last"), [([1.0, 2.0], "2"), ([1.0, None], "missing")])
def test_missing_has_a_bar_where_something_is_missing(values, last):
    assert histogram("x", "numerical", [pd.Series(values)]).labels[-1] == last
    words = histogram("x", "categorical", [pd.Series([None if v is None else "a" for v in values])])
    assert ("missing" in words.labels) is (last == "missing")
    clock = clock_histogram("x", "datetime", [pd.to_datetime(pd.Series(["2020-01-01 10:00", pd.NaT]))])
    assert clock.labels[-1] == "missing"
