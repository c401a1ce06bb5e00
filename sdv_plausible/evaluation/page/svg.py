"""The elements of inline SVG pictures: no script, no font, no network.

A chart is drawn ``WIDTH`` units wide and shown at that many pixels or the width of the screen, whichever is
less, so that its text is readable on a telephone. Colours are from Okabe and Ito's palette, which people with
any common colour blindness can tell apart; series also differ in place, dash or marker.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from xml.etree.ElementTree import Element, SubElement, tostring

from markupsafe import Markup

from sdv_plausible.utils.printable import visible

WIDTH = 340
REAL, SYNTHETIC, REFERENCE, OTHER = "#0072B2", "#E69F00", "#7A7A7A", "#009E73"
SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7A7A7A")
INK, GRID = "#333333", "#DDDDDD"
CHARACTER = 6.1


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A picture, what it is of, and the same in a table for whoever does not see it."""

    caption: str
    picture: Markup
    head: tuple[str, ...] = ()  # names of the table's columns; no table if there are none
    # what the bars or dots are, and their shares in [0, 1]
    rows: tuple[tuple[str, tuple[float, ...]], ...] = ()


class SvgDrawing:
    """One SVG picture, sizes in pixels: a tree, so that every text is escaped when it is written out."""

    # Attributes of SVG without a parameter here are keyword arguments, with ``_`` for ``-``.
    def __init__(self, width: float, height: float, title: str) -> None:
        self._root = Element(
            "svg",
            {
                "viewBox": f"0 0 {width:.0f} {height:.0f}",
                "width": f"{width:.0f}",
                "height": f"{height:.0f}",
                "style": f"--natural:{width:.0f}px",
                "role": "img",
                "aria-label": visible(title),
            },
        )

    def _add(
        self, tag: str, places: Mapping[str, float], words: str = "", tip: str = "", /, **attributes: object
    ) -> None:
        written = {name: f"{value:.1f}" for name, value in places.items()}
        written.update((name.replace("_", "-"), str(value)) for name, value in attributes.items())
        element = SubElement(self._root, tag, written)
        element.text = visible(words)
        if tip:  # shows when the mouse rests on the element
            SubElement(element, "title").text = visible(tip)

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
        """Add text whose baseline is at y."""
        self._add("text", {"x": x, "y": y}, words, text_anchor=anchor, **more)

    def path(self, d: str, colour: str, **more: object) -> None:
        """Add an unfilled path."""
        self._add("path", {}, d=d, fill="none", stroke=colour, **more)

    def arrowhead(self, name: str, colour: str) -> None:
        """Define the head of arrows: ``marker_end="url(#name)"`` of a path asks for it."""
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
        """Return the picture: the only markup of the page that no template has written."""
        return Markup(tostring(self._root, encoding="unicode", short_empty_elements=False))


def number(value: float) -> str:
    """Return a short text for an axis: 0.25, 1500, 20k, 3M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            scaled = value / (1e3 if unit == "k" else size)
            return f"{scaled:.3g}{unit}" if abs(scaled) < 1e3 else f"{value:.1e}"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def text_width(words: str) -> float:
    """About how many pixels ``words`` take: capitals are wider."""
    return CHARACTER * (len(words) + 0.3 * sum(letter.isupper() for letter in words))


def shorten(words: str, room: float) -> str:
    """Cut ``words`` to ``room`` pixels."""
    if text_width(words) <= room:
        return words
    # letters are wider in some fonts, and the ellipsis always is
    kept = max(3, int(room / (1.1 * text_width(words) / len(words))) - 1)
    return words[:kept] + "\u2026"


def shorten_all(labels: Sequence[str], room: float) -> list[str]:
    """Cut labels to ``room`` pixels so that different ones stay different: shown is where they part."""
    short = {label: shorten(label, room) for label in labels}
    crowds = [list(short)]
    while crowds:
        crowd = crowds.pop()
        for cut in {short[label] for label in crowd}:
            alike = [label for label in crowd if short[label] == cut]
            if len(alike) == 1:
                continue
            shared = sum(1 for _ in takewhile(lambda c: len(set(c)) == 1, zip(*alike, strict=False)))
            head = len(cut) // 3
            tail = len(cut) - head - 2  # one less: the letters of the end may be wider
            # all of the end, if there is room
            start = min(shared, max(head, *(len(label) - tail for label in alike)))
            for label in alike:
                short[label] = label[:head] + "\u2026" + label[start : start + tail]
            crowds.append(alike)  # of three, two may part further on
    return [short[label] for label in labels]


def ticks(low: float, high: float, count: int = 4) -> list[float]:
    """Return about ``count`` round numbers from ``low`` to ``high``."""
    raw = (high - low) / count
    if not raw > 0 or not math.isfinite(raw):
        return [low]
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]
