"""Domains read off the rows: bins, values, units, and what cannot be read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.table.cells.cell_series import normalize_cells
from sdv_plausible.table.cells.dates import NANOSECONDS
from sdv_plausible.table.learned.inferred_domains import infer_attribute, quantile_bins


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.floats(-100, 100).map(lambda v: round(v, 1)), min_size=1, max_size=200), st.integers(2, 12)
)
def test_quantile_bins_cover_disjointly_and_number_at_most_twice_max_bins(numbers, max_bins):
    lower, upper = quantile_bins(np.array(numbers), max_bins)
    assert len(lower) <= 2 * max_bins
    assert all(high < low for high, low in zip(upper, lower[1:], strict=False))
    for value in numbers:
        assert sum(low <= value <= high for low, high in zip(lower, upper, strict=True)) == 1
        if numbers.count(value) >= len(numbers) / max_bins:  # heavy: stays exact
            assert (value, value) in set(zip(lower, upper, strict=True))


@pytest.mark.parametrize(
    ("column", "sdtype", "expected"),
    [
        (pd.Series([1.0, 2.0, None]), "numerical", {"kind": "integer", "nullable": True, "lower": (1, 2)}),
        (pd.Series([1, None, 3], dtype="Int64"), "numerical", {"kind": "integer", "nullable": True, "lower": (1, 3)}),
        (pd.Series([0.5, 2.25], dtype="Float64"), "numerical", {"kind": "float", "decimals": 2}),
        (pd.Series([-3, -1]), "numerical", {"lower": (-3, -1)}),
        (pd.Series([True, False]), "numerical", {"kind": "integer", "lower": (0, 1)}),
        (pd.Series(["1.5", 2], dtype=object), "numerical", {"kind": "float", "lower": (1.5, 2.0)}),
        (pd.Series([None, None], dtype=object), "numerical", {"cardinality": 1, "nullable": True}),
        (pd.Series([2**63 - 1, 5]), "numerical", {"kind": "integer", "lower": (5, 2**63 - 1)}),
        (pd.Series([2**63 + 5, 1], dtype="uint64"), "numerical", {"kind": "float", "decimals": 0}),
        (pd.Series([True, None], dtype="boolean"), "boolean", {"values": (True,), "nullable": True}),
        (pd.Series(["b", "a", "a"], dtype="string"), "categorical", {"values": ("a", "b")}),
        (pd.Series(pd.Categorical(["b"], categories=["a", "b"])), "categorical", {"values": ("b",)}),
        (pd.Series(["x", 3, 2.5, None], dtype=object), "categorical", {"values": (2.5, 3, "x"), "nullable": True}),
        (pd.Series([None, None]), "categorical", {"values": (), "nullable": True}),
        (pd.to_datetime(pd.Series(["2020-01-01", None])), "datetime", {"unit": NANOSECONDS["D"], "nullable": True}),
        (pd.to_datetime(pd.Series(["2020-01-01 10:00:30"])), "datetime", {"unit": NANOSECONDS["s"], "cardinality": 1}),
        (pd.Series(pd.to_datetime(["2020-01-01 10:30"]).tz_localize("Asia/Tokyo")), "datetime", {"time_zone": "Asia/Tokyo", "unit": NANOSECONDS["min"]}),
        (pd.Series([pd.NaT, pd.NaT]), "datetime", {"cardinality": 1, "nullable": True}),
    ],
)  # fmt: skip
def test_what_is_read_off_the_rows(column, sdtype, expected):
    attribute = infer_attribute("x", column, sdtype)
    assert attribute.provenance == "inferred"
    assert {key: getattr(attribute, key) for key in expected} == expected


def test_an_ordinal_keeps_the_order_of_the_metadata():
    column = pd.Series(["hi", "lo", "new"])
    assert infer_attribute("x", column, "ordinal", {"range_values": ["lo", "mid", "hi"]}).values == (
        "lo",
        "hi",
        "new",
    )


def test_integers_beyond_the_reach_of_floats_share_a_bin():
    """The codec reads numbers as floats, whatever else is in the column: equal floats must be one bin, not a crash."""
    attribute = infer_attribute("x", pd.Series([2**60, 2**60 + 1, 7]), "numerical")
    assert (attribute.lower, attribute.upper) == ((7, 2**60), (7, 2**60 + 1))


@pytest.mark.parametrize(
    ("column", "sdtype", "spec", "rule"),
    [
        (pd.Series([1.0, np.inf]), "numerical", {}, "infinite"),
        (pd.Series([1, "a"]), "numerical", {}, "other values"),
        (
            pd.Series(["soon"], name="x"),
            "datetime",
            {"datetime_format": "%Y"},
            "do not match the datetime_format",
        ),
        (
            pd.Series(["0001-01-01"], name="x"),
            "datetime",
            {"datetime_format": "%Y-%m-%d"},
            "do not match the datetime_format",
        ),
        (pd.Series(np.array(["3000-01-01"], dtype="M8[s]"), name="x"), "datetime", {}, "1678 to 2262"),
    ],
)
def test_unreadable_columns_are_one_clear_error(column, sdtype, spec, rule):
    with pytest.raises(ValueError, match=f"column 'x'.*{rule}"):
        infer_attribute("x", column, sdtype, spec)


def test_texts_of_single_people_are_refused() -> None:
    """Names, not numbers; not where they repeat, and not in tables too small to tell."""
    names = pd.Series([f"{i} Main Street" for i in range(200)])
    with pytest.raises(ValueError, match="column 'home' has a different text in most rows") as error:
        infer_attribute("home", names, "categorical")
    assert "Main" not in str(error.value)
    assert infer_attribute("home", names.iloc[:10], "categorical").cardinality == 10
    assert infer_attribute("home", pd.Series([*names.iloc[:50]] * 4), "categorical").cardinality == 50
    assert infer_attribute("code", pd.Series(range(200)), "categorical").cardinality == 200


def test_cells_that_can_be_no_value_are_missing():
    cells = np.empty(40, dtype=object)
    cells[:] = ["a", "b"] * 20
    cells[3] = ["a list"]
    found = infer_attribute(
        "x", normalize_cells(pd.DataFrame({"x": pd.Series(cells, dtype=object)}))["x"], "categorical"
    )
    assert found.values == ("a", "b")
    assert found.nullable
