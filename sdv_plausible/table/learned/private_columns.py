"""Domains learned column by column under a privacy budget (docs/explanation/proofs/private_domain.md).

Two kinds of queries read the rows (:mod:`~sdv_plausible.table.learned.raw_queries`). They share one Gaussian
budget. Everything else is post-processing of noisy counts (:mod:`sdv_plausible.table.learned.value_grid`).

- *Public cells* (missing or not, number of decimals, powers of two, calendar years, parts of such cells):
  every cell gets noise, including empty ones.
- *Partition selection* (categories, single numbers): a value needs at least ``LEAST_HOLDERS`` rows (or
  people) and a noisy count above a threshold. The probability that noise alone passes the threshold is
  charged to delta.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

from sdv_plausible.queries.count_queries import NumberOfRows
from sdv_plausible.queries.partition_selection import FrequentValueCounts
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.table.cells.rounding import Rounding, estimate_rounding
from sdv_plausible.table.columns.domain import MAX_BINS, Attribute
from sdv_plausible.table.learned.declared_ranges import FEW_POINTS, DeclaredRange, PartialDeclaration, ends_of
from sdv_plausible.table.learned.private_domain import BUDGET_SHARES, FIRST, DomainPlan
from sdv_plausible.table.learned.raw_queries import (
    PRESENT,
    STANDS_OUT,
    FrequentPoints,
    FrequentValues,
    MissingCount,
    NoisyCount,
    NumberReading,
    PatternCounts,
    PrecisionCounts,
    PrecisionQuery,
    RoundingCounts,
    RunCounts,
    TypedValue,
    in_public_order,
    weighted_mean,
)
from sdv_plausible.table.learned.value_grid import (
    ALONE,
    DATE_UNITS,
    MOST_DECIMALS,
    GridRuns,
    Run,
    ValueGrid,
    bins_around,
    bins_between,
    date_grid,
    has_patterns,
    make_bins,
    pattern_of,
    reconcile_parts,
    restrict_to,
    split_heavy,
)

# Budget shares of a column with a declared range. Unneeded queries leave their share to the others.
BOUNDED = {"precision": 0.1, "values": 0.45, "cells": 0.45, "rounding": 0.1, "pattern": 0.04}
BOUNDED_ROUNDS = 2
FEW = 0.1  # share of the rows below which outer cells of a declared range are dropped
SURELY = 2.0  # standard deviations of noise added in that comparison
DECLARED = 1.0  # margin kept around the significant cells of a declared range, as a share of their width
MOST_POINTS = 2500  # largest number of bins of a column with single-value bins
POINT_FLOOR = 5.0  # standard deviations that the count of a single-value bin needs beyond max_bins
FINER = 4.0  # standard deviations of noise that the count of a finer precision needs
BY_CHANCE = 0.3  # expected number of single values in a range that pass the threshold by noise alone
WORTH = 0.5  # share of the mean rows per bin that a single-value bin needs
MIN_ROWS_SIGMAS = 8.0  # least row count, in standard deviations, to estimate the rows without frequent values


def learn_attributes(
    rows: Queryable,
    plan: DomainPlan,
    specs: Mapping[str, Mapping[str, Any]],
    date_styles: Mapping[str, Mapping[str, Any]],
    max_bins: int,
) -> dict[str, Attribute]:
    """Learn the domain of every planned column."""
    # Only ``datetime_format`` of ``specs`` is used. ``date_styles`` comes from the table's schema.
    if not plan.columns:
        return {}
    size = rows.ask(NumberOfRows(), plan.share())
    categories = learn_categories(rows, plan, (float(size.values[0]), size.sigma**2))
    attributes = {}
    for name, sdtype in plan.columns.items():
        column = _ColumnLearner(
            rows=rows, share=plan.share(name), failure=plan.failure, size=float(size.values[0]),
            size_sigma=size.sigma,
            may_miss=name not in plan.never_missing,
        )  # fmt: skip
        if sdtype == "boolean":
            attributes[name] = column.learn_boolean(name)
        elif name in categories:
            attributes[name] = categories[name]
        else:
            date_format, style = specs.get(name, {}).get("datetime_format"), date_styles.get(name, {})
            partial = plan.stated.get(name, PartialDeclaration())
            if name in plan.bounds:
                bounds = plan.bounds[name]
                date_format, zone = bounds.plain.datetime_format or date_format, style.get("time_zone")
                reading = NumberReading(name, sdtype, date_format, bounds.plain.texts, zone)
                attributes[name] = column.learn_in_range(reading, bounds, max_bins, style)
            else:
                reading = NumberReading(name, sdtype, date_format, partial.texts, style.get("time_zone"))
                attributes[name] = column.learn_numbers(reading, max_bins, style, partial.grid)
    return {
        name: plan.stated[name].apply_to(attribute) if name in plan.stated else attribute
        for name, attribute in attributes.items()
    }


class _FrequentPoints(NamedTuple):
    """Frequent grid points, and noisy counts of points."""

    points: list[int]
    counts: dict[int, float]
    sigma: float


@dataclass(frozen=True, kw_only=True)
class _ColumnLearner:
    """Queries about one column within its budget share."""

    rows: Queryable
    share: float
    failure: float
    size: float
    size_sigma: float
    may_miss: bool

    def learn_boolean(self, name: str) -> Attribute:
        """Attribute of a boolean column: only whether cells are missing is learned."""
        answer = self.rows.ask(MissingCount(name), self.share)
        nullable = self.may_miss and bool(answer.values[1] > PRESENT * answer.sigma)
        return Attribute(
            name=name, kind="categorical", values=(False, True), nullable=nullable, provenance="private"
        )

    def learn_numbers(
        self,
        reading: NumberReading,
        max_bins: int,
        style: Mapping[str, Any],
        declared_grid: ValueGrid | None = None,
    ) -> Attribute:
        """Learn precision, frequent values, then counts of cells and of parts of heavy cells."""
        signal = self.size / self.rows.sigma(self.share) if self.rows.sigma(self.share) else math.inf
        shares = [
            shares for least_signal, shares in BUDGET_SHARES if signal >= least_signal or not least_signal
        ][-1]
        precision, sigma = self._query_precision(reading, self.share * shares.precision)
        nullable = self.may_miss and precision.is_missing(sigma)
        placeholder_dates = tuple(text for text in precision.beside if text not in reading.texts)
        grid = declared_grid or _grid_of(reading, _finest_level(precision.levels, sigma))
        frequent = self._frequent_points(reading, grid, self.share * shares.values, max_bins)
        spikes = frequent.points
        cells = GridRuns(*grid.grid(), np.zeros(0), np.zeros(0)).cut_at(spikes)
        pattern, levels = self.share * shares.pattern, [self.share * share for share in shares.levels]
        if not has_patterns(grid):
            levels = [share * (1 + pattern / math.fsum(levels)) for share in levels]
        spikes_only = self._spikes_hold_all(frequent, precision, sigma, self.rows.sigma(levels[0]))
        runs = (cells.first, cells.last)
        cells = self._count_cells(reading, grid, runs, spikes, levels, max_bins, spikes_only=spikes_only)
        bins = make_bins(cells, spikes, max_bins)
        bins = self._apply_pattern(reading, grid, bins, pattern)
        lower, upper = ends_of(bins, grid, style)
        return Attribute(
            name=reading.name, kind=grid.kind, nullable=nullable or not (bins or placeholder_dates),
            decimals=grid.decimals, values=placeholder_dates,
            lower=lower, upper=upper, unit=grid.unit, provenance="private", **style,
        )  # fmt: skip

    def _query_precision(self, reading: NumberReading, share: float) -> tuple[PrecisionCounts, float]:
        """Counts by precision, with the declared texts and the significant placeholder dates."""
        query = PrecisionQuery(reading)
        answer = self.rows.ask(query, share)
        counts = PrecisionCounts.of(answer.values, query.asked())
        threshold = STANDS_OUT * answer.sigma
        texts = {
            text: count for text, count in counts.beside.items() if text in reading.texts or count > threshold
        }
        return counts._replace(beside=texts), answer.sigma

    def learn_in_range(
        self, reading: NumberReading, bounds: DeclaredRange, max_bins: int, style: Mapping[str, Any]
    ) -> Attribute:
        """Learn single values of a declared range, then counts of cells and of parts of heavy cells."""
        nullable, grid = bool(bounds.nullable), bounds.grid
        # Missing cells and their variance; not counted if their presence is declared.
        missing = 0.0, math.inf if nullable else 0.0
        spent = 0.0
        if bounds.learns_precision:
            spent = self._precision_budget(bounds)
            precision, sigma = self._query_precision(reading, spent)
            placeholders = [count for text, count in precision.beside.items() if text not in reading.texts]
            outside = (precision.missing, precision.unread, *precision.beside.values())
            missing = math.fsum(outside), len(outside) * sigma**2
            if bounds.nullable is None:
                nullable = bool(placeholders) or precision.is_missing(sigma)
            if grid is None:
                grid = _grid_of(reading, _finest_level(precision.levels, sigma))
            elif bounds.may_have_decimals and sigma:
                learned_grid = _grid_of(reading, _finest_level(precision.levels, sigma))
                grid = learned_grid if learned_grid.kind == "float" else grid
        assert grid is not None
        shares = self._bounded_shares(bounds, grid, self.share - spent)
        special_points = bounds.special_points(grid)
        # Leave room for a bin between any two points. Multiples of declared steps need no bins of their own.
        # Only the default max_bins may be exceeded by single-value bins.
        limit = MOST_POINTS if max_bins == MAX_BINS and not bounds.rounding else max_bins
        max_points = max(0, (limit - 1) // (4 if bounds.rounding else 2) - len(special_points))
        frequent = self._single_points(reading, grid, bounds, shares.get("values", 0.0), max_points)
        min_count = min(self._min_count(max_bins), max(self._min_count(limit), POINT_FLOOR * frequent.sigma))
        spikes = sorted(
            {*special_points, *(point for point in frequent.points if frequent.counts[point] >= min_count)}
        )

        first, last = bounds.coarse_cells(grid)
        if not len(first):
            return bounds.attribute(grid, [], nullable=nullable, style=style)
        spike_counts = [frequent.counts[point] for point in spikes if point in frequent.counts]
        in_cells = (
            self.size - missing[0] - sum(spike_counts),
            self.size_sigma**2 + missing[1] + len(spike_counts) * frequent.sigma**2,
        )
        levels = [shares["cells"] / BOUNDED_ROUNDS] * BOUNDED_ROUNDS
        hidden = PRESENT * math.sqrt(in_cells[1])
        spikes_only = bool(spike_counts) and in_cells[0] <= max(hidden, ALONE * self.rows.sigma(levels[0]))
        cells = self._count_cells(
            reading, grid, (first, last), spikes, levels, max_bins, declared=in_cells, spikes_only=spikes_only
        )
        if limit > max_bins:  # a bin between any two points, and max_bins others
            max_bins = min(max_bins + 2 * len(spikes), limit)
        if spike_counts and self.size > MIN_ROWS_SIGMAS * math.sqrt(in_cells[1]) and in_cells[0] <= hidden:
            # Noise hides the few rows without a frequent value. Several frequent values indicate where these
            # rows may be; a single one does not.
            known_points = [*spikes, *cells.first.tolist(), *cells.last.tolist()]
            ends = min(known_points), max(known_points)
            bins = (
                bins_between(spikes, *ends) if len(spikes) > 1 else bins_around(spikes[0], *bounds.ends(grid))
            )
        else:
            bins = make_bins(cells, spikes, max_bins)
        bins = self._apply_pattern(reading, grid, bins, shares.get("pattern", 0.0))
        rounding = (
            self._estimate_rounding(reading, grid, bounds.steps, spikes, shares)
            if "rounding" in shares
            else None
        )
        return bounds.attribute(grid, bins, nullable=nullable, style=style, rounding=rounding)

    def _precision_budget(self, bounds: DeclaredRange) -> float:
        """Budget share of the precision query, which comes before the grid is known."""
        total = math.fsum(share for query, share in BOUNDED.items() if query != "rounding" or bounds.steps)
        return self.share * BOUNDED["precision"] / total

    def _bounded_shares(self, bounds: DeclaredRange, grid: ValueGrid, budget: float) -> dict[str, float]:
        """Budget shares of the queries that this grid needs."""
        needed = {
            "values": _queries_points(bounds, grid),
            "cells": True,
            "rounding": bool(bounds.steps) and grid == bounds.grid,
            "pattern": has_patterns(grid),
        }
        total = math.fsum(BOUNDED[query] for query, is_needed in needed.items() if is_needed)
        return {query: budget * BOUNDED[query] / total for query, is_needed in needed.items() if is_needed}

    def _estimate_rounding(
        self,
        reading: NumberReading,
        grid: ValueGrid,
        steps: tuple[int, ...],
        spikes: list[int],
        shares: Mapping[str, float],
    ) -> Rounding:
        """Estimate how often values without a bin of their own are rounded."""
        answer = self.rows.ask(RoundingCounts(reading, grid, steps, tuple(spikes)), shares["rounding"])
        return estimate_rounding(answer.values.reshape(-1, len(steps)), answer.sigma, steps)

    def _apply_pattern(
        self, reading: NumberReading, grid: ValueGrid, bins: list[Run], share: float
    ) -> list[Run]:
        """Restrict bins to the points that the column's pattern allows."""
        if not has_patterns(grid):
            return bins
        answer = self.rows.ask(PatternCounts(reading, grid), share)
        pattern = pattern_of(answer.values, answer.sigma, grid)
        return bins if pattern is None or len(bins) < 2 else restrict_to(pattern, bins, grid)

    def _spikes_hold_all(
        self, frequent: _FrequentPoints, precision: PrecisionCounts, sigma: float, cell_sigma: float
    ) -> bool:
        """Whether the rows without a frequent value are too few to make any cell significant."""
        # Otherwise the cell with the largest noise would pass for the rest of the column.
        spike_counts = [frequent.counts[point] for point in frequent.points]
        outside = (precision.missing, precision.unread, *precision.beside.values())
        deviation = math.hypot(
            self.size_sigma, math.sqrt(len(outside)) * sigma, math.sqrt(len(spike_counts)) * frequent.sigma
        )
        rest = self.size - math.fsum(outside) - sum(spike_counts)
        hidden = max(PRESENT * deviation, ALONE * cell_sigma if spike_counts else 0.0)
        return self.size > MIN_ROWS_SIGMAS * deviation > 0 and rest <= hidden

    def _single_points(
        self, reading: NumberReading, grid: ValueGrid, bounds: DeclaredRange, share: float, max_points: int
    ) -> _FrequentPoints:
        """Frequent points of a declared range: all points if few, else by partition selection."""
        low, high = bounds.ends(grid)
        if not _queries_points(bounds, grid):
            return _FrequentPoints([], {}, 0.0)
        if high - low >= FEW_POINTS:
            selected = self.rows.ask_frequent(FrequentPoints(reading, grid), share, self.failure)
            counts = dict(zip(selected.values, selected.counts.tolist(), strict=True))
            heavy = sorted(counts, key=lambda point: -counts[point])[:max_points]
            return _FrequentPoints([p for p in heavy if low <= p <= high], counts, selected.sigma)
        points = np.arange(low, high + 1)
        answer = self.rows.ask(RunCounts(reading, grid, points, points), share)
        threshold = answer.sigma * float(norm.isf(BY_CHANCE / len(points)))
        heaviest = np.argsort(-answer.values, kind="stable")[:max_points]
        counts = dict(zip(points.tolist(), answer.values.tolist(), strict=True))
        chosen = sorted(low + i for i in heaviest.tolist() if answer.values[i] > threshold)
        return _FrequentPoints(chosen, counts, answer.sigma)

    def _frequent_points(
        self, reading: NumberReading, grid: ValueGrid, share: float, max_bins: int
    ) -> _FrequentPoints:
        """Frequent grid points, at most ``max_bins // 2``."""
        max_points, min_count = max_bins // 2, self._min_count(max_bins)
        selected = self.rows.ask_frequent(FrequentPoints(reading, grid), share, self.failure)
        heaviest = np.argsort(-selected.counts, kind="stable")[:max_points]
        points = [selected.values[i] for i in heaviest if selected.counts[i] >= min_count]
        return _FrequentPoints(
            points, dict(zip(selected.values, selected.counts.tolist(), strict=True)), selected.sigma
        )

    def _min_count(self, max_bins: int) -> float:
        """Rows that a single-value bin needs: chance repeats points of a smooth column."""
        return WORTH * self.size / max_bins

    def _count_cells(
        self,
        reading: NumberReading,
        grid: ValueGrid,
        runs: tuple[np.ndarray, np.ndarray],
        spikes: list[int],
        shares: Sequence[float],
        max_bins: int,
        *,
        declared: tuple[float, float] | None = None,
        spikes_only: bool = False,
    ) -> GridRuns:
        """Noisy counts of cells; heavy significant cells are counted again in parts."""
        # ``declared``, for a declared range: noisy number of rows in all cells, and its variance. Such cells
        # are dropped only if they surely hold few rows. ``spikes_only``: the spikes seem to hold all rows.

        def count(first: np.ndarray, last: np.ndarray, share: float) -> GridRuns:
            answer = self.rows.ask(RunCounts(reading, grid, first, last, tuple(spikes)), share)
            return GridRuns(first, last, answer.values, np.full(len(first), answer.sigma))

        all_cells = count(*runs, shares[0])
        max_dropped, unspent = math.inf if declared is None else FEW * self.size, 0.0
        if declared is None:
            cells = all_cells.occupied(spikes_only=spikes_only)
        else:
            cells = _drop_light_ends(all_cells, grid, spikes, *declared, max_dropped, spikes_only=spikes_only)
        for share in shares[1:]:
            unspent += share  # a round without heavy cells leaves its share to the next
            target = max(self.size / max_bins, 4 * self.rows.sigma(unspent))
            light, parts, parts_per_cell = split_heavy(cells, target, grid, spikes)
            if not parts:
                continue
            heavy = cells.take((cells.counts >= 2 * target) & (cells.last > cells.first))
            first, last = np.array(parts, dtype=np.int64).T
            finer = reconcile_parts(count(first, last, unspent), heavy, parts_per_cell, spikes, max_dropped)
            cells, unspent = light.join(finer), 0.0
        if not unspent or not self.rows.sigma(unspent):
            return cells
        # No cell is heavy: count the cells again, or all cells if none was significant.
        if len(cells.first):
            return cells.average_with(count(cells.first, cells.last, unspent))
        return all_cells.average_with(count(all_cells.first, all_cells.last, unspent)).occupied(
            spikes_only=spikes_only
        )


