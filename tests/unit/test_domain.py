"""Domains: what may be declared, what is read off the rows, and what a bad declaration gets."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.table.dates import NANOSECONDS, as_nanoseconds
from sdv_plausible.table.domain import SCHEMA, Attribute, Domain
from sdv_plausible.table.inference import infer_attribute, quantile_bins
from sdv_plausible.table.specifications import declared_attribute, equal_bins

# --- attributes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "rule"),
    [
        ({"kind": "float", "lower": (0.0, 1.0), "upper": (1.0,)}, "as many of one as of the other"),
        ({"kind": "float", "lower": ("a",), "upper": ("b",)}, "finite numbers"),
        ({"kind": "float", "lower": (float("-inf"),), "upper": (0.0,)}, "finite numbers"),
        ({"kind": "integer", "lower": (0, 5), "upper": (5, 9)}, "not overlap"),
        ({"kind": "float", "lower": (0.0, 1.0), "upper": (1.5, 2.0)}, "not overlap"),
        ({"kind": "integer", "lower": (5, 0), "upper": (9, 4)}, "increasing"),
        ({"kind": "categorical", "lower": (0,), "upper": (9,)}, "categories have values"),
        ({"kind": "integer", "values": (1, 2)}, "categories have values"),
        ({"kind": "categorical", "values": ("a",), "provenance": "trusted"}, "provenance"),
        ({"kind": "datetime", "lower": (0,), "upper": (9,), "unit": 0}, "unit"),
        ({"kind": "integer"}, "domain is empty"),
    ],
)
def test_contradictory_attributes_are_refused_by_name(parts, rule):
    """A provenance that is no provenance would count as a claim: it must not be accepted."""
    with pytest.raises(ValueError, match=f"column 'x'.*{rule}"):
        Attribute(name="x", **parts)


def test_neighbouring_nanoseconds_are_told_apart():
    """Nanoseconds of today outgrow a float: compared as floats these two dates would be one."""
    first = pd.Timestamp("2024-05-01").value
    attribute = Attribute(name="x", kind="datetime", lower=(first, first + 1), upper=(first, first + 1))
    assert attribute.cardinality == 2
    assert float(first) == float(first + 1)


@pytest.mark.parametrize("nullable", [False, True])
def test_missing_is_the_last_code(nullable):
    attribute = Attribute(name="x", kind="categorical", values=("a", "b"), nullable=nullable)
    assert attribute.cardinality == 2 + nullable
    assert attribute.missing_code == (2 if nullable else None)
    assert not attribute.is_ordered


def test_a_domain_is_a_sequence_of_named_attributes():
    a, b = (Attribute(name=n, kind="ordinal", values=(1, 2, 3), provenance=p) for n, p in (("a", "inferred"), ("b", "private")))
    domain = Domain((a, b))
    assert (len(domain), domain.names, domain.cardinalities) == (2, ("a", "b"), (3, 3))
    assert domain.inferred == ("a",)
    assert domain.declared().inferred == ()
    assert "a" in domain
    assert "c" not in domain
    assert domain["b"] is b
    with pytest.raises(KeyError):
        domain["c"]
    with pytest.raises(ValueError, match="distinct"):
        Domain((a, a))


# --- files ------------------------------------------------------------------------------------------------------------

JSON_VALUES = st.one_of(st.text(max_size=5), st.integers(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False))


@settings(max_examples=60, deadline=None)
@given(st.lists(JSON_VALUES, min_size=1, max_size=8), st.booleans(), st.data())
def test_domain_files_lose_nothing(tmp_path_factory, values, nullable, data):
    distinct = tuple(dict.fromkeys(values))
    start = data.draw(st.integers(-(2**62), 2**62))
    attributes = (
        Attribute(name="ä", kind="categorical", values=distinct, nullable=nullable, provenance="private"),
        Attribute(
            name="d", kind="datetime", lower=(start, start + 1), upper=(start, start + 9), unit=3, datetime_format="%d.%m.%Y"
        ),
        Attribute(name="f", kind="float", lower=(0.1, 0.3), upper=(0.3, 0.9), decimals=2, buckets=(0, 0)),
    )
    path = tmp_path_factory.mktemp("domain") / "d.json"
    Domain(attributes).save(path)
    read = Domain.load(path)
    assert read == Domain(attributes)
    assert [type(v) for v in read["ä"].values] == [type(v) for v in distinct]  # 1 == 1.0 == True would hide a change


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"null", b"\xff\xfe\x00", b'{"schema": "other/1", "attributes": []}',
        json.dumps({"schema": SCHEMA}).encode(),
        json.dumps({"schema": SCHEMA, "attributes": [1]}).encode(),
        json.dumps({"schema": SCHEMA, "attributes": "x"}).encode(),
        json.dumps({"schema": SCHEMA, "attributes": [{"name": "x"}]}).encode(),
        json.dumps({"schema": SCHEMA, "attributes": [{"name": "x", "kind": "float", "lower": ["a"], "upper": ["b"]}]}).encode(),
        json.dumps({"schema": SCHEMA, "attributes": [{"name": "x", "kind": "float", "lower": 0, "upper": 1}]}).encode(),
        json.dumps({"schema": SCHEMA, "attributes": [{"name": "x", "kind": "categorical", "values": [["a"]]}]}).encode(),
    ],
)  # fmt: skip
def test_bad_domain_files_are_one_clear_error(tmp_path, content):
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="domain|column 'x'"):
        Domain.load(path)


def test_a_domain_that_json_cannot_hold_leaves_the_old_file(tmp_path):
    path = tmp_path / "d.json"
    Domain((Attribute(name="x", kind="categorical", values=("a",)),)).save(path)
    before = path.read_bytes()
    with pytest.raises(TypeError):
        Domain((Attribute(name="x", kind="categorical", values=(pd.Timestamp("2020-01-01"),)),)).save(path)
    assert path.read_bytes() == before


def test_an_interrupted_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "d.json"
    Domain((Attribute(name="x", kind="categorical", values=("a",)),)).save(path)
    before = path.read_bytes()

    def interrupted(self, text, **options):
        self.write_bytes(text.encode()[:5])
        raise OSError("disk full")

    monkeypatch.setattr(Path, "write_text", interrupted)
    with pytest.raises(OSError, match="disk full"):
        Domain((Attribute(name="y", kind="categorical", values=("b",)),)).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


# --- declarations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"sdtype": "categorical", "range_values": ["a", "b", None]}, {"values": ("a", "b"), "nullable": True}),
        ({"sdtype": "categorical", "range_values": np.array(["a", "b"])}, {"values": ("a", "b")}),
        ({"sdtype": "ordinal", "range_values": ["lo", "hi"]}, {"kind": "ordinal", "values": ("lo", "hi")}),
        ({"sdtype": "boolean"}, {"kind": "categorical", "values": (False, True)}),
        ({"sdtype": "boolean", "range_is_nullable": False}, {"values": (False, True), "nullable": False}),
        ({"sdtype": "numerical", "range_min": -3, "range_max": 3}, {"kind": "integer", "cardinality": 8}),
        ({"sdtype": "numerical", "range_min": -0.5, "range_max": 3.7, "decimal_places": 0}, {"lower": (0, 1, 2, 3)}),
        ({"sdtype": "numerical", "range_min": 2.5, "range_max": 2.5}, {"lower": (2.5,), "upper": (2.5,)}),
        ({"sdtype": "numerical", "range_min": 0, "range_max": 1.5}, {"kind": "float", "cardinality": 101, "decimals": None}),
        ({"sdtype": "numerical", "range_min": np.int64(0), "range_max": np.int64(9)}, {"kind": "integer", "cardinality": 11}),
        ({"sdtype": "numerical", "range_min": 0, "range_max": 1, "buckets": [0, 0, 1]}, {"buckets": (0, 0, 1)}),
        (
            {"sdtype": "datetime", "range_min": "01.02.2020", "range_max": "10.02.2020", "datetime_format": "%d.%m.%Y"},
            {"kind": "datetime", "cardinality": 11, "unit": NANOSECONDS["D"], "datetime_format": "%d.%m.%Y"},
        ),
        (
            {"sdtype": "datetime", "range_min": "2020 23:10", "range_max": "2020 23:12", "datetime_format": "%Y %H:%M"},
            {"cardinality": 4, "unit": NANOSECONDS["min"]},
        ),
        ({"sdtype": "datetime", "range_min": "2020", "range_max": "2020", "datetime_format": "%Y"}, {"cardinality": 2}),
        ({"sdtype": "numerical", "range_min": 0}, None),
        ({"sdtype": "datetime", "range_max": "2020-01-01"}, None),
        ({"sdtype": "categorical"}, None),
        ({"sdtype": "categorical", "range_values": []}, None),
        ({"sdtype": "id", "range_min": 0, "range_max": 9}, None),
    ],
)  # fmt: skip
def test_declarations_in_the_words_of_the_metadata(spec, expected):
    attribute = declared_attribute("x", spec)
    if expected is None:
        assert attribute is None
        return
    assert attribute.provenance == "declared"
    assert {key: getattr(attribute, key) for key in expected} == expected


@pytest.mark.parametrize(
    "spec",
    [
        {"sdtype": "numerical", "range_min": 5, "range_max": 1},
        {"sdtype": "numerical", "range_min": 5.5, "range_max": 1.5},
        {"sdtype": "numerical", "range_min": 0, "range_max": float("inf")},
        {"sdtype": "numerical", "range_min": 0, "range_max": float("inf"), "decimal_places": 0},
        {"sdtype": "numerical", "range_min": float("nan"), "range_max": 1.0},
        {"sdtype": "numerical", "range_min": "0", "range_max": "9"},
        {"sdtype": "numerical", "range_min": False, "range_max": True},
        {"sdtype": "datetime", "range_min": "soon", "range_max": "later", "datetime_format": "%Y"},
        {"sdtype": "datetime", "range_min": "2021", "range_max": "2020", "datetime_format": "%Y"},
        {"sdtype": "datetime", "range_min": "0001", "range_max": "2020", "datetime_format": "%Y"},
        {"sdtype": "categorical", "range_values": "abc"},
        {"sdtype": "categorical", "range_values": ["a", "a"]},
        {"sdtype": "boolean", "buckets": [0]},
    ],
)
def test_bad_declarations_name_the_column(spec):
    with pytest.raises(ValueError, match="column 'x'"):
        declared_attribute("x", spec)


def test_a_domain_from_declarations():
    ready = Attribute(name="ready", kind="categorical", values=(1,))
    declarations = {
        "values": {"range_values": np.array(["a", "b"]), "range_is_nullable": False},
        "ordered": {"sdtype": "ordinal", "range_values": ["lo", "hi"]},
        "number": {"range_min": 0, "range_max": 99},
        "share": {"range_min": 0.0, "range_max": 1},
        "day": {"range_min": "2020-01-01", "range_max": "2020-01-10", "datetime_format": "%Y-%m-%d"},
        "moment": {"range_min": dt.datetime(2020, 1, 1), "range_max": pd.Timestamp("2020-02-01")},
        "text day": {"range_min": "2020-01-01", "range_max": "2020-01-10"},
        "flag": {},
        "ready": ready,
    }
    sdtypes = {"text day": "datetime", "flag": "boolean", "number": "numerical", "another": "categorical"}
    domain = Domain.from_declarations(declarations, sdtypes, max_bins=10)
    assert domain.names == tuple(declarations)
    kinds = ["categorical", "ordinal", "integer", "float", "datetime", "datetime", "datetime", "categorical", "categorical"]
    assert [a.kind for a in domain] == kinds
    assert domain["number"].cardinality == 11
    assert domain["values"].cardinality == 2
    assert domain["flag"].values == (False, True)
    assert domain["ready"] is ready
    assert domain.inferred == ()


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        ({}, "does not tell its sdtype"),
        ({"range_min": "2020-01-01", "range_max": "2020-01-10"}, "does not tell its sdtype"),
        ({"range_min": 0}, "does not tell its sdtype"),
        ({"range_min": False, "range_max": True}, "a finite number"),
        ({"sdtype": "numerical", "range_min": 0}, "fixes no values"),
        ({"sdtype": "city", "range_values": ["Bern"]}, "fixes no values for sdtype 'city'"),
        ({"datetime_format": "%Y"}, "fixes no values"),
        (["a", "b"], "must be a mapping"),
    ],
)
def test_a_declaration_that_fixes_no_domain_is_refused(spec, rule):
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
    assert len(lower) == min(max_bins, width + 1)


# --- inference --------------------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(-100, 100).map(lambda v: round(v, 1)), min_size=1, max_size=200), st.integers(2, 12))
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
    assert infer_attribute("x", column, "ordinal", {"range_values": ["lo", "mid", "hi"]}).values == ("lo", "hi", "new")


def test_integers_beyond_the_reach_of_floats_share_a_bin():
    """The codec reads numbers as floats, whatever else is in the column: equal floats must be one bin, not a crash."""
    attribute = infer_attribute("x", pd.Series([2**60, 2**60 + 1, 7]), "numerical")
    assert (attribute.lower, attribute.upper) == ((7, 2**60), (7, 2**60 + 1))


@pytest.mark.parametrize(
    ("column", "sdtype", "spec", "rule"),
    [
        (pd.Series([1.0, np.inf]), "numerical", {}, "infinite"),
        (pd.Series([1, "a"]), "numerical", {}, "other values"),
        (pd.Series(["soon"], name="x"), "datetime", {"datetime_format": "%Y"}, "cannot be read"),
        (pd.Series(["0001-01-01"], name="x"), "datetime", {"datetime_format": "%Y-%m-%d"}, "cannot be read"),
        (pd.Series(np.array(["3000-01-01"], dtype="M8[s]"), name="x"), "datetime", {}, "1678 to 2262"),
    ],
)
def test_unreadable_columns_are_one_clear_error(column, sdtype, spec, rule):
    with pytest.raises(ValueError, match=f"column 'x'.*{rule}"):
        infer_attribute("x", column, sdtype, spec)


def test_dates_out_of_reach_do_not_wrap_round():
    """In seconds the year 3000 is a date; in nanoseconds it would silently become 1830."""
    column = pd.Series(np.array(["3000-01-01", "2020-01-01"], dtype="M8[s]"))
    read = as_nanoseconds(column, row_by_row=True)
    assert read.tolist() == [np.iinfo(np.int64).min, pd.Timestamp("2020-01-01").value]
    wrapped = column.to_numpy().astype("M8[ns]")  # the planted bug
    assert pd.Timestamp(wrapped[0]).year == 1830
