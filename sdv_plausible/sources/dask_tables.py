"""A Dask DataFrame: one task for every partition, sums merged as a tree, on whatever scheduler there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pandas as pd

from sdv_plausible.sources.clusters import ClusterSource, added, as_read, of_length
from sdv_plausible.sources.source import Work, quietly

T = TypeVar("T")
RETRIES = 3
ADDED_AT_ONCE = 8


class DaskSource(ClusterSource):
    """Partitions of a Dask DataFrame.

    Parameters
    ----------
    table : dask.dataframe.DataFrame
        The table; its partitions should fit into a worker's memory.
    """

    def __init__(self, table: Any) -> None:
        self._table = table.rename(columns=str)
        self._held: list[Any] = []

    @property
    def names(self) -> Sequence[str]:
        """Column names."""
        return list(self._table.columns)

    def empty(self, names: Sequence[str]) -> pd.DataFrame:
        """No row of some columns."""
        return self._table._meta[list(names)].iloc[:0].reset_index(drop=True)

    def total(self, work: Work[T], names: Sequence[str]) -> T:
        """Counts of all partitions.

        A task that failed is run again, with the same result; noise is no task's business.
        """
        return _computed(work, self._tasks(names))

    def kept(self, work: Work[Any], names: Sequence[str]) -> DaskParts:
        """What work makes of every partition, in the memory of the worker that made it, or on its disk."""
        import dask

        tasks = self._tasks(names)
        with dask.annotate(retries=RETRIES):
            made = tasks(dask.delayed(work, traverse=False))
            self._held = list(quietly(lambda: dask.persist(*made)))
            lengths = quietly(lambda: dask.compute(*[dask.delayed(len)(part) for part in self._held]))
        return DaskParts(self._held, work, lengths)

    def close(self) -> None:
        """Have the workers forget what they keep, whoever still speaks of it."""
        for part in self._held:
            for future in getattr(part, "__dask_graph__", dict)().values():
                if hasattr(future, "release"):
                    future.release()
        self._held.clear()

    def _tasks(self, names: Sequence[str]) -> Callable[[Any], list[Any]]:
        """From work, as it is sent, to a task for each partition."""
        import dask

        parts, types = self._table[list(names)].to_delayed(), self.empty(names).dtypes
        task = dask.delayed(_count, pure=False)
        return lambda sent: [task(sent, part, types, i) for i, part in enumerate(parts)]


class DaskParts(ClusterSource):
    """What workers keep."""

    in_order = True

    def __init__(self, parts: list[Any], made_by: Work[Any], lengths: Sequence[int]) -> None:
        self._parts, self._made_by, self._numbers = parts, made_by, list(of_length(lengths))

    @property
    def names(self) -> Sequence[str]:
        """None: there are no columns any more."""
        return ()

    def empty(self, names: Sequence[str]) -> pd.DataFrame:
        """None."""
        raise NotImplementedError

    def kept(self, work: Work[Any], names: Sequence[str]) -> DaskParts:
        """None."""
        raise NotImplementedError

    def total(self, work: Work[T], names: Sequence[str]) -> T:  # noqa: ARG002
        """Counts of all parts, several in a task."""
        import dask

        task, made_by = dask.delayed(_count_together, pure=False), dask.delayed(self._made_by, traverse=False)

        def counted(sent: Any) -> list[Any]:
            return [
                task(sent, made_by, [self._parts[i] for i in numbers], number)
                for number, numbers in enumerate(self._numbers)
            ]

        return _computed(work, counted)


def _computed(work: Work[T], tasks: Callable[[Any], list[Any]]) -> T:
    """Counts of tasks that are made of work, which is sent to every worker once, and not with each task."""
    import dask

    with dask.annotate(retries=RETRIES):
        sent = dask.delayed(work, traverse=False)
        add, sums = dask.delayed(added, pure=False), tasks(sent)
        while len(sums) > 1:
            sums = [add(sent, sums[i : i + ADDED_AT_ONCE]) for i in range(0, len(sums), ADDED_AT_ONCE)]
        (found,) = quietly(lambda: dask.compute(sums[0]))
    return found


def _count(work: Work[T], part: pd.DataFrame, types: pd.Series[Any], number: int) -> T:
    return work.count(as_read(part, types), number)


def _count_together(work: Work[T], made_by: Work[Any], parts: Sequence[Any], number: int) -> T:
    return work.count(added(made_by, parts), number)
