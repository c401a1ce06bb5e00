"""Mutual information of candidates: what GreedyBayes asks of the rows ([DS], Algorithm 1, line 10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from sdv_plausible.privacy.accounting.sensitivity import information_sensitivity_in_steps
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.questions.counts import Asked, Axes, Axis, ExactCounts

GRID = 2.0**-10  # bits; computed scores are exact to half a step of it up to 2**34 rows


@dataclass(frozen=True)
class MutualInformation:
    """``n I(X; parents)`` of every candidate, in whole steps of ``GRID``."""

    # Attribute and parents; buckets are public or from earlier answers
    candidates: Sequence[tuple[Axis, Axes]]
    most_rows: int  # upper bound on the rows of the larger of two neighbours, from an earlier answer
    proof = "docs/explanation/proofs/greedy_bayes.md, Theorems 1 and 2"

    def asked(self) -> Asked:
        """Say what is asked."""
        tables = tuple((*parents, child) for child, parents in self.candidates)
        return Asked(kind="mutual information", tables=tables, details={"most_rows": self.most_rows})

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
