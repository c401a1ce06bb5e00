"""Where numbers lie among sorted ones: a table of even cells, in the place of a search for each number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

CELLS = 1 << 14  # of the table, at most
MOST_STEPS = 3  # starts in one cell: with more a search is as fast
FEWEST = 1 << 10  # numbers for which a table pays
AT_ONCE = 1 << 13  # numbers, so that they stay in the cache


class StepLookup:
    """Sorted numbers, each of which begins a step.

    A number's cell, and a start's, is the same rounded expression, which never falls as the number rises:
    starts in lower cells are at most the number, those in higher cells are above it, and only those in
    its own cell are compared with it. So places are those of a search, to the last bit.

    Parameters
    ----------
    starts : ndarray of int64 or float64, shape (k,)
        Increasing, finite.
    """

    def __init__(self, starts: npt.NDArray[Any]) -> None:
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
        self._below = np.searchsorted(cells, np.arange(self._cells))  # starts in lower cells
        last = np.inf if starts.dtype.kind == "f" else np.iinfo(starts.dtype).max
        self._next = np.append(starts, np.full(1, last, dtype=starts.dtype))

    def places(
        self, numbers: npt.NDArray[Any]
    ) -> Iterator[tuple[slice, npt.NDArray[Any], npt.NDArray[np.intp]]]:
        """The last start at or below each number; the first for those below all, or NaN.

        A few numbers at a time: which, these in the type of the starts, and their places. The next ones are
        written over them: what is large and short-lived is new memory wherever an allocator returns it.
        """
        is_searched, size = self._steps > MOST_STEPS or len(numbers) < FEWEST, min(len(numbers), AT_ONCE)
        doubles, (cells, places) = np.empty(size), np.empty((2, size), dtype=np.intp)
        alike, starts = np.empty((2, size), dtype=self._starts.dtype)
        for start in range(0, len(numbers), AT_ONCE):
            rows = slice(start, start + AT_ONCE)
            here = alike[: len(numbers[rows])]
            here[:] = numbers[rows]
            above, number, first = (room[: len(here)] for room in (places, cells, starts))
            if is_searched:
                above[:] = np.searchsorted(self._starts, here, side="right")
                above[here != here] = 1  # noqa: PLR0124  NaN
            else:
                number[:] = self._cell(here, doubles[: len(here)])
                self._below.take(number, out=above, mode="clip")
                for _ in range(self._steps):
                    above += here >= self._next.take(above, out=first, mode="clip")
            above -= 1
            yield rows, here, np.clip(above, 0, len(self._starts) - 1, out=above)

    def _cell(self, numbers: npt.NDArray[Any], room: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        with np.errstate(over="ignore"):
            np.subtract(numbers, float(self._starts[0]), out=room)
            room *= self._scale
        return np.fmin(np.fmax(room, 0.0, out=room), self._cells - 1.0, out=room)
