"""Answers that others made, as the learner would have asked them: one table for each set of columns.

Tables over the same columns are averaged by inverse variance, cell by cell. The counts of a column are the
mean of all tables that add up to them; tables are moved to these where they are least sure. A table of three
columns or more gives its pairs, too. One whose total contradicts the others is scaled to theirs. Answers of
one fit of ours are left as they are.
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

FAR = 5.0  # deviations: totals that are further apart are no noise
SWEEPS = 5  # of moving a table to others


@dataclass(frozen=True, kw_only=True)
class CountsWithVariance:
    """A table of counts with the variance of each, its columns in order."""

    axes: tuple[Axis, ...]
    counts: np.ndarray
    variances: np.ndarray  # of every cell
    is_stated: bool = False

    @classmethod
    def of(cls, answer: NoisyAnswer) -> CountsWithVariance:
        """Of an answer, whatever the law of its noise."""
        axes = answer.asked.tables[0]
        order = sorted(range(len(axes)), key=lambda i: axes[i].column)
        variances = np.broadcast_to((DEVIATION[answer.noise] * answer.scales) ** 2, answer.values.shape)
        return cls(
            axes=tuple(axes[i] for i in order),
            counts=answer.values.transpose(order).astype(float),
            variances=variances.transpose(order),
            is_stated=answer.is_stated,
        )

    @property
    def columns(self) -> tuple[int, ...]:
        """Their numbers."""
        return tuple(axis.column for axis in self.axes)

    def over(self, columns: Collection[int]) -> CountsWithVariance:
        """Added up over all other columns."""
        others = tuple(i for i, j in enumerate(self.columns) if j not in columns)
        return replace(
            self, axes=tuple(a for a in self.axes if a.column in columns),
            counts=self.counts.sum(others), variances=self.variances.sum(others),
        )  # fmt: skip

    def on(self, buckets: Sequence[np.ndarray]) -> CountsWithVariance:
        """Added up to coarser buckets, of every code of each column."""
        counts, variances, axes = self.counts, self.variances, list(self.axes)
        for i, axis in enumerate(self.axes):
            to = np.zeros(axis.size, dtype=np.int64)
            to[axis.buckets] = buckets[axis.column]
            if not np.array_equal(to, np.arange(len(to))):
                counts, variances = (_added(table, to, i) for table in (counts, variances))
                axes[i] = Axis(axis.column, buckets[axis.column])
        return replace(self, axes=tuple(axes), counts=counts, variances=variances)

    def answer(self) -> NoisyAnswer:
        """As the learner reads answers: Gaussian noise of one sigma."""
        # The geometric mean: one guess in place of a secret count is not to spoil all the others.
        scale = math.sqrt(np.exp(np.log(self.variances).mean()))
        return NoisyAnswer(
            asked=QueryRecord(kind="counts", tables=(self.axes,)), values=self.counts, noise="discrete gaussian",
            scale=scale, paid_by=(),
        )  # fmt: skip

    def moved_to(self, others: Sequence[CountsWithVariance]) -> CountsWithVariance:
        """Nearest counts that add up to tables of fewer columns, each as sure as its variance says."""
        counts = self.counts
        for other in (other for _ in range(SWEEPS) for other in others):
            rest = tuple(i for i, j in enumerate(self.columns) if j not in other.columns)
            lacking = np.expand_dims(other.counts, rest) - counts.sum(rest, keepdims=True)
            counts = counts + lacking * self.variances / self.variances.sum(rest, keepdims=True)
        return replace(self, counts=counts)


def reconciled(answers: Sequence[NoisyAnswer], domain: Domain, *, tell: bool = False) -> list[NoisyAnswer]:
    """Counts of each column in order, then pairs and larger sets, each once; scores stay between the pairs.

    ``tell``: whether to warn of totals that contradict one another.

    Raises
    ------
    ValueError
        If no answer says anything of some column.
    """
    told = [a for a in answers if a.asked.kind == "counts"]
    keys = [tuple(sorted(axis.column for axis in a.asked.tables[0])) for a in told]
    once = [key for key in keys if len(key) != 2]  # a fit of ours may measure its pairs again, at its end
    if len({*once}) == len(once) and not any(a.is_stated for a in told):
        return list(answers)
    tables = _scaled([CountsWithVariance.of(a) for a in told], domain, tell=tell)
    pairs = [t for t in tables if len(t.axes) == 2]
    sets = [t for t in tables if len(t.axes) > 2]
    parts = [t.over(e) for t in sets if t.is_stated for e in itertools.combinations(t.columns, 2)]
    buckets = _common([*pairs, *parts], [np.arange(c) for c in domain.cardinalities])
    singles = [_single(j, tables, domain) for j in range(len(domain))]
    averaged = {
        columns: table.moved_to([singles[j].on(groups) for j in columns])
        for many, groups in (([*pairs, *parts], buckets), (sets, _common(sets, buckets)))
        for columns, table in _averaged(many, groups).items()
    }
    found = [
        averaged.pop(e).answer() for e in sorted({t.columns for t in parts} - {t.columns for t in pairs})
    ]
    for answer in answers:
        if answer.asked.kind == "distances":
            found.append(answer)
        elif answer.asked.kind == "counts" and (key := CountsWithVariance.of(answer).columns) in averaged:
            found.append(averaged.pop(key).answer())
    return [*(table.answer() for table in singles), *found]


def _averaged(
    tables: Sequence[CountsWithVariance], buckets: Sequence[np.ndarray]
) -> dict[tuple[int, ...], CountsWithVariance]:
    """Of tables over the same columns their mean by inverse variance, on common buckets."""
    found: dict[tuple[int, ...], CountsWithVariance] = {}
    for table in (t.on(buckets) for t in tables):
        one = found.get(table.columns)
        found[table.columns] = table if one is None else _mean(one, table)
    return found


def _mean(one: CountsWithVariance, other: CountsWithVariance) -> CountsWithVariance:
    """Of two tables of one shape, by inverse variance, cell by cell."""
    first, second = 1 / one.variances, 1 / other.variances
    mean = (first * one.counts + second * other.counts) / (first + second)
    return replace(one, counts=mean, variances=1 / (first + second))


def _single(j: int, tables: Sequence[CountsWithVariance], domain: Domain) -> CountsWithVariance:
    """Counts of a column's codes, of all tables that add up to them; else of groups of its codes."""
    lines = [t.over((j,)) for t in tables if j in t.columns]
    if whole := [t for t in lines if t.axes[0].is_identity]:
        return reduce(_mean, whole)
    if not lines:
        raise Refused.saying(
            "answers",
            f"answers say nothing of column {domain.names[j]!r}: give counts over it, alone or with others, "
            "or leave it out of domain",
        )
    best = min(lines, key=lambda t: float(t.variances.sum()))
    buckets = best.axes[0].buckets
    size = np.bincount(buckets)[buckets]  # of a bucket nothing more is known: its codes share its counts
    return replace(
        best, axes=(Axis.of_codes(j, len(buckets)),), counts=best.counts[buckets] / size,
        variances=best.variances[buckets] / size,
    )  # fmt: skip


