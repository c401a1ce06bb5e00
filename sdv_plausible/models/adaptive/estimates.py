"""What the network is fitted to: what is known of columns, pairs and sets of columns after denoising."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

Columns = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class FitPrecision:
    """How closely a network is to meet what it is fitted to."""

    rounds: int = 3  # of iterative proportional scaling
    met: float = 0.003  # total variation distance of a table from the simulated rows that is left as it is
    deviations: float = 0.5  # of a cell that are added to it before two are compared


USUAL = FitPrecision()
EXACT = FitPrecision(rounds=6, met=0.0003, deviations=0.01)
"""For inference, which noise may not weaken."""


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """What is known, after denoising, about single columns, measured pairs and measured sets."""

    margins: list[np.ndarray]  # distribution over the codes of every column
    coarse: list[np.ndarray]  # the same over its buckets
    buckets: list[np.ndarray]  # bucket of every code
    # (i, j) to the joint distribution of the buckets of i and j; both orientations
    pairs: Mapping[tuple[int, int], np.ndarray]
    # (i, j), i < j, or (i, j, k, ...) to the deviation of every cell from the truth: of noise, and one row.
    # None where the cell is known
    scatter: Mapping[Columns, np.ndarray | float] = field(default_factory=dict)
    # The same after denoising: posterior deviations of the cells, smaller than ``scatter``
    posterior: Mapping[Columns, np.ndarray | float] = field(default_factory=dict)
    # Level of every bucket, coarser still, for tables of more than two columns
    levels: Sequence[np.ndarray] = ()
    # (i, j, k, ...) to the joint distribution of their levels
    sets: Mapping[Columns, np.ndarray] = field(default_factory=dict)
    precision: FitPrecision = USUAL

    @property
    def num_columns(self) -> int:
        """Number m of columns."""
        return len(self.margins)

    def dependence(self, i: int, j: int) -> float:
        """L1 distance between the joint distribution of a pair and independence; 0 of unmeasured ones."""
        if (i, j) not in self.pairs:
            return 0.0
        return float(np.abs(self.pairs[i, j] - np.outer(self.coarse[i], self.coarse[j])).sum())

    @cached_property
    def neighbours(self) -> list[set[int]]:
        """For every column the others of which something is known together with it."""
        near: list[set[int]] = [set() for _ in self.margins]
        for known in (*self.pairs, *self.sets):
            for j in known:
                near[j] |= set(known) - {j}
        return near

    def sets_of(self, child: int, columns: Collection[int]) -> list[Columns]:
        """Measured sets of a child and some of ``columns``."""
        return [s for s in self.sets if child in s and all(j == child or j in columns for j in s)]

    def given(self, others: Columns, middle: int) -> np.ndarray:
        """Measured P(cell of the others | bucket of the middle column), (cells, buckets)."""
        if len(others) == 1:
            return self.pairs[others[0], middle] / np.maximum(self.coarse[middle], 1e-12)
        whole = tuple(sorted((*others, middle)))
        table = np.moveaxis(self.sets[whole], whole.index(middle), -1)
        table = table.reshape(-1, table.shape[-1])
        return (table / np.maximum(table.sum(0), 1e-12))[:, self.levels[middle]]

    def on_levels(self, columns: Columns) -> np.ndarray:
        """Distribution of the levels of a column or of a measured pair."""
        table = self.coarse[columns[0]] if len(columns) == 1 else self.pairs[columns[0], columns[1]]
        for axis, j in enumerate(columns):
            table = np.moveaxis(table, axis, 0)
            levels = np.zeros((int(self.levels[j].max()) + 1, *table.shape[1:]))
            np.add.at(levels, self.levels[j], table)
            table = np.moveaxis(levels, 0, axis)
        return table
