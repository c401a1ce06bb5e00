"""Rows in files: whole numbers as such."""

import pandas as pd
import pytest

from sdv_plausible import read_csv, read_parquet
from sdv_plausible.table.files.table_file import write_table


def test_whole_numbers_are_written_without_a_point_and_parquet_by_the_ending(tmp_path):
    frame = pd.DataFrame({"age": [24.0, None], "height": [1.5, 2.0], "town": ["Bern", "Chur"]})
    write_table(frame, tmp_path / "rows.csv")
    assert (tmp_path / "rows.csv").read_text() == "age,height,town\n24,1.5,Bern\n,2.0,Chur\n"
    write_table(frame[["age"]], tmp_path / "rows.PARQUET")
    assert pd.read_parquet(tmp_path / "rows.PARQUET").equals(frame[["age"]])


def test_values_of_several_kinds_are_text_in_parquet(tmp_path):
    """And of one kind they keep it."""
    path = tmp_path / "rows.parquet"
    for cells, written in (
        (["x", 1, None], ["x", "1", None]),
        (["x", True, 2.5], ["x", "True", "2.5"]),
        ([0, "refused", float("nan")], ["0", "refused", None]),
        ([2**70, 1], [str(2**70), "1"]),
    ):
        for kind in (object, "category"):
            frame = pd.DataFrame({"a": pd.Series(cells, dtype=object).astype(kind), "b": [1.5] * len(cells)})
            before = frame.copy()
            write_table(frame, path)
            found = pd.read_parquet(path)
            assert found["a"].astype(object).where(found["a"].notna(), None).tolist() == written
            assert found["b"].tolist() == frame["b"].tolist()
            assert frame.equals(before)
    write_table(
        pd.DataFrame({"n": pd.Series([1, None, 2], dtype=object), "f": pd.Series([True, False, None])}), path
    )
    found = pd.read_parquet(path)
    assert found["n"].tolist()[::2] == [1, 2]
    assert found["f"].tolist()[:2] == [True, False]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_value_that_a_spreadsheet_would_run_is_written_as_it_is(tmp_path, ending):
    """The pages say so: what is put before it would be another value to whoever reads the file."""
    values = ["=1+1", "+1", "-1", "@SUM(A1)", "plain"]
    write_table(pd.DataFrame({"a": values}), tmp_path / f"t{ending}")
    words = {"a": {"sdtype": "categorical", "range_values": values}}
    read = (read_csv if ending == ".csv" else read_parquet)(tmp_path / f"t{ending}", words)
    assert list(read["a"]) == values
