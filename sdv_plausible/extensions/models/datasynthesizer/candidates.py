"""Candidate attributes and parent sets of a GreedyBayes step, and their mutual information."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from sdv_plausible.models.buckets import default_buckets
from sdv_plausible.privacy.accounting.sensitivity import information_sensitivity_in_steps
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import Axes, Axis, ExactCounts, QueryRecord
from sdv_plausible.table.columns.domain import Domain

LEVELS = (20, 14, 10, 7, 5, 4, 3, 2)  # numbers of buckets, fine to coarse
LISTED = 20_000  # largest number of candidates that are enumerated before sampling
Pair = tuple[int, tuple[int, ...]]


@dataclass(frozen=True, kw_only=True)
class AttributeLevels:
    """Axes of every attribute at every level of detail, from noisy margins."""

    axes: Sequence[Axes]  # by level, then by attribute
    most_cells: float  # largest number of cells of a conditional table with acceptable noise

    @classmethod
    def make(cls, domain: Domain, margins: Sequence[np.ndarray], most_cells: float) -> AttributeLevels:
        """Cut every attribute into buckets of about equal noisy mass."""
        attributes = list(zip(domain, margins, strict=True))
        axes = [
            [
                Axis(j, default_buckets(attribute, margin, most))
                for j, (attribute, margin) in enumerate(attributes)
            ]
            for most in LEVELS
        ]
        return cls(axes=axes, most_cells=most_cells)

    def finest(self, child: int, parents: Sequence[int]) -> tuple[Axis, Axes] | None:
        """Return the axes at the finest level at which the table of a child and its parents fits."""
        for level in self.axes:
            if math.prod(level[j].size for j in (child, *parents)) <= self.most_cells:
                return level[child], [level[j] for j in parents]
        return None


def candidates(
    visited: Sequence[int], remaining: Sequence[int], max_parents: int, most: int, coins: KeyedRNG
) -> list[Pair]:
    """Return attributes with 1 to ``max_parents`` visited parents: all, or a random sample of ``most``."""
    # The sample does not depend on the rows, so the choice costs as much as with a fixed set
    # (docs/explanation/proofs/greedy_bayes.md, Theorem 3). ``max_parents`` is the paper's k.
    sizes = range(1, min(max_parents, len(visited)) + 1)
    number = len(remaining) * sum(math.comb(len(visited), size) for size in sizes)
    if number > max(LISTED, 4 * most):
        return list(itertools.islice(_sample_candidates(visited, remaining, max_parents, coins), most))
    pairs = [
        (child, parents)
        for size in sizes
        for parents in itertools.combinations(visited, size)
        for child in remaining
    ]
    return pairs if number <= most else [pairs[i] for i in coins.permutation(number)[:most]]


def _sample_candidates(
    visited: Sequence[int], remaining: Sequence[int], max_parents: int, coins: KeyedRNG
) -> Iterator[Pair]:
    """Sample distinct candidates without end; every number of parents is equally likely."""
    seen = set()
    largest = min(max_parents, len(visited))
    while True:
        child = remaining[coins.integers(len(remaining))]
        size = 1 + coins.integers(largest)
        parents = tuple(sorted(visited[i] for i in coins.permutation(len(visited))[:size]))
        if (child, parents) not in seen:
            seen.add((child, parents))
            yield child, parents


GRID = 2.0**-10  # bits; computed scores are exact to half a step up to 2**34 rows


@dataclass(frozen=True)
class MutualInformation:
    """``n I(X; parents)`` of every candidate, in integer steps of ``GRID``."""

    # Attribute and parents. Buckets are public or from earlier answers
    candidates: Sequence[tuple[Axis, Axes]]
    most_rows: int  # upper bound on the rows of the larger of two neighbouring tables, from an earlier answer
    proof = "docs/explanation/proofs/greedy_bayes.md, Theorems 1 and 2"

    def asked(self) -> QueryRecord:
        """Return the record of the query."""
        tables = tuple((*parents, child) for child, parents in self.candidates)
        return QueryRecord(kind="mutual information", tables=tables, details={"most_rows": self.most_rows})

    def exact(self, rows: ExactCounts) -> np.ndarray:
        """Return one score per candidate, shape (number of candidates,)."""
        sets = [(*parents, child) for child, parents in self.candidates]
        bits = [rows_times_information(table) for table in rows.tables(sets)]
        return np.rint(np.array(bits) / GRID).astype(np.int64)

    def sensitivity(self, neighbours: Neighbours) -> float:
        """Return the sensitivity of a score; a replacement counts as a removal and an addition."""
        steps = information_sensitivity_in_steps(self.most_rows, GRID, neighbours.rows)
        return float(2 * steps if neighbours.replace else steps)


def rows_times_information(table: np.ndarray) -> float:
    """Return n times the mutual information, in bits, of the last axis of counts and all others together."""
    pairs = table.reshape(-1, table.shape[-1])
    parts = (pairs, pairs.sum(axis=0), pairs.sum(axis=1), pairs.sum())
    both, child, parents, n = (float(xlogy(part, part).sum()) for part in parts)
    return (n + both - child - parents) / float(np.log(2))
