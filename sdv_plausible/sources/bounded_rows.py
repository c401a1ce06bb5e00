"""At most so many rows of every person of a table in parts: chosen in one pass, and kept in files.

Rows are dealt out to files, all of a person to one, and of each file those are chosen that have a person's
smallest secret numbers. The rest of the fit sees the rows chosen and nothing else of the table
(docs/explanation/proofs/persons.md, Lemma 2).
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from threading import get_ident

import numpy as np
import pandas as pd

from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.sources.source import LocalSource, Source, quietly, with_objects
from sdv_plausible.sources.worker_pool import Piece
from sdv_plausible.table.contribution_bounding import (
    has_unidentified_rows,
    name_hash,
    person_keys,
    person_numbers,
    select_smallest,
)
from sdv_plausible.table.files.storage_types import PERSON_SDTYPE, check_storage

FILES = 256  # of 10^8 rows one file's are about a part's


@dataclass(frozen=True, eq=False)
class DistributeRows:
    """Work: the rows of every part that may be chosen, dealt out to files.

    What is counted are parts with cells that can name nobody.

    Parameters
    ----------
    person : str
        The column that says whose a row is.
    most : int
        Rows of each person, at most.
    coins : Coins
        Secret: they number the rows, in one pass.
    folder : Path
        Of the files.
    """

    person: str
    most: int
    coins: KeyedRNG
    folder: Path

    def count(self, part: pd.DataFrame, number: int) -> int:
        """Deal out one part: of each person the rows that none of the same part forestall."""
        secret = self.coins.spawn("part", number).uniform(len(part))
        names = person_keys(part[self.person])
        here = select_smallest(person_numbers(names), secret, self.most)
        file_of = np.array([name_hash(name) % FILES for name in names[here]], dtype=np.int64)
        rows = with_objects(part)
        for file in np.unique(file_of):
            at = here[file_of == file]
            mine = f"dealt-{file:03d}-{os.getpid()}-{get_ident()}"  # another worker's would be in between
            with (self.folder / mine).open("ab") as out:
                pickle.dump((number, rows.iloc[at], secret[at]), out, protocol=pickle.HIGHEST_PROTOCOL)
        return int(has_unidentified_rows(part[self.person], names))

    def merge(self, one: int, other: int) -> int:
        """Add."""
        return one + other


@dataclass(frozen=True)
class ChosenFile:
    """Where rows are."""

    number: int
    path: Path
    names: tuple[str, ...]

    def parts(self) -> Iterator[pd.DataFrame]:
        """Read them."""
        with self.path.open("rb") as file:
            yield pickle.load(file)[list(self.names)]


class BoundedSource(LocalSource):
    """The rows chosen, in files of this fit; some were left out as ``unnamed``: nobody can tell whose."""

    pieces_are_places = True

    def __init__(self, folder: Path, empty: pd.DataFrame, of: LocalSource, *, unnamed: bool) -> None:
        super().__init__(of.rows)
        self.progress = of.progress
        self._folder, self._empty, self.crew, self.unnamed = folder, empty, of.crew, unnamed

    @property
    def names(self) -> Sequence[str]:
        """Column names."""
        return list(self._empty.columns)

    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:
        """One file after another."""
        for number, path in enumerate(sorted(self._folder.glob("chosen-*"))):
            yield ChosenFile(number, path, tuple(names))

    def empty(self, names: Sequence[str]) -> pd.DataFrame:
        """No row of some columns."""
        return self._empty[list(names)]


def of_persons(
    source: Source, neighbours: Neighbours, names: Sequence[str], coins: KeyedRNG, folder: Path | None
) -> tuple[Source, bool]:
    """At most so many rows of each person, and whether some were left out, as nobody can tell whose they are.

    Parameters
    ----------
    source, neighbours, names, coins, folder
        As for :func:`bounded`; a cluster needs no folder.
    """
    if not isinstance(source, LocalSource):
        return source.bounded(neighbours, names, coins)
    assert folder is not None  # check_person saw to it
    found = bounded(source, neighbours, names, coins, folder)
    return found, found.unnamed


def bounded(
    source: LocalSource, neighbours: Neighbours, names: Sequence[str], coins: KeyedRNG, folder: Path
) -> BoundedSource:
    """Choose at most so many rows of each person, secretly, and keep them in files.

    Parameters
    ----------
    source : LocalSource
        The table.
    neighbours : Neighbours
        Whose rows are bounded, and by what.
    names : sequence of str
        Columns that are kept.
    coins : Coins
        Secret: each choice of a person's rows is equally likely.
    folder : Path
        A folder of this fit alone. The caller removes it: the files are rows.
    """
    assert neighbours.person is not None
    kept = [*names, *({neighbours.person} - set(names))]
    unnamed = source.total(DistributeRows(neighbours.person, neighbours.rows, coins, folder), kept)
    dealt = (sorted(folder.glob(f"dealt-{file:03d}-*")) for file in range(FILES))
    chosen = (_chosen(paths, neighbours) for paths in dealt if paths)
    frames = (frame[list(names)] for some in chosen for frame in some)
    for number, part in enumerate(_parts(frames, source.rows)):
        with (folder / f"chosen-{number:06d}").open("wb") as out:
            pickle.dump(part, out, protocol=pickle.HIGHEST_PROTOCOL)
    return BoundedSource(folder, source.empty(names), source, unnamed=unnamed > 0)


def check_person(source: Source, neighbours: Neighbours, scratch: str | Path | None) -> None:
    """Refuse people whose rows cannot be brought together, before a budget has paid for the fit.

    Raises
    ------
    ValueError
        If no folder is given and this process reads the rows, or the column is of nested cells.
    """
    person = neighbours.person
    if person is None:
        return
    check_storage(source.empty([person]), {person: PERSON_SDTYPE})
    if scratch is None and not source.on_cluster:
        raise Refused.saying(
            "person",
            f"person ({person!r}) needs scratch, a folder on a disk of yours: the rows of each person are "
            "brought together there, and removed after the fit",
        )


def _chosen(paths: Sequence[Path], neighbours: Neighbours) -> list[pd.DataFrame]:
    """The rows chosen of some people, all of whose rows were dealt to these files, which are removed."""
    in_order = sorted((one for path in paths for one in _read(path)), key=lambda one: one[0])
    _, pieces, secret = zip(*in_order, strict=True)
    for path in paths:
        path.unlink()
    names = np.concatenate([person_keys(piece[neighbours.person]) for piece in pieces])
    kept = np.zeros(len(names), dtype=bool)
    kept[select_smallest(person_numbers(names), np.concatenate(secret), neighbours.rows)] = True
    ends = np.cumsum([len(piece) for piece in pieces])
    found = (piece[kept[end - len(piece) : end]] for piece, end in zip(pieces, ends.tolist(), strict=True))
    return [piece for piece in found if len(piece)]


def _parts(frames: Iterable[pd.DataFrame], rows: int) -> Iterator[pd.DataFrame]:
    """Frames together, up to so many rows; those of other storage apart, so that no cell changes its type."""
    for _, alike in groupby(frames, key=lambda frame: tuple(frame.dtypes)):
        held: list[pd.DataFrame] = []
        for frame in alike:
            held.append(frame)
            if sum(map(len, held)) >= rows:
                yield _joined(held)
                held = []
        if held:
            yield _joined(held)


def _joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    # pandas looks at the first cell of each, and an error would quote it
    joined: pd.DataFrame = quietly(lambda: pd.concat(frames, ignore_index=True))
    return joined


def _read(path: Path) -> Iterator[tuple[int, pd.DataFrame, np.ndarray]]:
    with path.open("rb") as file:
        while file.peek(1):
            yield pickle.load(file)
