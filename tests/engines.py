"""One pandas frame in the hands of every engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from like_spark import LikeSpark


class Streamed:
    """An object of which nothing is known but Arrow's C stream."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested: Any = None) -> Any:
        return self._table.to_reader(700).__arrow_c_stream__(requested)


class LikeIbis:
    """What is used of a table of Ibis."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def schema(self) -> Any:
        return self

    def to_pyarrow(self) -> Any:
        return self._table.schema

    def select(self, names: Any) -> Any:
        return LikeIbis(self._table.select(names))

    def to_pyarrow_batches(self, *, chunk_size: int) -> Any:
        return self._table.to_reader(chunk_size)


def _arrow(frame: pd.DataFrame) -> Any:
    return pytest.importorskip("pyarrow").Table.from_pandas(frame, preserve_index=False)


def _polars(frame: pd.DataFrame) -> Any:
    return pytest.importorskip("polars").from_pandas(frame)


def _csv(frame: pd.DataFrame, folder: Path) -> Path:
    frame.to_csv(folder / "table.csv", index=False)
    return folder / "table.csv"


def _parquet(frame: pd.DataFrame, folder: Path) -> str:
    pytest.importorskip("pyarrow")
    third = -(-len(frame) // 3)
    for i in range(3):
        part = frame.iloc[i * third : (i + 1) * third]
        part.to_parquet(folder / f"part-{i}.parquet", index=False, row_group_size=400)
    return str(folder / "part-*.parquet")


def _excel(frame: pd.DataFrame, folder: Path) -> str:
    pytest.importorskip("openpyxl")
    frame.to_excel(folder / "rows.xlsx", index=False)
    return str(folder / "rows.xlsx")


def _batches(frame: pd.DataFrame) -> Callable[[], Any]:
    arrow = _arrow(frame)
    return lambda: arrow.to_batches(700)


def _dask(frame: pd.DataFrame) -> Any:
    return pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=3)


def _spark(frame: pd.DataFrame) -> Any:
    pytest.importorskip("pyarrow")
    return LikeSpark.of(frame)


def _dask_parquet(frame: pd.DataFrame, folder: Path) -> Any:
    frames = pytest.importorskip("dask.dataframe")
    _parquet(frame, folder)
    return frames.read_parquet(folder)


@contextmanager
def keeping_nothing() -> Iterator[None]:
    """Workers of Dask that lose what they keep, each time: every pass makes it again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pytest.importorskip("dask"), "persist", lambda *made: made)
        yield


HELD: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "pandas": lambda frame, _: frame,
    "polars": lambda frame, _: _polars(frame),
    "polars lazy": lambda frame, _: _polars(frame).lazy(),
    "arrow": lambda frame, _: _arrow(frame),
    "parquet": _parquet,
    "csv": _csv,
    "excel": _excel,
    "duckdb": lambda frame, _: pytest.importorskip("duckdb").from_df(frame),
    "dask": lambda frame, _: _dask(frame),
    "dask parquet": _dask_parquet,
    "stream": lambda frame, _: Streamed(_arrow(frame)),
    "batches": lambda frame, _: _batches(frame),
    "ibis": lambda frame, _: LikeIbis(_arrow(frame)),
    "spark": lambda frame, _: _spark(frame),
}
CLUSTERS = ("dask", "dask parquet", "spark")
"""Whose rows are on other machines."""


def held(engine: str, frame: pd.DataFrame, folder: Path) -> Any:
    """The table as an engine has it; the test is skipped where there is none."""
    return HELD[engine](frame, folder)
