"""Brute force over neighbours: how far an answer really moves, over all small tables and all rows of one unit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from sdv_plausible.privacy.neighbours import Neighbours

Table = tuple[Any, ...]
RELATIONS = [Neighbours(), Neighbours(rows=2), Neighbours(replace=True), Neighbours(rows=2, replace=True)]


def multisets(universe: Sequence[Hashable], most: int, least: int = 0) -> Iterator[Table]:
    """All tables of ``least`` to ``most`` rows, whatever their order."""
    for size in range(least, most + 1):
        yield from itertools.combinations_with_replacement(universe, size)


def pairs(universe: Sequence[Hashable], most: int, relation: Neighbours) -> Iterator[tuple[Table, Table]]:
    """All neighbours whose common rows are at most ``most``: the definition of :class:`Neighbours`, written out."""
    for common in multisets(universe, most):
        for size in range(1, relation.rows + 1):
            units = list(itertools.combinations_with_replacement(universe, size))
            others = units if relation.replace else [()]
            for unit, other in itertools.product(units, others):
                yield (*common, *unit), (*common, *other)


def largest_move(
    exact: Callable[[Table], Any],
    universe: Sequence[Hashable],
    most: int,
    relation: Neighbours,
    norm: float = 2,
) -> float:
    """Largest distance of the exact answers of two neighbours."""
    answer = cache(lambda table: np.asarray(exact(table), dtype=float).ravel())
    return max(
        float(np.linalg.norm(answer(tuple(sorted(a))) - answer(tuple(sorted(b))), norm))
        for a, b in pairs(universe, most, relation)
    )


def as_codes(table: Table, columns: int) -> np.ndarray:
    """Rows as an array of codes."""
    return np.array(table, dtype=np.int32).reshape(-1, columns)


def within(found: float, stated: float) -> bool:
    """Whether a move is at most what was stated, apart from the last bits of a square root."""
    return found <= stated * (1 + 1e-12) or math.isclose(found, stated, rel_tol=1e-12)
