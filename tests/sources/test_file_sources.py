"""Files that a path names, and files that do not go together."""

import os
import traceback
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from tables import COLUMNS, DECLARED, table

from sdv_plausible import fit_source
from sdv_plausible.rules import Forbidden
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.sources.source_columns import SourceColumns
from sdv_plausible.sources.source_types import files_of, open_source
from sdv_plausible.table.declared.column_types import column_types

FRAME = table(30)


def test_files_are_found_in_order(tmp_path):
    for name in ("b.csv", "a.csv"):
        (tmp_path / name).write_text("x\n1\n")
    expected = [tmp_path / "a.csv", tmp_path / "b.csv"]
    assert files_of(tmp_path) == files_of(str(tmp_path / "*.csv")) == expected
    assert files_of(tmp_path / "a.csv") == expected[:1]
    with pytest.raises(ValueError, match="names no file"):
        files_of(tmp_path / "*.parquet")


def test_no_row_counts_twice_by_a_link_or_a_hidden_copy(tmp_path):
    """The ledger speaks of one row: what a folder holds of it by another name is not one more."""
    folder = tmp_path / ".of mine"  # what is asked for by name may be hidden
    (folder / ".ipynb_checkpoints").mkdir(parents=True)
    (folder / ".sdv-plausible-part-xyz").mkdir()
    for name in ("a.csv", "B.CSV", ".c.csv", ".ipynb_checkpoints/a.csv", ".sdv-plausible-part-xyz/a.csv"):
        (folder / name).write_text("x\n1\n")
    for given in (folder, folder / "**/*.[cC][sS][vV]"):
        assert [path.name for path in files_of(given)] == ["B.CSV", "a.csv"]
    (folder / "more.csv").mkdir()
    (folder / "more.csv" / "part.csv").write_text("x\n1\n")
    assert [path.name for path in files_of(folder)] == ["B.CSV", "a.csv", "part.csv"]


AGE = {"age": {"range_min": 0, "range_max": 99}}


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
def test_one_file_by_two_names_is_refused(tmp_path, link):
    (tmp_path / "sub").mkdir()
    (tmp_path / "people.csv").write_text("age\n30\n")
    getattr(tmp_path / "sub" / "latest.csv", link)(tmp_path / "people.csv")
    for given in (tmp_path, tmp_path / "**/*.csv"):
        with pytest.raises(ValueError, match="are the same file") as raised:
            fit_source(given, domain=AGE, model="independent")
        for told in ("people.csv", "latest.csv", "count twice", "remove one"):
            assert told in str(raised.value)
    assert len(files_of(tmp_path / "sub")) == 1  # a link alone is a file like any other


def test_several_files_are_one_table_unless_they_are_of_other_types(tmp_path):
    types = column_types(None, COLUMNS)
    for name, part in (("a", FRAME.iloc[:10]), ("b", FRAME.iloc[10:])):
        part.to_csv(tmp_path / f"{name}.csv", index=False)
        part.assign(age=part.age.astype(str) if name == "b" else part.age).to_parquet(
            tmp_path / f"{name}.parquet"
        )
    assert sum(len(part) for part in open_source(tmp_path / "*.csv", types, 1).parts(["age"])) == 30
    with pytest.raises(ValueError, match="other column types than"):
        open_source(tmp_path / "*.parquet", types)


def test_values_of_a_dictionary_that_no_row_has_are_not_there():
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 2, None, 2], pa.int8()), ["f", "secret", "m"])
    words = {"sex": {"sdtype": "categorical"}}
    source = open_source(pa.table({"sex": coded}), column_types(None, words))
    for rules in (RuleSet(), RuleSet.make([Forbidden({"sex": "m"})], words)):
        values, counts, missing = SourceColumns(source, rules, ["sex"]).value_counts("sex")
        assert (values, counts.tolist(), missing) == ([(False, "f"), (False, "m")], [1, 2], 1)


