"""Columns that are independent given one of finitely many public nodes: every probability is exact.

A node is drawn evenly from fixed points that stand for a standard normal; given it every column is drawn by
itself. The seed step is Bayes' rule (docs/explanation/proofs/gaussian_copula.md, Theorem 2).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from scipy.special import logsumexp, ndtri

from sdv_plausible.models.base import PrefixModel
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

NODES = 2048  # a saved model means these nodes: another number is another model type
MOST_DIMENSIONS = 16
STRATUM = 32  # rows of like nodes whose draws lie evenly together
_BLOCK = 512  # prefixes whose weights of all nodes are held at once


@lru_cache(maxsize=MOST_DIMENSIONS + 1)
def nodes(factors: int) -> np.ndarray:
    """Fixed points (NODES, factors) spread like a standard normal: mean 0 and covariance 1 exactly."""
    # A Kronecker sequence of the generalised golden ratio, made normal, then whitened.
    if not factors:
        return np.zeros((NODES, 0))
    ratio = 2.0
    for _ in range(60):  # the root of x**(factors + 1) = x + 1
        ratio = (1.0 + ratio) ** (1.0 / (factors + 1))
    steps = ratio ** -np.arange(1.0, factors + 1)
    points = ndtri((0.5 + np.outer(np.arange(1, NODES + 1), steps)) % 1.0)
    points -= points.mean(axis=0)
    root = np.linalg.cholesky(points.T @ points / NODES)
    spread: np.ndarray = np.linalg.solve(root, points.T).T
    return spread


class NodeMixture(PrefixModel):
    """A mixture over :func:`nodes`: two methods say what a column is at a node."""

    @abstractmethod
    def log_probabilities(self, column: int) -> np.ndarray:
        """Log probability of every code of a column given every node, (codes, NODES)."""

    @abstractmethod
    def codes_of(self, column: int, chosen: np.ndarray, coins: KeyedRNG, stratum: int) -> np.ndarray:
        """Codes of a column for records with these nodes, even together in strata of so many like records."""

    def complete(
        self, codes: np.ndarray, kept: np.ndarray | int, coins: KeyedRNG, *, systematic: bool = False
    ) -> np.ndarray:
        """Draw the columns beyond the kept ones: a node given the kept codes, then each column given it."""
        lengths, order = np.broadcast_to(kept, len(codes)), np.array(self.order)
        for length in np.unique(lengths).tolist():
            rows = np.flatnonzero(lengths == length)
            uniform = even_uniform(len(rows), coins, len(rows) if systematic else 1)
            chosen, _ = self._choose(codes[np.ix_(rows, order[:length])], order[:length], uniform)
            for j in order[length:].tolist():
                codes[rows, j] = self.codes_of(j, chosen, coins, STRATUM if systematic else 1)
        return codes

    def complete_given(
        self, codes: np.ndarray, kept: int, known: Mapping[int, int | np.ndarray], coins: KeyedRNG
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw as :meth:`complete` given known codes too; the weight is their exact probability."""
        prefix = list(self.order[:kept])
        weight = np.zeros(len(codes))
        for column, code in known.items():
            if column in prefix:
                weight[codes[:, column] != code] = -np.inf
            codes[:, column] = code
        given = np.array(prefix + [j for j in known if j not in prefix], dtype=np.int64)
        chosen, likely = self._choose(codes[:, given], given, coins.uniform(len(codes)))
        _, prefixes = self._choose(codes[:, prefix], np.array(prefix, dtype=np.int64), None)
        for j in self.order:
            if j not in given:
                codes[:, j] = self.codes_of(j, chosen, coins, 1)
        return codes, weight + likely - prefixes

    def most_given(self, known: Mapping[int, np.ndarray], kept: int) -> np.ndarray:
        """Log weight at most: exactly the weight where nothing is kept, else that at the likeliest nodes."""
        if not kept:
            columns = np.array(list(known), dtype=np.int64)
            codes = np.stack([known[j] for j in known], axis=1)
            return self._choose(codes, columns, None)[1]
        found, prefix = super().most_given(known, kept), self.order[:kept]
        for column, code in known.items():
            if column not in prefix:
                found += self.log_probabilities(column).max(axis=1)[code]
        return found

    def log_completion(self, candidates: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """Exact log probability that each candidate is drawn from its kept values."""
        order, whole = np.array(self.order), np.empty(len(candidates))
        kept = np.broadcast_to(kept, len(candidates))
        _, everything = self._choose(candidates[:, order], order, None)
        for length in np.unique(kept).tolist():
            rows = np.flatnonzero(kept == length)
            _, part = self._choose(candidates[np.ix_(rows, order[:length])], order[:length], None)
            whole[rows] = everything[rows] - part
        return whole

    def _choose(
        self, codes: np.ndarray, columns: np.ndarray, uniform: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Node of each record given its codes in some columns; log probability of those codes."""
        n = len(codes)
        if not len(columns) or not n:
            even = np.zeros(n) if uniform is None else uniform
            return (even * NODES).astype(np.int64), np.zeros(n)
        different, which = np.unique(codes, axis=0, return_inverse=True)
        which = which.reshape(-1)
        tables = [self.log_probabilities(int(j)) for j in columns]
        chosen, likely = np.zeros(n, dtype=np.int64), np.empty(len(different))
        by_block = np.argsort(which // _BLOCK, kind="stable")
        ends = np.searchsorted(which[by_block] // _BLOCK, np.arange(len(different) // _BLOCK + 2))
        for block, start in enumerate(range(0, len(different), _BLOCK)):
            some = different[start : start + _BLOCK]
            log_weights = sum((t[some[:, i]] for i, t in enumerate(tables)), np.zeros((len(some), NODES)))
            likely[start : start + _BLOCK] = logsumexp(log_weights, axis=1) - np.log(NODES)
            if uniform is not None:
                rows = by_block[ends[block] : ends[block + 1]]
                chosen[rows] = _drawn(log_weights, which[rows] - start, uniform[rows])
        return chosen, likely[which]


def even_uniform(n: int, coins: KeyedRNG, stratum: int, by: np.ndarray | None = None) -> np.ndarray:
    """Uniform numbers in [0, 1), each uniform by itself, even together in strata of so many like rows."""
    uniform = np.asarray(coins.uniform(n))
    if stratum <= 1 or n <= 1:
        return uniform
    which = np.empty(n, dtype=np.int64)
    which[np.arange(n) if by is None else np.argsort(by, kind="stable")] = np.arange(n) // stratum
    place = np.lexsort((coins.uniform(n), which))
    position = np.empty(n)
    position[place] = np.arange(n) - which[place] * stratum
    even: np.ndarray = (position + uniform) / np.bincount(which)[which]
    return np.minimum(even, 1 - 2.0**-53)


def _drawn(log_weights: np.ndarray, which: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Node of each record: by the weights of its prefix (row ``which``), by inversion."""
    below = np.cumsum(np.exp(log_weights - log_weights.max(axis=1, keepdims=True)), axis=1)
    below = below / below[:, -1:] + np.arange(len(below))[:, None]
    found = np.searchsorted(below.reshape(-1), which + uniform, side="right") - which * NODES
    return np.minimum(found, NODES - 1)
