"""Counting records of integer codes without a loop over rows.

Mixed-radix keys, contingency tables, many pairs at once, entropy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import entr

Counts = npt.NDArray[np.int64]

RECORDS_AT_ONCE = 1 << 13  # of 0/1 matrices
COLUMNS_AT_ONCE = 32  # on their left
CELLS_OF_PRODUCTS = 40  # cells of a table, but for the last line and column, up to which products are faster
SPARSE = 8  # if fewer than one in so many pairs of a block are wanted, they are counted one by one


def mixed_radix(digits: Iterable[npt.NDArray[np.integer]], bases: Sequence[int]) -> Counts:
    """Number each record's combination of digits, (n,) each, first digit most significant."""
    # Digit i lies in ``0 .. bases[i] - 1``; the product of the bases must be below 2^63.
    key: Counts | None = None
    for digit, base in zip(digits, bases, strict=True):
        if key is None:
            key = digit.astype(np.int64)
        else:
            key *= base
            key += digit
    assert key is not None
    return key


def joint_counts(digits: Iterable[npt.NDArray[np.integer]], bases: Sequence[int]) -> Counts:
    """Count the records of each combination of digits, densely: int64 of shape ``bases``."""
    return np.bincount(mixed_radix(digits, bases), minlength=math.prod(bases)).reshape(bases)


def entropy(counts: Counts) -> float:
    """Return the entropy, in bits, of the distribution of counts of any shape; 0 if there are none."""
    total = counts.sum()
    return float(entr(counts / total).sum() / math.log(2)) if total else 0.0


def pair_counts(
    digits: Sequence[npt.NDArray[np.integer]], bases: Sequence[int], pairs: npt.ArrayLike
) -> Iterator[tuple[npt.NDArray[np.intp], Counts]]:
    """Count the records of each combination of two digits, for many pairs (k, 2) of them."""
    # Yields which of the pairs, all with tables of one shape (a, b), and their tables (p, a, b); every pair
    # comes once, in any order. Pairs of small bases are counted as products of 0/1 matrices, many at once;
    # the rest one by one. The products are exact: sums of at most ``RECORDS_AT_ONCE`` ones, far below 2^24,
    # in single precision.
    chosen, sizes = np.asarray(pairs, dtype=np.intp).reshape(-1, 2), np.asarray(bases)
    margins = {int(j): np.bincount(digits[j], minlength=bases[j]) for j in np.unique(chosen)}
    inside = np.prod(sizes[chosen] - 1, axis=1)
    firsts = np.unique(chosen[inside <= CELLS_OF_PRODUCTS, 0])
    alone = [np.flatnonzero(inside > CELLS_OF_PRODUCTS)]
    for start in range(0, len(firsts), COLUMNS_AT_ONCE):
        strip = firsts[start : start + COLUMNS_AT_ONCE]
        here = np.flatnonzero((inside <= CELLS_OF_PRODUCTS) & np.isin(chosen[:, 0], strip))
        seconds = np.unique(chosen[here, 1])
        if len(here) * SPARSE < len(strip) * len(seconds):
            alone.append(here)
            continue
        at, product = _products(digits, sizes, strip, seconds)
        for positions in (here[group] for group in of_one_shape(sizes[chosen[here]])):
            yield positions, _completed(chosen[positions], sizes, margins, at, product)
    for i in np.concatenate(alone):
        a, b = chosen[i]
        yield np.array([i]), joint_counts((digits[a], digits[b]), (bases[a], bases[b]))[None]


def of_one_shape(shapes: npt.NDArray[np.integer]) -> list[npt.NDArray[np.intp]]:
    """Positions of the lines of an array (k, d) in groups of equal lines."""
    if not len(shapes):
        return []
    group = np.unique(shapes, axis=0, return_inverse=True)[1].reshape(-1)
    order = np.argsort(group, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(group[order])) + 1)


def _products(
    digits: Sequence[npt.NDArray[np.integer]],
    sizes: npt.NDArray[np.integer],
    firsts: npt.NDArray[np.intp],
    seconds: npt.NDArray[np.intp],
) -> tuple[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]], Counts]:
    """Counts of all values but the last, of every first with every second digit."""
    # First is where each digit's first value is: its line among the firsts, its column among the seconds.
    at, widths = (np.zeros(len(sizes), dtype=np.intp), np.zeros(len(sizes), dtype=np.intp)), []
    for starts, columns in zip(at, (firsts, seconds), strict=True):
        ends = np.cumsum(sizes[columns] - 1)
        starts[columns] = ends - (sizes[columns] - 1)
        widths.append(int(ends[-1]) if len(ends) else 0)
    product = np.zeros(widths, dtype=np.int64)
    for start in range(0, len(digits[firsts[0]]), RECORDS_AT_ONCE):
        rows = slice(start, start + RECORDS_AT_ONCE)
        left, right = (
            _indicators([digits[j][rows] for j in columns], sizes[columns]) for columns in (firsts, seconds)
        )
        product += (left @ right.T).astype(np.int64)
    return at, product


def _indicators(
    digits: Sequence[npt.NDArray[np.integer]], bases: npt.NDArray[np.integer]
) -> npt.NDArray[np.float32]:
    """0 or 1, (all values but the last of every digit, records): where each value is."""
    found = np.empty((int((bases - 1).sum()), len(digits[0])), dtype=np.float32)
    line = 0
    for digit, base in zip(digits, bases.tolist(), strict=True):
        for value in range(base - 1):
            np.equal(digit, value, out=found[line], casting="unsafe")
            line += 1
    return found


