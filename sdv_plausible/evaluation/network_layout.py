"""Layered layout of a directed acyclic graph: coordinates of nodes, and lanes for long edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

NODE_WIDTH, GAP = 100.0, 14.0
_LANE = 12.0
_SWEEPS = 6

Structure = Mapping[str, Sequence[str]]


def as_structure(structure: Mapping[str, str | Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return ``{child: parents}``; a single parent may be given as a string."""
    return {
        child: (parents,) if isinstance(parents, str) else tuple(parents)
        for child, parents in structure.items()
    }


def layers(structure: Structure) -> list[list[str]]:
    """Assign each node of ``{child: parents}`` to the layer below its deepest parent."""
    parents = {**{parent: () for some_parents in structure.values() for parent in some_parents}, **structure}
    order = {node: i for i, node in enumerate(parents)}
    sorter = TopologicalSorter(parents)
    try:
        sorter.prepare()
    except CycleError as error:
        raise ValueError(
            f"structure has a cycle among {sorted(set(error.args[1]))}: it must be acyclic"
        ) from error
    rows = []
    while sorter.is_active():
        ready = sorter.get_ready()
        sorter.done(*ready)
        rows.append(sorted(ready, key=order.__getitem__))
    return rows


class NetworkLayout:
    """Node coordinates, and the lanes on which long edges pass intermediate layers."""

    def __init__(self, structure: Structure, least_width: float = 0.0) -> None:
        self._rows = layers(structure)
        self.depth = {node: level for level, row in enumerate(self._rows) for node in row}
        self.tips = {n: f"{n}; parents: {', '.join(structure.get(n, ())) or 'none'}" for n in self.depth}
        self.routes: list[list[str]] = []
        for child, parents in structure.items():
            for parent in parents:
                lanes = [f"{parent}\0{child}\0{n}" for n in range(self.depth[parent] + 1, self.depth[child])]
                for level, lane in enumerate(lanes, self.depth[parent] + 1):
                    self._rows[level].append(lane)
                self.routes.append([parent, *lanes, child])
        self._order()
        self.width = max([least_width, *(self._extent(row) for row in self._rows)])
        self.x = self._x_coordinates()

    def _size(self, item: str) -> float:
        return NODE_WIDTH + GAP if item in self.depth else _LANE

    def _extent(self, row: Sequence[str]) -> float:
        return sum(self._size(item) for item in row) + GAP

    def _order(self) -> None:
        """Reduce crossings: sort each layer by the mean rank of its neighbours, alternating down and up."""
        neighbours: dict[str, list[tuple[int, str]]] = {item: [] for row in self._rows for item in row}
        for route in self.routes:
            for above, below in zip(route[:-1], route[1:], strict=True):
                neighbours[below].append((-1, above))
                neighbours[above].append((1, below))
        rank = {item: i / len(row) for row in self._rows for i, item in enumerate(row)}
        for sweep in range(_SWEEPS):
            side = -1 if sweep % 2 == 0 else 1
            for row in self._rows if side < 0 else reversed(self._rows):
                means = {}
                for item in row:
                    neighbour_ranks = [
                        rank[other] for direction, other in neighbours[item] if direction == side
                    ]
                    means[item] = (
                        sum(neighbour_ranks) / len(neighbour_ranks) if neighbour_ranks else rank[item]
                    )
                row.sort(key=means.__getitem__)
                rank.update({item: (i + 0.5) / len(row) for i, item in enumerate(row)})

    def _x_coordinates(self) -> dict[str, float]:
        coordinates = {}
        for row in self._rows:
            spacing = (self.width - self._extent(row)) / (len(row) + 1)
            x = GAP / 2 + spacing
            for item in row:
                coordinates[item] = x + self._size(item) / 2
                x += self._size(item) + spacing
        return coordinates
