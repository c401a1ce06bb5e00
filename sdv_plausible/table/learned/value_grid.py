"""Value grids, and bins of numbers and dates from noisy counts.

Every function here is post-processing: none sees exact counts.

A :class:`ValueGrid` maps values to integer points in the order of the values, so that integers, decimals,
doubles and dates share one binning algorithm. :class:`GridRuns` are runs of grid points with noisy counts.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from sdv_plausible.table.cells.dates import NANOSECONDS, format_unit, shows_date, shows_months

Run = tuple[int, int]
Shown = Literal["moments", "months", "clock"]


class Bin(NamedTuple):
    """A run of grid points and its noisy mass, which is infinite for a single-value bin."""

    first: int
    last: int
    mass: float


CLOCK_DAY = int(np.datetime64("1900-01-01", "ns").view(np.int64))  # date of clock times without a date
TOP = 2**63 - 1024  # largest double below 2**63; larger integers are clipped
# Exponents of doubles: smaller magnitudes count as zero, larger ones are clipped.
SMALLEST, LARGEST = -128, 128
FIXED_DECIMALS = 6  # decimals beyond this use the grid of all doubles
MOST_DECIMALS = 14
DATE_UNITS = tuple(NANOSECONDS.values())
MONTH_STEPS = (1, 2, 3, 6, 12, 24, 60, 120)  # widths of a part of a run of dates, in months
TIME_STEPS = tuple(
    number * NANOSECONDS[unit]
    for unit, numbers in (
        ("s", (1, 2, 5, 10, 15, 30)), ("min", (1, 2, 5, 10, 15, 30)),
        ("h", (1, 2, 3, 6, 12)), ("D", (1, 2, 7, 14)),
    )
    for number in numbers
)  # fmt: skip
MOST_PARTS = 256  # parts per cell and round
JUMP = 4.0  # displaced mass that ends a bin, in standard deviations of the noise
UNEVEN = 4.0  # weight of displaced mass, relative to mass, when bins are merged
CERTAIN = 2.0  # standard deviations added to the mass of a bin's end before the end is trimmed
MOST_AROUND = 16  # bins on either side of the only frequent value of a column
MIDDLE = 0.15  # share of the bins at either end that does not belong to the bulk of a column
TAPER = 1.5  # largest ratio of the distances of a bin's two ends from the middle of the bulk
DOUBLE_FRACTION = 52  # fraction bits of a double
DOUBLE_BITS = 50  # bits of a point that survive the conversion to a double
TRIMMED = 9  # least ratio of the width trimmed from a bin to the width that remains
SURE = 4.0  # standard deviations above 0 at which a run of cells is significant
ALONE = 5.5  # the same for an isolated run: some of many empty runs pass SURE
NEARLY, LIKELY = 3.0, 2.0  # the same if no run passes SURE, and for a neighbour of a significant run
BEYOND = 0.25  # margin kept around the significant parts of a cell, as a share of their width
EMPTY = 1.5  # standard deviations up to which a wide gap between significant runs is dropped


@dataclass(frozen=True, kw_only=True)
class ValueGrid:
    """An order-preserving map from the values of a column to integers."""

    kind: Literal["integer", "float", "datetime"]
    # Float: digits after the point. None or more than 6: the grid of all doubles.
    decimals: int | None = None
    unit: int = 1  # datetime: nanoseconds between two points
    shown: Shown = "moments"  # datetime: what the format shows; months are points

    @property
    def _digits(self) -> int | None:
        if self.kind == "integer":
            return 0
        return self.decimals if self.decimals is not None and self.decimals <= FIXED_DECIMALS else None

    @property
    def is_decimal(self) -> bool:
        """Whether a point is a multiple of the last decimal digit."""
        return self.kind != "datetime" and self._digits is not None

    @property
    def max_margin(self) -> int:
        """Largest margin around a run, in points. For doubles: the points of one power of two."""
        return TOP if self.kind == "datetime" or self.is_decimal else 1 << DOUBLE_FRACTION

    def index(self, values: np.ndarray) -> np.ndarray:
        """Grid points (int64) of finite numbers, or of nanoseconds (int64)."""
        if self.shown == "months":
            return values.view("M8[ns]").astype("M8[M]").view(np.int64)
        if self.kind == "datetime":
            return values // self.unit
        if self._digits is not None:
            with np.errstate(over="ignore"):  # clipped below
                points = np.rint(values * 10.0**self._digits)
            return np.clip(points, -float(TOP), float(TOP)).astype(np.int64)
        top = math.nextafter(2.0**LARGEST, 0)
        bits = (np.clip(values, -top, top) + 0.0).view(np.int64)
        return np.where(bits >= 0, bits, np.iinfo(np.int64).min - bits)

    def value(self, point: int) -> float:
        """The number (or nanoseconds) at a grid point."""
        if self.shown == "months":
            days = int(np.datetime64(int(point), "M").astype("M8[D]").astype(np.int64))
            return max(min(days * NANOSECONDS["D"], 2**63 - 1), -(2**63) + 1)
        if self.kind == "datetime":
            return max(
                point * self.unit, -(2**63) + 1
            )  # the first point may start below the range of 64 bits
        if self.kind == "integer":
            return point * self.unit
        if self._digits is not None:
            return point / 10**self._digits
        size = float(np.array(abs(point), dtype=np.int64).view(np.float64))
        return size if point >= 0 else -size

    def last(self, point: int) -> float:
        """The last number (or nanoseconds) of a grid point; for a month, its last day."""
        value = self.value(point)  # 64 bits hold neither end of the first months
        return max(value, self.value(point + 1) - self.unit) if self.shown == "months" else value

    def grid(self) -> tuple[np.ndarray, np.ndarray]:
        """First and last points of fixed cells: decades, hours of a clock, powers of two of either sign."""
        if self.shown == "months":
            starts = self.year_starts(10)
            return starts, np.append(starts[1:] - 1, 12 * (2263 - 1970) - 1)
        if self.shown == "clock":
            hour = NANOSECONDS["h"] // self.unit
            starts = CLOCK_DAY // self.unit + hour * np.arange(24, dtype=np.int64)
            return starts, starts + hour - 1
        if self.kind == "datetime":
            starts = self.year_starts(10)
            return starts, np.append(starts[1:] - 1, np.iinfo(np.int64).max // self.unit)
        if self._digits is None:
            powers = self.index(2.0 ** np.arange(SMALLEST, LARGEST))
            last = int(self.index(np.array([np.inf]))[0])
        else:
            powers, last = 2 ** np.arange(63, dtype=np.int64), TOP
        ends = np.append(powers[1:] - 1, last)
        center = int(powers[0]) - 1
        return np.concatenate([-ends[::-1], [-center], powers]), np.concatenate(
            [-powers[::-1], [center], ends]
        )

    def parts(self, first: int, last: int, wanted: int) -> list[Run]:
        """Split a run at round numbers or calendar dates into about ``wanted`` parts."""
        if self.kind != "datetime" and not self.is_decimal:
            return equal_parts(first, last, wanted)  # doubles: equal numbers of bit patterns
        length = (last - first + 1) / wanted
        if length <= 1:
            return [(point, point) for point in range(first, last + 1)]
        if self.kind == "datetime" and self.shown == "moments" and length * self.unit > 20 * NANOSECONDS["D"]:
            months = _smallest_step(length * self.unit / (30.4 * NANOSECONDS["D"]), MONTH_STEPS)
            begin, end = (
                int(np.datetime64(int(self.value(p)), "ns").astype("M8[M]").astype(int))
                for p in (first, last)
            )
            edges = np.arange(begin - begin % months + months, end + 1, months)
            edges = edges.astype("M8[M]").astype("M8[ns]").view(np.int64) // self.unit
        else:
            if self.shown == "months":
                step = _smallest_step(length, MONTH_STEPS)
            elif self.kind == "datetime":
                steps = [n for n in TIME_STEPS if n % self.unit == 0]
                step = _smallest_step(length * self.unit, steps or [self.unit]) // self.unit
            else:
                size = 10 ** math.floor(math.log10(length))
                step = next(n * size for n in (1, 2, 5, 10) if n * size >= length)
            edges = np.arange(first - first % step + step, last + 1, step)
        inside = [first, *(edge for edge in edges.tolist() if first < edge <= last)]
        return list(zip(inside, [*(edge - 1 for edge in inside[1:]), last], strict=True))

    def year_starts_within(self, first: int, last: int) -> np.ndarray:
        """First points of the years inside a run."""
        starts = self.year_starts(1)
        return starts[(starts > first) & (starts <= last)]

    def year_starts(self, step: int) -> np.ndarray:
        """First points of every ``step`` years, starting with the first point of the grid."""
        years = np.arange(1670, 2263, step)
        if self.shown == "months":
            return np.maximum(12 * (years - 1970), 12 * (1677 - 1970))
        starts = (years[1:] - 1970).astype("M8[Y]").astype("M8[ns]").view(np.int64) // self.unit
        return np.append((np.iinfo(np.int64).min + 1) // self.unit, starts)


def _smallest_step(length: float, steps: Sequence[int]) -> int:
    """The smallest step of at least ``length``, or else the largest step."""
    return next((step for step in steps if step >= length), steps[-1])


def date_grid(unit: int, date_format: str | None) -> ValueGrid:
    """Grid of a column of dates; of months or clock times if the format shows no more."""
    if shows_months(date_format):
        return ValueGrid(kind="datetime", unit=NANOSECONDS["D"], shown="months")
    if date_format is not None and not shows_date(
        date_format
    ):  # a unit of days means that every time is midnight
        unit = format_unit(date_format) if unit == NANOSECONDS["D"] else unit
        return ValueGrid(kind="datetime", unit=unit, shown="clock")
    return ValueGrid(kind="datetime", unit=unit)


@dataclass(frozen=True)
class GridRuns:
    """Disjoint runs of grid points in increasing order."""

    # First and last point of each run, inclusive.
    first: np.ndarray
    last: np.ndarray
    counts: np.ndarray
    deviations: np.ndarray  # standard deviation of each count's noise

    def take(self, which: np.ndarray | slice) -> GridRuns:
        """The cells at a mask or slice."""
        return GridRuns(self.first[which], self.last[which], self.counts[which], self.deviations[which])

    def join(self, other: GridRuns) -> GridRuns:
        """The union of two sets of cells, sorted."""
        joined = GridRuns(
            np.concatenate([self.first, other.first]), np.concatenate([self.last, other.last]),
            np.concatenate([self.counts, other.counts]), np.concatenate([self.deviations, other.deviations]),
        )  # fmt: skip
        return joined.take(np.argsort(joined.first, kind="stable"))

    def average_with(self, other: GridRuns) -> GridRuns:
        """The same cells, with inverse-variance weighted means of two counts."""
        own_precision, other_precision = self.deviations**-2.0, other.deviations**-2.0
        total = own_precision + other_precision
        counts = (own_precision * self.counts + other_precision * other.counts) / total
        return GridRuns(self.first, self.last, counts, total**-0.5)

    @property
    def widths(self) -> np.ndarray:
        """Number of points in each cell, as doubles."""
        return self.last.astype(float) - self.first.astype(float) + 1

    def cut_at(self, points: Sequence[int]) -> GridRuns:
        """The same cells without ``points``, split there; counts are 0."""
        runs = [
            run
            for first, last in zip(self.first.tolist(), self.last.tolist(), strict=True)
            for run in _split_around(first, last, [p for p in points if first <= p <= last])
        ]
        first, last = np.array(runs, dtype=np.int64).reshape(-1, 2).T
        return GridRuns(first, last, np.zeros(len(first)), np.zeros(len(first)))

    def significant(self) -> np.ndarray:
        """Mask of cells in runs whose summed count is significant.

        Runs of 1, 2, 4, ... adjacent cells are tested by their sums, so that many light cells can be
        significant together. Neighbours of a significant run need less, isolated runs need more.
        """
        mask = np.zeros(len(self.counts), dtype=bool)
        if not self.deviations.any():  # without noise
            return self.counts > 0
        sums, squares = _prefix_sums(self.counts), _prefix_sums(self.deviations**2)
        # Cells of a block are adjacent, or separated by a spike.
        block = np.cumsum(~np.append(False, self.first[1:] - self.last[:-1] <= 2))
        length, best = 1, (0.0, 0, 0)
        while length <= len(mask):
            strength = (sums[length:] - sums[:-length]) / np.sqrt(squares[length:] - squares[:-length])
            is_contiguous = block[length - 1 :] == block[: len(mask) - length + 1]  # no gap inside the window
            for start in np.argsort(-strength, kind="stable").tolist():
                if strength[start] <= min(SURE, NEARLY):
                    break
                if not is_contiguous[start] or mask[start : start + length].any():
                    continue
                best = max(best, (float(strength[start]), start, length))
                if strength[start] > SURE:
                    mask[start : start + length] = True
            length *= 2
        if not mask.any():
            mask[best[1] : best[1] + best[2]] = True
            return mask
        self._grow(mask, sums, squares, block)
        return self._drop_isolated(mask, sums, squares)

    def _grow(self, mask: np.ndarray, sums: np.ndarray, squares: np.ndarray, block: np.ndarray) -> None:
        """Add neighbours of significant runs whose counts pass the lower thresholds."""
        grown = True
        while grown:
            grown = False
            for first, last in _mask_runs(mask):
                for size in (1, 2, 4):
                    for start in (first - size, last + 1):
                        end = start + size
                        if start < 0 or end > len(mask) or mask[start:end].any():
                            continue
                        neighbour = first if start < first else last
                        if block[start] != block[neighbour] or block[end - 1] != block[neighbour]:
                            continue
                        threshold = LIKELY if size == 1 else NEARLY  # noise lifts one of several wide cells
                        if sums[end] - sums[start] > threshold * math.sqrt(squares[end] - squares[start]):
                            mask[start:end] = grown = True

    def _drop_isolated(self, mask: np.ndarray, sums: np.ndarray, squares: np.ndarray) -> np.ndarray:
        """Drop isolated runs that may be noise alone."""
        runs = _mask_runs(mask)
        strength = [
            (sums[last + 1] - sums[first]) / math.sqrt(squares[last + 1] - squares[first])
            for first, last in runs
        ]
        strongest, widths = max(strength), self.widths
        spans = [(float(self.first[a]), float(self.last[b]), widths[a : b + 1].sum()) for a, b in runs]
        total_width = sum(width for *_, width in spans)
        gaps = [after[0] - before[1] - 1 for before, after in pairwise(spans)]
        nearest = [min(pair) for pair in pairwise([math.inf, *gaps, math.inf])]
        runs = [
            run
            for run, run_strength, gap, (*_, width) in zip(runs, strength, nearest, spans, strict=True)
            if run_strength > ALONE or run_strength == strongest or gap <= total_width - width
        ]
        retained = np.zeros(len(mask), dtype=bool)
        for first, last in runs:
            retained[first : last + 1] = True
        return retained

    def gap_mask(self, mask: np.ndarray) -> np.ndarray:
        """Mask of the cells between significant runs, except wide gaps that look empty."""
        filled, widths = np.zeros(len(mask), dtype=bool), self.widths
        for (_, before), (after, _) in pairwise(_mask_runs(mask)):
            gap = slice(before + 1, after)
            width = float(self.first[after]) - float(self.last[before]) - 1
            adjacent_width = min(
                widths[: before + 1][mask[: before + 1]].sum(), widths[after:][mask[after:]].sum()
            )
            count, noise = self.counts[gap].sum(), math.sqrt((self.deviations[gap] ** 2).sum())
            filled[gap] = width <= adjacent_width / 2 or count > EMPTY * noise
        return filled

    def occupied(self, *, spikes_only: bool = False) -> GridRuns:
        """Significant cells and the gaps between them; with ``spikes_only``, each run must pass by itself."""
        mask = self._individually_significant() if spikes_only else self.significant()
        return self.take(mask | self.gap_mask(mask))

    def _individually_significant(self) -> np.ndarray:
        """Mask of the cells of runs that pass ``ALONE`` by themselves."""
        mask = self.significant()
        if self.deviations.any():
            for first, last in _mask_runs(mask):
                run = slice(first, last + 1)
                mask[run] = self.counts[run].sum() > ALONE * math.sqrt((self.deviations[run] ** 2).sum())
        return mask

    def within(
        self, spikes: Sequence[int], reach: float, *, spikes_only: bool = False, max_margin: int = TOP
    ) -> GridRuns:
        """Cells within a margin of the significant ones, without wide empty gaps."""
        # The margin is ``reach`` times the width of the significant cells: few rows may lie just beyond them.
        # Farther out, the model would only place noise. ``spikes_only``: the spikes seem to hold all rows, so
        # that any run may be noise.
        mask = self._individually_significant() if spikes_only else self.significant()
        significant = self.take(mask)
        inside = [p for p in spikes if len(mask) and self.first[0] <= p <= self.last[-1]]
        low = min([*significant.first.tolist(), *inside], default=None)
        high = max([*significant.last.tolist(), *inside], default=None)
        if low is None or high is None:
            return self
        margin = min(max(math.ceil((high - low + 1) * reach), 1), max_margin)
        low, high = max(low - margin, int(self.first[0])), min(high + margin, int(self.last[-1]))
        positions = np.flatnonzero(mask) if mask.any() else np.array([len(mask)])
        outer = (np.arange(len(mask)) < positions[0]) | (np.arange(len(mask)) > positions[-1])
        in_reach = (self.last >= low) & (self.first <= high)
        cells = self.take((mask | self.gap_mask(mask) | outer) & in_reach)
        first, last = np.maximum(cells.first, low), np.minimum(cells.last, high)
        return GridRuns(first, last, cells.counts, cells.deviations)


def _prefix_sums(values: np.ndarray) -> np.ndarray:
    """Sums of the first 0, 1, 2, ... values."""
    return np.concatenate([[0.0], np.cumsum(values)])


def _mask_runs(mask: np.ndarray) -> list[tuple[int, int]]:
    """First and last index of every run of a mask."""
    steps = np.diff(np.concatenate([[0], mask.astype(np.int8), [0]]))
    return list(
        zip(np.flatnonzero(steps == 1).tolist(), (np.flatnonzero(steps == -1) - 1).tolist(), strict=True)
    )


def split_heavy(
    cells: GridRuns, target: float, grid: ValueGrid | None = None, points: Sequence[int] = ()
) -> tuple[GridRuns, list[Run], list[int]]:
    """Light cells, the parts of cells with at least twice the target count, and the parts per cell."""
    wide = (cells.counts >= 2 * target) & (cells.last > cells.first)
    parts: list[Run] = []
    parts_per_cell = []
    for first, last, count in zip(
        cells.first[wide].tolist(), cells.last[wide].tolist(), cells.counts[wide].tolist(), strict=True
    ):
        wanted = min(MOST_PARTS, 2 ** math.ceil(math.log2(4 * count / target)))
        pieces = equal_parts(first, last, wanted) if grid is None else grid.parts(first, last, wanted)
        spikes = [point for point in points if first <= point <= last]  # spikes belong to no part
        if spikes:
            pieces = [run for piece in pieces for run in _split_around(*piece, spikes)]
        parts += pieces
        parts_per_cell.append(len(pieces))
    return cells.take(~wide), parts, parts_per_cell


def reconcile_parts(
    parts: GridRuns,
    cells: GridRuns,
    parts_per_cell: Sequence[int],
    spikes: Sequence[int],
    max_dropped: float = math.inf,
) -> GridRuns:
    """Reconcile the counts of parts with those of their cells, and drop empty ends."""
    # Ends that may hold more than ``max_dropped`` rows stay.
    ends = np.cumsum(parts_per_cell)
    reconciled = []
    for i, (start, end) in enumerate(zip(ends - parts_per_cell, ends, strict=True)):
        cell_parts, deviation = parts.take(slice(start, end)), float(cells.deviations[i])
        noise = float((cell_parts.deviations**2).sum())
        if noise > 0:
            deficit = float(cells.counts[i]) - cell_parts.counts.sum()
            counts = cell_parts.counts + noise / (noise + deviation**2) * deficit / (end - start)
            cell_parts = GridRuns(cell_parts.first, cell_parts.last, counts, cell_parts.deviations)
        mask = cell_parts.significant()
        rest = cell_parts.counts[~mask].sum()
        hidden = math.sqrt(deviation**2 + float((cell_parts.deviations[mask] ** 2).sum()))
        if mask.any() and rest <= LIKELY * hidden and rest + LIKELY * hidden <= max_dropped:
            inner = cell_parts.within(spikes, BEYOND)
            if inner.widths.sum() <= cell_parts.widths.sum() / 2:
                cell_parts = inner
        reconciled.append(cell_parts)
    return GridRuns(
        *(
            np.concatenate([getattr(result, name) for result in reconciled])
            for name in GridRuns.__annotations__
        )
    )


def equal_parts(first: int, last: int, wanted: int) -> list[Run]:
    """Split a run of grid points into at most ``wanted`` runs of nearly equal length."""
    points = last - first + 1
    count = min(points, wanted)
    starts = [first + points * i // count for i in range(count + 1)]
    return [(start, end - 1) for start, end in zip(starts[:-1], starts[1:], strict=True)]


def make_bins(cells: GridRuns, spikes: Sequence[int], max_bins: int) -> list[Run]:
    """Bins of about equal noisy mass, narrower than ``TAPER`` allows far out; every spike is a bin."""
    # Spikes are frequent grid points. ``cells`` hold the noisy counts of all other rows. There are fewer
    # spikes than ``max_bins``.
    points = sorted(spikes)
    pieces = [Bin(point, point, math.inf) for point in points]
    for first, last, count in zip(
        cells.first.tolist(), cells.last.tolist(), cells.counts.tolist(), strict=True
    ):
        pieces += [
            Bin(a, b, count * (b - a + 1) / (last - first + 1)) for a, b in _split_around(first, last, points)
        ]
    pieces.sort()
    quota = sum(max(p.mass, 0.0) for p in pieces if p.mass < math.inf) / max(1, max_bins - len(points))
    deviation = float(cells.deviations.max(initial=0.0))
    jump = JUMP * (deviation or math.sqrt(quota))  # without noise: sampling error of the rows
    bins: list[Bin] = []
    group: list[Bin] = []
    for i, piece in enumerate(pieces):
        after = pieces[i + 1] if i + 1 < len(pieces) else None
        group.append(piece)
        mass = sum(p.mass for p in group)
        if (
            after is None
            or mass >= quota
            or math.isinf(after.mass)
            or after.first > piece.last + 1
            or _displaced_mass(Bin(group[0].first, piece.last, mass), after) > jump
        ):
            bins.append(_trim(group, deviation))
            group = []
    floor = 0.1 * quota
    fitted = _fit_bin_count(bins, max_bins, floor, jump)
    if ends := _tapered_ends(fitted, (max_bins - len(points)) // 4):
        fewer = _fit_bin_count(bins, max_bins - len(ends), floor, jump)
        fitted = _fit_bin_count(_split_at(fewer, ends), max_bins, floor, jump)
    return [(b.first, b.last) for b in fitted]


def _tapered_ends(bins: Sequence[Bin], max_count: int) -> list[int]:
    """Bin boundaries at growing distances beyond the bulk of a column; the ``max_count`` nearest ones."""
    # The model fills a bin uniformly, while mass decays outwards. A single bin from the bulk to the end of a
    # generous range would spread rows over all of it.
    if not bins:
        return []
    skipped = int(MIDDLE * (len(bins) - 1))
    low, high = bins[skipped].first, bins[-1 - skipped].last
    middle, ends = (low + high) // 2, []
    step = max(1, (high - low) // 2, abs(middle) >> DOUBLE_BITS - 2)
    while step <= max(bins[-1].last - middle, middle - bins[0].first):
        ends += [middle - step, middle + step]
        step = max(step + 1, int(step * TAPER))
    return sorted([end for end in ends if any(b.first <= end <= b.last for b in bins)][:max_count])


def _split_at(bins: Sequence[Bin], ends: Sequence[int]) -> list[Bin]:
    """Split bins at these points, with mass in proportion to width."""
    # Points that doubles cannot distinguish from an end of the bin are skipped.
    pieces = []
    for b in bins:
        resolution = max(abs(b.first), abs(b.last)) >> DOUBLE_BITS
        firsts = [b.first, *(e for e in ends if b.first + resolution < e <= b.last - resolution)]
        lasts = [*(e - 1 for e in firsts[1:]), b.last]
        pieces += [
            Bin(first, last, b.mass * (last - first + 1) / (b.last - b.first + 1))
            for first, last in zip(firsts, lasts, strict=True)
        ]
    return pieces


def bins_between(points: Sequence[int], first: int, last: int) -> list[Run]:
    """One bin per point, and one bin for each gap between points."""
    return sorted([*((p, p) for p in points), *_split_around(first, last, sorted(points))])


def bins_around(point: int, first: int, last: int) -> list[Run]:
    """A single-value bin, and at most ``MOST_AROUND`` bins of doubling widths on either side."""
    starts = [2**power for power in range(64)][:: max(1, (last - first).bit_length() // MOST_AROUND)]
    above = [point + start for start in starts if point + start <= last]
    below = [point - start for start in starts if point - start >= first]
    runs = [(a, b - 1) for a, b in pairwise([*above, last + 1])] if above else []
    runs += [(b + 1, a) for a, b in pairwise([*below, first - 1])] if below else []
    return sorted([(point, point), *runs])


def _split_around(first: int, last: int, points: Sequence[int]) -> list[Run]:
    """The runs that remain of first..last without some points."""
    runs = []
    for point in points:
        if first <= point <= last:
            if point > first:
                runs.append((first, point - 1))
            first = point + 1
    return [*runs, (first, last)] if first <= last else runs


def can_trim(dropped: int, kept: int) -> bool:
    """Whether a bin of ``kept`` points may lose ``dropped`` points; 0 are always allowed."""
    return dropped == 0 or dropped >= TRIMMED * kept


def _trim(group: list[Bin], deviation: float) -> Bin:
    """Merge adjacent pieces into one bin, without a wide and nearly empty end."""
    # ``deviation``: standard deviation of the noise on a piece.
    mass = sum(p.mass for p in group)
    for end in (1, -1):
        ordered = group[::end]
        for cut in range(len(ordered) - 1, 0, -1):
            width = sum(p.last - p.first + 1 for p in ordered[:cut])
            if (
                can_trim(width, group[-1].last - group[0].first + 1 - width)
                and sum(p.mass for p in ordered[:cut]) + CERTAIN * deviation * math.sqrt(cut) <= 0.1 * mass
            ):
                group = ordered[cut:][::end]
                break
    return Bin(group[0].first, group[-1].last, mass)


def _merge_loss(first: Bin, second: Bin, jump: float) -> float:
    """Loss of merging two bins: their mass, and the mass displaced beyond what noise explains."""
    mass = first.mass + second.mass
    return math.inf if math.isinf(mass) else mass + UNEVEN * max(0.0, _displaced_mass(first, second) - jump)


def _displaced_mass(first: Bin, second: Bin) -> float:
    """Mass that moves from the denser of two bins to the other if both get one density."""
    widths = [b.last - b.first + 1 for b in (first, second)]
    return abs(first.mass * widths[1] - second.mass * widths[0]) / sum(widths)


def _fit_bin_count(bins: list[Bin], max_bins: int, floor: float, jump: float) -> list[Bin]:
    """Merge the lightest neighbours, or halve the heaviest bins, until there are ``max_bins``."""
    # The halves are not counted: the model has more budget than the domain to distinguish them.
    bins = list(bins)
    while len(bins) > max_bins:
        losses = [_merge_loss(a, b, jump) for a, b in pairwise(bins)]
        i = min(range(len(losses)), key=losses.__getitem__)
        bins[i : i + 2] = [Bin(bins[i].first, bins[i + 1].last, bins[i].mass + bins[i + 1].mass)]
    heap = [(-max(b.mass, floor), b) for b in bins if b.last > b.first]
    single_points = [b for b in bins if b.last == b.first]
    heapq.heapify(heap)
    while heap and len(heap) + len(single_points) < max_bins:
        weight, widest = heapq.heappop(heap)
        for first, last in equal_parts(widest.first, widest.last, 2):
            half = Bin(first, last, -weight / 2)
            if last > first:
                heapq.heappush(heap, (weight / 2, half))
            else:
                single_points.append(half)
    return sorted([*single_points, *(b for _, b in heap)])


STARTS, ENDS = "month starts", "month ends"
CLOCK, YEAR_MONTHS = "clock times", "year and month"
CLASSES = 7
NONE = 3.0  # standard deviations up to which a class counts as empty
SEEN = 5.0  # standard deviations that the classes of a pattern need together
MOST_HUNDREDS = 400  # largest span of numbers with a pattern, in hundreds
MOST_POINTS = 2500  # largest number of single-date bins


def has_patterns(grid: ValueGrid) -> bool:
    """Whether the grid has patterns: days and integers do."""
    if grid.kind == "datetime":
        return grid.shown == "moments" and grid.unit == NANOSECONDS["D"]
    return grid.kind == "integer"


def class_of(points: np.ndarray, grid: ValueGrid) -> np.ndarray:
    """Class of each point, below ``CLASSES``.

    Days: first of a year, of another quarter, of another month (0 to 2); last of these (3 to 5); others (6).
    Integers: below 100 (0); others by their last two digits: 1 to 12 (1), 0 and 13 to 59 (2), 60 to 99 (3).
    """
    if grid.kind == "datetime":
        days, next_days = points.astype("M8[D]"), (points + 1).astype("M8[D]")
        months, next_months = days.astype("M8[M]"), next_days.astype("M8[M]")
        month_number = months.astype(np.int64)
        first_class = np.where(month_number % 12 == 0, 0, np.where(month_number % 3 == 0, 1, 2))
        next_month_number = next_months.astype(np.int64)
        last_class = np.where(next_month_number % 12 == 0, 3, np.where(next_month_number % 3 == 0, 4, 5))
        is_first, is_last = days == months.astype("M8[D]"), next_days == next_months.astype("M8[D]")
        return np.where(is_first, first_class, np.where(is_last, last_class, 6))
    digits = points % 100
    class_from_100 = np.where(digits >= 60, 3, np.where((digits >= 1) & (digits <= 12), 1, 2))
    return np.where(points < 100, 0, class_from_100)


def pattern_of(counts: Sequence[float] | np.ndarray, sigma: float, grid: ValueGrid) -> tuple[str, int] | None:
    """Pattern of noisy class counts, with the step of dates in months (else 1), or None."""
    table = np.asarray(counts, dtype=float)
    empty, threshold = NONE * sigma, SEEN * sigma
    if grid.kind == "datetime":
        for name, classes, others in (
            (STARTS, table[:3], table[3:]),
            (ENDS, table[3:6], table[[0, 1, 2, 6]]),
        ):
            others_empty = (others <= empty).all() and others.sum() <= empty * math.sqrt(len(others))
            if others_empty and classes.sum() > threshold:
                step = 12 if (classes[1:] <= empty).all() else 3 if classes[2] <= empty else 1
                return name, step
        return None
    if table[1:3].sum() <= threshold or table[3] > empty:
        return None
    if table[2] > empty:
        return CLOCK, 1
    return (YEAR_MONTHS, 1) if table[0] <= empty else None


def restrict_to(pattern: tuple[str, int], bins: Sequence[Run], grid: ValueGrid) -> list[Run]:
    """Restrict bins to possible points; unchanged if there would be too many."""
    name, step = pattern
    if not bins:
        return []
    low, high = bins[0][0], bins[-1][1]
    if grid.kind == "datetime":
        first, last = (np.datetime64(int(day), "D").astype("M8[M]").astype(np.int64) for day in (low, high))
        months = np.arange(first - first % step, last + 2 * step, step)
        days = months.astype("M8[M]").astype("M8[D]").view(np.int64) - (1 if name == ENDS else 0)
        runs = [(day, day) for day in days.tolist() if low <= day <= high]
        max_bins = MOST_POINTS
    else:
        if high // 100 - low // 100 > MOST_HUNDREDS or low < 0:
            return list(bins)
        ends = (0, 59) if name == CLOCK else (1, 12)
        runs = [(100 * n + ends[0], 100 * n + ends[1]) for n in range(low // 100, high // 100 + 1)]
        max_bins = 4 * MOST_HUNDREDS
    restricted: list[Run] = []
    start = 0
    for first, last in bins:
        while start < len(runs) and runs[start][1] < first:
            start += 1
        index = start
        while index < len(runs) and runs[index][0] <= last:
            restricted.append((max(first, runs[index][0]), min(last, runs[index][1])))
            index += 1
    return restricted if 0 < len(restricted) <= max_bins else list(bins)
