"""Bound the rows per person of a table on other machines: the work of workers before and after a shuffle.

The shuffle brings each person's rows together. A row's secret number is a keyed function of the row. So a
choice that is made again, with the rows in another order, is the same (proofs/persons.md, Lemma 3).
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

MISSING = np.uint64(0xD6E8FEB86659FD93)  # hash of a missing category


@dataclass(frozen=True)
class UnnamedRowsTask:
    """Task: number of parts with cells that identify no person."""

    person: str

    def count(self, part: pd.DataFrame, number: int) -> int:  # noqa: ARG002
        """Count one part."""
        return int(has_unidentified_rows(part[self.person], person_keys(part[self.person])))

    def merge(self, one: int, other: int) -> int:
        """Add."""
        return one + other


@dataclass(frozen=True, eq=False)
class RowChoice:
    """At most ``most`` rows of each person."""

    person: str  # column that identifies the person of a row
    most: int  # maximum rows per person
    key: bytes = field(repr=False)  # secret of this fit; it determines which rows are chosen

    def distribute(self, part: pd.DataFrame, places: int) -> Iterator[tuple[int, bytes]]:
        """Yield buckets, 0 to ``places`` - 1, and their rows; all rows of a person go to one bucket."""
        persons = person_keys(part[self.person])
        person_ids = person_numbers(persons)
        people, first_row = np.unique(person_ids, return_index=True)
        bucket_of_person = np.array([name_hash(persons[i]) % places for i in first_row], dtype=np.int64)
        bucket = np.where(person_ids < 0, -1, bucket_of_person[np.searchsorted(people, person_ids)])
        order = np.argsort(bucket, kind="stable")
        buckets, starts = np.unique(bucket[order], return_index=True)
        for number, positions in zip(buckets.tolist(), np.split(order, starts[1:]), strict=False):
            if number >= 0:
                yield (
                    number,
                    pickle.dumps(
                        _without_unused_categories(part.iloc[positions]), protocol=pickle.HIGHEST_PROTOCOL
                    ),
                )

    def select(self, pickled: Iterable[bytes], empty: pd.DataFrame) -> TracedPart:
        """Choose among all rows of some buckets; the order depends on the rows only."""
        pieces = [pickle.loads(rows) for rows in pickled] or [empty]
        person_ids = person_numbers(np.concatenate([person_keys(piece[self.person]) for piece in pieces]))
        hashes = np.concatenate([hash_rows(piece) for piece in pieces])
        positions = select_rows(person_ids, hashes, self.most, self.key)
        ends = np.cumsum([len(piece) for piece in pieces])
        is_chosen = np.zeros(len(person_ids), dtype=bool)
        is_chosen[positions] = True
        rows = _concat(
            [
                piece[is_chosen[end - len(piece) : end]]
                for piece, end in zip(pieces, ends.tolist(), strict=True)
            ]
        )
        rows = rows.iloc[np.searchsorted(np.flatnonzero(is_chosen), positions)].reset_index(drop=True)
        return TracedPart(rows, fingerprint(hashes[positions].view(np.int32).reshape(-1, 2), 0))


def select_rows(whose: np.ndarray, content: np.ndarray, most: int, key: bytes) -> np.ndarray:
    """Positions of at most ``most`` rows of each person, ordered by content.

    For each person, the choice is a function of the contents of that person's rows and of the key. Equal rows
    are numbered, and each number has its own secret; which of them comes first does not matter.
    """
    # ``whose``: (n,) number of each row's person; rows with -1 have none and are left out.
    # ``content``: (n,) hash of each row, including its person.
    # ``most``: maximum rows per person.
    order = np.lexsort((content, whose))
    whose, content = whose[order], content[order]
    index = np.arange(len(order))
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (whose[1:] != whose[:-1]) | (content[1:] != content[:-1])
    rank = index - np.maximum.accumulate(np.where(is_new, index, 0))
    first, size = np.searchsorted(whose, whose), np.searchsorted(whose, whose, side="right")
    exceeding = np.flatnonzero((size - first > most) & (whose >= 0))  # all rows of other persons are used
    secret = np.zeros(len(order), dtype=np.uint64)
    messages = (
        np.stack([content[exceeding], rank[exceeding].astype(np.uint64)], axis=1).astype("<u8").tobytes()
    )
    hashes = (
        blake2b(messages[i : i + 16], digest_size=8, key=key).digest() for i in range(0, len(messages), 16)
    )
    secret[exceeding] = np.frombuffer(b"".join(hashes), dtype="<u8")
    selected = select_smallest(whose, secret, most)
    return np.asarray(order[selected[np.argsort(content[selected], kind="stable")]])


def hash_rows(rows: pd.DataFrame) -> np.ndarray:
    """Hash of each row's cells, each as it is stored; not keyed."""
    hashes = np.zeros(len(rows), dtype=np.uint64)
    for _, column in rows.items():
        hashes *= FACTOR
        hashes += _hash_cells(column)
        hashes ^= hashes >> HALF
    return hashes


def _hash_cells(column: pd.Series[Any]) -> np.ndarray:
    """Hash of each cell."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return np.append(_hash_cells(pd.Series(dtype.categories)), MISSING)[column.cat.codes]
    if isinstance(dtype, np.dtype) and dtype.kind in "biufmM" and dtype.itemsize <= 8:
        return np.asarray(pd.util.hash_array(column.to_numpy(), categorize=False))
    cells = np.array([*map(repr, column), ""], dtype=object)[:-1]  # keeps cells independent of one another
    return np.asarray(pd.util.hash_array(cells, categorize=False))


def _without_unused_categories(rows: pd.DataFrame) -> pd.DataFrame:
    """Remove unused categories, which would be sent with each piece."""
    trimmed = rows.reset_index(drop=True)
    for name in trimmed.select_dtypes("category"):
        trimmed[name] = trimmed[name].cat.remove_unused_categories()
    return trimmed


def _concat(pieces: list[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate pieces without changing a cell; columns with several dtypes become objects."""
    return pd.DataFrame({name: _concat_column([piece[name] for piece in pieces]) for name in pieces[0]})


def _concat_column(pieces: list[pd.Series[Any]]) -> Any:
    """Concatenate a column's pieces; pandas' union of categories would equate some texts."""
    if all(map(_has_text_categories, pieces)):
        code_of: dict[str, int] = {}
        codes = [
            np.array([*(code_of.setdefault(text, len(code_of)) for text in piece.cat.categories), -1])[
                piece.cat.codes
            ]
            for piece in pieces
        ]
        return pd.Categorical.from_codes(np.concatenate(codes), pd.Index([*code_of], dtype=object))
    first = pieces[0].dtype
    if isinstance(first, pd.CategoricalDtype) or any(piece.dtype != first for piece in pieces):
        pieces = [piece.astype(object) for piece in pieces]
    return pd.concat(pieces, ignore_index=True)


def _has_text_categories(column: pd.Series[Any]) -> bool:
    dtype = column.dtype
    return isinstance(dtype, pd.CategoricalDtype) and all(type(value) is str for value in dtype.categories)
