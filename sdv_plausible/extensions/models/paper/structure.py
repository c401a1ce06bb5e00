"""Structure learning as in section 3.3 of the paper: correlation-based feature selection (CFS)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sdv_plausible.models.bayesian_network import Parents, topological_order
from sdv_plausible.models.buckets import default_buckets
from sdv_plausible.models.conditional_table import num_configurations
from sdv_plausible.privacy.accounting.sensitivity import entropy_sensitivity_in_steps
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.queries.count_queries import Axis, ExactCounts, QueryRecord
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.utils.counting import entropy

ENTROPY_GRID = 2.0**-20  # bits; entropies are rounded to it so that their noise is discrete


@dataclass(frozen=True, kw_only=True)
class EntropyTable:
    """All entropies for correlation-based feature selection, in bits."""

    single: np.ndarray  # shape (m,): H(x_i)
    bucketed: np.ndarray  # shape (m,): H(bkt(x_i))
    joint: np.ndarray  # shape (m, m): H(x_i, bkt(x_j)); the diagonal is unused

    def flatten(self) -> np.ndarray:
        """Return the m (m + 1) numbers as one vector."""
        off_diagonal = ~np.eye(len(self.single), dtype=bool)
        return np.concatenate([self.single, self.bucketed, self.joint[off_diagonal]])

    @classmethod
    def unflatten(cls, vector: np.ndarray, m: int) -> EntropyTable:
        """Inverse of :meth:`flatten`."""
        joint = np.zeros((m, m))
        joint[~np.eye(m, dtype=bool)] = vector[2 * m :]
        return cls(single=vector[:m], bucketed=vector[m : 2 * m], joint=joint)

    def correlation(self) -> np.ndarray:
        """Return the symmetrical uncertainty of x_i and bkt(x_j) (Eq. 5), clipped to [0, 1], shape (m, m)."""
        total = self.single[:, None] + self.bucketed[None, :]
        with np.errstate(divide="ignore", invalid="ignore"):
            value = 2 - 2 * self.joint / total
        return np.clip(np.nan_to_num(np.where(total > 0, value, 0.0)), 0.0, 1.0)


def count_entropies(
    rows: ExactCounts, cardinalities: Sequence[int], buckets: Sequence[np.ndarray]
) -> EntropyTable:
    """Return the exact entropies of coded rows, from one table per ordered pair."""
    m = len(cardinalities)
    single, bucketed, joint = np.zeros(m), np.zeros(m), np.zeros((m, m))
    fine = [Axis.of_codes(i, c) for i, c in enumerate(cardinalities)]
    coarse = [Axis(j, b) for j, b in enumerate(buckets)]
    if m == 1:
        single_table, bucketed_table = rows.tables([[fine[0]], [coarse[0]]])
        single[0], bucketed[0] = entropy(single_table), entropy(bucketed_table)
    pairs = [(i, j) for i in range(m) for j in range(m) if i != j]
    for (i, j), table in zip(pairs, rows.tables([[coarse[j], fine[i]] for i, j in pairs]), strict=True):
        joint[i, j] = entropy(table)
        single[i], bucketed[j] = entropy(table.sum(axis=0)), entropy(table.sum(axis=1))
    return EntropyTable(single=single, bucketed=bucketed, joint=joint)


@dataclass(frozen=True)
class Entropies:
    """The m (m + 1) entropies for feature selection, in integer steps of ``ENTROPY_GRID``."""

    cardinalities: Sequence[int]  # number of codes of every column
    buckets: Sequence[np.ndarray]  # ``bkt`` of every column, from earlier answers
    least_rows: (
        int  # lower bound on the rows of the smaller of two neighbouring tables, from an earlier answer
    )
    proof = "docs/explanation/proofs/learning.md, Theorem 3; entropy_sensitivity.md, Theorems 1 and 2"

    def asked(self) -> QueryRecord:
        """Return the record of the query: entropies of the bucketed columns, in steps of a grid."""
        axes = tuple(Axis(j, buckets) for j, buckets in enumerate(self.buckets))
        return QueryRecord(
            kind="entropies", tables=(axes,), details={"grid": ENTROPY_GRID, "least_rows": self.least_rows}
        )

    def exact(self, rows: ExactCounts) -> np.ndarray:
        """Return the numbers of :meth:`EntropyTable.flatten`, rounded to the grid."""
        bits = count_entropies(rows, self.cardinalities, self.buckets).flatten()
        return np.rint(bits / ENTROPY_GRID).astype(np.int64)

    @property
    def apart(self) -> int:
        """Number of values, which all have the same sensitivity."""
        return len(self.cardinalities) * (len(self.cardinalities) + 1)

    def sensitivity(self, neighbours: Neighbours) -> float:
        """Return the sensitivity of the vector; under replacement the new unit joins the other rows."""
        others = max(1, self.least_rows - neighbours.rows) if neighbours.replace else self.least_rows
        steps = entropy_sensitivity_in_steps(others, ENTROPY_GRID, neighbours.rows)
        return steps * math.sqrt(self.apart)

    def table(self, steps: np.ndarray) -> EntropyTable:
        """Convert noisy steps to entropies in bits."""
        return EntropyTable.unflatten(steps * ENTROPY_GRID, len(self.cardinalities))


MAX_CELLS = 50_000_000  # largest number of cells of a conditional table


def correlation_feature_selection(
    correlation: np.ndarray, buckets: Sequence[np.ndarray], max_cost: int, max_parents: int | None = None
) -> Parents:
    """Return greedy acyclic parent sets by the CFS merit (Eq. 4), under the cost bound (Eq. 6)."""
    # Each step adds the arc with the largest gain in merit over all children, until no arc has a gain. The
    # paper fixes no order of the children; this order does not depend on the columns' order.
    # ``correlation`` is ``corr(x_i, bkt(x_j))``, shape (m, m); ``max_cost`` bounds the configurations of a
    # parent set.
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
        descendants = ancestors[:, child]
        ancestors[descendants] |= ancestors[parent]


def check_tables(parents: Parents, domain: Domain) -> None:
    """Raise if tables of declared arcs do not fit into memory, as far as the columns are declared."""
    buckets = [default_buckets(attribute) for attribute in domain]
    for child, chosen in zip(domain, parents, strict=True):
        cells = num_configurations([buckets[p] for p in chosen]) * child.cardinality
        if cells > MAX_CELLS:
            raise Refused.saying(
                "structure",
                f"structure: the table of {child.name!r} with parents {[domain.names[p] for p in chosen]} "
                f"has {cells:,} cells, above {MAX_CELLS:,}: leave out parents, or declare coarser buckets "
                "for them",
            )


def within_memory(parents: Parents, buckets: Sequence[np.ndarray], cardinalities: Sequence[int]) -> Parents:
    """Drop the last parents of tables that do not fit into memory."""
    # The number of learned values is known only after the budget is spent, so the fit must not fail here.
    reduced = [list(kept_parents) for kept_parents in parents]
    for kept_parents, cardinality in zip(reduced, cardinalities, strict=True):
        while num_configurations([buckets[p] for p in kept_parents]) * cardinality > MAX_CELLS:
            kept_parents.pop()
    return tuple(map(tuple, reduced))


def cfs_merit(correlation: np.ndarray, child: int, parents: Sequence[int]) -> float:
    """Return the merit of a parent set (Eq. 4): high correlation with the child, low among the parents."""
    if not parents:
        return 0.0
    chosen = list(parents)
    among = correlation[np.ix_(chosen, chosen)]
    redundancy = (among + among.T)[~np.eye(len(chosen), dtype=bool)].sum() / 2
    return float(correlation[child, chosen].sum() / math.sqrt(len(chosen) + redundancy))


def check_structure(structure: Mapping[str, Sequence[str]], domain: Domain) -> Parents:
    """Convert ``{child: [parents]}`` to column numbers; omitted children have no parents."""
    number = {name: j for j, name in enumerate(domain.names)}
    for child, named in structure.items():
        if isinstance(named, str):
            raise Refused.saying(
                "structure",
                f"structure: the parents of {child!r} ({named!r}) must be a list of columns, such as "
                f"[{named!r}]",
            )
    unknown = ({*structure} | {p for ps in structure.values() for p in ps}) - set(number)
    if unknown:
        raise Refused.saying(
            "structure", f"structure names {sorted(unknown)}, which are not modelled columns {list(number)}"
        )
    parents = tuple(tuple(number[p] for p in dict.fromkeys(structure.get(name, ()))) for name in domain.names)
    try:
        topological_order(parents, domain.cardinalities)
    except ValueError as error:
        raise Refused.saying(
            "structure", f"structure {dict(structure)!r} has a cycle: leave out one of its arcs"
        ) from error
    return parents
