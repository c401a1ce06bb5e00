"""Detect whether a table changes between the passes of a fit, by a sum over its rows.

The sum stays with the coordinator and is compared with itself only. For a table that does not change it never
differs, whatever the rows. So the check reveals nothing about them (docs/explanation/proofs/parts.md, Lemma
5).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Fingerprint = npt.NDArray[np.uint64]

FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so that multiplication is invertible
SPREAD = np.uint64(0xBF58476D1CE4E5B9)
HALF = np.uint64(32)
BLOCK_ROWS = 1 << 14  # rows, to fit in the CPU cache


@dataclass(frozen=True, eq=False)
class TracedPart:
    """A worker's result for a part, codes or a frame, with a fingerprint that recomputed parts must match."""

    rows: Any
    digest: Fingerprint

    def __len__(self) -> int:
        return len(self.rows)


def fingerprint(codes: npt.NDArray[np.signedinteger], part: int | None = None) -> Fingerprint:
    """Number of rows, and the sum modulo 2^64 of a hash of each row's codes."""
    # ``codes``: (n, m) codes of rows; -1 for cells outside the domain. The dtype does not matter.
    # ``part``: number of the part, if rows must keep their positions: the hashes then depend on these.
    # Without it, the order of rows and parts does not matter.
    total = np.zeros(1, dtype=np.uint64)
    buffers = np.empty(
        (2, min(len(codes), BLOCK_ROWS)), dtype=np.uint64
    )  # allocated once: large blocks are returned to the system
    positions = np.arange(buffers.shape[1], dtype=np.uint64)
    for start in range(0, len(codes), BLOCK_ROWS):
        block = codes[start : start + BLOCK_ROWS]
        hashes, high = buffers[:, : len(block)]
        if part is None:
            hashes[:] = 0  # independent of positions
        else:
            np.add(positions[: len(block)], np.uint64(start) + (np.uint64(part) << HALF), out=hashes)
        for j in range(block.shape[1]):
            hashes *= FACTOR
            high[:] = block[:, j]
            hashes += high
            hashes ^= np.right_shift(hashes, HALF, out=high)
        hashes *= SPREAD
        hashes ^= np.right_shift(hashes, HALF, out=high)
        total += hashes.sum(dtype=np.uint64)
    return np.array([len(codes), total[0]], dtype=np.uint64)


class Fingerprints:
    """The fingerprint of the first pass, with which all others are compared."""

    def __init__(self) -> None:
        self._first: tuple[int, ...] | None = None

    def check(self, digest: Iterable[int]) -> None:
        """Check the fingerprint of a pass."""
        # Raises RuntimeError if it differs from that of the first pass: then the counts so far are not of one
        # table.
        current = tuple(map(int, digest))
        self._first = self._first or current
        if current == self._first:
            return
        difference = (
            "another number of rows"
            if current[0] != self._first[0]
            else "other rows, or rows in other places,"
        )
        raise RuntimeError(
            f"source: it has {difference} than in an earlier pass of this fit. A table that changes during "
            "the fit has no guarantee: fit an unchanging copy"
        )
