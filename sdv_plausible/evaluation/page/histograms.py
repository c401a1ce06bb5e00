"""Shares of a column's values in bars that show how tables differ.

A value that many rows share has a bar of its own: in one bin with its neighbours it would hide them. Times
that have a time of day get a second picture, by the hour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.evaluation.page.svg import number
from sdv_plausible.evaluation.table_codes import category_codes
from sdv_plausible.evaluation.table_pair import Floats, Kind, as_numbers

_NUM_BARS = 20
_MAX_CATEGORIES = 12
_SPIKE = 0.1  # share of rows from which on a single value among many stands apart
_MAX_SPIKES = 3
_CROWDED = 0.5  # share in one of the equal bins from which on bins grow with the values instead
_DAY, _HOUR = 86400.0, 3600.0


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """Shares of the values of one column in one or more tables."""

    column: str
    ordered: bool  # bins of numbers or times, in order, or categories
    labels: tuple[str, ...]  # what each of the b bars is; the last may be "missing"
    marks: tuple[tuple[float, str], ...]  # of the axis of an ordered histogram, in bars from the left
    shares: tuple[tuple[float, ...], ...]  # of each table, of length b and sum 1
    spikes: int = 0  # so many bars at the start are single values that stand apart
    part: str = ""  # what of the column is shown, if not its values


_Bars = tuple[Floats, list[str], list[tuple[float, str]]]  # inner edges, a label for each bar, marks


def histogram(column: str, kind: Kind, tables: Sequence[pd.Series[Any]], fmt: str | None = None) -> Histogram:
    """Return the histogram of a column in one or more tables, with the same bars for all."""
    # Numbers and times get at most 20 bars between the 0.5 % and 99.5 % quantiles of all tables; the end bars
    # hold what lies beyond, and values that many rows share come first, apart. Of more than 12 categories the
    # rarest share one bar.
    if kind == "categorical":
        return _category_histogram(column, tables)
    read = _numbers(tables, kind, fmt)
    spikes = _spikes(read)
    rest = [values[~np.isin(values, spikes)] for values in read]
    edges, labels, marks = _bars(np.concatenate(rest), kind, _NUM_BARS - len(spikes))
    # the first count is cut off: a column without a single readable value has no bars but "missing"
    binned = [
        np.bincount(1 + np.searchsorted(edges, x[~np.isnan(x)], side="right"), minlength=len(labels) + 1)[1:]
        for x in rest
    ]
    counts = [
        np.concatenate([[(x == spike).sum() for spike in spikes], count])
        for x, count in zip(read, binned, strict=True)
    ]
    words = [number(float(value)) if kind == "numerical" else _stamp(float(value)) for value in spikes]
    return _ordered(
        column,
        [*(f"exactly {word}" for word in words), *labels],
        [*((i + 0.5, word) for i, word in enumerate(words)), *((len(spikes) + at, w) for at, w in marks)],
        counts,
        [int(np.isnan(x).sum()) for x in read],
        spikes=len(spikes),
    )


def clock_histogram(
    column: str, kind: Kind, tables: Sequence[pd.Series[Any]], fmt: str | None = None
) -> Histogram | None:
    """Return shares of the hours of the day, or None where a column has no times of day."""
    if kind != "datetime":
        return None
    read = _numbers(tables, kind, fmt)
    if not any((values[~np.isnan(values)] % _DAY != 0).any() for values in read):
        return None
    hours = [(values[~np.isnan(values)] % _DAY // _HOUR).astype(np.int64) for values in read]
    return _ordered(
        column,
        [f"{hour:02d}:00 to {hour:02d}:59" for hour in range(24)],
        [(hour + 0.5, f"{hour:02d}h") for hour in (0, 6, 12, 18, 23)],
        [np.bincount(hour, minlength=24) for hour in hours],
        [int(np.isnan(values).sum()) for values in read],
        part="time of day",
    )


def _numbers(tables: Sequence[pd.Series[Any]], kind: Kind, fmt: str | None) -> list[Floats]:
    read = [as_numbers(table, kind, fmt)[0] for table in tables]
    return [np.where(np.isfinite(values), values, np.nan) for values in read]


def _ordered(
    column: str,
    labels: Sequence[str],
    marks: Sequence[tuple[float, str]],
    counts: Sequence[Any],
    absent: Sequence[int],
    **more: Any,
) -> Histogram:
    """Make shares of counts; a bar for missing cells only where there are some."""
    if any(absent):
        labels = [*labels, "missing"]
        counts = [np.append(count, none) for count, none in zip(counts, absent, strict=True)]
    shares = tuple(tuple((count / count.sum()).tolist()) for count in counts)
    return Histogram(
        column=column, ordered=True, labels=tuple(labels), marks=tuple(marks), shares=shares, **more
    )


def _spikes(tables: Sequence[Floats]) -> Floats:
    """Return values that hold at least a tenth of the rows of a table, where there are too many for bars."""
    present = [values[~np.isnan(values)] for values in tables]
    if np.unique(np.concatenate(present)).size <= _NUM_BARS:
        return np.empty(0)
    largest: dict[float, float] = {}
    for values in present:
        found, counts = np.unique(values, return_counts=True)
        for value, held in zip(found.tolist(), (counts / max(1, values.size)).tolist(), strict=True):
            if held >= _SPIKE:
                largest[value] = max(held, largest.get(value, 0.0))
    return np.array(sorted(sorted(largest, key=lambda value: -largest[value])[:_MAX_SPIKES]))


def _bars(values: Floats, kind: Kind, most: int) -> _Bars:
    present = values[~np.isnan(values)]
    if present.size == 0:
        return np.empty(0), [], []
    distinct = np.unique(present)
    if distinct.size <= most:
        words = _words(distinct, kind)
        middle = len(words) // 2
        return distinct[1:], words, [(i + 0.5, words[i]) for i in dict.fromkeys((0, middle, len(words) - 1))]
    low, high = np.quantile(present, [0.005, 0.995], method="nearest")
    low, high = (low, high) if low < high else (distinct[0], distinct[-1])
    whole = kind == "numerical" and bool((present == np.floor(present)).all())
    ends = np.linspace(low, high, most + 1)
    if whole:
        step = max(1.0, np.ceil((high - low + 1) / most))
        ends = low + step * np.arange(np.ceil((high - low + 1) / step) + 1)
    if kind == "numerical" and distinct[0] > 0 and _crowded(present, ends):
        ends = np.geomspace(low, high + whole, most + 1)
        ends = np.unique(np.ceil(ends)) if whole else ends
    words = _words(ends, kind)
    upper = words[1:]
    if whole:  # bins are closed on the left: [17, 21) is "17 to 20"
        upper = _words(ends[1:] - 1, kind)
    labels = [a if a == b else f"{a} to {b}" for a, b in zip(words[:-1], upper, strict=True)]
    last = len(labels)
    return ends[1:-1], labels, [(float(i), words[i]) for i in (0, last // 2, last)]


def _crowded(values: Floats, ends: Floats) -> bool:
    held = np.bincount(np.searchsorted(ends[1:-1], values, side="right"))
    return bool(held.max() > _CROWDED * values.size)


def _stamp(second: float) -> str:
    stamp = pd.to_datetime(second, unit="s")
    return str(stamp.strftime("%Y-%m-%d" if second % _DAY == 0 else "%Y-%m-%d %H:%M"))


def _words(values: Floats, kind: Kind) -> list[str]:
    if kind == "numerical":
        return [number(float(value)) for value in values]
    stamps = pd.to_datetime(values, unit="s")
    days = (values[-1] - values[0]) > 2 * _DAY or values.size == 1
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


def pictures_of(
    kinds: Mapping[str, Kind], tables: Sequence[pd.DataFrame], formats: Mapping[str, str]
) -> tuple[Histogram, ...]:
    """Return all histograms of all columns: values and, where they have times of day, the hours."""
    found: list[Histogram | None] = []
    for name, kind in kinds.items():
        cells, fmt = [table[name] for table in tables], formats.get(name)
        found += [histogram(name, kind, cells, fmt), clock_histogram(name, kind, cells, fmt)]
    return tuple(one for one in found if one is not None)
