"""Declarations in the words of SDV's metadata: what they mean, and what a bad one gets."""

import datetime as dt
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.table.cells.dates import NANOSECONDS
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.declared.specifications import SINGLES, declared_attribute, equal_bins


def test_declarations_in_the_words_of_the_metadata():
    for spec, expected in (
        ({"sdtype": "categorical", "range_values": ["a", "b", None]}, {"values": ("a", "b"), "nullable": True}),
        ({"sdtype": "categorical", "range_values": np.array(["a", "b"])}, {"values": ("a", "b")}),
        ({"sdtype": "ordinal", "range_values": ["lo", "hi"]}, {"kind": "ordinal", "values": ("lo", "hi")}),
        ({"sdtype": "boolean"}, {"kind": "categorical", "values": (False, True)}),
        ({"sdtype": "boolean", "range_is_nullable": False}, {"values": (False, True), "nullable": False}),
        ({"sdtype": "boolean", "range_is_nullable": True}, {"values": (False, True), "nullable": True}),
        ({"sdtype": "numerical", "range_min": -3, "range_max": 3}, {"kind": "integer", "cardinality": 7}),
        ({"sdtype": "numerical", "range_min": -0.5, "range_max": 3.7, "decimal_places": 0}, {"lower": (0, 1, 2, 3)}),
        ({"sdtype": "numerical", "range_min": 2.5, "range_max": 2.5}, {"lower": (2.5,), "upper": (2.5,)}),
        ({"sdtype": "numerical", "range_min": 0, "range_max": 1.5}, {"kind": "float", "cardinality": 100, "decimals": None}),
        ({"sdtype": "numerical", "range_min": np.int64(0), "range_max": np.int64(9)}, {"kind": "integer", "cardinality": 10}),
        ({"sdtype": "numerical", "range_min": 0, "range_max": 1, "buckets": [0, 1]}, {"buckets": (0, 1)}),
        (
            {"sdtype": "datetime", "range_min": "01.02.2020", "range_max": "10.02.2020", "datetime_format": "%d.%m.%Y"},
            {"kind": "datetime", "cardinality": 10, "unit": NANOSECONDS["D"], "datetime_format": "%d.%m.%Y"},
        ),
        (
            {"sdtype": "datetime", "range_min": "2020 23:10", "range_max": "2020 23:12", "datetime_format": "%Y %H:%M"},
            {"cardinality": 3, "unit": NANOSECONDS["min"]},
        ),
        ({"sdtype": "datetime", "range_min": "2020", "range_max": "2020", "datetime_format": "%Y"}, {"cardinality": 1}),
        ({"sdtype": "numerical", "range_min": 0}, None),
        ({"sdtype": "datetime", "range_max": "2020-01-01"}, None),
        ({"sdtype": "categorical"}, None),
        ({"sdtype": "categorical", "range_values": []}, None),
        ({"sdtype": "id", "range_min": 0, "range_max": 9}, None),
    ):  # fmt: skip
        attribute = declared_attribute("x", spec)
        if expected is None:
            assert attribute is None
            continue
        assert attribute.provenance == "declared"
        assert {key: getattr(attribute, key) for key in expected} == expected


def test_bad_declarations_name_the_column():
    number, date = {"sdtype": "numerical"}, {"sdtype": "datetime", "datetime_format": "%Y"}
    for spec in (
        *({**number, "range_min": low, "range_max": high} for low, high in ((5, 1), (5.5, 1.5), (0, math.inf), (math.nan, 1.0), ("0", "9"), (False, True))),
        *({**date, "range_min": low, "range_max": high} for low, high in (("soon", "later"), ("2021", "2020"), ("0001", "2020"))),
        {**number, "range_min": 0, "range_max": math.inf, "decimal_places": 0},
        {"sdtype": "categorical", "range_values": "abc"}, {"sdtype": "categorical", "range_values": ["a", "a"]},
        {"sdtype": "boolean", "buckets": [0]},
    ):  # fmt: skip
        with pytest.raises(ValueError, match="column 'x'"):
            declared_attribute("x", spec)


def test_a_domain_from_declarations():
    ready = Attribute(name="ready", kind="categorical", values=(1,))
    days = {"range_min": "2020-01-01", "range_max": "2020-01-10"}
    given = {
        "values": ("categorical", {"range_values": np.array(["a", "b"]), "range_is_nullable": False}),
        "ordered": ("ordinal", {"sdtype": "ordinal", "range_values": ["lo", "hi"]}),
        "number": ("integer", {"range_min": 0, "range_max": 99}),
        "share": ("float", {"range_min": 0.0, "range_max": 1}),
        "day": ("datetime", {**days, "datetime_format": "%Y-%m-%d"}),
        "moment": ("datetime", {"range_min": dt.datetime(2020, 1, 1), "range_max": pd.Timestamp("2020-02-01")}),
        "text day": ("datetime", days),
        "flag": ("categorical", {}),
        "ready": ("categorical", ready),
    }  # fmt: skip
    sdtypes = {"text day": "datetime", "flag": "boolean", "number": "numerical", "another": "categorical"}
    domain = Domain.from_declarations({name: spec for name, (_, spec) in given.items()}, sdtypes, max_bins=10)
    assert {a.name: a.kind for a in domain} == {name: kind for name, (kind, _) in given.items()}
    assert domain.names == tuple(given)
    assert domain["number"].cardinality == 10
    assert domain["values"].cardinality == 2
    assert domain["flag"].values == (False, True)
    assert domain["ready"] is ready
    assert domain.inferred == ()


