"""Engine for exact counts of rows in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from weakref import WeakKeyDictionary

import numpy as np

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.plausible_seeds import PrefixGroups
from sdv_plausible.queries.count_queries import Axes, Axis, UnpicklableRows, number_axes, shape
from sdv_plausible.utils.counting import Covering, is_worthwhile, joint_counts, pair_counts


class CodeArray(UnpicklableRows):
    """Rows as integer codes in memory; an engine of exact counts.

    ``codes``, shape (n, m), is fastest in column-major order.
    """

    def __init__(self, codes: np.ndarray, cardinalities: Sequence[int]) -> None:
        self._codes = codes
        self._cardinalities = tuple(cardinalities)
        self._buckets: WeakKeyDictionary[Axis, np.ndarray] = WeakKeyDictionary()

    def num_rows(self) -> int:
        """Return the number of rows."""
        return len(self._codes)

    def tables(self, sets: Sequence[Axes]) -> Iterator[np.ndarray]:
        """Count every set of axes by ``bincount`` of mixed-radix cell numbers."""
        for axes in sets:
            yield self._table(axes)

    def tables_together(self, sets: Sequence[Axes]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Count many tables at once: positions of sets of equal shape, and their tables."""
        # Many rows: count larger tables and take margins. Few rows: count pairs as products of 0/1 matrices.
        axes, places = number_axes(sets)
        if is_worthwhile(len(self._codes), len(sets), len(axes)):
            covering = Covering.of(places, shape(axes), len(self._codes))
            covered = covering.tables(self.counts(axes, covering))
            yield from ((np.array([i]), table[None]) for i, table in covered)
            return
        pairs = np.array([i for i, axes_of in enumerate(sets) if len(axes_of) == 2], dtype=int)
        pair_tables = pair_counts(
            [self._along(axis) for axis in axes], shape(axes), [places[i] for i in pairs.tolist()]
        )
        yield from ((pairs[positions], tables) for positions, tables in pair_tables)
        others = sorted(set(range(len(sets))).difference(pairs.tolist()))
        yield from ((np.array([i]), self._table(sets[i])[None]) for i in others)

    def counts(self, axes: Axes, covering: Covering) -> Iterator[np.ndarray]:
        """Count all blocks of a covering of sets of axes."""
        return covering.counts([self._along(axis) for axis in axes], len(self._codes))

    def _table(self, axes: Axes) -> np.ndarray:
        if not axes:
            return np.array(len(self._codes), dtype=np.int64)
        if len(axes) == 1:
            return np.bincount(self._along(axes[0]), minlength=axes[0].size)
        return joint_counts((self._along(axis) for axis in axes), shape(axes))

    def _along(self, axis: Axis) -> np.ndarray:
        """Bucket of every row, cached for as long as the axis exists."""
        if axis.is_identity:
            return self._codes[:, axis.column]
        if axis not in self._buckets:
            small = axis.buckets.astype(np.min_scalar_type(axis.size))
            self._buckets[axis] = small.take(self._codes[:, axis.column])
        return self._buckets[axis]

    def groups(self, columns: Sequence[int], least: int) -> tuple[np.ndarray, np.ndarray]:
        """Combinations of codes with at least ``least`` rows, and their sizes."""
        ordered = np.asfortranarray(self._codes[:, list(columns)])
        prefixes, sizes = PrefixGroups(ordered, [self._cardinalities[j] for j in columns]).groups(
            len(columns)
        )
        large = sizes >= least
        return prefixes[large], sizes[large]

    def part(self, low: float, high: float, rng: KeyedRNG) -> CodeArray:
        """Rows whose own secret number is in [low, high)."""
        if low <= 0 and high >= 1:
            return self
        uniform = rng.spawn("rows").uniform(len(self._codes))
        return CodeArray(self._codes[(low <= uniform) & (uniform < high)], self._cardinalities)

    def records(self) -> np.ndarray:
        """Codes of all rows, (n, m)."""
        return self._codes
