"""Declarations that cannot be: one clear ValueError that names column, word, value and rule, before any row is looked at."""

import copy
import datetime as dt
import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible import Attribute, Domain
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.declared import specifications
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.declared.declarations import read_declarations

NUMBER = {"range_min": 0, "range_max": 9}
METADATA = {
    "age": {"sdtype": "numerical"},
    "sex": {"sdtype": "categorical"},
    "start": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"},
    "email": {"sdtype": "email"},
}


DAYS = {"range_min": "2020-01-01", "range_max": "2020-12-31"}


def test_one_clear_line():
    for column, spec, words in (
        ("sex", {"range_values": 5}, "range_values (5) must be a list of values, such as ['f', 'm']"),
        ("sex", {"range_values": "fm"}, "range_values ('fm') must be a list"),
        ("sex", {"range_values": {"f": 1}}, "range_values ({'f': 1}) must be a list"),
        ("sex", {"range_values": [["f"]]}, "range_values ([['f']]) must be a list"),
        ("sex", {"range_values": ["f", "f"]}, "values must be distinct"),
        ("sex", {"range_values": [1, 1.0]}, "values must be distinct"),
        ("sex", {"range_values": ["f"], "range_min": 0}, "range_min cannot be used with sdtype 'categorical'"),
        ("sex", {"range_values": ["f"], "buckets": [0, "a"]}, "buckets ([0, 'a']) must be a list of whole numbers"),
        ("sex", {"range_values": ["f"], "buckets": [-1, 0]}, "buckets"),
        ("sex", {"range_values": ["f"], "buckets": [0, 0]}, "each of the 1 codes"),
        ("age", {**NUMBER, "decimal_places": "x"}, "decimal_places ('x') must be a whole number from 0 to 15"),
        ("age", {**NUMBER, "decimal_places": -1}, "decimal_places (-1)"),
        ("age", {**NUMBER, "decimal_places": 400}, "decimal_places (400)"),
        ("age", {**NUMBER, "decimal_places": True}, "decimal_places (True)"),
        ("age", {**NUMBER, "range_values": [1]}, "range_values cannot be used with sdtype 'numerical'"),
        ("age", {**NUMBER, "range_is_nullable": "no"}, "range_is_nullable ('no') must be true or false"),
        ("age", {**NUMBER, "range_is_nulable": False}, "the key 'range_is_nulable' is unknown; did you "
                                                       "mean 'range_is_nullable'?"),
        ("age", {**NUMBER, "zzzzzz": 1}, "the key 'zzzzzz' is unknown; valid keys are sdtype"),
        ("age", {**NUMBER, 5: 1}, "the key 5 is unknown"),
        ("age", {"range_min": [0], "range_max": 9}, "range_min ([0]) must be a finite number or a date"),
        ("age", {"range_min": 0, "range_max": 10**400}, "must be a finite number or a date"),
        ("age", {"range_min": -1.5e308, "range_max": 1.5e308}, "must be finite numbers"),
        ("age", {"range_min": 0.2, "range_max": 0.8, "decimal_places": 0}, "there must be whole numbers, of 64 bits"),
        ("age", {"range_min": 0, "range_max": 2**64}, "there must be whole numbers, of 64 bits"),
        ("age", {"range_min": "0", "range_max": "9"}, "range_min ('0') of sdtype 'numerical' must be a finite number"),
        ("age", {"sdtype": "categorical", "range_values": [1]}, "the domain says sdtype 'categorical', the metadata 'numerical'"),
        ("age", Attribute(name="age", kind="categorical", values=("a",)), "the domain says sdtype 'categorical', the metadata"),
        ("age", {"sdtype": 5, **NUMBER}, "sdtype (5) must be text"),
        ("age", 5, "(int) must be a mapping"),
        ("age", None, "(NoneType) must be a mapping"),
        ("start", {"range_min": "2020-01-01", "range_max": "2021-01-01", "datetime_format": "%d.%m.%Y"}, "the metadata '%Y-%m-%d'"),
        ("start", {"range_min": "2020-01-01", "range_max": "soon"}, "must be dates of the years 1678 to 2262"),
        ("start", {**DAYS, "datetime_format": "%Y%Y%Y"}, "datetime_format ('%Y%Y%Y') must be a strftime format"),
        ("start", {"datetime_format": "%e"}, "datetime_format ('%e') must be a strftime format"),
        ("start", {"datetime_format": "%U%Y"}, "datetime_format ('%U%Y') must be a strftime format"),
        ("start", {"range_min": True, "range_max": "2021-01-01"}, "range_min (True)"),
        ("start", {"range_min": "NaT", "range_max": "2021-01-01"}, "must be dates"),
        ("start", {"range_min": "2022-01-01", "range_max": "2021-01-01"}, "must not be after"),
        ("email", {"range_values": ["a@b.ch"]}, "get placeholder values and are not modelled"),
        ("email", {"sdtype": "numerical"}, "the domain says sdtype 'numerical', the metadata 'email'"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=".") as caught:
            read_declarations({column: spec}, "infer", 100, METADATA)
        assert words in str(caught.value)
        assert repr(column) in str(caught.value)
        assert "\n" not in str(caught.value)


def test_names():
    for domain, words in (
        ({"": NUMBER}, "domain: the name of column 1 ('') must not be empty"),
        ({0: NUMBER}, "domain: the name of column 1 (0) must be text: write '0'"),
        ({"age": NUMBER, "aeg": NUMBER}, "domain names ['aeg'], which are not columns of the metadata"),
        (Domain.from_declarations({"aeg": NUMBER}), "domain names ['aeg']"),
        ({"aeg": NUMBER}, "did you mean 'age'?"),
        (5, "domain (int) must be"),
        ([NUMBER], "domain (list) must be"),
    ):
        with pytest.raises(ValueError, match=re.escape(words)):
            read_declarations(domain, "infer", 100, METADATA)
    with pytest.raises(ValueError, match="did you mean 'numerical'"):
        Domain.from_declarations({"age": {"sdtype": "numerica", **NUMBER}})


def test_what_is_meant_well_is_taken():
    for spec in (
        {"range_min": np.int64(0), "range_max": np.float64(9.5)},
        {"range_min": dt.date(2020, 1, 1), "range_max": np.datetime64("2021-01-01")},
        {"range_min": 2020, "range_max": 2021, "datetime_format": "%Y"},
        {"range_values": range(3), "high_cardinality": None},
        {"range_values": np.array(["a", None], dtype=object), "pii": False},
        {"range_values": [1], "range_is_nullable": np.bool_(False), "range_min": None},
    ):
        assert Domain.from_declarations({"x": spec})["x"].provenance == "declared"
    types = {"age": NUMBER, "sex": {"sdtype": "categorical"}, "email": {"sdtype": "email", "pii": True}}
    assert set(read_declarations(types, "private", 100, METADATA).attributes) == {"age"}


def test_files_that_are_none(tmp_path):
    path = tmp_path / "domain.json"
    for content, words in (
        ('{"age": {}, "age": {}}', "it has the key 'age' twice"),
        ('{"age": {"sdtype": "id", "sdtype": "id"}}', "it has the key 'sdtype' twice"),
        ("[" * 100_000, "is not a JSON file"),
        ("1" * 5000, "is not a JSON file"),
        ("\xff", "is not a JSON file"),
        ("{}", "not a domain document"),
        ("[]", "not a domain document"),
        ('{"schema": "sdv-plausible-domain/1", "attributes": 5}', "'attributes' (5) must be a list"),
        ('{"schema": "sdv-plausible-domain/1", "attributes": [5]}', "an entry of 'attributes' (5)"),
    ):
        path.write_text(content, encoding="latin-1")
        with pytest.raises(ValueError, match=re.escape(words)):
            read_declarations(path, "infer", 100, METADATA)


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=4),
    st.sampled_from(["numerical", "categorical", "ordinal", "boolean", "datetime", "id", "email", "%Y", "%Y-%m-%d", "2020-01-01", "mixed"]),
)  # fmt: skip
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
WORDS = [
    "sdtype", "range_min", "range_max", "range_values", "range_is_nullable", "decimal_places", "datetime_format",
    "buckets", "pii", "regex_format", "high_cardinality", "other",
]  # fmt: skip
specs = st.one_of(anything, st.dictionaries(st.sampled_from(WORDS), anything, max_size=5))


