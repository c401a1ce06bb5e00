"""Bar charts of the report: shares of ordered bins and of categories.

Where one bar holds most rows the axis of shares is logarithmic, and says so: on an even one the others would
be a pixel high, and what differs there could not be seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from sdv_plausible.evaluation.page.drawing import GRID, INK, WIDTH, Drawing, shorten_all, ticks

Series = Sequence[tuple[str, Sequence[float], str]]
"""Name, shares in [0, 1] and colour of each table."""

_DOMINANT = 0.6
_FEW_BARS = 3
_GAP = 0.6
"""Of a bar's place, between bars that stand apart and the others."""


@dataclass(frozen=True)
class ShareScale:
    """Where shares lie on an axis from 0 to 1: evenly from 0, or by their logarithm from ``low``."""

    low: float
    high: float
    logarithmic: bool

    @classmethod
    def of(cls, series: Series) -> ShareScale:
        """Choose the scale that shows all bars."""
        shares = [share for _, listed, _ in series for share in listed if share > 0]
        high = max([1e-9, *shares])
        bars = max(len(listed) for _, listed, _ in series)
        if high < _DOMINANT or bars <= _FEW_BARS or min(shares) > 0.05:
            return cls(0.0, high * 1.05, False)
        return cls(10.0 ** max(-5, math.floor(math.log10(min(shares) * 0.999))), 1.0, True)

    def place(self, share: float) -> float:
        """Return the place of a share, 0 for what is below the scale."""
        if not self.logarithmic:
            return share / self.high
        return max(0.0, 1 - math.log10(share) / math.log10(self.low)) if share > 0 else 0.0

    def ticks(self) -> list[float]:
        """Return round shares on the axis."""
        if not self.logarithmic:
            return ticks(0, self.high, 4)
        return [10.0**power for power in range(round(math.log10(self.low)), 1)]


def vertical_bars(
    title: str, labels: Sequence[str], marks: Sequence[tuple[float, str]], series: Series, spikes: int = 0
) -> Markup:
    """Draw shares of ordered bins, a group of bars for each; a last bin called "missing" stands apart.

    ``marks`` of the axis count bins from the left end of the first; ``spikes`` bins at the start stand apart.
    ``title`` is for readers of the page who cannot see, here and in all pictures.
    """
    left, right, top, bottom = 46.0, WIDTH - 10.0, 20.0, 140.0
    drawing = Drawing(WIDTH, 164, title)
    scale = ShareScale.of(series)
    _share_lines(drawing, scale, (left, right, top, bottom))
    missing, after = labels[-1] == "missing", _GAP if 0 < spikes < len(labels) else 0.0
    slot = (right - left) / (len(labels) + after + (_GAP if missing else 0))

    def place(position: float, last: bool = False) -> float:
        return left + (position + (after if position >= spikes else 0) + (_GAP if last else 0)) * slot

    width = slot * 0.86 / len(series)
    for rank, (name, shares, colour) in enumerate(series):
        for i, share in enumerate(shares):
            x = place(i, missing and i == len(labels) - 1) + 0.07 * slot + rank * width
            height = scale.place(share) * (bottom - top)
            tip = f"{name}, {labels[i]}: {100 * share:.2f}%"
            drawing.rect(x, bottom - height, width, height, colour, tip=tip)
    drawing.line(left, bottom, right, bottom)
    if after:
        gap = left + (spikes + after / 2) * slot
        drawing.line(gap, top, gap, bottom, INK, stroke_dasharray="2 3")
    _marks(drawing, [(place(position), words) for position, words in marks], left, bottom + 17, missing)
    return drawing.svg()


def _share_lines(drawing: Drawing, scale: ShareScale, area: tuple[float, float, float, float]) -> None:
    left, right, top, bottom = area
    for value in scale.ticks():
        y = bottom - scale.place(value) * (bottom - top)
        drawing.line(left, y, right, y, GRID)
        drawing.text(left - 4, y + 4, f"{100 * value:.3g}%", "end")
    if scale.logarithmic:
        drawing.text(2, 10, "log scale")


def _marks(
    drawing: Drawing, marks: Sequence[tuple[float, str]], left: float, y: float, missing: bool
) -> None:
    end = 0.0
    for at, words in marks:
        half = 6.8 * len(words) / 2
        x = min(max(at, left - 20 + half), WIDTH - half - (56 if missing else 0))
        # a mark that would run into the one before it is left out
        if x - half >= end:
            drawing.text(x, y, words, "middle")
            end = x + half + 8
    if missing:
        drawing.text(WIDTH - 2, y, "missing", "end")


def horizontal_bars(title: str, labels: Sequence[str], series: Series) -> Markup:
    """Draw shares of categories, one row for each."""
    left, right, row = 126.0, WIDTH - 20.0, 9.0 * len(series) + 6
    bottom = 4 + row * len(labels)
    drawing = Drawing(WIDTH, bottom + 22, title)
    scale = ShareScale.of(series)
    for value in scale.ticks():
        x = left + scale.place(value) * (right - left)
        drawing.line(x, 2, x, bottom, GRID)
        drawing.text(x, bottom + 15, f"{100 * value:.3g}%", "middle")
    if scale.logarithmic:
        drawing.text(2, bottom + 15, "log scale")
    for i, (label, short) in enumerate(zip(labels, shorten_all(labels, left - 8), strict=True)):
        y = 4 + i * row
        drawing.text(left - 5, y + row / 2 + 4, short, "end")
        for rank, (name, shares, colour) in enumerate(series):
            width = scale.place(shares[i]) * (right - left)
            tip = f"{name}, {label}: {100 * shares[i]:.2f}%"
            drawing.rect(left, y + 1 + 9 * rank, width, 8, colour, tip=tip)
    drawing.line(left, 2, left, bottom)
    return drawing.svg()
