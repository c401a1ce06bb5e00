"""Small tables as counts of their categories: enumeration and neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations

import numpy as np
import numpy.typing as npt

from sdv_plausible.privacy.neighbours import Relation

Counts = tuple[int, ...]
MOST_CELLS = 20_000_000  # cells of a matrix: 160 MB, and as much again for its neighbours


def check_cells(rows: int, columns: int) -> None:
    """Raise ValueError if a matrix of this size is too large."""
    if rows * columns > MOST_CELLS:
        raise ValueError(
            f"the matrix would have {rows:,} rows and {columns:,} columns, more than {MOST_CELLS:,} cells: "
            "lower n, or the number of categories"
        )


def tables_of_counts(n: int, categories: int) -> Iterator[Counts]:
    """Yield all tables of n rows over the categories, in lexicographic order of their counts."""
    if categories == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in tables_of_counts(n - first, categories - 1):
            yield (first, *rest)


def neighbouring(tables: Sequence[Counts], relation: Relation) -> npt.NDArray[np.int64]:
    """Return the positions of all neighbouring tables, (pairs, 2), each pair once, in order."""
    position = {n: i for i, n in enumerate(tables)}
    pairs = (
        sorted((i, position[other]))
        for n, i in position.items()
        for other in _neighbours(n, relation)
        if other in position and (relation == "add_remove" or position[other] > i)
    )
    pair_array = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
    if not len(pair_array):
        raise ValueError(f"tables ({len(tables)}) must hold neighbours ({relation}); add some")
    return pair_array


def _neighbours(n: Sequence[int], relation: Relation) -> Iterable[Counts]:
    """Yield the tables with one row changed, or with one more row."""
    if relation == "add_remove":
        return (tuple(c + (i == to) for i, c in enumerate(n)) for to in range(len(n)))
    return (
        tuple(c + (i == to) - (i == gone) for i, c in enumerate(n))
        for gone, to in permutations(range(len(n)), 2)
        if n[gone]
    )
