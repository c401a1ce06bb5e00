"""Elements of inline SVG charts, without scripts, fonts or network requests.

A chart is ``WIDTH`` units wide and shown at that many pixels or the screen width, whichever is less, so that
its text stays readable on phones. Colours are from Okabe and Ito's colour-blind safe palette; series also
differ in position, dash or marker.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from xml.etree.ElementTree import Element, SubElement, tostring

from markupsafe import Markup

from sdv_plausible.utils.text_output import escape_controls

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
