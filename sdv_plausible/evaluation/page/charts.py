"""Charts of the HTML report as inline SVG: bars, boxes, intervals and lines.

If one bar holds most rows, the axis of shares is logarithmic and labelled as such. On a linear axis the other
bars would be about a pixel high and their differences invisible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from sdv_plausible.evaluation.page.svg import (
    GRID,
    INK,
    SERIES,
    WIDTH,
    SvgDrawing,
    number,
    shorten,
    shorten_all,
    ticks,
)
from sdv_plausible.evaluation.table_pair import Floats

Series = Sequence[tuple[str, Sequence[float], str]]  # name, shares in [0, 1] and colour of each table

_LOG_SCALE_ABOVE = 0.6
_MAX_LINEAR_BARS = 3
_GAP = 0.6  # gap, in bar widths, next to bars that stand apart


@dataclass(frozen=True)
class ShareScale:
    """A scale for shares in [0, 1]: linear from 0, or logarithmic from ``low``."""

    low: float
    high: float
    logarithmic: bool

    @classmethod
    def of(cls, series: Series) -> ShareScale:
        """Choose a scale on which all bars are visible."""
        shares = [share for _, values, _ in series for share in values if share > 0]
        high = max([1e-9, *shares])
        bars = max(len(values) for _, values, _ in series)
        if high < _LOG_SCALE_ABOVE or bars <= _MAX_LINEAR_BARS or min(shares) > 0.05:
            return cls(0.0, high * 1.05, False)
        return cls(10.0 ** max(-5, math.floor(math.log10(min(shares) * 0.999))), 1.0, True)

    def position(self, share: float) -> float:
        """Return the position of a share on the axis, from 0 to 1; 0 for shares below the scale."""
        if not self.logarithmic:
            return share / self.high
        return max(0.0, 1 - math.log10(share) / math.log10(self.low)) if share > 0 else 0.0

    def ticks(self) -> list[float]:
        """Return round shares for the axis."""
        if not self.logarithmic:
            return ticks(0, self.high, 4)
        return [10.0**power for power in range(round(math.log10(self.low)), 1)]


def vertical_bars(
    title: str, labels: Sequence[str], marks: Sequence[tuple[float, str]], series: Series, spikes: int = 0
) -> Markup:
    """Draw grouped bars of shares of ordered bins; a last bin called "missing" stands apart."""
    # ``marks`` are positions on the axis in bins from the left edge. The first ``spikes`` bins stand apart.
    # ``title`` is the accessible name, here and in all charts.
    left, right, top, bottom = 46.0, WIDTH - 10.0, 20.0, 140.0
    drawing = SvgDrawing(WIDTH, 164, title)
    scale = ShareScale.of(series)
    _share_lines(drawing, scale, (left, right, top, bottom))
    has_missing, spike_gap = labels[-1] == "missing", _GAP if 0 < spikes < len(labels) else 0.0
    slot = (right - left) / (len(labels) + spike_gap + (_GAP if has_missing else 0))

    def place(position: float, last: bool = False) -> float:
        return left + (position + (spike_gap if position >= spikes else 0) + (_GAP if last else 0)) * slot

    width = slot * 0.86 / len(series)
    for rank, (name, shares, colour) in enumerate(series):
        for i, share in enumerate(shares):
            x = place(i, has_missing and i == len(labels) - 1) + 0.07 * slot + rank * width
            height = scale.position(share) * (bottom - top)
            tip = f"{name}, {labels[i]}: {100 * share:.2f}%"
            drawing.rect(x, bottom - height, width, height, colour, tip=tip)
    drawing.line(left, bottom, right, bottom)
    if spike_gap:
        gap = left + (spikes + spike_gap / 2) * slot
        drawing.line(gap, top, gap, bottom, INK, stroke_dasharray="2 3")
    _draw_marks(
        drawing, [(place(position), words) for position, words in marks], left, bottom + 17, has_missing
    )
    return drawing.svg()


def _share_lines(drawing: SvgDrawing, scale: ShareScale, area: tuple[float, float, float, float]) -> None:
    left, right, top, bottom = area
    for value in scale.ticks():
        y = bottom - scale.position(value) * (bottom - top)
        drawing.line(left, y, right, y, GRID)
        drawing.text(left - 4, y + 4, f"{100 * value:.3g}%", "end")
    if scale.logarithmic:
        drawing.text(2, 10, "log scale")


def _draw_marks(
    drawing: SvgDrawing, marks: Sequence[tuple[float, str]], left: float, y: float, missing: bool
) -> None:
    last_end = 0.0
    for position, label in marks:
        half = 6.8 * len(label) / 2
        x = min(max(position, left - 20 + half), WIDTH - half - (56 if missing else 0))
        # Leave out a mark that would overlap the one before it.
        if x - half >= last_end:
            drawing.text(x, y, label, "middle")
            last_end = x + half + 8
    if missing:
        drawing.text(WIDTH - 2, y, "missing", "end")


def horizontal_bars(title: str, labels: Sequence[str], series: Series) -> Markup:
    """Draw bars of shares of categories, one row per category."""
    left, right, row = 126.0, WIDTH - 20.0, 9.0 * len(series) + 6
    bottom = 4 + row * len(labels)
    drawing = SvgDrawing(WIDTH, bottom + 22, title)
    scale = ShareScale.of(series)
    for value in scale.ticks():
        x = left + scale.position(value) * (right - left)
        drawing.line(x, 2, x, bottom, GRID)
        drawing.text(x, bottom + 15, f"{100 * value:.3g}%", "middle")
    if scale.logarithmic:
        drawing.text(2, bottom + 15, "log scale")
    for i, (label, short) in enumerate(zip(labels, shorten_all(labels, left - 8), strict=True)):
        y = 4 + i * row
        drawing.text(left - 5, y + row / 2 + 4, short, "end")
        for rank, (name, shares, colour) in enumerate(series):
            width = scale.position(shares[i]) * (right - left)
            tip = f"{name}, {label}: {100 * shares[i]:.2f}%"
            drawing.rect(left, y + 1 + 9 * rank, width, 8, colour, tip=tip)
    drawing.line(left, 2, left, bottom)
    return drawing.svg()


_DASHES = ("", "6 3", "2 3", "8 3 2 3")


def _x_axis(
    drawing: SvgDrawing, name: str, area: tuple[float, float, float, float], domain: tuple[float, float]
) -> Callable[[float], float]:
    """Draw the axis below (left, right, top, bottom); return the function from values to x."""
    left, right, top, bottom = area
    low, high = domain

    def place(value: float) -> float:
        return left + (min(max(value, low), high) - low) / (high - low) * (right - left)

    for value in ticks(low, high):
        drawing.line(place(value), top, place(value), bottom, GRID)
        drawing.text(place(value), bottom + 14, number(value), "middle")
    drawing.text((left + right) / 2, bottom + 30, name, "middle")
    return place


def box_plot(title: str, rows: Sequence[tuple[str, Sequence[float], str]], axis: str) -> Markup:
    """Draw one box per row (name, values at least 0 or NaN, colour)."""
    # Boxes show quartiles, whiskers up to 1.5 inter-quartile ranges, and outliers.
    left, right, height = 118.0, WIDTH - 12.0, 34.0
    bottom = 6 + height * len(rows)
    drawing = SvgDrawing(WIDTH, bottom + 36, title)
    boxes = [
        (name, np.array([v for v in numbers if not math.isnan(v)]), colour) for name, numbers, colour in rows
    ]
    high = max([1e-3, *(float(values.max()) for _, values, _ in boxes if values.size)]) * 1.05
    place = _x_axis(drawing, axis, (left, right, 4, bottom), (0, high))
    for i, (name, values, colour) in enumerate(boxes):
        middle = 6 + height * i + height / 2
        drawing.text(left - 6, middle + 4, shorten(name, left - 8), "end")
        if values.size:
            _box(drawing, values, middle, colour, place)
    return drawing.svg()


def _box(drawing: SvgDrawing, values: Floats, y: float, colour: str, place: Callable[[float], float]) -> None:
    q1, q2, q3 = (float(q) for q in np.quantile(values, [0.25, 0.5, 0.75]))
    inside = values[(values >= q1 - 1.5 * (q3 - q1)) & (values <= q3 + 1.5 * (q3 - q1))]
    low, high = float(inside.min()), float(inside.max())
    tip = f"median {q2:.4f}, quartiles {q1:.4f} and {q3:.4f}, {values.size} values"
    drawing.line(place(low), y, place(high), y, colour, stroke_width=1.5)
    for end in (low, high):
        drawing.line(place(end), y - 5, place(end), y + 5, colour, stroke_width=1.5)
    width = max(place(q3) - place(q1), 1)
    drawing.rect(place(q1), y - 9, width, 18, colour, tip=tip, fill_opacity=0.45)
    drawing.line(place(q2), y - 9, place(q2), y + 9, INK, stroke_width=2)
    for value in values[(values < low) | (values > high)]:
        drawing.dot(place(float(value)), y, 2, colour, tip=f"{value:.4f}")


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A value with its interval (NaN for none), for :func:`interval_plot`."""

    name: str
    value: float
    low: float
    high: float
    colour: str


