"""What is declared of a column whose values are learned: digits, an end, codes, missing cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sdv_plausible.table.columns.domain import Attribute
from sdv_plausible.table.learned.value_grid import GridRuns, Run, ValueGrid, date_lattice


@dataclass(frozen=True, kw_only=True)
class PartialDeclaration:
    """What a declaration says that tells no value set: the rest is learned, and this holds of it."""

    nullable: bool | None = None  # whether missing is a value. None: learned
    decimals: int | None = None  # of numbers: digits after the point. None: learned
    low: float | None = None  # numbers, or nanoseconds since 1970 UTC
    high: float | None = None
    special: tuple[float, ...] = ()  # that stay single, inside the ends or beside them
    texts: tuple[str, ...] = ()  # codes in words beside numbers

    @property
    def lattice(self) -> ValueGrid | None:
        """Points of numbers with declared digits."""
        if self.decimals is None:
            return None
        return ValueGrid(kind="float", decimals=self.decimals) if self.decimals else ValueGrid(kind="integer")

    def kept(self, attribute: Attribute) -> Attribute:
        """A learned attribute with all that is declared: nothing but it is used, and no row."""
        lower, upper = attribute.lower, attribute.upper
        if attribute.kind in ("integer", "float", "datetime"):
            texts = dict.fromkeys([*self.texts, *map(str, attribute.values)])
            attribute = replace(attribute, values=tuple(texts))
            if (self.low, self.high, self.special) != (None, None, ()):
                lattice = lattice_of(attribute)
                runs = self._runs(lattice, _points(lattice, lower), _points(lattice, upper))
                lower = tuple(lattice.value(first) for first, _ in runs)
                upper = tuple(lattice.last(last) for _, last in runs)
        nullable = attribute.nullable if self.nullable is None else self.nullable
        is_empty = not (lower or attribute.values)
        return replace(attribute, lower=lower, upper=upper, nullable=nullable or is_empty)

    def _runs(self, lattice: ValueGrid, first: np.ndarray, last: np.ndarray) -> list[Run]:
        """Runs of points inside the ends; the codes are runs of their own."""
        if self.low is not None:
            (least,) = _points(lattice, [self.low])
            first = np.maximum(first, least + (lattice.value(int(least)) < self.low))
        if self.high is not None:
            (most,) = _points(lattice, [self.high])
            last = np.minimum(last, most - (lattice.value(int(most)) > self.high))
        there, none = first <= last, np.zeros(int((first <= last).sum()))
        alone = sorted({int(point) for point in _points(lattice, self.special)})
        cut = GridRuns(first[there], last[there], none, none).cut_at(alone)
        runs = zip(cut.first.tolist(), cut.last.tolist(), strict=True)
        return sorted([*runs, *((point, point) for point in alone)])


def lattice_of(attribute: Attribute) -> ValueGrid:
    """Points that a column of numbers or dates may show."""
    if attribute.kind == "datetime":
        return date_lattice(attribute.unit, attribute.datetime_format)
    return ValueGrid(kind="float" if attribute.kind == "float" else "integer", decimals=attribute.decimals)


def _points(lattice: ValueGrid, values: Sequence[float]) -> np.ndarray:
    number = np.int64 if lattice.kind == "datetime" else np.float64
    return lattice.index(np.array(values, dtype=number))
