"""At most so many rows of every person of a table on other machines: what workers do around a shuffle.

The shuffle brings each person's rows together. A row's secret number is a keyed function of the row, so that
a choice that is made again, of rows in another order, is the same (proofs/persons.md, Lemma 3).
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.sources.fingerprints import FACTOR, HALF, TracedPart, fingerprint
from sdv_plausible.table.contribution_bounding import (
    has_unidentified_rows,
    name_hash,
    person_keys,
    person_numbers,
    select_smallest,
)

MISSING = np.uint64(0xD6E8FEB86659FD93)  # in the place of a category's hash


@dataclass(frozen=True)
class UnnamedRowsTask:
    """Work: parts with cells that can name nobody."""

    person: str

    def count(self, part: pd.DataFrame, number: int) -> int:  # noqa: ARG002
        """Count one part."""
        return int(has_unidentified_rows(part[self.person], person_keys(part[self.person])))

    def merge(self, one: int, other: int) -> int:
        """Add."""
        return one + other


@dataclass(frozen=True, eq=False)
class RowChoice:
    """At most so many rows of each person.

    Parameters
    ----------
    person : str
        The column that says whose a row is.
    most : int
        Rows of each person, at most.
    key : bytes
        Secret, of this fit: it decides which rows.
    """

    person: str
    most: int
    key: bytes = field(repr=False)

    def dealt(self, part: pd.DataFrame, places: int) -> Iterator[tuple[int, bytes]]:
        """Deal out a part: places, 0 to ``places`` - 1, and their rows. All rows of a person go to one."""
        names = person_keys(part[self.person])
        whose = person_numbers(names)
        people, first = np.unique(whose, return_index=True)
        place_of = np.array([name_hash(names[i]) % places for i in first], dtype=np.int64)
        place = np.where(whose < 0, -1, place_of[np.searchsorted(people, whose)])
        order = np.argsort(place, kind="stable")
        found, starts = np.unique(place[order], return_index=True)
        for number, at in zip(found.tolist(), np.split(order, starts[1:]), strict=False):
            if number >= 0:
                yield number, pickle.dumps(_trimmed(part.iloc[at]), protocol=pickle.HIGHEST_PROTOCOL)

    def chosen(self, dealt: Iterable[bytes], empty: pd.DataFrame) -> TracedPart:
        """Choose of all rows that were dealt to some places, in an order that the rows decide."""
        pieces = [pickle.loads(rows) for rows in dealt] or [empty]
        whose = person_numbers(np.concatenate([person_keys(piece[self.person]) for piece in pieces]))
        content = np.concatenate([contents(piece) for piece in pieces])
        used = chosen(whose, content, self.most, self.key)
        ends = np.cumsum([len(piece) for piece in pieces])
        kept = np.zeros(len(whose), dtype=bool)
        kept[used] = True
        rows = _joined(
            [piece[kept[end - len(piece) : end]] for piece, end in zip(pieces, ends.tolist(), strict=True)]
        )
        rows = rows.iloc[np.searchsorted(np.flatnonzero(kept), used)].reset_index(drop=True)
        return TracedPart(rows, fingerprint(content[used].view(np.int32).reshape(-1, 2), 0))


def chosen(whose: np.ndarray, content: np.ndarray, most: int, key: bytes) -> np.ndarray:
    """Positions of at most so many rows of each person, in the order of their contents.

    Which ones is, for each person, a function of the contents of that person's rows and the key: of equal
    rows the first, second and so on have numbers of their own, and which is the first is no matter.

    Parameters
    ----------
    whose : ndarray of int64, shape (n,)
        Number of every row's person, -1 for nobody's, which is left out.
    content : ndarray of uint64, shape (n,)
        What a row holds, its person too.
    most : int
        Rows of each person, at most.
    key : bytes
        Secret.
    """
    order = np.lexsort((content, whose))
    whose, content = whose[order], content[order]
    place = np.arange(len(order))
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = (whose[1:] != whose[:-1]) | (content[1:] != content[:-1])
    rank = place - np.maximum.accumulate(np.where(begins, place, 0))
    first, size = np.searchsorted(whose, whose), np.searchsorted(whose, whose, side="right")
    many = np.flatnonzero((size - first > most) & (whose >= 0))  # of the others every row is used
    secret = np.zeros(len(order), dtype=np.uint64)
    told = np.stack([content[many], rank[many].astype(np.uint64)], axis=1).astype("<u8").tobytes()
    hashes = (blake2b(told[i : i + 16], digest_size=8, key=key).digest() for i in range(0, len(told), 16))
    secret[many] = np.frombuffer(b"".join(hashes), dtype="<u8")
    used = select_smallest(whose, secret, most)
    return np.asarray(order[used[np.argsort(content[used], kind="stable")]])


def contents(rows: pd.DataFrame) -> np.ndarray:
    """A number for each row that all its cells decide, each by itself and as it is stored; no secret."""
    number = np.zeros(len(rows), dtype=np.uint64)
    for _, column in rows.items():
        number *= FACTOR
        number += _cells(column)
        number ^= number >> HALF
    return number


def _cells(column: pd.Series[Any]) -> np.ndarray:
    """A number for each cell."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return np.append(_cells(pd.Series(dtype.categories)), MISSING)[column.cat.codes]
    if isinstance(dtype, np.dtype) and dtype.kind in "biufmM" and dtype.itemsize <= 8:
        return np.asarray(pd.util.hash_array(column.to_numpy(), categorize=False))
    cells = np.array([*map(repr, column), ""], dtype=object)[:-1]  # so that no cell's is another's business
    return np.asarray(pd.util.hash_array(cells, categorize=False))


def _trimmed(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows without the categories of others, which would go with each piece."""
    found = rows.reset_index(drop=True)
    for name in found.select_dtypes("category"):
        found[name] = found[name].cat.remove_unused_categories()
    return found


def _joined(pieces: list[pd.DataFrame]) -> pd.DataFrame:
    """Pieces together, of which no cell changes: columns that not all store alike are of objects."""
    return pd.DataFrame({name: _column([piece[name] for piece in pieces]) for name in pieces[0]})


def _column(pieces: list[pd.Series[Any]]) -> Any:
    """A column in pieces, put together; pandas' union of categories would take some texts for one another."""
    if all(map(_is_of_texts, pieces)):
        number: dict[str, int] = {}
        codes = [
            np.array([*(number.setdefault(text, len(number)) for text in piece.cat.categories), -1])[
                piece.cat.codes
            ]
            for piece in pieces
        ]
        return pd.Categorical.from_codes(np.concatenate(codes), pd.Index([*number], dtype=object))
    first = pieces[0].dtype
    if isinstance(first, pd.CategoricalDtype) or any(piece.dtype != first for piece in pieces):
        pieces = [piece.astype(object) for piece in pieces]
    return pd.concat(pieces, ignore_index=True)


def _is_of_texts(column: pd.Series[Any]) -> bool:
    dtype = column.dtype
    return isinstance(dtype, pd.CategoricalDtype) and all(type(value) is str for value in dtype.categories)
