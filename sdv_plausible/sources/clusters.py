"""A Dask DataFrame: one task for every partition, sums merged as a tree, on whatever scheduler there is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import pandas as pd

from sdv_plausible.sources.source import Source, Work, quietly
from sdv_plausible.table.cells.series import plain_cells
from sdv_plausible.table.files.storage import with_texts

T = TypeVar("T")
RETRIES = 3
ADDED_AT_ONCE = 8


class DaskSource(Source):
    """Partitions of a Dask DataFrame. Workers see rows; counts alone come back.

    Parameters
    ----------
    table : dask.dataframe.DataFrame
        The table; its partitions should fit into a worker's memory.
    """

    in_order = False  # a shuffle may give its rows in any order

    def __init__(self, table: Any) -> None:
        self._table = table.rename(columns=str)

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
        import dask

        parts, types = self._table[list(names)].to_delayed(), self.empty(names).dtypes
        with dask.annotate(retries=RETRIES):
            sent = dask.delayed(work, traverse=False)  # once to each worker, and not once with each partition
            task, add = dask.delayed(_count, pure=False), dask.delayed(_add, pure=False)
            sums = [task(sent, part, types, i) for i, part in enumerate(parts)]
            while len(sums) > 1:
                sums = [add(sent, sums[i : i + ADDED_AT_ONCE]) for i in range(0, len(sums), ADDED_AT_ONCE)]
            (found,) = quietly(lambda: dask.compute(sums[0]))
        return found


def _count(work: Work[T], part: pd.DataFrame, types: pd.Series[Any], number: int) -> T:
    part = part.reset_index(drop=True)
    otherwise = [name for name in part.columns if part[name].dtype != types[name]]
    part = plain_cells(part)  # first: some moments have no object
    for name in otherwise:  # the schema was checked; what is stored otherwise is read cell by cell
        part[name] = pd.Series(list(part[name]), dtype=object)
        if isinstance(types[name], pd.StringDtype):  # what Dask makes of the objects of other partitions
            part[name] = part[name].astype(types[name])
    return work.count(plain_cells(with_texts(part)), number)


def _add(work: Work[T], sums: Sequence[T]) -> T:
    found = sums[0]
    for other in sums[1:]:
        found = work.merge(found, other)
    return found
