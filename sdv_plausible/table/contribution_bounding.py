"""Contribution bounding: at most a given number of rows per person, chosen secretly.

Each row gets a secret random number before any other use of the rows, and a person keeps the rows with the
smallest ones. The choice depends only on the person's own rows and random numbers, not on the order of rows
or on other people (docs/explanation/proofs/persons.md, Lemma 1). Tables in parts:
``sources/bounded_rows.py``.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.table.cells.canonical_forms import (
    NOT_A_VALUE,
    as_objects,
    is_arrow,
    is_missing,
    to_builtin,
)

_EXACT = 2.0**53  # doubles skip whole numbers from here on


def choose_rows(persons: pd.Series[Any], most: int, rng: KeyedRNG) -> np.ndarray:
    """Positions of the rows that are used, increasing."""
    # All choices of ``most`` of a person's rows are equally likely. Rows without a person (missing) are not
    # used.
    numbers = _person_numbers(persons)
    return select_smallest(numbers, rng.uniform(len(numbers)), most)


def select_smallest(persons: np.ndarray, secret: np.ndarray, most: int) -> np.ndarray:
    """Positions of each person's rows with the smallest secret numbers, increasing."""
    # ``persons``: number of each row's person; -1 is no person, and such rows are left out.
    by_person = np.lexsort((secret, persons))
    ranked = persons[by_person]
    rank = np.arange(len(ranked)) - np.searchsorted(ranked, ranked)
    return np.sort(by_person[(ranked >= 0) & (rank < most)])


def person_keys(persons: pd.Series[Any]) -> np.ndarray:
    """Objects that are equal for rows of one person, computed cell by cell; None where there is no person."""
    # Cells that cannot identify a person are None, too: unknown classes, doubles that stand for several
    # whole numbers, and Arrow values without a Python object. So no two people are merged.
    # An object array: pandas would turn integers with a missing cell into doubles, which merge long numbers.
    names = np.empty(len(persons), dtype=object)
    cells = as_objects(persons.array.__arrow_array__()) if is_arrow(persons) else persons
    kind: Any = persons.dtype
    kind = kind.categories.dtype if isinstance(kind, pd.CategoricalDtype) else kind
    stored: Any = getattr(kind, "numpy_dtype", kind)
    exact = min(_EXACT, 2.0 ** (np.finfo(stored).nmant + 1)) if stored.kind == "f" else _EXACT
    for i, cell in enumerate(cells):  # one by one: numpy would unpack tuples
        name = to_builtin(cell)
        names[i] = None if name is NOT_A_VALUE or is_missing(name) or _is_rounded(cell, name, exact) else name
    return names


def has_unidentified_rows(persons: pd.Series[Any], names: np.ndarray) -> bool:
    """Whether a cell that is not missing identifies no person; its row is not used either."""
    lost = np.array([name is None for name in names], dtype=bool)
    return bool((lost & ~persons.isna().to_numpy(dtype=bool)).any())


def _is_rounded(cell: Any, name: Any, exact: float) -> bool:
    """Whether a name is, or contains, a float that stands for several whole numbers."""
    pairs = zip(tuple.__iter__(cell), name, strict=True) if type(name) is tuple else ((cell, name),)
    return any(
        type(entry) in (int, float) and abs(entry) >= _exact_limit(type(stored), exact)
        for stored, entry in pairs
    )


def _exact_limit(stored: type, exact: float) -> float:
    """Smallest whole number that a cell's own type cannot distinguish from its successor."""
    if issubclass(stored, np.inexact):
        return float(2 ** (np.finfo(stored).nmant + 1))  # type: ignore[type-var]
    return exact if issubclass(stored, (float, complex)) else math.inf


def person_numbers(names: np.ndarray) -> np.ndarray:
    """Number of each row's person, from :func:`person_keys`; -1 where there is none."""
    # Names are compared exactly, not as doubles, which would merge people.
    number: dict[Hashable, int] = {}
    numbers = (-1 if name is None else number.setdefault(name, len(number)) for name in names)
    return np.fromiter(numbers, dtype=np.int64, count=len(names))


def name_hash(name: Any) -> int:
    """Hash that equal names share in every process."""
    if isinstance(name, tuple):
        return hash(tuple(map(name_hash, name)))
    if isinstance(name, (bool, int, float, Decimal, Fraction)):
        return hash(name)
    return crc32(repr(name).encode("utf-8", "surrogatepass"))


def _person_numbers(persons: pd.Series[Any]) -> np.ndarray:
    """Number of each row's person; -1 where it is missing."""
    if pd.api.types.is_integer_dtype(persons.dtype):
        return np.asarray(pd.factorize(persons)[0])
    return person_numbers(person_keys(persons))
