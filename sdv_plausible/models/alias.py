"""Drawing from the rows of a table in two look-ups: alias tables (Walker 1977, Vose 1991) in whole numbers.

A row's probabilities become masses that add up to ``2**53``: the largest takes what rounding left, so that no
probability is off by more than ``2**-53`` for each code, as those of inversion at a uniform double are, and
one of zero stays zero.
"""

from __future__ import annotations

import numpy as np

BITS = 53  # of a word that a draw uses: they number the units of mass
_ROOM = 10  # bits for a code beside a unit
MOST_CODES = 1 << _ROOM


class AliasTable:
    """Rows of probabilities, shape (rows, cardinality), ready to be drawn from."""

    # The units 0, ..., 2**53 - 1 lie in equal bins, a power of two of them. A unit below its bin's mark draws
    # the bin's own code, one from there on the code that shares the bin.
    def __init__(self, probabilities: np.ndarray) -> None:
        rows, cardinality = probabilities.shape
        self._log_bins = max((cardinality - 1).bit_length(), 1)
        bins, self._shift = 1 << self._log_bins, np.uint64(BITS - self._log_bins)
        masses = np.zeros((rows, bins), dtype=np.int64)
        scaled = probabilities / probabilities.sum(axis=1, keepdims=True)
        masses[:, :cardinality] = (scaled * 2.0**BITS).astype(np.int64)
        masses[np.arange(rows), scaled.argmax(axis=1)] += 2**BITS - masses.sum(axis=1)
        own, other = _shared(masses, 2**BITS >> self._log_bins)
        start = np.arange(bins, dtype=np.int64) << int(self._shift)
        change = other ^ np.arange(bins)  # of the bin's number: one number holds both, and is looked up once
        self._entries = ((start + own) << _ROOM | change).view(np.uint64).ravel()

    def draw(self, row: np.ndarray, words: np.ndarray) -> np.ndarray:
        """Code of each record (n,) of a row of the table, uint16, from a random word each."""
        unit = words >> np.uint64(64 - BITS)
        code = (unit >> self._shift).view(np.int64)
        place = row << self._log_bins
        place |= code
        entry = self._entries.take(place)
        change = entry.astype(np.uint16)
        change &= np.uint16(MOST_CODES - 1)
        entry >>= np.uint64(_ROOM)
        change *= unit >= entry
        change ^= code.astype(np.uint16)
        return change


def _shared(masses: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Of each bin its own code's mass in it and the code that has the rest, so that every bin holds ``size``.

    All rows of masses, whose means are ``size``, at the same time, one bin of each in a step.
    """
    rows, bins = masses.shape
    left, own = masses.copy(), np.full(masses.shape, size, dtype=np.int64)
    other = np.broadcast_to(np.arange(bins), masses.shape).copy()
    order = np.argsort(masses >= size, axis=1, kind="stable")  # the small ones first
    active = np.flatnonzero((masses < size).any(axis=1))
    smalls = (masses < size).sum(axis=1)
    next_small, next_large = np.ones(rows, dtype=np.int64), smalls + 1
    small, large = order[:, 0].copy(), order[np.arange(rows), np.minimum(smalls, bins - 1)]
    while len(active):
        s, g = small[active], large[active]
        own[active, s], other[active, s] = left[active, s], g
        left[active, g] -= size - left[active, s]
        fell = left[active, g] < size  # the giver is the next to be filled up, by the next large one
        of_fell, of_rest = active[fell], active[~fell]
        small[of_fell] = g[fell]
        large[of_fell] = order[of_fell, next_large[of_fell]]
        next_large[of_fell] += 1
        of_rest = of_rest[next_small[of_rest] < smalls[of_rest]]
        small[of_rest] = order[of_rest, next_small[of_rest]]
        next_small[of_rest] += 1
        active = np.concatenate([of_fell, of_rest])
    return own, other
