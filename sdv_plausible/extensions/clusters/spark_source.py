"""A Spark DataFrame: its executors read and count every partition, and sums are merged there as a tree.

What travels are pickled counts, a row for each task. A partition comes as Arrow's batches, and is several
parts where it is large; a part's number tells the partition and the place in it.
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
    ADDED_AT_ONCE,
    PLACES,
    ClusterSource,
    FingerprintedTask,
    added,
)
from sdv_plausible.extensions.clusters.shuffled_rows import RowChoice
from sdv_plausible.sources.fingerprints import Fingerprints, TracedPart
from sdv_plausible.sources.source import PART_ROWS, PartTask, SourceError, SourceType, quietly
from sdv_plausible.sources.source_columns import RowCountTask
from sdv_plausible.sources.worker_pool import packed
from sdv_plausible.table.columns.cell_reader import PLAIN_SPELLING, ColumnType
from sdv_plausible.table.files.parquet_files import parse_arrow_table

PACKAGE = "sdv-plausible"
T = TypeVar("T")
Pairs = Iterator[tuple[int, Any]]
"""Parts or counts of a partition, with their numbers."""
Pairing = Callable[[Iterator[Any]], Pairs]
"""From Arrow's batches of a partition to such pairs."""
ROWS = "number long, pickled binary"
PARTS_OF_PARTITION = 1 << 12  # numbers of parts have 32 bits: a million partitions