def written(folder, document):
    """The document's file; itself where a file cannot hold it, whose reader names no column then."""
    text = json.dumps(document)
    if "NaN" in text or "Infinity" in text:
        return document
    path = folder.mktemp("domain") / "domain.json"
    path.write_text(text)
    return path


def refused_by_name(read, name):
    """A declaration is refused by the column's name, or taken: then tables can be coded by it, and written."""
    try:
        found = read()
    except ValueError as error:
        assert repr(name) in str(error), error  # noqa: PT017
        return
    for attribute in getattr(found, "attributes", {}).values():
        codec = Codec(Domain((attribute,)))
        table = pd.DataFrame({attribute.name: pd.Series(["x", None, 1, "2020-01-01"], dtype=object)})
        codes = codec.encode(table, KeyedRNG.from_seed(0))
        assert ((codes >= 0) & (codes < attribute.cardinality)).all()
        every = np.linspace(0, attribute.cardinality - 1, 7).astype(np.int32)[:, None]
        assert len(codec.decode(every, KeyedRNG.from_seed(0))) == 7


def test_a_reader_without_checks_would_be_caught(monkeypatch):
    monkeypatch.setattr(specifications, "read_spec", lambda name, spec: spec)
    with pytest.raises(TypeError):
        refused_by_name(lambda: Domain.from_declarations({"x": {"range_values": 5}}), "x")


