"""What a published table tells."""

from __future__ import annotations

import pandas as pd

from sdv_plausible.declaring.public import MOST_VALUES, words_of_table


def words(*cells):
    return words_of_table(pd.DataFrame({"x": pd.Series(cells, dtype=object)})).columns["x"]


def test_each_kind():
    assert words("1", "30", "-2") == {
        "sdtype": "numerical", "range_min": -2, "range_max": 30, "decimal_places": 0, "range_is_nullable": False,
    }  # fmt: skip
    assert words("1.25", None, "3") == {
        "sdtype": "numerical", "range_min": 1.25, "range_max": 3, "decimal_places": 2, "range_is_nullable": True,
    }  # fmt: skip
    assert "decimal_places" not in words("1e3", "2")
    assert words("b", "a")["range_values"] == ["a", "b"]
    assert words("01", "10")["range_values"] == ["01", "10"]
    assert words("True", "false", None)["sdtype"] == "boolean"
    assert words("2020-02-01", "2019-12-31")["range_max"] == "2020-02-01"
    assert words("2020-02-01T10:00:00")["datetime_format"] == "%Y-%m-%dT%H:%M:%S"
    assert words("2020-02-01", "2020-2-1")["sdtype"] == "categorical"


def test_what_cannot_be_listed_is_named():
    names = pd.DataFrame({"x": [f"name {i}" for i in range(MOST_VALUES + 1)], "y": None}, dtype=object)
    found = words_of_table(names)
    assert found.columns == {"x": {"sdtype": None}, "y": {"sdtype": None}}
    assert found.lines == ["x: more than 1,000 different texts: is it an id?", "y: no value: is it an id?"]