def test_texts_are_the_same_whether_stored_as_dictionary_or_not():
    cells = ["a", None, "b ", "b", "", "1", "a"] * 3
    types = column_types(None, {"x": {"sdtype": "categorical"}})
    plain = pa.chunked_array([cells[:5], cells[5:]])
    (expected,) = open_source(pa.table({"x": plain}), types).parts(["x"])
    for column in (plain.dictionary_encode(), plain.cast(pa.large_string())):
        (found,) = open_source(pa.table({"x": column}), types).parts(["x"])
        assert found["x"].astype(object).tolist() == expected["x"].astype(object).tolist()
        assert isinstance(found["x"].dtype, pd.CategoricalDtype)


@pytest.mark.parametrize("engine", ["duckdb", "polars", "dask", "stream", "first batch"])
def test_what_an_engine_says_of_a_cell_is_not_passed_on(engine, tmp_path):
    """Engines that take types from the first rows end a pass at a later cell, and quote it; so do users' functions."""
    path = tmp_path / "t.csv"
    path.write_text("age\n" + "30\n" * (30_000 if engine in ("duckdb", "polars") else 500) + "SECRETCELL\n")

    def batches():
        with pd.read_csv(path, chunksize=501 if engine == "first batch" else 100, dtype=str) as chunks:
            for chunk in chunks:
                yield pa.RecordBatch.from_pandas(chunk.assign(age=chunk["age"].map(float)))

    source = batches
    if engine == "duckdb":
        source = pytest.importorskip("duckdb").read_csv(str(path), sample_size=100)
    elif engine == "polars":
        source = pytest.importorskip("polars").scan_csv(str(path))
    elif engine == "dask":
        source = pytest.importorskip("dask.dataframe").read_csv(str(path), dtype={"age": float})
    with pytest.raises(ValueError, match="reading failed") as raised:
        fit_source(source, domain=AGE, model="independent")
    assert "SECRETCELL" not in "".join(traceback.format_exception(raised.value))
    assert raised.value.__context__ is None


def test_an_engine_without_batches_is_refused_before_anything_is_paid(monkeypatch):
    polars = pytest.importorskip("polars")
    monkeypatch.delattr(polars.LazyFrame, "collect_batches")
    with pytest.raises(ValueError, match="polars is too old to read batches"):
        fit_source(polars.DataFrame({"age": [1, 2]}), domain=AGE)


