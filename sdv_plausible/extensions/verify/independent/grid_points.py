"""Check of learned numbers and dates: their bins lie in the runs of points that were counted."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.extensions.verify.independent.verdict import ContradictionError, quoted

COUNTED = ("runs", "frequent points", "rounding")
FIXED = 6  # decimals up to which points are multiples of the last digit
EARLIEST = 1 - 2**63  # earliest timestamp in 64 bits, in nanoseconds
DAY = 86_400 * 10**9  # nanoseconds
_NEAR = 1e-12  # relative


def value_of(point: int, details: Mapping[str, Any]) -> float:
    """Number, or nanoseconds since 1970, of a grid point."""
    decimals, unit = details["decimals"], details["unit"]
    if details["kind"] == "datetime":
        return point * unit if details.get("shown") != "months" else _first_of_month(point)
    if details["kind"] == "integer":
        return point * unit
    if decimals is not None and decimals <= FIXED:
        return point / 10**decimals
    size = float(struct.unpack("<d", struct.pack("<q", abs(point)))[0])  # finer grids count every double
    return math.copysign(size, point)


def _first_of_month(point: int) -> int:
    return int(np.datetime64(point, "M").astype("M8[D]").astype(np.int64)) * DAY


def _ends(details: Mapping[str, Any], first: int, last: int) -> tuple[float, float]:
    """Ends of a run; a month ends on its last day."""
    low, high = value_of(first, details), value_of(last, details)
    if details.get("shown") == "months":
        high = max(value_of(last + 1, details) - DAY, EARLIEST)
    return low, high


def check_numbers(column: Any, answers: Sequence[Any], settings: Any) -> None:
    """Reject a column whose digits or bins differ from those of its answers."""
    questions = [answer["details"] for answer in answers if answer["kind"] in COUNTED]
    if not questions:
        return
    name, points = quoted(column["name"]), {tuple(_grid(details)) for details in questions}
    if len(points) > 1:
        raise ContradictionError(f"the answers about column {name} count several kinds of points")
    kind, decimals, unit, _ = points.pop()
    rounds = settings["enforce_rounding"]
    if (
        column["kind"] != kind
        or column["unit"] != unit
        or column.get("decimals") != (decimals if rounds else None)
    ):
        raise ContradictionError(f"column {name} has another kind, digits or unit than its answers counted")
    runs = [details for details in questions if "first" in details and len(details["first"])]
    if not runs:
        return
    ends = [_ends(details, int(details["first"].min()), int(details["last"].max())) for details in runs]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    single = {value_of(int(point), details) for details in runs for point in details["without"]}
    bins = zip(*(_on_clocks(column, column[end]) for end in ("lower", "upper")), strict=True)
    for first, last in bins:
        inside = low - _NEAR * abs(low) <= first <= last <= high + _NEAR * abs(high)
        if not inside and not (first == last and first in single):
            raise ContradictionError(f"column {name} has a bin beyond all that its answers counted")


def _on_clocks(column: Any, ends: Sequence[float]) -> list[float]:
    """Ends of bins as they were counted: in local time if the column has a time zone."""
    if (zone := column.get("time_zone")) is None:
        return list(ends)
    return [pd.Timestamp(end, tz="UTC").tz_convert(zone).tz_localize(None).value for end in ends]


def _grid(details: Mapping[str, Any]) -> Iterator[Any]:
    """The details that define a query's grid."""
    yield from (details.get(field) for field in ("kind", "decimals", "unit", "shown"))
