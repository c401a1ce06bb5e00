"""Codes of all rows in files of this machine, for as long as a fit takes: cells are read and coded once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.sources.coded import Coder, SourceCounts
from sdv_plausible.sources.crew import Crew, Piece
from sdv_plausible.sources.source import LocalSource, Source
from sdv_plausible.sources.unchanged import Fingerprint


@dataclass(frozen=True, eq=False)
class Keep:
    """Work: a file of codes for every part; what is counted are the parts."""

    coder: Coder
    folder: Path

    def count(self, part: pd.DataFrame, number: int) -> int:
        """Write one part."""
        codes, largest = self.coder.codes(part, number)[0].records(), max(self.coder.cardinalities, default=1)
        np.save(self.folder / f"{number:09d}.npy", codes.astype(np.min_scalar_type(largest - 1)))
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

    def __init__(self, folder: Path, width: int, crew: Crew, *, progress: bool = False) -> None:
        super().__init__(progress=progress)
        self._folder, self._width, self.crew = folder, width, crew

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
class Kept(Coder):
    """Parts that are codes already."""

    def coded(self, part: Any, number: int) -> tuple[np.ndarray, Fingerprint]:  # noqa: ARG002
        """Return the codes as they are; the files are this fit's own, so their number of rows will do."""
        return np.asarray(part), np.array([len(part), 0], dtype=np.uint64)


def keep_codes(source: Source, coder: Coder, names: Sequence[str], folder: Path) -> SourceCounts:
    """Code all rows in one pass, and count from the files then.

    Parameters
    ----------
    source, coder, names
        As for :class:`~sdv_plausible.sources.coded.SourceCounts`.
    folder : Path
        A folder of this fit alone. The caller removes it: the files are the rows.
    """
    source.total(Keep(coder, folder), names)
    kept = Kept(coder.domain, coder.rules, coder.coins)
    files = CodeFiles(folder, len(coder.domain), source.crew, progress=source.progress)
    return SourceCounts(files, kept, ())
