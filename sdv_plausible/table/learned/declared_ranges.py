"""Declared ranges of numbers and dates, whose bins are learned within the privacy budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sdv_plausible.table.cells.dates import bins_to_utc, utc_to_local
from sdv_plausible.table.cells.number_texts import LARGEST_STEP
from sdv_plausible.table.cells.rounding import NUMBER_STEPS, Rounding
from sdv_plausible.table.columns.domain import Attribute
from sdv_plausible.table.learned.value_grid import GridRuns, Run, ValueGrid, date_grid

FEW_POINTS = 2**15  # larger ranges use partition selection to find frequent values
PARTS = 64  # equal parts of a range counted first, besides powers of two or calendar years


@dataclass(frozen=True, kw_only=True)
class DeclaredRange:
    """A declared range of a number or date, whose bins are learned."""

    # The range in equal bins: its ends, its type, and the fallback without learned bins.
    plain: Attribute
    resolution: int | None = None  # dates: nanoseconds between two values. None: learned
    nullable: bool | None = None  # whether there are missing values. None: learned
    low: float
    high: float
    special: tuple[float, ...] = ()  # single-value bins, inside or outside the range
    may_have_decimals: bool = False  # integer ends, and decimal_places undeclared
    rounding: tuple[int, ...] = ()  # steps of rounding, increasing from 1. Empty: the default steps

    @property
    def name(self) -> str:
        """The column's name."""
        return self.plain.name

    @property
    def sdtype(self) -> str:
        """SDV's semantic type."""
        return "datetime" if self.plain.kind == "datetime" else "numerical"

    @property
    def grid(self) -> ValueGrid | None:
        """The value grid; None if the precision is to be learned."""
        if self.plain.kind == "integer":
            return ValueGrid(kind="integer")
        if self.plain.kind == "datetime":
            return None if self.resolution is None else date_grid(self.resolution, self.plain.datetime_format)
        decimals = self.plain.decimals
        return None if decimals is None else ValueGrid(kind="float", decimals=decimals)

    @property
    def may_be_long(self) -> bool:
        """Whether the range may have ``FEW_POINTS`` points or more."""
        if self.grid is None:
            return True
        low, high = self.ends(self.grid)
        return high - low >= FEW_POINTS

    @property
    def steps(self) -> tuple[int, ...]:
        """Steps whose share of multiples is queried; none for dates and unknown precision."""
        grid = self.grid
        if grid is None or not grid.is_decimal:
            return ()
        ends = (self.low, self.high, *self.special)
        largest = max(map(abs, ends)) * 10.0 ** (grid.decimals or 0)
        return (self.rounding or NUMBER_STEPS) if largest < LARGEST_STEP else ()

    @property
    def learns_precision(self) -> bool:
        """Whether the precision or the presence of missing values is to be learned."""
        return self.grid is None or self.nullable is None

    def ends(self, grid: ValueGrid) -> Run:
        """First and last point inside the range; ``last < first`` if there is none."""
        low, high = self.low, self.high
        dtype = np.int64 if self.plain.kind == "datetime" else np.float64
        first, last = (int(point) for point in grid.index(np.array([low, high], dtype=dtype)))
        return first + (grid.value(first) < low), last - (grid.value(last) > high)

    def special_points(self, grid: ValueGrid) -> list[int]:
        """Points of the special values."""
        return sorted({int(point) for point in grid.index(np.array(self.special, dtype=np.float64))})

    def coarse_cells(self, grid: ValueGrid) -> tuple[np.ndarray, np.ndarray]:
        """First and last points of the cells of the first round."""
        # Equal parts of the range, and powers of two, calendar years or decades: the mass may be anywhere in
        # the range, but is often near zero or within a few years.
        low, high = self.ends(grid)
        if high < low:  # the range lies between two points
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        starts, _ = grid.grid()
        has_years = grid.kind == "datetime" and grid.shown != "clock"
        if has_years and len(year_starts := grid.year_starts_within(low, high)) <= PARTS:
            starts = year_starts
        inside = starts[(starts > low) & (starts <= high)].tolist()
        width = min(PARTS, high - low + 1)
        parts = [low + (high - low + 1) * i // width for i in range(width)]
        edges = np.array(sorted({*inside, *parts, high + 1}), dtype=np.int64)
        return edges[:-1], edges[1:] - 1

    def attribute(
        self,
        grid: ValueGrid,
        bins: list[Run],
        *,
        nullable: bool,
        style: Mapping[str, Any],
        rounding: Rounding | None = None,
    ) -> Attribute:
        """Attribute of learned bins; of equal bins if the range has no point of this precision."""
        if not bins:
            return replace(in_time_zone(self.plain, style), nullable=nullable, provenance="private")
        lower, upper = ends_of(bins, grid, style)
        return replace(
            self.plain, kind=grid.kind, nullable=nullable, provenance="private", lower=lower, upper=upper,
            decimals=grid.decimals, unit=grid.unit, rounding=rounding, **style,
        )  # fmt: skip

    def leads_to(self, attribute: Attribute) -> bool:
        """Whether an attribute's bins may have been learned in this range."""
        kind = attribute.kind
        if kind not in ("integer", "float", "datetime") or not attribute.lower:
            return False
        if (kind == "datetime") != (self.plain.kind == "datetime"):
            return False
        grid = ValueGrid(kind=kind, decimals=attribute.decimals)
        if kind == "datetime":
            grid = date_grid(attribute.unit, attribute.datetime_format)
        points = [*self.ends(grid), *self.special_points(grid)]
        dtype = np.int64 if kind == "datetime" else np.float64
        zone = attribute.time_zone
        first, last = (
            grid.index(utc_to_local(np.array(ends, dtype=dtype), zone))
            for ends in (attribute.lower, attribute.upper)
        )
        return (
            int(first.min()) >= min(points)
            and int(last.max()) <= max(points)
            and attribute.values == self.plain.values
            and self.nullable in (None, attribute.nullable)
        )


def declared_range_of(plain: Attribute, spec: Mapping[str, Any]) -> DeclaredRange:
    """Range of a declaration; whatever it leaves open is learned."""
    nullable = spec.get("range_is_nullable")
    has_resolution = plain.datetime_format is not None or spec.get("resolution") is not None
    special = tuple(v for v in spec.get("special_values") or () if not isinstance(v, str))
    bins = [(a, b) for a, b in zip(plain.lower, plain.upper, strict=True) if a < b or a not in special] or [
        (plain.lower[0], plain.upper[-1])
    ]
    return DeclaredRange(
        plain=plain,
        low=_end(spec.get("range_min"), bins[0][0]),
        high=_end(spec.get("range_max"), bins[-1][1]),
        special=special,
        resolution=plain.unit if plain.kind == "datetime" and has_resolution else None,
        nullable=None if nullable is None else bool(nullable),
        may_have_decimals=plain.kind == "integer" and spec.get("decimal_places") is None,
        rounding=(1, *spec["rounding"]) if spec.get("rounding") else (),
    )


def _end(declared: Any, default: float) -> float:
    """A declared end as a number, or the end of the bins (for dates)."""
    is_number = isinstance(declared, (int, float, np.integer, np.floating))
    return declared if is_number else default


def ends_of(
    bins: Sequence[Run], grid: ValueGrid, style: Mapping[str, Any]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """First and last values of learned bins, converted from local time if there is a time zone."""
    ends: list[tuple[float, float]] = []
    for first, last in bins:
        low, high = grid.value(first), grid.last(last)
        if ends and low <= ends[-1][1]:  # points that round to the same double
            low, high = ends[-1][0], max(ends.pop()[1], high)
        ends.append((low, high))
    lower, upper = [low for low, _ in ends], [high for _, high in ends]
    return bins_to_utc(lower, upper, style.get("time_zone"))


def in_time_zone(declared: Attribute, style: Mapping[str, Any]) -> Attribute:
    """A declared column of dates with the ends of its range in the time zone of its cells."""
    lower, upper = bins_to_utc(declared.lower, declared.upper, style.get("time_zone"))
    return replace(declared, lower=lower, upper=upper, **style)


@dataclass(frozen=True, kw_only=True)
class PartialDeclaration:
    """A declaration that fixes no value set: the rest is learned and must agree with it."""

    nullable: bool | None = None  # whether cells may be missing. None: learned
    decimals: int | None = None  # decimal places of numbers. None: learned
    low: float | None = None  # numbers, or nanoseconds since 1970 UTC
    high: float | None = None
    special: tuple[float, ...] = ()  # single-value bins, inside or outside the range
    texts: tuple[str, ...] = ()  # codes in text

    @property
    def is_never_missing(self) -> bool:
        """Whether it declares only that no cell is missing."""
        return self == PartialDeclaration(nullable=False)

    @property
    def grid(self) -> ValueGrid | None:
        """The value grid, if the decimal places are declared."""
        if self.decimals is None:
            return None
        return ValueGrid(kind="float", decimals=self.decimals) if self.decimals else ValueGrid(kind="integer")

    def apply_to(self, attribute: Attribute) -> Attribute:
        """Apply the declaration to a learned attribute (post-processing)."""
        lower, upper = attribute.lower, attribute.upper
        if attribute.kind in ("integer", "float", "datetime"):
            texts = dict.fromkeys([*self.texts, *map(str, attribute.values)])
            attribute = replace(attribute, values=tuple(texts))
            if (self.low, self.high, self.special) != (None, None, ()):
                grid = grid_of(attribute)
                runs = self._runs(grid, _grid_points(grid, lower), _grid_points(grid, upper))
                lower = tuple(grid.value(first) for first, _ in runs)
                upper = tuple(grid.last(last) for _, last in runs)
        nullable = attribute.nullable if self.nullable is None else self.nullable
        is_empty = not (lower or attribute.values)
        return replace(attribute, lower=lower, upper=upper, nullable=nullable or is_empty)

    def _runs(self, grid: ValueGrid, first: np.ndarray, last: np.ndarray) -> list[Run]:
        """Runs of points inside the declared ends; every special value is a run."""
        if self.low is not None:
            (low_point,) = _grid_points(grid, [self.low])
            first = np.maximum(first, low_point + (grid.value(int(low_point)) < self.low))
        if self.high is not None:
            (high_point,) = _grid_points(grid, [self.high])
            last = np.minimum(last, high_point - (grid.value(int(high_point)) > self.high))
        is_inside, no_counts = first <= last, np.zeros(int((first <= last).sum()))
        special_points = sorted({int(point) for point in _grid_points(grid, self.special)})
        inside = GridRuns(first[is_inside], last[is_inside], no_counts, no_counts).cut_at(special_points)
        runs = zip(inside.first.tolist(), inside.last.tolist(), strict=True)
        return sorted([*runs, *((point, point) for point in special_points)])


def grid_of(attribute: Attribute) -> ValueGrid:
    """Value grid of a column of numbers or dates."""
    if attribute.kind == "datetime":
        return date_grid(attribute.unit, attribute.datetime_format)
    return ValueGrid(kind="float" if attribute.kind == "float" else "integer", decimals=attribute.decimals)


def _grid_points(grid: ValueGrid, values: Sequence[float]) -> np.ndarray:
    dtype = np.int64 if grid.kind == "datetime" else np.float64
    return grid.index(np.array(values, dtype=dtype))
