"""Mixture over finitely many public nodes, given which columns are independent: exact probabilities.

A node is drawn uniformly from fixed points that represent a standard normal. Given the node, each column is
drawn independently. The seed step is Bayes' rule (docs/explanation/proofs/gaussian_copula.md, Theorem 2).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from scipy.special import logsumexp, ndtri

from sdv_plausible.models.base import PrefixModel
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

NODES = 2048  # saved models depend on this number: change it only together with the model type
MOST_DIMENSIONS = 16
STRATUM = 32  # rows with similar nodes whose draws are stratified together
_BLOCK = 512  # prefixes per block of node weights


@lru_cache(maxsize=MOST_DIMENSIONS + 1)
def nodes(factors: int) -> np.ndarray:
    """Return fixed points (NODES, factors) that approximate a standard normal: mean 0 and covariance 1."""
    # A Kronecker sequence of the generalised golden ratio, transformed to normal and whitened.
    if not factors:
        return np.zeros((NODES, 0))
    ratio = 2.0
    for _ in range(60):  # solves x**(factors + 1) = x + 1
        ratio = (1.0 + ratio) ** (1.0 / (factors + 1))
    steps = ratio ** -np.arange(1.0, factors + 1)
    points = ndtri((0.5 + np.outer(np.arange(1, NODES + 1), steps)) % 1.0)
    points -= points.mean(axis=0)
    root = np.linalg.cholesky(points.T @ points / NODES)
    spread: np.ndarray = np.linalg.solve(root, points.T).T
    return spread


class NodeMixture(PrefixModel):
    """Mixture over :func:`nodes`; subclasses define the distribution of a column at a node."""

    @abstractmethod
    def log_probabilities(self, column: int) -> np.ndarray:
        """Return the log probability of every code of a column given every node, (codes, NODES)."""

    @abstractmethod
    def codes_of(self, column: int, chosen: np.ndarray, rng: KeyedRNG, stratum: int) -> np.ndarray:
        """Draw codes of a column for records with these nodes, stratified over similar records."""

    def complete(
        self, codes: np.ndarray, kept: np.ndarray | int, rng: KeyedRNG, *, systematic: bool = False
    ) -> np.ndarray:
        """Draw the columns after the kept ones: a node given the kept codes, then each column."""
        lengths, order = np.broadcast_to(kept, len(codes)), np.array(self.order)
        for length in np.unique(lengths).tolist():
            rows = np.flatnonzero(lengths == length)
            uniform = even_uniform(len(rows), rng, len(rows) if systematic else 1)
            chosen, _ = self._choose(codes[np.ix_(rows, order[:length])], order[:length], uniform)
            for j in order[length:].tolist():
                codes[rows, j] = self.codes_of(j, chosen, rng, STRATUM if systematic else 1)
        return codes

    def complete_given(
        self, codes: np.ndarray, kept: int, known: Mapping[int, int | np.ndarray], rng: KeyedRNG
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw as :meth:`complete` given fixed codes; the weight is their exact probability."""
        prefix = list(self.order[:kept])
        weight = np.zeros(len(codes))
        for column, code in known.items():
            if column in prefix:
                weight[codes[:, column] != code] = -np.inf
            codes[:, column] = code
        given = np.array(prefix + [j for j in known if j not in prefix], dtype=np.int64)
        chosen, log_joint = self._choose(codes[:, given], given, rng.uniform(len(codes)))
        _, log_prefix = self._choose(codes[:, prefix], np.array(prefix, dtype=np.int64), None)
        for j in self.order:
            if j not in given:
                codes[:, j] = self.codes_of(j, chosen, rng, 1)
        return codes, weight + log_joint - log_prefix

    def max_log_weight(self, known: Mapping[int, np.ndarray], kept: int) -> np.ndarray:
        """Return the log weight if nothing is kept, else a bound from the likeliest node of each column."""
        if not kept:
            columns = np.array(list(known), dtype=np.int64)
            codes = np.stack([known[j] for j in known], axis=1)
            return self._choose(codes, columns, None)[1]
        bound, prefix = super().max_log_weight(known, kept), self.order[:kept]
        for column, code in known.items():
            if column not in prefix:
                bound += self.log_probabilities(column).max(axis=1)[code]
        return bound

    def log_completion(self, candidates: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """Return the exact log probability of each candidate given its kept values."""
        order, log_p = np.array(self.order), np.empty(len(candidates))
        kept = np.broadcast_to(kept, len(candidates))
        _, log_joint = self._choose(candidates[:, order], order, None)
        for length in np.unique(kept).tolist():
            rows = np.flatnonzero(kept == length)
            _, log_prefix = self._choose(candidates[np.ix_(rows, order[:length])], order[:length], None)
            log_p[rows] = log_joint[rows] - log_prefix
        return log_p

    def _choose(
        self, codes: np.ndarray, columns: np.ndarray, uniform: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sample a node per record given its codes in some columns; also return their log probability."""
        n = len(codes)
        if not len(columns) or not n:
            u = np.zeros(n) if uniform is None else uniform
            return (u * NODES).astype(np.int64), np.zeros(n)
        unique, inverse = np.unique(codes, axis=0, return_inverse=True)
        inverse = inverse.reshape(-1)
        tables = [self.log_probabilities(int(j)) for j in columns]
        chosen, log_p = np.zeros(n, dtype=np.int64), np.empty(len(unique))
        by_block = np.argsort(inverse // _BLOCK, kind="stable")
        ends = np.searchsorted(inverse[by_block] // _BLOCK, np.arange(len(unique) // _BLOCK + 2))
        for block, start in enumerate(range(0, len(unique), _BLOCK)):
            prefixes = unique[start : start + _BLOCK]
            log_weights = sum(
                (t[prefixes[:, i]] for i, t in enumerate(tables)), np.zeros((len(prefixes), NODES))
            )
            log_p[start : start + _BLOCK] = logsumexp(log_weights, axis=1) - np.log(NODES)
            if uniform is not None:
                rows = by_block[ends[block] : ends[block + 1]]
                chosen[rows] = _sample_nodes(log_weights, inverse[rows] - start, uniform[rows])
        return chosen, log_p[inverse]


def even_uniform(n: int, rng: KeyedRNG, stratum: int, by: np.ndarray | None = None) -> np.ndarray:
    """Return uniform numbers in [0, 1), stratified over ``stratum`` rows that are similar in ``by``."""
    uniform = np.asarray(rng.uniform(n))
    if stratum <= 1 or n <= 1:
        return uniform
    stratum_of = np.empty(n, dtype=np.int64)
    stratum_of[np.arange(n) if by is None else np.argsort(by, kind="stable")] = np.arange(n) // stratum
    order = np.lexsort((rng.uniform(n), stratum_of))
    rank = np.empty(n)
    rank[order] = np.arange(n) - stratum_of[order] * stratum
    stratified: np.ndarray = (rank + uniform) / np.bincount(stratum_of)[stratum_of]
    return np.minimum(stratified, 1 - 2.0**-53)


def _sample_nodes(log_weights: np.ndarray, prefix: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Sample a node for each record by inversion of the weights of its prefix."""
    cumulative = np.cumsum(np.exp(log_weights - log_weights.max(axis=1, keepdims=True)), axis=1)
    cumulative = cumulative / cumulative[:, -1:] + np.arange(len(cumulative))[:, None]
    chosen = np.searchsorted(cumulative.reshape(-1), prefix + uniform, side="right") - prefix * NODES
    return np.minimum(chosen, NODES - 1)
