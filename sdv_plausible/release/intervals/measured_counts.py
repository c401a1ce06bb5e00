"""The counts that a fit measured, and the number of rows that they add up to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sdv_plausible.queries.count_queries import Axis
from sdv_plausible.queries.transcript import ALL_ROWS, DEVIATION, Noise, NoisyAnswer

HALF_A_COUNT = 0.5  # what rounding adds at most
LEAST = 1e-6  # variance of a sum of counts that have no error


@dataclass(frozen=True, kw_only=True)
class MeasuredTable:
    """One table of counts, and the parameter of the noise that is on each."""

    axes: tuple[Axis, ...]
    counts: np.ndarray
    sigma: np.ndarray | float  # of all counts alike, or of each
    noise: Noise = "discrete gaussian"
    is_stated: bool = False  # whether others made it: no learner chose it

    @property
    def columns(self) -> tuple[int, ...]:
        """Its columns' numbers."""
        return tuple(axis.column for axis in self.axes)

    @property
    def spread(self) -> float:
        """Variance of the sum of all counts."""
        if isinstance(self.sigma, np.ndarray) or self.noise != "discrete gaussian":
            return float(np.broadcast_to(self._each**2, self.counts.shape).sum()) + LEAST
        return self.sigma**2 * self.counts.size

    @property
    def usual(self) -> float:
        """Deviation of the noise on most counts."""
        return float(np.median(self._each))

    @property
    def _each(self) -> np.ndarray:
        """Deviation of the noise on counts; whole counts that were rounded to whole ones have no error."""
        whole = np.floor(self.sigma) if self.noise == "rounded" else np.asarray(self.sigma)
        return DEVIATION[self.noise] * whole

    def moved(self, order: Sequence[int]) -> MeasuredTable:
        """With its columns in another order; over columns that are left out it is added up."""
        counts, sigma, now = self.counts, self.sigma, list(order)
        if others := tuple(i for i in range(len(self.axes)) if i not in order):
            each = np.broadcast_to(sigma, counts.shape)
            # errors of rounding add up, and of noise the variances; half a count, as for a mean
            sigma = np.floor(each).sum(others) if self.noise == "rounded" else np.sqrt((each**2).sum(others))
            counts, sigma, now = (
                counts.sum(others),
                sigma + HALF_A_COUNT,
                [sorted(order).index(i) for i in order],
            )
        sigma = sigma.transpose(now) if isinstance(sigma, np.ndarray) else sigma
        axes = tuple(self.axes[i] for i in order)
        return replace(self, axes=axes, counts=counts.transpose(now), sigma=sigma)


def measured_tables(answers: Sequence[NoisyAnswer]) -> list[MeasuredTable]:
    """Tables of counts of all rows, in the order in which they were asked for."""
    # Those of a part of the rows are left out: the table's counts do not follow from them. Noise on a finer
    # lattice is rounded to whole counts, and is then of no law by name: a deviation for each.
    return [
        MeasuredTable(
            axes=tuple(a.asked.tables[0]), noise=a.noise, is_stated=a.is_stated,
            counts=a.values if a.granularity == 1 else np.rint(a.values).astype(np.int64),
            sigma=a.scales if a.granularity == 1 else np.full(a.values.shape, a.scale + HALF_A_COUNT),
        )
        for a in answers
        if a.asked.kind == "counts" and a.rows == ALL_ROWS
    ]  # fmt: skip


def estimated_rows(tables: Sequence[MeasuredTable], num_columns: int) -> tuple[float, list[float]]:
    """Estimate of the number of rows, and the deviation that each table used brings in."""
    # Every table adds up to it. Where each column has one, all are put together by inverse variance: that
    # there is one for each was settled before the first was answered. Otherwise the first table stands alone;
    # of tables that others chose, the one that tells it best.
    single: dict[int, MeasuredTable] = {}
    for table in tables:
        if len(table.axes) == 1:
            single.setdefault(table.columns[0], table)
    used = list(single.values()) if len(single) == num_columns else [tables[0]]
    if stated := [table for table in tables if table.is_stated]:
        used = [min(stated, key=lambda t: t.spread)]
    weights = np.array([1 / t.spread for t in used])
    weights /= weights.sum()
    estimate = float(weights @ [float(t.counts.sum()) for t in used])
    deviations = [w * math.sqrt(t.spread) for w, t in zip(weights, used, strict=True)]
    return estimate, deviations


def number_of_rows(answers: Iterable[NoisyAnswer], num_columns: int) -> int:
    """Noisy number of rows, at least 0, from all one-way counts; else from what was asked of it alone.

    Raises
    ------
    ValueError
        If nothing tells it.
    """
    whole = [answer for answer in answers if answer.rows == ALL_ROWS]
    if tables := measured_tables(whole):
        return round(max(estimated_rows(tables, num_columns)[0], 1.0))
    told = [a.values.sum() for kind in ("number of rows", "counts") for a in whole if a.asked.kind == kind]
    if not told:
        raise ValueError(
            "num_rows (None) must be given: nothing in this release tells how many rows the table has"
        )
    return max(0, round(float(np.mean(told))))
