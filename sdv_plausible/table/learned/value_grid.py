"""Public grids and post-processing for privately learned numbers and dates.

No function here sees noise-free counts.

Numbers become points of a :class:`ValueGrid`, whole numbers in the order of the values, so that one way of
cutting serves integers, decimals, doubles and dates. :class:`GridRuns` are runs of lattice points with noisy
counts.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from sdv_plausible.table.cells.date_texts import shows_date, shows_months
from sdv_plausible.table.cells.dates import NANOSECONDS, format_unit

Run = tuple[int, int]
Shown = Literal["moments", "months", "clock"]


class Bin(NamedTuple):
    """A run of lattice points and its noisy mass; infinite for a point that stays alone."""

    first: int
    last: int
    mass: float


CLOCK_DAY = int(np.datetime64("1900-01-01", "ns").view(np.int64))  # of a time of day without a date
TOP = 2**63 - 1024  # whole numbers beyond are clipped: the largest double below 2**63
SMALLEST, LARGEST = (
    -128,
    128,
)  # doubles: powers of two told apart; smaller ones count as about 0, larger ones are clipped
FIXED_DECIMALS = 6  # up to here decimals are a lattice of their own
MOST_DECIMALS = 14
DATE_UNITS = tuple(NANOSECONDS.values())
MONTH_STEPS = (1, 2, 3, 6, 12, 24, 60, 120)  # months that a part of a run of dates may have
TIME_STEPS = tuple(
    number * NANOSECONDS[unit]
    for unit, numbers in (
        ("s", (1, 2, 5, 10, 15, 30)), ("min", (1, 2, 5, 10, 15, 30)),
        ("h", (1, 2, 3, 6, 12)), ("D", (1, 2, 7, 14)),
    )
    for number in numbers
)  # fmt: skip
MOST_PARTS = 256  # of one cell in one round
JUMP = 4.0  # standard deviations of mass in the wrong place at which a bin ends
UNEVEN = 4.0  # what mass in the wrong place counts for when bins are merged; mass itself counts for 1
CERTAIN = 2.0  # standard deviations that a part of a bin may hold more than it seems before it is left out
MOST_AROUND = 16  # runs on either side of a value that stands alone in its column
MIDDLE = 0.15  # of the bins, what is left out at either end to see how far the bulk of a column reaches
TAPER = 1.5  # times as far from the bulk's middle as a bin beyond it begins: there it ends at the latest
DOUBLE_FRACTION = 52  # bits of a double after its leading one
DOUBLE_BITS = 50  # of a point, that are surely kept where it becomes a double
TRIMMED = 9  # times its width that a bin loses of an empty end at least, where it loses one
SURE = 4.0  # standard deviations above 0 at which a run of cells stands out from the noise
ALONE = 5.5  # the same for a run far from the others: of many empty runs some pass SURE
NEARLY, LIKELY = 3.0, 2.0  # the same if no run stands out, and for a run beside one that does
BEYOND = 0.25  # of the width of what stands out in a cell, how far its parts beyond are kept
EMPTY = 1.5  # standard deviations up to which a gap between such runs is left out, where it is wide


@dataclass(frozen=True, kw_only=True)
class ValueGrid:
    """An order-preserving numbering of the values that a column can show."""

    kind: Literal["integer", "float", "datetime"]
    # Float: digits after the point; None, or more than 6: the lattice of all doubles
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
        """Whether points are whole numbers of the last digit."""
        return self.kind != "datetime" and self._digits is not None

    @property
    def farthest(self) -> int:
        """Points that "as far again" is at most: of doubles those of one power of two."""
        return TOP if self.kind == "datetime" or self.is_decimal else 1 << DOUBLE_FRACTION

    def index(self, values: np.ndarray) -> np.ndarray:
        """Lattice points (int64) of finite numbers, or of nanoseconds (int64)."""
        if self.shown == "months":
            return values.view("M8[ns]").astype("M8[M]").view(np.int64)
        if self.kind == "datetime":
            return values // self.unit
        if self._digits is not None:
            with np.errstate(over="ignore"):  # one cell is no reason for a warning
                points = np.rint(values * 10.0**self._digits)
            return np.clip(points, -float(TOP), float(TOP)).astype(np.int64)
        top = math.nextafter(2.0**LARGEST, 0)
        bits = (np.clip(values, -top, top) + 0.0).view(np.int64)
        return np.where(bits >= 0, bits, np.iinfo(np.int64).min - bits)

    def value(self, point: int) -> float:
        """The number (or nanoseconds) at a lattice point."""
        if self.shown == "months":
            days = int(np.datetime64(int(point), "M").astype("M8[D]").astype(np.int64))
            return max(min(days * NANOSECONDS["D"], 2**63 - 1), -(2**63) + 1)
        if self.kind == "datetime":
            return max(point * self.unit, -(2**63) + 1)  # the first point may begin before what 64 bits hold
        if self.kind == "integer":
            return point * self.unit
        if self._digits is not None:
            return point / 10**self._digits
        size = float(np.array(abs(point), dtype=np.int64).view(np.float64))
        return size if point >= 0 else -size

    def last(self, point: int) -> float:
        """The last number (or nanoseconds) of a lattice point: of a month its last day."""
        value = self.value(point)  # of the first months 64 bits hold neither end
        return max(value, self.value(point + 1) - self.unit) if self.shown == "months" else value

    def grid(self) -> tuple[np.ndarray, np.ndarray]:
        """First and last point of a fixed grid: decades, hours of a clock, powers of two of either sign."""
        if self.shown == "months":
            starts = self.starts_of_years(10)
            return starts, np.append(starts[1:] - 1, 12 * (2263 - 1970) - 1)
        if self.shown == "clock":
            hour = NANOSECONDS["h"] // self.unit
            starts = CLOCK_DAY // self.unit + hour * np.arange(24, dtype=np.int64)
            return starts, starts + hour - 1
        if self.kind == "datetime":
            starts = self.starts_of_years(10)
            return starts, np.append(starts[1:] - 1, np.iinfo(np.int64).max // self.unit)
        if self._digits is None:
            powers = self.index(2.0 ** np.arange(SMALLEST, LARGEST))
            last = int(self.index(np.array([np.inf]))[0])
        else:
            powers, last = 2 ** np.arange(63, dtype=np.int64), TOP
        ends = np.append(powers[1:] - 1, last)
        middle = int(powers[0]) - 1
        return np.concatenate([-ends[::-1], [-middle], powers]), np.concatenate(
            [-powers[::-1], [middle], ends]
        )

    def parts(self, first: int, last: int, wanted: int) -> list[Run]:
        """At most about so many parts of a run, which begin at round numbers, or as the calendar does."""
        if self.kind != "datetime" and not self.is_decimal:
            return equal_parts(first, last, wanted)  # doubles: their bits
        length = (last - first + 1) / wanted
        if length <= 1:
            return [(point, point) for point in range(first, last + 1)]
        if self.kind == "datetime" and self.shown == "moments" and length * self.unit > 20 * NANOSECONDS["D"]:
            months = _least(length * self.unit / (30.4 * NANOSECONDS["D"]), MONTH_STEPS)
            begin, end = (
                int(np.datetime64(int(self.value(p)), "ns").astype("M8[M]").astype(int))
                for p in (first, last)
            )
            edges = np.arange(begin - begin % months + months, end + 1, months)
            edges = edges.astype("M8[M]").astype("M8[ns]").view(np.int64) // self.unit
        else:
            if self.shown == "months":
                step = _least(length, MONTH_STEPS)
            elif self.kind == "datetime":
                steps = [n for n in TIME_STEPS if n % self.unit == 0]
                step = _least(length * self.unit, steps or [self.unit]) // self.unit
            else:
                size = 10 ** math.floor(math.log10(length))
                step = next(n * size for n in (1, 2, 5, 10) if n * size >= length)
            edges = np.arange(first - first % step + step, last + 1, step)
        inside = [first, *(edge for edge in edges.tolist() if first < edge <= last)]
        return list(zip(inside, [*(edge - 1 for edge in inside[1:]), last], strict=True))

    def within_years(self, first: int, last: int) -> np.ndarray:
        """First points of the years in a run."""
        starts = self.starts_of_years(1)
        return starts[(starts > first) & (starts <= last)]

    def starts_of_years(self, step: int) -> np.ndarray:
        """First points of every so many years, from the first point on."""
        years = np.arange(1670, 2263, step)
        if self.shown == "months":
            return np.maximum(12 * (years - 1970), 12 * (1677 - 1970))
        starts = (years[1:] - 1970).astype("M8[Y]").astype("M8[ns]").view(np.int64) // self.unit
        return np.append((np.iinfo(np.int64).min + 1) // self.unit, starts)


def _least(length: float, steps: Sequence[int]) -> int:
    """The least step that is at least so long, or the longest."""
    return next((step for step in steps if step >= length), steps[-1])


def date_lattice(unit: int, form: str | None) -> ValueGrid:
    """Points of a column of dates: whole months, or those of a clock, where its format shows no more."""
    if shows_months(form):
        return ValueGrid(kind="datetime", unit=NANOSECONDS["D"], shown="months")
    if form is not None and not shows_date(form):  # midnight alone is no clock
        unit = format_unit(form) if unit == NANOSECONDS["D"] else unit
        return ValueGrid(kind="datetime", unit=unit, shown="clock")
    return ValueGrid(kind="datetime", unit=unit)


@dataclass(frozen=True)
class GridRuns:
    """Disjoint runs of lattice points in increasing order."""

    # Ends of each run, both inside
    first: np.ndarray
    last: np.ndarray
    counts: np.ndarray
    deviations: np.ndarray  # standard deviation of each count's noise

    def take(self, which: np.ndarray | slice) -> GridRuns:
        """Return the cells of a mask or an index."""
        return GridRuns(self.first[which], self.last[which], self.counts[which], self.deviations[which])

    def join(self, other: GridRuns) -> GridRuns:
        """Both sets of cells, sorted."""
        joined = GridRuns(
            np.concatenate([self.first, other.first]), np.concatenate([self.last, other.last]),
            np.concatenate([self.counts, other.counts]), np.concatenate([self.deviations, other.deviations]),
        )  # fmt: skip
        return joined.take(np.argsort(joined.first, kind="stable"))

    def and_again(self, other: GridRuns) -> GridRuns:
        """The same cells, with the means of two counts by inverse variance."""
        one, two = self.deviations**-2.0, other.deviations**-2.0
        counts = (one * self.counts + two * other.counts) / (one + two)
        return GridRuns(self.first, self.last, counts, (one + two) ** -0.5)

    @property
    def widths(self) -> np.ndarray:
        """Number of points of each cell, as doubles."""
        return self.last.astype(float) - self.first.astype(float) + 1

    def cut_at(self, points: Sequence[int]) -> GridRuns:
        """The same cells, of no counts, cut before and after some points."""
        runs = [
            run
            for first, last in zip(self.first.tolist(), self.last.tolist(), strict=True)
            for run in _without(first, last, [p for p in points if first <= p <= last])
        ]
        first, last = np.array(runs, dtype=np.int64).reshape(-1, 2).T
        return GridRuns(first, last, np.zeros(len(first)), np.zeros(len(first)))

    def standing_out(self) -> np.ndarray:
        """Mask of the cells of runs whose counts stand out from the noise together.

        A run of 1, 2, 4, ... neighbouring cells stands out by its sum, so that many light cells are found
        where no single one is. Beside such a run less is enough, and far from the others more is needed.
        """
        found = np.zeros(len(self.counts), dtype=bool)
        if not self.deviations.any():  # without noise
            return self.counts > 0
        sums, squares = _sums(self.counts), _sums(self.deviations**2)
        joined = np.append(False, self.first[1:] - self.last[:-1] <= 2)  # to the cell before, or its spike
        parts = np.cumsum(~joined)
        size, best = 1, (0.0, 0, 0)
        while size <= len(found):
            strength = (sums[size:] - sums[:-size]) / np.sqrt(squares[size:] - squares[:-size])
            whole = parts[size - 1 :] == parts[: len(found) - size + 1]  # no hole in between
            for start in np.argsort(-strength, kind="stable").tolist():
                if strength[start] <= min(SURE, NEARLY):
                    break
                if not whole[start] or found[start : start + size].any():
                    continue
                best = max(best, (float(strength[start]), start, size))
                if strength[start] > SURE:
                    found[start : start + size] = True
            size *= 2
        if not found.any():
            found[best[1] : best[1] + best[2]] = True
            return found
        self._grow(found, sums, squares, parts)
        return self._together(found, sums, squares)

    def _grow(self, found: np.ndarray, sums: np.ndarray, squares: np.ndarray, parts: np.ndarray) -> None:
        """Add runs beside those that stand out, where it is likely that they hold something."""
        grown = True
        while grown:
            grown = False
            for first, last in _runs(found):
                for size in (1, 2, 4):
                    for start in (first - size, last + 1):
                        end = start + size
                        if start < 0 or end > len(found) or found[start:end].any():
                            continue
                        beside = first if start < first else last
                        if parts[start] != parts[beside] or parts[end - 1] != parts[beside]:
                            continue
                        least = LIKELY if size == 1 else NEARLY  # of several wide cells noise lifts one
                        if sums[end] - sums[start] > least * math.sqrt(squares[end] - squares[start]):
                            found[start:end] = grown = True

    def _together(self, found: np.ndarray, sums: np.ndarray, squares: np.ndarray) -> np.ndarray:
        """Without runs far from the others that noise alone may have lifted."""
        runs = _runs(found)
        strength = [
            (sums[last + 1] - sums[first]) / math.sqrt(squares[last + 1] - squares[first])
            for first, last in runs
        ]
        most, widths = max(strength), self.widths
        spans = [(float(self.first[a]), float(self.last[b]), widths[a : b + 1].sum()) for a, b in runs]
        whole = sum(width for *_, width in spans)
        gaps = [after[0] - before[1] - 1 for before, after in pairwise(spans)]
        nearest = [min(pair) for pair in pairwise([math.inf, *gaps, math.inf])]
        runs = [
            run
            for run, s, gap, (*_, width) in zip(runs, strength, nearest, spans, strict=True)
            if s > ALONE or s == most or gap <= whole - width
        ]
        kept = np.zeros(len(found), dtype=bool)
        for first, last in runs:
            kept[first : last + 1] = True
        return kept

    def gaps(self, found: np.ndarray) -> np.ndarray:
        """Mask of the cells between those of a mask, but for wide gaps in which noise alone seems to be."""
        filled, widths = np.zeros(len(found), dtype=bool), self.widths
        for (_, before), (after, _) in pairwise(_runs(found)):
            gap = slice(before + 1, after)
            width = float(self.first[after]) - float(self.last[before]) - 1
            beside = min(widths[: before + 1][found[: before + 1]].sum(), widths[after:][found[after:]].sum())
            count, noise = self.counts[gap].sum(), math.sqrt((self.deviations[gap] ** 2).sum())
            filled[gap] = width <= beside / 2 or count > EMPTY * noise
        return filled

    def settled(self, *, alone: bool = False) -> GridRuns:
        """Cells that stand out together, and those between them, each run `alone`."""
        found = self._standing_alone() if alone else self.standing_out()
        return self.take(found | self.gaps(found))

    def _standing_alone(self) -> np.ndarray:
        """Mask of the cells of runs that stand out, each by itself."""
        found = self.standing_out()
        if self.deviations.any():
            for first, last in _runs(found):
                run = slice(first, last + 1)
                found[run] = self.counts[run].sum() > ALONE * math.sqrt((self.deviations[run] ** 2).sum())
        return found

    def within(
        self, spikes: Sequence[int], reach: float, *, alone: bool = False, farthest: int = TOP
    ) -> GridRuns:
        """Cells without what lies far beyond all that stands out, or far between."""
        # Few rows may be just beyond what stands out, up to ``reach`` times as far as that is wide. Farther
        # out nothing is seen, and the model would put there what noise leaves. ``alone``: spikes seem to hold
        # all rows, so that noise may have lifted any run.
        found = self._standing_alone() if alone else self.standing_out()
        kept = self.take(found)
        inside = [p for p in spikes if len(found) and self.first[0] <= p <= self.last[-1]]
        low = min([*kept.first.tolist(), *inside], default=None)
        high = max([*kept.last.tolist(), *inside], default=None)
        if low is None or high is None:
            return self
        far = min(max(math.ceil((high - low + 1) * reach), 1), farthest)
        low, high = max(low - far, int(self.first[0])), min(high + far, int(self.last[-1]))
        place = np.flatnonzero(found) if found.any() else np.array([len(found)])
        outer = (np.arange(len(found)) < place[0]) | (np.arange(len(found)) > place[-1])
        near = (self.last >= low) & (self.first <= high)
        cells = self.take((found | self.gaps(found) | outer) & near)
        first, last = np.maximum(cells.first, low), np.minimum(cells.last, high)
        return GridRuns(first, last, cells.counts, cells.deviations)


def _sums(values: np.ndarray) -> np.ndarray:
    """Sums of the first 0, 1, 2, ... values."""
    return np.concatenate([[0.0], np.cumsum(values)])


def _runs(found: np.ndarray) -> list[tuple[int, int]]:
    """First and last place of every run of a mask."""
    steps = np.diff(np.concatenate([[0], found.astype(np.int8), [0]]))
    return list(
        zip(np.flatnonzero(steps == 1).tolist(), (np.flatnonzero(steps == -1) - 1).tolist(), strict=True)
    )


def split_heavy(
    cells: GridRuns, target: float, lattice: ValueGrid | None = None, points: Sequence[int] = ()
) -> tuple[GridRuns, list[Run], list[int]]:
    """Cells that stay, the parts of those that hold two targets or more, and how many parts each has."""
    wide = (cells.counts >= 2 * target) & (cells.last > cells.first)
    parts: list[Run] = []
    numbers = []
    for first, last, count in zip(
        cells.first[wide].tolist(), cells.last[wide].tolist(), cells.counts[wide].tolist(), strict=True
    ):
        wanted = min(MOST_PARTS, 2 ** math.ceil(math.log2(4 * count / target)))
        found = equal_parts(first, last, wanted) if lattice is None else lattice.parts(first, last, wanted)
        inside = [point for point in points if first <= point <= last]  # stand alone, and are in no part
        if inside:
            found = [run for one in found for run in _without(*one, inside)]
        parts += found
        numbers.append(len(found))
    return cells.take(~wide), parts, numbers


def refined(
    parts: GridRuns, wholes: GridRuns, numbers: Sequence[int], spikes: Sequence[int], most: float = math.inf
) -> GridRuns:
    """Parts of cells that were counted before, their sums reconciled with these; empty ends are left out."""
    # Ends that may hold more than ``most`` rows stay.
    ends = np.cumsum(numbers)
    found = []
    for i, (start, end) in enumerate(zip(ends - numbers, ends, strict=True)):
        own, deviation = parts.take(slice(start, end)), float(wholes.deviations[i])
        noise = float((own.deviations**2).sum())
        if noise > 0:
            lacking = float(wholes.counts[i]) - own.counts.sum()
            counts = own.counts + noise / (noise + deviation**2) * lacking / (end - start)
            own = GridRuns(own.first, own.last, counts, own.deviations)
        mask = own.standing_out()
        rest = own.counts[~mask].sum()
        hidden = math.sqrt(deviation**2 + float((own.deviations[mask] ** 2).sum()))
        if mask.any() and rest <= LIKELY * hidden and rest + LIKELY * hidden <= most:
            inner = own.within(spikes, BEYOND)
            if inner.widths.sum() <= own.widths.sum() / 2:
                own = inner
        found.append(own)
    return GridRuns(
        *(np.concatenate([getattr(one, name) for one in found]) for name in GridRuns.__annotations__)
    )


def equal_parts(first: int, last: int, wanted: int) -> list[Run]:
    """Cut a run of lattice points into at most ``wanted`` runs of nearly equal length."""
    points = last - first + 1
    number = min(points, wanted)
    starts = [first + points * i // number for i in range(number + 1)]
    return [(start, end - 1) for start, end in zip(starts[:-1], starts[1:], strict=True)]


def make_bins(cells: GridRuns, spikes: Sequence[int], max_bins: int) -> list[Run]:
    """Bins of about equal noisy mass, and no wide ones far out; every spike is a bin of its own."""
    # ``cells`` hold the noisy counts of all rows but those of the spikes, lattice points that many rows hold;
    # there are fewer of these than ``max_bins``.
    points = sorted(spikes)
    pieces = [Bin(point, point, math.inf) for point in points]
    for first, last, count in zip(
        cells.first.tolist(), cells.last.tolist(), cells.counts.tolist(), strict=True
    ):
        pieces += [
            Bin(a, b, count * (b - a + 1) / (last - first + 1)) for a, b in _without(first, last, points)
        ]
    pieces.sort()
    quota = sum(max(p.mass, 0.0) for p in pieces if p.mass < math.inf) / max(1, max_bins - len(points))
    deviation = float(cells.deviations.max(initial=0.0))
    jump = JUMP * (deviation or math.sqrt(quota))  # without noise: chance of the rows
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
            or _moved(Bin(group[0].first, piece.last, mass), after) > jump
        ):
            bins.append(_trim(group, deviation))
            group = []
    floor = 0.1 * quota
    fitted = _fit_number(bins, max_bins, floor, jump)
    if ends := _tapered_ends(fitted, (max_bins - len(points)) // 4):
        fewer = _fit_number(bins, max_bins - len(ends), floor, jump)
        fitted = _fit_number(_cut(fewer, ends), max_bins, floor, jump)
    return [(b.first, b.last) for b in fitted]


def _tapered_ends(bins: Sequence[Bin], most: int) -> list[int]:
    """First points of bins beyond the bulk of a column, ever farther apart: the nearest of them."""
    # A bin is filled evenly, while mass decays outwards: one that reached from the last of many rows to the
    # end of a generous range would carry them all over it.
    if not bins:
        return []
    aside = int(MIDDLE * (len(bins) - 1))
    low, high = bins[aside].first, bins[-1 - aside].last
    middle, ends = (low + high) // 2, []
    step = max(1, (high - low) // 2, abs(middle) >> DOUBLE_BITS - 2)
    while step <= max(bins[-1].last - middle, middle - bins[0].first):
        ends += [middle - step, middle + step]
        step = max(step + 1, int(step * TAPER))
    return sorted([end for end in ends if any(b.first <= end <= b.last for b in bins)][:most])


def _cut(bins: Sequence[Bin], ends: Sequence[int]) -> list[Bin]:
    """Bins that begin anew at each of these points, with shares of the mass as they are wide."""
    # No nearer to its ends than doubles can tell apart.
    cut = []
    for b in bins:
        apart = max(abs(b.first), abs(b.last)) >> DOUBLE_BITS
        firsts = [b.first, *(e for e in ends if b.first + apart < e <= b.last - apart)]
        lasts = [*(e - 1 for e in firsts[1:]), b.last]
        cut += [
            Bin(first, last, b.mass * (last - first + 1) / (b.last - b.first + 1))
            for first, last in zip(firsts, lasts, strict=True)
        ]
    return cut


def between(points: Sequence[int], first: int, last: int) -> list[Run]:
    """Every point alone, and one run for all that is between two of them."""
    return sorted([*((p, p) for p in points), *_without(first, last, sorted(points))])


def around(point: int, first: int, last: int) -> list[Run]:
    """One point alone, and runs about it, each as wide as all before it: to ``MOST_AROUND`` at either end."""
    starts = [2**power for power in range(64)][:: max(1, (last - first).bit_length() // MOST_AROUND)]
    above = [point + start for start in starts if point + start <= last]
    below = [point - start for start in starts if point - start >= first]
    runs = [(a, b - 1) for a, b in pairwise([*above, last + 1])] if above else []
    runs += [(b + 1, a) for a, b in pairwise([*below, first - 1])] if below else []
    return sorted([(point, point), *runs])


def _without(first: int, last: int, points: Sequence[int]) -> list[Run]:
    """The run first..last without some of its points."""
    runs = []
    for point in points:
        if first <= point <= last:
            if point > first:
                runs.append((first, point - 1))
            first = point + 1
    return [*runs, (first, last)] if first <= last else runs


def may_be_trimmed(dropped: int, kept: int) -> bool:
    """Whether so many points may be dropped before or after a bin that keeps so many; none always may."""
    return dropped == 0 or dropped >= TRIMMED * kept


def _trim(group: list[Bin], deviation: float) -> Bin:
    """One bin of neighbouring pieces, less an end that takes most of its width and surely holds little."""
    # ``deviation`` is that of the noise on a piece.
    mass = sum(p.mass for p in group)
    for end in (1, -1):
        line = group[::end]
        for cut in range(len(line) - 1, 0, -1):
            width = sum(p.last - p.first + 1 for p in line[:cut])
            if (
                may_be_trimmed(width, group[-1].last - group[0].first + 1 - width)
                and sum(p.mass for p in line[:cut]) + CERTAIN * deviation * math.sqrt(cut) <= 0.1 * mass
            ):
                group = line[cut:][::end]
                break
    return Bin(group[0].first, group[-1].last, mass)


def _loss(first: Bin, second: Bin, jump: float) -> float:
    """What is lost if two bins become one: their rows are told apart no more, and get the same density."""
    # What moves counts as far as noise alone would not make it.
    mass = first.mass + second.mass
    return math.inf if math.isinf(mass) else mass + UNEVEN * max(0.0, _moved(first, second) - jump)


def _moved(first: Bin, second: Bin) -> float:
    """Mass that moves from the denser to the other of two bins if both get the same density."""
    widths = [b.last - b.first + 1 for b in (first, second)]
    return abs(first.mass * widths[1] - second.mass * widths[0]) / sum(widths)


def _fit_number(bins: list[Bin], max_bins: int, floor: float, jump: float) -> list[Bin]:
    """Merge the lightest neighbours, or halve the heaviest bins, until there are ``max_bins``."""
    # Halving goes beyond what was counted: the model has more budget than the domain to tell the halves
    # apart.
    bins = list(bins)
    while len(bins) > max_bins:
        losses = [_loss(a, b, jump) for a, b in pairwise(bins)]
        i = min(range(len(losses)), key=losses.__getitem__)
        bins[i : i + 2] = [Bin(bins[i].first, bins[i + 1].last, bins[i].mass + bins[i + 1].mass)]
    heap = [(-max(b.mass, floor), b) for b in bins if b.last > b.first]
    whole = [b for b in bins if b.last == b.first]
    heapq.heapify(heap)
    while heap and len(heap) + len(whole) < max_bins:
        weight, widest = heapq.heappop(heap)
        for first, last in equal_parts(widest.first, widest.last, 2):
            half = Bin(first, last, -weight / 2)
            if last > first:
                heapq.heappush(heap, (weight / 2, half))
            else:
                whole.append(half)
    return sorted([*whole, *(b for _, b in heap)])
