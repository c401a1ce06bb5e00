"""NIST's data dictionaries: a small one of our own, and the real one where it is at hand."""

import json
import os
from pathlib import Path

import pytest

from sdv_plausible import Domain
from sdv_plausible.extensions.codebooks.nist import read_nist

SMALL = {
    "AGE": {"description": "Age", "values": {"min": 0, "max": 99}},
    "SEX": {"description": "Sex", "values": {"1": "Male", "2": "Female"}},
    "MSP": {"description": "Marital status", "values": {"N": "N/A", "1": "married"}},
    "WGT": {"description": "Weight", "values": {"0": "place holder", "min": 1, "max": 9999}, "link": "x"},
    "IND": {"description": "Industry", "details": "271 codes"},
    "ODD": {"description": "Odd", "values": {"1": "one"}, "units": "m"},
}


def test_a_small_dictionary(written):
    found = read_nist(written(SMALL))
    assert found.columns["AGE"] == {"sdtype": "numerical", "range_min": 0, "range_max": 99}
    assert found.columns["SEX"]["range_values"] == [1, 2]
    assert found.columns["MSP"]["range_values"] == ["N", "1"]
    assert found.columns["WGT"]["special_values"] == [0]
    assert found.columns["IND"] == {"sdtype": None}
    assert found.lines == ["IND: no values are listed", "ODD: not understood: units"]


def test_the_real_dictionary():
    path = (
        Path(os.environ.get("SDV_PLAUSIBLE_DATA", "nowhere")) / "nist_acs_excerpts" / "data_dictionary.json"
    )
    if not path.is_file():
        pytest.skip("set SDV_PLAUSIBLE_DATA to the folder of the raw tables")
    found = read_nist(path)
    assert len(found.columns) == 24
    assert len(Domain.from_declarations({n: w for n, w in found.columns.items() if w["sdtype"]})) == 23
    mine = json.loads(Path("benchmarks/domains/ma2019.json").read_text())["domain"]
    for name in ("SEX", "MSP", "HISP", "RAC1P", "INDP_CAT", "EDU"):
        assert set(found.columns[name]["range_values"]) == set(mine[name]["range_values"]), name
    assert found.columns["AGEP"]["range_max"] == mine["AGEP"]["range_max"]


def test_damaged(written):
    for document, words in (
        ("[1]", "is no data dictionary"),
        ({}, "is no data dictionary"),
        ({"AGE": {"values": {}}}, "is no data dictionary"),
        ({"AGE": {"description": "", "values": {"min": 3}}}, "'AGE': 'min' .* must be numbers"),
        ({"AGE": {"description": "", "values": {"min": 3, "max": 1}}}, "min <= max"),
        ("{", "not a JSON file"),
    ):
        with pytest.raises(ValueError, match=words):
            read_nist(written(document))