def interval_plot(
    title: str,
    rows: Sequence[tuple[str, Sequence[Interval]]],
    axis: str,
    domain: tuple[float, float],
    mark: tuple[float, str] | None = None,
) -> Markup:
    """Draw values with intervals, one row per name, and a vertical mark such as "guessing"."""
    left, right, top = 118.0, WIDTH - 14.0, 18.0 if mark else 4.0
    heights = [14.0 * len(intervals) + 8 for _, intervals in rows]
    bottom = top + sum(heights)
    drawing = SvgDrawing(WIDTH, bottom + 36, title)
    place = _x_axis(drawing, axis, (left, right, top, bottom), domain)
    if mark:
        x = place(mark[0])
        drawing.line(x, top - 4, x, bottom, INK, stroke_dasharray="3 3")
        drawing.text(min(max(x, left + 30), right - 30), top - 7, mark[1], "middle")
    y = top
    for (name, intervals), height in zip(rows, heights, strict=True):
        drawing.text(left - 6, y + height / 2 + 4, shorten(name, left - 8), "end")
        for i, item in enumerate(intervals):
            middle = y + 4 + 14 * i + 7
            if not math.isnan(item.low + item.high):
                drawing.line(place(item.low), middle, place(item.high), middle, item.colour, stroke_width=2)
            tip = f"{item.name}: {item.value:.4f}"
            drawing.dot(place(item.value), middle, 4, item.colour, tip=tip)
        y += height
    return drawing.svg()


