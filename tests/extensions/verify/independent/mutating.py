"""Every node of a document replaced, one at a time, by values of other kinds, or left out."""

import copy
from collections.abc import Iterator
from typing import Any

VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 0.5, 10**30, 1e308, "", "x", "\u202e\x1b[31m", [], {}, [[]], [None], {"x": 1},
    {"dtype": "int16", "shape": [1], "data": "!"}, {"dtype": "float64", "shape": [0], "values": []},
)  # fmt: skip
Path = tuple[Any, ...]


def nodes(value: Any, path: Path = ()) -> Iterator[Path]:
    """Paths of all nodes; of a long list the first two and the last item."""
    if path:
        yield path
    if isinstance(value, dict):
        for name in value:
            yield from nodes(value[name], (*path, name))
    elif isinstance(value, list):
        for i in sorted({0, 1, len(value) - 1} & {*range(len(value))}):
            yield from nodes(value[i], (*path, i))


def mutations(document: Any) -> Iterator[tuple[Path, Any]]:
    """Where something was changed, and the document: each value in the place of each node, and none."""
    for path in nodes(document):
        for value in (*VALUES, mutations):  # the last: the node is left out
            yield path, (document, path, value)


def made(document: Any, path: Path, value: Any) -> Any:
    """A copy of the document with a change."""
    document = copy.copy(document)
    place = document
    for step in path[:-1]:
        place[step] = copy.copy(place[step])
        place = place[step]
    if value is mutations:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return document