class SparkSource(ClusterSource):
    """Partitions of a Spark DataFrame.

    Parameters
    ----------
    table : pyspark.sql.DataFrame
        The table, of a session whose executors have this package.
    types : mapping of str to ColumnType
        What the columns are.
    rows : int
        Rows of a part, about.
    """

    def __init__(self, table: Any, types: Mapping[str, ColumnType], rows: int = PART_ROWS) -> None:
        self._names, self._types, self._rows = list(table.columns), types, rows
        # by place: Spark reads a dot in a name as another thing, and large letters as small ones
        self._table = table.toDF(*map(_place, range(len(self._names))))
        self._held: list[Any] = []

    @property
    def names(self) -> Sequence[str]:
        """Column names."""
        return self._names

    def empty(self, names: Sequence[str]) -> pd.DataFrame:
        """No row of some columns."""
        return parse_arrow_table(self._schema(names).empty_table(), self._types, PLAIN_SPELLING)

    def total(self, work: PartTask[T], names: Sequence[str]) -> T:
        """Counts of all partitions.

        A task that failed is run again, with the same result; noise is no task's business.
        """
        return _total(work, self._chosen(names), self._parts(names), self.empty(names))

    def kept(self, work: PartTask[TracedPart], names: Sequence[str]) -> SparkParts:
        """What work makes of every part, in the memory of executors and on their disks."""
        parts = self._parts(names)
        made = _mapped(self._chosen(names), lambda batches: _each(work, parts(batches)))
        return SparkParts(made, work.count(self.empty(names), 0), self._held, by=work)

    def chosen(self, choice: RowChoice, names: Sequence[str]) -> SparkParts:
        """Rows are moved as bytes, to partitions of a part's size: Spark merges none that are kept."""
        cores, rows = (
            self._table.sparkSession.sparkContext.defaultParallelism,
            self.total(RowCountTask(), names[:1]),
        )
        width = max(cores, -(-rows // PART_ROWS))
        parts, empty = self._parts(names), self.empty(names)
        dealt = _mapped(self._chosen(names), lambda batches: _dealt(choice, parts(batches), PLACES * width))
        made = _mapped(dealt.repartition(width, "number"), lambda batches: _chosen(choice, batches, empty))
        return SparkParts(made, choice.chosen([], empty), self._held)

    def close(self) -> None:
        """Have the executors forget what they keep."""
        while self._held:
            self._held.pop().unpersist()

    @cached_property
    def _kinds(self) -> dict[str, Any]:
        """Arrow's types of the declared columns; moments are in UTC, whatever the session's time zone."""
        names = [name for name in self._names if name in self._types]
        fields = quietly(lambda: self._chosen(names).limit(0).toArrow().schema)
        return dict(zip(names, fields.types, strict=True))

    def _schema(self, names: Sequence[str]) -> Any:
        import pyarrow as pa

        return pa.schema([(name, self._kinds[name]) for name in names])

    def _chosen(self, names: Sequence[str]) -> Any:
        return self._table.select([_place(self._names.index(name)) for name in names])

    def _parts(self, names: Sequence[str]) -> Pairing:
        schema, types, rows = self._schema(names), {name: self._types[name] for name in names}, self._rows
        return lambda batches: _read(batches, schema, types, rows)


class SparkParts(ClusterSource):
    """What executors keep: it is made in the first pass, and every pass is held against that.

    Parameters
    ----------
    made : pyspark.sql.DataFrame
        Numbers of the parts, and the parts.
    none : Made
        What a part of no row is.
    held : list
        What is to be given up after the fit; the parts join it.
    by : Work, optional
        What made the parts, and merges them: several small ones of a partition are counted as one.
    of : SparkParts, optional
        Those that they were made of: what told these at that time follows what tells the parts.
    """

    in_order = True

    def __init__(
        self,
        made: Any,
        none: TracedPart,
        held: list[Any],
        by: PartTask[TracedPart] | None = None,
        of: SparkParts | None = None,
    ) -> None:
        self._table, self._none, self._held, self._by, self._of = made.persist(), none, held, by, of
        self._unchanged = Fingerprints()
        held.append(self._table)

    @property
    def names(self) -> Sequence[str]:
        """Column names; codes have none."""
        return list(getattr(self._none.rows, "columns", ()))

    def empty(self, names: Sequence[str]) -> pd.DataFrame:
        """No row of some columns."""
        found: pd.DataFrame = self._none.rows[list(names)]
        return found

    def total(self, work: PartTask[T], names: Sequence[str]) -> T:
        """Counts of all parts.

        Raises
        ------
        RuntimeError
            If a part was made again, and is another one.
        """
        partitions = quietly(self._table.rdd.getNumPartitions)
        counted = FingerprintedTask(work, tuple(names))
        found, told = _total(counted, self._table, self._parts(), self._none, partitions)
        self._unchanged.check(told[:2])
        if self._of is not None:
            self._of._unchanged.check(told[2:])
        return found

    def kept(self, work: PartTask[TracedPart], names: Sequence[str]) -> SparkParts:
        """What work makes of every part."""
        traced, parts = _TracedTask(FingerprintedTask(work, tuple(names))), self._parts()
        made = _mapped(self._table, lambda batches: _each(traced, parts(batches)))
        return SparkParts(made, traced.count(self._none, 0), self._held, by=traced, of=self)

    def chosen(self, choice: RowChoice, names: Sequence[str]) -> SparkParts:
        """Refuse: the rows of each person are chosen once."""
        raise NotImplementedError

    def _parts(self) -> Pairing:
        by = self._by
        return _unpickled if by is None else lambda batches: _together(batches, by)


@dataclass(frozen=True, eq=False)
class _TracedTask:
    """Work on parts that are kept, whose own words of what they are follow those of what is made of them."""

    counted: FingerprintedTask

    def count(self, part: Any, number: int) -> TracedPart:
        """Make something of one part."""
        made, told = self.counted.count(part, number)
        return TracedPart(made.rows, np.concatenate([made.told, told]))

    def merge(self, one: TracedPart, other: TracedPart) -> TracedPart:
        """As the work does."""
        merged: TracedPart = self.counted.work.merge(one, other)
        return merged


def spark_source(table: Any, types: Mapping[str, ColumnType], rows: int) -> SparkSource:
    """A Spark DataFrame, whose executors have this package.

    Raises
    ------
    ValueError
        If it is a stream, or of Spark Connect, or an executor lacks something.
    """
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
    """Refuse executors without this package, before a budget pays for what they cannot do."""
    from importlib.metadata import version

    def versions(batches: Iterator[Any]) -> Iterator[Any]:  # by value, or Spark itself would fail
        import pyarrow as pa

        try:
            import sdv_plausible.extensions.clusters.spark_source  # noqa: F401, PLW0406  what counts needs

            found = version(PACKAGE)
        except ImportError as error:
            found = f"no {error.name}"
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"found": [found]})

    cores = session.sparkContext.defaultParallelism
    probe = session.range(0, cores, 1, cores).mapInArrow(versions, "found string")
    found = quietly(lambda: sorted({row.found for row in probe.collect()}))
    if found != [here := version(PACKAGE)]:
        raise SourceError(
            f"source: Spark's executors must have {PACKAGE} {here}, as here, and have {found}: "
            "give the session an environment that holds it (docs/how_to/large_tables.md, On a Spark cluster)"
        )


def _place(number: int) -> str:
    return f"c{number}"


