"""Charts of the HTML report as inline SVG: bars, boxes, intervals and lines.

If one bar holds most rows, the axis of shares is logarithmic and labelled as such. On a linear axis the other
bars would be about a pixel high and their differences invisible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np
from markupsafe import Markup

from sdv_plausible.evaluation.network_layout import NODE_WIDTH, NetworkLayout, Structure, layers
from sdv_plausible.evaluation.table_pair import Floats
from sdv_plausible.utils.text_output import escape_controls

# --- Elements of inline SVG charts, without scripts, fonts or network requests --------------------
# A chart is ``WIDTH`` units wide and shown at that many pixels or the screen width, whichever is less, so
# that its text stays readable on phones. Colours are from Okabe and Ito's colour-blind safe palette; series
# also differ in position, dash or marker.


WIDTH = 340
REAL, SYNTHETIC, REFERENCE, OTHER = "#0072B2", "#E69F00", "#7A7A7A", "#009E73"
SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7A7A7A")
INK, GRID = "#333333", "#DDDDDD"
CHARACTER = 6.1


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A chart with its caption, and its numbers as a table for accessibility."""

    caption: str
    picture: Markup
    head: tuple[str, ...] = ()  # column names of the table; no table if empty
    # labels of bars or dots, and their shares in [0, 1]
    rows: tuple[tuple[str, tuple[float, ...]], ...] = ()


class SvgDrawing:
    """One SVG chart, sizes in pixels, built as an element tree that escapes all text."""

    # Other SVG attributes are passed as keyword arguments, with ``_`` for ``-``.
    def __init__(self, width: float, height: float, title: str) -> None:
        natural = {"style": f"--natural:{width:.0f}px"} if width > WIDTH else {}  # narrow charts need none
        self._root = Element(
            "svg",
            {
                **natural,
                "viewBox": f"0 0 {width:.0f} {height:.0f}",
                "width": f"{width:.0f}",
                "height": f"{height:.0f}",
                "role": "img",
                "aria-label": escape_controls(title),
            },
        )

    def _add(
        self, tag: str, places: Mapping[str, float], words: str = "", tip: str = "", /, **attributes: object
    ) -> None:
        written = {name: f"{value:.1f}" for name, value in places.items()}
        written.update((name.replace("_", "-"), str(value)) for name, value in attributes.items())
        element = SubElement(self._root, tag, written)
        element.text = escape_controls(words)
        if tip:  # shown as a tooltip
            SubElement(element, "title").text = escape_controls(tip)

    def rect(
        self, x: float, y: float, w: float, h: float, fill: str, *, tip: str = "", **more: object
    ) -> None:
        """Add a rectangle."""
        self._add(
            "rect", {"x": x, "y": y, "width": max(w, 0), "height": max(h, 0)}, "", tip, fill=fill, **more
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str = INK, **more: object) -> None:
        """Add a line."""
        self._add("line", {"x1": x1, "y1": y1, "x2": x2, "y2": y2}, stroke=colour, **more)

    def dot(self, x: float, y: float, radius: float, fill: str, *, tip: str = "") -> None:
        """Add a dot."""
        self._add("circle", {"cx": x, "cy": y}, "", tip, r=radius, fill=fill)

    def text(self, x: float, y: float, words: str, anchor: str = "start", **more: object) -> None:
        """Add text with its baseline at y."""
        self._add("text", {"x": x, "y": y}, words, text_anchor=anchor, **more)

    def path(self, d: str, colour: str, **more: object) -> None:
        """Add an unfilled path."""
        self._add("path", {}, d=d, fill="none", stroke=colour, **more)

    def arrowhead(self, name: str, colour: str) -> None:
        """Define an arrowhead; paths refer to it with ``marker_end="url(#name)"``."""
        box = {
            "viewBox": "0 0 8 8",
            "refX": "7",
            "refY": "4",
            "markerWidth": "7",
            "markerHeight": "7",
            "orient": "auto",
        }
        marker = SubElement(SubElement(self._root, "defs"), "marker", {"id": name, **box})
        SubElement(marker, "path", {"d": "M0 0L8 4L0 8z", "fill": colour})

    def svg(self) -> Markup:
        """Return the chart as markup: the only markup of the page that is not from a template."""
        return Markup(tostring(self._root, encoding="unicode", short_empty_elements=False))


