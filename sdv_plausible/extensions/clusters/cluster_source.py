"""Tables whose rows live on other machines: what an engine of workers offers, and what its workers do.

Workers see rows; counts alone come back. Codes are made once and stay with the workers, for as long as a fit
takes. An engine may make a part again, as when a worker is lost: from a table that has changed, or has its
rows in another order, other codes come, and the pass that meets them stops the fit
(docs/explanation/proofs/parts.md, Lemma 6).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from sdv_plausible.extensions.clusters.shuffled_rows import RowChoice, UnnamedRowsTask
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.sources.fingerprints import Fingerprint, TracedPart
from sdv_plausible.sources.source import PART_ROWS, PartTask, Source
from sdv_plausible.sources.worker_pool import packed
from sdv_plausible.table.cells.cell_series import normalize_cells
from sdv_plausible.table.files.storage_types import has_invalid_utf8, mask_invalid_utf8

T = TypeVar("T")
ADDED_AT_ONCE = 8
PLACES = 4  # to which rows are dealt, for each partition: several even out


class ClusterSource(Source):
    """A table in parts that workers read; an engine is a subclass."""

    in_order = False  # a shuffle may give its rows in any order
    on_cluster = counts_travel = True

    @abstractmethod
    def kept(self, work: PartTask[TracedPart], names: Sequence[str]) -> Source:
        """A source whose parts are what work makes of each part: made once, and kept by the workers.

        It is in order, and holds what tells its parts, when they are made, against every pass: see
        :class:`FingerprintedTask`. Work merges what it made: a task may count several. What is kept is given up by
        :meth:`close`.
        """

    @abstractmethod
    def chosen(self, choice: RowChoice, names: Sequence[str]) -> Source:
        """At most so many rows of each person, some columns, after a shuffle that brings people together.

        It is kept by the workers, in order, and held against every pass.
        """

    def bounded(self, neighbours: Neighbours, names: Sequence[str], coins: KeyedRNG) -> tuple[Source, bool]:
        """At most so many rows of each person, after a shuffle; and whether rows were left out for lack of a name."""
        assert neighbours.person is not None
        unnamed = self.total(UnnamedRowsTask(neighbours.person), [neighbours.person])
        choice = RowChoice(neighbours.person, neighbours.rows, coins.bytes(32))
        return self.chosen(choice, [*names, *({neighbours.person} - set(names))]), unnamed > 0


@dataclass(frozen=True, eq=False)
class FingerprintedTask:
    """Work on parts that are kept, which says of each part what tells it from others."""

    work: PartTask[Any]
    names: tuple[str, ...] = ()

    def count(self, part: Any, number: int) -> tuple[Any, Fingerprint]:
        """Count one part."""
        rows = part.rows[list(self.names)] if self.names else part.rows
        return self.work.count(rows, number), part.told

    def packed(self, counted: tuple[Any, Fingerprint]) -> tuple[Any, Fingerprint]:
        """As the work does."""
        return packed(self.work, counted[0]), counted[1]

    def merge(self, one: tuple[Any, Fingerprint], other: tuple[Any, Fingerprint]) -> tuple[Any, Fingerprint]:
        """Add them."""
        return self.work.merge(one[0], other[0]), one[1] + other[1]


def added(work: PartTask[T], sums: Iterable[T]) -> T:
    """The sum of some counts, on whatever machine they are."""
    found, *others = sums
    for other in others:
        found = work.merge(found, other)
    return found


def together(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Numbers of parts that one task counts: neighbours, of at most ``PART_ROWS`` if they are several."""
    held, size = [0], lengths[0]
    for number, length in enumerate(lengths[1:], 1):
        if size + length > PART_ROWS:
            yield held
            held, size = [], 0
        held.append(number)
        size += length
    yield held


def side_by_side(places: Sequence[Any], threads: Mapping[Any, int]) -> Iterator[list[int]]:
    """Numbers of neighbours that one task sums up: of one worker, one for each of its threads, or more.

    Parameters
    ----------
    places : sequence
        Where each is.
    threads : mapping
        Of each place; one of those that it does not name.
    """
    for place in sorted(set(places)):
        here = np.flatnonzero([other == place for other in places])
        tasks = max(threads.get(place, 1), -(-len(here) // ADDED_AT_ONCE))
        yield from (some.tolist() for some in np.array_split(here, min(tasks, len(here))))


def as_read(part: pd.DataFrame, types: pd.Series[Any]) -> pd.DataFrame:
    """A part as rules and codes read it, whatever its worker stored it as."""
    part = part.copy(deep=False)
    part.index = pd.RangeIndex(len(part))
    otherwise = [name for name in part.columns if not _is_stored(part[name].dtype, types[name])]
    part = normalize_cells(_with_categories(part))  # first: some moments have no object
    for name in otherwise:  # the schema was checked; what is stored otherwise is read cell by cell
        part[name] = pd.Series(list(part[name]), dtype=object)
        if isinstance(types[name], pd.StringDtype):  # what Dask makes of the objects of other partitions
            part[name] = part[name].astype(types[name])
    return normalize_cells(mask_invalid_utf8(part)) if otherwise else mask_invalid_utf8(part)


def _is_stored(found: Any, told: Any) -> bool:
    """Whether a column is stored as its schema says, texts also as categories."""
    if isinstance(found, pd.CategoricalDtype) and isinstance(told, pd.StringDtype):
        return all(isinstance(text, str) for text in found.categories)
    return bool(found == told)


def _with_categories(part: pd.DataFrame) -> pd.DataFrame:
    """A part whose texts of Arrow are categories, as those of files are: each is looked up once."""
    for place, (_, column) in enumerate(part.items()):
        if isinstance(column.dtype, pd.StringDtype) and column.dtype.storage == "pyarrow":
            texts = column.array.__arrow_array__().combine_chunks().dictionary_encode()
            if not (has_invalid_utf8(texts) or texts.dictionary.null_count):
                part.isetitem(place, texts.to_pandas())
    return part
