"""Entropies of attributes and pairs: the queries of the paper's structure learning (section 3.3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sdv_plausible.privacy.accounting.sensitivity import entropy_sensitivity_in_steps
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.queries.count_queries import Axis, ExactCounts, QueryRecord
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
