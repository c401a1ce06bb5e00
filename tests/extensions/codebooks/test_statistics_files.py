"""Metadata of SPSS and Stata files: with a stand-in for the library, and with the library where it is there."""

import json
import sys
from types import ModuleType, SimpleNamespace

import pandas as pd
import pytest

from sdv_plausible.extensions.codebooks import statistics_files
from sdv_plausible.extensions.codebooks.statistics_files import header_in, read_statistics_file

META = SimpleNamespace(
    column_names=["sex", "age", "code", "name"],
    variable_value_labels={"sex": {1.0: "m", 2.0: "f"}, "code": {"a": "A"}},
    missing_ranges={
        "sex": [{"lo": 9.0, "hi": 9.0}],
        "age": [{"lo": -9.0, "hi": -1.0}, {"lo": 99.0, "hi": 99.0}],
    },
    missing_user_values={"age": ["z"]},
    readstat_variable_types={"sex": "double", "age": "double", "code": "string", "name": "string"},
)


@pytest.fixture
def library(monkeypatch):
    """A module with the names that are used; it refuses to read rows."""
    made = ModuleType("pyreadstat")
    made.ReadstatError = made.PyreadstatError = type("ReadstatError", (Exception,), {})

    def read(path, *, metadataonly, user_missing):
        assert metadataonly is True
        assert user_missing is True
        if "damaged" in path:
            raise made.ReadstatError("Invalid file")
        return None, META

    made.read_sav = made.read_dta = read
    monkeypatch.setitem(sys.modules, "pyreadstat", made)
    monkeypatch.setattr(statistics_files, "_header", lambda p: json.loads(json.dumps(header_in(str(p)))))


def test_labels(library, tmp_path):
    for name in ("a.sav", "a.dta"):
        found = read_statistics_file(tmp_path / name)
        assert found.columns == {
            "sex": {"sdtype": "categorical", "range_values": [1, 2, 9]},
            "age": {"sdtype": "numerical", "special_values": [99]},
            "code": {"sdtype": "categorical", "range_values": ["a"]},
            "name": {"sdtype": None},
        }
        said = "\n".join(found.lines)
        assert "age: a range of missing values is not read: -9.0 to -1.0" in said
        assert "age: tagged missing values are not read: z" in said
    with pytest.raises(ValueError, match="cannot be read as a file of SPSS or Stata"):
        read_statistics_file(tmp_path / "damaged.sav")


def test_without_the_library(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(ImportError, match=r"sdv-plausible\[codebooks\]"):
        read_statistics_file(tmp_path / "a.sav")


def test_a_real_file(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    table = pd.DataFrame({"sex": [1.0, 2.0], "name": ["a", "b"]})
    path = tmp_path / "a.sav"
    pyreadstat.write_sav(table, str(path), variable_value_labels={"sex": {1: "m", 2: "f", 3: "d"}},
                         missing_ranges={"sex": [9, {"lo": 20, "hi": 30}]})  # fmt: skip
    found = read_statistics_file(path)
    assert found.columns["sex"]["range_values"] == [1, 2, 3, 9]
    assert "sex: a range of missing values is not read: 20.0 to 30.0" in found.lines
    assert found.columns["name"] == {"sdtype": None}


def test_a_real_file_of_stata(tmp_path):
    """A label of Stata's missing value ``.a`` does not make numbers a text."""
    pyreadstat = pytest.importorskip("pyreadstat")
    table = pd.DataFrame({"sex": [1, 2, "a"], "name": ["a", "b", "c"]})
    path = tmp_path / "a.dta"
    pyreadstat.write_dta(table, str(path), variable_value_labels={"sex": {1: "m", 2: "f", "a": "not asked"}},
                         missing_user_values={"sex": ["a"]})  # fmt: skip
    found = read_statistics_file(path)
    assert found.columns["sex"] == {"sdtype": "categorical", "range_values": [1, 2]}
    assert "sex: tagged missing values are not read: a" in found.lines


def test_nothing_beside_the_file_is_run(tmp_path, monkeypatch):
    """A header is read by a process of its own, started where the file is: a module there is none of ours (seen red)."""
    pyreadstat = pytest.importorskip("pyreadstat")
    pyreadstat.write_sav(pd.DataFrame({"sex": [1.0]}), str(tmp_path / "a.sav"))
    (tmp_path / "sdv_plausible").mkdir()
    for name in ("json", "sys", "pyreadstat", "pandas", "sdv_plausible/__init__"):
        (tmp_path / f"{name}.py").write_text(
            f"open({str(tmp_path / 'ran')!r}, 'w').close()", encoding="utf-8"
        )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])  # of a notebook
    assert list(read_statistics_file(tmp_path / "a.sav").columns) == ["sex"]
    assert not (tmp_path / "ran").exists()
