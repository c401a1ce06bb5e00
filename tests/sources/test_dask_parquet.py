"""Texts that workers read as dictionaries are the texts that Dask reads. Planted: those that are no UTF-8, read as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sdv_plausible.sources.clusters import as_read

dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
parquet = pytest.importorskip("sdv_plausible.sources.dask_parquet", reason="of a Dask that reads otherwise")


def files(folder: Path) -> Path:
    """Two files of several row groups; texts are missing, few, many, and no UTF-8."""
    from pyarrow import parquet as pq

    few, many = ["f", None, "m", " m "] * 50, [f"t{i}" for i in range(200)]
    broken = pa.array([b"a", b"\xff", b"b", None] * 50, pa.binary()).view(pa.string())
    numbers = pa.array([*range(199), None])
    table = pa.table({"few": few, "many": many, "broken": broken, "number": numbers, "none": [None] * 200})
    for i in range(2):
        pq.write_table(table.slice(100 * i, 100), folder / f"{i}.parquet", row_group_size=30)
    return folder


@pytest.mark.parametrize("groups", [False, True, 2])
def test_cells_and_partitions_are_those_that_dask_reads(groups: Any, tmp_path: Path) -> None:
    table = dd.read_parquet(files(tmp_path), split_row_groups=groups)
    found = parquet.with_dictionaries(table)
    assert found.npartitions == table.npartitions > 1
    assert found.dtypes.equals(table.dtypes)
    names, met = ["number", "few", "broken", "many"], set()
    for one, other in zip(found[names].to_delayed(), table[names].to_delayed(), strict=True):
        ours, theirs = (part.compute(scheduler="synchronous") for part in (one, other))
        met |= {name for name in names if ours[name].dtype == "category"}
        cells = [as_read(part, table[names].dtypes).astype(object) for part in (ours, theirs)]
        pd.testing.assert_frame_equal(*[part.where(part.notna(), None) for part in cells])
    assert {"few", "many"} <= met


def test_planted_texts_that_are_none_end_the_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "holds_no_text", lambda _: False)
    with pytest.raises((UnicodeDecodeError, pa.ArrowException)):
        parquet.with_dictionaries(dd.read_parquet(files(tmp_path))).compute(scheduler="synchronous")


def test_what_is_more_than_files_is_left_alone(tmp_path: Path) -> None:
    table = dd.read_parquet(files(tmp_path))
    others = [
        table[table["number"] > 3],
        table.map_partitions(lambda part: part),
        dd.read_parquet(tmp_path, filters=[("few", "==", "f")]),
        dd.read_parquet(tmp_path, dtype_backend="pyarrow"),
        dd.read_parquet(tmp_path, filesystem="arrow"),
        dd.from_pandas(table.compute(), npartitions=2),
    ]
    assert all(parquet.with_dictionaries(other) is other for other in others)
