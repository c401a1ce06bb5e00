"""Interface of a table that is read in parts: sums over its parts.

A part is a pandas frame whose cells were parsed one by one, so that every engine gives the same codes. Tasks
return counts of a part, and counts of parts are added. Engines need no other operation, and only counts move
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
from sdv_plausible.sources.progress import NO_PROGRESS, Progress
from sdv_plausible.sources.worker_pool import SINGLE_WORKER, Piece, WorkerPool, compact
from sdv_plausible.table.cells.cell_series import normalize_cells
from sdv_plausible.table.columns.cell_reader import ColumnType, Spelling, reparse_columns
from sdv_plausible.table.files.storage_types import mask_invalid_utf8

PART_ROWS = 1 << 19
PART_CELLS = 12 * PART_ROWS  # about 50 MB as doubles
SHARES_PER_WORKER = 16  # so that workers finish together, and soon after an interrupt
SHARES_BEFORE_PROCESSES = 8  # small tables are counted before processes would start
# With fewer pieces, starting processes takes longer than threads lose by waiting for locks.
MIN_PIECES_FOR_PROCESSES = 64
T = TypeVar("T")


class PartTask(Protocol[T]):
    """A count over parts, and how the counts of two parts are merged.

    A task can be pickled, and its count is a function of the part and its number alone. A part that is
    counted again because a worker was lost gives the same counts (docs/explanation/proofs/parts.md, Lemmas 1
    and 4).
    """

    def count(self, part: pd.DataFrame, number: int) -> T:
        """Count one part."""
        ...

    def merge(self, one: T, other: T) -> T:
        """Merge the counts of two sets of parts."""
        ...


class Source(UnpicklableRows, ABC):
    """A table in parts."""

    in_order = True
    """Whether every pass has the same rows at the same positions of the same parts."""
    on_cluster = False
    """Whether other machines read the rows, as in :mod:`sdv_plausible.extensions.clusters.cluster_source`."""
    counts_travel = False
    """Whether counts are sent between processes and should be small."""
    progress: Progress = NO_PROGRESS
    """Reports the progress of a pass."""
    worker_pool: WorkerPool = SINGLE_WORKER
    """Workers that count parts on this machine."""
    storage: Mapping[str, str] = MappingProxyType({})
    """Storage types of columns from the public schema of files; synthetic rows get the same types."""
    uneven: tuple[str, ...] = ()
    """Columns that are missing in some files, or that occur in folder names."""

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """Column names."""

    @abstractmethod
    def empty(self, names: Sequence[str]) -> pd.DataFrame:
        """Return some columns without rows, with the dtypes of the parts."""

    @abstractmethod
    def total(self, task: PartTask[T], names: Sequence[str]) -> T:
        """Merge the counts of all parts of some columns: one pass."""

    def check_form(self) -> None:
        """Raise ValueError if the table is malformed, before the budget is charged."""

    def begins(self, names: Sequence[str], most: int) -> pd.DataFrame:  # noqa: ARG002
        """Return the first rows, for the data owner; none on a cluster, where the rows stay."""
        return self.empty(names)

    def persist(self, task: PartTask[Any], names: Sequence[str]) -> Source:
        """Return a source whose parts are the task's results, persisted by a cluster's workers."""
        raise NotImplementedError

    def bound_contributions(
        self, neighbours: Neighbours, names: Sequence[str], rng: KeyedRNG
    ) -> tuple[Source, bool]:
        """Bound the rows per person; also returns whether rows without a person were dropped."""
        raise NotImplementedError

    def close(self) -> None:
        """Release what workers persist."""


class SourceError(ValueError):
    """An error of this package about a source; its message quotes no cell."""


def raise_source_errors(call: Callable[[], Any]) -> Any:
    """Call code of an engine or a user, whose errors may quote cells that it cannot read.

    Raises
    ------
    SourceError
        In place of any other error.
    """
    try:
        return call()
    except SourceError:
        raise
    except Exception as error:  # of any engine
        failed = type(error).__name__
    raise SourceError(
        f"source: reading failed ({failed}). If the reader takes types from the first rows, read all "
        "columns as text (all_varchar=True, infer_schema=False), or give the path of the file"
    )


class LocalSource(Source):
    """A table that this process reads part by part.

    Parameters
    ----------
    rows : int
        Rows per part.
    """

    pieces_are_locations = False
    """Whether pieces hold no rows, only their locations."""

    def __init__(self, rows: int = PART_ROWS) -> None:
        self.rows = rows
        self.fingerprints = Fingerprints()  # compares the number of rows; encoders compare more

    @abstractmethod
    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:
        """Yield pieces of at most about ``rows`` rows, in order, not parsed yet."""

    def parts(self, names: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Yield the parts, in order."""
        for piece in self.pieces(names):
            yield from piece.parts()

    def begins(self, names: Sequence[str], most: int) -> pd.DataFrame:
        """Return the first rows, with texts as objects."""
        frames, missing = [self.empty(names).astype(object)], most
        for part in self.parts(names):
            frames.append(categories_to_objects(part.iloc[:missing]))
            missing -= len(part)
            if missing <= 0:
                break
        return pd.concat(frames[1:] or frames, ignore_index=True)

    def total(self, task: PartTask[T], names: Sequence[str]) -> T:
        """Merge the counts of all parts. Each process holds one part and one sum at a time.

        Raises
        ------
        RuntimeError
            If the number of rows differs from an earlier pass.
        """
        total, rows = compact(task, task.count(self.empty(names), 0)), 0
        shares, processes_after = self._shares(names)
        self.progress.begin()
        for counts, read in self.worker_pool.count_shares(task, shares, processes_after=processes_after):
            total = total if counts is None else task.merge(total, counts)
            rows += read
            self.progress.read(read)
        self.fingerprints.check([rows])
        return total

    def _shares(self, names: Sequence[str]) -> tuple[Iterator[Sequence[Piece]], int | None]:
        """Group pieces that are counted together: one piece or, if pieces are locations, a few.

        Also returns after how many shares processes pay off; None for threads.
        """
        pieces = self.pieces(names)
        if not self.pieces_are_locations:
            return ([piece] for piece in pieces), SHARES_BEFORE_PROCESSES if self.counts_travel else None
        locations = list(pieces)
        size = max(len(locations) // (SHARES_PER_WORKER * self.worker_pool.workers), 1)
        shares = (locations[i : i + size] for i in range(0, len(locations), size))
        return shares, 0 if len(locations) >= MIN_PIECES_FOR_PROCESSES else None


@dataclass(frozen=True)
class InMemoryPart:
    """A part in memory."""

    number: int
    part: pd.DataFrame

    def parts(self) -> Iterator[pd.DataFrame]:
        """Yield the part."""
        yield self.part


def categories_to_objects(part: pd.DataFrame) -> pd.DataFrame:
    """Convert categories of texts to objects, as rules expect."""
    return part.astype(dict.fromkeys(part.select_dtypes("category"), object))


class FrameSource(LocalSource):
    """A pandas frame in memory; its codes are not held in memory."""

    def __init__(self, table: pd.DataFrame, rows: int = PART_ROWS) -> None:
        super().__init__(rows)
        self._table = normalize_cells(mask_invalid_utf8(table.set_axis(table.columns.astype(str), axis=1)))

    @property
    def names(self) -> Sequence[str]:
        """Column names."""
        return list(self._table.columns)

    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:
        """Yield slices of the frame."""
        for number, start in enumerate(range(0, len(self._table), self.rows)):
            part = self._table.iloc[start : start + self.rows][list(names)].reset_index(drop=True)
            yield InMemoryPart(number, part)

    def empty(self, names: Sequence[str]) -> pd.DataFrame:
        """Return some columns without rows."""
        return self._table.iloc[:0][list(names)].reset_index(drop=True)


@dataclass(frozen=True)
class _RereadTask:
    """A task on parts some of whose columns are parsed again first."""

    task: PartTask[Any]
    types: Mapping[str, ColumnType]
    spelling: Spelling

    def count(self, part: pd.DataFrame, number: int) -> Any:
        """Count one part."""
        return self.task.count(reparse_columns(part, self.types, self.spelling), number)

    def merge(self, one: Any, other: Any) -> Any:
        """Merge as the wrapped task does."""
        return self.task.merge(one, other)


class RereadSource(Source):
    """A source some of whose columns are parsed again, as from a file."""

    def __init__(self, source: Source, types: Mapping[str, ColumnType], spelling: Spelling) -> None:
        self.source, self._types, self._spelling = source, types, spelling
        self.in_order, self.progress, self.uneven = source.in_order, source.progress, source.uneven
        self.worker_pool, self.on_cluster = source.worker_pool, source.on_cluster
        self.counts_travel = source.counts_travel

    @property
    def names(self) -> Sequence[str]:
        """Column names."""
        return self.source.names

    def check_form(self) -> None:
        """Check the wrapped source."""
        self.source.check_form()

    def empty(self, names: Sequence[str]) -> pd.DataFrame:
        """Return some columns without rows."""
        return reparse_columns(self.source.empty(names), self._types, self._spelling)

    def total(self, task: PartTask[T], names: Sequence[str]) -> T:
        """Merge the counts of all parts."""
        found: T = self.source.total(_RereadTask(task, self._types, self._spelling), names)
        return found

    def begins(self, names: Sequence[str], most: int) -> pd.DataFrame:
        """Return the first rows as the wrapped source has them."""
        return self.source.begins(names, most)

    def persist(self, task: PartTask[Any], names: Sequence[str]) -> Source:
        """Persist with the wrapped source's workers."""
        return self.source.persist(_RereadTask(task, self._types, self._spelling), names)


@dataclass(frozen=True)
class SourceType:
    """A kind of table that is read in parts.

    Attributes
    ----------
    name : str
        Name of the kind.
    holds : callable
        Whether an object is such a table.
    opened : callable
        The table, column types, rows per part -> the source.
    """

    name: str
    holds: Callable[[Any], bool]
    opened: Callable[[Any, Mapping[str, ColumnType], int], Source]


def library_of(data: Any) -> str:
    """Top-level package that defines the type of a table, such as "polars"."""
    return type(data).__module__.split(".")[0]