def _queries_points(bounds: DeclaredRange, grid: ValueGrid) -> bool:
    """Whether single points of a range are queried."""
    low, high = bounds.ends(grid)  # undeclared digits may make too many points
    return high >= low and (high - low < FEW_POINTS or bounds.may_be_long)


def _drop_light_ends(
    cells: GridRuns,
    grid: ValueGrid,
    spikes: list[int],
    total: float,
    variance: float,
    max_dropped: float,
    *,
    spikes_only: bool,
) -> GridRuns:
    """Drop the outer cells of a declared range if they hold few rows for certain."""
    inner = cells.within(spikes, DECLARED, spikes_only=spikes_only, max_margin=grid.max_margin)
    outside = ~np.isin(cells.first, inner.first) & ~np.isin(cells.last, inner.last)
    estimates = [
        (float(cells.counts[outside].sum()), float((cells.deviations[outside] ** 2).sum())),
        (total - float(inner.counts.sum()), variance + float((inner.deviations**2).sum())),
    ]
    count, spread = min(estimates, key=lambda estimate: estimate[1])
    noise = SURELY * math.sqrt(spread)
    is_empty = count <= noise <= 2 * max_dropped  # undecidable with more noise
    return inner if is_empty or count + noise <= max_dropped else cells


def _finest_level(counts: np.ndarray, sigma: float) -> int:
    """Coarsest level beyond which no finer level is significant, alone or together."""
    for level in range(len(counts) - 1):
        finer = counts[level + 1 :]
        if finer.max() <= FINER * sigma and finer.sum() <= FINER * sigma * math.sqrt(len(finer)):
            return level if counts.max() > 3 * sigma or not sigma else int(np.argmax(counts))
    return len(counts) - 1


