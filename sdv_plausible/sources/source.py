"""What a table that is read in parts offers: sums over its parts, and nothing else.

A part is a pandas frame whose cells were read one by one, so that every engine gives the same codes. Work on
parts returns counts, and counts of parts are added: that is all that an engine is asked, and all that moves
over a network.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

import pandas as pd

from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import UnpicklableRows
from sdv_plausible.sources.fingerprints import Fingerprints
from sdv_plausible.sources.progress import SILENT, Progress
from sdv_plausible.sources.worker_pool import ALONE, Piece, WorkerPool, packed
from sdv_plausible.table.cells.cell_series import normalize_cells
from sdv_plausible.table.columns.cell_reader import ColumnType, Spelling, reparse_columns
from sdv_plausible.table.files.storage_types import mask_invalid_utf8

PART_ROWS = 1 << 19
PART_CELLS = 12 * PART_ROWS  # as doubles some 50 MB
SHARES = 16  # of the pieces, for each worker: they end together, and soon after an interrupt
FEW = 8  # shares that are counted while processes might start for nothing
MANY = (
    64  # parts, beyond which processes, that wait for no lock, save more than the seconds they take to start
)
T = TypeVar("T")


class PartTask(Protocol[T]):
    """Something to be counted in every part, and how the counts of two parts become one.

    It can be pickled, and is a function of the part and its number alone: a part that is counted again,
    because a worker was lost, gives the same counts (docs/explanation/proofs/parts.md, Lemmas 1 and 4).
    """

    def count(self, part: pd.DataFrame, number: int) -> T:
        """Count one part."""
        ...

    def merge(self, one: T, other: T) -> T:
        """Add the counts of two sets of parts."""
        ...


class Source(UnpicklableRows, ABC):
    """A table in parts."""

    in_order = True
    """Whether every pass has the same rows at the same places of the same parts."""
    on_cluster = False
    """Whether other machines read the rows, which stay there: see :mod:`sdv_plausible.extensions.clusters.cluster_source`."""
    counts_travel = False
    """Whether other processes count parts: what they count should then be small."""
    progress: Progress = SILENT
    """Who hears how far a pass is."""
    crew: WorkerPool = ALONE
    """Who counts the parts, where they are on this machine."""
    storage: Mapping[str, str] = MappingProxyType({})
    """How columns are stored, where files say so whose schema is public: so they come back."""
    uneven: tuple[str, ...] = ()
    """Columns that not every file has, or that names of folders tell."""

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """Column names."""

    @abstractmethod
    def empty(self, names: Sequence[str]) -> pd.DataFrame:
        """No row of some columns, in the types of the parts."""

    @abstractmethod
    def total(self, work: PartTask[T], names: Sequence[str]) -> T:
        """Counts of all parts, which hold some columns: one pass."""

    def check_form(self) -> None:
        """Raise ValueError if what a pass reads is not well formed, before anything is paid for."""

    def begins(self, names: Sequence[str], most: int) -> pd.DataFrame:  # noqa: ARG002
        """The first rows, for the holder; none of a cluster's, which stay where they are."""
        return self.empty(names)

    def kept(self, work: PartTask[Any], names: Sequence[str]) -> Source:
        """A source whose parts are what work made of each part; of a cluster, whose workers keep them."""
        raise NotImplementedError

    def bounded(self, neighbours: Neighbours, names: Sequence[str], coins: KeyedRNG) -> tuple[Source, bool]:
        """At most so many rows of each person, some columns; and whether rows were left out for lack of a name."""
        raise NotImplementedError

    def close(self) -> None:
        """Give up what workers keep."""


class SourceError(ValueError):
    """What this package says of a source: it quotes no cell."""


def quietly(work: Callable[[], Any]) -> Any:
    """Do what an engine or a user's function does, whose errors may quote a cell that it cannot read.

    Raises
    ------
    SourceError
        In the place of any error but our own.
    """
    try:
        return work()
    except SourceError:
        raise
    except Exception as error:  # of whatever engine
        failed = type(error).__name__
    raise SourceError(
        f"source: what reads it ended the pass ({failed}). If it takes types from the first rows, have it "
        "read all columns as text (all_varchar=True, infer_schema=False), or give the path of the file"
    )


