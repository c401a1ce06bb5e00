"""Slow, obvious reference implementations of what the spine computes fast: plain loops, exact fractions.

Nothing here calls the package's own arithmetic: a network is read through its public fields only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

Row = Sequence[int]


def universe(cardinalities: Sequence[int]) -> list[tuple[int, ...]]:
    """Every possible row."""
    return list(itertools.product(*(range(c) for c in cardinalities)))


# --- seed-based synthesis (section 3.2 of the paper) ------------------------------------------------------------------


def conditional(table: Any, y: Row) -> Fraction:
    """P(y's child value | buckets of y's parents), exactly as stored."""
    row = 0
    for parent, bucket in zip(table.parents, table.buckets, strict=True):
        row = row * (max(int(b) for b in bucket) + 1) + int(bucket[y[parent]])
    return Fraction(float(table.probabilities[row, y[table.child]]))


def likelihood(tables: Sequence[Any], y: Row, seed: Row, omega: int) -> Fraction:
    """Pr[y = M(seed)]: the first m - omega attributes of the order are the seed's, the others are drawn."""
    p = Fraction(1)
    for position, table in enumerate(tables):
        if position < len(tables) - omega:
            p *= int(y[table.child] == seed[table.child])
        else:
            p *= conditional(table, y)
    return p


def mixture(tables: Sequence[Any], y: Row, seed: Row, omegas: Sequence[int]) -> Fraction:
    """Pr[y = M(seed)] where omega is drawn uniformly from ``omegas``: the sum over omega."""
    return sum((likelihood(tables, y, seed, omega) for omega in omegas), Fraction(0)) / len(omegas)


# --- plausible seeds (section 2, Privacy Test 1) ----------------------------------------------------------------------


def partition(p: Fraction, gamma: Fraction) -> int | None:
    """The i with gamma^-(i+1) < p <= gamma^-i; None for p = 0."""
    if p == 0:
        return None
    i = 0
    while p > gamma**-i:
        i -= 1
    while p <= gamma ** -(i + 1):
        i += 1
    return i


def plausible_seeds(
    tables: Sequence[Any], y: Row, own: Row, seeds: Iterable[Row], omegas: Sequence[int], gamma: Fraction
) -> int:
    """Number of seeds in the partition of the record that made y."""
    wanted = partition(mixture(tables, y, own, omegas), gamma)
    return sum(partition(mixture(tables, y, seed, omegas), gamma) == wanted for seed in seeds)


def prefix_size(seeds: Iterable[Row], y: Row, length: int) -> int:
    """Seeds that agree with y on the first ``length`` columns."""
    wanted = [int(code) for code in y[:length]]
    return sum([int(code) for code in seed[:length]] == wanted for seed in seeds)


def shared_length(y: Row, seed: Row) -> int:
    """Number of leading columns on which two rows agree."""
    return next((i for i, (a, b) in enumerate(zip(y, seed, strict=True)) if a != b), len(y))


# --- learning (section 3.3) -------------------------------------------------------------------------------------------


def conditional_counts(
    codes: Iterable[Row], child: int, cardinality: int, parents: Row, buckets: Any
) -> list[list[int]]:
    """Rows per (combination of the parents' buckets, child value), first parent most significant."""
    sizes = [max(b) + 1 for b in buckets]
    combinations = list(itertools.product(*(range(s) for s in sizes)))
    counts = [[0] * cardinality for _ in combinations]
    for row in codes:
        found = tuple(bucket[row[parent]] for parent, bucket in zip(parents, buckets, strict=True))
        counts[combinations.index(found)][row[child]] += 1
    return counts


def entropy(values: Sequence[Any]) -> float:
    """Entropy in bits of the empirical distribution of a list of values."""
    n = len(values)
    shares = [sum(w == v for w in values) / n for v in set(values)]
    return -sum(p * math.log2(p) for p in shares)


def symmetrical_uncertainty(x: Sequence[int], y: Sequence[int]) -> float:
    """Eq. 5: 2 - 2 H(x, y) / (H(x) + H(y)); 0 where nothing varies."""
    total = entropy(x) + entropy(y)
    return 2 - 2 * entropy(list(zip(x, y, strict=True))) / total if total else 0.0


def cfs_merit(correlation: np.ndarray, child: int, parents: Sequence[int]) -> float:
    """Eq. 4: sum of correlations with the child over the root of (number of parents + correlations among them)."""
    if not parents:
        return 0.0
    among = sum(correlation[a, b] for a in parents for b in parents if a != b)
    return float(sum(correlation[child, p] for p in parents) / math.sqrt(len(parents) + among))


def greedy_parents(correlation: np.ndarray, sizes: Sequence[int], max_cost: int) -> list[set[int]]:
    """Add the arc with the largest gain until none gains; needs gains without ties to be unique."""
    m = len(sizes)
    parents: list[list[int]] = [[] for _ in range(m)]
    while True:
        gains = {}
        for child, parent in itertools.permutations(range(m), 2):
            trial = [list(p) for p in parents]
            trial[child].append(parent)
            is_dear = math.prod(sizes[p] for p in trial[child]) > max_cost
            if parent not in parents[child] and is_acyclic(trial) and not is_dear:
                before = cfs_merit(correlation, child, parents[child])
                gains[child, parent] = cfs_merit(correlation, child, trial[child]) - before
        best = max(gains, key=lambda arc: gains[arc], default=None)
        if best is None or gains[best] <= 1e-12:
            return [set(p) for p in parents]
        parents[best[0]].append(best[1])


def is_acyclic(parents: Sequence[Iterable[int]]) -> bool:
    """Whether one can take away parentless attributes until nothing is left."""
    left = {child: set(chosen) for child, chosen in enumerate(parents)}
    while left:
        free = [child for child, chosen in left.items() if not chosen & set(left)]
        if not free:
            return False
        for child in free:
            del left[child]
    return True
