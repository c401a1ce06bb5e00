"""Page sections about columns: distances, dependence and the model's network."""

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
class ColumnSummary:
    """One column of the comparison: its distance, the reference distance, and the most different bar."""

    column: str
    distance: float
    chance: float
    where: str
    real: float
    synthetic: float


@dataclass(frozen=True, kw_only=True)
class ColumnSection(PageSection, template="columns.html"):
    """Histogram of each column; a comparison also has a table, most distant columns first."""

    series: tuple[tuple[str, str], ...]
    lines: tuple[ColumnSummary, ...]
    figures: tuple[Figure, ...]

    @classmethod
    def of(cls, histograms: Sequence[Histogram], tables: Sequence[tuple[str, str]]) -> ColumnSection:
        """Draw histograms of tables, given by name and colour."""
        figures = tuple(_figure(item, tables) for item in histograms)
        return cls(series=tuple(tables), lines=(), figures=figures)

    @classmethod
    def compared(
        cls, names: Sequence[str], compared: ComparisonSummary, tables: Sequence[tuple[str, str]]
    ) -> ColumnSection:
        """Sort table and charts by distance from the real columns, most distant first."""
        has_distances = len(compared.synthetic_columns) == len(names)
        distances = compared.synthetic_columns.tolist() if has_distances else [math.nan] * len(names)
        reference_distances = (
            compared.reference_columns.tolist() if has_distances else [math.nan] * len(names)
        )
        order = sorted(range(len(names)), key=lambda i: -distances[i] if has_distances else i)
        by_column = {name: [h for h in compared.histograms if h.column == name] for name in names}
        lines = tuple(
            _summary(names[i], distances[i], reference_distances[i], by_column[names[i]]) for i in order
        )
        figures = tuple(_figure(histogram, tables) for i in order for histogram in by_column[names[i]])
        return cls(series=tuple(tables), lines=lines, figures=figures)


def _summary(name: str, distance: float, chance: float, histograms: Sequence[Histogram]) -> ColumnSummary:
    """Summarise a column with the bar in which real and synthetic shares differ most."""
    bars = [bar for histogram in histograms for bar in zip(histogram.labels, *histogram.shares, strict=True)]
    where, real, synthetic = max(bars, key=lambda bar: abs(bar[1] - bar[2]))
    return ColumnSummary(
        column=name, distance=distance, chance=chance, where=where, real=real, synthetic=synthetic
    )


def _figure(histogram: Histogram, tables: Sequence[tuple[str, str]]) -> Figure:
    series = [(name, shares, colour) for (name, colour), shares in zip(tables, histogram.shares, strict=True)]
    caption = f"{histogram.column}, {histogram.part}" if histogram.part else histogram.column
    title = f"{caption}: shares of rows"
    if histogram.ordered:
        picture = vertical_bars(title, histogram.labels, histogram.marks, series, histogram.spikes)
    else:
        picture = horizontal_bars(title, histogram.labels, series)
    rows = tuple(zip(histogram.labels, zip(*histogram.shares, strict=True), strict=True))
    return Figure(caption=caption, picture=picture, head=("value", *(name for name, _ in tables)), rows=rows)


_UNCERTAINTY = "symmetrical uncertainty"
_MAX_SIDE_BY_SIDE = 30  # largest number of columns for two dependence matrices side by side

Strengths = Mapping[frozenset[str], float]  # dependence of two columns by their names, in [0, 1]


@dataclass(frozen=True, kw_only=True)
class DependenceSection(PageSection, template="dependence.html"):
    """Symmetrical uncertainty of every pair of columns."""

    alone: bool
    compared: bool
    figures: tuple[Figure, ...]

    @classmethod
    def of(cls, columns: Sequence[str], matrices: Mapping[str, Floats]) -> DependenceSection:
        """Draw the matrix of each table and, for two tables, their difference (second minus first)."""
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
        alone = len(columns) > _MAX_SIDE_BY_SIDE
        return cls(alone=alone, compared=len(matrices) == 2, figures=tuple(figures))


def pairwise_strengths(columns: Sequence[str], matrix: Floats) -> dict[frozenset[str], float]:
    """Return the strength of each pair of columns from a dependence matrix."""
    return {
        frozenset((column, columns[j])): float(matrix[i, j])
        for i, column in enumerate(columns)
        for j in range(i + 1, len(columns))
    }


@dataclass(frozen=True, kw_only=True)
class NetworkSection(PageSection, template="network.html"):
    """The model's network: each column below its strongest parent, and all links on demand."""

    strongest: Figure
    picture: Markup
    num_links: int
    links: tuple[tuple[str, str, float], ...]

    @classmethod
    def of(cls, structure: Structure, strengths: Strengths | None = None) -> tuple[NetworkSection, ...]:
        """Draw ``{child: parents}``; return no section if it is empty."""
        # ``strengths`` come from a table that may be published wherever the network may. Missing pairs have
        # unknown strength and sort last.
        if not structure:
            return ()
        known_strengths = strengths or {}
        links = [
            (parent, child, known_strengths.get(frozenset((parent, child)), float("nan")))
            for child, parents in structure.items()
            for parent in parents
        ]
        links.sort(key=lambda link: -link[2] if link[2] == link[2] else 1.0)
        return (
            cls(
                strongest=Figure(caption="Strongest links", picture=network_tree(structure, known_strengths)),
                picture=network_graph(structure),
                num_links=len(links),
                links=tuple(links),
            ),
        )