@settings(max_examples=600)
@given(spec=specs, known=st.sampled_from([{}, *METADATA.values()]))
def test_any_json_in_a_declaration(tmp_path_factory, spec, known):
    path = written(tmp_path_factory, {"ä column": spec})
    refused_by_name(lambda: read_declarations(path, "infer", 100, {"ä column": known}), "ä column")
    refused_by_name(lambda: column_types(path, {"ä column": known} if known else None), "ä column")


FINISHED = Domain.from_declarations(
    {
        "age": {"range_min": 0, "range_max": 30, "buckets": [0] * 31},
        "income": {"range_min": 0.0, "range_max": 1.0, "decimal_places": 2},
        "sex": {"range_values": ["f", "m"]},
        "start": {"range_min": "2020-01-01", "range_max": "2020-01-09", "datetime_format": "%Y-%m-%d"},
        "at": {"sdtype": "datetime", "range_min": "2020-01-01", "range_max": "2020-01-09"},
    }
).to_dict()


@settings(max_examples=400)
@given(column=st.integers(0, 4), data=st.data())
def test_any_json_in_a_finished_domain(tmp_path_factory, column, data):
    document = copy.deepcopy(FINISHED)
    entry = document["attributes"][column]
    key = data.draw(st.sampled_from([*entry, "other"]).filter(lambda key: key != "name"))
    if isinstance(entry.get(key), (list, tuple)) and data.draw(st.booleans()) and entry[key]:
        entry[key] = [*entry[key][:-1], data.draw(anything)]
    else:
        entry[key] = data.draw(anything)
    path = written(tmp_path_factory, document)
    specs = {a["name"]: {} for a in document["attributes"]}
    refused_by_name(lambda: read_declarations(path, "infer", 100, specs), entry["name"])


@given(document=anything)
def test_any_json_as_a_domain_file(tmp_path_factory, document):
    path = tmp_path_factory.mktemp("domain") / "domain.json"
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match="domain|column"):
        read_declarations(path, "infer", 100, METADATA)
