"""Looks at columns whose domains are learned under a budget (docs/explanation/proofs/private_domain.md).

Everything about the rows is an answer of the door to one of two kinds of questions
(:mod:`~sdv_plausible.table.learned.raw_queries`), all out of one Gaussian budget; what is done with the noisy
counts is post-processing (:mod:`sdv_plausible.table.learned.value_grid`):

- *public cells* (missing or not, number of decimals, powers of two, calendar years, parts of such cells):
  every cell
  gets noise, whether a row is in it or not;
- *values that occur* (categories, single numbers): at least ``LEAST_HOLDERS`` rows, or people, must hold a
  value, and its noisy count must reach a threshold that noise alone passes with a probability that is charged
  to delta.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

from sdv_plausible.queries.count_queries import NumberOfRows
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.table.cells.rounding import Rounding, estimate
from sdv_plausible.table.columns.domain import MAX_BINS, Attribute
from sdv_plausible.table.learned.declared_ranges import FEW_POINTS, DeclaredRange, ends_of
from sdv_plausible.table.learned.learned_categories import learn_categories
from sdv_plausible.table.learned.partial_declarations import PartialDeclaration
from sdv_plausible.table.learned.patterns import has_patterns, kept_to, pattern_of
from sdv_plausible.table.learned.private_domain import LOOKS, DomainPlan
from sdv_plausible.table.learned.raw_queries import (
    PRESENT,
    STANDS_OUT,
    FrequentPoints,
    MissingCount,
    NumberReading,
    PatternCounts,
    PrecisionCounts,
    PrecisionQuery,
    RoundingCounts,
    RunCounts,
)
from sdv_plausible.table.learned.value_grid import (
    ALONE,
    DATE_UNITS,
    MOST_DECIMALS,
    GridRuns,
    Run,
    ValueGrid,
    around,
    between,
    date_lattice,
    make_bins,
    refined,
    split_heavy,
)

# Of a column with bounds: single values, and cells in rounds; the precision where it is not declared, and how
# round numbers are. What is not asked leaves its share to the others, here and above.
BOUNDED = {"precision": 0.1, "values": 0.45, "cells": 0.45, "rounding": 0.1, "pattern": 0.04}
BOUNDED_ROUNDS = 2
FEW = 0.1  # of the rows: cells of a declared range are left out where they surely hold fewer
SURELY = 2.0  # standard deviations of noise that this allows for
DECLARED = 1.0  # of the width of what stands out, how far beyond it a declared range is kept
MOST_POINTS = 2500  # bins of a column of which single values are learned, at most
POINT_FLOOR = 5.0  # standard deviations that the count of each of them has, beyond max_bins
FINER = 4.0  # standard deviations of noise that finer levels of precision must have
BY_CHANCE = 0.3  # single values of a range that noise alone is expected to lift over their threshold
WORTH = 0.5  # of a bin's even share of the rows: a point that holds less gets no bin of its own
FEW_BESIDE = (
    8.0  # standard deviations that the rows must have for "beside the single values" to mean anything
)


def learn_attributes(
    rows: Queryable,
    plan: DomainPlan,
    specs: Mapping[str, Mapping[str, Any]],
    date_styles: Mapping[str, Mapping[str, Any]],
    max_bins: int,
) -> dict[str, Attribute]:
    """Learn the domain of every planned column."""
    # Of ``specs`` only ``datetime_format`` is used; ``date_styles`` is what the table's schema tells of
    # dates.
    if not plan.columns:
        return {}
    size = rows.ask(NumberOfRows(), plan.share())
    known = learn_categories(rows, plan, (float(size.values[0]), size.sigma**2))
    found = {}
    for name, sdtype in plan.columns.items():
        look = _Column(
            rows=rows, share=plan.share(name), failure=plan.failure, size=float(size.values[0]),
            size_sigma=size.sigma,
            may_miss=name not in plan.never_missing,
        )  # fmt: skip
        if sdtype == "boolean":
            found[name] = look.flags(name)
        elif name in known:
            found[name] = known[name]
        else:
            form, style = specs.get(name, {}).get("datetime_format"), date_styles.get(name, {})
            stated = plan.stated.get(name, PartialDeclaration())
            if name in plan.bounds:
                bounds = plan.bounds[name]
                form, zone = bounds.plain.datetime_format or form, style.get("time_zone")
                reading = NumberReading(name, sdtype, form, bounds.plain.texts, zone)
                found[name] = look.bounded(reading, bounds, max_bins, style)
            else:
                reading = NumberReading(name, sdtype, form, stated.texts, style.get("time_zone"))
                found[name] = look.numbers(reading, max_bins, style, stated.lattice)
    return {n: plan.stated[n].kept(one) if n in plan.stated else one for n, one in found.items()}


class _Singles(NamedTuple):
    """Single values that many rows hold, and what is known of how many hold which."""

    points: list[int]
    counts: dict[int, float]
    sigma: float


@dataclass(frozen=True, kw_only=True)
class _Column:
    """Looks at one column, within its share."""

    rows: Queryable
    share: float
    failure: float
    size: float
    size_sigma: float
    may_miss: bool

    def flags(self, name: str) -> Attribute:
        """False and True are known; whether there are missing values is not."""
        answer = self.rows.ask(MissingCount(name), self.share)
        nullable = self.may_miss and bool(answer.values[1] > PRESENT * answer.sigma)
        return Attribute(
            name=name, kind="categorical", values=(False, True), nullable=nullable, provenance="private"
        )

    def numbers(
        self, reading: NumberReading, max_bins: int, style: Mapping[str, Any], known: ValueGrid | None = None
    ) -> Attribute:
        """Precision, frequent values, orders of magnitude, then ever finer parts of what holds many rows."""
        power = self.size / self.rows.sigma(self.share) if self.rows.sigma(self.share) else math.inf
        shares = [shares for least, shares in LOOKS if power >= least or not least][-1]
        found, sigma = self._precision(reading, self.share * shares.precision)
        nullable = self.may_miss and found.is_missing(sigma)
        never = tuple(text for text in found.beside if text not in reading.texts)
        lattice = known or _lattice(reading, _finest(found.levels, sigma))
        singles = self._frequent_points(reading, lattice, self.share * shares.values, max_bins)
        spikes = singles.points
        first = GridRuns(*lattice.grid(), np.zeros(0), np.zeros(0)).cut_at(spikes)
        pattern, levels = self.share * shares.pattern, [self.share * share for share in shares.levels]
        if not has_patterns(lattice):
            levels = [share * (1 + pattern / math.fsum(levels)) for share in levels]
        alone = self._are_all(singles, found, sigma, self.rows.sigma(levels[0]))
        runs = (first.first, first.last)
        cells = self._levels(reading, lattice, runs, spikes, levels, max_bins, alone=alone)
        bins = make_bins(cells, spikes, max_bins)
        bins = self._possible(reading, lattice, bins, pattern)
        lower, upper = ends_of(bins, lattice, style)
        return Attribute(
            name=reading.name, kind=lattice.kind, nullable=nullable or not (bins or never),
            decimals=lattice.decimals, values=never,
            lower=lower, upper=upper, unit=lattice.unit, provenance="private", **style,
        )  # fmt: skip

    def _precision(self, reading: NumberReading, share: float) -> tuple[PrecisionCounts, float]:
        """How fine the numbers are, and what is beside them: of dates for "never" those that stand out."""
        question = PrecisionQuery(reading)
        answer = self.rows.ask(question, share)
        found = PrecisionCounts.of(answer.values, question.asked())
        least = STANDS_OUT * answer.sigma
        beside = {t: count for t, count in found.beside.items() if t in reading.texts or count > least}
        return found._replace(beside=beside), answer.sigma

    def bounded(
        self, reading: NumberReading, bounds: DeclaredRange, max_bins: int, style: Mapping[str, Any]
    ) -> Attribute:
        """Single values of a declared range, then parts of it, finer where there are many rows."""
        nullable, lattice = bool(bounds.nullable), bounds.lattice
        absent = 0.0, math.inf if nullable else 0.0  # missing cells, which are not counted where declared
        spent = 0.0
        if bounds.asks_precision:
            spent = self._precision_share(bounds)
            precision, sigma = self._precision(reading, spent)
            never = [count for text, count in precision.beside.items() if text not in reading.texts]
            beside = (precision.missing, precision.unread, *precision.beside.values())
            absent = math.fsum(beside), len(beside) * sigma**2
            if bounds.nullable is None:
                nullable = bool(never) or precision.is_missing(sigma)
            if lattice is None:
                lattice = _lattice(reading, _finest(precision.levels, sigma))
            elif bounds.may_have_digits and sigma:
                found = _lattice(reading, _finest(precision.levels, sigma))
                lattice = found if found.kind == "float" else lattice
        assert lattice is not None
        shares = self._bounded_shares(bounds, lattice, self.share - spent)
        known = bounds.special_points(lattice)
        # So that there is a bin between any two; multiples of declared steps need no bins of their own.
        # What a user asks for stays; by default single values may be more than other bins.
        room = MOST_POINTS if max_bins == MAX_BINS and not bounds.rounding else max_bins
        most = max(0, (room - 1) // (4 if bounds.rounding else 2) - len(known))
        singles = self._single_points(reading, lattice, bounds, shares.get("values", 0.0), most)
        worth = min(self._worth(max_bins), max(self._worth(room), POINT_FLOOR * singles.sigma))
        spikes = sorted({*known, *(point for point in singles.points if singles.counts[point] >= worth)})

        first, last = bounds.grid(lattice)
        if not len(first):
            return bounds.attribute(lattice, [], nullable=nullable, style=style)
        known_counts = [singles.counts[point] for point in spikes if point in singles.counts]
        held = (
            self.size - absent[0] - sum(known_counts),
            self.size_sigma**2 + absent[1] + len(known_counts) * singles.sigma**2,
        )
        levels = [shares["cells"] / BOUNDED_ROUNDS] * BOUNDED_ROUNDS
        hidden = PRESENT * math.sqrt(held[1])
        alone = bool(known_counts) and held[0] <= max(hidden, ALONE * self.rows.sigma(levels[0]))
        cells = self._levels(
            reading, lattice, (first, last), spikes, levels, max_bins, declared=held, alone=alone
        )
        if room > max_bins:  # a bin between any two of the points, and as many as before beside them
            max_bins = min(max_bins + 2 * len(spikes), room)
        if known_counts and self.size > FEW_BESIDE * math.sqrt(held[1]) and held[0] <= hidden:
            # So few rows are beside the single values that noise hides them. Several of these tell how far
            # the others may be; of one, nothing does, and they may be of any size.
            inside = [*spikes, *cells.first.tolist(), *cells.last.tolist()]
            ends = min(inside), max(inside)
            bins = between(spikes, *ends) if len(spikes) > 1 else around(spikes[0], *bounds.ends(lattice))
        else:
            bins = make_bins(cells, spikes, max_bins)
        bins = self._possible(reading, lattice, bins, shares.get("pattern", 0.0))
        rounding = (
            self._rounding(reading, lattice, bounds.steps, spikes, shares) if "rounding" in shares else None
        )
        return bounds.attribute(lattice, bins, nullable=nullable, style=style, rounding=rounding)

    def _precision_share(self, bounds: DeclaredRange) -> float:
        """Share of the look that comes before the points of the range are known."""
        whole = math.fsum(share for what, share in BOUNDED.items() if what != "rounding" or bounds.steps)
        return self.share * BOUNDED["precision"] / whole

    def _bounded_shares(self, bounds: DeclaredRange, lattice: ValueGrid, left: float) -> dict[str, float]:
        """Shares of the looks that are worth it for these points."""
        asks = {
            "values": _asks_points(bounds, lattice),
            "cells": True,
            "rounding": bool(bounds.steps) and lattice == bounds.lattice,
            "pattern": has_patterns(lattice),
        }
        whole = math.fsum(BOUNDED[what] for what, is_asked in asks.items() if is_asked)
        return {what: left * BOUNDED[what] / whole for what, is_asked in asks.items() if is_asked}

    def _rounding(
        self,
        reading: NumberReading,
        lattice: ValueGrid,
        steps: tuple[int, ...],
        spikes: list[int],
        shares: Mapping[str, float],
    ) -> Rounding:
        """How round the numbers are that do not stand alone."""
        answer = self.rows.ask(RoundingCounts(reading, lattice, steps, tuple(spikes)), shares["rounding"])
        return estimate(answer.values.reshape(-1, len(steps)), answer.sigma, steps)

    def _possible(
        self, reading: NumberReading, lattice: ValueGrid, bins: list[Run], share: float
    ) -> list[Run]:
        """Bins of possible points alone, where the column keeps to a pattern."""
        if not has_patterns(lattice):
            return bins
        answer = self.rows.ask(PatternCounts(reading, lattice), share)
        pattern = pattern_of(answer.values, answer.sigma, lattice)
        return bins if pattern is None or len(bins) < 2 else kept_to(pattern, bins, lattice)

    def _are_all(self, singles: _Singles, found: PrecisionCounts, sigma: float, cell_sigma: float) -> bool:
        """Whether so few rows are beside the single values that no cell could stand out by them."""
        # Else the cell that noise lifts most, wherever it is, would be taken for the rest of the column.
        known = [singles.counts[point] for point in singles.points]
        beside = (found.missing, found.unread, *found.beside.values())
        deviation = math.hypot(
            self.size_sigma, math.sqrt(len(beside)) * sigma, math.sqrt(len(known)) * singles.sigma
        )
        rest = self.size - math.fsum(beside) - sum(known)
        hidden = max(PRESENT * deviation, ALONE * cell_sigma if known else 0.0)
        return self.size > FEW_BESIDE * deviation > 0 and rest <= hidden

    def _single_points(
        self, reading: NumberReading, lattice: ValueGrid, bounds: DeclaredRange, share: float, most: int
    ) -> _Singles:
        """Points of a range that many rows hold: of all where they are few, else of those that occur."""
        low, high = bounds.ends(lattice)
        if not _asks_points(bounds, lattice):
            return _Singles([], {}, 0.0)
        if high - low >= FEW_POINTS:
            found = self.rows.ask_frequent(FrequentPoints(reading, lattice), share, self.failure)
            counts = dict(zip(found.values, found.counts.tolist(), strict=True))
            heavy = sorted(counts, key=lambda point: -counts[point])[:most]
            return _Singles([p for p in heavy if low <= p <= high], counts, found.sigma)
        points = np.arange(low, high + 1)
        answer = self.rows.ask(RunCounts(reading, lattice, points, points), share)
        least = answer.sigma * float(norm.isf(BY_CHANCE / len(points)))
        heaviest = np.argsort(-answer.values, kind="stable")[:most]
        counts = dict(zip(points.tolist(), answer.values.tolist(), strict=True))
        chosen = sorted(low + i for i in heaviest.tolist() if answer.values[i] > least)
        return _Singles(chosen, counts, answer.sigma)

    def _frequent_points(
        self, reading: NumberReading, lattice: ValueGrid, share: float, max_bins: int
    ) -> _Singles:
        """Lattice points that many rows hold, at most half as many as bins."""
        most, worth = max_bins // 2, self._worth(max_bins)
        found = self.rows.ask_frequent(FrequentPoints(reading, lattice), share, self.failure)
        heaviest = np.argsort(-found.counts, kind="stable")[:most]
        points = [found.values[i] for i in heaviest if found.counts[i] >= worth]
        return _Singles(points, dict(zip(found.values, found.counts.tolist(), strict=True)), found.sigma)

    def _worth(self, max_bins: int) -> float:
        """Rows that a point must hold: with little noise, chance repeats points of a smooth column."""
        return WORTH * self.size / max_bins

    def _levels(
        self,
        reading: NumberReading,
        lattice: ValueGrid,
        runs: tuple[np.ndarray, np.ndarray],
        spikes: list[int],
        shares: Sequence[float],
        max_bins: int,
        *,
        declared: tuple[float, float] | None = None,
        alone: bool = False,
    ) -> GridRuns:
        """Noisy counts of cells, of which those that stand out and hold many rows are counted in parts."""
        # ``declared``, of a declared range: the noisy number of rows in all cells, and its variance. There a
        # cell is left out only if it surely holds few rows. ``alone``: single values seem to hold all rows.

        def count(first: np.ndarray, last: np.ndarray, share: float) -> GridRuns:
            answer = self.rows.ask(RunCounts(reading, lattice, first, last, tuple(spikes)), share)
            return GridRuns(first, last, answer.values, np.full(len(first), answer.sigma))

        whole = count(*runs, shares[0])
        most, left = math.inf if declared is None else FEW * self.size, 0.0
        if declared is None:
            cells = whole.settled(alone=alone)
        else:
            cells = _trimmed(whole, lattice, spikes, *declared, most, alone=alone)
        for share in shares[1:]:
            left += share  # a round that has nothing to count leaves its share to the next
            target = max(self.size / max_bins, 4 * self.rows.sigma(left))
            stay, parts, numbers = split_heavy(cells, target, lattice, spikes)
            if not parts:
                continue
            cut = cells.take((cells.counts >= 2 * target) & (cells.last > cells.first))
            first, last = np.array(parts, dtype=np.int64).T
            finer = refined(count(first, last, left), cut, numbers, spikes, most)
            cells, left = stay.join(finer), 0.0
        if not left or not self.rows.sigma(left):
            return cells
        # No cell is worth parts: they are counted again, or all of them where none stood out.
        if len(cells.first):
            return cells.and_again(count(cells.first, cells.last, left))
        return whole.and_again(count(whole.first, whole.last, left)).settled(alone=alone)


def _asks_points(bounds: DeclaredRange, lattice: ValueGrid) -> bool:
    """Whether points of a range are looked at by themselves."""
    low, high = bounds.ends(lattice)  # of digits that nobody declared there may be too many points
    return high >= low and (high - low < FEW_POINTS or bounds.may_be_long)


def _trimmed(
    cells: GridRuns,
    lattice: ValueGrid,
    spikes: list[int],
    held: float,
    variance: float,
    most: float,
    *,
    alone: bool,
) -> GridRuns:
    """Cells of a declared range without those far out, where these surely hold few rows."""
    inner = cells.within(spikes, DECLARED, alone=alone, farthest=lattice.farthest)
    outside = ~np.isin(cells.first, inner.first) & ~np.isin(cells.last, inner.last)
    ways = [
        (float(cells.counts[outside].sum()), float((cells.deviations[outside] ** 2).sum())),
        (held - float(inner.counts.sum()), variance + float((inner.deviations**2).sum())),
    ]
    count, spread = min(ways, key=lambda way: way[1])
    noise = SURELY * math.sqrt(spread)
    is_empty = count <= noise <= 2 * most  # as far as can be seen; with more noise nothing can be
    return inner if is_empty or count + noise <= most else cells


def _finest(counts: np.ndarray, sigma: float) -> int:
    """Coarsest precision level beyond which no level stands out from the noise, nor all together do."""
    for level in range(len(counts) - 1):
        beyond = counts[level + 1 :]
        if beyond.max() <= FINER * sigma and beyond.sum() <= FINER * sigma * math.sqrt(len(beyond)):
            return level if counts.max() > 3 * sigma or not sigma else int(np.argmax(counts))
    return len(counts) - 1


def _lattice(reading: NumberReading, level: int) -> ValueGrid:
    if reading.sdtype == "datetime":
        return date_lattice(DATE_UNITS[level], reading.datetime_format)
    if level == 0:
        return ValueGrid(kind="integer")
    return ValueGrid(kind="float", decimals=level if level <= MOST_DECIMALS else None)
