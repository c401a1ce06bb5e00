"""Bound the rows of every person of a table in parts: chosen in one pass, and stored in files.

Rows are distributed to files, all rows of a person to one. Of each file, the rows with a person's smallest
secret numbers are chosen. The rest of the fit reads the chosen rows only (docs/explanation/proofs/persons.md,
Lemma 2).
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
from sdv_plausible.sources.source import LocalSource, Source, categories_to_objects, raise_source_errors
from sdv_plausible.sources.worker_pool import Piece
from sdv_plausible.table.contribution_bounding import (
    has_unidentified_rows,
    name_hash,
    person_keys,
    person_numbers,
    select_smallest,
)
from sdv_plausible.table.files.storage_types import PERSON_SDTYPE, check_storage

FILES = 256  # of 10^8 rows, one file has about as many as a part


@dataclass(frozen=True, eq=False)
class DistributeRows:
    """Task: distribute the rows of every part that may be chosen to files.

    The count is the number of parts with cells that identify no person.
    """

    person: str  # column that identifies the person of a row
    most: int  # maximum rows per person
    rng: KeyedRNG  # secret numbers of the rows, in one pass
    folder: Path  # folder of the files

    def count(self, part: pd.DataFrame, number: int) -> int:
        """Distribute one part; keeps the rows with each person's smallest secret numbers."""
        secret = self.rng.spawn("part", number).uniform(len(part))
        persons = person_keys(part[self.person])
        candidates = select_smallest(person_numbers(persons), secret, self.most)
        file_of = np.array([name_hash(name) % FILES for name in persons[candidates]], dtype=np.int64)
        rows = categories_to_objects(part)
        for file in np.unique(file_of):
            positions = candidates[file_of == file]
            path = self.folder / f"dealt-{file:03d}-{os.getpid()}-{get_ident()}"  # each worker has its own
            record = number, rows.iloc[positions], secret[positions]
            with path.open("ab") as out:
                pickle.dump(record, out, protocol=pickle.HIGHEST_PROTOCOL)
        return int(has_unidentified_rows(part[self.person], persons))

    def merge(self, one: int, other: int) -> int:
        """Add."""
        return one + other


@dataclass(frozen=True)
class ChosenFile:
    """Location of chosen rows."""

    number: int
    path: Path
    names: tuple[str, ...]

    def parts(self) -> Iterator[pd.DataFrame]:
        """Read the rows."""
        with self.path.open("rb") as file:
            yield pickle.load(file)[list(self.names)]


class BoundedSource(LocalSource):
    """The chosen rows, in files of this fit; ``unnamed`` if rows were left out that identify no person."""

    pieces_are_locations = True

    def __init__(self, folder: Path, empty: pd.DataFrame, of: LocalSource, *, unnamed: bool) -> None:
        super().__init__(of.rows)
        self.progress = of.progress
        self._folder, self._empty, self.worker_pool, self.unnamed = folder, empty, of.worker_pool, unnamed

    @property
    def names(self) -> Sequence[str]:
        """Column names."""
        return list(self._empty.columns)

    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:
        """Yield one file after another."""
        for number, path in enumerate(sorted(self._folder.glob("chosen-*"))):
            yield ChosenFile(number, path, tuple(names))

    def empty(self, names: Sequence[str]) -> pd.DataFrame:
        """Return some columns without rows."""
        return self._empty[list(names)]


def of_persons(
    source: Source, neighbours: Neighbours, names: Sequence[str], rng: KeyedRNG, folder: Path | None
) -> tuple[Source, bool]:
    """Bound the rows of each person; also returns whether rows were left out that identify no person."""
    # ``source``, ``neighbours``, ``names``, ``rng``, ``folder``: as for :func:`bound_locally`; a cluster
    # needs no folder.
    if not isinstance(source, LocalSource):
        return source.bound_contributions(neighbours, names, rng)
    assert folder is not None  # checked by check_person
    bounded_source = bound_locally(source, neighbours, names, rng, folder)
    return bounded_source, bounded_source.unnamed


def bound_locally(
    source: LocalSource, neighbours: Neighbours, names: Sequence[str], rng: KeyedRNG, folder: Path
) -> BoundedSource:
    """Choose at most ``neighbours.rows`` rows of each person secretly, and store them in files."""
    # ``neighbours``: the privacy unit: column and maximum number of rows.
    # ``rng``: secret: each choice of a person's rows is equally likely.
    # ``folder``: a folder of this fit alone. The caller removes it, since the files contain rows.
    assert neighbours.person is not None
    columns = [*names, *({neighbours.person} - set(names))]
    unnamed = source.total(DistributeRows(neighbours.person, neighbours.rows, rng, folder), columns)
    buckets = (sorted(folder.glob(f"dealt-{file:03d}-*")) for file in range(FILES))
    chosen = (_chosen(paths, neighbours) for paths in buckets if paths)
    frames = (frame[list(names)] for bucket in chosen for frame in bucket)
    for number, part in enumerate(_parts(frames, source.rows)):
        with (folder / f"chosen-{number:06d}").open("wb") as out:
            pickle.dump(part, out, protocol=pickle.HIGHEST_PROTOCOL)
    return BoundedSource(folder, source.empty(names), source, unnamed=unnamed > 0)


def check_person(source: Source, neighbours: Neighbours, scratch: str | Path | None) -> None:
    """Reject privacy units that this source cannot bound, before the budget is charged."""
    # Raises ValueError if no folder is given and this process reads the rows, or the column has nested cells.
    person = neighbours.person
    if person is None:
        return
    check_storage(source.empty([person]), {person: PERSON_SDTYPE})
    if scratch is None and not source.on_cluster:
        raise Refused.saying(
            "person",
            f"person ({person!r}) needs scratch, a local folder in which the rows are grouped by person; "
            "they are removed after the fit",
        )


def _chosen(paths: Sequence[Path], neighbours: Neighbours) -> list[pd.DataFrame]:
    """Choose rows of the persons whose rows are all in these files; removes the files."""
    in_order = sorted((record for path in paths for record in _read(path)), key=lambda record: record[0])
    _, pieces, secret = zip(*in_order, strict=True)
    for path in paths:
        path.unlink()
    names = np.concatenate([person_keys(piece[neighbours.person]) for piece in pieces])
    is_chosen = np.zeros(len(names), dtype=bool)
    is_chosen[select_smallest(person_numbers(names), np.concatenate(secret), neighbours.rows)] = True
    ends = np.cumsum([len(piece) for piece in pieces])
    chosen = (
        piece[is_chosen[end - len(piece) : end]] for piece, end in zip(pieces, ends.tolist(), strict=True)
    )
    return [piece for piece in chosen if len(piece)]


def _parts(frames: Iterable[pd.DataFrame], rows: int) -> Iterator[pd.DataFrame]:
    """Concatenate frames up to ``rows`` rows, separately by dtypes, so that no cell changes its type."""
    for _, same_dtypes in groupby(frames, key=lambda frame: tuple(frame.dtypes)):
        pending: list[pd.DataFrame] = []
        for frame in same_dtypes:
            pending.append(frame)
            if sum(map(len, pending)) >= rows:
                yield _joined(pending)
                pending = []
        if pending:
            yield _joined(pending)


def _joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    # errors of pandas may quote the first cell
    joined: pd.DataFrame = raise_source_errors(lambda: pd.concat(frames, ignore_index=True))
    return joined


def _read(path: Path) -> Iterator[tuple[int, pd.DataFrame, np.ndarray]]:
    with path.open("rb") as file:
        while file.peek(1):
            yield pickle.load(file)