def _total(work: PartTask[T], table: Any, parts: Pairing, none: Any, partitions: int | None = None) -> T:
    """Counts of all parts: a sum for each partition, added up where they are until there are few.

    It is not always known how many partitions there will be: then there are first as many as cores.
    """
    sums = _mapped(table, lambda batches: _packed(work, _summed(work, _each(work, parts(batches)))))
    while partitions is None or partitions > ADDED_AT_ONCE:
        cores = table.sparkSession.sparkContext.defaultParallelism
        partitions = cores if partitions is None else -(-partitions // ADDED_AT_ONCE)
        # by their numbers: whichever task runs again, the same sums come together, each once
        sums = _mapped(
            sums.repartition(partitions, "number"), lambda batches: _summed(work, _unpickled(batches))
        )
    found = quietly(sums.toArrow)["pickled"].to_pylist()
    return added(work, [packed(work, work.count(none, 0)), *map(pickle.loads, found)])


def _mapped(table: Any, pairs: Pairing) -> Any:
    return table.mapInArrow(lambda batches: _pickled(pairs(batches)), ROWS)


# --- what executors do --------------------------------------------------------------------------------------


def _pickled(pairs: Pairs) -> Iterator[Any]:
    """Batches of a row each, so that none waits for others; an error quotes no cell in Spark's logs."""
    import pyarrow as pa

    while (pair := quietly(lambda: next(pairs, None))) is not None:
        number, made = pair
        row = {"number": [number], "pickled": [pickle.dumps(made, pickle.HIGHEST_PROTOCOL)]}
        yield pa.RecordBatch.from_pydict(row, pa.schema([("number", pa.int64()), ("pickled", pa.binary())]))


def _unpickled(batches: Iterable[Any]) -> Pairs:
    for batch in batches:
        for number, row in zip(*batch.columns, strict=True):
            yield number.as_py(), pickle.loads(row.as_buffer())


def _read(batches: Iterable[Any], schema: Any, types: Mapping[str, ColumnType], rows: int) -> Pairs:
    """Parts of a partition, of about so many rows each, read cell by cell."""
    import pyarrow as pa
    from pyspark import TaskContext

    partition = TaskContext.get().partitionId()
    for i, some in enumerate(_of_rows(batches, lambda batch: batch.num_rows, rows)):
        if i >= PARTS_OF_PARTITION:
            raise SourceError("source: a partition has too many rows: give it more (table.repartition(1000))")
        table = pa.Table.from_batches(some).rename_columns(schema.names).cast(schema)
        yield (
            partition * PARTS_OF_PARTITION + i,
            parse_arrow_table(table, types, PLAIN_SPELLING, categories=True),
        )


def _together(batches: Iterable[Any], by: PartTask[TracedPart]) -> Pairs:
    """Parts that are kept, several of a partition as one."""
    for pairs in _of_rows(_unpickled(batches), lambda pair: len(pair[1].rows), PART_ROWS):
        yield pairs[0][0], added(by, [part for _, part in pairs])


def _dealt(choice: RowChoice, parts: Pairs, places: int) -> Pairs:
    return (dealt for _, part in parts for dealt in choice.dealt(part, places))


def _chosen(choice: RowChoice, batches: Iterable[Any], empty: pd.DataFrame) -> Pairs:
    """Rows chosen of all that came to a partition."""
    from pyspark import TaskContext

    rows = [dealt for _, dealt in _unpickled(batches)]
    if rows:
        yield TaskContext.get().partitionId(), choice.chosen(rows, empty)


def _of_rows(pieces: Iterable[Any], length: Callable[[Any], int], rows: int) -> Iterator[list[Any]]:
    """Pieces, as many at a time as have so many rows."""
    held: list[Any] = []
    for piece in pieces:
        if held and sum(map(length, held)) + length(piece) > rows:
            yield held
            held = []
        held.append(piece)
    if held:
        yield held


def _each(work: PartTask[Any], parts: Pairs) -> Pairs:
    return ((number, work.count(part, number)) for number, part in parts)


def _packed(work: PartTask[Any], counts: Pairs) -> Pairs:
    return ((number, packed(work, found)) for number, found in counts)


def _summed(work: PartTask[Any], counts: Pairs) -> Pairs:
    """One sum, of any counts there are, by the number of the first."""
    for number, found in counts:
        for _, other in counts:
            found = work.merge(found, other)  # noqa: PLW2901
        yield number, found


SPARK = SourceType(
    "Spark DataFrame",
    lambda data: type(data).__module__.split(".")[0] == "pyspark" and hasattr(data, "mapInArrow"),
    spark_source,
)
