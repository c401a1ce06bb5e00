"""Rows in files: whole numbers as such."""

from __future__ import annotations

import pandas as pd
import pytest

from sdv_plausible.table.writing import write_table


def test_whole_numbers_are_written_without_a_point(tmp_path):
    frame = pd.DataFrame({"age": [24.0, None], "height": [1.5, 2.0], "town": ["Bern", "Chur"]})
    write_table(frame, tmp_path / "rows.csv")
    assert (tmp_path / "rows.csv").read_text() == "age,height,town\n24,1.5,Bern\n,2.0,Chur\n"


def test_parquet_by_the_ending(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"age": [24.0, None]})
    write_table(frame, tmp_path / "rows.PARQUET")
    assert pd.read_parquet(tmp_path / "rows.PARQUET").equals(frame)
