"""What the report keeps of two tables: shares, distances and dependences, never rows.

There are two kinds, and the difference is the point of this module. A :class:`ReleaseSummary` is a function
of the synthetic table alone, so publishing it tells no more than publishing that table. A
:class:`ComparisonSummary` is computed from real rows without noise: no guarantee covers it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.evaluation import distances
from sdv_plausible.evaluation.coding import Codes, category_codes, encode, sample_positions
from sdv_plausible.evaluation.page.drawing import number
from sdv_plausible.evaluation.reading import Floats, Kind, as_numbers
from sdv_plausible.evaluation.tables import TablePair

_NUM_BARS = 20
_MAX_CATEGORIES = 12


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """Shares of the values of one column in one or more tables.

    Attributes
    ----------
    column : str
    ordered : bool
        Whether the bars are bins of numbers or times, in order, or categories.
    labels : tuple of str, length b
        What each bar is; the last one may be "missing".
    marks : tuple of (float, str)
        Marks of the axis of an ordered histogram, in bars from the left.
    shares : tuple of tuple of float
        Shares of each table, each of length b and sum 1.
    """

    column: str
    ordered: bool
    labels: tuple[str, ...]
    marks: tuple[tuple[float, str], ...]
    shares: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, kw_only=True)
class ReleaseSummary:
    """The synthetic table alone: histograms and symmetrical uncertainty of its columns."""

    columns: tuple[str, ...]
    num_rows: int
    histograms: tuple[Histogram, ...]
    dependence: Floats


@dataclass(frozen=True, kw_only=True)
class ComparisonSummary:
    """Real against synthetic. Private.

    Attributes
    ----------
    histograms : tuple of Histogram
        Shares of the real and of the synthetic table.
    real_dependence, synthetic_dependence : numpy.ndarray of float64, shape (m, m)
        Symmetrical uncertainty inside each table.
    reference : str
        Which real rows were compared with which in the next two.
    num_rows : int
        Rows on either side of the following distances: chance alone makes them larger for fewer rows.
    reference_columns, reference_pairs : numpy.ndarray of float64
        Total variation distances of real rows from other real rows: what chance alone gives.
    synthetic_columns, synthetic_pairs : numpy.ndarray of float64
        The same for synthetic rows.
    independent_pairs : numpy.ndarray of float64
        The same for the other real rows with every column shuffled: what losing all dependence gives.
    """

    histograms: tuple[Histogram, ...]
    real_dependence: Floats
    synthetic_dependence: Floats
    reference: str
    num_rows: int
    reference_columns: Floats
    reference_pairs: Floats
    synthetic_columns: Floats
    synthetic_pairs: Floats
    independent_pairs: Floats


def histogram(column: str, kind: Kind, tables: Sequence[pd.Series[Any]], fmt: str | None = None) -> Histogram:
    """Return the histogram of a column in one or more tables, with the same bars for all.

    Numbers and times get at most 20 bars between the 0.5 % and 99.5 % quantiles of all tables; the end bars
    hold what lies beyond. Of more than 12 categories the rarest share one bar.
    """
    if kind == "categorical":
        return _category_histogram(column, tables)
    read = [as_numbers(table, kind, fmt)[0] for table in tables]
    read = [np.where(np.isfinite(values), values, np.nan) for values in read]
    edges, labels, marks = _bars(np.concatenate(read), kind)
    # the first count is cut off: a column without a single readable value has no bars but "missing"
    shares = [
        np.bincount(1 + np.searchsorted(edges, x[~np.isnan(x)], side="right"), minlength=len(labels) + 1)[1:]
        for x in read
    ]
    absent = [int(np.isnan(x).sum()) for x in read]
    if any(absent):
        labels = [*labels, "missing"]
        shares = [np.append(count, none) for count, none in zip(shares, absent, strict=True)]
    return Histogram(
        column=column,
        ordered=True,
        labels=tuple(labels),
        marks=tuple(marks),
        shares=tuple(tuple((count / count.sum()).tolist()) for count in shares),
    )


def _bars(values: Floats, kind: Kind) -> tuple[Floats, list[str], list[tuple[float, str]]]:
    present = values[~np.isnan(values)]
    if present.size == 0:
        return np.empty(0), [], []
    distinct = np.unique(present)
    if distinct.size <= _NUM_BARS:
        words = _words(distinct, kind)
        middle = len(words) // 2
        return distinct[1:], words, [(i + 0.5, words[i]) for i in dict.fromkeys((0, middle, len(words) - 1))]
    low, high = np.quantile(present, [0.005, 0.995], method="nearest")
    low, high = (low, high) if low < high else (distinct[0], distinct[-1])
    ends = np.linspace(low, high, _NUM_BARS + 1)
    whole = kind == "numerical" and bool((present == np.floor(present)).all())
    if whole:
        step = max(1.0, np.ceil((high - low + 1) / _NUM_BARS))
        ends = low + step * np.arange(np.ceil((high - low + 1) / step) + 1)
    words = _words(ends, kind)
    upper = words[1:]
    if whole:  # bins are closed on the left: [17, 21) is "17 to 20"
        upper = _words(ends[1:] - 1, kind)
    labels = [a if a == b else f"{a} to {b}" for a, b in zip(words[:-1], upper, strict=True)]
    last = len(labels)
    return ends[1:-1], labels, [(float(i), words[i]) for i in (0, last // 2, last)]


def _words(values: Floats, kind: Kind) -> list[str]:
    if kind == "numerical":
        return [number(float(value)) for value in values]
    stamps = pd.to_datetime(values, unit="s")
    days = (values[-1] - values[0]) > 2 * 86400 or values.size == 1
    return [str(stamp.strftime("%Y-%m-%d" if days else "%m-%d %H:%M")) for stamp in stamps]


def _category_histogram(column: str, tables: Sequence[pd.Series[Any]]) -> Histogram:
    codes, values = category_codes(tables)
    counts = np.array([np.bincount(code, minlength=len(values) + 1) for code in codes])
    # commonest first in the first table; ties in the order of the values' text, not of the rows
    words = [str(value) for value in values]
    order = sorted(range(len(values)), key=lambda i: (-counts[0, 1 + i], words[i]))
    shown, rest = order, []
    if len(order) > _MAX_CATEGORIES:
        shown, rest = order[: _MAX_CATEGORIES - 1], order[_MAX_CATEGORIES - 1 :]
    labels, bars = [words[i] for i in shown], [counts[:, 1 + i] for i in shown]
    if rest:
        labels.append(f"other ({len(rest)})")
        bars.append(counts[:, [1 + i for i in rest]].sum(axis=1))
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
        histograms=tuple(
            histogram(name, kind, [synthetic[name]], formats.get(name)) for name, kind in kinds.items()
        ),
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
    """Summarise real against synthetic; ``statistics`` are those of all pairs, if there are pairs."""
    rng = np.random.default_rng(random_state)
    *parts, reference = _equal_parts(pair, holdout, max_rows, rng)
    coded = encode([pair.real, *parts], pair.kinds, formats=pair.formats, num_bins=num_bins)
    _, one, other, synthetic = coded.tables
    columns, pairs = [np.empty(0)] * 3, [np.empty(0)] * 3
    if len(one):
        cards, others = coded.cardinalities, (other, synthetic, _shuffle_columns(other, rng))
        columns = [distances.column_distances(one, rows, cards) for rows in others]
        pairs = [np.array(list(distances.pair_distances(one, rows, cards).values())) for rows in others]
    identity = np.eye(len(pair.kinds))
    return ComparisonSummary(
        histograms=tuple(
            histogram(name, kind, [pair.real[name], pair.synthetic[name]], pair.formats.get(name))
            for name, kind in pair.kinds.items()
        ),
        real_dependence=identity if statistics is None else statistics.real_dependence,
        synthetic_dependence=identity if statistics is None else statistics.synthetic_dependence,
        reference=reference,
        num_rows=len(one),
        reference_columns=columns[0],
        reference_pairs=pairs[0],
        synthetic_columns=columns[1],
        synthetic_pairs=pairs[1],
        independent_pairs=pairs[2],
    )


def _equal_parts(
    pair: TablePair, holdout: pd.DataFrame | None, max_rows: int | None, rng: np.random.Generator
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, str]:
    """Return as many real as other real and as synthetic rows, and what the other real ones are."""
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


def _shuffle_columns(codes: Codes, rng: np.random.Generator) -> Codes:
    return np.column_stack([rng.permutation(codes[:, j]) for j in range(codes.shape[1])])
