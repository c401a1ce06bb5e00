"""Reconcile external answers: one table per set of columns, as the learner would have measured them.

Tables over the same columns are averaged by inverse variance, cell by cell. The counts of a column are the
mean of all tables that contain it. Tables are adjusted to these counts in proportion to their variances. A
table of three or more columns also yields its pairs. A table whose total contradicts the others is scaled to
theirs. Answers of a single fit by this package stay unchanged.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sdv_plausible.privacy.parameter_checks import Refused, listed
from sdv_plausible.queries.count_queries import Axis, QueryRecord
from sdv_plausible.queries.transcript import DEVIATION, NoisyAnswer
from sdv_plausible.table.columns.domain import Domain

FAR = 5.0  # standard deviations beyond which totals contradict each other
SWEEPS = 5  # sweeps of adjusting a table to its marginals


@dataclass(frozen=True, kw_only=True)
class CountsWithVariance:
    """Table of counts with the variance of each cell, columns in order."""

    axes: tuple[Axis, ...]
    counts: np.ndarray
    variances: np.ndarray  # variance of every cell
    is_published: bool = False

    @classmethod
    def of(cls, answer: NoisyAnswer) -> CountsWithVariance:
        """Convert an answer, with any noise distribution."""
        axes = answer.asked.tables[0]
        order = sorted(range(len(axes)), key=lambda i: axes[i].column)
        variances = np.broadcast_to((DEVIATION[answer.noise] * answer.scales) ** 2, answer.values.shape)
        return cls(
            axes=tuple(axes[i] for i in order),
            counts=answer.values.transpose(order).astype(float),
            variances=variances.transpose(order),
            is_published=answer.is_published,
        )

    @property
    def columns(self) -> tuple[int, ...]:
        """Column numbers."""
        return tuple(axis.column for axis in self.axes)

    def marginal(self, columns: Collection[int]) -> CountsWithVariance:
        """Return the marginal over these columns."""
        summed_axes = tuple(i for i, j in enumerate(self.columns) if j not in columns)
        return replace(
            self, axes=tuple(a for a in self.axes if a.column in columns),
            counts=self.counts.sum(summed_axes), variances=self.variances.sum(summed_axes),
        )  # fmt: skip

    def coarsened(self, buckets: Sequence[np.ndarray]) -> CountsWithVariance:
        """Return the table on coarser buckets, given the bucket of every code of each column."""
        counts, variances, axes = self.counts, self.variances, list(self.axes)
        for i, axis in enumerate(self.axes):
            new_bucket = np.zeros(axis.size, dtype=np.int64)
            new_bucket[axis.buckets] = buckets[axis.column]
            if not np.array_equal(new_bucket, np.arange(len(new_bucket))):
                counts, variances = (_sum_groups(table, new_bucket, i) for table in (counts, variances))
                axes[i] = Axis(axis.column, buckets[axis.column])
        return replace(self, axes=tuple(axes), counts=counts, variances=variances)

    def as_answer(self) -> NoisyAnswer:
        """Return the table as an answer with Gaussian noise of one sigma, as the learner expects."""
        # The geometric mean limits the effect of a single suppressed count with a huge variance.
        scale = math.sqrt(np.exp(np.log(self.variances).mean()))
        return NoisyAnswer(
            asked=QueryRecord(kind="counts", tables=(self.axes,)), values=self.counts,
            noise="discrete gaussian", scale=scale, paid_by=(),
        )  # fmt: skip

    def adjusted_to(self, others: Sequence[CountsWithVariance]) -> CountsWithVariance:
        """Return the nearest counts with these marginals, weighted by the variances."""
        counts = self.counts
        for other in (other for _ in range(SWEEPS) for other in others):
            summed_axes = tuple(i for i, j in enumerate(self.columns) if j not in other.columns)
            difference = np.expand_dims(other.counts, summed_axes) - counts.sum(summed_axes, keepdims=True)
            counts = counts + difference * self.variances / self.variances.sum(summed_axes, keepdims=True)
        return replace(self, counts=counts)


def reconcile(answers: Sequence[NoisyAnswer], domain: Domain, *, warn: bool = False) -> list[NoisyAnswer]:
    """Return counts of each column in order, then pairs and larger sets, each once, with scores in place.

    ``warn``: whether to warn about contradicting totals.

    Raises
    ------
    ValueError
        If a column is in no answer.
    """
    counted = [a for a in answers if a.asked.kind == "counts"]
    keys = [tuple(sorted(axis.column for axis in a.asked.tables[0])) for a in counted]
    unique_keys = [key for key in keys if len(key) != 2]  # a fit may measure its pairs twice
    if len({*unique_keys}) == len(unique_keys) and not any(a.is_published for a in counted):
        return list(answers)
    tables = _scale_conflicting_totals([CountsWithVariance.of(a) for a in counted], domain, warn=warn)
    pairs = [t for t in tables if len(t.axes) == 2]
    sets = [t for t in tables if len(t.axes) > 2]
    pairs_of_sets = [
        t.marginal(e) for t in sets if t.is_published for e in itertools.combinations(t.columns, 2)
    ]
    buckets = _common_buckets([*pairs, *pairs_of_sets], [np.arange(c) for c in domain.cardinalities])
    singles = [_column_counts(j, tables, domain) for j in range(len(domain))]
    averaged = {
        columns: table.adjusted_to([singles[j].coarsened(groups) for j in columns])
        for tables_of, groups in (([*pairs, *pairs_of_sets], buckets), (sets, _common_buckets(sets, buckets)))
        for columns, table in _average(tables_of, groups).items()
    }
    result = [
        averaged.pop(e).as_answer()
        for e in sorted({t.columns for t in pairs_of_sets} - {t.columns for t in pairs})
    ]
    for answer in answers:
        if answer.asked.kind == "distances":
            result.append(answer)
        elif answer.asked.kind == "counts" and (key := CountsWithVariance.of(answer).columns) in averaged:
            result.append(averaged.pop(key).as_answer())
    return [*(table.as_answer() for table in singles), *result]


def _average(
    tables: Sequence[CountsWithVariance], buckets: Sequence[np.ndarray]
) -> dict[tuple[int, ...], CountsWithVariance]:
    """Average tables over the same columns by inverse variance, on common buckets."""
    averaged: dict[tuple[int, ...], CountsWithVariance] = {}
    for table in (t.coarsened(buckets) for t in tables):
        existing = averaged.get(table.columns)
        averaged[table.columns] = table if existing is None else _mean(existing, table)
    return averaged


def _mean(first: CountsWithVariance, second: CountsWithVariance) -> CountsWithVariance:
    """Return the mean of two tables of one shape by inverse variance, cell by cell."""
    weight_1, weight_2 = 1 / first.variances, 1 / second.variances
    mean = (weight_1 * first.counts + weight_2 * second.counts) / (weight_1 + weight_2)
    return replace(first, counts=mean, variances=1 / (weight_1 + weight_2))


def _column_counts(j: int, tables: Sequence[CountsWithVariance], domain: Domain) -> CountsWithVariance:
    """Return the counts of a column's codes, from all tables with single codes; else from its buckets."""
    marginals = [t.marginal((j,)) for t in tables if j in t.columns]
    if by_code := [t for t in marginals if t.axes[0].is_identity]:
        return reduce(_mean, by_code)
    if not marginals:
        raise Refused.saying(
            "answers",
            f"answers say nothing of column {domain.names[j]!r}: give counts over it, alone or with others, "
            "or leave it out of domain",
        )
    best = min(marginals, key=lambda t: float(t.variances.sum()))
    buckets = best.axes[0].buckets
    size = np.bincount(buckets)[buckets]  # the codes of a bucket share its counts evenly
    return replace(
        best, axes=(Axis.of_codes(j, len(buckets)),), counts=best.counts[buckets] / size,
        variances=best.variances[buckets] / size,
    )  # fmt: skip


