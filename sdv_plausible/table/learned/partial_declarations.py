"""Partial declarations of learned columns: decimal places, one end of a range, codes, missing cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sdv_plausible.table.columns.domain import Attribute
from sdv_plausible.table.learned.value_grid import GridRuns, Run, ValueGrid, date_grid


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
