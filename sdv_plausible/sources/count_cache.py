"""Cache of exact tables of counts, and of those that follow from them: a few passes serve a whole fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from sdv_plausible.queries.count_queries import Axes, Axis, shape
from sdv_plausible.utils.counting import MAX_BLOCK_CELLS, MAX_TOTAL_CELLS, MIN_ROWS_PER_CELL

ARRAY_OVERHEAD = 32  # cells: overhead of an array


class CountCache:
    """Tables of counts of the same rows, held by the engine that counted them, and as secret as the rows.

    For one column, or two with a small table, the table of codes is counted: tables over any buckets are
    marginals of it. Larger sets are cached as they were queried. The cache holds at most ``MAX_TOTAL_CELLS``
    cells; queries beyond that are counted each time.

    Parameters
    ----------
    cardinalities : sequence of int
        Number of codes of every column.
    """

    def __init__(self, cardinalities: Sequence[int]) -> None:
        self.codes = [Axis.of_codes(j, size) for j, size in enumerate(cardinalities)]
        self._tables: dict[tuple[Axis, ...], np.ndarray] = {}
        self._cells = 0

    def tables(
        self, sets: Sequence[Axes], num_rows: int, count: Callable[[Sequence[Axes]], Iterable[np.ndarray]]
    ) -> Iterator[np.ndarray]:
        """Tables of all sets, in order.

        Parameters
        ----------
        sets : sequence of sequence of Axis
            The queries.
        num_rows : int
            Approximate number of rows. For few rows, a table of codes costs more than it saves.
        count : callable
            Sets -> their tables, in order: one pass, if a table is missing.
        """
        most = min(MAX_BLOCK_CELLS, num_rows // MIN_ROWS_PER_CELL)
        finest = [self._finest(axes, most) for axes in sets]
        missing = [axes for axes in dict.fromkeys(finest) if axes not in self._tables]
        cells = self._cells + sum(math.prod(shape(axes)) + ARRAY_OVERHEAD for axes in missing)
        if cells > MAX_TOTAL_CELLS:
            yield from count(sets)
            return
        if missing:
            self._tables.update(zip(missing, count(missing), strict=True))
            self._cells = cells
        for axes, cached in zip(sets, finest, strict=True):
            yield _in_buckets(self._tables[cached], cached, axes)

    def _finest(self, axes: Axes, most: int) -> tuple[Axis, ...]:
        """The set to count for a query: its columns' codes, or the query itself."""
        codes = tuple(self.codes[axis.column] for axis in axes)
        if len(codes) == 1 or (len(codes) == 2 and math.prod(shape(codes)) <= most):
            return codes
        return tuple(axes)


def _in_buckets(table: np.ndarray, counted_axes: Axes, axes: Axes) -> np.ndarray:
    """Aggregate a table over codes to buckets; copies a table over the same axes."""
    if all(one is other or other.is_identity for one, other in zip(counted_axes, axes, strict=True)):
        return table.copy()
    aggregated = np.zeros(shape(axes), dtype=np.int64)
    np.add.at(aggregated, np.ix_(*(axis.buckets for axis in axes)), table)
    return aggregated
