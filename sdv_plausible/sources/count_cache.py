"""Exact tables that a pass has counted, and those that follow from them: a few passes answer a whole fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from sdv_plausible.queries.count_queries import Axes, Axis, shape
from sdv_plausible.utils.counting import MAX_BLOCK_CELLS, MAX_TOTAL_CELLS, MIN_ROWS_PER_CELL

BESIDE = 32  # cells: what an array takes beside its own


class CountCache:
    """Tables of counts of the same rows, held by the engine that counted them, and as secret as the rows.

    Of one column, or two, tables of codes are counted, where they are small: tables of any buckets are
    margins of these. Of more columns a set that was asked is known when it is asked again. The tables
    together take at most ``MAX_TOTAL_CELLS`` cells; what would be more is counted as it is asked, each time.

    Parameters
    ----------
    cardinalities : sequence of int
        Codes of every column.
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
            What is asked.
        num_rows : int
            About how many rows there are: of few, a table of codes costs more than it saves.
        count : callable
            Sets -> their tables, in order: a pass, if anything is missing.
        """
        most = min(MAX_BLOCK_CELLS, num_rows // MIN_ROWS_PER_CELL)
        finest = [self._finest(axes, most) for axes in sets]
        new = [axes for axes in dict.fromkeys(finest) if axes not in self._tables]
        cells = self._cells + sum(math.prod(shape(axes)) + BESIDE for axes in new)
        if cells > MAX_TOTAL_CELLS:
            yield from count(sets)
            return
        if new:
            self._tables.update(zip(new, count(new), strict=True))
            self._cells = cells
        for axes, known in zip(sets, finest, strict=True):
            yield _in_buckets(self._tables[known], known, axes)

    def _finest(self, axes: Axes, most: int) -> tuple[Axis, ...]:
        """What is counted for a set: its columns' codes, or just this."""
        codes = tuple(self.codes[axis.column] for axis in axes)
        if len(codes) == 1 or (len(codes) == 2 and math.prod(shape(codes)) <= most):
            return codes
        return tuple(axes)


def _in_buckets(table: np.ndarray, known: Axes, axes: Axes) -> np.ndarray:
    """A table over buckets out of one over codes, or the table itself."""
    if all(one is other or other.is_identity for one, other in zip(known, axes, strict=True)):
        return table.copy()
    found = np.zeros(shape(axes), dtype=np.int64)
    np.add.at(found, np.ix_(*(axis.buckets for axis in axes)), table)
    return found