def _completed(
    pairs: npt.NDArray[np.intp],
    sizes: npt.NDArray[np.integer],
    margins: Mapping[int, Counts],
    at: tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]],
    product: Counts,
) -> Counts:
    """Tables of pairs of one shape: the last line and column are what is missing to the margins."""
    a, b = sizes[pairs[0]].tolist()
    tables = np.zeros((len(pairs), a, b), dtype=np.int64)
    lines = at[0][pairs[:, 0], None, None] + np.arange(a - 1)[:, None]
    tables[:, :-1, :-1] = product[lines, at[1][pairs[:, 1], None, None] + np.arange(b - 1)]
    tables[:, :-1, -1] = np.stack([margins[i][:-1] for i in pairs[:, 0].tolist()]) - tables.sum(2)[:, :-1]
    tables[:, -1] = np.stack([margins[j] for j in pairs[:, 1].tolist()]) - tables.sum(1)
    return tables


# --- many tables of counts out of few larger ones ---------------------------------------------------
# A table over some columns is the sum of a table over more. So rows are gone through once for each large
# table, not once for each small one; sums of whole numbers are exact, whatever their order.

LARGEST = (1 << 16) - 1  # cells of a large table: keys are of two bytes, and it stays in a core's cache
MOST_CELLS = 1 << 23  # of all large tables together: 67 MB, in every worker and in what waits to be added
ROWS_PER_CELL = 8  # fewer rows for a cell, and adding up cells costs more than counting rows
FEWEST_ROWS = 1 << 15  # tables of fewer rows are counted one by one
MOST_CHOICES = 2_000_000  # sets times columns: beyond, choosing what to count takes longer than counting
KEYS_AT_ONCE = 1 << 17  # rows whose keys are made: in the cache, and many enough for threads not to wait


def is_worthwhile(num_rows: int, num_sets: int, num_digits: int) -> bool:
    """Whether covering is likely to save time; it never changes a count."""
    return num_rows >= FEWEST_ROWS and num_sets > 1 and num_sets * num_digits <= MOST_CHOICES


@dataclass(frozen=True)
class Covering:
    """Sets of digits, and larger ones, blocks: the table of every set is a margin of a block's.

    Attributes
    ----------
    sets : sequence of sequence of int
        Positions of digits; none twice in one set.
    bases : sequence of int
        Values of each digit.
    blocks : sequence of (tuple of int, sequence of int)
        Positions of digits, and which of the sets they are for. Every set is in one block.
    """

    sets: Sequence[Sequence[int]]
    bases: Sequence[int]
    blocks: Sequence[tuple[tuple[int, ...], Sequence[int]]]

    @classmethod
    def of(cls, sets: Sequence[Sequence[int]], bases: Sequence[int], num_rows: int) -> Covering:
        """Choose blocks for so many rows, whose tables take a bounded memory together."""
        most = min(LARGEST, num_rows // ROWS_PER_CELL)
        while True:
            blocks = cover(sets, bases, most)
            if most <= 1 or sum(math.prod(bases[j] for j in block) for block, _ in blocks) <= MOST_CELLS:
                return cls(sets, bases, blocks)
            most //= 4

    def counts(self, digits: Sequence[npt.NDArray[np.integer]], num_rows: int) -> Iterator[Counts]:
        """Count the records of each combination of digits, block after block."""
        keys, room = np.empty(num_rows, dtype=np.intp), np.empty((2, min(num_rows, KEYS_AT_ONCE)))
        for block, _ in self.blocks:
            yield _counted(digits, self.bases, block, keys, room)

    def tables(self, counts: Iterable[Counts]) -> Iterator[tuple[int, Counts]]:
        """Which of the sets, and its table, of the shape of its bases; every set comes once, in any order."""
        for large, (block, positions) in zip(counts, self.blocks, strict=True):
            for i in positions:
                yield i, _margin(large, block, self.sets[i])


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
    digits: Sequence[npt.NDArray[np.integer]],
    bases: Sequence[int],
    block: Sequence[int],
    keys: npt.NDArray[np.intp],
    room: npt.NDArray[np.float64],
) -> Counts:
    """Counts of one large set; its keys are made a few rows at a time, in the fewest bytes."""
    shape = tuple(bases[j] for j in block)
    cells = math.prod(shape)
    small = room.view(np.min_scalar_type(cells))
    for start in range(0, len(keys), KEYS_AT_ONCE):
        rows = slice(start, start + KEYS_AT_ONCE)
        here, digit = small[:, : len(keys[rows])]
        here[:] = digits[block[0]][rows] if block else 0
        for j in block[1:]:
            here *= here.dtype.type(bases[j])
            digit[:] = digits[j][rows]  # by itself: a sum of two types is several times slower
            here += digit
        keys[rows] = here
    return np.bincount(keys, minlength=cells).reshape(shape)


def _margin(large: Counts, block: Sequence[int], chosen: Sequence[int]) -> Counts:
    others = tuple(axis for axis, j in enumerate(block) if j not in chosen)
    kept = [j for j in block if j in chosen]
    table: Counts = large.sum(axis=others) if others else large
    return table.transpose([kept.index(j) for j in chosen])
