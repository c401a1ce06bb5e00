"""The section of single columns: how far each is from the real one, and a picture that shows why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sdv_plausible.evaluation.page.bars import horizontal_bars, vertical_bars
from sdv_plausible.evaluation.page.histograms import Histogram
from sdv_plausible.evaluation.page.rendering import Figure, Section
from sdv_plausible.evaluation.page.summary import ComparisonSummary


@dataclass(frozen=True, kw_only=True)
class ColumnLine:
    """One column of the comparison: its distance, chance's, and the bar that differs most."""

    column: str
    distance: float
    chance: float
    where: str
    real: float
    synthetic: float


@dataclass(frozen=True, kw_only=True)
class Columns(Section):
    """Histogram of each column; of a comparison also a table, worst columns first."""

    template: ClassVar[str] = "columns.html"
    series: tuple[tuple[str, str], ...]
    lines: tuple[ColumnLine, ...]
    figures: tuple[Figure, ...]

    @classmethod
    def of(cls, histograms: Sequence[Histogram], tables: Sequence[tuple[str, str]]) -> Columns:
        """Draw histograms of tables, which are given by name and colour."""
        figures = tuple(_figure(one, tables) for one in histograms)
        return cls(series=tuple(tables), lines=(), figures=figures)

    @classmethod
    def compared(
        cls, names: Sequence[str], compared: ComparisonSummary, tables: Sequence[tuple[str, str]]
    ) -> Columns:
        """Put the columns that are farthest from the real ones first, in the table and in the pictures."""
        known = len(compared.synthetic_columns) == len(names)
        distances = compared.synthetic_columns.tolist() if known else [math.nan] * len(names)
        chances = compared.reference_columns.tolist() if known else [math.nan] * len(names)
        order = sorted(range(len(names)), key=lambda i: -distances[i] if known else i)
        of = {name: [one for one in compared.histograms if one.column == name] for name in names}
        lines = tuple(_line(names[i], distances[i], chances[i], of[names[i]]) for i in order)
        shown = [one for i in order for one in of[names[i]]]
        return cls(series=tuple(tables), lines=lines, figures=tuple(_figure(one, tables) for one in shown))


def _line(name: str, distance: float, chance: float, histograms: Sequence[Histogram]) -> ColumnLine:
    """Add the bar in which real and synthetic shares differ most."""
    bars = [bar for one in histograms for bar in zip(one.labels, *one.shares, strict=True)]
    where, real, synthetic = max(bars, key=lambda bar: abs(bar[1] - bar[2]))
    return ColumnLine(
        column=name, distance=distance, chance=chance, where=where, real=real, synthetic=synthetic
    )


def _figure(one: Histogram, tables: Sequence[tuple[str, str]]) -> Figure:
    series = [(name, shares, colour) for (name, colour), shares in zip(tables, one.shares, strict=True)]
    caption = f"{one.column}, {one.part}" if one.part else one.column
    title = f"{caption}: shares of rows"
    if one.ordered:
        picture = vertical_bars(title, one.labels, one.marks, series, one.spikes)
    else:
        picture = horizontal_bars(title, one.labels, series)
    rows = tuple(zip(one.labels, zip(*one.shares, strict=True), strict=True))
    return Figure(caption=caption, picture=picture, head=("value", *(name for name, _ in tables)), rows=rows)
