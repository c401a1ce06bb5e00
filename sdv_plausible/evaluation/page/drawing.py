"""The elements of inline SVG pictures: no script, no font, no network.

A chart is drawn ``WIDTH`` units wide and shown at that many pixels or the width of the screen, whichever is less, so
that its text is readable on a telephone. Colours are from Okabe and Ito's palette, which people with any common colour
blindness can tell apart; series also differ in place, dash or marker.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import takewhile

WIDTH = 340
REAL, SYNTHETIC, REFERENCE, OTHER = "#0072B2", "#E69F00", "#7A7A7A", "#009E73"
SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7A7A7A")
INK, GRID = "#333333", "#DDDDDD"
CHARACTER = 6.1


@dataclass
class Drawing:
    """Elements of one SVG picture."""

    width: float
    height: float
    title: str
    parts: list[str] = field(default_factory=list)

    def rect(self, x: float, y: float, w: float, h: float, fill: str, *, tip: str = "", extra: str = "") -> None:
        """Add a rectangle; ``tip`` shows when the mouse rests on it."""
        inner = f"<title>{escape(tip)}</title>" if tip else ""
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(w, 0):.1f}" height="{max(h, 0):.1f}" fill="{fill}"{extra}>'
            f"{inner}</rect>"
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str = INK, *, extra: str = "") -> None:
        """Add a line."""
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{extra}></line>')

    def dot(self, x: float, y: float, radius: float, fill: str, *, tip: str = "") -> None:
        """Add a dot."""
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{fill}"><title>{escape(tip)}</title></circle>')

    def text(self, x: float, y: float, words: str, anchor: str = "start", *, extra: str = "") -> None:
        """Add text whose baseline is at y."""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(words)}</text>')

    def path(self, d: str, colour: str, *, extra: str = "") -> None:
        """Add an unfilled path."""
        self.parts.append(f'<path d="{d}" fill="none" stroke="{colour}"{extra}></path>')

    def svg(self) -> str:
        """Return the picture."""
        size = f'width="{self.width:.0f}" height="{self.height:.0f}" style="--natural:{self.width:.0f}px"'
        label = f'role="img" aria-label="{escape(self.title)}"'
        return f'<svg viewBox="0 0 {self.width:.0f} {self.height:.0f}" {size} {label}>{"".join(self.parts)}</svg>'


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
    """Cut labels to ``room`` pixels so that different ones stay different: of those alike, where they part is shown."""
    short = {label: shorten(label, room) for label in labels}
    crowds = [list(short)]
    while crowds:
        crowd = crowds.pop()
        for cut in {short[label] for label in crowd}:
            alike = [label for label in crowd if short[label] == cut]
            if len(alike) == 1:
                continue
            shared = sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*alike, strict=False)))
            head = len(cut) // 3
            tail = len(cut) - head - 2  # one less: the letters of the end may be wider
            start = min(shared, max(head, *(len(label) - tail for label in alike)))  # all of the end, if there is room
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
