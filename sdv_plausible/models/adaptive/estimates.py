"""Targets of the network fit: denoised marginals of columns, pairs and larger sets."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

Columns = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class FitPrecision:
    """Precision to which a network matches its target marginals."""

    rounds: int = 3  # rounds of iterative proportional scaling
    tolerance: float = 0.003  # total variation distance up to which a table counts as matched
    slack: float = 0.5  # standard deviations of slack per cell in a comparison


DEFAULT_PRECISION = FitPrecision()
EXACT_PRECISION = FitPrecision(rounds=6, tolerance=0.0003, slack=0.01)
"""For inference, where dependence must not be attenuated."""


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """Denoised marginals of columns, measured pairs and measured sets."""

    margins: list[np.ndarray]  # distribution over the codes of every column
    coarse: list[np.ndarray]  # distribution over the buckets of every column
    buckets: list[np.ndarray]  # bucket of every code
    # Joint distribution of the buckets of each pair (i, j), in both orientations
    pairs: Mapping[tuple[int, int], np.ndarray]
    # Standard deviation of each cell, from noise and one row, for (i, j), i < j, or (i, j, k, ...)
    scatter: Mapping[Columns, np.ndarray | float] = field(default_factory=dict)
    # Posterior standard deviation of each cell, smaller than ``scatter``
    posterior: Mapping[Columns, np.ndarray | float] = field(default_factory=dict)
    # Level of every bucket, coarser still, for tables of more than two columns
    levels: Sequence[np.ndarray] = ()
    # Joint distribution of the levels of each set (i, j, k, ...)
    sets: Mapping[Columns, np.ndarray] = field(default_factory=dict)
    precision: FitPrecision = DEFAULT_PRECISION

    @property
    def num_columns(self) -> int:
        """Number m of columns."""
        return len(self.margins)

    def dependence(self, i: int, j: int) -> float:
        """Return the L1 distance of a pair's joint distribution from independence; 0 if unmeasured."""
        if (i, j) not in self.pairs:
            return 0.0
        return float(np.abs(self.pairs[i, j] - np.outer(self.coarse[i], self.coarse[j])).sum())

    @cached_property
    def neighbours(self) -> list[set[int]]:
        """Columns that share a measured pair or set with each column."""
        neighbours_of: list[set[int]] = [set() for _ in self.margins]
        for columns in (*self.pairs, *self.sets):
            for j in columns:
                neighbours_of[j] |= set(columns) - {j}
        return neighbours_of

    def sets_of(self, child: int, columns: Collection[int]) -> list[Columns]:
        """Return the measured sets of a child and some of ``columns``."""
        return [s for s in self.sets if child in s and all(j == child or j in columns for j in s)]

    def given(self, others: Columns, middle: int) -> np.ndarray:
        """Return the measured P(cell of the others | bucket of the middle column), (cells, buckets)."""
        if len(others) == 1:
            return self.pairs[others[0], middle] / np.maximum(self.coarse[middle], 1e-12)
        columns = tuple(sorted((*others, middle)))
        table = np.moveaxis(self.sets[columns], columns.index(middle), -1)
        table = table.reshape(-1, table.shape[-1])
        return (table / np.maximum(table.sum(0), 1e-12))[:, self.levels[middle]]

    def on_levels(self, columns: Columns) -> np.ndarray:
        """Return the distribution of the levels of a column or a measured pair."""
        table = self.coarse[columns[0]] if len(columns) == 1 else self.pairs[columns[0], columns[1]]
        for axis, j in enumerate(columns):
            table = np.moveaxis(table, axis, 0)
            levels = np.zeros((int(self.levels[j].max()) + 1, *table.shape[1:]))
            np.add.at(levels, self.levels[j], table)
            table = np.moveaxis(levels, 0, axis)
        return table
