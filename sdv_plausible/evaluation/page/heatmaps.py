"""Heat maps of the report: matrices of pairs of columns, and differences of two matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from sdv_plausible.evaluation.page.svg import WIDTH, SvgDrawing, number, shorten_all, text_width
from sdv_plausible.evaluation.table_pair import Floats

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
