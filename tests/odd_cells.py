"""Cells that no list of odd types foresaw: every scalar of numpy in every unit, and classes that answer nothing."""

from __future__ import annotations

import enum
import math
import uuid
import warnings
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as")
DAY = datetime(2020, 1, 1)


def refuse(*_: Any, **__: Any) -> Any:
    raise RuntimeError("a method of an unknown type was called")


SILENT = {
    f"__{name}__": refuse
    for name in (
        "hash", "eq", "ne", "lt", "le", "gt", "ge", "bool", "str", "repr", "len", "iter", "float", "int",
        "index", "complex", "array", "add", "sub", "format", "trunc", "round", "reduce",
    )
}  # fmt: skip
"""Methods of a class that ends whatever asks one of its objects."""


def silent(of: type, *args: Any) -> Any:
    """An object of a subclass that answers nothing."""
    return type(f"Silent{of.__name__.title()}", (of,), SILENT)(*args)


class SilentClass(type):
    """Of a class that does not even compare."""

    __hash__ = None  # type: ignore[assignment]
    __eq__ = refuse  # type: ignore[assignment]


class Word(str):
    """A text that is not quite a str."""


class Colour(str, enum.Enum):
    """A text that is a member."""

    A = "a"


class Level(enum.IntEnum):
    """A number that is a member."""

    ONE = 1


class Alone(enum.Enum):
    """A member that is neither."""

    ONE = 1


class Day(date):
    """A day that is not quite a date."""


class Moment(datetime):
    """A moment that is not quite a datetime."""


class NoZone(tzinfo):
    """A time zone without an offset."""

    def utcoffset(self, _: datetime | None) -> None:
        return None


class EndingZone(tzinfo):
    """A time zone that ends who asks it."""

    utcoffset = dst = tzname = refuse  # type: ignore[assignment]


def _numpy_cells() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for kind in sorted(set(np.sctypeDict.values()), key=lambda kind: kind.__name__):
        if issubclass(kind, (np.datetime64, np.timedelta64)):
            for unit in UNITS:
                for many in (1, 10**15, -(2**62)):
                    found[f"{kind.__name__} {many} {unit}"] = kind(many, unit)
            found[f"{kind.__name__} of 25 s"] = kind(2, "25s")
        elif issubclass(kind, np.number):
            found |= {f"{kind.__name__} {number}": kind(number) for number in (1, 2)}
        elif not issubclass(kind, np.object_):
            found[kind.__name__] = kind(b"a") if issubclass(kind, (np.void, np.bytes_)) else kind(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # NumPy 2.5: of times without a unit
        found |= {f"{kind.__name__} NaT": kind("NaT") for kind in (np.datetime64, np.timedelta64)}
        found["no unit"] = np.timedelta64(5)
    found["not of this platform"] = np.longdouble("1e4000")
    return found


def cells() -> dict[str, Any]:
    """Every odd cell by its name: some have values that others have too, some have none."""
    evil = SilentClass("Evil", (), SILENT)()
    return {
        **_numpy_cells(),
        "a list": [1], "a dict": {"a": 1}, "a set": {1}, "a frozen set": frozenset("a"), "an array": np.ones(2),
        "an array of none": np.array(1), "a frame": pd.DataFrame({"a": [1]}), "a column": pd.Series([1]),
        "a list in a pair": (1, [2]), "a pair": (1, "a"), "a pair of pairs": ((1, 2), 3), "a hole": (math.nan, 1),
        "bytes": b"a", "bytes that change": bytearray(b"a"), "a view": memoryview(b"a"), "a range": range(3),
        "a complex one": 1 + 0j, "a complex number": 1 + 2j, "a complex NaN": complex(math.nan, 0), "truth": True, "one": 1, "one as double": 1.0,
        "one as decimal": Decimal(1), "one as fraction": Fraction(1), "two and a half": Decimal("2.5"),
        "half": Fraction(5, 2), "huge": 10**400, "huge as decimal": Decimal("1e999999"), "a huge fraction": Fraction(10**400, 3),
        "a signalling NaN": Decimal("sNaN"), "a decimal NaN": Decimal("NaN"), "infinity": math.inf, "NaN": math.nan,
        "half a character": "\ud800", "NUL": "a\x00b", "a word": Word("a"), "a member": Colour.A,
        "a number's member": Level.ONE, "a member alone": Alone.ONE, "a subclass of int": type("I", (int,), {})(1),
        "a subclass of float": type("F", (float,), {})(1.0), "a uuid": uuid.UUID(int=1), "a class": int,
        "a function": refuse, "an object": object(), "nothing": ..., "NA": pd.NA, "NaT": pd.NaT,
        "a moment": DAY, "a stamp": pd.Timestamp(DAY), "a stamp of ns": pd.Timestamp(DAY).as_unit("ns"),
        "a subclass of moments": Moment(2020, 1, 1), "a day": DAY.date(), "a subclass of days": Day(2020, 1, 1),
        "with a zone": DAY.replace(tzinfo=timezone.utc), "an odd zone": DAY.replace(tzinfo=timezone(timedelta(0, 1))),
        "Tokyo": pd.Timestamp("2020-01-01 09:00", tz="Asia/Tokyo"), "no offset": DAY.replace(tzinfo=NoZone()),
        "an ending zone": DAY.replace(tzinfo=EndingZone()), "the first": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
        "the last": datetime.max, "a time": time(12), "a duration": timedelta.max, "pandas' duration": pd.Timedelta(1),
        "a period": pd.Period("2020"), "an interval": pd.Interval(0, 1), "an offset": pd.offsets.Day(),
        "a silent object": silent(object), "a silent word": silent(str, "a"), "a silent int": silent(int, 1),
        "a silent float": silent(float, 1), "a silent complex": silent(complex, 1), "silent bytes": silent(bytes, b"a"),
        "a silent pair": silent(tuple, (1, 2)), "a silent list": silent(list), "a silent decimal": silent(Decimal, 1),
        "a silent fraction": silent(Fraction, 1), "a silent day": silent(date, 2020, 1, 1),
        "a silent moment": silent(datetime, 2020, 1, 1), "a silent uuid": silent(uuid.UUID, "0" * 32),
        "a silent double": silent(np.float64, 1), "a silent number": silent(np.int64, 1), "a silent class": evil,
    }  # fmt: skip
