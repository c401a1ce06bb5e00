"""The sections of columns: how far each is from the real one, how they depend on each other, the network."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from sdv_plausible.evaluation.network_layout import Structure
from sdv_plausible.evaluation.page.charts import horizontal_bars, vertical_bars
from sdv_plausible.evaluation.page.heatmaps import heatmap
from sdv_plausible.evaluation.page.histograms import Histogram
from sdv_plausible.evaluation.page.network_plot import network_graph, network_tree
from sdv_plausible.evaluation.page.summary import ComparisonSummary
from sdv_plausible.evaluation.page.svg import Figure
from sdv_plausible.evaluation.table_pair import Floats
from sdv_plausible.utils.html_page import PageSection


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
class Columns(PageSection, template="columns.html"):
    """Histogram of each column; of a comparison also a table, worst columns first."""

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


_UNCERTAINTY = "symmetrical uncertainty"
_MOST_BESIDE = 30  # columns of two dependence matrices side by side, at most

Strengths = Mapping[frozenset[str], float]  # how dependent two columns are, in [0, 1], by their names


@dataclass(frozen=True, kw_only=True)
class Dependence(PageSection, template="dependence.html"):
    """Symmetrical uncertainty of every pair of columns."""

    alone: bool
    compared: bool
    figures: tuple[Figure, ...]

    @classmethod
    def of(cls, columns: Sequence[str], matrices: Mapping[str, Floats]) -> Dependence:
        """Draw the matrix of each table and, of two, what the second has more or less than the first."""
        figures = [
            Figure(caption=name, picture=heatmap(f"dependence, {name.lower()}", columns, m, _UNCERTAINTY))
            for name, m in matrices.items()
        ]
        if len(matrices) == 2:
            (first, one), (second, other) = matrices.items()
            caption = f"{second} less {first.lower()}"
            title = f"difference of dependences, {caption.lower()}"
            picture = heatmap(title, columns, other - one, "blue: too strong, orange: too weak", signed=True)
            figures.append(Figure(caption=caption, picture=picture))
        alone = len(columns) > _MOST_BESIDE
        return cls(alone=alone, compared=len(matrices) == 2, figures=tuple(figures))


def strengths_of(columns: Sequence[str], matrix: Floats) -> dict[frozenset[str], float]:
    """Return the strength of each pair of columns from a matrix of dependences."""
    return {
        frozenset((one, columns[j])): float(matrix[i, j])
        for i, one in enumerate(columns)
        for j in range(i + 1, len(columns))
    }


@dataclass(frozen=True, kw_only=True)
class Network(PageSection, template="network.html"):
    """The model's network: each column under the parent it depends on most; all links on demand."""

    strongest: Figure
    picture: Markup
    num_links: int
    links: tuple[tuple[str, str, float], ...]

    @classmethod
    def of(cls, structure: Structure, strengths: Strengths | None = None) -> tuple[Network, ...]:
        """Draw ``{child: parents}``; nothing if there is none."""
        # ``strengths`` are those of a table that may be shown where the network is; pairs that they lack
        # count as unknown and weakest.
        if not structure:
            return ()
        known = strengths or {}
        links = [
            (parent, child, known.get(frozenset((parent, child)), float("nan")))
            for child, parents in structure.items()
            for parent in parents
        ]
        links.sort(key=lambda link: -link[2] if link[2] == link[2] else 1.0)
        return (
            cls(
                strongest=Figure(caption="Strongest links", picture=network_tree(structure, known)),
                picture=network_graph(structure),
                num_links=len(links),
                links=tuple(links),
            ),
        )
