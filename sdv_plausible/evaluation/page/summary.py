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
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.evaluation import table_codes
from sdv_plausible.evaluation.page.charts import number
from sdv_plausible.evaluation.table_codes import category_codes, encode, sample_positions
from sdv_plausible.evaluation.table_pair import Floats, Kind, TablePair, to_numbers
from sdv_plausible.utils.html_templates import PageSection


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
        dependence=table_codes.dependence_matrix(coded.tables[0], coded.cardinalities),
    )


def summarise_comparison(
    pair: TablePair,
    statistics: table_codes.PairStatistics | None,
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
        columns = [table_codes.column_distances(first_half, rows, cards) for rows in others]
        pairs = [
            np.array(list(table_codes.pair_distances(first_half, rows, cards).values())) for rows in others
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


_NUM_BARS = 20
_MAX_CATEGORIES = 12
_SPIKE = 0.1  # smallest share of rows of a spike
_MAX_SPIKES = 3
_CROWDED = 0.5  # largest share in one equal-width bin; above it bins have equal ratios
_DAY, _HOUR = 86400.0, 3600.0


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """Shares of the values of one column in one or more tables."""

    column: str
    ordered: bool  # ordered bins of numbers or times, or categories
    labels: tuple[str, ...]  # label of each of the b bars; the last may be "missing"
    marks: tuple[tuple[float, str], ...]  # axis marks of an ordered histogram, in bars from the left
    shares: tuple[tuple[float, ...], ...]  # shares of each table, length b, sum 1
    spikes: int = 0  # number of leading bars that are single values
    part: str = ""  # which part of the column is shown, if not its values


_Bars = tuple[Floats, list[str], list[tuple[float, str]]]  # inner edges, bar labels, marks


def histogram(column: str, kind: Kind, tables: Sequence[pd.Series[Any]], fmt: str | None = None) -> Histogram:
    """Return the histogram of a column in one or more tables, with the same bars for all."""
    # Numbers and times get at most 20 bars between the 0.5 % and 99.5 % quantiles of all tables; the end bars
    # include the tails, and spikes come first. With more than 12 categories the rarest share one bar.
    if kind == "categorical":
        return _category_histogram(column, tables)
    parsed = _numbers(tables, kind, fmt)
    spikes = _spikes(parsed)
    others = [values[~np.isin(values, spikes)] for values in parsed]
    edges, labels, marks = _bars(np.concatenate(others), kind, _NUM_BARS - len(spikes))
    # Drop the first count: a column without readable values has only the bar "missing".
    binned = [
        np.bincount(1 + np.searchsorted(edges, x[~np.isnan(x)], side="right"), minlength=len(labels) + 1)[1:]
        for x in others
    ]
    counts = [
        np.concatenate([[(x == spike).sum() for spike in spikes], count])
        for x, count in zip(parsed, binned, strict=True)
    ]
    spike_texts = [number(float(value)) if kind == "numerical" else _stamp(float(value)) for value in spikes]
    return _ordered(
        column,
        [*(f"exactly {word}" for word in spike_texts), *labels],
        [
            *((i + 0.5, word) for i, word in enumerate(spike_texts)),
            *((len(spikes) + at, w) for at, w in marks),
        ],
        counts,
        [int(np.isnan(x).sum()) for x in parsed],
        spikes=len(spikes),
    )


def clock_histogram(
    column: str, kind: Kind, tables: Sequence[pd.Series[Any]], fmt: str | None = None
) -> Histogram | None:
    """Return shares by hour of the day, or None for a column without times of day."""
    if kind != "datetime":
        return None
    parsed = _numbers(tables, kind, fmt)
    if not any((values[~np.isnan(values)] % _DAY != 0).any() for values in parsed):
        return None
    hours = [(values[~np.isnan(values)] % _DAY // _HOUR).astype(np.int64) for values in parsed]
    return _ordered(
        column,
        [f"{hour:02d}:00 to {hour:02d}:59" for hour in range(24)],
        [(hour + 0.5, f"{hour:02d}h") for hour in (0, 6, 12, 18, 23)],
        [np.bincount(hour, minlength=24) for hour in hours],
        [int(np.isnan(values).sum()) for values in parsed],
        part="time of day",
    )


def _numbers(tables: Sequence[pd.Series[Any]], kind: Kind, fmt: str | None) -> list[Floats]:
    parsed = [to_numbers(table, kind, fmt)[0] for table in tables]
    return [np.where(np.isfinite(values), values, np.nan) for values in parsed]


def _ordered(
    column: str,
    labels: Sequence[str],
    marks: Sequence[tuple[float, str]],
    counts: Sequence[Any],
    num_missing: Sequence[int],
    **more: Any,
) -> Histogram:
    """Convert counts to shares; add a bar for missing cells if there are any."""
    if any(num_missing):
        labels = [*labels, "missing"]
        counts = [np.append(count, number) for count, number in zip(counts, num_missing, strict=True)]
    shares = tuple(tuple((count / count.sum()).tolist()) for count in counts)
    return Histogram(
        column=column, ordered=True, labels=tuple(labels), marks=tuple(marks), shares=shares, **more
    )


def _spikes(tables: Sequence[Floats]) -> Floats:
    """Return values with at least a tenth of a table's rows, if there are too many values for bars."""
    present = [values[~np.isnan(values)] for values in tables]
    if np.unique(np.concatenate(present)).size <= _NUM_BARS:
        return np.empty(0)
    largest: dict[float, float] = {}
    for values in present:
        distinct, counts = np.unique(values, return_counts=True)
        for value, share in zip(distinct.tolist(), (counts / max(1, values.size)).tolist(), strict=True):
            if share >= _SPIKE:
                largest[value] = max(share, largest.get(value, 0.0))
    return np.array(sorted(sorted(largest, key=lambda value: -largest[value])[:_MAX_SPIKES]))


def _bars(values: Floats, kind: Kind, max_bars: int) -> _Bars:
    present = values[~np.isnan(values)]
    if present.size == 0:
        return np.empty(0), [], []
    distinct = np.unique(present)
    if distinct.size <= max_bars:
        texts = _format_values(distinct, kind)
        middle = len(texts) // 2
        return distinct[1:], texts, [(i + 0.5, texts[i]) for i in dict.fromkeys((0, middle, len(texts) - 1))]
    low, high = np.quantile(present, [0.005, 0.995], method="nearest")
    low, high = (low, high) if low < high else (distinct[0], distinct[-1])
    is_integer = kind == "numerical" and bool((present == np.floor(present)).all())
    bin_edges = np.linspace(low, high, max_bars + 1)
    if is_integer:
        step = max(1.0, np.ceil((high - low + 1) / max_bars))
        bin_edges = low + step * np.arange(np.ceil((high - low + 1) / step) + 1)
    if kind == "numerical" and distinct[0] > 0 and _crowded(present, bin_edges):
        bin_edges = np.geomspace(low, high + is_integer, max_bars + 1)
        bin_edges = np.unique(np.ceil(bin_edges)) if is_integer else bin_edges
    texts = _format_values(bin_edges, kind)
    upper = texts[1:]
    if is_integer:  # left-closed bins: [17, 21) is labelled "17 to 20"
        upper = _format_values(bin_edges[1:] - 1, kind)
    labels = [a if a == b else f"{a} to {b}" for a, b in zip(texts[:-1], upper, strict=True)]
    last = len(labels)
    return bin_edges[1:-1], labels, [(float(i), texts[i]) for i in (0, last // 2, last)]


def _crowded(values: Floats, bin_edges: Floats) -> bool:
    counts = np.bincount(np.searchsorted(bin_edges[1:-1], values, side="right"))
    return bool(counts.max() > _CROWDED * values.size)


def _stamp(second: float) -> str:
    stamp = pd.to_datetime(second, unit="s")
    return str(stamp.strftime("%Y-%m-%d" if second % _DAY == 0 else "%Y-%m-%d %H:%M"))


def _format_values(values: Floats, kind: Kind) -> list[str]:
    if kind == "numerical":
        return [number(float(value)) for value in values]
    stamps = pd.to_datetime(values, unit="s")
    days = (values[-1] - values[0]) > 2 * _DAY or values.size == 1
    return [str(stamp.strftime("%Y-%m-%d" if days else "%m-%d %H:%M")) for stamp in stamps]


def _category_histogram(column: str, tables: Sequence[pd.Series[Any]]) -> Histogram:
    codes, values = category_codes(tables)
    counts = np.array([np.bincount(code, minlength=len(values) + 1) for code in codes])
    # Most common in the first table first; break ties by text, which does not depend on row order.
    texts = [str(value) for value in values]
    order = sorted(range(len(values)), key=lambda i: (-counts[0, 1 + i], texts[i]))
    listed, remaining = order, []
    if len(order) > _MAX_CATEGORIES:
        listed, remaining = order[: _MAX_CATEGORIES - 1], order[_MAX_CATEGORIES - 1 :]
    labels, bars = [texts[i] for i in listed], [counts[:, 1 + i] for i in listed]
    if remaining:
        labels.append(f"other ({len(remaining)})")
        bars.append(counts[:, [1 + i for i in remaining]].sum(axis=1))
    if counts[:, 0].any():
        labels.append("missing")
        bars.append(counts[:, 0])
    shares = np.array(bars).T / counts.sum(axis=1)[:, None]
    return Histogram(
        column=column,
        ordered=False,
        labels=tuple(labels),
        marks=(),
        shares=tuple(tuple(row) for row in shares.tolist()),
    )


def column_histograms(
    kinds: Mapping[str, Kind], tables: Sequence[pd.DataFrame], formats: Mapping[str, str]
) -> tuple[Histogram, ...]:
    """Return all histograms of all columns: values and, for times of day, hours."""
    candidates: list[Histogram | None] = []
    for name, kind in kinds.items():
        cells, fmt = [table[name] for table in tables], formats.get(name)
        candidates += [histogram(name, kind, cells, fmt), clock_histogram(name, kind, cells, fmt)]
    return tuple(candidate for candidate in candidates if candidate is not None)
