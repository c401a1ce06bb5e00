"""Source of a Dask DataFrame: one task per partition, counts merged as a tree, on any scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from dask.dataframe.dask_expr.io.parquet import ReadParquetFSSpec
from dask.dataframe.io.parquet.arrow import ArrowDatasetEngine

from sdv_plausible.extensions.clusters.cluster_source import (
    BUCKETS_PER_PARTITION,
    MERGE_FAN_IN,
    ClusterSource,
    FingerprintedTask,
    group_by_worker,
    group_small_parts,
    merge_all,
    normalise_part,
)
from sdv_plausible.extensions.clusters.shuffled_rows import RowChoice
from sdv_plausible.sources.fingerprints import Fingerprint, Fingerprints, TracedPart
from sdv_plausible.sources.source import PartTask, SourceType, library_of, raise_source_errors
from sdv_plausible.sources.worker_pool import compact
from sdv_plausible.table.files.storage_types import has_invalid_utf8

# Parquet files of a Dask DataFrame, read by the tasks themselves, with texts as dictionaries.


DEFAULT_OPERANDS = {
    "engine": "pyarrow", "filters": None, "categories": None, "kwargs": {"dtype_backend": None},
    "_partitions": None, "_series": False,
}  # fmt: skip


@dataclass(frozen=True)
class Partition:
    """Location of a partition's rows: paths, and the row groups of each (None for all)."""

    filesystem: Any
    pieces: tuple[tuple[str, Any], ...]

    def read(self, names: list[str]) -> pd.DataFrame:
        """Read the cells as Dask would, but texts as categories: each distinct text is parsed once."""
        tables = [self._read(path, groups, names) for path, groups in self.pieces]
        table = pa.concat_tables(tables) if len(tables) > 1 else tables[0]
        for position, name in enumerate(names):
            cells = table.column(position)
            dictionaries = [part.dictionary for part in cells.chunks if pa.types.is_dictionary(part.type)]
            if any(map(has_invalid_utf8, dictionaries)):  # cannot become categories
                table = table.set_column(position, name, cells.cast(cells.type.value_type))
        as_it_is = {"split_blocks": True}  # do not copy columns into one block
        frame = ArrowDatasetEngine._arrow_table_to_pandas(
            table, None, convert_string=True, arrow_to_pandas=as_it_is
        )
        return frame if list(frame.columns) == names else frame.reset_index()[names]

    def _read(self, path: str, groups: Any, names: list[str]) -> Any:
        with self.filesystem.open(path, "rb", cache_type="none") as opened:
            stored = pq.ParquetFile(opened)
            schema = stored.schema_arrow
            texts = [name for name in names if pa.types.is_string(schema.field(name).type)]
            file = pq.ParquetFile(opened, metadata=stored.metadata, read_dictionary=texts, pre_buffer=True)
            if groups is None:
                groups = [*range(file.num_row_groups)]
            return file.read_row_groups(groups, columns=names, use_threads=False).select(names)


def partitions_of(table: Any) -> list[Partition] | None:
    """Location of each partition's rows; None where Dask does more than read files."""
    read = table.expr
    if type(read) is not ReadParquetFSSpec or any(read.operand(k) != v for k, v in DEFAULT_OPERANDS.items()):
        return None
    plan, filesystem = read._plan, read._dataset_info["fs"]
    options = plan["common_kwargs"]
    if plan["empty"] or options.get("partitions") or not options.get("convert_string"):
        return None
    parts = [part if isinstance(part, list) else [part] for part in plan["parts"]]
    pieces = [[piece["piece"] for piece in part] for part in parts]
    partitions = [Partition(filesystem, tuple((path, groups) for path, groups, _ in part)) for part in pieces]
    return (
        partitions if all(isinstance(path, str) for part in partitions for path, _ in part.pieces) else None
    )


T = TypeVar("T")
Tasks = Callable[[Any], list[Any]]
RETRIES = 3


