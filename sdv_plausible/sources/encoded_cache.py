"""Codes of all rows, encoded once and cached during a fit: in local files, or by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.sources.fingerprints import Fingerprint, TracedPart
from sdv_plausible.sources.source import LocalSource, Source
from sdv_plausible.sources.source_counts import PartEncoder, SourceCounts
from sdv_plausible.sources.worker_pool import Piece


@dataclass(frozen=True, eq=False)
class EncodeTask:
    """Task: codes of the rows, in the narrowest dtype.

    The fingerprint covers the rows and their positions, and the random numbers belong to the part. Equal
    fingerprints therefore mean equal codes, also of cells that were drawn (docs/explanation/proofs/parts.md,
    Lemma 6).
    """

    encoder: PartEncoder

    def count(self, part: pd.DataFrame, number: int) -> TracedPart:
        """Encode one part."""
        rows, digest = self.encoder.encode(part, number)
        largest = max(self.encoder.cardinalities, default=1) - 1
        return TracedPart(rows.records().astype(np.min_scalar_type(largest), copy=False), digest)

    def merge(self, one: TracedPart, other: TracedPart) -> TracedPart:
        """Concatenate parts."""
        return TracedPart(np.concatenate([one.rows, other.rows]), one.digest + other.digest)


@dataclass(frozen=True, eq=False)
class StoreCodesTask:
    """Task: store the codes of every part in a file; counts the parts."""

    encode: EncodeTask
    folder: Path

    def count(self, part: pd.DataFrame, number: int) -> int:
        """Store one part."""
        np.save(self.folder / f"{number:09d}.npy", self.encode.count(part, number).rows)
        return 1

    def merge(self, one: int, other: int) -> int:
        """Add."""
        return one + other


@dataclass(frozen=True)
class CodeFile:
    """Location of codes."""

    number: int
    path: Path

    def parts(self) -> Iterator[Any]:
        """Map the codes into memory."""
        yield np.load(self.path, mmap_mode="r")


class CodeFiles(LocalSource):
    """Files of codes, mapped into memory one after another."""

    pieces_are_locations = True

    def __init__(self, folder: Path, width: int) -> None:
        super().__init__()
        self._folder, self._width = folder, width

    @property
    def names(self) -> Sequence[str]:
        """Column indices as text."""
        return [str(j) for j in range(self._width)]

    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:  # noqa: ARG002  all columns are read
        """Yield one file after another."""
        for number, path in enumerate(sorted(self._folder.glob("*.npy"))):
            yield CodeFile(number, path)

    def empty(self, names: Sequence[str]) -> Any:  # noqa: ARG002
        """Return no codes."""
        return np.zeros((0, self._width), dtype=np.uint8)


@dataclass(frozen=True, eq=False)
class CachedParts(PartEncoder):
    """Encoder of parts that are codes already."""

    def encode_all(self, part: Any, number: int) -> tuple[np.ndarray, Fingerprint]:  # noqa: ARG002
        """Return the codes unchanged; the cache ensures that they do not change."""
        return np.asarray(part), np.array([len(part), 0], dtype=np.uint64)


def cache_codes(
    source: Source, encoder: PartEncoder, names: Sequence[str], folder: Path | None
) -> SourceCounts:
    """Encode all rows in one pass; later passes count the codes."""
    # ``folder``: a folder of this fit alone, if this process reads the rows. The caller removes it, since the
    # codes represent the rows.
    encode = EncodeTask(replace(encoder, placed=True))
    cached: Source
    if source.on_cluster:
        cached = source.persist(encode, names)
    else:
        assert folder is not None
        source.total(StoreCodesTask(encode, folder), names)
        cached = CodeFiles(folder, len(encoder.domain))
        cached.worker_pool, cached.progress = source.worker_pool, source.progress
    return SourceCounts(cached, CachedParts(encoder.domain, encoder.rules, encoder.rng), ())
