"""Patterns that exclude most points of a range: month starts, quarter ends, clock times.

One noisy table of counts by class shows the pattern of a column. Bins are then restricted to the possible
points, which is post-processing.
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
