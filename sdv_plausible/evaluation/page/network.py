"""A network as an inline SVG picture."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from sdv_plausible.evaluation.network_layout import NODE_WIDTH, NetworkLayout, Structure
from sdv_plausible.evaluation.page.drawing import SYNTHETIC, WIDTH, Drawing, shorten

_NODE_HEIGHT, _LAYER, _TOP = 24.0, 64.0, 6.0
_EDGE = "#5A5A5A"


def network_graph(structure: Structure) -> Markup:
    """Draw ``{child: parents}``; an arrow points from parent to child.

    Raises
    ------
    ValueError
        If the graph has a cycle.
    """
    layout = NetworkLayout(structure, WIDTH)
    deepest = max(layout.depth.values(), default=0)
    drawing = Drawing(layout.width, deepest * _LAYER + _NODE_HEIGHT + 2 * _TOP, "network")
    drawing.arrowhead("arrow", _EDGE)
    for route in layout.routes:
        drawing.path(_curve(layout, route), _EDGE, stroke_width=1.2, marker_end="url(#arrow)")
    for node, level in layout.depth.items():
        x, y = layout.x[node], _TOP + level * _LAYER
        box = (x - NODE_WIDTH / 2, y, NODE_WIDTH, _NODE_HEIGHT)
        drawing.rect(*box, "#FFF7E6", tip=layout.tips[node], stroke=SYNTHETIC, rx=5)
        drawing.text(x, y + 16, shorten(node, NODE_WIDTH - 4), "middle", pointer_events="none")
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
        if item != route[-1]:  # straight through the lane, past the nodes of this layer
            steps.append(f"L{next_x:.1f} {top + _NODE_HEIGHT:.1f}")
        x, y = next_x, top + _NODE_HEIGHT
    return " ".join(steps)
