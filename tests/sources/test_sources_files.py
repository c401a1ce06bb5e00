"""Files that a path names, and files that do not go together."""

from __future__ import annotations

from pathlib import Path

import pytest
from tables import COLUMNS, table

from sdv_plausible.sources.files import files_of
from sdv_plausible.sources.opening import open_source
from sdv_plausible.table.column_types import column_types

FRAME = table(30)


def test_files_are_found_in_order(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv"):
        (tmp_path / name).write_text("x\n1\n")
    expected = [tmp_path / "a.csv", tmp_path / "b.csv"]
    assert files_of(tmp_path) == files_of(str(tmp_path / "*.csv")) == expected
    assert files_of(tmp_path / "a.csv") == expected[:1]
    with pytest.raises(ValueError, match="names no file"):
        files_of(tmp_path / "*.parquet")


def test_files_of_other_types_are_refused(tmp_path: Path) -> None:
    FRAME.to_parquet(tmp_path / "a.parquet")
    FRAME.assign(age=FRAME.age.astype(str)).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(ValueError, match="otherwise than"):
        open_source(tmp_path, column_types(None, COLUMNS))


def test_several_csv_files_are_one_table(tmp_path: Path) -> None:
    FRAME.iloc[:10].to_csv(tmp_path / "a.csv", index=False)
    FRAME.iloc[10:].to_csv(tmp_path / "b.csv", index=False)
    source = open_source(tmp_path, column_types(None, COLUMNS), 1)
    assert sum(len(part) for part in source.parts(["age"])) == 30  # type: ignore[attr-defined]
