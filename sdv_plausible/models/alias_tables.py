"""Alias tables (Walker 1977, Vose 1991) in integer arithmetic: two look-ups per draw.

The probabilities of a row become integer masses that sum to ``2**53``. The largest mass absorbs the rounding
error, so each probability is off by at most ``2**-53`` per code, as with inversion of a uniform double. Zero
stays zero. A draw uses 16 random bits, and 37 more in the rare case that these do not decide. The tables are
therefore small enough for the cache.
"""

from __future__ import annotations

import numpy as np

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

BITS = 53  # bits of a random number, and of the total mass
SHORT = 16  # bits of the first draw
_REST = BITS - SHORT
MOST_CODES = 1 << 10  # the bin's number is stored next to its short threshold


class Thresholds:
    """Thresholds below ``2**53``, each compared with a random number."""

    def __init__(self, marks: np.ndarray) -> None:
        self.high = (marks >> _REST).astype(np.uint16)  # compared in every draw
        self._low = (marks & ((1 << _REST) - 1)).astype(np.uint64)

    def are_above(
        self, short: np.ndarray, high: np.ndarray, index: np.ndarray, coins: KeyedRNG
    ) -> np.ndarray:
        """Return whether random numbers that begin with ``short`` are below the thresholds at ``index``."""
        below: np.ndarray = short < high
        if len(ties := np.flatnonzero(short == high)):
            rest = coins.words(len(ties)) >> np.uint64(64 - _REST)
            below[ties] = rest < self._low[index[ties]]
        return below

    def draw(self, index: np.ndarray, coins: KeyedRNG) -> np.ndarray:
        """Return whether one random number per ``index`` (n,) is below the threshold there."""
        return self.are_above(coins.short_words(len(index)), self.high.take(index), index, coins)


class AliasTable:
    """Alias tables of the rows of a probability table, shape (rows, cardinality).

    Raises
    ------
    ValueError
        If a row has a negative or non-finite probability, or only zeros.
    """

    # The units 0, ..., 2**53 - 1 lie in equal bins, a power of two of them. A unit below its bin's threshold
    # draws the bin's own code, any other unit the bin's alias.
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
        bin_mass = 2**BITS >> self._log_bins
        own, alias = _fill_bins(masses, bin_mass)
        # Thresholds are positions within a bin. The short part leaves room for the XOR of the bin's number
        # and its alias, so that one look-up returns both. A full bin is its own alias.
        threshold = own & bin_mass - 1
        self._thresholds = Thresholds(
            (threshold >> _REST << _REST + self._log_bins | threshold & (1 << _REST) - 1).ravel()
        )
        self._entries = self._thresholds.high | (alias ^ np.arange(bins)).ravel().astype(np.uint16)

    def draw(self, row: np.ndarray, coins: KeyedRNG) -> np.ndarray:
        """Draw a code for each record (n,) of a row of the table, uint16."""
        short = coins.short_words(len(row))
        code = short >> np.uint16(SHORT - self._log_bins)
        index = row << self._log_bins
        index |= code
        entry = self._entries.take(index)
        change = entry & np.uint16((1 << self._log_bins) - 1)
        entry ^= change
        short <<= np.uint16(self._log_bins)
        change *= ~self._thresholds.are_above(short, entry, index, coins)
        change ^= code
        return change


def _fill_bins(masses: np.ndarray, bin_mass: int) -> tuple[np.ndarray, np.ndarray]:
    """Return each bin's own mass and its alias; row means are ``bin_mass``. Uses up ``estimate_lost_mass``."""
    rows, bins = masses.shape
    remaining, own = masses.ravel(), np.full(masses.size, bin_mass, dtype=np.int64)
    alias = np.tile(np.arange(bins), rows)
    smalls = (masses < bin_mass).sum(axis=1)
    order = np.argsort(masses >= bin_mass, axis=1, kind="stable").ravel()  # the small ones first
    # State of each unfinished row: its start, its current small and large code, the positions of the next
    # small and large code, and the end of the small ones. One bin per row is filled in each step.
    row = np.flatnonzero(smalls) * bins
    ends = row + smalls[smalls > 0]
    state = np.stack([row, order[row], order[ends], row + 1, ends + 1, ends])
    while state.size:
        row, small, large, next_small, next_large, ends = state
        filled, donor = row + small, row + large
        own[filled] = mass = remaining.take(filled)
        alias[filled] = large
        remaining[donor] = remainder = remaining.take(donor) - (bin_mass - mass)
        is_small = remainder < bin_mass  # the donor became small: the next large code fills its bin
        next_ones = order.take(np.where(is_small, next_large, next_small), mode="clip")
        state[1], state[2] = np.where(is_small, large, next_ones), np.where(is_small, next_ones, large)
        is_done = ~is_small & (next_small >= ends)
        next_large += is_small
        next_small += ~is_small
        if is_done.any():
            state = state[:, ~is_done]
    return own.reshape(masses.shape), alias.reshape(masses.shape)