def line_plot(
    title: str, positions: Sequence[str], series: Sequence[tuple[str, Sequence[float]]], axes: tuple[str, str]
) -> Markup:
    """Draw shares (NaN: unknown) against positions, one line per series; ``axes`` names x and y."""
    left, right, top, bottom = 46.0, WIDTH - 12.0, 22.0, 172.0
    rows = math.ceil(len(series) / 2)
    drawing = SvgDrawing(WIDTH, bottom + 42 + 16 * rows, title)
    _share_lines(drawing, ShareScale(0.0, 1.0, False), (left, right, top, bottom))
    drawing.text(4, 12, axes[1])
    drawing.text((left + right) / 2, bottom + 30, axes[0], "middle")
    xs = [left + (i + 0.5) * (right - left) / len(positions) for i in range(len(positions))]
    for x, label in zip(xs, positions, strict=True):
        drawing.text(x, bottom + 15, label, "middle")
    names = shorten_all([name for name, _ in series], 118)
    for rank, (name, shares) in enumerate(series):
        colour, dash = SERIES[rank % len(SERIES)], _DASHES[rank % len(_DASHES)]
        points = [
            (x, bottom - s * (bottom - top)) for x, s in zip(xs, shares, strict=True) if not math.isnan(s)
        ]
        style = {"stroke_width": 2, "stroke_dasharray": dash}
        if points:
            drawing.path("M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in points), colour, **style)
        for (x, y), share in zip(points, [s for s in shares if not math.isnan(s)], strict=True):
            drawing.dot(x, y, 3, colour, tip=f"{name}: {100 * share:.1f}%")
        legend_x, legend_y = left + (rank % 2) * 150, bottom + 46 + 16 * (rank // 2)
        drawing.line(legend_x, legend_y - 4, legend_x + 22, legend_y - 4, colour, **style)
        drawing.text(legend_x + 28, legend_y, names[rank])
    drawing.line(left, bottom, right, bottom)
    return drawing.svg()
