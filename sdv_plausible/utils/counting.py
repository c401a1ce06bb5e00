"""Vectorised counting of records of integer codes: mixed-radix keys, contingency tables, entropy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import entr

Counts = npt.NDArray[np.int64]

RECORDS_AT_ONCE = 1 << 13  # records per block of the 0/1 matrices
COLUMNS_AT_ONCE = 32  # columns per strip on the left side of the products
CELLS_OF_PRODUCTS = 40  # largest table, without last row and column, counted by matrix products
SPARSE = 8  # count a block's pairs one by one if fewer than 1/SPARSE of them are requested


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
    """Count the records of each combination of digits as a dense int64 array of shape ``bases``."""
    return np.bincount(mixed_radix(digits, bases), minlength=math.prod(bases)).reshape(bases)


def entropy(counts: Counts) -> float:
    """Return the entropy, in bits, of counts of any shape; 0 if all counts are 0."""
    total = counts.sum()
    return float(entr(counts / total).sum() / math.log(2)) if total else 0.0


def pair_counts(
    digits: Sequence[npt.NDArray[np.integer]], bases: Sequence[int], pairs: npt.ArrayLike
) -> Iterator[tuple[npt.NDArray[np.intp], Counts]]:
    """Count the records of each combination of two digits for many pairs (k, 2)."""
    # Yields indices of pairs with tables of one shape (a, b), and their tables (p, a, b); every pair comes
    # once, in any order. Pairs with small bases are counted together by products of 0/1 matrices, the others
    # one by one. The products are exact: they sum at most ``RECORDS_AT_ONCE`` ones, far below 2^24, in single
    # precision.
    chosen, sizes = np.asarray(pairs, dtype=np.intp).reshape(-1, 2), np.asarray(bases)
    margins = {int(j): np.bincount(digits[j], minlength=bases[j]) for j in np.unique(chosen)}
    inside = np.prod(sizes[chosen] - 1, axis=1)
    firsts = np.unique(chosen[inside <= CELLS_OF_PRODUCTS, 0])
    single_pairs = [np.flatnonzero(inside > CELLS_OF_PRODUCTS)]
    for start in range(0, len(firsts), COLUMNS_AT_ONCE):
        strip = firsts[start : start + COLUMNS_AT_ONCE]
        here = np.flatnonzero((inside <= CELLS_OF_PRODUCTS) & np.isin(chosen[:, 0], strip))
        seconds = np.unique(chosen[here, 1])
        if len(here) * SPARSE < len(strip) * len(seconds):
            single_pairs.append(here)
            continue
        offsets, product = _products(digits, sizes, strip, seconds)
        for positions in (here[group] for group in group_by_shape(sizes[chosen[here]])):
            yield positions, _completed(chosen[positions], sizes, margins, offsets, product)
    for i in np.concatenate(single_pairs):
        a, b = chosen[i]
        yield np.array([i]), joint_counts((digits[a], digits[b]), (bases[a], bases[b]))[None]


def group_by_shape(shapes: npt.NDArray[np.integer]) -> list[npt.NDArray[np.intp]]:
    """Group the row indices of an array (k, d) by equal rows."""
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
    """Return the counts of all values but the last, of every first with every second digit."""
    # The first result has the offset of each digit's first value: its row among the firsts, its column among
    # the seconds.
    offsets, widths = (np.zeros(len(sizes), dtype=np.intp), np.zeros(len(sizes), dtype=np.intp)), []
    for starts, columns in zip(offsets, (firsts, seconds), strict=True):
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
    return offsets, product


def _indicators(
    digits: Sequence[npt.NDArray[np.integer]], bases: npt.NDArray[np.integer]
) -> npt.NDArray[np.float32]:
    """Return 0/1 indicators, shape (all values but the last of every digit, records)."""
    indicators = np.empty((int((bases - 1).sum()), len(digits[0])), dtype=np.float32)
    row = 0
    for digit, base in zip(digits, bases.tolist(), strict=True):
        for value in range(base - 1):
            np.equal(digit, value, out=indicators[row], casting="unsafe")
            row += 1
    return indicators


def _completed(
    pairs: npt.NDArray[np.intp],
    sizes: npt.NDArray[np.integer],
    margins: Mapping[int, Counts],
    offsets: tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]],
    product: Counts,
) -> Counts:
    """Return tables of pairs of one shape, with the last row and column completed from the margins."""
    a, b = sizes[pairs[0]].tolist()
    tables = np.zeros((len(pairs), a, b), dtype=np.int64)
    rows = offsets[0][pairs[:, 0], None, None] + np.arange(a - 1)[:, None]
    tables[:, :-1, :-1] = product[rows, offsets[1][pairs[:, 1], None, None] + np.arange(b - 1)]
    tables[:, :-1, -1] = np.stack([margins[i][:-1] for i in pairs[:, 0].tolist()]) - tables.sum(2)[:, :-1]
    tables[:, -1] = np.stack([margins[j] for j in pairs[:, 1].tolist()]) - tables.sum(1)
    return tables


# --- many small tables as margins of a few large ones ----------------------------------------------

MAX_BLOCK_CELLS = (
    1 << 16
) - 1  # cells of a large table: keys have two bytes, and the table fits a core's cache
MAX_TOTAL_CELLS = 1 << 23  # cells of all large tables together: 67 MB per worker
MIN_ROWS_PER_CELL = 8  # with fewer rows per cell, summing cells costs more than counting rows
FEWEST_ROWS = 1 << 15  # with fewer rows, tables are counted one by one
MOST_CHOICES = 2_000_000  # sets times columns; above it, choosing blocks takes longer than counting
KEYS_AT_ONCE = 1 << 17  # rows per block of keys: they fit the cache, and threads rarely wait


def is_worthwhile(num_rows: int, num_sets: int, num_digits: int) -> bool:
    """Return whether a covering is likely to save time; it never changes a count."""
    return num_rows >= FEWEST_ROWS and num_sets > 1 and num_sets * num_digits <= MOST_CHOICES


@dataclass(frozen=True)
class Covering:
    """A covering of sets of digits by larger sets (blocks): each set's table is a margin of a block's."""

    sets: Sequence[Sequence[int]]  # positions of digits, distinct within a set
    bases: Sequence[int]  # number of values of each digit
    # (tuple of int, sequence of int) positions of digits, and indices of the sets that the block covers.
    # Every set is in one block.
    blocks: Sequence[tuple[tuple[int, ...], Sequence[int]]]

    @classmethod
    def of(cls, sets: Sequence[Sequence[int]], bases: Sequence[int], num_rows: int) -> Covering:
        """Choose blocks whose tables together fit a bounded memory."""
        most = min(MAX_BLOCK_CELLS, num_rows // MIN_ROWS_PER_CELL)
        while True:
            blocks = cover(sets, bases, most)
            if most <= 1 or sum(math.prod(bases[j] for j in block) for block, _ in blocks) <= MAX_TOTAL_CELLS:
                return cls(sets, bases, blocks)
            most //= 4

    def counts(self, digits: Sequence[npt.NDArray[np.integer]], num_rows: int) -> Iterator[Counts]:
        """Count the records of each combination of digits, one block at a time."""
        keys, buffer = np.empty(num_rows, dtype=np.intp), np.empty((2, min(num_rows, KEYS_AT_ONCE)))
        for block, _ in self.blocks:
            yield _block_counts(digits, self.bases, block, keys, buffer)

    def tables(self, counts: Iterable[Counts]) -> Iterator[tuple[int, Counts]]:
        """Yield each set's index and table, of the shape of its bases; every set once, in any order."""
        for block_counts, (block, positions) in zip(counts, self.blocks, strict=True):
            for i in positions:
                yield i, _margin(block_counts, block, self.sets[i])