def test_a_declaration_that_fixes_no_domain_is_refused():
    for spec, rule in (
        ({}, "has no sdtype"),
        ({"range_min": "2020-01-01", "range_max": "2020-01-10"}, "has no sdtype"),
        ({"range_min": 0}, "has no sdtype"),
        ({"range_min": False, "range_max": True}, "a finite number"),
        ({"sdtype": "numerical", "range_min": 0}, "gives no values"),
        ({"sdtype": "city", "range_values": ["Bern"]}, "gives no values"),
        ({"datetime_format": "%Y"}, "gives no values"),
        (["a", "b"], "must be a mapping"),
    ):
        with pytest.raises(ValueError, match=f"column 'x'.*{rule}"):
            Domain.from_declarations({"x": spec})


def test_max_bins_of_declarations_is_checked():
    with pytest.raises(ValueError, match=r"max_bins \(0\)"):
        Domain.from_declarations({"x": {"range_min": 0, "range_max": 9}}, max_bins=0)


@settings(max_examples=200, deadline=None)
@given(st.integers(-(2**62), 2**62), st.integers(0, 2**62), st.integers(2, 50))
def test_equal_bins_are_a_partition_of_nearly_equal_runs(low, width, max_bins):
    """Also where the numbers outgrow a float."""
    lower, upper = equal_bins(low, low + width, max_bins)
    assert (lower[0], upper[-1]) == (low, low + width)
    assert all(b == a + 1 for a, b in zip(upper, lower[1:], strict=False))
    lengths = {b - a + 1 for a, b in zip(lower, upper, strict=True)}
    assert max(lengths) - min(lengths) <= 1
    singles = width + 1 <= SINGLES * max_bins
    assert len(lower) == (width + 1 if singles else max_bins)


def ends(spec):
    attribute = declared_attribute("x", {"sdtype": "numerical", **spec}, 4)
    assert attribute is not None
    return list(zip(attribute.lower, attribute.upper, strict=True))


def test_bins_and_special_values():
    ten = {"range_min": 0, "range_max": 9}
    for spec, expected in (
        ({**ten, "bins": 2}, [(0, 4), (5, 9)]),
        ({"range_min": 0, "range_max": 3, "bins": 4}, [(0, 0), (1, 1), (2, 2), (3, 3)]),
        ({"bins": [0, 1, 10, 100]}, [(0, 0), (1, 9), (10, 100)]),
        ({"bins": [0.0, 0.5, 2.0]}, [(0.0, 0.5), (0.5, 2.0)]),
        ({"range_min": 0, "range_max": 3, "special_values": [-1, 99]}, [(-1, -1), (0, 0), (1, 1), (2, 2), (3, 3), (99, 99)]),
        ({**ten, "bins": 1, "special_values": [4]}, [(0, 3), (4, 4), (5, 9)]),
        ({**ten, "bins": 1, "special_values": [0, 9]}, [(0, 0), (1, 8), (9, 9)]),
    ):  # fmt: skip
        assert ends(spec) == expected
    texts = {"bins": 1, "special_values": ["N", 4, "?"], "range_is_nullable": False}
    found = declared_attribute("x", {"sdtype": "numerical", **ten, **texts}, 4)
    assert (found.kind, found.values, found.lower) == ("integer", ("N", "?"), (0, 4, 5))
    assert (found.num_ordered, found.cardinality, found.missing_code) == (3, 5, None)
    decimals = ends({"range_min": 0.0, "range_max": 1.0, "bins": 1, "special_values": [0.5, -9.0]})
    assert decimals[0] == (-9.0, -9.0)
    assert [low <= 0.5 <= high for low, high in decimals].count(True) == decimals.count((0.5, 0.5)) == 1


def test_bins_that_are_none_are_refused():
    for spec, rule in (
        ({"bins": 0}, "whole number of equal bins"), ({"bins": [1]}, "two increasing edges"),
        ({"bins": [3, 2]}, "increasing edges"), ({"bins": "2"}, "increasing edges"),
        ({"special_values": ["1e3"]}, "texts that write no number"), ({"special_values": "N"}, "distinct finite numbers"),
        ({"special_values": ["N", "N"]}, "distinct finite numbers"), ({"special_values": [None]}, "distinct finite"), ({"special_values": [1, 1]}, "distinct finite numbers"),
        ({"range_min": 0, "range_max": 9, "special_values": [0.5]}, "must be whole numbers like the range"),
        ({"range_min": 0, "range_max": 9, "bins": [0, 5]}, "must begin at range_min"),
        ({"sdtype": "categorical", "range_values": ["a"], "bins": 3}, "bins cannot be used with sdtype 'categorical'"),
        ({"sdtype": "datetime", "range_min": "2020", "range_max": "2021", "datetime_format": "%Y", "bins": [1, 2]}, "of dates must be a whole number"),
        ({"range_min": 0, "range_max": 1, "decimal_places": 2, "bins": 10**9}, "million"),
        ({"sdtype": "datetime", "range_min": "2020-01-01", "range_max": "2021-01-01", "bins": 10**9}, "million"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"column 'x'.*{rule}"):
            declared_attribute("x", {"sdtype": "numerical", **spec}, 4)
