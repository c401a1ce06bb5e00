"""Public grids and post-processing for privately learned numbers and dates.

No function here sees noise-free counts.

Numbers become points of a :class:`Lattice`, whole numbers in the order of the values, so that one way of
cutting serves integers, decimals, doubles and dates. :class:`Cells` are runs of lattice points with noisy
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


class Bin(NamedTuple):
    """A run of lattice points and its noisy mass; infinite for a point that stays alone."""

    first: int
    last: int
    mass: float


CLOCK_DAY = int(np.datetime64("1900-01-01", "ns").view(np.int64))  # of a time of day without a date
TOP = 2**62  # whole numbers beyond are clipped
SMALLEST, LARGEST = (
    -128,
    128,
)  # doubles: powers of two told apart; smaller ones count as about 0, larger ones are clipped
FIXED_DECIMALS = 6  # up to here decimals are a lattice of their own
MOST_DECIMALS = 14
DATE_UNITS = tuple(NANOSECONDS.values())
MOST_PARTS = 256  # of one cell in one round
JUMP = 4.0  # standard deviations of mass in the wrong place at which a bin ends
UNEVEN = 4.0  # what mass in the wrong place counts for when bins are merged; mass itself counts for 1
CERTAIN = 2.0  # standard deviations that a part of a bin may hold more than it seems before it is left out
MIDDLE = 0.15  # of the bins, what is left out at either end to see how far the bulk of a column reaches
TAPER = 1.5  # times as far from the bulk's middle as a bin beyond it begins: there it ends at the latest
DOUBLE_BITS = 50  # of a point, that are surely kept where it becomes a double
TRIMMED = 9  # times its width that a bin loses of an empty end at least, where it loses one
SURE = 4.0  # standard deviations above 0 at which a cell of a public grid counts as inhabited
ALONE = 5.5  # the same for one with nothing beside it: of a wide table's empty cells some pass SURE
NEARLY, LIKELY = 3.0, 2.5  # the same if there is no such cell, and for a cell beside one


@dataclass(frozen=True, kw_only=True)
class Lattice:
    """An order-preserving numbering of the values that a column can show."""

    kind: Literal["integer", "float", "datetime"]
    # Float: digits after the point; None, or more than 6: the lattice of all doubles
    decimals: int | None = None
    unit: int = 1  # datetime: nanoseconds between two points
    shown: Literal["moments", "months", "clock"] = (
        "moments"  # datetime: what the format shows; months are points
    )

    @property
    def _digits(self) -> int | None:
        if self.kind == "integer":
            return 0
        return self.decimals if self.decimals is not None and self.decimals <= FIXED_DECIMALS else None

    @property
    def is_decimal(self) -> bool:
        """Whether points are whole numbers of the last digit."""
        return self.kind != "datetime" and self._digits is not None

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
        return self.value(point + 1) - self.unit if self.shown == "months" else self.value(point)

    def grid(self) -> tuple[np.ndarray, np.ndarray]:
        """First and last point of a fixed grid: years, hours of a clock, or powers of two of either sign."""
        if self.shown == "months":
            starts = 12 * np.arange(1677 - 1970, 2263 - 1970, dtype=np.int64)
            return starts, starts + 11
        if self.shown == "clock":
            hour = NANOSECONDS["h"] // self.unit
            starts = CLOCK_DAY // self.unit + hour * np.arange(24, dtype=np.int64)
            return starts, starts + hour - 1
        if self.kind == "datetime":
            starts = np.arange("1678", "2263", dtype="M8[Y]").astype("M8[ns]").view(np.int64) // self.unit
            ends = np.append(starts[1:] - 1, np.iinfo(np.int64).max // self.unit)
            starts[0] = (np.iinfo(np.int64).min + 1) // self.unit
            return starts, ends
        if self._digits is None:
            powers = self.index(2.0 ** np.arange(SMALLEST, LARGEST))
            last = int(self.index(np.array([np.inf]))[0])
        else:
            powers, last = 2 ** np.arange(62, dtype=np.int64), TOP
        ends = np.append(powers[1:] - 1, last)
        middle = int(powers[0]) - 1
        return np.concatenate([-ends[::-1], [-middle], powers]), np.concatenate(
            [-powers[::-1], [middle], ends]
        )


def date_lattice(unit: int, form: str | None) -> Lattice:
    """Points of a column of dates: whole months, or those of a clock, where its format shows no more."""
    if shows_months(form):
        return Lattice(kind="datetime", unit=NANOSECONDS["D"], shown="months")
    if form is not None and not shows_date(form):  # midnight alone is no clock
        unit = format_unit(form) if unit == NANOSECONDS["D"] else unit
        return Lattice(kind="datetime", unit=unit, shown="clock")
    return Lattice(kind="datetime", unit=unit)


@dataclass(frozen=True)
class Cells:
    """Disjoint runs of lattice points in increasing order."""

    # Ends of each run, both inside
    first: np.ndarray
    last: np.ndarray
    counts: np.ndarray
    deviations: np.ndarray  # standard deviation of each count's noise

    def take(self, which: np.ndarray) -> Cells:
        """Return the cells of a mask or an index."""
        return Cells(self.first[which], self.last[which], self.counts[which], self.deviations[which])

    def join(self, other: Cells) -> Cells:
        """Both sets of cells, sorted."""
        joined = Cells(
            np.concatenate([self.first, other.first]), np.concatenate([self.last, other.last]),
            np.concatenate([self.counts, other.counts]), np.concatenate([self.deviations, other.deviations]),
        )  # fmt: skip
        return joined.take(np.argsort(joined.first, kind="stable"))

    def inhabited(self) -> Cells:
        """Cells whose count stands out from the noise, and their neighbours where that is likely too."""
        # If none does, the largest if it nearly does. A cell with nothing beside it must stand out more:
        # noise alone would put ages in the billions.

        def beside(found: np.ndarray) -> np.ndarray:
            return np.append(found[1:], False) | np.append(False, found[:-1])

        strength = np.where(self.counts > 0, math.inf, 0.0)  # without noise
        np.divide(self.counts, self.deviations, out=strength, where=self.deviations > 0)
        sure = strength > SURE
        if not sure.any():
            return self.take(strength == max(strength.max(), NEARLY))
        likely, grown = strength > LIKELY, np.zeros_like(sure)
        while (grown != sure).any():
            grown = sure
            sure = sure | (beside(sure) & likely)
        together = sure & (beside(sure) | (strength > ALONE))
        return self.take(together if together.any() else sure)


def split_heavy(cells: Cells, target: float) -> tuple[Cells, list[Run]]:
    """Cells that stay, and equal parts of those that hold two targets or more."""
    wide = (cells.counts >= 2 * target) & (cells.last > cells.first)
    parts: list[Run] = []
    for first, last, count in zip(cells.first[wide], cells.last[wide], cells.counts[wide], strict=True):
        wanted = min(MOST_PARTS, 2 ** math.ceil(math.log2(4 * count / target)))
        parts += equal_parts(int(first), int(last), wanted)
    return cells.take(~wide), parts


def equal_parts(first: int, last: int, wanted: int) -> list[Run]:
    """Cut a run of lattice points into at most ``wanted`` runs of nearly equal length."""
    points = last - first + 1
    number = min(points, wanted)
    starts = [first + points * i // number for i in range(number + 1)]
    return [(start, end - 1) for start, end in zip(starts[:-1], starts[1:], strict=True)]


def make_bins(cells: Cells, spikes: Sequence[int], max_bins: int) -> list[Run]:
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
