"""A directed acyclic graph as inline SVG, laid out in layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sdv_plausible.evaluation.page.drawing import SYNTHETIC, WIDTH, Drawing, shorten

_NODE_WIDTH, _NODE_HEIGHT, _GAP, _LAYER, _LANE = 100.0, 24.0, 14.0, 64.0, 12.0
_EDGE = "#5A5A5A"
_SWEEPS = 6

Structure = Mapping[str, Sequence[str]]


def as_structure(structure: Mapping[str, str | Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return ``{child: parents}``, where a single parent may be given by itself."""
    return {child: (above,) if isinstance(above, str) else tuple(above) for child, above in structure.items()}


def layers(structure: Structure) -> list[list[str]]:
    """Put each node one layer below its deepest parent.

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
    return rows


class _Layout:
    """Places of nodes and of the lanes on which long edges pass the layers between their ends."""

    def __init__(self, structure: Structure) -> None:
        self.rows = layers(structure)
        self.nodes = {node: level for level, row in enumerate(self.rows) for node in row}
        self.routes: list[list[str]] = []
        for child, above in structure.items():
            for parent in above:
                lanes = [f"{parent}\0{child}\0{n}" for n in range(self.nodes[parent] + 1, self.nodes[child])]
                for level, lane in enumerate(lanes, self.nodes[parent] + 1):
                    self.rows[level].append(lane)
                self.routes.append([parent, *lanes, child])
        self.x: dict[str, float] = {}
        self._order()
        self.width = max(float(WIDTH), *(self._extent(row) for row in self.rows)) if self.rows else float(WIDTH)
        self._place()

    def _size(self, item: str) -> float:
        return _NODE_WIDTH + _GAP if item in self.nodes else _LANE

    def _extent(self, row: Sequence[str]) -> float:
        return sum(self._size(item) for item in row) + _GAP

    def _order(self) -> None:
        """Sort each layer by the mean rank of what it is joined to, downwards and upwards in turn: few crossings."""
        joined: dict[str, list[tuple[int, str]]] = {item: [] for row in self.rows for item in row}
        for route in self.routes:
            for above, below in zip(route[:-1], route[1:], strict=True):
                joined[below].append((-1, above))
                joined[above].append((1, below))
        rank = {item: i / len(row) for row in self.rows for i, item in enumerate(row)}
        for sweep in range(_SWEEPS):
            side = -1 if sweep % 2 == 0 else 1
            for row in self.rows if side < 0 else reversed(self.rows):
                means = {}
                for item in row:
                    near = [rank[other] for way, other in joined[item] if way == side]
                    means[item] = sum(near) / len(near) if near else rank[item]
                row.sort(key=means.__getitem__)
                rank.update({item: (i + 0.5) / len(row) for i, item in enumerate(row)})

    def _place(self) -> None:
        for row in self.rows:
            spare = (self.width - self._extent(row)) / (len(row) + 1)
            x = _GAP / 2 + spare
            for item in row:
                self.x[item] = x + self._size(item) / 2
                x += self._size(item) + spare


def network_graph(structure: Structure) -> str:
    """Draw ``{child: parents}``; an arrow points from parent to child.

    Raises
    ------
    ValueError
        If the graph has a cycle.
    """
    layout = _Layout(structure)
    drawing = Drawing(layout.width, max(1, len(layout.rows)) * _LAYER - _LAYER + _NODE_HEIGHT + 12, "network")
    drawing.parts.append(
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{_EDGE}"></path></marker></defs>'
    )
    for route in layout.routes:
        drawing.path(_curve(layout, route), _EDGE, extra=' stroke-width="1.2" marker-end="url(#arrow)"')
    for node, level in layout.nodes.items():
        x, y = layout.x[node], 6 + level * _LAYER
        listed = ", ".join(structure.get(node, ())) or "none"
        box = f' stroke="{SYNTHETIC}" rx="5"'
        tip = f"{node}; parents: {listed}"
        drawing.rect(x - _NODE_WIDTH / 2, y, _NODE_WIDTH, _NODE_HEIGHT, "#FFF7E6", tip=tip, extra=box)
        drawing.text(x, y + 16, shorten(node, _NODE_WIDTH - 4), "middle", extra=' pointer-events="none"')
    return drawing.svg()


def _curve(layout: _Layout, route: Sequence[str]) -> str:
    level = layout.nodes[route[0]]
    x, y = layout.x[route[0]], 6 + level * _LAYER + _NODE_HEIGHT
    steps = [f"M{x:.1f} {y:.1f}"]
    bend = (_LAYER - _NODE_HEIGHT) / 2
    for item in route[1:]:
        level += 1
        next_x, top = layout.x[item], 6.0 + level * _LAYER
        steps.append(f"C{x:.1f} {y + bend:.1f} {next_x:.1f} {top - bend:.1f} {next_x:.1f} {top:.1f}")
        if item != route[-1]:  # straight through the lane, past the nodes of this layer
            steps.append(f"L{next_x:.1f} {top + _NODE_HEIGHT:.1f}")
        x, y = next_x, top + _NODE_HEIGHT
    return " ".join(steps)
