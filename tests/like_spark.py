"""What is used of Spark, in this process and without Java, so that guards of every engine have a case of it.

The same on Spark itself: tests/sources/test_spark.py.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

BATCH = 40


class LikeSpark:
    """A DataFrame of Spark: partitions that are made anew whenever they are asked for, until they are persisted."""

    __module__ = "pyspark.sql.classic.dataframe"
    isStreaming = False  # noqa: N815

    def __init__(self, columns: list[str], partitions: Callable[[], list[Any]]) -> None:
        self.columns, self._partitions, self._kept = columns, partitions, None

    @classmethod
    def of(cls, frame: pd.DataFrame, partitions: int = 3) -> LikeSpark:
        """A frame in as many partitions, moments in the time zone of a session."""
        import pyarrow as pa

        table = pa.Table.from_pandas(frame, preserve_index=False)
        size = -(-len(frame) // partitions)
        return cls(table.column_names, lambda: [table.slice(i * size, size) for i in range(partitions)])

    @property
    def sparkSession(self) -> Any:
        return SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2), range=_range)

    def partitions(self) -> list[Any]:
        with like_pyspark():
            return self._kept if self._kept is not None else self._partitions()

    def toDF(self, *names: str) -> LikeSpark:
        return LikeSpark([*names], lambda: [one.rename_columns(names) for one in self.partitions()])

    def select(self, names: list[str]) -> LikeSpark:
        return LikeSpark(names, lambda: [one.select(names) for one in self.partitions()])

    def limit(self, rows: int) -> LikeSpark:
        return LikeSpark(self.columns, lambda: [one.slice(0, rows) for one in self.partitions()])

    def mapInArrow(self, function: Callable[[Any], Any], schema: str) -> LikeSpark:
        import pyarrow as pa

        kinds = {"long": pa.int64(), "binary": pa.binary(), "string": pa.string()}
        words = [field.split() for field in schema.split(", ")]
        made = pa.schema([(name, kinds[kind]) for name, kind in words])

        def partitions() -> list[Any]:
            found = []
            for number, one in enumerate(self.partitions()):
                TASK.number = number
                found.append(pa.Table.from_batches(list(function(iter(one.to_batches(BATCH)))), made))
            return found

        return LikeSpark(made.names, partitions)

    def repartition(self, number: int, column: str) -> LikeSpark:
        import pyarrow as pa

        def partitions() -> list[Any]:
            whole = pa.concat_tables(self.partitions())
            places = [cell % number for cell in whole[column].to_pylist()]
            return [whole.filter(pa.array([at == i for at in places], pa.bool_())) for i in range(number)]

        return LikeSpark(self.columns, partitions)

    @property
    def rdd(self) -> Any:
        return SimpleNamespace(getNumPartitions=lambda: len(self.partitions()))

    def persist(self) -> LikeSpark:
        self._kept = self.partitions()
        HELD.append(self)
        return self

    def unpersist(self) -> None:
        self._kept = None
        HELD.remove(self)

    def toArrow(self) -> Any:
        import pyarrow as pa

        return pa.concat_tables(self.partitions())

    def collect(self) -> list[Any]:
        return [SimpleNamespace(**row) for row in self.toArrow().to_pylist()]


HELD: list[LikeSpark] = []
"""What is persisted."""
TASK = SimpleNamespace(number=0, partitionId=lambda: TASK.number)
MODULE = SimpleNamespace(TaskContext=SimpleNamespace(get=lambda: TASK))


@contextmanager
def like_pyspark() -> Iterator[None]:
    """What is imported of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pyspark", MODULE)
        yield


def _range(start: int, end: int, step: int, partitions: int) -> LikeSpark:
    import pyarrow as pa

    assert (start, end, step) == (0, partitions, 1)
    return LikeSpark(["id"], lambda: [pa.table({"id": [i]}) for i in range(partitions)])
