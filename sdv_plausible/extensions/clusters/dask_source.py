"""A Dask DataFrame: one task for every partition, sums merged as a tree, on whatever scheduler there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from sdv_plausible.extensions.clusters.cluster_source import (
    ADDED_AT_ONCE,
    PLACES,
    ClusterSource,
    FingerprintedTask,
    added,
    as_read,
    side_by_side,
    together,
)
from sdv_plausible.extensions.clusters.shuffled_rows import RowChoice
from sdv_plausible.sources.fingerprints import Fingerprint, Fingerprints, TracedPart
from sdv_plausible.sources.source import PartTask, SourceType, quietly
from sdv_plausible.sources.worker_pool import packed

T = TypeVar("T")
Tasks = Callable[[Any], list[Any]]
RETRIES = 3


class DaskSource(ClusterSource):
    """Partitions of a Dask DataFrame.

    Parameters
    ----------
    table : dask.dataframe.DataFrame
        The table; its partitions should fit into a worker's memory.
    """

    def __init__(self, table: Any) -> None:
        self._table, self._files = table.rename(columns=str), None
        # A Dask that plans its reading otherwise reads by itself.
        with suppress(ImportError, AttributeError, LookupError, TypeError, ValueError):
            from sdv_plausible.extensions.clusters.dask_parquet import partitions_of

            self._files = partitions_of(table)
        self._kept: list[DaskParts] = []

    @property
    def names(self) -> Sequence[str]:
        """Column names."""
        return list(self._table.columns)

    def empty(self, names: Sequence[str]) -> pd.DataFrame:
        """No row of some columns."""
        return self._table._meta[list(names)].iloc[:0].reset_index(drop=True)

    def total(self, work: PartTask[T], names: Sequence[str]) -> T:
        """Counts of all partitions.

        A task that failed is run again, with the same result; noise is no task's business.
        """
        return _computed(work, self._tasks(names))

    def kept(self, work: PartTask[TracedPart], names: Sequence[str]) -> DaskParts:
        """What work makes of every partition, in the memory of the worker that made it, or on its disk."""
        tasks = self._tasks(names)
        with _retried():
            made = tasks(_sent(work))
        self._kept.append(DaskParts(made, self.empty(()), work))
        return self._kept[-1]

    def chosen(self, choice: RowChoice, names: Sequence[str]) -> DaskParts:
        """Rows are moved as bytes: so that no engine looks at a cell, and none changes its type."""
        import dask
        import dask.dataframe as dd

        empty, number = self.empty(names), self._table.npartitions
        meta = pd.DataFrame({"place": np.zeros(0, dtype=np.int64), "rows": np.zeros(0, dtype=object)})
        deal = self._tasks(names)(_sent(_DistributeTask(choice, PLACES * number)))
        with dask.config.set({"dataframe.convert-string": False}):  # bytes are no texts
            dealt = dd.from_delayed(deal, meta=meta, verify_meta=False)
        moved = dealt.shuffle("place", npartitions=number, shuffle_method="tasks").to_delayed()
        with _retried():
            task, sent = dask.delayed(_choose, pure=False), _sent(choice)
            made = [task(sent, rows, empty) for rows in moved]
        self._kept.append(DaskParts(made, empty))
        return self._kept[-1]

    def close(self) -> None:
        """Have the workers forget what they keep, whoever still speaks of it."""
        for parts in self._kept:
            parts.close()

    def _tasks(self, names: Sequence[str]) -> Tasks:
        """From work, as it is sent, to a task for each partition."""
        import dask

        parts, types = self._files or self._table[list(names)].to_delayed(), self.empty(names).dtypes
        task = dask.delayed(_count, pure=False)
        return lambda sent: [task(sent, part, types, i) for i, part in enumerate(parts)]


class DaskParts(ClusterSource):
    """What workers keep: each part is made at once.

    Parameters
    ----------
    made : list of Delayed
        The parts.
    empty : DataFrame
        No row, of their columns.
    by : Work, optional
        What made them, and merges them: a task counts several small ones. Else each has its own.
    told : sequence of Delayed
        What tells the parts that they were made of, added up at once.
    """

    in_order = True

    def __init__(
        self,
        made: list[Any],
        empty: pd.DataFrame,
        by: PartTask[TracedPart] | None = None,
        told: Sequence[Any] = (),
    ) -> None:
        import dask

        self._empty, self._by, self._kept = empty, by, list[DaskParts]()
        with _retried():
            own = [dask.delayed(_told)(part) for part in made]
            self._parts = list(quietly(lambda: dask.persist(*made, *own, *told)))
            try:
                found = quietly(lambda: dask.compute(*self._parts[len(made) :]))
            except BaseException:  # an interrupt, too, whose traceback would hold them
                self.close()
                raise
        del self._parts[len(made) :]
        own, self.made_of = found[: len(made)], found[len(made) :]
        lengths = [int(one[0]) for one in own]
        self._numbers = list(together(lengths)) if by is not None else [[i] for i in range(len(made))]
        self._tasks = list(side_by_side(*self._places()))
        self._unchanged = Fingerprints()
        self._unchanged.check(sum(own))

    @property
    def names(self) -> Sequence[str]:
        """Column names; codes have none."""
        return list(self._empty.columns)

    def empty(self, names: Sequence[str]) -> pd.DataFrame:
        """No row of some columns."""
        return self._empty[list(names)]

    def total(self, work: PartTask[T], names: Sequence[str]) -> T:
        """Counts of all parts.

        Raises
        ------
        RuntimeError
            If a part was made again, and is another one.
        """
        found: T
        found, fingerprint = _computed(FingerprintedTask(work, tuple(names)), self._counted(self._tasks))
        self._unchanged.check(fingerprint)
        return found

    def kept(self, work: PartTask[TracedPart], names: Sequence[str]) -> DaskParts:
        """What work makes of every part.

        Raises
        ------
        RuntimeError
            If a part was made again, and is another one.
        """
        with _retried():
            alone = [[number] for number in range(len(self._numbers))]
            both = self._counted(alone)(_sent(FingerprintedTask(work, tuple(names))))
        kept = DaskParts([one[0] for one in both], self.empty(()), work, [one[1] for one in both])
        self._kept.append(kept)
        self._unchanged.check(sum(kept.made_of))
        return kept

    def chosen(self, choice: RowChoice, names: Sequence[str]) -> DaskParts:
        """Refuse: the rows of each person are chosen once."""
        raise NotImplementedError

    def close(self) -> None:
        """Have the workers forget them."""
        for parts in self._kept:
            parts.close()
        for part in self._parts:
            for future in part.__dask_graph__().values():
                if hasattr(future, "release"):
                    future.release()
        self._parts.clear()

    def _places(self) -> tuple[list[str], Mapping[str, int]]:
        """The worker that has the first of some parts, and threads of each; one place without a cluster."""
        firsts = [next(iter(self._parts[some[0]].__dask_graph__().values())) for some in self._numbers]
        client = getattr(firsts[0], "client", None)
        if client is None:
            return ["here"] * len(firsts), {"here": len(firsts)}
        have = client.who_has(firsts)
        return [next(iter(have.get(first.key, ())), "") for first in firsts], client.nthreads()

    def _counted(self, tasks: Sequence[Sequence[int]]) -> Tasks:
        """From work, as it is sent, to tasks that each sum up some parts where they are."""
        import dask

        task, by = dask.delayed(_count_kept, pure=False), _sent(self._by)
        return lambda sent: [
            task(sent, by, {number: [self._parts[i] for i in self._numbers[number]] for number in some})
            for some in tasks
        ]


def _computed(work: PartTask[T], tasks: Tasks) -> T:
    """Counts of tasks that are made of work."""
    import dask

    with _retried():
        add, sent = dask.delayed(added, pure=False), _sent(work)
        sums = tasks(sent)
        while len(sums) > 1:
            sums = [add(sent, sums[i : i + ADDED_AT_ONCE]) for i in range(0, len(sums), ADDED_AT_ONCE)]
        (found,) = quietly(lambda: dask.compute(sums[0]))
    return found


def _retried() -> Any:
    import dask

    return dask.annotate(retries=RETRIES)


def _sent(work: Any) -> Any:
    """Work that is sent to every worker once, and not with each task."""
    import dask

    return dask.delayed(work, traverse=False)


def _count(work: PartTask[T], part: Any, types: pd.Series[Any], number: int) -> T:
    read = part if isinstance(part, pd.DataFrame) else part.read(list(types.index))
    return work.count(as_read(read, types), number)


def _told(part: TracedPart) -> Fingerprint:
    return part.told


def _count_kept(work: Any, by: Any, several: Mapping[int, Sequence[TracedPart]]) -> Any:
    parts = ((number, added(by, some) if len(some) > 1 else some[0]) for number, some in several.items())
    return packed(work, added(work, (work.count(part, number) for number, part in parts)))


@dataclass(frozen=True)
class _DistributeTask:
    """Work: rows as bytes, and where they go."""

    choice: RowChoice
    places: int

    def count(self, part: pd.DataFrame, number: int) -> pd.DataFrame:  # noqa: ARG002
        dealt: Iterator[tuple[int, bytes]] = self.choice.dealt(part, self.places)
        place, rows = [*zip(*dealt, strict=True)] or [(), ()]
        found = pd.DataFrame({"place": np.array(place, dtype=np.int64)})
        return found.assign(rows=pd.Series(rows, dtype=object))


def _choose(choice: RowChoice, dealt: pd.DataFrame, empty: pd.DataFrame) -> TracedPart:
    return choice.chosen(dealt["rows"], empty)


DASK = SourceType(
    "Dask DataFrame",
    lambda data: (
        type(data).__module__.split(".")[0] == "dask"
        and hasattr(data, "to_delayed")
        and hasattr(data, "columns")
    ),
    lambda data, *_: DaskSource(data),
)
