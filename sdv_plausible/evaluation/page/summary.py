"""Summaries of tables in a report: shares, distances and dependences, never rows.

The two kinds differ in privacy. A :class:`ReleaseSummary` is a function of the synthetic table alone, so
publishing it reveals no more than publishing that table. A :class:`ComparisonSummary` is computed from real
rows without noise and is not covered by any guarantee.

Scores are compared with the scores of other real rows, which bound what synthetic rows can be expected to
reach.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from sdv_plausible.evaluation import distances
from sdv_plausible.evaluation.page.histograms import Histogram, column_histograms
from sdv_plausible.evaluation.table_codes import encode, sample_positions
from sdv_plausible.evaluation.table_pair import Floats, Kind, TablePair
from sdv_plausible.utils.html_page import PageSection


@dataclass(frozen=True, kw_only=True)
class ReleaseSummary:
    """The synthetic table alone: histograms and symmetrical uncertainty of its columns."""

    columns: tuple[str, ...]
    num_rows: int
    histograms: tuple[Histogram, ...]
    dependence: Floats


@dataclass(frozen=True, kw_only=True)
class ComparisonSummary:
    """Comparison of real and synthetic rows. Private."""

    histograms: tuple[Histogram, ...]  # shares of the real and the synthetic table
    real_dependence: Floats  # symmetrical uncertainty, shape (m, m)
    synthetic_dependence: Floats
    reference: str  # which real rows the reference distances compare
    num_rows: int  # rows on each side of the distances below, which are larger for fewer rows
    reference_columns: Floats  # distances between real rows: the effect of chance alone
    reference_pairs: Floats
    synthetic_columns: Floats  # distances of synthetic rows
    synthetic_pairs: Floats
    independent_pairs: Floats  # distances with every column shuffled: all dependence lost


def summarise_release(
    synthetic: pd.DataFrame,
    kinds: Mapping[str, Kind],
    formats: Mapping[str, str],
    *,
    num_bins: int,
    max_rows: int | None,
    random_state: int,
) -> ReleaseSummary:
    """Summarise the synthetic table alone. No argument may depend on real rows."""
    rng = np.random.default_rng(random_state)
    rows = synthetic.iloc[sample_positions(len(synthetic), max_rows, rng)]
    coded = encode([rows], kinds, formats=formats, num_bins=num_bins)
    return ReleaseSummary(
        columns=tuple(kinds),
        num_rows=len(synthetic),
        histograms=column_histograms(kinds, [synthetic], formats),
        dependence=distances.dependence_matrix(coded.tables[0], coded.cardinalities),
    )


def summarise_comparison(
    pair: TablePair,
    statistics: distances.PairStatistics | None,
    *,
    holdout: pd.DataFrame | None,
    num_bins: int,
    max_rows: int | None,
    random_state: int,
) -> ComparisonSummary:
    """Summarise the comparison; ``statistics`` of all pairs is None if there are no pairs."""
    rng = np.random.default_rng(random_state)
    *row_sets, reference = _equal_parts(pair, holdout, max_rows, rng)
    coded = encode([pair.real, *row_sets], pair.kinds, formats=pair.formats, num_bins=num_bins)
    _, first_half, second_half, synthetic = coded.tables
    columns, pairs = [np.empty(0)] * 3, [np.empty(0)] * 3
    if len(first_half):
        cards, shuffled = coded.cardinalities, np.apply_along_axis(rng.permutation, 0, second_half)
        others = (second_half, synthetic, shuffled)
        columns = [distances.column_distances(first_half, rows, cards) for rows in others]
        pairs = [
            np.array(list(distances.pair_distances(first_half, rows, cards).values())) for rows in others
        ]
    identity = np.eye(len(pair.kinds))
    return ComparisonSummary(
        histograms=column_histograms(pair.kinds, [pair.real, pair.synthetic], pair.formats),
        real_dependence=identity if statistics is None else statistics.real_dependence,
        synthetic_dependence=identity if statistics is None else statistics.synthetic_dependence,
        reference=reference,
        num_rows=len(first_half),
        reference_columns=columns[0],
        reference_pairs=pairs[0],
        synthetic_columns=columns[1],
        synthetic_pairs=pairs[1],
        independent_pairs=pairs[2],
    )


def _equal_parts(
    pair: TablePair, holdout: pd.DataFrame | None, max_rows: int | None, rng: np.random.Generator
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, str]:
    """Return equally many real, other real and synthetic rows, and a description of the other real rows."""
    real, other, reference = pair.real, holdout, "real rows against held-out ones"
    if other is None:
        order, half = rng.permutation(len(real)), len(real) // 2
        real, other, reference = (
            real.iloc[order[:half]],
            real.iloc[order[half:]],
            "two halves of the real rows",
        )
    tables = (real, other, pair.synthetic)
    size = min(max_rows or len(real), *(len(table) for table in tables))
    first, second, third = (table.iloc[sample_positions(len(table), size, rng)] for table in tables)
    return first, second, third, reference


@dataclass(frozen=True, kw_only=True)
class RelativeScore:
    """Score of a property and its ceiling, the score of other real rows; [0, 1], NaN where unknown."""

    name: str
    score: float
    ceiling: float

    @property
    def relative(self) -> float:
        """Return the score as a share of the ceiling, at most 1."""
        if self.ceiling == 0:
            return 1.0
        return math.nan if math.isnan(self.score + self.ceiling) else min(1.0, self.score / self.ceiling)


def relative_scores(
    details: Mapping[str, pd.DataFrame], compared: ComparisonSummary
) -> tuple[RelativeScore, ...]:
    """Return the scores of one table's properties."""
    # Distances use equal numbers of rows, since chance alone makes them larger for fewer rows. The ceiling of
    # the game is guessing.
    scores = []
    for name, table in details.items():
        score = float(table["Score"].mean())
        ceiling = float(table["Ceiling"].mean()) if "Ceiling" in table else math.nan
        if name == "Distinguishing Game":
            ceiling = 1.0
        elif name == "Column Distances" and compared.reference_columns.size:
            score, ceiling = _closeness(compared.synthetic_columns), _closeness(compared.reference_columns)
        elif name == "Pair Distances" and compared.reference_pairs.size:
            score, ceiling = _closeness(compared.synthetic_pairs), _closeness(compared.reference_pairs)
        scores.append(RelativeScore(name=name, score=score, ceiling=ceiling))
    return tuple(scores)


def _closeness(distances: Sequence[float] | np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    return 1.0 - float(np.mean(distances))


def overall(scores: Sequence[RelativeScore]) -> float:
    """Return the mean relative score over the properties that could be computed."""
    computed = [item.relative for item in scores if not math.isnan(item.relative)]
    return float(np.mean(computed)) if computed else math.nan


@dataclass(frozen=True, kw_only=True)
class ScoreSection(PageSection, template="scores.html"):
    """Overall score, and the relative score, score and ceiling of each property."""

    overall: float
    scores: tuple[tuple[str, float, float, float], ...]

    @classmethod
    def of(cls, scores: Sequence[RelativeScore]) -> ScoreSection:
        """Put the overall mean first."""
        rows = tuple((item.name, item.relative, item.score, item.ceiling) for item in scores)
        return cls(overall=overall(scores), scores=rows)
