"""Declared ranges: what is known of a column beforehand, while its bins are learned within the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sdv_plausible.table.cells.dates import bins_from_clocks, on_clocks
from sdv_plausible.table.cells.rounding import LARGEST_STEP, NUMBER_STEPS, Rounding
from sdv_plausible.table.columns.domain import Attribute
from sdv_plausible.table.learned.value_grid import Run, ValueGrid, date_lattice

FEW_POINTS = 2**15  # up to here every single value of a range is looked at; beyond, those that occur
PARTS = 64  # of a range, besides powers of two or calendar years: what is counted first


@dataclass(frozen=True, kw_only=True)
class DeclaredRange:
    """A declared range of a number or date, whose bins are learned."""

    # The range in equal bins: its ends, its type, and what stands in while nothing is learned
    plain: Attribute
    resolution: int | None = None  # dates: nanoseconds between two values. None: learned
    nullable: bool | None = None  # whether there are missing values. None: learned
    low: float
    high: float
    special: tuple[float, ...] = ()  # numbers that stay single, inside the range or beside it
    may_have_digits: bool = False  # whole ends, and digits that nobody declared
    rounding: tuple[int, ...] = ()  # steps that people round to, from 1 on. Empty: those of most numbers

    @property
    def name(self) -> str:
        """The column's name."""
        return self.plain.name

    @property
    def sdtype(self) -> str:
        """SDV's semantic type."""
        return "datetime" if self.plain.kind == "datetime" else "numerical"

    @property
    def lattice(self) -> ValueGrid | None:
        """Points that the column may show; None where its precision is to be learned."""
        if self.plain.kind == "integer":
            return ValueGrid(kind="integer")
        if self.plain.kind == "datetime":
            return (
                None if self.resolution is None else date_lattice(self.resolution, self.plain.datetime_format)
            )
        decimals = self.plain.decimals
        return None if decimals is None else ValueGrid(kind="float", decimals=decimals)

    @property
    def may_be_long(self) -> bool:
        """Whether the range may have so many points that only those that occur are looked at."""
        if self.lattice is None:
            return True
        low, high = self.ends(self.lattice)
        return high - low >= FEW_POINTS

    @property
    def steps(self) -> tuple[int, ...]:
        """Steps of which the share of multiples is asked; none of dates and of unknown digits."""
        lattice = self.lattice
        if lattice is None or not lattice.is_decimal:
            return ()
        ends = (self.low, self.high, *self.special)
        farthest = max(map(abs, ends)) * 10.0 ** (lattice.decimals or 0)
        return (self.rounding or NUMBER_STEPS) if farthest < LARGEST_STEP else ()

    @property
    def asks_precision(self) -> bool:
        """Whether the precision or the presence of missing values is to be learned."""
        return self.lattice is None or self.nullable is None

    def ends(self, lattice: ValueGrid) -> Run:
        """First and last point inside the range; the last is the smaller one where there is none."""
        low, high = self.low, self.high
        number = np.int64 if self.plain.kind == "datetime" else np.float64
        first, last = (int(point) for point in lattice.index(np.array([low, high], dtype=number)))
        return first + (lattice.value(first) < low), last - (lattice.value(last) > high)

    def special_points(self, lattice: ValueGrid) -> list[int]:
        """Points of the special values."""
        return sorted({int(point) for point in lattice.index(np.array(self.special, dtype=np.float64))})

    def grid(self, lattice: ValueGrid) -> tuple[np.ndarray, np.ndarray]:
        """First and last point of the cells that are counted first."""
        # Equal parts of the range, and powers of two, calendar years or decades: mass is anywhere in a range
        # that was declared, but often about zero or in few years of it.
        low, high = self.ends(lattice)
        if high < low:  # the range lies between two points
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        starts, _ = lattice.grid()
        years = lattice.kind == "datetime" and lattice.shown != "clock"
        if years and len(found := lattice.within_years(low, high)) <= PARTS:
            starts = found
        inside = starts[(starts > low) & (starts <= high)].tolist()
        width = min(PARTS, high - low + 1)
        parts = [low + (high - low + 1) * i // width for i in range(width)]
        edges = np.array(sorted({*inside, *parts, high + 1}), dtype=np.int64)
        return edges[:-1], edges[1:] - 1

    def attribute(
        self,
        lattice: ValueGrid,
        bins: list[Run],
        *,
        nullable: bool,
        style: Mapping[str, Any],
        rounding: Rounding | None = None,
    ) -> Attribute:
        """Attribute of learned bins; in equal bins where the range has no point of this precision."""
        if not bins:
            return replace(in_zone(self.plain, style), nullable=nullable, provenance="private")
        lower, upper = ends_of(bins, lattice, style)
        return replace(
            self.plain, kind=lattice.kind, nullable=nullable, provenance="private", lower=lower, upper=upper,
            decimals=lattice.decimals, unit=lattice.unit, rounding=rounding, **style,
        )  # fmt: skip

    def leads_to(self, attribute: Attribute) -> bool:
        """Whether the bins of an attribute may have been learned in this range."""
        kind = attribute.kind
        if kind not in ("integer", "float", "datetime") or not attribute.lower:
            return False
        if (kind == "datetime") != (self.plain.kind == "datetime"):
            return False
        lattice = ValueGrid(kind=kind, decimals=attribute.decimals)
        if kind == "datetime":
            lattice = date_lattice(attribute.unit, attribute.datetime_format)
        points = [*self.ends(lattice), *self.special_points(lattice)]
        number = np.int64 if kind == "datetime" else np.float64
        zone = attribute.time_zone
        first, last = (
            lattice.index(on_clocks(np.array(ends, dtype=number), zone))
            for ends in (attribute.lower, attribute.upper)
        )
        return (
            int(first.min()) >= min(points)
            and int(last.max()) <= max(points)
            and attribute.values == self.plain.values
            and self.nullable in (None, attribute.nullable)
        )


def bounds_of(plain: Attribute, spec: Mapping[str, Any]) -> DeclaredRange:
    """Bounds of a declared range: what the declaration leaves open is learned."""
    nullable = spec.get("range_is_nullable")
    known = plain.datetime_format is not None or spec.get("resolution") is not None
    special = tuple(v for v in spec.get("special_values") or () if not isinstance(v, str))
    inside = [(a, b) for a, b in zip(plain.lower, plain.upper, strict=True) if a < b or a not in special] or [
        (plain.lower[0], plain.upper[-1])
    ]
    return DeclaredRange(
        plain=plain,
        low=_end(spec.get("range_min"), inside[0][0]),
        high=_end(spec.get("range_max"), inside[-1][1]),
        special=special,
        resolution=plain.unit if plain.kind == "datetime" and known else None,
        nullable=None if nullable is None else bool(nullable),
        may_have_digits=plain.kind == "integer" and spec.get("decimal_places") is None,
        rounding=(1, *spec["rounding"]) if spec.get("rounding") else (),
    )


def _end(declared: Any, known: float) -> float:
    """A declared number, which a special value may stand for in the bins; dates were read already."""
    is_number = isinstance(declared, (int, float, np.integer, np.floating))
    return declared if is_number else known


def ends_of(
    bins: Sequence[Run], lattice: ValueGrid, style: Mapping[str, Any]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """First and last value of learned bins; dates of a time zone were counted as its clocks show them."""
    found: list[tuple[float, float]] = []
    for first, last in bins:
        low, high = lattice.value(first), lattice.last(last)
        if found and low <= found[-1][1]:  # points that doubles do not tell apart
            low, high = found[-1][0], max(found.pop()[1], high)
        found.append((low, high))
    lower, upper = [low for low, _ in found], [high for _, high in found]
    return bins_from_clocks(lower, upper, style.get("time_zone"))


def in_zone(declared: Attribute, style: Mapping[str, Any]) -> Attribute:
    """A declared column as its dates are written: the ends of its range are what clocks show there."""
    lower, upper = bins_from_clocks(declared.lower, declared.upper, style.get("time_zone"))
    return replace(declared, lower=lower, upper=upper, **style)


def is_wide(plain: Attribute) -> bool:
    """Whether a range in equal bins has a bin of more than one value, so that learning its bins pays."""
    if plain.kind == "float":
        return any(low < high for low, high in zip(plain.lower, plain.upper, strict=True))
    return any(high - low >= plain.unit for low, high in zip(plain.lower, plain.upper, strict=True))
