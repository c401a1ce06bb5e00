"""Conditional tables ``P(child | bkt(parents))``: vectorised sampling, likelihoods and noise projection."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

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

    def are_above(self, short: np.ndarray, high: np.ndarray, index: np.ndarray, rng: KeyedRNG) -> np.ndarray:
        """Return whether random numbers that begin with ``short`` are below the thresholds at ``index``."""
        below: np.ndarray = short < high
        if len(ties := np.flatnonzero(short == high)):
            rest = rng.words(len(ties)) >> np.uint64(64 - _REST)
            below[ties] = rest < self._low[index[ties]]
        return below

    def draw(self, index: np.ndarray, rng: KeyedRNG) -> np.ndarray:
        """Return whether one random number per ``index`` (n,) is below the threshold there."""
        return self.are_above(rng.short_words(len(index)), self.high.take(index), index, rng)


class AliasTable:
    """Alias tables of the rows of a probability table, shape (rows, cardinality)."""

    # The units 0, ..., 2**53 - 1 lie in equal bins, a power of two of them. A unit below its bin's threshold
    # draws the bin's own code, any other unit the bin's alias.
    def __init__(self, probabilities: np.ndarray) -> None:
        # Raises ValueError if a row has a negative or non-finite probability, or only zeros.
        rows, cardinality = probabilities.shape
        sums = probabilities.sum(axis=1, keepdims=True)
        if not (probabilities.min(initial=0) >= 0 and sums.min(initial=1) > 0 and np.isfinite(sums).all()):
            raise ValueError(
                "probabilities of a row must be at least 0, finite, and not all 0: remove such a row"
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

    def draw(self, row: np.ndarray, rng: KeyedRNG) -> np.ndarray:
        """Draw a code for each record (n,) of a row of the table, uint16."""
        short = rng.short_words(len(row))
        code = short >> np.uint16(SHORT - self._log_bins)
        index = row << self._log_bins
        index |= code
        entry = self._entries.take(index)
        change = entry & np.uint16((1 << self._log_bins) - 1)
        entry ^= change
        short <<= np.uint16(self._log_bins)
        change *= ~self._thresholds.are_above(short, entry, index, rng)
        change ^= code
        return change


def _fill_bins(masses: np.ndarray, bin_mass: int) -> tuple[np.ndarray, np.ndarray]:
    """Return each bin's own mass and its alias; row means are ``bin_mass``. Uses up ``masses``."""
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


GUIDED_CELLS = 4096  # above this size a guide table is faster than a binary search


