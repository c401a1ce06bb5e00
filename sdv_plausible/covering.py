"""Many tables of counts out of few larger ones: every table is a margin of a table over more columns.

A table over some columns is the sum of a table over more. So rows are gone through once for each large table,
not once for each small one; sums of whole numbers are exact, whatever their order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

Digits = npt.NDArray[np.integer]
Table = npt.NDArray[np.int64]

LARGEST = 1 << 14  # cells of a large table: it stays in a core's cache
ROWS_PER_CELL = 8  # fewer rows for a cell, and adding up cells costs more than counting rows
FEWEST_ROWS = 1 << 15  # tables of fewer rows are counted one by one
MOST_CHOICES = 2_000_000  # sets times columns: beyond, choosing what to count takes longer than counting
KEYS_AT_ONCE = 1 << 14  # rows whose keys are in the cache while they are made


def is_worthwhile(num_rows: int, num_sets: int, num_digits: int) -> bool:
    """Whether covering is likely to save time; it never changes a count."""
    return num_rows >= FEWEST_ROWS and num_sets > 1 and num_sets * num_digits <= MOST_CHOICES


def covered_counts(
    digits: Sequence[Digits], bases: Sequence[int], sets: Sequence[Sequence[int]]
) -> Iterator[tuple[int, Table]]:
    """Count the records of each combination of digits, for many sets of positions among the digits."""
    # Yields which of the sets, and its table, of the shape of its bases; every set comes once, in any order.
    rows = len(digits[0]) if digits else 0
    most = min(LARGEST, rows // ROWS_PER_CELL)
    keys = np.empty(rows, dtype=np.intp)
    for block, positions in cover(sets, bases, most):
        large = _counted(digits, bases, block, keys)
        for i in positions:
            yield i, _margin(large, block, sets[i])


def cover(
    sets: Sequence[Sequence[int]], bases: Sequence[int], most: int
) -> list[tuple[tuple[int, ...], list[int]]]:
    """Choose larger sets that hold all sets: greedily, those that hold many."""
    # ``most`` bounds the cells of a larger set; a set that has more by itself stands alone. With each come
    # the positions of the sets that it is for; every set is in one.
    sizes, lengths = np.asarray(bases, dtype=float), np.array([len(s) for s in sets])
    member = np.zeros((len(sets), len(bases)), dtype=bool)
    for i, chosen in enumerate(sets):
        member[i, list(chosen)] = True
    cells = [math.prod(bases[j] for j in chosen) for chosen in sets]
    left, found = np.ones(len(sets), dtype=bool), []
    for i in sorted(range(len(sets)), key=lambda i: -cells[i]):
        if not left[i]:
            continue
        inside, total = member[i].copy(), float(cells[i])
        missing = lengths - member[:, inside].sum(axis=1)
        while True:
            gain = (member[left & (missing == 1)] & ~inside).sum(axis=0) / np.log(sizes + 1)
            gain[total * sizes > most] = 0
            best = int(gain.argmax())
            if not gain[best]:
                break
            inside[best], total = True, total * sizes[best]
            missing -= member[:, best]
        here = np.flatnonzero(left & (missing == 0))
        left[here] = False
        found.append((tuple(np.flatnonzero(inside).tolist()), here.tolist()))
    return found


def _counted(
    digits: Sequence[Digits], bases: Sequence[int], block: Sequence[int], keys: npt.NDArray[np.intp]
) -> Table:
    """Table of one large set; its keys are made a few rows at a time."""
    for start in range(0, len(keys), KEYS_AT_ONCE):
        rows = slice(start, start + KEYS_AT_ONCE)
        here = keys[rows]
        here[:] = digits[block[0]][rows]
        for j in block[1:]:
            here *= bases[j]
            here += digits[j][rows]
    shape = tuple(bases[j] for j in block)
    return np.bincount(keys, minlength=math.prod(shape)).reshape(shape)


def _margin(large: Table, block: Sequence[int], chosen: Sequence[int]) -> Table:
    others = tuple(axis for axis, j in enumerate(block) if j not in chosen)
    kept = [j for j in block if j in chosen]
    table: Table = large.sum(axis=others) if others else large
    return table.transpose([kept.index(j) for j in chosen])