def files(folder, *names):
    """Small tables by these names."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("age\n1\n")


def test_what_a_program_is_writing_is_left_out_and_a_delta_table_refused(tmp_path):
    files(tmp_path, "a.csv", "_temporary/0/b.csv", "_c.csv", "sub/d.csv", "_year=2020/e.csv")
    ways = tmp_path, tmp_path / "**/*.csv"
    for way in ways:
        found = [one.relative_to(tmp_path).as_posix() for one in files_of(way)]
        assert found == ["_year=2020/e.csv", "a.csv", "sub/d.csv"]
    (tmp_path / "sub/_delta_log").mkdir()
    for way in (*ways, tmp_path / "sub/*.csv"):
        with pytest.raises(ValueError, match="is of a Delta"):
            files_of(way)


@pytest.mark.parametrize(
    "mark", ["_delta_log/0.json", "metadata/v1.metadata.json", ".hoodie/hoodie.properties"]
)
def test_a_part_of_a_table_that_keeps_versions_is_refused(tmp_path, monkeypatch, mark):
    """Control: an innocent folder of metadata."""
    part = tmp_path / "table/data/year=2020"
    files(
        tmp_path / "table", "data/year=2020/old.csv", "data/year=2020/new.csv", "metadata/adult.metadata.json"
    )
    (tmp_path / "linked").symlink_to(part)
    monkeypatch.chdir(part)
    ways = part, ".", "*.csv", part.parent, part / "*.csv", tmp_path / "table/**/*.csv", tmp_path / "linked"
    assert {len(files_of(way)) for way in ways} == {2}
    files(tmp_path / "table", mark)
    for way in ways:
        with pytest.raises(ValueError, match="old versions of rows"):
            files_of(way)
    assert files_of(part / "new.csv") == [part / "new.csv"]  # whoever names one file knows which it is


def test_what_a_folder_or_pattern_would_lose_silently_is_refused(tmp_path, monkeypatch):
    base, far = tmp_path / "base", tmp_path / "far"
    files(tmp_path, "base/a.csv", "base/sub/b.csv", "far/c.csv")
    ways = base, base / "**/*.csv", base / "*/*.csv"
    assert [len(files_of(way)) for way in ways] == [2, 2, 1]
    (base / "2023").symlink_to(far)
    with pytest.raises(ValueError, match="2023 is a link to a folder"):
        files_of(base)
    assert len(files_of(base / "*/*.csv")) == 2  # a pattern follows it, and says where it looks
    (base / "2023").unlink()
    (base / "dead.csv").symlink_to(far / "nowhere.csv")
    for way in (base, base / "*.csv", base / "**/*.csv"):
        with pytest.raises(ValueError, match=r"dead\.csv is a broken link, so its rows would be skipped"):
            files_of(way)
    (base / "dead.csv").unlink()
    access, scan = os.access, os.scandir
    monkeypatch.setattr(os, "access", lambda place, mode: Path(place).name != "sub" and access(place, mode))

    def scandir(place):
        if Path(place).name == "sub":
            raise PermissionError(13, "Permission denied", str(place))
        return scan(place)

    monkeypatch.setattr(os, "scandir", scandir)
    for way in ways:
        with pytest.raises(ValueError, match="sub cannot be read"):
            files_of(way)
    (base / ".sub").mkdir()
    (base / ".sub" / "x.csv").symlink_to(far / "nowhere.csv")
    assert len(files_of(base / "*.csv")) == 1


def test_a_pattern_that_meets_a_folder_of_rows_says_so(tmp_path):
    files(tmp_path, "a.csv", "b.csv/part.0.csv", "year=2020/c.csv")
    for pattern in ("*.csv", "*"):
        with pytest.raises(ValueError, match=r"is a folder that matches the pattern but is not searched"):
            files_of(tmp_path / pattern)
    assert [len(files_of(way)) for way in (tmp_path, tmp_path / "**", tmp_path / "**/*.csv")] == [3] * 3


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_vote_takes_the_columns_of_all_files_or_none(tmp_path, ending):
    frame = FRAME[["age", "sex"]]

    def write(name, table):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        path = tmp_path / f"{name}.{ending}"
        table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)

    write("a", frame)
    write("b", frame[["sex", "age"]])
    assert fit_source(tmp_path, types="voted").domain.names
    write("b", frame.assign(extra=1))
    with pytest.raises(ValueError, match="extra are not in every file"):
        fit_source(tmp_path, types="voted")
    declared = {name: COLUMNS[name] | DECLARED[name] for name in frame}
    assert fit_source(tmp_path, domain=declared).domain.names == ("age", "sex")  # what is named is taken
    write("b", frame)
    write("year=2020/c", frame)
    with pytest.raises(ValueError, match="year are not in every file"):
        fit_source(tmp_path, types="voted")


def test_an_index_of_pandas_is_no_column(tmp_path):
    FRAME.set_index(pd.Index(range(7, 7 + len(FRAME)))).to_parquet(tmp_path / "t.parquet", index=True)
    assert not [one for one in fit_source(tmp_path, types="voted").sample(2).columns if "index" in one]


@pytest.mark.parametrize("other", ["b.tsv", "b.pq", "000000_0", "notes.pdf"])
def test_what_a_folder_holds_beside_tables_is_read_or_refused(tmp_path, other):
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    assert len(files_of(tmp_path)) == 1
    (tmp_path / "_SUCCESS").touch()
    assert len(files_of(tmp_path)) == 1
    FRAME.to_csv(tmp_path / other, index=False)
    if other == "b.tsv":
        assert len(files_of(tmp_path)) == 2
    else:
        with pytest.raises(ValueError, match=r"not a CSV or Parquet file, judging by its ending.*pattern"):
            files_of(tmp_path)


def test_numbers_that_are_all_missing_are_stored_as_numbers():
    """As those of any other part: rows of people are put together where their storage is one."""
    for cells in ([None, None], ["no number", None]):
        source = open_source(
            pa.table({"age": pa.array(cells, pa.string())}), column_types({"age": {"sdtype": "numerical"}})
        )
        (part,) = source.parts(["age"])
        assert part["age"].dtype == source.empty(["age"])["age"].dtype == float
