"""Source of a Spark DataFrame: executors read and count every partition, and merge counts as a tree.

Counts are sent pickled, one row per task. A partition arrives as Arrow batches; a large one is split into
several parts. A part's number encodes its partition and its position in it.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from sdv_plausible.extensions.clusters.cluster_source import (
    BUCKETS_PER_PARTITION,
    MERGE_FAN_IN,
    ClusterSource,
    FingerprintedTask,
    merge_all,
)
from sdv_plausible.extensions.clusters.shuffled_rows import RowChoice
from sdv_plausible.sources.fingerprints import Fingerprints, TracedPart
from sdv_plausible.sources.source import (
    PART_ROWS,
    PartTask,
    SourceError,
    SourceType,
    library_of,
    raise_source_errors,
)
from sdv_plausible.sources.source_columns import RowCountTask
from sdv_plausible.sources.worker_pool import compact
from sdv_plausible.table.columns.cell_reader import PLAIN_SPELLING, ColumnType
from sdv_plausible.table.files.parquet_files import parse_arrow_table

PACKAGE = "sdv-plausible"
T = TypeVar("T")
Pairs = Iterator[tuple[int, Any]]
"""Numbered parts or counts of a partition."""
Pairing = Callable[[Iterator[Any]], Pairs]
"""Arrow batches of a partition -> pairs."""
ROWS = "number long, pickled binary"
PARTS_OF_PARTITION = 1 << 12  # part numbers have 32 bits, which leaves a million partitions


class SparkSource(ClusterSource):
    """Partitions of a Spark DataFrame."""

    def __init__(self, table: Any, types: Mapping[str, ColumnType], rows: int = PART_ROWS) -> None:
        # ``table``: the table, of a session whose executors have this package.
        # ``types``: types of the columns.
        # ``rows``: approximate rows per part.
        self._names, self._types, self._rows = list(table.columns), types, rows
        # columns named by position, because Spark interprets dots in names and ignores case
        self._table = table.toDF(*map(_place, range(len(self._names))))
        self._held: list[Any] = []

    @property
    def names(self) -> Sequence[str]:
        """Column names."""
        return self._names

    def empty(self, names: Sequence[str]) -> pd.DataFrame:
        """Return some columns without rows."""
        return parse_arrow_table(self._schema(names).empty_table(), self._types, PLAIN_SPELLING)

    def total(self, task: PartTask[T], names: Sequence[str]) -> T:
        """Merge the counts of all partitions.

        A failed task is run again, with the same result; tasks add no noise.
        """
        return _total(task, self._columns(names), self._parts(names), self.empty(names))

    def persist(self, task: PartTask[TracedPart], names: Sequence[str]) -> SparkParts:
        """Persist the task's results for every part, in memory and on disk of the executors."""
        parts = self._parts(names)
        made = _map_partitions(self._columns(names), lambda batches: _count_parts(task, parts(batches)))
        return SparkParts(made, task.count(self.empty(names), 0), self._held, by=task)

    def select(self, choice: RowChoice, names: Sequence[str]) -> SparkParts:
        """Choose rows, and move them to partitions of a part's size: Spark does not merge persisted ones."""
        cores = self._table.sparkSession.sparkContext.defaultParallelism
        partitions = max(cores, -(-self.total(RowCountTask(), names[:1]) // PART_ROWS))
        parts, empty = self._parts(names), self.empty(names)
        buckets = _map_partitions(
            self._columns(names),
            lambda batches: _distribute(choice, parts(batches), BUCKETS_PER_PARTITION * partitions),
        )
        made = _map_partitions(
            buckets.repartition(partitions, "number"), lambda batches: _select_rows(choice, batches, empty)
        )
        return SparkParts(made, choice.select([], empty), self._held)

    def close(self) -> None:
        """Unpersist all tables that the executors hold."""
        while self._held:
            self._held.pop().unpersist()

    @cached_property
    def _kinds(self) -> dict[str, Any]:
        """Arrow types of the declared columns; datetimes are in UTC, whatever the session's time zone."""
        names = [name for name in self._names if name in self._types]
        fields = raise_source_errors(lambda: self._columns(names).limit(0).toArrow().schema)
        return dict(zip(names, fields.types, strict=True))

    def _schema(self, names: Sequence[str]) -> Any:
        import pyarrow as pa

        return pa.schema([(name, self._kinds[name]) for name in names])

    def _columns(self, names: Sequence[str]) -> Any:
        return self._table.select([_place(self._names.index(name)) for name in names])

    def _parts(self, names: Sequence[str]) -> Pairing:
        schema, types, rows = self._schema(names), {name: self._types[name] for name in names}, self._rows
        return lambda batches: _read(batches, schema, types, rows)


class SparkParts(ClusterSource):
    """Parts persisted on executors, computed in the first pass; every pass compares their fingerprints."""

    in_order = True

    def __init__(
        self,
        made: Any,
        none: TracedPart,
        held: list[Any],
        by: PartTask[TracedPart] | None = None,
        of: SparkParts | None = None,
    ) -> None:
        # ``made``: numbers of the parts, and the parts.
        # ``none``: a part without rows.
        # ``held``: tables to unpersist after the fit; this one is appended.
        # ``by``: the task that made the parts. With it, small parts of a partition are merged before
        # counting.
        # ``of``: the parts that these were made from; their fingerprints follow the parts' own.
        self._table, self._none, self._held, self._by, self._of = made.persist(), none, held, by, of
        self._fingerprints = Fingerprints()
        held.append(self._table)

    @property
    def names(self) -> Sequence[str]:
        """Column names; codes have none."""
        return list(getattr(self._none.rows, "columns", ()))

    def empty(self, names: Sequence[str]) -> pd.DataFrame:
        """Return some columns without rows."""
        found: pd.DataFrame = self._none.rows[list(names)]
        return found

    def total(self, task: PartTask[T], names: Sequence[str]) -> T:
        """Merge the counts of all parts."""
        # Raises RuntimeError if a recomputed part differs.
        partitions = raise_source_errors(self._table.rdd.getNumPartitions)
        counted = FingerprintedTask(task, tuple(names))
        counts, digest = _total(counted, self._table, self._parts(), self._none, partitions)
        self._fingerprints.check(digest[:2])
        if self._of is not None:
            self._of._fingerprints.check(digest[2:])
        return counts

    def persist(self, task: PartTask[TracedPart], names: Sequence[str]) -> SparkParts:
        """Keep the task's results for every part."""
        traced, parts = _TracedTask(FingerprintedTask(task, tuple(names))), self._parts()
        made = _map_partitions(self._table, lambda batches: _count_parts(traced, parts(batches)))
        return SparkParts(made, traced.count(self._none, 0), self._held, by=traced, of=self)

    def select(self, choice: RowChoice, names: Sequence[str]) -> SparkParts:
        """Not supported: the rows of each person are chosen once."""
        raise NotImplementedError

    def _parts(self) -> Pairing:
        by = self._by
        return _unpickled if by is None else lambda batches: _merge_small_parts(batches, by)


@dataclass(frozen=True, eq=False)
class _TracedTask:
    """A task on persisted parts that appends their fingerprints to those of its results."""

    counted: FingerprintedTask

    def count(self, part: Any, number: int) -> TracedPart:
        """Compute the result of one part."""
        made, digest = self.counted.count(part, number)
        return TracedPart(made.rows, np.concatenate([made.digest, digest]))

    def merge(self, one: TracedPart, other: TracedPart) -> TracedPart:
        """Merge as the task does."""
        merged: TracedPart = self.counted.task.merge(one, other)
        return merged


def spark_source(table: Any, types: Mapping[str, ColumnType], rows: int) -> SparkSource:
    """Source of a Spark DataFrame whose executors have this package."""
    # Raises ValueError if it is a stream or belongs to Spark Connect, or an executor lacks a package.
    if not type(table).__module__.startswith("pyspark.sql.classic"):
        raise SourceError(
            "source is a DataFrame of Spark Connect, which was not tested: open the session on the cluster "
            "(SparkSession.builder.master(...)), or write the table to Parquet (table.write.parquet(folder))"
        )
    if table.isStreaming:
        raise SourceError("source is a stream of Spark, and a fit reads several times: write it to Parquet")
    _check_executors(table.sparkSession)
    return SparkSource(table, types, rows)


def _check_executors(session: Any) -> None:
    """Reject executors without this package, before the budget is charged."""
    from importlib.metadata import version

    def versions(
        batches: Iterator[Any],
    ) -> Iterator[Any]:  # pickled by value, because executors may lack this module
        import pyarrow as pa

        try:
            import sdv_plausible.extensions.clusters.spark_source  # noqa: F401, PLW0406  needed by tasks

            found = version(PACKAGE)
        except ImportError as error:
            found = f"no {error.name}"
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"found": [found]})

    cores = session.sparkContext.defaultParallelism
    probe = session.range(0, cores, 1, cores).mapInArrow(versions, "found string")
    found = raise_source_errors(lambda: sorted({row.found for row in probe.collect()}))
    if found != [local_version := version(PACKAGE)]:
        raise SourceError(
            f"source: Spark's executors must have {PACKAGE} {local_version}, as here, and have {found}: "
            "give the session an environment that holds it (docs/how_to/large_tables.md, On a Spark cluster)"
        )


