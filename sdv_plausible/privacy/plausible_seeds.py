"""Plausible seeds: how many records could have produced a candidate with about the same probability.

Partition numbers follow Privacy Test 1 of Bindschaedler, Shokri and Gunter (PVLDB 2017, section 2): a record
d lies in partition i of candidate y if ``gamma**-(i+1) < Pr[y = M(d)] <= gamma**-i``. The *plausible seeds*
of y are the seed records in the partition of the record that produced y; their number is the test's ``k'``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

DENSE_KEYS = 1 << 22  # below this many keys a table of counts beats a sorted list
KEY_LIMIT = 1 << 62  # mixed-radix keys must fit int64


def partition_number(log_likelihood: np.ndarray, gamma: float) -> np.ndarray:
    """Partition of each natural-log likelihood: ``floor(-log_gamma p)``."""
    # Whole numbers (at gamma 1 the likelihoods' negative logarithms), +inf where the likelihood is 0.
    # Densities may exceed 1, so that partitions may be negative.
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
    """Number k' of plausible seeds of each candidate, its own included, by a look at every record."""
    # O(candidates x seeds), for any model: ``log_likelihood`` maps seed row numbers (s,) to logarithms
    # (n_candidates, s), ``own`` (n_candidates,) is under the seed that produced it.
    wanted = partition_number(own, gamma)
    found = np.zeros(len(own), dtype=np.int64)
    for start in range(0, num_seeds, chunk):
        rows = np.arange(start, min(start + chunk, num_seeds))
        numbers = partition_number(log_likelihood(rows), gamma)
        # A candidate that cannot be produced by its own seed does not exist; inf == inf must not count.
        found += ((numbers == wanted[:, None]) & np.isfinite(wanted)[:, None]).sum(axis=1)
    return found


class PrefixGroups:
    """Sizes of the groups of seed records that agree on the first attributes of the resampling order.

    A record's likelihood of producing y depends on the record only through the length of the prefix they
    share (docs/explanation/proofs/prefix_groups.md), so plausible seeds are counted by look-up instead of a
    scan. ``seeds`` has shape (n, m), columns in the resampling order sigma.
    """

    def __init__(self, seeds: np.ndarray, cardinalities: Sequence[int]) -> None:
        self._seeds = seeds
        self._cardinalities = tuple(int(c) for c in cardinalities)
        self._levels: dict[int, _Level] = {}

    @property
    def num_seeds(self) -> int:
        """Number of seed records."""
        return len(self._seeds)

    def sizes(self, candidates: np.ndarray, length: int) -> np.ndarray:
        """Size of each candidate's prefix group, shape (N,): those of its first ``length`` (0..m) values."""
        return self._level(length).sizes(candidates)

    def groups(self, length: int) -> tuple[np.ndarray, np.ndarray]:
        """Prefixes present among the seeds, shape (g, length), and their sizes, shape (g,)."""
        if length == 0:
            return np.empty((1, 0), dtype=self._seeds.dtype), np.array([self.num_seeds], dtype=np.int64)
        level = self._level(length)
        _, first, counts = np.unique(level.keys(self._seeds), return_index=True, return_counts=True)
        return self._seeds[first, :length], counts.astype(np.int64)

    def shared_length(self, candidates: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Length of the common prefix of candidate i and seed record rows[i], shape (N,)."""
        equal = candidates == self._seeds[rows]
        return np.where(equal.all(axis=1), equal.shape[1], np.argmin(equal, axis=1))

    def _level(self, length: int) -> _Level:
        if length not in self._levels:
            self._levels[length] = _Level(self._seeds, self._cardinalities[:length])
        return self._levels[length]


class _Level:
    """Group sizes at one prefix length: mixed-radix keys, ranked in between where they outgrow 64 bits."""

    def __init__(self, seeds: np.ndarray, cardinalities: tuple[int, ...]) -> None:
        self._spans: list[tuple[int, int]] = []  # attributes [start, stop) that are folded into one key
        self._ranks: list[np.ndarray] = []  # distinct keys after each span but the last
        self._cardinalities = cardinalities
        start, room = 0, KEY_LIMIT
        radix = 1
        for stop, cardinality in enumerate(cardinalities):
            if radix * cardinality > room:
                self._spans.append((start, stop))
                distinct = np.unique(self._fold(seeds, len(self._spans) - 1))
                self._ranks.append(distinct)
                start, radix, room = stop, 1, KEY_LIMIT // max(1, len(distinct))
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
        """Key of each row after span ``last``; -1 where an earlier span matches no seed."""
        key = np.zeros(len(codes), dtype=np.int64)
        for number, (start, stop) in enumerate(self._spans[: last + 1]):
            for j in range(start, stop):
                np.multiply(key, self._cardinalities[j], out=key, where=key >= 0)
                np.add(key, codes[:, j], out=key, where=key >= 0)
            if number < last:
                key = _rank(self._ranks[number], key)
        return key

    def keys(self, codes: np.ndarray) -> np.ndarray:
        if len(self._spans) == 1:  # the usual case, without the bookkeeping of unmatched keys
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
    """Position of each key among the sorted distinct ones; -1 where it is not there."""
    where = np.searchsorted(distinct, keys)
    where[where == len(distinct)] = 0
    return np.where(distinct[where] == keys, where, -1) if len(distinct) else np.full(len(keys), -1)
