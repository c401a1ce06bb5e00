"""The reader is found by the file's ending, or named."""

from __future__ import annotations

import json

import pytest

from sdv_plausible.declaring.readers import _BY_ENDING, READERS, read_codebook


def test_by_ending_or_by_name(tmp_path):
    for name, form in (("book.csv", None), ("book.txt", "csv")):
        (tmp_path / name).write_text("name,type\na,id\n")
        found = read_codebook(tmp_path / name, form)
        assert found.columns == {"a": {"sdtype": "id", "source": name}}


def test_nothing_reads_it(tmp_path):
    with pytest.raises(ValueError, match=r"end in '\.docx'"):
        read_codebook(tmp_path / "book.docx")
    with pytest.raises(ValueError, match=r"format \('excel'\) must be one of c45, csv"):
        read_codebook(tmp_path / "book.csv", "excel")


def test_json_is_one_of_four(tmp_path):
    path = tmp_path / "book.json"
    for document, found in (
        ({"a": {"description": "x", "values": {"1": "x"}}}, {"sdtype": "categorical", "range_values": [1]}),
        ({"properties": {"a": {"enum": ["x"]}}, "required": ["a"]},
         {"sdtype": "categorical", "range_values": ["x"], "range_is_nullable": False}),
        ({"fields": [{"name": "a", "type": "boolean"}]},
         {"sdtype": "boolean", "range_values": [False, True], "range_is_nullable": True}),
        ({"schema_type": "dataframe", "columns": {"a": {"dtype": "bool", "checks": None}}},
         {"sdtype": "boolean", "range_values": [False, True]}),
    ):  # fmt: skip
        path.write_text(json.dumps(document))
        assert read_codebook(path).columns == {"a": {**found, "source": "book.json"}}


def test_every_form_has_an_ending():
    assert set(READERS) <= {*_BY_ENDING.values(), "nist", "json-schema", "frictionless"}
