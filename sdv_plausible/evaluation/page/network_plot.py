"""A network as inline SVG: all nodes in layers, or a tree of each node's strongest link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from sdv_plausible.evaluation.network_layout import NODE_WIDTH, NetworkLayout, Structure, layers
from sdv_plausible.evaluation.page.svg import SYNTHETIC, WIDTH, SvgDrawing, shorten_all, text_width

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