def _grid_of(reading: NumberReading, level: int) -> ValueGrid:
    if reading.sdtype == "datetime":
        return date_grid(DATE_UNITS[level], reading.datetime_format)
    if level == 0:
        return ValueGrid(kind="integer")
    return ValueGrid(kind="float", decimals=level if level <= MOST_DECIMALS else None)


class _CommonValues(NamedTuple):
    """Values above the threshold, with noisy counts of them and of missing cells."""

    values: Mapping[TypedValue, NoisyCount]
    missing: NoisyCount

    @classmethod
    def of(cls, answer: FrequentValueCounts) -> _CommonValues:
        """The result of one round."""
        variance = answer.sigma**2
        counts = zip(answer.values, answer.counts.tolist(), strict=True)
        return cls({value: (count, variance) for value, count in counts}, (float(answer.public[0]), variance))

    def average_with(self, other: _CommonValues) -> _CommonValues:
        """Union of two rounds, with inverse-variance weighted means of counts in both."""
        merged = {**self.values, **other.values}
        merged |= {
            value: weighted_mean(self.values[value], other.values[value])
            for value in self.values.keys() & other.values.keys()
        }
        return _CommonValues(
            {value: merged[value] for value in in_public_order(merged)},
            weighted_mean(self.missing, other.missing),
        )

    def others(self, size: NoisyCount) -> tuple[float, float]:
        """Estimated rows with values below the threshold, and its standard deviation."""
        counts = [*self.values.values(), self.missing]
        deviation = math.sqrt(size[1] + math.fsum(variance for _, variance in counts))
        return size[0] - math.fsum(count for count, _ in counts), deviation

    def attribute(self, name: str, sdtype: str, size: NoisyCount, *, may_miss: bool) -> Attribute:
        """Attribute with the values, and with counts of each and of all others together."""
        counts: dict[Any, float] = {}
        for (_, value), (count, _) in self.values.items():  # pandas treats True and 1 as one value
            # Equal strings become one object, so that pickles are equal.
            interned = sys.intern(value) if isinstance(value, str) else value
            counts[interned] = counts.get(interned, 0.0) + count
        missing, variance = self.missing
        others, deviation = self.others(size)
        all_counts = (*counts.values(), others if others > PRESENT * deviation else 0.0)
        return Attribute(
            name=name, kind="ordinal" if sdtype == "ordinal" else "categorical", values=tuple(counts),
            nullable=(may_miss and missing > PRESENT * math.sqrt(variance)) or not counts,
            counts=tuple(max(0, round(count)) for count in all_counts) if counts else None,
            provenance="private",
        )  # fmt: skip


def learn_categories(rows: Queryable, plan: DomainPlan, size: NoisyCount) -> dict[str, Attribute]:
    """Learn the domains of the plan's categorical columns; ``size``: noisy number of rows."""

    def query(name: str, share: float) -> _CommonValues:
        return _CommonValues.of(rows.ask_frequent(FrequentValues(name), share, plan.failure))

    shares = {name: plan.share(name) for name in plan.categories}
    round_share = FIRST if plan.has_two_rounds else 1.0
    learned = {name: query(name, round_share * share) for name, share in shares.items()}
    if plan.has_two_rounds:
        # At least the deviation: noise may hide as many rows in a column that seems complete.
        weights = {name: math.sqrt(max(values.others(size))) for name, values in learned.items()}
        share_per_weight = (1 - round_share) * math.fsum(shares.values()) / math.fsum(weights.values())
        learned = {
            name: values.average_with(query(name, share_per_weight * weights[name]))
            for name, values in learned.items()
        }
    return {
        name: values.attribute(name, plan.columns[name], size, may_miss=name not in plan.never_missing)
        for name, values in learned.items()
    }