class DaskSource(ClusterSource):
    """Partitions of a Dask DataFrame."""

    def __init__(self, table: Any) -> None:
        # ``table``: the table; its partitions should fit into a worker's memory.
        self._table, self._files = table.rename(columns=str), None
        # Versions of Dask with other internals read the files themselves.
        with suppress(ImportError, AttributeError, LookupError, TypeError, ValueError):
            self._files = partitions_of(table)
        self._kept: list[DaskParts] = []

    @property
    def names(self) -> Sequence[str]:
        """Column names."""
        return list(self._table.columns)

    def empty(self, names: Sequence[str]) -> pd.DataFrame:
        """Return some columns without rows."""
        return self._table._meta[list(names)].iloc[:0].reset_index(drop=True)

    def total(self, task: PartTask[T], names: Sequence[str]) -> T:
        """Merge the counts of all partitions.

        A failed task is run again, with the same result; tasks add no noise.
        """
        return _compute(task, self._tasks(names))

    def persist(self, task: PartTask[TracedPart], names: Sequence[str]) -> DaskParts:
        """Keep the task's results for every partition, in the memory or on the disk of its worker."""
        tasks = self._tasks(names)
        with _with_retries():
            made = tasks(_delay(task))
        self._kept.append(DaskParts(made, self.empty(()), task))
        return self._kept[-1]

    def select(self, choice: RowChoice, names: Sequence[str]) -> DaskParts:
        """Choose rows. They are moved as bytes, so that no engine inspects a cell or changes its type."""
        import dask
        import dask.dataframe as dd

        empty, number = self.empty(names), self._table.npartitions
        meta = pd.DataFrame({"place": np.zeros(0, dtype=np.int64), "rows": np.zeros(0, dtype=object)})
        tasks = self._tasks(names)(_delay(_DistributeTask(choice, BUCKETS_PER_PARTITION * number)))
        with dask.config.set({"dataframe.convert-string": False}):  # bytes are not texts
            buckets = dd.from_delayed(tasks, meta=meta, verify_meta=False)
        shuffled = buckets.shuffle("place", npartitions=number, shuffle_method="tasks").to_delayed()
        with _with_retries():
            choose, sent = dask.delayed(_select_rows, pure=False), _delay(choice)
            parts = [choose(sent, rows, empty) for rows in shuffled]
        self._kept.append(DaskParts(parts, empty))
        return self._kept[-1]

    def close(self) -> None:
        """Release what the workers keep, even if it is still referenced."""
        for parts in self._kept:
            parts.close()

    def _tasks(self, names: Sequence[str]) -> Tasks:
        """Function from a task, as it is sent, to one delayed call per partition."""
        import dask

        parts, types = self._files or self._table[list(names)].to_delayed(), self.empty(names).dtypes
        count = dask.delayed(_count, pure=False)
        return lambda sent: [count(sent, part, types, i) for i, part in enumerate(parts)]


