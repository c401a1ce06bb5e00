"""Tables of noisy counts among the answers, and the number of rows that they sum to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sdv_plausible.queries.count_queries import Axis
from sdv_plausible.queries.transcript import ALL_ROWS, DEVIATION, Noise, NoisyAnswer

HALF_A_COUNT = 0.5  # largest rounding error
MIN_VARIANCE = 1e-6  # variance of exact counts, to avoid a division by 0


@dataclass(frozen=True, kw_only=True)
class MeasuredTable:
    """One table of noisy counts."""

    axes: tuple[Axis, ...]
    counts: np.ndarray
    sigma: np.ndarray | float  # one for all counts, or one per count
    noise: Noise = "discrete gaussian"
    is_published: bool = False  # whether it is a published table, not chosen by a learner

    @property
    def columns(self) -> tuple[int, ...]:
        """Indices of its columns."""
        return tuple(axis.column for axis in self.axes)

    @property
    def sum_variance(self) -> float:
        """Variance of the sum of all counts."""
        if isinstance(self.sigma, np.ndarray) or self.noise != "discrete gaussian":
            return float(np.broadcast_to(self._deviations**2, self.counts.shape).sum()) + MIN_VARIANCE
        return self.sigma**2 * self.counts.size

    @property
    def median_deviation(self) -> float:
        """Median standard deviation of the counts."""
        return float(np.median(self._deviations))

    @property
    def _deviations(self) -> np.ndarray:
        """Standard deviation of each count; integer counts that were rounded to integers are exact."""
        scales = np.floor(self.sigma) if self.noise == "rounded" else np.asarray(self.sigma)
        return DEVIATION[self.noise] * scales

    def moved(self, order: Sequence[int]) -> MeasuredTable:
        """The marginal table over some axes, in this order."""
        counts, sigma, positions = self.counts, self.sigma, list(order)
        if summed := tuple(i for i in range(len(self.axes)) if i not in order):
            sigmas = np.broadcast_to(sigma, counts.shape)
            # rounding errors add, noise variances add; plus half a count
            sigma = (
                np.floor(sigmas).sum(summed) if self.noise == "rounded" else np.sqrt((sigmas**2).sum(summed))
            )
            counts, sigma = counts.sum(summed), sigma + HALF_A_COUNT
            positions = [sorted(order).index(i) for i in order]
        sigma = sigma.transpose(positions) if isinstance(sigma, np.ndarray) else sigma
        axes = tuple(self.axes[i] for i in order)
        return replace(self, axes=axes, counts=counts.transpose(positions), sigma=sigma)


def measured_tables(answers: Sequence[NoisyAnswer]) -> list[MeasuredTable]:
    """Tables of counts of all rows, in the order of the queries."""
    # Counts of a part of the rows are omitted. Noise on a finer grid is rounded to integer counts; the result
    # has no named distribution, so each count has its own deviation.
    return [
        MeasuredTable(
            axes=tuple(a.asked.tables[0]), noise=a.noise, is_published=a.is_published,
            counts=a.values if a.granularity == 1 else np.rint(a.values).astype(np.int64),
            sigma=a.scales if a.granularity == 1 else np.full(a.values.shape, a.scale + HALF_A_COUNT),
        )
        for a in answers
        if a.asked.kind == "counts" and a.rows == ALL_ROWS
    ]  # fmt: skip


def estimate_row_count(tables: Sequence[MeasuredTable], num_columns: int) -> tuple[float, list[float]]:
    """Estimate of the number of rows, and the weighted standard deviation of each table used."""
    # Every table sums to the number of rows. If each column has a one-way table, all are averaged by inverse
    # variance; their choice did not depend on answers. Otherwise the first table is used or, of published
    # tables, the most precise one.
    single: dict[int, MeasuredTable] = {}
    for table in tables:
        if len(table.axes) == 1:
            single.setdefault(table.columns[0], table)
    used = list(single.values()) if len(single) == num_columns else [tables[0]]
    if published := [table for table in tables if table.is_published]:
        used = [min(published, key=lambda t: t.sum_variance)]
    weights = np.array([1 / t.sum_variance for t in used])
    weights /= weights.sum()
    estimate = float(weights @ [float(t.counts.sum()) for t in used])
    deviations = [w * math.sqrt(t.sum_variance) for w, t in zip(weights, used, strict=True)]
    return estimate, deviations


def number_of_rows(answers: Iterable[NoisyAnswer], num_columns: int) -> int:
    """Noisy number of rows, at least 0, from one-way counts or else from queries of the number."""
    of_all_rows = [answer for answer in answers if answer.rows == ALL_ROWS]
    if tables := measured_tables(of_all_rows):
        return round(max(estimate_row_count(tables, num_columns)[0], 1.0))
    counts = [
        a.values.sum() for kind in ("number of rows", "counts") for a in of_all_rows if a.asked.kind == kind
    ]
    if not counts:
        raise ValueError(
            "num_rows (None) must be given: this release does not contain the number of rows of the table"
        )
    return max(0, round(float(np.mean(counts))))
