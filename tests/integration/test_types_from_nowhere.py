"""No type of a real column is in a release: what is not modelled has the type of its declaration, at every door."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sdv_plausible import PlausibleDeniabilitySynthesizer, Release, fit_source
from sdv_plausible.cli.main import main
from sdv_plausible.fitting import fit_source as fit_source_module
from sdv_plausible.sdv.metadata import metadata_from_columns

COLUMNS = {"name": {"sdtype": "name"}, "number": {"sdtype": "id"}, "sex": {"sdtype": "categorical"}}
DOMAIN = {**COLUMNS, "sex": {"sdtype": "categorical", "range_values": ["m", "f"], "range_is_nullable": False}}
NUMBERS: dict[str, Any] = {
    "whole": range(300), "one missing": [None, *range(299)], "one beyond int64": [2**63, *range(299)],
    "one text": ["x", *range(299)], "categories": pd.Categorical([f"ID{i}" for i in range(300)]),
}  # fmt: skip


def table(numbers: str) -> pd.DataFrame:
    names, sexes = pd.Categorical([f"NAME{i}" for i in range(300)]), pd.Categorical(["m", "f"] * 150)
    return pd.DataFrame({"name": names, "number": pd.Series(NUMBERS[numbers]), "sex": sexes})


def by_source(rows: pd.DataFrame, tmp_path: Any, **options: Any) -> Release:
    return fit_source(rows, domain=DOMAIN, model="independent", **options)


def by_person(rows: pd.DataFrame, tmp_path: Any) -> Release:
    return by_source(rows, tmp_path, person="number", scratch=tmp_path)


def by_dask(rows: pd.DataFrame, tmp_path: Any) -> Release:
    dask = pytest.importorskip("dask.dataframe")
    return by_source(dask.from_pandas(rows, npartitions=2), tmp_path)


def by_synthesizer(rows: pd.DataFrame, tmp_path: Any) -> Release:
    metadata, domain = metadata_from_columns(COLUMNS), {"sex": DOMAIN["sex"]}
    synth = PlausibleDeniabilitySynthesizer(metadata, domain=domain, model="independent")
    synth.fit(rows)
    return synth.release()


DOORS = [by_source, by_person, by_dask, by_synthesizer]


def check_tells_nothing(release: Release, expected: dict[str, str]) -> None:
    text = release.to_bytes(readable=True).decode()
    told = [word for word in ("NAME", "ID1") if word in text]
    if told:
        raise AssertionError(f"the file holds real values: {told}")
    types = {column.name: str(column.dtype) for column in release.schema.columns}
    if types != expected:
        raise AssertionError(f"types of the rows: {types}")


EXPECTED = {"name": "object", "number": "int64", "sex": "object"}


@pytest.mark.parametrize("door", DOORS)
def test_types_do_not_depend_on_the_rows(door, tmp_path):
    for numbers in NUMBERS:
        release = door(table(numbers), tmp_path)
        check_tells_nothing(release, EXPECTED)
        rows = release.sample(5)
        assert not any(isinstance(dtype, pd.CategoricalDtype) for dtype in rows.dtypes)
        assert rows["number"].dtype == np.int64


@pytest.mark.parametrize("numbers", ["one missing", "one text", "categories"])
def test_types_read_off_the_source_would_be_seen(numbers, tmp_path, monkeypatch):
    """The planted fault: the second fit's own rule, as it was before 0.2."""
    rows = table(numbers)
    left = iter([rows["name"].dtype, rows["number"].dtype])
    monkeypatch.setattr(fit_source_module, "generated_type", lambda _: next(left))
    said = "types of the rows|contains every value of the real column|hold(s)? every value|real values"
    with pytest.raises((AssertionError, ValueError), match=said):
        check_tells_nothing(by_source(rows, tmp_path), EXPECTED)


def old_file(**types: Any) -> bytes:
    """A release file as version 0.1 wrote it from a frame with such types."""
    release = by_source(table("whole"), None)
    told = release.schema.columns
    columns = tuple(replace(column, dtype=types.get(column.name, column.dtype)) for column in told)
    other = replace(release, schema=replace(release.schema, columns=columns))
    return json.dumps(json.loads(other.to_bytes(readable=True))).encode()


def with_values(path: Any) -> None:
    """One that holds the names, which no program of today writes."""
    document = json.loads(old_file())
    document["schema"]["columns"][0]["dtype"] = {"values": ["NAME1", "NAME2"], "ordered": False}
    path.write_text(json.dumps(document))


def test_a_category_of_names_is_never_written():
    with pytest.raises(ValueError, match=r"columns \['name'\] are not modelled"):
        old_file(name=pd.CategoricalDtype(["NAME1"]))


def test_an_old_file_that_holds_names_is_told_and_mended(tmp_path, capsys):
    path, clean = tmp_path / "old.release", tmp_path / "clean.release"
    with_values(path)
    with pytest.warns(UserWarning, match="name: every value of the real column"):
        release = Release.load(path)
    check_tells_nothing(release, EXPECTED)
    assert main(["types", str(path), "-o", str(clean)]) == 0
    assert "name: every value of the real column" in capsys.readouterr().out
    assert main(["types", str(clean)]) == 0
    assert "No type of a column was read off the rows without noise." in capsys.readouterr().out
    check_tells_nothing(Release.load(clean), EXPECTED)


def test_an_old_file_that_tells_storage_is_told(tmp_path, capsys):
    path = tmp_path / "old.release"
    path.write_bytes(old_file(number=np.dtype(float), sex=pd.CategoricalDtype(["m", "f"])))
    with pytest.warns(UserWarning, match="number: stored as float64; sex: stored as a category"):
        release = Release.load(path)
    assert release.sample(3)["sex"].dtype == "category"  # as whoever has the file knows
    assert main(["types", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["found"]
