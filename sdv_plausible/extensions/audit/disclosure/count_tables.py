"""Small tables as counts of their categories: all of a size, and which are neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations

import numpy as np
import numpy.typing as npt

from sdv_plausible.privacy.neighbours import Relation

Counts = tuple[int, ...]
MOST_CELLS = 20_000_000  # of a matrix: 160 MB, and the same again for its neighbours


def check_cells(rows: int, columns: int) -> None:
    """Raise unless a matrix of this size can be held."""
    if rows * columns > MOST_CELLS:
        raise ValueError(
            f"the matrix would have {rows:,} rows and {columns:,} columns, more than {MOST_CELLS:,} cells: "
            "lower n, or the number of categories"
        )


def tables_of_counts(n: int, categories: int) -> Iterator[Counts]:
    """All tables of n rows over so many categories, the first count rising last."""
    if categories == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in tables_of_counts(n - first, categories - 1):
            yield (first, *rest)


def neighbouring(tables: Sequence[Counts], relation: Relation) -> npt.NDArray[np.int64]:
    """Positions of all neighbours among some tables, (pairs, 2), each pair once, in order."""
    place = {n: i for i, n in enumerate(tables)}
    near = (
        sorted((i, place[other]))
        for n, i in place.items()
        for other in _neighbours(n, relation)
        if other in place and (relation == "add_remove" or place[other] > i)
    )
    found = np.array(list(near), dtype=np.int64).reshape(-1, 2)
    if not len(found):
        raise ValueError(f"tables ({len(tables)}) must hold neighbours ({relation}); add some")
    return found


def _neighbours(n: Sequence[int], relation: Relation) -> Iterable[Counts]:
    """Tables with one row changed, or one row more."""
    if relation == "add_remove":
        return (tuple(c + (i == to) for i, c in enumerate(n)) for to in range(len(n)))
    return (
        tuple(c + (i == to) - (i == gone) for i, c in enumerate(n))
        for gone, to in permutations(range(len(n)), 2)
        if n[gone]
    )
