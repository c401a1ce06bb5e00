"""Position of numbers among sorted numbers, by a table of equal cells instead of a binary search."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

CELLS = 1 << 14  # largest number of cells of the table
MOST_STEPS = 3  # largest number of starts in one cell; with more, a search is as fast
FEWEST = 1 << 10  # smallest number of queries for which the table pays off
AT_ONCE = 1 << 13  # queries per block, so that they stay in the cache


class StepLookup:
    """Sorted numbers, each the start of a step.

    The cell of a query and of a start are the same rounded expression, which is monotone. Starts in lower
    cells are at most the query, starts in higher cells are above it, and only starts in the same cell are
    compared. The result equals that of a binary search exactly.
    """

    def __init__(self, starts: npt.NDArray[Any]) -> None:
        # ``starts``: (k,) increasing, finite.
        self._starts = starts
        self._steps = MOST_STEPS + 1
        span = float(starts[-1]) - float(starts[0]) if len(starts) > 1 else 0.0
        if not 0 < span < np.inf:
            return
        self._cells = int(min(CELLS, 4 * 2 ** np.ceil(np.log2(len(starts)))))
        self._scale = self._cells / span
        if not np.isfinite(self._scale):
            return
        cells = self._cell(starts, np.empty(len(starts))).astype(np.intp)
        self._steps = int(np.bincount(cells).max())
        self._below = np.searchsorted(cells, np.arange(self._cells))  # number of starts in lower cells
        last = np.inf if starts.dtype.kind == "f" else np.iinfo(starts.dtype).max
        self._next = np.append(starts, np.full(1, last, dtype=starts.dtype))

    def places(
        self, numbers: npt.NDArray[Any]
    ) -> Iterator[tuple[slice, npt.NDArray[Any], npt.NDArray[np.intp]]]:
        """Yield the last start at or below each number; the first start for smaller numbers and NaN.

        Works in blocks. Yields the slice, the numbers in the dtype of the starts, and their positions. The
        buffers are reused for the next block, because allocators return large short-lived memory to the
        system.
        """
        is_searched, size = self._steps > MOST_STEPS or len(numbers) < FEWEST, min(len(numbers), AT_ONCE)
        doubles, (cells, places) = np.empty(size), np.empty((2, size), dtype=np.intp)
        converted, starts = np.empty((2, size), dtype=self._starts.dtype)
        for start in range(0, len(numbers), AT_ONCE):
            rows = slice(start, start + AT_ONCE)
            block = converted[: len(numbers[rows])]
            block[:] = numbers[rows]
            positions, cell, next_starts = (buffer[: len(block)] for buffer in (places, cells, starts))
            if is_searched:
                positions[:] = np.searchsorted(self._starts, block, side="right")
                positions[block != block] = 1  # noqa: PLR0124  NaN
            else:
                cell[:] = self._cell(block, doubles[: len(block)])
                self._below.take(cell, out=positions, mode="clip")
                for _ in range(self._steps):
                    positions += block >= self._next.take(positions, out=next_starts, mode="clip")
            positions -= 1
            yield rows, block, np.clip(positions, 0, len(self._starts) - 1, out=positions)

    def _cell(self, numbers: npt.NDArray[Any], out: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        with np.errstate(over="ignore"):
            np.subtract(numbers, float(self._starts[0]), out=out)
            out *= self._scale
        return np.fmin(np.fmax(out, 0.0, out=out), self._cells - 1.0, out=out)
