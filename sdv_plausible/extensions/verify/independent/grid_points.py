"""Learned numbers and dates: their bins lie in the runs of points that the answers counted."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.extensions.verify.independent.verdict import ContradictionError, shown

COUNTED = ("runs", "frequent points", "rounding")
FIXED = 6  # digits after the point up to which points are whole numbers of the last digit
EARLIEST = 1 - 2**63  # nanoseconds, that 64 bits hold
DAY = 86_400 * 10**9  # nanoseconds
_NEAR = 1e-12  # relative


def value_of(point: int, details: Mapping[str, Any]) -> float:
    """The number, or nanoseconds since 1970, that a point of a question stands for."""
    decimals, unit = details["decimals"], details["unit"]
    if details["kind"] == "datetime":
        return point * unit if details.get("shown") != "months" else _first_of_month(point)
    if details["kind"] == "integer":
        return point * unit
    if decimals is not None and decimals <= FIXED:
        return point / 10**decimals
    size = float(struct.unpack("<d", struct.pack("<q", abs(point)))[0])  # the points are all doubles
    return math.copysign(size, point)


def _first_of_month(point: int) -> int:
    return int(np.datetime64(point, "M").astype("M8[D]").astype(np.int64)) * DAY


def _ends(details: Mapping[str, Any], first: int, last: int) -> tuple[float, float]:
    """Ends of a run; that of a month is its last day."""
    low, high = value_of(first, details), value_of(last, details)
    if details.get("shown") == "months":
        high = max(value_of(last + 1, details) - DAY, EARLIEST)
    return low, high


def check_numbers(column: Any, answers: Sequence[Any], settings: Any) -> None:
    """Refuse a number or date of other digits than its answers counted, or of bins that none counted."""
    questions = [answer["details"] for answer in answers if answer["kind"] in COUNTED]
    if not questions:
        return
    name, points = shown(column["name"]), {tuple(_grid(details)) for details in questions}
    if len(points) > 1:
        raise ContradictionError(f"the answers about column {name} count several kinds of points")
    kind, decimals, unit, _ = points.pop()
    fixed = settings["enforce_rounding"]
    if (
        column["kind"] != kind
        or column["unit"] != unit
        or column.get("decimals") != (decimals if fixed else None)
    ):
        raise ContradictionError(f"column {name} has another kind, digits or unit than its answers counted")
    runs = [details for details in questions if "first" in details and len(details["first"])]
    if not runs:
        return
    ends = [_ends(one, int(one["first"].min()), int(one["last"].max())) for one in runs]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    single = {value_of(int(point), one) for one in runs for point in one["without"]}
    bins = zip(*(_on_clocks(column, column[end]) for end in ("lower", "upper")), strict=True)
    for first, last in bins:
        inside = low - _NEAR * abs(low) <= first <= last <= high + _NEAR * abs(high)
        if not inside and not (first == last and first in single):
            raise ContradictionError(f"column {name} has a bin beyond all that its answers counted")


def _on_clocks(column: Any, ends: Sequence[float]) -> list[float]:
    """Ends of bins as the answers counted them: of a column with a time zone, what its clocks show."""
    if (zone := column.get("time_zone")) is None:
        return list(ends)
    return [pd.Timestamp(end, tz="UTC").tz_convert(zone).tz_localize(None).value for end in ends]


def _grid(details: Mapping[str, Any]) -> Iterator[Any]:
    """What the points of a question stand for."""
    yield from (details.get(word) for word in ("kind", "decimals", "unit", "shown"))