def _scaled(tables: Sequence[CountsWithVariance], domain: Domain, *, tell: bool) -> list[CountsWithVariance]:
    """Tables whose totals contradict the others, scaled to the mean total by inverse variance."""
    totals = np.array([t.counts.sum() for t in tables])
    weights = 1 / np.array([t.variances.sum() for t in tables])
    mean, odd = float(weights @ totals / weights.sum()), []
    found = list(tables)
    for i, (table, counted) in enumerate(zip(tables, totals, strict=True)):
        if mean > 0 < counted and abs(counted - mean) > FAR / math.sqrt(weights[i]):
            to = mean / counted
            found[i] = replace(table, counts=to * table.counts, variances=to**2 * table.variances)
            odd.append(f"{counted:,.0f} over {listed([domain.names[j] for j in table.columns])}")
    if tell and odd:
        warnings.warn(
            f"answers: totals contradict one another by more than their noise ({'; '.join(odd[:4])}; "
            f"their weighted mean is {mean:,.0f}): the model scales these tables to it, and intervals stay "
            "those of each table. If they are of different people, leave some out",
            stacklevel=5,
        )
    return found


def _common(tables: Sequence[CountsWithVariance], least: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Of every column the finest buckets that all tables, and ``least``, can be added up to."""
    found = list(least)
    for axis in (axis for table in tables for axis in table.axes):
        found[axis.column] = _joined(found[axis.column], np.asarray(axis.buckets))
    return found


def _joined(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The finest buckets of which each of both kinds of buckets is a part."""
    codes, first = len(one), int(one.max()) + 1
    at = np.arange(codes)
    ends = np.concatenate([codes + one, codes + first + other])
    size = codes + first + int(other.max()) + 1
    links = coo_array((np.ones(2 * codes), (np.tile(at, 2), ends)), shape=(size, size))
    labels = connected_components(links, directed=False)[1][:codes]
    for same in (other, one):  # in their own order, where they are these
        if (
            len({*zip(same.tolist(), labels.tolist(), strict=True)})
            == len({*same.tolist()})
            == labels.max() + 1
        ):
            return same
    return labels


def _added(table: np.ndarray, to: np.ndarray, axis: int) -> np.ndarray:
    """Added up along an axis."""
    moved = np.moveaxis(table, axis, 0)
    found = np.zeros((int(to.max()) + 1, *moved.shape[1:]))
    np.add.at(found, to, moved)
    return np.moveaxis(found, 0, axis)
