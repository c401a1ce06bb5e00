"""Every kind of column that a schema can have: how metadata and declarations describe it, how its cells are stored.

``LACKING`` names what the product registers (words of declarations, semantic types, storages) and no kind has.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from sdv_plausible.table.columns.column_document import WORDS
from sdv_plausible.table.declared.specifications import MODELLED_SDTYPES

Words = dict[str, Any]
MOMENT, ZONED, DAY = "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S%z", "%d.%m.%Y"


@dataclass(frozen=True)
class Kind:
    """One kind of column."""

    spec: Words  # of the metadata
    cells: Callable[[int], Any]  # so many of them
    declared: Words = field(default_factory=dict)  # in the domain
    refused: str = ""  # what a refusal says; empty where a fit works


def moments(n: int) -> pd.DatetimeIndex:
    return pd.DatetimeIndex([f"2020-01-{1 + i % 28:02d} {i % 9:02d}:{15 * (i % 4):02d}:00" for i in range(n)])


def texts(n: int) -> list[str]:
    return ["abc"[i % 3] for i in range(n)]


def whole(n: int) -> list[int]:
    return [i % 60 for i in range(n)]


NUMBER, DATE, CATEGORY = {"sdtype": "numerical"}, {"sdtype": "datetime"}, {"sdtype": "categorical"}
RANGE = {"range_min": 0, "range_max": 99}
YEAR = {"range_min": "2020-01-01 00:00:00", "range_max": "2020-12-31 00:00:00"}
SPLIT = {**DATE, "datetime_format": MOMENT}
KINDS: dict[str, Kind] = {
    # dates with a time of day, which the model sees as two columns
    "moment as text, learned": Kind(SPLIT, lambda n: moments(n).strftime(MOMENT)),
    "moment as text, declared": Kind(SPLIT, lambda n: moments(n).strftime(MOMENT), YEAR),
    "moment as text, may be missing": Kind(SPLIT, lambda n: pd.Series(moments(n).strftime(MOMENT)).mask(np.arange(n) % 5 == 0), {**YEAR, "range_is_nullable": True}),
    "moment with an offset": Kind({**DATE, "datetime_format": ZONED}, lambda n: moments(n).strftime("%Y-%m-%dT%H:%M:%S+0100")),
    "moment in quarters of an hour": Kind(SPLIT, lambda n: moments(n).strftime(MOMENT), {**DATE, "resolution": "15min"}),
    "moment, whole": Kind(SPLIT, lambda n: moments(n).strftime(MOMENT), {**DATE, "parts": "whole"}),
    "moment by the day": Kind(SPLIT, lambda n: moments(n).strftime(MOMENT), {**DATE, "resolution": "D"}),
    "stamps, split": Kind(DATE, moments, {**DATE, "parts": "split"}),
    "stamps of a zone, split": Kind(DATE, lambda n: moments(n).tz_localize("Europe/Zurich"), {**DATE, "resolution": "h"}),
    "stamps of a zone, declared and split": Kind(DATE, lambda n: moments(n).tz_localize("Asia/Tokyo"), {**YEAR, "parts": "split"}),
    # other dates
    "stamps": Kind(DATE, moments),
    "stamps of a zone": Kind(DATE, lambda n: moments(n).tz_localize("Europe/Zurich")),
    "stamps by the day": Kind(DATE, lambda n: moments(n).normalize(), {"range_min": "2020-01-01", "range_max": "2020-03-01", "resolution": "D", "bins": 4}),
    "stamps of Arrow": Kind(DATE, lambda n: pd.Series(moments(n)).astype("timestamp[us][pyarrow]")),
    "day as text": Kind({**DATE, "datetime_format": DAY}, lambda n: moments(n).strftime(DAY)),
    "day as text, format declared": Kind(DATE, lambda n: moments(n).strftime(DAY), {**DATE, "datetime_format": DAY}),
    "day as Python's": Kind(DATE, lambda n: np.array([dt.date(2020, 1, 1 + i % 28) for i in range(n)], dtype=object), refused="holds dates as text"),
    "time of day": Kind({**DATE, "datetime_format": "%H:%M"}, lambda n: moments(n).strftime("%H:%M")),
    "month": Kind({**DATE, "datetime_format": "%Y-%m"}, lambda n: [f"2020-{1 + i % 12:02d}" for i in range(n)]),
    "text without a format": Kind(DATE, lambda n: moments(n).strftime(MOMENT), refused="holds dates as text"),
    "zone and format": Kind(SPLIT, lambda n: moments(n).tz_localize("UTC"), refused="has dates with a time zone"),
    "zone of a file": Kind(DATE, lambda n: moments(n).tz_localize("dateutil/Europe/Berlin"), refused="time_zone"),
    # numbers
    "number": Kind(NUMBER, whole),
    "number, declared": Kind(NUMBER, lambda n: [i % 99 + 0.25 for i in range(n)], {**RANGE, "decimal_places": 2}),
    "number in bins": Kind(NUMBER, whole, {**RANGE, "bins": 5, "buckets": [0, 0, 1, 1, 2]}),
    "number rounded": Kind(NUMBER, whole, {"range_min": 0, "range_max": 10**4, "rounding": [5, 10], "decimal_places": 0}),
    "number with special values": Kind(NUMBER, whole, {**RANGE, "special_values": [0, 999], "decimal_places": 0}),
    "number with words": Kind(NUMBER, lambda n: ["DK" if i % 5 == 0 else i % 60 for i in range(n)], {**RANGE, "special_values": ["DK"], "decimal_places": 0}),
    "multiple, learned": Kind(NUMBER, lambda n: [i % 9 * 0.25 for i in range(n)], {**NUMBER, "resolution": 0.25}),
    "multiple, declared": Kind(NUMBER, lambda n: [i % 9 * 5 for i in range(n)], {**RANGE, "resolution": 5, "special_values": [0]}),
    "number as text": Kind(NUMBER, lambda n: [f"{i % 50},5" for i in range(n)], {**NUMBER, "number_format": "1.234,5"}),
    "number as text, declared": Kind(NUMBER, lambda n: [f"$1,{100 + i % 50}.5" for i in range(n)], {"range_min": 1000, "range_max": 1200, "number_format": "$1,234.5", "decimal_places": 1}),
    "nullable number": Kind(NUMBER, lambda n: pd.array([None if i % 7 == 0 else i % 60 for i in range(n)], dtype="Int64")),
    "double with missing": Kind(NUMBER, lambda n: [np.nan if i % 7 == 0 else i % 60 for i in range(n)], {**RANGE, "range_is_nullable": True}),
    "decimal of Arrow": Kind(NUMBER, lambda n: pd.Series([Decimal(i % 9) / 4 for i in range(n)]).astype(pd.ArrowDtype(pa.decimal128(9, 2)))),
    "sparse": Kind(NUMBER, lambda n: pd.arrays.SparseArray([i % 3 for i in range(n)]), refused="stored as Sparse"),
    "duration": Kind(NUMBER, lambda n: pd.to_timedelta(range(n), unit="h"), refused="stored as timedelta64"),
    # categories
    "category": Kind(CATEGORY, texts),
    "category, declared": Kind(CATEGORY, texts, {"range_values": ["a", "b", "c"], "source": "a code book"}),
    "category with missing": Kind(CATEGORY, lambda n: [None, "a", "b"] * (n // 3) + ["a"] * (n % 3), {"range_values": ["a", "b", None]}),
    "groups": Kind(CATEGORY, texts, {"range_values": ["a", "b", "c"], "groups": {"x": ["a", "b"], "y": ["c"]}}),
    "one value": Kind(CATEGORY, lambda n: ["a"] * n, {"range_values": ["a"]}),
    "one column of several": Kind(CATEGORY, lambda n: [i % 2 for i in range(n)], {"range_values": [0, 1]}),
    "category type": Kind(CATEGORY, lambda n: pd.Categorical(texts(n))),
    "text of Arrow": Kind(CATEGORY, lambda n: pd.array(texts(n), dtype="string[pyarrow]")),
    "dictionary of Arrow": Kind(CATEGORY, lambda n: pd.Series(texts(n)).astype("string[pyarrow]").astype("category").astype(str)),
    "intervals": Kind(CATEGORY, lambda n: pd.interval_range(0, n, n), refused="which is not supported"),
    "periods as categories": Kind(CATEGORY, lambda n: pd.period_range("2020-01", periods=n, freq="M"), refused="which is not supported"),
    "pairs": Kind(CATEGORY, lambda n: [("a", i % 2) for i in range(n)]),
    "all missing": Kind(CATEGORY, lambda n: [None] * n),
    "ordinal": Kind({"sdtype": "ordinal", "order": ["a", "b", "c"]}, texts),
    "ordinal, declared": Kind({"sdtype": "ordinal"}, texts, {"range_values": ["a", "b", "c"]}),
    "boolean": Kind({"sdtype": "boolean"}, lambda n: [bool(i % 2) for i in range(n)]),
    "nullable boolean": Kind({"sdtype": "boolean"}, lambda n: pd.array([(True, False, None)[i % 3] for i in range(n)], dtype="boolean"), {"range_is_nullable": True}),
    "periods as dates": Kind({**DATE, "datetime_format": "%Y-%m"}, lambda n: pd.period_range("2020-01", periods=n, freq="M"), refused="which is not supported"),
    "words that do not go with the type": Kind(NUMBER, whole, {"range_values": [1, 2]}, refused="cannot be used with sdtype"),
    "range that holds nothing": Kind(NUMBER, whole, {"range_min": 1, "range_max": 2, "resolution": 5}, refused="contains no such multiple"),
    "read off the rows": Kind(CATEGORY, texts, {"range_values": ["a", "b", "c"], "detected": True}, refused="cannot draw"),
    "edited after a look": Kind(CATEGORY, texts, {"range_values": ["a", "b", "c"], "provenance": "edited"}, refused="cannot draw"),
    # made up
    "id": Kind({"sdtype": "id"}, lambda n: list(range(n))),
    "id in a format": Kind({"sdtype": "id", "regex_format": "[A-Z]{3}[0-9]{4}"}, lambda n: [f"ABC{i:04d}" for i in range(n)]),
    "email": Kind({"sdtype": "email", "pii": True}, lambda n: [f"u{i}@example.org" for i in range(n)]),
    "phone": Kind({"sdtype": "phone_number"}, lambda n: [f"07{i}" for i in range(n)]),
    "address": Kind({"sdtype": "street_address"}, lambda n: [f"Street {i}" for i in range(n)]),
    "latitude": Kind({"sdtype": "latitude"}, lambda n: [float(i % 90) for i in range(n)]),
    "unknown": Kind({"sdtype": "unknown"}, lambda n: [f"x{i}" for i in range(n)]),
    "postcode": Kind({"sdtype": "postcode", "pii": False}, lambda n: [f"80{i % 9}" for i in range(n)]),
    "no type that there is": Kind({"sdtype": "catgorical"}, texts, refused="catgorical"),
}  # fmt: skip
TAKEN = {name: kind for name, kind in KINDS.items() if not kind.refused}
REFUSED = {name: kind for name, kind in KINDS.items() if kind.refused}


def lacking(kinds: dict[str, Kind] = KINDS) -> list[str]:
    """Semantic types, and words of declarations, that no kind has."""
    words = {word for kind in kinds.values() for word in (*kind.spec, *kind.declared)}
    met = {kind.spec["sdtype"] for kind in kinds.values()}
    wanted = {word for word, one in WORDS.items() if one.about != "nothing"}
    return sorted(wanted - words) + sorted({*MODELLED_SDTYPES} - met)
