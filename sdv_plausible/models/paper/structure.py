"""Structure learning as in section 3.3 of the paper: correlation-based feature selection (CFS) on noisy entropies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sdv_plausible.models.counting import entropy, joint_counts, num_configurations
from sdv_plausible.table.domain import Attribute, Domain

Parents = tuple[tuple[int, ...], ...]
MAX_BUCKETS = 10


@dataclass(frozen=True, kw_only=True)
class EntropyTable:
    """All entropies that CFS needs, in bits.

    Attributes
    ----------
    single : ndarray, shape (m,)
        H(x_i).
    bucketed : ndarray, shape (m,)
        H(bkt(x_i)).
    joint : ndarray, shape (m, m)
        H(x_i, bkt(x_j)); the diagonal is unused.
    """

    single: np.ndarray
    bucketed: np.ndarray
    joint: np.ndarray

    def flatten(self) -> np.ndarray:
        """The m (m + 1) numbers as one vector."""
        off_diagonal = ~np.eye(len(self.single), dtype=bool)
        return np.concatenate([self.single, self.bucketed, self.joint[off_diagonal]])

    @classmethod
    def unflatten(cls, vector: np.ndarray, m: int) -> EntropyTable:
        """Inverse of :meth:`flatten`."""
        joint = np.zeros((m, m))
        joint[~np.eye(m, dtype=bool)] = vector[2 * m :]
        return cls(single=vector[:m], bucketed=vector[m : 2 * m], joint=joint)

    def correlation(self) -> np.ndarray:
        """Symmetrical uncertainty of x_i and bkt(x_j) (Eq. 5), clipped to [0, 1], shape (m, m)."""
        total = self.single[:, None] + self.bucketed[None, :]
        with np.errstate(divide="ignore", invalid="ignore"):
            value = 2 - 2 * self.joint / total
        return np.clip(np.nan_to_num(np.where(total > 0, value, 0.0)), 0.0, 1.0)


def count_entropies(codes: np.ndarray, cardinalities: Sequence[int], buckets: Sequence[np.ndarray]) -> EntropyTable:
    """Exact entropies of codes (n, m), from one table per ordered pair."""
    m = len(cardinalities)
    single, bucketed, joint = np.zeros(m), np.zeros(m), np.zeros((m, m))
    for i in range(m):
        for j in range(m):
            if i != j:
                table = joint_counts(codes, i, cardinalities[i], (j,), (buckets[j],))
                joint[i, j] = entropy(table)
                single[i], bucketed[j] = entropy(table.sum(axis=0)), entropy(table.sum(axis=1))
    if m == 1:
        single[0] = entropy(np.bincount(codes[:, 0]))
        bucketed[0] = entropy(np.bincount(buckets[0][codes[:, 0]]))
    return EntropyTable(single=single, bucketed=bucketed, joint=joint)


def correlation_feature_selection(
    correlation: np.ndarray, buckets: Sequence[np.ndarray], max_cost: int, max_parents: int | None = None
) -> Parents:
    """Greedy acyclic parent sets by the CFS merit (Eq. 4), under the cost bound (Eq. 7).

    At every step the arc that raises its child's merit most is added, over all children at once, until no arc raises
    any merit. The paper fixes no order among the children; this one does not depend on the columns' order.

    Parameters
    ----------
    correlation : ndarray, shape (m, m)
        ``corr(x_i, bkt(x_j))``.
    buckets : sequence of ndarray
        ``bkt`` of every attribute.
    max_cost : int
        Upper bound on the number of configurations of a parent set.
    max_parents : int, optional
        Upper bound on the number of parents.
    """
    m = len(correlation)
    parents: list[list[int]] = [[] for _ in range(m)]
    merit = np.zeros(m)
    ancestors = np.eye(m, dtype=bool)  # ancestors[i, j]: j is i or an ancestor of i
    while True:
        best = (1e-12, -1, -1)
        for child in range(m):
            if max_parents is not None and len(parents[child]) >= max_parents:
                continue
            for parent in range(m):
                if parent in parents[child] or ancestors[parent, child]:
                    continue  # the arc would close a cycle
                enlarged = [*parents[child], parent]
                if num_configurations([buckets[p] for p in enlarged]) > max_cost:
                    continue
                gain = cfs_merit(correlation, child, enlarged) - merit[child]
                best = max(best, (gain, child, parent))
        gain, child, parent = best
        if child < 0:
            return tuple(tuple(p) for p in parents)
        parents[child].append(parent)
        merit[child] += gain
        below = ancestors[:, child]
        ancestors[below] |= ancestors[parent]


def cfs_merit(correlation: np.ndarray, child: int, parents: Sequence[int]) -> float:
    """Merit of a parent set (Eq. 4): high correlation with the child, low among the parents."""
    if not parents:
        return 0.0
    chosen = list(parents)
    among = correlation[np.ix_(chosen, chosen)]
    redundancy = (among + among.T)[~np.eye(len(chosen), dtype=bool)].sum() / 2
    return float(correlation[child, chosen].sum() / math.sqrt(len(chosen) + redundancy))


def default_buckets(attribute: Attribute, margin: np.ndarray | None = None, max_buckets: int = MAX_BUCKETS) -> np.ndarray:
    """``bkt()`` of an attribute: declared, or runs of codes of about equal mass, or every code by itself.

    Parameters
    ----------
    attribute : Attribute
        Ordered attributes are cut into runs; of others the ``max_buckets - 1`` likeliest codes stay by themselves.
    margin : ndarray, optional
        A (noisy) distribution over the codes, to make buckets of about equal mass; without it, equal length.
    max_buckets : int
        Upper bound on the number of buckets, one more if missing is a value.
    """
    if attribute.buckets is not None:
        return np.unique(attribute.buckets, return_inverse=True)[1]
    size = attribute.cardinality - attribute.nullable
    if size <= max_buckets:
        return np.arange(attribute.cardinality)
    weight = np.ones(size) if margin is None else np.maximum(margin[:size], 0) + 1e-12
    if attribute.is_ordered:
        middle = (np.cumsum(weight) - weight / 2) / weight.sum()
        bucket = np.minimum((middle * max_buckets).astype(int), max_buckets - 1)
    else:
        rank = np.argsort(np.argsort(-weight, kind="stable"), kind="stable")
        bucket = np.minimum(rank, max_buckets - 1)
    dense = np.unique(bucket, return_inverse=True)[1]
    return np.append(dense, dense.max() + 1) if attribute.nullable else dense


def topological_order(parents: Parents, cardinalities: Sequence[int]) -> tuple[int, ...]:
    """Resampling order sigma: parents first; among the ready ones, declared cardinality small first.

    Small domains in front make large prefix groups. The choice uses no row.
    """
    placed: list[int] = []
    waiting = set(range(len(parents)))
    while waiting:
        ready = [j for j in waiting if set(parents[j]) <= set(placed)]
        if not ready:
            raise ValueError(f"the structure has a cycle among columns {sorted(waiting)}")
        chosen = min(ready, key=lambda j: (cardinalities[j], j))
        placed.append(chosen)
        waiting.remove(chosen)
    return tuple(placed)


def check_structure(structure: Mapping[str, Sequence[str]], domain: Domain) -> Parents:
    """Turn a user's ``{child: [parents]}`` into column numbers; children left out have no parents.

    Raises
    ------
    ValueError
        If a name is not a modelled column, a column is its own parent, or there is a cycle.
    """
    number = {name: j for j, name in enumerate(domain.names)}
    for child, named in structure.items():
        if isinstance(named, str):
            raise ValueError(f"structure: the parents of {child!r} ({named!r}) must be a list of columns, such as [{named!r}]")
    unknown = ({*structure} | {p for ps in structure.values() for p in ps}) - set(number)
    if unknown:
        raise ValueError(f"structure names {sorted(unknown)}, which are not modelled columns {list(number)}")
    parents = tuple(tuple(number[p] for p in dict.fromkeys(structure.get(name, ()))) for name in domain.names)
    try:
        topological_order(parents, domain.cardinalities)
    except ValueError as error:
        raise ValueError(f"structure {dict(structure)!r} has a cycle: leave out one of its arcs") from error
    return parents
