"""Sources whose rows are on other machines: the interface of engines, and the work of their workers.

Workers read rows, and only counts are returned. Codes are made once and stay with the workers during a fit.
An engine may make a part again, for example when a worker is lost. If the table has changed, or has its rows
in another order, the codes differ, and the next pass stops the fit (docs/explanation/proofs/parts.md, Lemma
6).
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
from sdv_plausible.sources.worker_pool import compact
from sdv_plausible.table.cells.cell_series import normalize_cells
from sdv_plausible.table.files.storage_types import has_invalid_utf8, mask_invalid_utf8

T = TypeVar("T")
MERGE_FAN_IN = 8
BUCKETS_PER_PARTITION = 4  # several buckets per partition balance the load


class ClusterSource(Source):
    """A table in parts that workers read; engines are subclasses."""

    in_order = False  # a shuffle may give its rows in any order
    on_cluster = counts_travel = True

    @abstractmethod
    def persist(self, task: PartTask[TracedPart], names: Sequence[str]) -> Source:
        """Return a source whose parts are the task's results, made once and kept by the workers.

        It is in order, and compares the fingerprints of its parts with every pass: see
        :class:`FingerprintedTask`. The task merges small results, so that one worker task can count several.
        :meth:`close` releases them.
        """

    @abstractmethod
    def select(self, choice: RowChoice, names: Sequence[str]) -> Source:
        """At most ``choice.most`` rows of each person, after a shuffle that brings persons together.

        The rows are kept by the workers, in order, and their fingerprints are compared with every pass.
        """

    def bound_contributions(
        self, neighbours: Neighbours, names: Sequence[str], rng: KeyedRNG
    ) -> tuple[Source, bool]:
        """Bound the rows per person by a shuffle; also returns whether rows without a person were dropped."""
        assert neighbours.person is not None
        unnamed = self.total(UnnamedRowsTask(neighbours.person), [neighbours.person])
        choice = RowChoice(neighbours.person, neighbours.rows, rng.bytes(32))
        return self.select(choice, [*names, *({neighbours.person} - set(names))]), unnamed > 0


@dataclass(frozen=True, eq=False)
class FingerprintedTask:
    """A task on kept parts that also returns their fingerprint."""

    task: PartTask[Any]
    names: tuple[str, ...] = ()

    def count(self, part: Any, number: int) -> tuple[Any, Fingerprint]:
        """Count one part."""
        rows = part.rows[list(self.names)] if self.names else part.rows
        return self.task.count(rows, number), part.digest

    def compact(self, counted: tuple[Any, Fingerprint]) -> tuple[Any, Fingerprint]:
        """Make the counts smaller as the task does."""
        return compact(self.task, counted[0]), counted[1]

    def merge(self, one: tuple[Any, Fingerprint], other: tuple[Any, Fingerprint]) -> tuple[Any, Fingerprint]:
        """Add."""
        return self.task.merge(one[0], other[0]), one[1] + other[1]


def merge_all(task: PartTask[T], sums: Iterable[T]) -> T:
    """Merge several counts."""
    merged, *others = sums
    for other in others:
        merged = task.merge(merged, other)
    return merged


def group_small_parts(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Group consecutive parts into tasks of at most ``PART_ROWS`` rows; larger parts get their own."""
    group, size = [0], lengths[0]
    for number, length in enumerate(lengths[1:], 1):
        if size + length > PART_ROWS:
            yield group
            group, size = [], 0
        group.append(number)
        size += length
    yield group


def group_by_worker(places: Sequence[Any], threads: Mapping[Any, int]) -> Iterator[list[int]]:
    """Group parts on the same worker into tasks, at least one per thread."""
    # ``places``: worker of each part.
    # ``threads``: threads of each worker; 1 for workers that it lacks.
    for worker in sorted(set(places)):
        on_worker = np.flatnonzero([w == worker for w in places])
        tasks = max(threads.get(worker, 1), -(-len(on_worker) // MERGE_FAN_IN))
        yield from (group.tolist() for group in np.array_split(on_worker, min(tasks, len(on_worker))))


def normalise_part(part: pd.DataFrame, types: pd.Series[Any]) -> pd.DataFrame:
    """Convert a part to the dtypes that rules and encoders expect, whatever its worker stored."""
    part = part.copy(deep=False)
    part.index = pd.RangeIndex(len(part))
    mismatching = [name for name in part.columns if not _has_dtype(part[name].dtype, types[name])]
    part = normalize_cells(_with_categories(part))  # first, since some datetimes cannot be objects
    for name in mismatching:  # the schema was checked; other storage is parsed cell by cell
        part[name] = pd.Series(list(part[name]), dtype=object)
        if isinstance(types[name], pd.StringDtype):  # as Dask converts objects in other partitions
            part[name] = part[name].astype(types[name])
    return normalize_cells(mask_invalid_utf8(part)) if mismatching else mask_invalid_utf8(part)


def _has_dtype(dtype: Any, expected: Any) -> bool:
    """Whether a column has the dtype of the schema; texts may also be categories."""
    if isinstance(dtype, pd.CategoricalDtype) and isinstance(expected, pd.StringDtype):
        return all(isinstance(text, str) for text in dtype.categories)
    return bool(dtype == expected)


def _with_categories(part: pd.DataFrame) -> pd.DataFrame:
    """Convert Arrow texts to categories, as those of files are, so that each distinct text is parsed once."""
    for position, (_, column) in enumerate(part.items()):
        if isinstance(column.dtype, pd.StringDtype) and column.dtype.storage == "pyarrow":
            texts = column.array.__arrow_array__().combine_chunks().dictionary_encode()
            if not (has_invalid_utf8(texts) or texts.dictionary.null_count):
                part.isetitem(position, texts.to_pandas())
    return part
