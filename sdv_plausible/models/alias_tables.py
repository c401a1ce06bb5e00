"""Drawing from the rows of a table in two look-ups: alias tables (Walker 1977, Vose 1991) in whole numbers.

A row's probabilities become masses that add up to ``2**53``: the largest takes what rounding left, so that no
probability is off by more than ``2**-53`` for each code, as those of inversion at a uniform double are, and
one of zero stays zero. Random numbers have 16 bits, and 37 more where those decide nothing, which is seldom:
so what is looked up is small, and stays in the cache.
"""

from __future__ import annotations

import numpy as np

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

BITS = 53  # of a random number: they number the units of mass
SHORT = 16  # of them are drawn at once
_REST = BITS - SHORT
MOST_CODES = 1 << 10  # the number of a bin stands beside its short mark


class Thresholds:
    """Numbers below ``2**53``, each to be compared with a random one."""

    def __init__(self, marks: np.ndarray) -> None:
        self.high = (marks >> _REST).astype(np.uint16)  # what is looked at in every draw
        self._low = (marks & ((1 << _REST) - 1)).astype(np.uint64)

    def are_above(
        self, short: np.ndarray, high: np.ndarray, place: np.ndarray, coins: KeyedRNG
    ) -> np.ndarray:
        """Whether random numbers, of which ``short`` begins, are below the marks at ``place``."""
        below: np.ndarray = short < high
        if len(open_ := np.flatnonzero(short == high)):
            rest = coins.words(len(open_)) >> np.uint64(64 - _REST)
            below[open_] = rest < self._low[place[open_]]
        return below

    def draw(self, place: np.ndarray, coins: KeyedRNG) -> np.ndarray:
        """Whether a random number each is below the mark at ``place`` (n,)."""
        return self.are_above(coins.short_words(len(place)), self.high.take(place), place, coins)


class AliasTable:
    """Rows of probabilities, shape (rows, cardinality), ready to be drawn from.

    Raises
    ------
    ValueError
        If a row has a negative probability, or none above zero.
    """

    # The units 0, ..., 2**53 - 1 lie in equal bins, a power of two of them. A unit below its bin's mark draws
    # the bin's own code, one from there on the code that shares the bin.
    def __init__(self, probabilities: np.ndarray) -> None:
        rows, cardinality = probabilities.shape
        sums = probabilities.sum(axis=1, keepdims=True)
        if not (probabilities.min(initial=0) >= 0 and sums.min(initial=1) > 0 and np.isfinite(sums).all()):
            raise ValueError(
                "probabilities of a row must be at least 0, finite, and not all 0: leave such a row out"
            )
        self._log_bins = max((cardinality - 1).bit_length(), 1)
        bins = 1 << self._log_bins
        masses = np.zeros((rows, bins), dtype=np.int64)
        scaled = probabilities / sums
        masses[:, :cardinality] = (scaled * 2.0**BITS).astype(np.int64)
        masses[np.arange(rows), scaled.argmax(axis=1)] += 2**BITS - masses.sum(axis=1)
        size = 2**BITS >> self._log_bins
        own, other = _shared(masses, size)
        # What is compared is the place in a bin. Its short part leaves room for the change of the bin's
        # number: both are looked up at once. A bin that its own code fills is shared with itself.
        mark = own & size - 1
        self._marks = Thresholds((mark >> _REST << _REST + self._log_bins | mark & (1 << _REST) - 1).ravel())
        self._entries = self._marks.high | (other ^ np.arange(bins)).ravel().astype(np.uint16)

    def draw(self, row: np.ndarray, coins: KeyedRNG) -> np.ndarray:
        """Draw a code for each record (n,) of a row of the table, uint16."""
        short = coins.short_words(len(row))
        code = short >> np.uint16(SHORT - self._log_bins)
        place = row << self._log_bins
        place |= code
        entry = self._entries.take(place)
        change = entry & np.uint16((1 << self._log_bins) - 1)
        entry ^= change
        short <<= np.uint16(self._log_bins)
        change *= ~self._marks.are_above(short, entry, place, coins)
        change ^= code
        return change


def _shared(masses: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Of each bin its own code's mass in it and the code that has the rest, so that every bin holds ``size``.

    All rows of masses, whose means are ``size``, at the same time, one bin of each in a step. Uses them up.
    """
    rows, bins = masses.shape
    left, own = masses.ravel(), np.full(masses.size, size, dtype=np.int64)
    other = np.tile(np.arange(bins), rows)
    smalls = (masses < size).sum(axis=1)
    order = np.argsort(masses >= size, axis=1, kind="stable").ravel()  # the small ones first
    # Of each row that is not done: its start, its small and large one, where the next ones stand, and where
    # the small ones end.
    row = np.flatnonzero(smalls) * bins
    ends = row + smalls[smalls > 0]
    active = np.stack([row, order[row], order[ends], row + 1, ends + 1, ends])
    while active.size:
        row, small, large, next_small, next_large, ends = active
        filled, giver = row + small, row + large
        own[filled] = mass = left.take(filled)
        other[filled] = large
        left[giver] = rest = left.take(giver) - (size - mass)
        fell = rest < size  # the giver is the next to be filled up, by the next large one
        next_ones = order.take(np.where(fell, next_large, next_small), mode="clip")
        active[1], active[2] = np.where(fell, large, next_ones), np.where(fell, next_ones, large)
        is_done = ~fell & (next_small >= ends)
        next_large += fell
        next_small += ~fell
        if is_done.any():
            active = active[:, ~is_done]
    return own.reshape(masses.shape), other.reshape(masses.shape)
