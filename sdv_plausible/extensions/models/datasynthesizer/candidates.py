"""Which attributes and parent sets GreedyBayes may choose from in one step: nothing here looks at rows."""

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
LISTED = 20_000  # so many are listed before they are drawn from
Pair = tuple[int, tuple[int, ...]]


@dataclass(frozen=True, kw_only=True)
class AttributeLevels:
    """Every attribute at every level of detail, from noisy margins."""

    axes: Sequence[Axes]  # by level, then by attribute
    most_cells: float  # bound on the cells of a conditional table, so that noise leaves something of it

    @classmethod
    def make(cls, domain: Domain, margins: Sequence[np.ndarray], most_cells: float) -> AttributeLevels:
        """Cut every attribute into buckets of about equal noisy mass."""
        known = list(zip(domain, margins, strict=True))
        axes = [
            [Axis(j, default_buckets(attribute, margin, most)) for j, (attribute, margin) in enumerate(known)]
            for most in LEVELS
        ]
        return cls(axes=axes, most_cells=most_cells)

    def finest(self, child: int, parents: Sequence[int]) -> tuple[Axis, Axes] | None:
        """Return the finest level at which the table of a child and its parents is small enough."""
        for level in self.axes:
            if math.prod(level[j].size for j in (child, *parents)) <= self.most_cells:
                return level[child], [level[j] for j in parents]
        return None


def candidates(
    visited: Sequence[int], rest: Sequence[int], max_parents: int, most: int, coins: KeyedRNG
) -> list[Pair]:
    """Return attributes with parent sets of 1 to ``max_parents`` visited ones: all, or ``most`` by lot."""
    # Beyond ``most`` a random subset is drawn, which sees no row, so the choice costs what it costs for any
    # fixed set (docs/explanation/proofs/greedy_bayes.md, Theorem 3). ``max_parents`` is the paper's k.
    sizes = range(1, min(max_parents, len(visited)) + 1)
    number = len(rest) * sum(math.comb(len(visited), size) for size in sizes)
    if number > max(LISTED, 4 * most):
        return list(itertools.islice(_drawn(visited, rest, max_parents, coins), most))
    everything = [
        (child, parents)
        for size in sizes
        for parents in itertools.combinations(visited, size)
        for child in rest
    ]
    return everything if number <= most else [everything[i] for i in coins.permutation(number)[:most]]


def _drawn(visited: Sequence[int], rest: Sequence[int], max_parents: int, coins: KeyedRNG) -> Iterator[Pair]:
    """Draw candidates, each once, without an end: every size is as likely as any other."""
    seen = set()
    largest = min(max_parents, len(visited))
    while True:
        child = rest[coins.integers(len(rest))]
        size = 1 + coins.integers(largest)
        parents = tuple(sorted(visited[i] for i in coins.permutation(len(visited))[:size]))
        if (child, parents) not in seen:
            seen.add((child, parents))
            yield child, parents


GRID = 2.0**-10  # bits; computed scores are exact to half a step of it up to 2**34 rows


@dataclass(frozen=True)
class MutualInformation:
    """``n I(X; parents)`` of every candidate, in whole steps of ``GRID``."""

    # Attribute and parents; buckets are public or from earlier answers
    candidates: Sequence[tuple[Axis, Axes]]
    most_rows: int  # upper bound on the rows of the larger of two neighbours, from an earlier answer
    proof = "docs/explanation/proofs/greedy_bayes.md, Theorems 1 and 2"

    def asked(self) -> QueryRecord:
        """Say what is asked."""
        tables = tuple((*parents, child) for child, parents in self.candidates)
        return QueryRecord(kind="mutual information", tables=tables, details={"most_rows": self.most_rows})

    def exact(self, rows: ExactCounts) -> np.ndarray:
        """Return one score for each candidate, shape (number of candidates,)."""
        sets = [(*parents, child) for child, parents in self.candidates]
        bits = [rows_times_information(table) for table in rows.tables(sets)]
        return np.rint(np.array(bits) / GRID).astype(np.int64)

    def sensitivity(self, neighbours: Neighbours) -> float:
        """Return the most that any one score moves; whoever is replaced leaves first and comes back then."""
        steps = information_sensitivity_in_steps(self.most_rows, GRID, neighbours.rows)
        return float(2 * steps if neighbours.replace else steps)


def rows_times_information(table: np.ndarray) -> float:
    """Return n times the mutual information, in bits, of the last axis of counts and all others together."""
    pairs = table.reshape(-1, table.shape[-1])
    parts = (pairs, pairs.sum(axis=0), pairs.sum(axis=1), pairs.sum())
    both, child, parents, n = (float(xlogy(part, part).sum()) for part in parts)
    return (n + both - child - parents) / float(np.log(2))
