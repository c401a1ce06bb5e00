"""Plausible seeds: seed records that could have produced a candidate with about the same probability.

Partition numbers follow Privacy Test 1 of Bindschaedler, Shokri and Gunter (PVLDB 2017, section 2): a record
d is in partition i of candidate y if ``gamma**-(i+1) < Pr[y = M(d)] <= gamma**-i``. The *plausible seeds* of
y are the seed records in the partition of the record that produced y. Their number is the test's ``k'``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

DENSE_KEYS = 1 << 22  # up to this many keys, a table of counts is faster than a sorted list
KEY_LIMIT = 1 << 62  # mixed-radix keys must fit int64


def partition_number(log_likelihood: np.ndarray, gamma: float) -> np.ndarray:
    """Partition number of each natural-log likelihood: ``floor(-log_gamma p)``."""
    # Integers (for gamma 1 the negative log likelihoods), +inf where the likelihood is 0. Densities may
    # exceed 1, so partition numbers may be negative.
    if gamma == 1:
        return -log_likelihood
    with np.errstate(divide="ignore"):
        return np.floor(-log_likelihood / np.log(gamma))


def scan_plausible_seeds(
    log_likelihood: Callable[[np.ndarray], np.ndarray],
    own: np.ndarray,
    num_seeds: int,
    *,
    gamma: float,
    chunk: int = 4096,
) -> np.ndarray:
    """Count each candidate's plausible seeds k', its own seed included, by a scan of all records."""
    # O(candidates x seeds), for any model. ``log_likelihood`` maps seed row numbers (s,) to log likelihoods
    # (n_candidates, s); ``own`` (n_candidates,) holds those under the candidates' own seeds.
    wanted = partition_number(own, gamma)
    counts = np.zeros(len(own), dtype=np.int64)
    for start in range(0, num_seeds, chunk):
        rows = np.arange(start, min(start + chunk, num_seeds))
        numbers = partition_number(log_likelihood(rows), gamma)
        # A candidate that its own seed cannot produce has no plausible seeds: inf == inf must not count.
        counts += ((numbers == wanted[:, None]) & np.isfinite(wanted)[:, None]).sum(axis=1)
    return counts


class PrefixGroups:
    """Sizes of the groups of seed records that agree on the first attributes of the resampling order.

    The likelihood that a record produces y depends on the record only through the length of their common
    prefix (docs/explanation/proofs/prefix_groups.md). So plausible seeds are counted by look-up instead of a
    scan. ``seeds`` has shape (n, m), with columns in the resampling order sigma.
    """

    def __init__(self, seeds: np.ndarray, cardinalities: Sequence[int]) -> None:
        self._seeds = seeds
        self._cardinalities = tuple(int(c) for c in cardinalities)
        self._levels: dict[int, _PrefixCounts] = {}

    @property
    def num_seeds(self) -> int:
        """Number of seed records."""
        return len(self._seeds)

    def sizes(self, candidates: np.ndarray, length: int) -> np.ndarray:
        """Size of the group of each candidate's first ``length`` values, shape (N,), for length 0..m."""
        return self._level(length).sizes(candidates)

    def groups(self, length: int) -> tuple[np.ndarray, np.ndarray]:
        """Distinct seed prefixes, shape (g, length), and their group sizes, shape (g,)."""
        if length == 0:
            return np.empty((1, 0), dtype=self._seeds.dtype), np.array([self.num_seeds], dtype=np.int64)
        level = self._level(length)
        _, first, counts = np.unique(level.keys(self._seeds), return_index=True, return_counts=True)
        return self._seeds[first, :length], counts.astype(np.int64)

    def shared_length(self, candidates: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Length of the common prefix of candidate i and seed record rows[i], shape (N,)."""
        equal = candidates == self._seeds[rows]
        return np.where(equal.all(axis=1), equal.shape[1], np.argmin(equal, axis=1))

    def _level(self, length: int) -> _PrefixCounts:
        if length not in self._levels:
            self._levels[length] = _PrefixCounts(self._seeds, self._cardinalities[:length])
        return self._levels[length]


class _PrefixCounts:
    """Group sizes at one prefix length, by mixed-radix keys; keys are ranked where they outgrow 64 bits."""

    def __init__(self, seeds: np.ndarray, cardinalities: tuple[int, ...]) -> None:
        self._spans: list[tuple[int, int]] = []  # attributes [start, stop) folded into one key
        self._ranks: list[np.ndarray] = []  # distinct keys after each span but the last
        self._cardinalities = cardinalities
        start, largest = 0, KEY_LIMIT
        radix = 1
        for stop, cardinality in enumerate(cardinalities):
            if radix * cardinality > largest:
                self._spans.append((start, stop))
                distinct = np.unique(self._fold(seeds, len(self._spans) - 1))
                self._ranks.append(distinct)
                start, radix, largest = stop, 1, KEY_LIMIT // max(1, len(distinct))
            radix *= cardinality
        self._spans.append((start, len(cardinalities)))
        keys = self.keys(seeds)
        self._dense = not self._ranks and radix <= DENSE_KEYS
        if self._dense:
            self._counts = np.bincount(keys, minlength=radix)
        else:
            self._distinct, counts = np.unique(keys, return_counts=True)
            self._counts = np.append(counts, 0)  # position -1: no seed has this key

    def _fold(self, codes: np.ndarray, last: int) -> np.ndarray:
        """Key of each row up to span ``last``; -1 where an earlier span matches no seed."""
        key = np.zeros(len(codes), dtype=np.int64)
        for number, (start, stop) in enumerate(self._spans[: last + 1]):
            for j in range(start, stop):
                np.multiply(key, self._cardinalities[j], out=key, where=key >= 0)
                np.add(key, codes[:, j], out=key, where=key >= 0)
            if number < last:
                key = _rank(self._ranks[number], key)
        return key

    def keys(self, codes: np.ndarray) -> np.ndarray:
        if len(self._spans) == 1:  # the usual case: no unmatched keys
            key = np.zeros(len(codes), dtype=np.int64)
            for j, cardinality in enumerate(self._cardinalities):
                key *= cardinality
                key += codes[:, j]
            return key
        return self._fold(codes, len(self._spans) - 1)

    def sizes(self, codes: np.ndarray) -> np.ndarray:
        keys = self.keys(codes)
        if self._dense:
            sizes: np.ndarray = self._counts[keys]
            return sizes
        return self._counts[_rank(self._distinct, keys)]


def _rank(distinct: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Position of each key among the sorted distinct keys; -1 where it is absent."""
    positions = np.searchsorted(distinct, keys)
    positions[positions == len(distinct)] = 0
    return np.where(distinct[positions] == keys, positions, -1) if len(distinct) else np.full(len(keys), -1)
