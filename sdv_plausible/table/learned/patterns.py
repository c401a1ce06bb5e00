"""Patterns of values that leave most points of a range impossible: month starts, quarter ends, clock times.

One table of counts of public classes shows which pattern a column keeps to. What follows from it is
post-processing: bins then hold possible points alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sdv_plausible.table.cells.dates import NANOSECONDS
from sdv_plausible.table.learned.value_grid import Run, ValueGrid

STARTS, ENDS = "month starts", "month ends"
CLOCK, YEAR_MONTHS = "clock times", "year and month"
CLASSES = 7
NONE = 3.0  # standard deviations up to which a class may be empty
SEEN = 5.0  # standard deviations that the classes of a pattern must have together
MOST_HUNDREDS = 400  # that numbers of a pattern may span
MOST_POINTS = 2500  # single dates that may be bins of their own


def has_patterns(lattice: ValueGrid) -> bool:
    """Whether the points may keep to a pattern that is known: days, or whole numbers."""
    if lattice.kind == "datetime":
        return lattice.shown == "moments" and lattice.unit == NANOSECONDS["D"]
    return lattice.kind == "integer"


def class_of(points: np.ndarray, lattice: ValueGrid) -> np.ndarray:
    """Number of each point's class, below ``CLASSES``.

    Days: the first of a year, of another quarter, of another month; the last of these; other days. Whole
    numbers: below 100, and the others by their last two digits: 1 to 12, 0 and 13 to 59, 60 and more.
    """
    if lattice.kind == "datetime":
        days, next_days = points.astype("M8[D]"), (points + 1).astype("M8[D]")
        months, after = days.astype("M8[M]"), next_days.astype("M8[M]")
        number = months.astype(np.int64)
        kind = np.where(number % 12 == 0, 0, np.where(number % 3 == 0, 1, 2))
        last = after.astype(np.int64)
        end = np.where(last % 12 == 0, 3, np.where(last % 3 == 0, 4, 5))
        is_first, is_last = days == months.astype("M8[D]"), next_days == after.astype("M8[D]")
        return np.where(is_first, kind, np.where(is_last, end, 6))
    digits = points % 100
    high = np.where(digits >= 60, 3, np.where((digits >= 1) & (digits <= 12), 1, 2))
    return np.where(points < 100, 0, high)


def pattern_of(
    counts: Sequence[float] | np.ndarray, sigma: float, lattice: ValueGrid
) -> tuple[str, int] | None:
    """The pattern that noisy counts of the classes show, and of dates its step in months; None for none."""
    found = np.asarray(counts, dtype=float)
    empty, least = NONE * sigma, SEEN * sigma
    if lattice.kind == "datetime":
        for name, classes, others in (
            (STARTS, found[:3], found[3:]),
            (ENDS, found[3:6], found[[0, 1, 2, 6]]),
        ):
            none = (others <= empty).all() and others.sum() <= empty * math.sqrt(len(others))
            if none and classes.sum() > least:
                step = 12 if (classes[1:] <= empty).all() else 3 if classes[2] <= empty else 1
                return name, step
        return None
    if found[1:3].sum() <= least or found[3] > empty:
        return None
    if found[2] > empty:
        return CLOCK, 1
    return (YEAR_MONTHS, 1) if found[0] <= empty else None


def kept_to(pattern: tuple[str, int], bins: Sequence[Run], lattice: ValueGrid) -> list[Run]:
    """Bins of the possible points alone; the bins as they are where there would be too many."""
    name, step = pattern
    if not bins:
        return []
    low, high = bins[0][0], bins[-1][1]
    if lattice.kind == "datetime":
        first, last = (np.datetime64(int(day), "D").astype("M8[M]").astype(np.int64) for day in (low, high))
        months = np.arange(first - first % step, last + 2 * step, step)
        days = months.astype("M8[M]").astype("M8[D]").view(np.int64) - (1 if name == ENDS else 0)
        runs = [(day, day) for day in days.tolist() if low <= day <= high]
        most = MOST_POINTS
    else:
        if high // 100 - low // 100 > MOST_HUNDREDS or low < 0:
            return list(bins)
        ends = (0, 59) if name == CLOCK else (1, 12)
        runs = [(100 * n + ends[0], 100 * n + ends[1]) for n in range(low // 100, high // 100 + 1)]
        most = 4 * MOST_HUNDREDS
    found: list[Run] = []
    at = 0
    for first, last in bins:
        while at < len(runs) and runs[at][1] < first:
            at += 1
        here = at
        while here < len(runs) and runs[here][0] <= last:
            found.append((max(first, runs[here][0]), min(last, runs[here][1])))
            here += 1
    return found if 0 < len(found) <= most else list(bins)