def _scale_conflicting_totals(
    tables: Sequence[CountsWithVariance], domain: Domain, *, warn: bool
) -> list[CountsWithVariance]:
    """Scale tables whose totals contradict the others to the mean total by inverse variance."""
    totals = np.array([t.counts.sum() for t in tables])
    weights = 1 / np.array([t.variances.sum() for t in tables])
    mean, odd = float(weights @ totals / weights.sum()), []
    scaled = list(tables)
    for i, (table, total) in enumerate(zip(tables, totals, strict=True)):
        if mean > 0 < total and abs(total - mean) > FAR / math.sqrt(weights[i]):
            factor = mean / total
            scaled[i] = replace(table, counts=factor * table.counts, variances=factor**2 * table.variances)
            odd.append(f"{total:,.0f} over {listed([domain.names[j] for j in table.columns])}")
    if warn and odd:
        warnings.warn(
            f"answers: totals contradict one another by more than their noise ({'; '.join(odd[:4])}; "
            f"their weighted mean is {mean:,.0f}): the model scales these tables to it, and intervals stay "
            "those of each table. If they are of different people, leave some out",
            stacklevel=5,
        )
    return scaled


def _common_buckets(tables: Sequence[CountsWithVariance], least: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the finest buckets of each column to which all tables, and ``least``, can be summed."""
    buckets = list(least)
    for axis in (axis for table in tables for axis in table.axes):
        buckets[axis.column] = _finest_coarsening(buckets[axis.column], np.asarray(axis.buckets))
    return buckets


def _finest_coarsening(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the finest common coarsening of two bucketings."""
    codes, num_first = len(first), int(first.max()) + 1
    codes_range = np.arange(codes)
    ends = np.concatenate([codes + first, codes + num_first + second])
    size = codes + num_first + int(second.max()) + 1
    edges = coo_array((np.ones(2 * codes), (np.tile(codes_range, 2), ends)), shape=(size, size))
    labels = connected_components(edges, directed=False)[1][:codes]
    for same in (second, first):  # keep the numbering if the result equals one of them
        if (
            len({*zip(same.tolist(), labels.tolist(), strict=True)})
            == len({*same.tolist()})
            == labels.max() + 1
        ):
            return same
    return labels


def _sum_groups(table: np.ndarray, group: np.ndarray, axis: int) -> np.ndarray:
    """Sum a table within groups along an axis."""
    moved = np.moveaxis(table, axis, 0)
    sums = np.zeros((int(group.max()) + 1, *moved.shape[1:]))
    np.add.at(sums, group, moved)
    return np.moveaxis(sums, 0, axis)
