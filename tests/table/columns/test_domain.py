"""Domains: contradictions are refused by name, files lose nothing and are whole or as they were."""

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.table.cells.rounding import Rounding
from sdv_plausible.table.columns.domain import SCHEMA, Attribute, Domain

ROUNDING = Rounding((1, 5), ((0.25, 0.75), (1.0, 0.0)))
CONTRADICTORY = [
    ({"kind": "float", "lower": (0.0, 1.0), "upper": (1.0,)}, "of equal count"),
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
    ({"kind": "categorical"}, "domain is empty"),
    ({"kind": "colour", "values": (1,)}, "kind"),
    ({"kind": "categorical", "values": (1, 1)}, "distinct"),
    ({"kind": "categorical", "values": (2**60, 2**60 + 1)}, "equal as doubles"),
    ({"kind": "float", "lower": (2.0,), "upper": (1.0,)}, "lower <= upper"),
    ({"kind": "categorical", "values": (1, 2), "buckets": (0,)}, "one bucket, a whole number from 0 on, for each of the 2 codes"),
    *(
        ({**parts, "rounding": ROUNDING}, "rounding is for whole numbers")
        for parts in (
            {"kind": "float", "lower": (0.0,), "upper": (9.5,)},
            {"kind": "float", "lower": (0.0,), "upper": (2.0**60,), "decimals": 3},
            {"kind": "integer", "lower": (0,), "upper": (2**62,)},
            {"kind": "datetime", "lower": (0,), "upper": (9,)},
            {"kind": "categorical", "values": ("a",)},
        )
    ),
]  # fmt: skip


def test_contradictory_attributes_are_refused_by_name():
    """A provenance that is no provenance would count as a claim: it must not be accepted."""
    for parts, rule in CONTRADICTORY:
        with pytest.raises(ValueError, match=f"column 'x'.*{rule}"):
            Attribute(name="x", **parts)


def test_neighbouring_nanoseconds_are_told_apart():
    """Nanoseconds of today outgrow a float: compared as floats these two dates would be one."""
    first = pd.Timestamp("2024-05-01").value
    attribute = Attribute(name="x", kind="datetime", lower=(first, first + 1), upper=(first, first + 1))
    assert attribute.cardinality == 2
    assert float(first) == float(first + 1)


def test_missing_is_the_last_code():
    for nullable in (False, True):
        attribute = Attribute(name="x", kind="categorical", values=("a", "b"), nullable=nullable)
        assert attribute.cardinality == 2 + nullable
        assert attribute.missing_code == (2 if nullable else None)
        assert not attribute.is_ordered


def test_a_domain_is_a_sequence_of_named_attributes():
    a = Attribute(name="a", kind="ordinal", values=(1, 2, 3), provenance="inferred")
    b = Attribute(name="b", kind="ordinal", values=(1, 2, 3), provenance="private")
    domain = Domain((a, b))
    assert (len(domain), domain.names, domain.cardinalities) == (2, ("a", "b"), (3, 3))
    assert domain.inferred == ("a",)
    assert [a.provenance for a in domain.declared()] == ["declared", "private"]  # which was paid for
    assert "a" in domain
    assert "c" not in domain
    assert domain["b"] is b
    with pytest.raises(KeyError):
        domain["c"]
    with pytest.raises(ValueError, match="distinct"):
        Domain((a, a))


JSON_VALUES = (
    st.text(max_size=5) | st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
)


@settings(max_examples=60, deadline=None)
@given(st.lists(JSON_VALUES, min_size=1, max_size=8), st.booleans(), st.data())
def test_domain_files_lose_nothing(tmp_path_factory, values, nullable, data):
    distinct = tuple(dict.fromkeys(values))
    start = data.draw(st.integers(-(2**62), 2**62))
    attributes = (
        Attribute(name="ä", kind="categorical", values=distinct, nullable=nullable, provenance="private"),
        Attribute(
            name="d", kind="datetime", lower=(start, start + 1), upper=(start, start + 9), unit=3,
            datetime_format="%d.%m.%Y",
        ),
        Attribute(name="f", kind="float", lower=(0.1, 0.3), upper=(0.3, 0.9), decimals=2, buckets=(0, 0)),
    )  # fmt: skip
    path = tmp_path_factory.mktemp("domain") / "d.json"
    Domain(attributes).save(path)
    read = Domain.load(path)
    assert read == Domain(attributes)
    assert list(map(type, read["ä"].values)) == list(
        map(type, distinct)
    )  # 1 == 1.0 == True would hide a change