def cover(
    sets: Sequence[Sequence[int]], bases: Sequence[int], most: int
) -> list[tuple[tuple[int, ...], list[int]]]:
    """Choose larger sets that cover all sets, greedily preferring those that cover many."""
    # ``most`` bounds the cells of a larger set; a set that exceeds it alone is its own block. Each block
    # comes with the indices of the sets it covers; every set is in one block.
    sizes, lengths = np.asarray(bases, dtype=float), np.array([len(s) for s in sets])
    member = np.zeros((len(sets), len(bases)), dtype=bool)
    for i, chosen in enumerate(sets):
        member[i, list(chosen)] = True
    cells = [math.prod(bases[j] for j in chosen) for chosen in sets]
    is_left, blocks = np.ones(len(sets), dtype=bool), []
    for i in sorted(range(len(sets)), key=lambda i: -cells[i]):
        if not is_left[i]:
            continue
        inside, total = member[i].copy(), float(cells[i])
        missing = lengths - member[:, inside].sum(axis=1)
        while True:
            gain = (member[is_left & (missing == 1)] & ~inside).sum(axis=0) / np.log(sizes + 1)
            gain[total * sizes > most] = 0
            best = int(gain.argmax())
            if not gain[best]:
                break
            inside[best], total = True, total * sizes[best]
            missing -= member[:, best]
        covered = np.flatnonzero(is_left & (missing == 0))
        is_left[covered] = False
        blocks.append((tuple(np.flatnonzero(inside).tolist()), covered.tolist()))
    return blocks


def _block_counts(
    digits: Sequence[npt.NDArray[np.integer]],
    bases: Sequence[int],
    block: Sequence[int],
    keys: npt.NDArray[np.intp],
    buffer: npt.NDArray[np.float64],
) -> Counts:
    """Count one block; keys are computed a few rows at a time, in the smallest dtype."""
    shape = tuple(bases[j] for j in block)
    cells = math.prod(shape)
    key_buffer = buffer.view(np.min_scalar_type(cells))
    for start in range(0, len(keys), KEYS_AT_ONCE):
        rows = slice(start, start + KEYS_AT_ONCE)
        key, digit = key_buffer[:, : len(keys[rows])]
        key[:] = digits[block[0]][rows] if block else 0
        for j in block[1:]:
            key *= key.dtype.type(bases[j])
            digit[:] = digits[j][rows]  # convert first: adding two dtypes is several times slower
            key += digit
        keys[rows] = key
    return np.bincount(keys, minlength=cells).reshape(shape)


def _margin(block_counts: Counts, block: Sequence[int], chosen: Sequence[int]) -> Counts:
    others = tuple(axis for axis, j in enumerate(block) if j not in chosen)
    remaining = [j for j in block if j in chosen]
    table: Counts = block_counts.sum(axis=others) if others else block_counts
    return table.transpose([remaining.index(j) for j in chosen])