def _place(number: int) -> str:
    return f"c{number}"


def _total(task: PartTask[T], table: Any, parts: Pairing, none: Any, partitions: int | None = None) -> T:
    """Merge the counts of all parts: first per partition, then as a tree on the executors.

    If the number of partitions is unknown, the sums are first repartitioned to the number of cores.
    """
    sums = _map_partitions(
        table, lambda batches: _packed(task, _merge_counts(task, _count_parts(task, parts(batches))))
    )
    while partitions is None or partitions > MERGE_FAN_IN:
        cores = table.sparkSession.sparkContext.defaultParallelism
        partitions = cores if partitions is None else -(-partitions // MERGE_FAN_IN)
        # by number, so that a rerun task gets the same sums
        sums = _map_partitions(
            sums.repartition(partitions, "number"), lambda batches: _merge_counts(task, _unpickled(batches))
        )
    pickled = raise_source_errors(sums.toArrow)["pickled"].to_pylist()
    return merge_all(task, [compact(task, task.count(none, 0)), *map(pickle.loads, pickled)])


def _map_partitions(table: Any, pairs: Pairing) -> Any:
    return table.mapInArrow(lambda batches: _pickled(pairs(batches)), ROWS)


# --- on executors -------------------------------------------------------------------------------------------


def _pickled(pairs: Pairs) -> Iterator[Any]:
    """Yield one-row batches, so that no result waits for the next. Errors in Spark's logs quote no cell."""
    import pyarrow as pa

    while (pair := raise_source_errors(lambda: next(pairs, None))) is not None:
        number, made = pair
        row = {"number": [number], "pickled": [pickle.dumps(made, pickle.HIGHEST_PROTOCOL)]}
        yield pa.RecordBatch.from_pydict(row, pa.schema([("number", pa.int64()), ("pickled", pa.binary())]))


def _unpickled(batches: Iterable[Any]) -> Pairs:
    for batch in batches:
        for number, row in zip(*batch.columns, strict=True):
            yield number.as_py(), pickle.loads(row.as_buffer())


def _read(batches: Iterable[Any], schema: Any, types: Mapping[str, ColumnType], rows: int) -> Pairs:
    """Yield parts of a partition, of about ``rows`` rows each, parsed cell by cell."""
    import pyarrow as pa
    from pyspark import TaskContext

    partition = TaskContext.get().partitionId()
    for i, group in enumerate(_batched(batches, lambda batch: batch.num_rows, rows)):
        if i >= PARTS_OF_PARTITION:
            raise SourceError("source: a partition has too many rows: give it more (table.repartition(1000))")
        table = pa.Table.from_batches(group).rename_columns(schema.names).cast(schema)
        yield (
            partition * PARTS_OF_PARTITION + i,
            parse_arrow_table(table, types, PLAIN_SPELLING, categories=True),
        )


def _merge_small_parts(batches: Iterable[Any], by: PartTask[TracedPart]) -> Pairs:
    """Yield persisted parts, with small parts of a partition merged."""
    for pairs in _batched(_unpickled(batches), lambda pair: len(pair[1].rows), PART_ROWS):
        yield pairs[0][0], merge_all(by, [part for _, part in pairs])


def _distribute(choice: RowChoice, parts: Pairs, places: int) -> Pairs:
    return (piece for _, part in parts for piece in choice.distribute(part, places))


def _select_rows(choice: RowChoice, batches: Iterable[Any], empty: pd.DataFrame) -> Pairs:
    """Choose among the rows of a partition."""
    from pyspark import TaskContext

    pieces = [piece for _, piece in _unpickled(batches)]
    if pieces:
        yield TaskContext.get().partitionId(), choice.select(pieces, empty)


def _batched(pieces: Iterable[Any], length: Callable[[Any], int], rows: int) -> Iterator[list[Any]]:
    """Group consecutive pieces up to ``rows`` rows."""
    group: list[Any] = []
    for piece in pieces:
        if group and sum(map(length, group)) + length(piece) > rows:
            yield group
            group = []
        group.append(piece)
    if group:
        yield group


def _count_parts(task: PartTask[Any], parts: Pairs) -> Pairs:
    return ((number, task.count(part, number)) for number, part in parts)


def _packed(task: PartTask[Any], counts: Pairs) -> Pairs:
    return ((number, compact(task, found)) for number, found in counts)


def _merge_counts(task: PartTask[Any], counts: Pairs) -> Pairs:
    """Merge counts into one, with the number of the first; yields nothing if there are none."""
    for number, found in counts:
        for _, other in counts:
            found = task.merge(found, other)  # noqa: PLW2901
        yield number, found


SPARK = SourceType(
    "Spark DataFrame",
    lambda data: library_of(data) == "pyspark" and hasattr(data, "mapInArrow"),
    spark_source,
)
