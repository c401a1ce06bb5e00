"""Whether a table is the same in every pass of a fit: a sum over rows, and their places where those count.

The sum stays with the coordinator and is compared with itself. For a table that stands still it never
differs, whatever the rows: so the check says nothing of them (docs/explanation/proofs/parts.md, Lemma 5).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Fingerprint = npt.NDArray[np.uint64]

FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd: no product with it loses a bit
SPREAD = np.uint64(0xBF58476D1CE4E5B9)
HALF = np.uint64(32)
AT_ONCE = 1 << 14  # rows, so that they stay in the cache


@dataclass(frozen=True, eq=False)
class TracedPart:
    """What a worker made of a part, codes or a frame, and the fingerprint that it must have if made again."""

    rows: Any
    told: Fingerprint

    def __len__(self) -> int:
        return len(self.rows)


def fingerprint(codes: npt.NDArray[np.signedinteger], part: int | None = None) -> Fingerprint:
    """Number of rows, and the sum of a number for each row that all its codes decide, modulo 2^64.

    Parameters
    ----------
    codes : ndarray of signed integers, shape (n, m)
        Codes of rows; -1 for cells outside the domain. Their type has no say.
    part : int, optional
        The part that they are, where rows must keep their places: these then decide the number too.
        Without it order and parts make no difference.
    """
    total = np.zeros(1, dtype=np.uint64)
    rooms = np.empty((2, min(len(codes), AT_ONCE)), dtype=np.uint64)  # once: allocators return what is large
    places = np.arange(rooms.shape[1], dtype=np.uint64)
    for start in range(0, len(codes), AT_ONCE):
        here = codes[start : start + AT_ONCE]
        number, high = rooms[:, : len(here)]
        if part is None:
            number[:] = 0  # where rows stand is of no importance
        else:
            np.add(places[: len(here)], np.uint64(start) + (np.uint64(part) << HALF), out=number)
        for j in range(here.shape[1]):
            number *= FACTOR
            high[:] = here[:, j]
            number += high
            number ^= np.right_shift(number, HALF, out=high)
        number *= SPREAD
        number ^= np.right_shift(number, HALF, out=high)
        total += number.sum(dtype=np.uint64)
    return np.array([len(codes), total[0]], dtype=np.uint64)


class Fingerprints:
    """The fingerprint of the first pass, which all others are held against."""

    def __init__(self) -> None:
        self._first: tuple[int, ...] | None = None

    def check(self, found: Iterable[int]) -> None:
        """Take the fingerprint of a pass.

        Raises
        ------
        RuntimeError
            If it is not that of the first: then the answers so far are not of one table.
        """
        now = tuple(map(int, found))
        self._first = self._first or now
        if now == self._first:
            return
        what = (
            "another number of rows" if now[0] != self._first[0] else "other rows, or rows in other places,"
        )
        raise RuntimeError(
            f"source: it has {what} than in an earlier pass of this fit; a table that changes while it is "
            "read fits no guarantee: fit a copy that stands still"
        )
