"""A small network that tests share, and Pearson's test of rows against exact probabilities over its universe."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import oracles
from scipy.stats import chi2

from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.models.conditional_table import ConditionalTable
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

CARDS = (2, 3, 2, 4)
UNIVERSE = oracles.universe(CARDS)
FALSE_ALARM = 1e-6  # of every test by p_value; the coins are fixed, so that a pass stays a pass


def table(
    child: int, parents: Any, buckets: Any, cardinality: int, rng: Any, zeros: bool = False
) -> ConditionalTable:
    """A random table; ``zeros`` puts an impossible cell into every row."""
    configurations = math.prod(int(max(b)) + 1 for b in buckets)
    p = rng.dirichlet(np.ones(cardinality), configurations)
    if zeros and cardinality > 1:
        p[np.arange(configurations), rng.integers(0, cardinality, configurations)] = 0
    p /= p.sum(axis=1, keepdims=True)
    parts = {"parents": tuple(parents), "buckets": tuple(np.array(b) for b in buckets)}
    return ConditionalTable(child=child, **parts, probabilities=p)


def network() -> BayesianNetwork:
    """Order 2, 0, 1, 3; the last column has two parents, one of them in buckets; two tables have impossible cells."""
    rng = np.random.default_rng(3)
    first = (
        table(2, (), (), 2, rng),
        table(0, (2,), ([0, 1],), 2, rng),
        table(1, (0,), ([0, 1],), 3, rng, zeros=True),
    )
    return BayesianNetwork([*first, table(3, (1, 0), ([1, 0, 1], [0, 1]), 4, rng, zeros=True)])


def p_value(codes: np.ndarray, probabilities: Sequence[Fraction]) -> float:
    """Chi-square p-value of rows against exact probabilities over the universe; 0 if an impossible row occurs."""
    observed = np.bincount(np.ravel_multi_index(tuple(codes.T), CARDS), minlength=len(UNIVERSE))
    expected = len(codes) * np.array(probabilities, dtype=float)
    if observed[expected == 0].any():
        return 0.0
    used = expected > 0
    small = used & (expected < 5)  # pooled, where the chi-square law would not hold
    observed = np.append(observed[used & ~small], observed[small].sum())
    expected = np.append(expected[used & ~small], expected[small].sum())
    observed, expected = observed[expected > 0], expected[expected > 0]
    if len(expected) < 2:
        return 1.0
    return float(chi2.sf(((observed - expected) ** 2 / expected).sum(), len(expected) - 1))


class Fixed(KeyedRNG):
    """Coins that land where they are told."""

    u = 0.0

    def uniform(self, size: Any = None) -> Any:
        return np.full(size, self.u)

    @classmethod
    def at(cls, u: float) -> Fixed:
        """Coins that always land at u."""
        rng = cls(bytes(32), is_secret=False, is_root=True)
        rng.u = u
        return rng


def network_likelihood(
    network: BayesianNetwork, omegas: Iterable[tuple[int, Fraction]]
) -> tuple[np.ndarray, list[list[Fraction]]]:
    """``Pr[(omega, y) = M(d)]`` for all records d and y of a small universe, from a network's tables."""
    records = np.array(list(itertools.product(*(range(c) for c in network.cardinalities))), dtype=np.int32)
    found = [t.probabilities[t.given.of(records), records[:, t.child]] for t in network.tables]
    cells = [[Fraction(float(p)) for p in row] for row in found]
    ordered = records[:, network.order]
    likelihood: list[list[Fraction]] = [[] for _ in records]
    for omega, weight in omegas:
        kept = network.num_attributes - omega
        for d, row in enumerate(likelihood):
            same = (ordered[:, :kept] == ordered[d, :kept]).all(axis=1)
            made = (math.prod((c[y] for c in cells[kept:]), start=Fraction(1)) for y in range(len(records)))
            row.extend(weight * p if s else Fraction(0) for s, p in zip(same, made, strict=True))
    return records, likelihood
