"""Looks at columns whose domains are learned under a budget (docs/explanation/proofs/private_domain.md).

Everything about the rows is an answer of the door to one of two kinds of questions
(:mod:`~sdv_plausible.table.learned.raw_counts`), all out of one Gaussian budget; what is done with the noisy
counts is post-processing (:mod:`sdv_plausible.table.learned.lattice`):

- *public cells* (missing or not, number of decimals, powers of two, calendar years, parts of such cells):
  every cell
  gets noise, whether a row is in it or not;
- *values that occur* (categories, single numbers): at least ``LEAST_HOLDERS`` rows, or people, must hold a
  value, and its noisy count must reach a threshold that noise alone passes with a probability that is charged
  to delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

from sdv_plausible.questions.counts import NumberOfRows
from sdv_plausible.questions.queryable import Queryable
from sdv_plausible.table.cells.rounding import Rounding, estimate
from sdv_plausible.table.columns.domain import Attribute
from sdv_plausible.table.learned.bounds import FEW_POINTS, Bounds
from sdv_plausible.table.learned.categories import PRESENT, learn_categories
from sdv_plausible.table.learned.lattice import (
    DATE_UNITS,
    MOST_DECIMALS,
    Cells,
    Lattice,
    between,
    date_lattice,
    make_bins,
    split_heavy,
)
from sdv_plausible.table.learned.private_domain import DomainPlan
from sdv_plausible.table.learned.raw_counts import (
    FrequentPoints,
    MissingOrNot,
    Precision,
    Reading,
    RoundingCounts,
    RunCounts,
)

ROUNDS = 3
# Shares of a number's or date's budget; a table too small for the finer looks spends all on the coarse ones.
FULL = {"precision": 0.08, "values": 0.2, "magnitude": 0.36, "round": 0.12}
COARSE = {"precision": 0.2, "values": 0.0, "magnitude": 0.8, "round": 0.0}
# Of a column with bounds: single values, and cells in rounds; the precision where it is not declared, and how
# round numbers are. What is not asked leaves its share to the others.
BOUNDED = {"precision": 0.1, "values": 0.45, "cells": 0.45, "rounding": 0.1}
BOUNDED_ROUNDS = 2
BY_CHANCE = 0.3  # single values of a range that noise alone is expected to lift over their threshold
WORTH = 0.5  # of a bin's even share of the rows: a point that holds less gets no bin of its own
FULL_POWER = (
    500.0  # rows per standard deviation, at a column's whole budget, from which all looks are worth it
)
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
            if name in plan.bounds:
                bounds = plan.bounds[name]
                reading = Reading(name, sdtype, bounds.plain.datetime_format or form, bounds.plain.texts)
                found[name] = look.bounded(reading, bounds, max_bins, style)
            else:
                found[name] = look.numbers(Reading(name, sdtype, form), max_bins, style)
    return found


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
        answer = self.rows.ask(MissingOrNot(name), self.share)
        nullable = self.may_miss and bool(answer.values[1] > PRESENT * answer.sigma)
        return Attribute(
            name=name, kind="categorical", values=(False, True), nullable=nullable, provenance="private"
        )

    def numbers(self, reading: Reading, max_bins: int, style: Mapping[str, Any]) -> Attribute:
        """Precision, frequent values, orders of magnitude, then ever finer parts of what holds many rows."""
        full = self.size >= FULL_POWER * self.rows.sigma(self.share)
        shares = {what: self.share * s for what, s in (FULL if full else COARSE).items()}
        precision = self.rows.ask(Precision(reading), shares["precision"])
        nullable = self.may_miss and bool(precision.values[-1] > PRESENT * precision.sigma)
        lattice = _lattice(reading, _finest(precision.values[:-1], precision.sigma))
        spikes = (
            self._frequent_points(reading, lattice, shares["values"], max_bins) if shares["values"] else []
        )
        cells = self._cells(reading, lattice, spikes, shares, max_bins)
        bins = make_bins(cells, spikes, max_bins)
        return Attribute(
            name=reading.name, kind=lattice.kind, nullable=nullable or not bins, decimals=lattice.decimals,
            lower=tuple(lattice.value(first) for first, _ in bins),
            upper=tuple(lattice.last(last) for _, last in bins),
            unit=lattice.unit, provenance="private", **style,
        )  # fmt: skip

    def bounded(self, reading: Reading, bounds: Bounds, max_bins: int, style: Mapping[str, Any]) -> Attribute:
        """Single values of a declared range, then parts of it, finer where there are many rows."""
        nullable, lattice, absent = bool(bounds.nullable), bounds.lattice, 0.0
        shares = self._bounded_shares(bounds)
        if bounds.asks_precision:
            precision = self.rows.ask(Precision(reading), shares["precision"])
            absent = float(precision.values[-1])
            if bounds.nullable is None:
                nullable = bool(precision.values[-1] > PRESENT * precision.sigma)
            if lattice is None:
                lattice = _lattice(reading, _finest(precision.values[:-1], precision.sigma))
        assert lattice is not None
        known = bounds.special_points(lattice)
        # So that there is a bin between any two; multiples of declared steps need no bins of their own.
        most = max(0, (max_bins - 1) // (4 if bounds.rounding else 2) - len(known))
        singles = self._single_points(reading, lattice, bounds, shares["values"], most)
        worth = self._worth(max_bins)
        spikes = sorted({*known, *(point for point in singles.points if singles.counts[point] >= worth)})

        def count(first: np.ndarray, last: np.ndarray) -> Cells:
            question = RunCounts(reading, lattice, first, last, tuple(spikes))
            answer = self.rows.ask(question, shares["cells"] / BOUNDED_ROUNDS)
            return Cells(first, last, answer.values, np.full(len(first), answer.sigma))

        first, last = bounds.grid(lattice)
        if not len(first):
            return bounds.attribute(lattice, [], nullable=nullable, style=style)
        cells = count(first, last)
        target = max(self.size / max_bins, 4 * float(cells.deviations[0]))
        cells = _refined(cells, target, BOUNDED_ROUNDS - 1, count)
        if self._holds_all(singles, spikes, absent):
            bins = between(spikes, *bounds.ends(lattice))
        else:
            bins = make_bins(cells, spikes, max_bins)
        rounding = self._rounding(reading, lattice, bounds.steps, spikes, shares) if bounds.steps else None
        return bounds.attribute(lattice, bins, nullable=nullable, style=style, rounding=rounding)

    def _bounded_shares(self, bounds: Bounds) -> dict[str, float]:
        asked = {"values", "cells"} | ({"precision"} if bounds.asks_precision else set())
        asked |= {"rounding"} if bounds.steps else set()
        whole = math.fsum(BOUNDED[what] for what in asked)
        return {what: self.share * BOUNDED[what] / whole for what in sorted(asked)}

    def _rounding(
        self,
        reading: Reading,
        lattice: Lattice,
        steps: tuple[int, ...],
        spikes: list[int],
        shares: Mapping[str, float],
    ) -> Rounding:
        """How round the numbers are that do not stand alone."""
        answer = self.rows.ask(RoundingCounts(reading, lattice, steps, tuple(spikes)), shares["rounding"])
        return estimate(answer.values.reshape(-1, len(steps)), answer.sigma, steps)

    def _holds_all(self, singles: _Singles, spikes: list[int], absent: float) -> bool:
        """Whether so few rows are beside the single values that noise hides them."""
        known = [singles.counts[point] for point in spikes if point in singles.counts]
        deviation = math.hypot(self.size_sigma, math.sqrt(len(known)) * singles.sigma)
        rest = self.size - absent - sum(known)
        return bool(known) and self.size > FEW_BESIDE * deviation and rest <= PRESENT * deviation

    def _single_points(
        self, reading: Reading, lattice: Lattice, bounds: Bounds, share: float, most: int
    ) -> _Singles:
        """Points of a range that many rows hold: of all where they are few, else of those that occur."""
        low, high = bounds.ends(lattice)
        if high < low:
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

    def _frequent_points(self, reading: Reading, lattice: Lattice, share: float, max_bins: int) -> list[int]:
        """Lattice points that many rows hold, at most half as many as bins."""
        most, worth = max_bins // 2, self._worth(max_bins)
        found = self.rows.ask_frequent(FrequentPoints(reading, lattice), share, self.failure)
        heaviest = np.argsort(-found.counts, kind="stable")[:most]
        return [found.values[i] for i in heaviest if found.counts[i] >= worth]

    def _worth(self, max_bins: int) -> float:
        """Rows that a point must hold: with little noise, chance repeats points of a smooth column."""
        return WORTH * self.size / max_bins

    def _cells(
        self,
        reading: Reading,
        lattice: Lattice,
        spikes: list[int],
        shares: Mapping[str, float],
        max_bins: int,
    ) -> Cells:
        """Noisy counts of adaptive cells."""
        # The parts of a cell that holds many rows are counted in the next round.

        def count(first: np.ndarray, last: np.ndarray, share: float) -> Cells:
            answer = self.rows.ask(RunCounts(reading, lattice, first, last, tuple(spikes)), share)
            return Cells(first, last, answer.values, np.full(len(first), answer.sigma))

        cells = count(*lattice.grid(), shares["magnitude"]).inhabited()
        share = shares["round"]
        if not share:
            return cells
        target = max(self.size / max_bins, 4 * self.rows.sigma(share))
        return _refined(cells, target, ROUNDS, lambda first, last: count(first, last, share))


def _refined(
    cells: Cells, target: float, rounds: int, count: Callable[[np.ndarray, np.ndarray], Cells]
) -> Cells:
    """Cells of which those that hold many rows were cut and counted again, so many times."""
    for _ in range(rounds):
        cells, parts = split_heavy(cells, target)
        if parts:
            first, last = np.array(parts, dtype=np.int64).T
            cells = cells.join(count(first, last))
    return cells


def _finest(counts: np.ndarray, sigma: float) -> int:
    """Coarsest precision level beyond which the counts together do not stand out from the noise."""
    for level in range(len(counts) - 1):
        beyond = counts[level + 1 :]
        if beyond.sum() <= 3 * sigma * math.sqrt(len(beyond)):
            return level
    return len(counts) - 1


def _lattice(reading: Reading, level: int) -> Lattice:
    if reading.sdtype == "datetime":
        return date_lattice(DATE_UNITS[level], reading.datetime_format)
    if level == 0:
        return Lattice(kind="integer")
    return Lattice(kind="float", decimals=level if level <= MOST_DECIMALS else None)
