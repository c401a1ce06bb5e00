"""The ModelInspector of [DS] as a page: a table before and after synthesis, for the data owner only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import entropy
from scipy.stats.contingency import association, crosstab

from sdv_plausible.evaluation import table_codes
from sdv_plausible.evaluation.page.charts import REAL, SYNTHETIC, Figure, heatmap, network_graph
from sdv_plausible.evaluation.page.sections import ColumnSection, DependenceSection
from sdv_plausible.evaluation.page.summary import column_histograms
from sdv_plausible.evaluation.table_codes import Codes, encode_pair
from sdv_plausible.evaluation.table_pair import Floats, TablePair, to_numbers
from sdv_plausible.utils.html_templates import HtmlPage, PageSection

_NOT_PUBLIC = (
    "NOT private: real rows and figures of real rows are shown. For the holder of the data alone; do not "
    "hand this page on."
)
_COEFFICIENTS = (
    "Numbers: absolute Pearson coefficient; categories: Cramer's V; one of each: correlation ratio."
)
TITLES = ("before (real)", "after (synthetic)")
NUM_END_ROWS = 5  # rows shown from each end
NUM_BINS = 20


@dataclass(frozen=True, kw_only=True)
class RowSection(PageSection, template="inspected_rows.html"):
    """First and last rows of both tables."""

    head: tuple[str, ...]
    tables: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]

    @classmethod
    def of(cls, pair: TablePair) -> RowSection:
        """Take up to five rows from each end."""
        named = zip(TITLES, (pair.real, pair.synthetic), strict=True)
        return cls(
            head=tuple(map(str, pair.real.columns)),
            tables=tuple((name, tuple(_ends(table))) for name, table in named),
        )


def _ends(table: pd.DataFrame) -> list[tuple[str, ...]]:
    positions = dict.fromkeys(
        [*range(min(NUM_END_ROWS, len(table))), *range(max(len(table) - NUM_END_ROWS, 0), len(table))]
    )
    return [tuple(map(_text, table.iloc[i].tolist())) for i in positions]


def _text(cell: Any) -> str:
    """Format a cell; integral floats look like integers."""
    if pd.isna(cell):
        return ""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


@dataclass(frozen=True, kw_only=True)
class DivergenceSection(PageSection, template="inspected_divergences.html"):
    """Kullback-Leibler divergence of every column, in bits."""

    rows: tuple[tuple[str, float], ...]


@dataclass(frozen=True, kw_only=True)
class PairSection(PageSection, template="inspected_pairs.html"):
    """Charts of both tables under one heading."""

    title: str
    words: str
    figures: tuple[Figure, ...]


def divergence(before: Codes, after: Codes, size: int) -> float:
    """Return the KL divergence of ``after`` from ``before`` in bits, with 0.5 added to every count."""
    return float(entropy(*(np.bincount(c, minlength=size) + 0.5 for c in (after, before)), base=2))


def correlations(table: pd.DataFrame, pair: TablePair) -> Floats:
    """Return the association of every pair, 0 to 1, by a coefficient that suits the column types."""
    columns = [_column(table[name], pair, name) for name in pair.kinds]
    matrix = np.eye(len(columns))
    for i, (x, x_is_number) in enumerate(columns):
        for j, (y, y_is_number) in enumerate(columns[:i]):
            present = ~(np.isnan(x) | np.isnan(y))
            a, b = (x[present], y[present]) if x_is_number >= y_is_number else (y[present], x[present])
            matrix[i, j] = matrix[j, i] = _strength(a, b, x_is_number + y_is_number)
    return matrix


def _column(column: pd.Series[Any], pair: TablePair, name: str) -> tuple[Floats, bool]:
    if pair.kinds[name] == "categorical":
        codes = pd.factorize(column.astype(str))[0].astype(float)
        return np.where(column.isna(), np.nan, codes), False
    return to_numbers(column, pair.kinds[name], pair.formats.get(name))[0], True


def _strength(a: Floats, b: Floats, num_numerical: int) -> float:
    """Return the association of two complete columns; a numerical column comes first."""
    if len(a) < 2 or len(np.unique(a)) < 2 or len(np.unique(b)) < 2:
        return 0.0
    if num_numerical == 2:
        return abs(float(np.corrcoef(a, b)[0, 1]))
    codes = np.unique(b, return_inverse=True)[1]
    if num_numerical == 1:
        sizes = np.bincount(codes)
        means = np.bincount(codes, a) / sizes
        return float(np.sqrt((sizes * (means - a.mean()) ** 2).sum() / ((a - a.mean()) ** 2).sum()))
    return float(association(crosstab(a, codes).count, method="cramer"))


def tree(columns: Sequence[str], information: Floats) -> dict[str, tuple[str, ...]]:
    """Return the maximum spanning tree of mutual information as a network (Chow and Liu 1968)."""
    parents: dict[str, tuple[str, ...]] = {columns[0]: ()}
    inside, outside = [0], list(range(1, len(columns)))
    while outside:
        strengths = information[np.ix_(inside, outside)]
        i, j = np.unravel_index(int(strengths.argmax()), strengths.shape)
        child = outside.pop(int(j))
        parents[columns[child]] = (columns[inside[int(i)]],)
        inside.append(child)
    return parents


def inspection_page(pair: TablePair, date: str) -> str:
    """Return a page that compares both tables as [DS] does. It shows real rows and is NOT private."""
    coded, _ = encode_pair(pair, NUM_BINS, None, 0)
    before, after = coded.tables
    dependence = [table_codes.dependence_matrix(codes, coded.cardinalities) for codes in (before, after)]
    associations = [correlations(table, pair) for table in (pair.real, pair.synthetic)]
    correlation_figures = tuple(
        Figure(caption=name, picture=heatmap(f"correlation {name}", coded.columns, matrix, "strength"))
        for name, matrix in zip(TITLES, associations, strict=True)
    )
    histograms = column_histograms(pair.kinds, [pair.real, pair.synthetic], pair.formats)
    divergences = tuple(
        (name, divergence(before[:, j], after[:, j], coded.cardinalities[j]))
        for j, name in enumerate(coded.columns)
    )
    return HtmlPage(
        template_packages=("sdv_plausible.evaluation.page",),
        title="Inspection (private)",
        heading="A table before and after",
        date=date,
        kind="private",
        banner=_NOT_PUBLIC,
        sections=(
            RowSection.of(pair),
            ColumnSection.of(histograms, [("real", REAL), ("synthetic", SYNTHETIC)]),
            DivergenceSection(rows=divergences),
            PairSection(title="Correlation", words=_COEFFICIENTS, figures=correlation_figures),
            DependenceSection.of(coded.columns, dict(zip(TITLES, dependence, strict=True))),
            PairSection(
                title="Networks",
                words="One parent each, with the largest mutual information in all.",
                figures=tuple(
                    Figure(caption=name, picture=network_graph(tree(coded.columns, m)))
                    for name, m in zip(TITLES, dependence, strict=True)
                ),
            ),
        ),
    ).html()