def test_bad_domain_files_are_one_clear_error(tmp_path):
    path, x = tmp_path / "bad.json", {"name": "x"}
    attributes = (
        [1], "x", [x], [{**x, "kind": "float", "lower": ["a"], "upper": ["b"]}],
        [{**x, "kind": "float", "lower": 0, "upper": 1}], [{**x, "kind": "categorical", "values": [["a"]]}],
    )  # fmt: skip
    documents = [{"schema": SCHEMA}, *({"schema": SCHEMA, "attributes": one} for one in attributes)]
    other = b'{"schema": "other/1", "attributes": []}'
    for content in (
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe\x00",
        other,
        *(json.dumps(d).encode() for d in documents),
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="domain|column 'x'"):
            Domain.load(path)


def test_a_domain_that_json_cannot_hold_or_an_interrupted_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "d.json"
    Domain((Attribute(name="x", kind="categorical", values=("a",)),)).save(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="column 'x': a value of type bytes cannot be written to a file"):
        Domain((Attribute(name="x", kind="categorical", values=(b"a",)),)).save(path)
    assert path.read_bytes() == before

    def interrupted(self, data):
        with self.open("wb") as file:
            file.write(data[:5])
        raise OSError("disk full")

    monkeypatch.setattr(Path, "write_bytes", interrupted)
    with pytest.raises(OSError, match="disk full"):
        Domain((Attribute(name="y", kind="categorical", values=("b",)),)).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_dates_decimals_and_structural_zeros_come_back(tmp_path):
    values = (dt.date(2020, 1, 5), pd.Timestamp("2020-01-05 10:00", tz="Europe/Zurich"), Decimal("1.50"), "a")
    odd = Attribute(name="x", kind="categorical", values=values)
    zeros = {(0, 1): np.array([[True, False], [True, True], [False, True], [True, True]])}
    domain = Domain((odd, Attribute(name="y", kind="integer", lower=(0, 5), upper=(4, 9))), zeros)
    domain.save(tmp_path / "d.json")
    read = Domain.load(tmp_path / "d.json")
    assert read == domain
    assert [type(value) for value in read["x"].values] == [dt.date, pd.Timestamp, Decimal, str]
    assert {key: cells.tolist() for key, cells in read.possible.items()} == {(0, 1): zeros[0, 1].tolist()}
    for change in ({"columns": ["y", "x"]}, {"columns": ["x", "z"]}, {"possible": [[True]]}, {"possible": 1}):
        document = domain.to_dict()
        document["possible"][0] |= change
        with pytest.raises(ValueError, match="its 'possible' must be what Domain.save wrote"):
            Domain.from_dict(document)


def test_how_round_numbers_are_comes_back_from_a_file(tmp_path):
    bins = {"lower": (0, 10), "upper": (9, 99), "values": ("N",)}
    whole = Attribute(name="x", kind="integer", rounding=ROUNDING, **bins)
    cents = Attribute(name="y", kind="float", lower=(0.0,), upper=(9.5,), decimals=2, rounding=ROUNDING)
    domain = Domain((whole, cents))
    domain.save(tmp_path / "domain.json")
    assert Domain.load(tmp_path / "domain.json") == domain
    assert all(attribute.rounding is None for attribute in domain.without_rounding())
    document = domain.to_dict()
    document["attributes"][0]["rounding"] = {"steps": [1, 5]}
    with pytest.raises(ValueError, match="must have steps and weights"):
        Domain.from_dict(document)