class DaskParts(ClusterSource):
    """Parts kept by workers, made at once."""

    in_order = True

    def __init__(
        self,
        made: list[Any],
        empty: pd.DataFrame,
        by: PartTask[TracedPart] | None = None,
        source_digests: Sequence[Any] = (),
    ) -> None:
        # ``empty``: their columns without rows.
        # ``by``: the task that made and merges them; one worker task then counts several small parts.
        # Otherwise one each.
        # ``source_digests``: fingerprints of the parts that they were made of.
        import dask

        self._empty, self._by, self._kept = empty, by, list[DaskParts]()
        with _with_retries():
            digests = [dask.delayed(_digest_of)(part) for part in made]
            self._parts = list(raise_source_errors(lambda: dask.persist(*made, *digests, *source_digests)))
            try:
                computed = raise_source_errors(lambda: dask.compute(*self._parts[len(made) :]))
            except BaseException:  # also of an interrupt, whose traceback would keep the parts alive
                self.close()
                raise
        del self._parts[len(made) :]
        digests, self.made_of = computed[: len(made)], computed[len(made) :]
        lengths = [int(one[0]) for one in digests]
        self._numbers = (
            list(group_small_parts(lengths)) if by is not None else [[i] for i in range(len(made))]
        )
        self._tasks = list(group_by_worker(*self._workers()))
        self._fingerprints = Fingerprints()
        self._fingerprints.check(sum(digests))

    @property
    def names(self) -> Sequence[str]:
        """Column names; codes have none."""
        return list(self._empty.columns)

    def empty(self, names: Sequence[str]) -> pd.DataFrame:
        """Return some columns without rows."""
        return self._empty[list(names)]

    def total(self, task: PartTask[T], names: Sequence[str]) -> T:
        """Merge the counts of all parts."""
        # Raises RuntimeError if a part was made again and differs.
        found: T
        found, fingerprint = _compute(
            FingerprintedTask(task, tuple(names)), self._delayed_counts(self._tasks)
        )
        self._fingerprints.check(fingerprint)
        return found

    def persist(self, task: PartTask[TracedPart], names: Sequence[str]) -> DaskParts:
        """Keep the task's results for every part."""
        # Raises RuntimeError if a part was made again and differs.
        with _with_retries():
            single = [[number] for number in range(len(self._numbers))]
            results = self._delayed_counts(single)(_delay(FingerprintedTask(task, tuple(names))))
        kept = DaskParts([one[0] for one in results], self.empty(()), task, [one[1] for one in results])
        self._kept.append(kept)
        self._fingerprints.check(sum(kept.made_of))
        return kept

    def select(self, choice: RowChoice, names: Sequence[str]) -> DaskParts:
        """Not supported: the rows of each person are chosen once."""
        raise NotImplementedError

    def close(self) -> None:
        """Release the parts."""
        for parts in self._kept:
            parts.close()
        for part in self._parts:
            for future in part.__dask_graph__().values():
                if hasattr(future, "release"):
                    future.release()
        self._parts.clear()

    def _workers(self) -> tuple[list[str], Mapping[str, int]]:
        """Worker of the first part of each group, and threads of each worker; one place without a cluster."""
        firsts = [next(iter(self._parts[some[0]].__dask_graph__().values())) for some in self._numbers]
        client = getattr(firsts[0], "client", None)
        if client is None:
            return ["here"] * len(firsts), {"here": len(firsts)}
        workers_of = client.who_has(firsts)
        return [next(iter(workers_of.get(first.key, ())), "") for first in firsts], client.nthreads()

    def _delayed_counts(self, tasks: Sequence[Sequence[int]]) -> Tasks:
        """Function from a task, as it is sent, to delayed calls that each count some parts on one worker."""
        import dask

        count, by = dask.delayed(_count_group, pure=False), _delay(self._by)
        return lambda sent: [
            count(sent, by, {number: [self._parts[i] for i in self._numbers[number]] for number in some})
            for some in tasks
        ]


def _compute(task: PartTask[T], tasks: Tasks) -> T:
    """Merge the counts of delayed calls."""
    import dask

    with _with_retries():
        add, sent = dask.delayed(merge_all, pure=False), _delay(task)
        sums = tasks(sent)
        while len(sums) > 1:
            sums = [add(sent, sums[i : i + MERGE_FAN_IN]) for i in range(0, len(sums), MERGE_FAN_IN)]
        (merged,) = raise_source_errors(lambda: dask.compute(sums[0]))
    return merged


def _with_retries() -> Any:
    import dask

    return dask.annotate(retries=RETRIES)


def _delay(task: Any) -> Any:
    """Wrap a task, so that it is sent once to every worker and not with each call."""
    import dask

    return dask.delayed(task, traverse=False)


def _count(task: PartTask[T], part: Any, types: pd.Series[Any], number: int) -> T:
    read = part if isinstance(part, pd.DataFrame) else part.read(list(types.index))
    return task.count(normalise_part(read, types), number)


def _digest_of(part: TracedPart) -> Fingerprint:
    return part.digest


def _count_group(task: Any, by: Any, several: Mapping[int, Sequence[TracedPart]]) -> Any:
    parts = ((number, merge_all(by, some) if len(some) > 1 else some[0]) for number, some in several.items())
    return compact(task, merge_all(task, (task.count(part, number) for number, part in parts)))


@dataclass(frozen=True)
class _DistributeTask:
    """Task: rows as bytes, and their buckets."""

    choice: RowChoice
    places: int

    def count(self, part: pd.DataFrame, number: int) -> pd.DataFrame:  # noqa: ARG002
        distributed: Iterator[tuple[int, bytes]] = self.choice.distribute(part, self.places)
        place, rows = [*zip(*distributed, strict=True)] or [(), ()]
        frame = pd.DataFrame({"place": np.array(place, dtype=np.int64)})
        return frame.assign(rows=pd.Series(rows, dtype=object))


def _select_rows(choice: RowChoice, dealt: pd.DataFrame, empty: pd.DataFrame) -> TracedPart:
    return choice.select(dealt["rows"], empty)


DASK = SourceType(
    "Dask DataFrame",
    lambda data: library_of(data) == "dask" and hasattr(data, "to_delayed") and hasattr(data, "columns"),
    lambda data, *_: DaskSource(data),
)