class LocalSource(Source):
    """A table of which this process reads part after part.

    Parameters
    ----------
    rows : int
        Rows of a part.
    """

    pieces_are_places = False
    """Whether pieces hold no rows, but say where they are."""

    def __init__(self, rows: int = PART_ROWS) -> None:
        self.rows = rows
        self.unchanged = Fingerprints()  # by the number of rows: whoever codes them compares more

    @abstractmethod
    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:
        """Parts of at most about ``rows`` rows, in order, not read yet."""

    def parts(self, names: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Parts, in order."""
        for piece in self.pieces(names):
            yield from piece.parts()

    def begins(self, names: Sequence[str], most: int) -> pd.DataFrame:
        """The first rows, their texts as objects."""
        found, missing = [self.empty(names).astype(object)], most
        for part in self.parts(names):
            found.append(with_objects(part.iloc[:missing]))
            missing -= len(part)
            if missing <= 0:
                break
        return pd.concat(found[1:] or found, ignore_index=True)

    def total(self, work: PartTask[T], names: Sequence[str]) -> T:
        """Counts of all parts: at any time each process has one part in memory, and one sum.

        Raises
        ------
        RuntimeError
            If there are more rows or fewer than in an earlier pass.
        """
        found, rows = packed(work, work.count(self.empty(names), 0)), 0
        shares, after = self._shares(names)
        self.progress.begin()
        for counts, read in self.crew.counted(work, shares, processes_after=after):
            found = found if counts is None else work.merge(found, counts)
            rows += read
            self.progress.read(read)
        self.unchanged.check([rows])
        return found

    def _shares(self, names: Sequence[str]) -> tuple[Iterator[Sequence[Piece]], int | None]:
        """Pieces that are counted together, and after how many of these processes pay, and not threads.

        One piece, or where they are places, a few for each worker.
        """
        pieces = self.pieces(names)
        if not self.pieces_are_places:
            return ([piece] for piece in pieces), FEW if self.counts_travel else None
        places = list(pieces)
        size = max(len(places) // (SHARES * self.crew.workers), 1)
        shares = (places[i : i + size] for i in range(0, len(places), size))
        return shares, 0 if len(places) >= MANY else None


@dataclass(frozen=True)
class InMemoryPart:
    """A part that is in memory."""

    number: int
    part: pd.DataFrame

    def parts(self) -> Iterator[pd.DataFrame]:
        """Itself."""
        yield self.part


def with_objects(part: pd.DataFrame) -> pd.DataFrame:
    """A part whose texts are objects, as rules read them, and not categories."""
    return part.astype(dict.fromkeys(part.select_dtypes("category"), object))


class FrameSource(LocalSource):
    """A pandas frame, which is in memory; its codes are not."""

    def __init__(self, table: pd.DataFrame, rows: int = PART_ROWS) -> None:
        super().__init__(rows)
        self._table = normalize_cells(mask_invalid_utf8(table.set_axis(table.columns.astype(str), axis=1)))

    @property
    def names(self) -> Sequence[str]:
        """Column names."""
        return list(self._table.columns)

    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:
        """Slices of the frame."""
        for number, start in enumerate(range(0, len(self._table), self.rows)):
            part = self._table.iloc[start : start + self.rows][list(names)].reset_index(drop=True)
            yield InMemoryPart(number, part)

    def empty(self, names: Sequence[str]) -> pd.DataFrame:
        """No row of some columns."""
        return self._table.iloc[:0][list(names)].reset_index(drop=True)


@dataclass(frozen=True)
class _RereadTask:
    """Work on parts some of whose columns are read first."""

    work: PartTask[Any]
    types: Mapping[str, ColumnType]
    spelling: Spelling

    def count(self, part: pd.DataFrame, number: int) -> Any:
        """Count one part."""
        return self.work.count(reparse_columns(part, self.types, self.spelling), number)

    def merge(self, one: Any, other: Any) -> Any:
        """As the work does."""
        return self.work.merge(one, other)


class RereadSource(Source):
    """A table some of whose columns are read as from a file, wherever its parts are."""

    def __init__(self, source: Source, types: Mapping[str, ColumnType], spelling: Spelling) -> None:
        self.source, self._types, self._spelling = source, types, spelling
        self.in_order, self.progress, self.uneven = source.in_order, source.progress, source.uneven
        self.crew, self.on_cluster = source.crew, source.on_cluster
        self.counts_travel = source.counts_travel

    @property
    def names(self) -> Sequence[str]:
        """Column names."""
        return self.source.names

    def check_form(self) -> None:
        """As the source does."""
        self.source.check_form()

    def empty(self, names: Sequence[str]) -> pd.DataFrame:
        """No row of some columns."""
        return reparse_columns(self.source.empty(names), self._types, self._spelling)

    def total(self, work: PartTask[T], names: Sequence[str]) -> T:
        """Counts of all parts."""
        found: T = self.source.total(_RereadTask(work, self._types, self._spelling), names)
        return found

    def begins(self, names: Sequence[str], most: int) -> pd.DataFrame:
        """The first rows as they were before."""
        return self.source.begins(names, most)

    def kept(self, work: PartTask[Any], names: Sequence[str]) -> Source:
        """As the source's workers keep it."""
        return self.source.kept(_RereadTask(work, self._types, self._spelling), names)


@dataclass(frozen=True)
class SourceType:
    """A kind of table that is read in parts.

    Attributes
    ----------
    name : str
        What it is called.
    holds : callable
        Whether something is such a table.
    opened : callable
        The table, types of its columns, rows of a part -> the source.
    """

    name: str
    holds: Callable[[Any], bool]
    opened: Callable[[Any, Mapping[str, ColumnType], int], Source]
