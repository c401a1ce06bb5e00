"""A directed acyclic graph as inline SVG, laid out in layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sdv_plausible.evaluation.drawing import SYNTHETIC, WIDTH, Drawing, shorten

_NODE_WIDTH, _NODE_HEIGHT, _GAP, _LAYER = 96.0, 24.0, 14.0, 64.0
_EDGE = "#5A5A5A"


def layers(structure: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Put each node one layer below its deepest parent; order a layer by the mean place of its nodes' parents.

    Parameters
    ----------
    structure : mapping of str to sequence of str
        ``{child: parents}``; parents that are no keys are roots.

    Raises
    ------
    ValueError
        If the graph has a cycle.
    """
    parents = {**{above: () for listed in structure.values() for above in listed}, **structure}
    depth: dict[str, int] = {}
    while len(depth) < len(parents):
        ready = [node for node, above in parents.items() if node not in depth and all(p in depth for p in above)]
        if not ready:
            raise ValueError(f"structure has a cycle among {sorted(set(parents) - set(depth))}: it must be acyclic")
        for node in ready:
            depth[node] = 1 + max((depth[p] for p in parents[node]), default=-1)
    rows: list[list[str]] = [[] for _ in range(1 + max(depth.values(), default=-1))]
    for node, level in depth.items():
        rows[level].append(node)
    place: dict[str, float] = {}
    for row in rows:
        row.sort(key=lambda node: sum(place[p] for p in parents[node]) / max(1, len(parents[node])))
        place.update({node: (i + 0.5) / len(row) for i, node in enumerate(row)})
    return rows


def network_graph(structure: Mapping[str, Sequence[str]]) -> str:
    """Draw ``{child: parents}``; an arrow points from parent to child.

    Raises
    ------
    ValueError
        If the graph has a cycle.
    """
    rows = layers(structure)
    width = max(float(WIDTH), max((len(row) for row in rows), default=0) * (_NODE_WIDTH + _GAP) + _GAP)
    drawing = Drawing(width, max(1, len(rows)) * _LAYER - _LAYER + _NODE_HEIGHT + 12, "network of the columns")
    at = {
        node: (width * (i + 0.5) / len(row), 6 + level * _LAYER) for level, row in enumerate(rows) for i, node in enumerate(row)
    }
    drawing.parts.append(
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{_EDGE}"></path></marker></defs>'
    )
    for child, parents in structure.items():
        for parent in parents:
            drawing.path(_curve(at[parent], at[child]), _EDGE, extra=' stroke-width="1.2" marker-end="url(#arrow)"')
    for node, (x, y) in at.items():
        listed = ", ".join(structure.get(node, ())) or "none"
        box = f' stroke="{SYNTHETIC}" rx="5"'
        drawing.rect(x - _NODE_WIDTH / 2, y, _NODE_WIDTH, _NODE_HEIGHT, "#FFF7E6", tip=f"{node}; parents: {listed}", extra=box)
        drawing.text(x, y + 16, shorten(node, _NODE_WIDTH - 6), "middle", extra=' pointer-events="none"')
    return drawing.svg()


def _curve(start: tuple[float, float], end: tuple[float, float]) -> str:
    x1, y1, x2, y2 = start[0], start[1] + _NODE_HEIGHT, end[0], end[1]
    # An edge over several layers swings aside, so that it does not run through the nodes between.
    spread = 0.0 if y2 - y1 < _LAYER else (_NODE_WIDTH * 0.62 if x2 >= x1 else -_NODE_WIDTH * 0.62)
    bend = (y2 - y1) * 0.45
    return f"M{x1:.1f} {y1:.1f} C{x1 + spread:.1f} {y1 + bend:.1f} {x2 + spread:.1f} {y2 - bend:.1f} {x2:.1f} {y2:.1f}"
