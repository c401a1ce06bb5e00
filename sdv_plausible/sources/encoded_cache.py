"""Codes of all rows, made once and kept while a fit runs: in files here, or by workers of a cluster."""

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
    """Work: codes of the rows, in the narrowest type.

    The fingerprint is of the rows at their places, and the coins are the part's: equal ones say that all
    codes are equal, also those that were drawn (docs/explanation/proofs/parts.md, Lemma 6).
    """

    coder: PartEncoder

    def count(self, part: pd.DataFrame, number: int) -> TracedPart:
        """Encode one part."""
        rows, told = self.coder.codes(part, number)
        largest = max(self.coder.cardinalities, default=1) - 1
        return TracedPart(rows.records().astype(np.min_scalar_type(largest), copy=False), told)

    def merge(self, one: TracedPart, other: TracedPart) -> TracedPart:
        """Put parts together."""
        return TracedPart(np.concatenate([one.rows, other.rows]), one.told + other.told)


@dataclass(frozen=True, eq=False)
class StoreCodesTask:
    """Work: a file of codes for every part; what is counted are the parts."""

    encode: EncodeTask
    folder: Path

    def count(self, part: pd.DataFrame, number: int) -> int:
        """Write one part."""
        np.save(self.folder / f"{number:09d}.npy", self.encode.count(part, number).rows)
        return 1

    def merge(self, one: int, other: int) -> int:
        """Count them."""
        return one + other


@dataclass(frozen=True)
class CodeFile:
    """Where codes are."""

    number: int
    path: Path

    def parts(self) -> Iterator[Any]:
        """Map them into memory."""
        yield np.load(self.path, mmap_mode="r")


class CodeFiles(LocalSource):
    """Files of codes, mapped into memory one after another."""

    pieces_are_places = True

    def __init__(self, folder: Path, width: int) -> None:
        super().__init__()
        self._folder, self._width = folder, width

    @property
    def names(self) -> Sequence[str]:
        """Column numbers, as text."""
        return [str(j) for j in range(self._width)]

    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:  # noqa: ARG002  every code is asked for
        """One file after another."""
        for number, path in enumerate(sorted(self._folder.glob("*.npy"))):
            yield CodeFile(number, path)

    def empty(self, names: Sequence[str]) -> Any:  # noqa: ARG002
        """No codes."""
        return np.zeros((0, self._width), dtype=np.uint8)


@dataclass(frozen=True, eq=False)
class CachedParts(PartEncoder):
    """Parts that are codes already."""

    def coded(self, part: Any, number: int) -> tuple[np.ndarray, Fingerprint]:  # noqa: ARG002
        """Return the codes as they are; whoever keeps them sees to it that they stay so."""
        return np.asarray(part), np.array([len(part), 0], dtype=np.uint64)


def keep_codes(source: Source, coder: PartEncoder, names: Sequence[str], folder: Path | None) -> SourceCounts:
    """Code all rows in one pass, and count the codes then.

    Parameters
    ----------
    source, coder, names
        As for :class:`~sdv_plausible.sources.source_counts.SourceCounts`.
    folder : Path, optional
        A folder of this fit alone, where this process reads the rows. The caller removes it: the files are
        the rows.
    """
    encode = EncodeTask(replace(coder, placed=True))
    found: Source
    if source.on_cluster:
        found = source.kept(encode, names)
    else:
        assert folder is not None
        source.total(StoreCodesTask(encode, folder), names)
        found = CodeFiles(folder, len(coder.domain))
        found.crew, found.progress = source.crew, source.progress
    return SourceCounts(found, CachedParts(coder.domain, coder.rules, coder.coins), ())
