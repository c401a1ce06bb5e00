"""Patterns of values: classes cover all points, a pattern is seen where it is, and bins keep to it."""

from __future__ import annotations

import numpy as np
import pytest

from sdv_plausible.table.cells.dates import NANOSECONDS
from sdv_plausible.table.learned.value_grid import (
    CLASSES,
    CLOCK,
    ENDS,
    MOST_POINTS,
    STARTS,
    YEAR_MONTHS,
    ValueGrid,
    class_of,
    has_patterns,
    pattern_of,
    restrict_to,
)

DAYS, WHOLE = ValueGrid(kind="datetime", unit=NANOSECONDS["D"]), ValueGrid(kind="integer")
DATES = np.arange("2015-01-01", "2021-01-01", dtype="M8[D]")
MONTHS = np.arange("2015-01", "2021-01", dtype="M8[M]")
MINUTES, DAY = np.arange(1440), np.timedelta64(1, "D")
COLUMNS: dict[str, tuple[ValueGrid, np.ndarray, tuple[str, int] | None]] = {
    "month starts": (DAYS, MONTHS.astype("M8[D]"), (STARTS, 1)),
    "quarter starts": (DAYS, MONTHS[::3].astype("M8[D]"), (STARTS, 3)),
    "new years": (DAYS, MONTHS[::12].astype("M8[D]"), (STARTS, 12)),
    "month ends": (DAYS, MONTHS[1:].astype("M8[D]") - DAY, (ENDS, 1)),
    "quarter ends": (DAYS, MONTHS[3::3].astype("M8[D]") - DAY, (ENDS, 3)),
    "all days": (DAYS, DATES, None),
    "clock times": (WHOLE, MINUTES // 60 * 100 + MINUTES % 60, (CLOCK, 1)),
    "months of years": (WHOLE, np.array([100 * y + m for y in range(1990, 2024) for m in range(1, 13)]), (YEAR_MONTHS, 1)),
    "ages": (WHOLE, np.arange(18, 90), None),
    "all whole numbers": (WHOLE, np.arange(0, 3000), None),
}  # fmt: skip


def points_of(column: str) -> tuple[ValueGrid, np.ndarray]:
    lattice, values, _ = COLUMNS[column]
    return lattice, values.astype(np.int64)


@pytest.mark.parametrize("column", COLUMNS)
def test_a_pattern_is_seen_where_it_is_and_no_bin_then_holds_another_value(column: str) -> None:
    lattice, points = points_of(column)
    kinds = class_of(points, lattice)
    assert ((kinds >= 0) & (kinds < CLASSES)).all()
    counts = 50 * np.bincount(kinds, minlength=CLASSES)
    pattern = pattern_of(counts, 5.0, lattice)
    assert pattern == COLUMNS[column][2]
    if pattern is None:
        return
    low, high = int(points.min()), int(points.max())
    middle = (low + high) // 2
    bins = restrict_to(pattern, [(low, middle), (middle + 1, high)], lattice)
    held = {point for first, last in bins for point in range(first, last + 1)}
    assert {*points.tolist()} <= held
    possible = class_of(np.array(sorted(held)), lattice)
    assert {*possible.tolist()} <= {*kinds.tolist(), *([0] if pattern[0] == CLOCK else [])}


def test_one_noisy_class_beside_a_pattern_ends_it() -> None:
    """Cells of another kind that stand out from the noise; what noise may have made does not."""
    lattice, points = points_of("month starts")
    counts = 50.0 * np.bincount(class_of(points, lattice), minlength=CLASSES)
    for more, found in ((10.0, (STARTS, 1)), (40.0, None)):
        other = counts.copy()
        other[CLASSES - 1] += more
        assert pattern_of(other, 5.0, lattice) == found


def test_bins_stay_where_a_pattern_has_too_many_points() -> None:
    first, last = (int(np.datetime64(day, "D").astype(int)) for day in ("1700-01-01", "2250-12-31"))
    assert (last - first) / 30 > MOST_POINTS
    assert restrict_to((STARTS, 1), [(first, last)], DAYS) == [(first, last)]
    assert restrict_to((CLOCK, 1), [(0, 10**6)], WHOLE) == [(0, 10**6)]
    assert restrict_to((STARTS, 1), [], DAYS) == []


def test_points_that_are_no_days_and_no_whole_numbers_have_none() -> None:
    assert has_patterns(DAYS)
    assert has_patterns(WHOLE)
    assert not has_patterns(ValueGrid(kind="float", decimals=2))
    assert not has_patterns(ValueGrid(kind="datetime", unit=NANOSECONDS["h"]))
    assert not has_patterns(ValueGrid(kind="datetime", unit=NANOSECONDS["D"], shown="months"))


def test_minute_sixty_is_no_minute() -> None:
    """The class of each number below 300, by its last two digits: bins of clock times would not hold it."""
    points = np.arange(300)
    wanted = [0 if n < 100 else 1 if 1 <= n % 100 <= 12 else 3 if n % 100 >= 60 else 2 for n in range(300)]
    assert class_of(points, WHOLE).tolist() == wanted
    counts = 50 * np.bincount(
        class_of(np.append(COLUMNS["clock times"][1], [1260] * 50), WHOLE), minlength=CLASSES
    )
    assert pattern_of(counts, 5.0, WHOLE) is None


@pytest.mark.parametrize("column", ["month starts", "month ends"])
@pytest.mark.parametrize("other", range(CLASSES))
def test_any_other_class_that_stands_out_ends_a_pattern(column: str, other: int) -> None:
    """Also one that the sum of all other classes hides: 4 deviations of one, and nothing of the others."""
    lattice, points = points_of(column)
    counts = 50.0 * np.bincount(class_of(points, lattice), minlength=CLASSES)
    assert pattern_of(counts, 5.0, lattice) is not None
    if not counts[other]:
        counts[other] = 20.0
        assert pattern_of(counts, 5.0, lattice) is None