@dataclass(frozen=True, kw_only=True, eq=False)
class ParentConfigurations:
    """Joint configurations of bucketed columns: mixed-radix numbers, first column most significant."""

    parents: tuple[int, ...]  # column numbers
    buckets: tuple[np.ndarray, ...]  # bucket of every code of each column (the paper's ``bkt``, Eq. 7)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of buckets of each column."""
        return tuple(int(bucket.max(initial=0)) + 1 for bucket in self.buckets)

    @property
    def number(self) -> int:
        """Number of configurations."""
        return math.prod(self.sizes)

    @cached_property
    def _shares(self) -> list[np.ndarray]:
        """Contribution of each column's codes to the number of a configuration."""
        return [
            bucket.astype(np.int64) * math.prod(self.sizes[i + 1 :]) for i, bucket in enumerate(self.buckets)
        ]

    def of(self, codes: np.ndarray) -> np.ndarray:
        """Return the configuration of each record of codes (n, m)."""
        if not self.parents:
            return np.zeros(len(codes), dtype=np.int64)
        return self.of_columns({parent: codes[:, parent] for parent in self.parents})

    def of_columns(self, codes: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return the configuration of each record from the codes (n,) of each parent."""
        first, *others = zip(self.parents, self._shares, strict=True)
        row: np.ndarray = first[1].take(codes[first[0]])
        for parent, offset in others:
            row += offset.take(codes[parent])
        return row


@dataclass(frozen=True, kw_only=True, eq=False)
class ConditionalTable:
    """Dense table ``P(child | bkt(parents))``."""

    child: int  # column number of the attribute
    parents: tuple[int, ...]  # column numbers of its parents
    buckets: tuple[np.ndarray, ...]  # bucket of every code of each parent (the paper's ``bkt``, Eq. 7)
    # Shape (configurations, cardinality); rows sum to 1 and are numbered as in :class:`ParentConfigurations`.
    probabilities: np.ndarray

    def __post_init__(self) -> None:
        configurations, _ = self.probabilities.shape
        expected = self.given.number
        if configurations != expected:
            raise ValueError(
                f"table of column {self.child}: {configurations} rows for {expected} configurations"
            )
        if not np.allclose(self.probabilities.sum(axis=1), 1) or (self.probabilities < 0).any():
            raise ValueError(f"table of column {self.child}: rows must be non-negative and sum to 1")

    @cached_property
    def given(self) -> ParentConfigurations:
        """Configurations of the parents."""
        return ParentConfigurations(parents=self.parents, buckets=self.buckets)

    @property
    def cardinality(self) -> int:
        """Number of codes of the child."""
        return self.probabilities.shape[1]

    @cached_property
    def _flat(self) -> np.ndarray:
        """Cumulative rows, row c shifted by c: sorted as a whole, so that one search draws a whole column."""
        configurations = len(self.probabilities)
        shifted = np.cumsum(self.probabilities, axis=1)
        shifted /= shifted[:, -1:].copy()
        shifted += np.arange(configurations)[:, None]
        shifted[:, -1] = np.arange(1, configurations + 1)
        return shifted.ravel()

    @cached_property
    def _ceiling(self) -> np.ndarray:
        """Largest float below c + 1: rounding of c + u must not reach the next row."""
        return np.nextafter(np.arange(1.0, len(self.probabilities) + 1), 0)

    @cached_property
    def _log(self) -> np.ndarray:
        """Logarithms of the cells, cached so that results are bit-identical."""
        with np.errstate(divide="ignore"):
            return np.log(self.probabilities)

    @cached_property
    def most_likely(self) -> np.ndarray:
        """Log of the largest probability of each code over all configurations."""
        return np.asarray(self._log.max(axis=0))

    @cached_property
    def _guide(self) -> np.ndarray:
        """Start positions of the search for c + u, for u in ``cardinality`` equal parts of [0, 1)."""
        configurations, cardinality = self.probabilities.shape
        parts = np.maximum(
            np.arange(cardinality) / cardinality - 1e-9, 0
        )  # rounding must not start after the result
        starts = np.searchsorted(
            self._flat, (np.arange(configurations)[:, None] + parts).ravel(), side="right"
        )
        return starts.astype(np.int32 if self._flat.size < 2**31 else np.int64)

    @cached_property
    def _alias(self) -> AliasTable | None:
        """Alias table of the rows; None if there are too many codes."""
        return AliasTable(self.probabilities) if self.cardinality <= MOST_CODES else None

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in ("child", "parents", "buckets", "probabilities")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def draw(self, codes: np.ndarray, rng: KeyedRNG, *, systematic: bool = False) -> np.ndarray:
        """Draw the child's code for each record of codes (n, m), given its parents there."""
        # Every draw follows the table. ``systematic=True`` spreads the draws within one configuration evenly
        # over the unit interval, which reduces the sampling variance.
        if systematic:
            return self.draw_evenly(self.given.of(codes), rng)
        row = self.given.of(codes)
        return self._invert(row, rng.uniform(len(row)))

    def draw_many(self, codes: np.ndarray, rng: KeyedRNG) -> np.ndarray:
        """Draw as :meth:`draw`, from alias tables; faster for tens of thousands of records."""
        if self._alias is None:
            return self.draw(codes, rng)
        return self._alias.draw(self.given.of(codes), rng)

    def _invert(self, row: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return the code of each record by inversion of its row of the table at u."""
        cardinality = self.probabilities.shape[1]
        target = np.minimum(row + u, self._ceiling[row])
        if self._flat.size <= GUIDED_CELLS:
            return np.searchsorted(self._flat, target, side="right") - row * cardinality
        # Inverse transform with a guide table (Chen and Asau 1974): start near the result and step forward.
        position = self._guide[row * cardinality + (u * cardinality).astype(np.int64)]
        behind = np.flatnonzero(self._flat[position] <= target)
        while len(behind):
            position[behind] += 1
            behind = behind[self._flat[position[behind]] <= target[behind]]
        return position - row * cardinality

    def draw_evenly(self, row: np.ndarray, rng: KeyedRNG) -> np.ndarray:
        """Draw the child's code for each record of a row of the table, systematically; see :meth:`draw`."""
        configurations, cardinality = self.probabilities.shape
        order, u = _systematic_uniforms(row, configurations, rng)
        target = np.minimum(row[order] + u, self._ceiling[row[order]])  # sorted input makes the search fast
        drawn = np.empty(len(row), dtype=np.int64)
        drawn[order] = np.searchsorted(self._flat, target, side="right")
        return drawn - row * cardinality

    def log_probability(self, codes: np.ndarray) -> np.ndarray:
        """Return the natural log of ``P(child | parents)`` at each record of codes (n, m)."""
        log_probability: np.ndarray = self._log[self.given.of(codes), codes[:, self.child]]
        return log_probability


def _systematic_uniforms(row: np.ndarray, num_rows: int, rng: KeyedRNG) -> tuple[np.ndarray, np.ndarray]:
    """Systematic sampling within groups of equal ``row``: (random rank + one common uniform) / size."""
    # Each number is marginally uniform on [0, 1). Returns the records sorted by group and number, and the
    # numbers in this order.
    n = len(row)
    shuffled = rng.permutation(n)
    small = row.astype(np.min_scalar_type(num_rows))  # short integers: radix sort, linear in n
    order = shuffled[np.argsort(small[shuffled], kind="stable")]
    count = np.bincount(row, minlength=num_rows)
    group = row[order]
    rank = np.arange(n) - (np.cumsum(count) - count)[group]
    return order, np.minimum((rank + rng.uniform(num_rows)[group]) / count[group], np.nextafter(1.0, 0.0))


def spread_uniforms(key: np.ndarray, rng: KeyedRNG) -> np.ndarray:
    """Return numbers in [0, 1), (n,), spread evenly over records sorted by ``key``."""
    # Each number is marginally uniform. Of 2^k consecutive records that start at a multiple of 2^k, exactly
    # one falls in each interval of length 2^-k (nested scrambling, Owen 1995). Records with equal or similar
    # keys are therefore evenly spread.
    n = len(key)
    shuffled = rng.permutation(n)
    order = shuffled[np.argsort(key[shuffled], kind="stable")]
    levels = max(n - 1, 1).bit_length()
    points = np.arange(1 << levels)
    for level in range(levels):
        pairs, num_pairs = points.reshape(-1, 2), len(points) >> 1
        bits = np.unpackbits(np.frombuffer(rng.bytes((num_pairs + 7) >> 3), dtype=np.uint8))[:num_pairs]
        first = np.where(bits, pairs[:, 1], pairs[:, 0]).reshape(1 << level, 1, -1)
        second = (pairs[:, 0] + pairs[:, 1]).reshape(first.shape) - first
        points = np.concatenate([first, second], axis=1).ravel()
    u = np.empty(n)
    u[order] = np.minimum((points[:n] + rng.uniform(n)) / (1 << levels), np.nextafter(1.0, 0.0))
    return u


def num_configurations(buckets: Sequence[np.ndarray]) -> int:
    """Return the number of combinations of buckets."""
    return math.prod(int(bucket.max(initial=0)) + 1 for bucket in buckets)


def project_to_simplex(table: np.ndarray, total: float) -> np.ndarray:
    """Return the nearest table (Euclidean) with non-negative cells that sum to ``total``."""
    # Noise on empty cells cancels out. Clipping at zero would add about 0.4 noise deviations per empty cell.
    flat = np.sort(table.ravel())[::-1].astype(float)
    excess = np.cumsum(flat) - total
    rank = np.arange(1, flat.size + 1)
    last = np.flatnonzero(flat - excess / rank > 0)
    shift = excess[last[-1]] / rank[last[-1]] if len(last) else excess[-1] / flat.size
    return np.maximum(table - shift, 0.0)