def number(value: float) -> str:
    """Format a number for an axis: 0.25, 1500, 20k, 3M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            scaled = value / (1e3 if unit == "k" else size)
            return f"{scaled:.3g}{unit}" if abs(scaled) < 1e3 else f"{value:.1e}"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def text_width(words: str) -> float:
    """Estimate the width of ``words`` in pixels; capitals are wider."""
    return CHARACTER * (len(words) + 0.3 * sum(letter.isupper() for letter in words))


def shorten(words: str, room: float) -> str:
    """Truncate ``words`` to ``room`` pixels."""
    if text_width(words) <= room:
        return words
    # Letters are wider in some fonts, and the ellipsis is always wide.
    length = max(3, int(room / (1.1 * text_width(words) / len(words))) - 1)
    return words[:length] + "\u2026"


def shorten_all(labels: Sequence[str], room: float) -> list[str]:
    """Truncate labels to ``room`` pixels while keeping distinct labels distinct."""
    short = {label: shorten(label, room) for label in labels}
    groups = [list(short)]
    while groups:
        group = groups.pop()
        for text in {short[label] for label in group}:
            same = [label for label in group if short[label] == text]
            if len(same) == 1:
                continue
            shared = sum(1 for _ in takewhile(lambda c: len(set(c)) == 1, zip(*same, strict=False)))
            head = len(text) // 3
            tail = len(text) - head - 2  # one less: the letters at the end may be wider
            # show the whole end if it fits
            start = min(shared, max(head, *(len(label) - tail for label in same)))
            for label in same:
                short[label] = label[:head] + "\u2026" + label[start : start + tail]
            groups.append(same)  # among three, two may differ later
    return [short[label] for label in labels]


def ticks(low: float, high: float, count: int = 4) -> list[float]:
    """Return about ``count`` round numbers between ``low`` and ``high``."""
    raw = (high - low) / count
    if not raw > 0 or not math.isfinite(raw):
        return [low]
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


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


# Sequential: white to dark blue, dark enough at the end for white text. Diverging: dark orange over white to
# dark blue.
_SCALE = ((247, 251, 255), (198, 219, 239), (107, 174, 214), (33, 113, 181), (8, 48, 107))
_NEGATIVE, _POSITIVE = (
    ((127, 39, 4), (217, 72, 1), (253, 174, 107)),
    ((158, 202, 225), (33, 113, 181), (8, 48, 107)),
)
_SIGNED = (*_NEGATIVE, (255, 255, 255), *_POSITIVE)
_MIN_NUMBERED_CELL = 24.0  # smallest cell width that fits a number
_MAX_NUMBERED_COLUMNS = 16
_MIN_SPAN = 0.05
_EQUAL_CONTRAST = 0.179  # luminance at which black and white text have equal contrast


def shade(value: float, signed: bool = False) -> tuple[str, bool]:
    """Return the colour of a value in [0, 1] (signed: [-1, 1]), and whether its text should be white."""
    anchors = _SIGNED if signed else _SCALE
    share = (value + 1) / 2 if signed else value
    position = min(max(share, 0.0), 1.0) * (len(anchors) - 1)
    i = min(int(position), len(anchors) - 2)
    mixed = [round(a + (b - a) * (position - i)) for a, b in zip(anchors[i], anchors[i + 1], strict=True)]
    return "#{:02X}{:02X}{:02X}".format(*mixed), _luminance(mixed) < _EQUAL_CONTRAST


def _luminance(colour: Sequence[int]) -> float:
    """Return the relative luminance (WCAG 2)."""
    parts = [part / 255 for part in colour]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def heatmap(
    title: str, labels: Sequence[str], matrix: Floats, scale_name: str, *, signed: bool = False
) -> Markup:
    """Draw a square matrix with names, numbers where they fit, and a legend below."""
    # Values lie in [0, 1]. ``signed`` values are differences, and their scale ends at the largest.
    m = len(labels)
    span = max(_MIN_SPAN, float(np.abs(matrix).max(initial=0.0))) if signed else 1.0
    label_width = min(110.0, 8 + max(text_width(label) for label in labels))
    min_cell = _MIN_NUMBERED_CELL + 2 if m <= _MAX_NUMBERED_COLUMNS else 15.0
    cell = max(min_cell, min(34.0, (WIDTH - label_width - 4) / m))
    drawing = SvgDrawing(max(WIDTH, label_width + m * cell + 4), label_width + m * cell + 48, title)
    for i, (label, short) in enumerate(zip(labels, shorten_all(labels, label_width - 4), strict=True)):
        centre = label_width + (i + 0.5) * cell + 4
        drawing.text(label_width - 4, centre, short, "end")
        drawing.text(
            centre, label_width - 4, short, transform=f"rotate(-90 {centre:.1f} {label_width - 4:.1f})"
        )
        for j in range(m):
            tip = f"{label}, {labels[j]}: {matrix[i, j]:+.3f}" if signed else ""
            tip = tip or f"{label}, {labels[j]}: {matrix[i, j]:.3f}"
            colour = shade(float(matrix[i, j]) / span, signed)
            _cell(
                drawing,
                (label_width + j * cell, label_width + i * cell),
                cell,
                float(matrix[i, j]),
                colour,
                tip,
            )
    _scale(drawing, label_width, label_width + m * cell + 10, scale_name, span if signed else 0.0)
    return drawing.svg()


def _cell(
    drawing: SvgDrawing,
    corner: tuple[float, float],
    size: float,
    value: float,
    colour: tuple[str, bool],
    tip: str,
) -> None:
    fill, white = colour
    drawing.rect(*corner, size - 1, size - 1, fill, tip=tip)
    if size >= _MIN_NUMBERED_CELL and 0.005 <= abs(value) < 0.995:
        ink = {"fill": "#FFFFFF" if white else "#000000", "font_size": 9, "pointer_events": "none"}
        words = f"{abs(value):.2f}"[1:]
        words = f"\u2212{words}" if value < 0 else words
        drawing.text(corner[0] + size / 2 - 0.5, corner[1] + size / 2 + 3, words, "middle", **ink)


def _scale(drawing: SvgDrawing, left: float, top: float, name: str, span: float) -> None:
    for step in range(100):
        value = step / 99
        fill = shade(2 * value - 1, signed=True)[0] if span else shade(value)[0]
        drawing.rect(left + 1.5 * step, top, 1.6, 9, fill)
    ends = (f"\u2212{number(span)}", f"+{number(span)}") if span else ("0", "1")
    for x, line, words, anchor in ((0, 1, ends[0], "start"), (150, 1, ends[1], "end"), (0, 2, name, "start")):
        drawing.text(left + x, top + 7 + 13 * line, words, anchor)


_NODE_HEIGHT, _LAYER, _TOP = 24.0, 64.0, 6.0
_EDGE = "#5A5A5A"
_ROW, _INDENT, _NUMBER = 28.0, 16.0, 30.0


def network_graph(structure: Structure) -> Markup:
    """Draw ``{child: parents}``; arrows point from parent to child."""
    layout = NetworkLayout(structure, WIDTH)
    deepest = max(layout.depth.values(), default=0)
    drawing = SvgDrawing(layout.width, deepest * _LAYER + _NODE_HEIGHT + 2 * _TOP, "network")
    drawing.arrowhead("arrow", _EDGE)
    for route in layout.routes:
        drawing.path(_curve(layout, route), _EDGE, stroke_width=1.2, marker_end="url(#arrow)")
    shorts = dict(zip(layout.depth, shorten_all(list(layout.depth), NODE_WIDTH - 6), strict=True))
    for node, level in layout.depth.items():
        x, y = layout.x[node], _TOP + level * _LAYER
        box = (x - NODE_WIDTH / 2, y, NODE_WIDTH, _NODE_HEIGHT)
        drawing.rect(*box, "#FFF7E6", tip=layout.tips[node], stroke=SYNTHETIC, rx=5)
        drawing.text(x, y + 16, shorts[node], "middle", pointer_events="none")
    return drawing.svg()


def _curve(layout: NetworkLayout, route: Sequence[str]) -> str:
    level = layout.depth[route[0]]
    x, y = layout.x[route[0]], _TOP + level * _LAYER + _NODE_HEIGHT
    steps = [f"M{x:.1f} {y:.1f}"]
    bend = (_LAYER - _NODE_HEIGHT) / 2
    for item in route[1:]:
        level += 1
        next_x, top = layout.x[item], _TOP + level * _LAYER
        steps.append(f"C{x:.1f} {y + bend:.1f} {next_x:.1f} {top - bend:.1f} {next_x:.1f} {top:.1f}")
        if item != route[-1]:  # straight through the lane, past this layer's nodes
            steps.append(f"L{next_x:.1f} {top + _NODE_HEIGHT:.1f}")
        x, y = next_x, top + _NODE_HEIGHT
    return " ".join(steps)


def network_tree(structure: Structure, strengths: Mapping[frozenset[str], float]) -> Markup:
    """Draw each column below and right of its strongest parent, one indent per level."""
    # Line width and the number at the end show the strength of the link (``strengths`` of pairs, in [0, 1]).
    # Without strengths, the first parent counts. The chart fits a phone's width for any number of columns.
    order = [node for row in layers(structure) for node in row]
    strongest = {
        child: max(parents, key=lambda parent: strengths.get(frozenset((parent, child)), -1.0))
        for child, parents in structure.items()
        if parents
    }
    rows = _walk(order, strongest)
    indent = min(_INDENT, (WIDTH - NODE_WIDTH - _NUMBER - 40) / max(1, *(depth for _, depth in rows)))
    drawing = SvgDrawing(WIDTH, len(rows) * _ROW + 2 * _TOP, "network, strongest links")
    positions = {node: (4 + depth * indent, _TOP + i * _ROW) for i, (node, depth) in enumerate(rows)}
    for child, parent in strongest.items():
        _link(drawing, positions[parent], positions[child], strengths.get(frozenset((parent, child))))
    available = {
        node: WIDTH - 4 - x - (_NUMBER if node in strongest else 0) for node, (x, _) in positions.items()
    }
    width = min(available.values())
    shorts = dict(zip(positions, shorten_all(list(positions), width - 12), strict=True))
    for node, (x, y) in positions.items():
        parents = ", ".join(structure.get(node, ())) or "none"
        box = (x, y, min(width, text_width(shorts[node]) + 14), _NODE_HEIGHT - 2)
        drawing.rect(*box, "#FFF7E6", tip=f"{node}; parents: {parents}", stroke=SYNTHETIC, rx=5)
        drawing.text(x + 6, y + 15, shorts[node], pointer_events="none")
        strength = strengths.get(frozenset((strongest.get(node, ""), node)))
        if strength is not None:
            drawing.text(x + box[2] + 4, y + 15, f"{strength:.2f}", fill="#555555")
    return drawing.svg()


def _walk(order: Sequence[str], parent_of: Mapping[str, str]) -> list[tuple[str, int]]:
    """Return each node with its depth in depth-first order, parents before children."""
    children: dict[str | None, list[str]] = {}
    for node in order:
        children.setdefault(parent_of.get(node), []).append(node)
    visited = []
    stack = [(node, 0) for node in reversed(children.get(None, []))]
    while stack:
        node, depth = stack.pop()
        visited.append((node, depth))
        stack.extend((child, depth + 1) for child in reversed(children.get(node, [])))
    return visited


def _link(
    drawing: SvgDrawing, parent: tuple[float, float], child: tuple[float, float], strength: float | None
) -> None:
    x, y, end = parent[0] + 5, child[1] + _NODE_HEIGHT / 2 - 1, child[0]
    width = 1.0 + 5.0 * (strength or 0.0)
    corner = f"M{x:.1f} {parent[1] + _NODE_HEIGHT - 2:.1f} L{x:.1f} {y:.1f}"
    drawing.path(f"{corner} L{end:.1f} {y:.1f}", _EDGE, stroke_width=f"{width:.1f}")
