"""Draw who imports whom between the packages of a package.

    python docs/draw_imports.py sdv_plausible docs/images/layers.svg

A box is a room (a folder or a module at the top of the package) with its lines of code; an arrow points from
the importer to the imported, thicker for more imports. Everything a room imports is below it; an arrow that
has to point upwards is red.
"""

from __future__ import annotations

import argparse
import html
import math
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import grimp

WIDTH, HEIGHT, GAP, FLOOR, MARGIN = 150, 46, 26, 118, 24
COLOURS = (
    "#4477aa",
    "#228833",
    "#aa3377",
    "#997700",
    "#117788",
    "#994455",
    "#555555",
)  # told apart by colour-blind eyes, too

Edge = tuple[str, str]


@dataclass
class Drawing:
    """Rooms on floors: `order[i]` lists floor i from left to right, points of long arrows included."""

    imports: Counter[Edge]
    floors: dict[str, int]
    order: list[list[str]] = field(default_factory=list)
    paths: dict[Edge, list[str]] = field(default_factory=dict)
    places: dict[str, float] = field(default_factory=dict)  # left to right, 0 in the middle

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the picture."""
        half = MARGIN + WIDTH / 2 + max(abs(place) for place in self.places.values())
        return 2 * half, 2 * MARGIN + FLOOR * (len(self.order) - 1) + HEIGHT

    def centre(self, name: str, floor: int) -> tuple[float, float]:
        """Where the middle of a box, or the point of a long arrow, is."""
        width, height = self.size
        return width / 2 + self.places[name], height - MARGIN - HEIGHT / 2 - FLOOR * floor


def read_imports(package: Path) -> tuple[Counter[Edge], dict[str, int]]:
    """Number of imports between every two rooms, and the lines of every room that are not blank."""
    sys.path.insert(0, str(package.resolve().parent))
    graph = grimp.build_graph(package.name, cache_dir=None)
    imports: Counter[Edge] = Counter()
    for module in graph.modules - {package.name, f"{package.name}.__main__"}:
        for imported in graph.find_modules_directly_imported_by(module) - {package.name}:
            ends = module.split(".")[1], imported.split(".")[1]
            if ends[0] != ends[1]:
                imports[ends] += len(graph.get_import_details(importer=module, imported=imported))
    lines: Counter[str] = Counter()
    for path in package.rglob("*.py"):
        room = path.relative_to(package).parts[0].removesuffix(".py")
        if room not in ("__init__", "__main__"):
            lines[room] += sum(bool(line.strip()) for line in path.read_text().splitlines())
    return imports, dict(lines)


def stack(rooms: list[str], imports: Counter[Edge]) -> dict[str, int]:
    """Floor of every room: as low as what it imports allows; in a circle one import is ignored."""
    below = {room: sorted(b for a, b in imports if a == room) for room in rooms}
    floors: dict[str, int] = {}

    def floor(room: str, visiting: tuple[str, ...] = ()) -> int:
        if room not in floors:
            others = [
                floor(other, (*visiting, room)) for other in below[room] if other not in (*visiting, room)
            ]
            floors[room] = 1 + max(others, default=-1)
        return floors[room]

    for room in sorted(rooms):
        floor(room)
    return floors


def lay_out(drawing: Drawing) -> None:
    """Give long arrows a way between the boxes, order floors so that arrows cross little, place all."""
    order: list[list[str]] = [[] for _ in range(1 + max(drawing.floors.values()))]
    for room, floor in sorted(drawing.floors.items()):
        order[floor].append(room)
    for edge in sorted(drawing.imports):
        start, end = drawing.floors[edge[0]], drawing.floors[edge[1]]
        step = -1 if start > end else 1
        points = [f"{edge[0]}>{edge[1]}@{floor}" for floor in range(start + step, end, step)]
        for point, floor in zip(points, range(start + step, end, step), strict=True):
            order[floor].append(point)
        drawing.paths[edge] = [edge[0], *points, edge[1]]
    beside: dict[str, list[str]] = {name: [] for floor in order for name in floor}
    for path in drawing.paths.values():
        for one, other in zip(path, path[1:], strict=False):
            beside[one].append(other)
            beside[other].append(one)
    drawing.order = order
    for sweep in range(24):
        _place(drawing)
        upwards = sweep % 2 == 0
        for number in range(len(order)) if upwards else reversed(range(len(order))):
            floors = set(
                order[number - 1]
                if upwards and number
                else order[number + 1]
                if number + 1 < len(order)
                else ()
            )
            centre = {
                name: _mean(
                    [drawing.places[other] for other in beside[name] if other in floors], drawing.places[name]
                )
                for name in order[number]
            }
            order[number].sort(key=centre.__getitem__)
            _place(drawing)


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _place(drawing: Drawing) -> None:
    """Centre every floor; a point of an arrow takes less room than a box."""
    for floor in drawing.order:
        widths = [GAP if "@" in name else WIDTH + GAP for name in floor]
        left = -sum(widths) / 2
        for name, width in zip(floor, widths, strict=True):
            drawing.places[name] = left + width / 2
            left += width


def _curve(points: list[tuple[float, float]]) -> str:
    """Smooth path through points, upright at each."""
    steps = [f"M{points[0][0]:.0f},{points[0][1]:.0f}"]
    for (x0, y0), (x1, y1) in zip(points, points[1:], strict=False):
        middle = (y0 + y1) / 2
        steps.append(f"C{x0:.0f},{middle:.0f} {x1:.0f},{middle:.0f} {x1:.0f},{y1:.0f}")
    return " ".join(steps)


def _ends(drawing: Drawing, edge: Edge) -> tuple[float, float]:
    """How far beside the middle of its boxes an arrow leaves and arrives, so that arrows fan out."""
    leaving = [other for other in drawing.paths if other[0] == edge[0]]
    arriving = [other for other in drawing.paths if other[1] == edge[1]]
    leaving.sort(key=lambda other: drawing.places[drawing.paths[other][1]])
    arriving.sort(key=lambda other: drawing.places[drawing.paths[other][-2]])
    shares = ((fan.index(edge) + 1) / (len(fan) + 1) for fan in (leaving, arriving))
    leave, arrive = ((share - 0.5) * WIDTH for share in shares)
    return leave, arrive


def _arrow(drawing: Drawing, edge: Edge, colour: str) -> str:
    start, end = drawing.floors[edge[0]], drawing.floors[edge[1]]
    down = 1 if start > end else -1
    leave, arrive = _ends(drawing, edge)
    points = [drawing.centre(name, start - down * number) for number, name in enumerate(drawing.paths[edge])]
    (x0, y0), (x1, y1) = points[0], points[-1]
    points[0] = x0 + leave, y0 + down * HEIGHT / 2
    points[-1] = x, y = x1 + arrive, y1 - down * (HEIGHT / 2 + 7)
    stroke = 1.2 + 0.8 * math.log2(drawing.imports[edge])
    colour = colour if down == 1 else "#cc0000"
    return (
        f'<path d="{_curve(points)}" fill="none" stroke="{colour}" stroke-width="{stroke:.1f}" '
        'stroke-opacity="0.75"/>'
        f'<path d="M{x - 5:.0f},{y - down:.0f} l10,0 l-5,{8 * down} z" fill="{colour}"/>'
    )


def _box(drawing: Drawing, room: str, lines: int, colour: str) -> str:
    x, y = drawing.centre(room, drawing.floors[room])
    return (
        f'<rect x="{x - WIDTH / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="5" '
        f'fill="white" stroke="{colour}" stroke-width="2"/>'
        f'<text x="{x:.0f}" y="{y - 3:.0f}" font-weight="bold">{html.escape(room)}</text>'
        f'<text x="{x:.0f}" y="{y + 14:.0f}" font-size="12">{lines:,} lines</text>'
    )


def to_svg(drawing: Drawing, lines: dict[str, int]) -> str:
    """Return the picture."""
    upwards = sorted(drawing.floors, key=drawing.floors.__getitem__)
    colours = {room: COLOURS[number % len(COLOURS)] for number, room in enumerate(upwards)}
    arrows = [_arrow(drawing, edge, colours[edge[0]]) for edge in sorted(drawing.paths)]
    boxes = [_box(drawing, room, lines[room], colours[room]) for room in sorted(drawing.floors)]
    width, height = drawing.size
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" height="{height:.0f}" font-family="sans-serif" '
            'font-size="14" text-anchor="middle">',
            '<rect width="100%" height="100%" fill="white"/>',
            *arrows,
            *boxes,
            "</svg>\n",
        ]
    )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("package", type=Path, help="folder of the package")
    parser.add_argument("picture", type=Path, help="SVG file to write")
    options = parser.parse_args()
    imports, lines = read_imports(options.package)
    drawing = Drawing(imports, stack(list(lines), imports))
    lay_out(drawing)
    options.picture.write_text(to_svg(drawing, lines))
    print(f"{options.picture}: {len(lines)} rooms, {len(imports)} arrows, {len(drawing.order)} floors")


if __name__ == "__main__":
    main()
