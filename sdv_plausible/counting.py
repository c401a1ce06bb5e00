"""Counting records of integer codes without a loop over rows.

Mixed-radix keys, contingency tables, many pairs at once, entropy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

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
