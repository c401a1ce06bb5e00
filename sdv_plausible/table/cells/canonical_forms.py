"""The one form of a cell, read off that cell alone: what every comparing of cells starts from.

Which of equal cells comes first, what else a column holds and what a cell's own class says of it must not
count (docs/explanation/proofs/private_domain.md, "From rows to counts"). So a cell is first rebuilt as one of
a closed set of types, whose methods are known; nothing of any other type is ever called.
"""

from __future__ import annotations

import datetime as dt
import math
import uuid
from collections.abc import Callable, Hashable
from decimal import Decimal
from fractions import Fraction
from types import EllipsisType
from typing import Any, Final

import numpy as np
import pandas as pd

ODD: Final = ...
"""Stands for every cell that can be no value of a column: lists, durations, objects of unknown classes."""
_INT64, _MOST, _NAME = 2**63, 10**100, "__module__"
LONGEST_TEXT, LONGEST_NAME = 100_000, 1_000
"""Letters of a text, and of a name, in a file."""
_ZONES = ("datetime", "zoneinfo", "pytz", "dateutil")  # modules whose time zones are asked for an offset
_PLAIN = frozenset(map(id, (type(None), bool, int, float, str, bytes, dt.date, EllipsisType)))


def plain(cell: Any) -> Any:
    """Return the cell as None, bool, int, float, str, bytes, date, Timestamp, Decimal, Fraction or tuple."""
    # Exactly of these types: subclasses and numpy's single cells are rebuilt, moments with a zone are in UTC,
    # and all of one moment have one unit. Of a tuple the entries are such, none a tuple. All else is ``ODD``.
    kind = type(cell)
    if id(kind) in _PLAIN:
        return cell
    if cell is pd.NaT or cell is pd.NA:
        return None
    for known, rebuilt in _REBUILT:
        if kind is known or (known is not Fraction and issubclass(kind, known)):  # whose check asks the class
            try:
                return rebuilt(cell)
            except Exception:  # of many kinds, by numpy, pandas and time zones: beyond what they can say
                return ODD
    return ODD


def plain_objects(cells: np.ndarray) -> np.ndarray:
    """An array of objects, each as :func:`plain` has it; the same array if all are."""
    if types_of(cells) <= _PLAIN:
        return cells
    found = np.empty(len(cells), dtype=object)
    for i, cell in enumerate(cells):  # one by one: numpy would take tuples apart
        found[i] = plain(cell)
    return found


def types_of(cells: np.ndarray) -> frozenset[int]:
    """Types of an array's cells, each by its identity; 0 for classes that cannot even be told apart."""
    try:
        return frozenset(map(id, set(map(type, cells))))
    except Exception:  # of a class whose own class has no hash
        return frozenset((0,))


def canonical(value: Any) -> Hashable:
    """Return the form of a value that values are compared by: numbers are doubles, whole ones int."""
    # Numbers beyond 2**53 are told apart as far as doubles tell them apart: declare longer ones as text.
    if type(value) is str:  # most are
        return value
    value = plain(value)
    return _number(value) if type(value) in (int, float, Decimal, Fraction) else value


def is_missing(form: Any) -> bool:
    """Whether a cell in its form is a missing one."""
    return form is None or (type(form) is float and math.isnan(form))


def has_form(form: Any) -> bool:
    """Whether a value in its one form can be in a domain: any other could be learned, never released."""
    if isinstance(form, str):
        return is_text(form)
    if isinstance(form, float):
        return math.isfinite(form)
    return isinstance(form, dt.date) or (isinstance(form, int) and abs(form) <= _MOST)


def is_text(form: Any, most: int = LONGEST_TEXT) -> bool:
    """Whether it is a text that files can hold: not too long, and of whole letters (no lone surrogate)."""
    if not isinstance(form, str) or len(form) > most:
        return False
    return not any("\ud800" <= letter <= "\udfff" for letter in form)


def _number(value: Any) -> Hashable:
    try:
        double = float(value)
    except OverflowError:
        return value if type(value) is int else ODD
    return int(double) if double.is_integer() and abs(double) < _INT64 else double


def _numpy(cell: Any) -> Any:
    item: Any = np.generic.item(cell)
    if isinstance(item, (np.longdouble, np.clongdouble)):  # which Python has no number for
        real, imaginary = item.real, item.imag
        return ODD if imaginary != 0 else int(real) if real.is_integer() else float(real)
    return ODD if isinstance(item, np.generic) else plain(item)


def _complex(cell: Any) -> Any:
    return ODD if complex.imag.__get__(cell) else complex.real.__get__(cell)


def _decimal(cell: Any) -> Any:
    exact = Decimal(cell)
    return None if exact.is_nan() else exact


def _fraction(cell: Any) -> Any:
    of_ints = type(cell.numerator) is int and type(cell.denominator) is int
    return Fraction(cell.numerator, cell.denominator) if of_ints else ODD


def _uuid(cell: Any) -> Any:
    of_all: Any = uuid.UUID
    number = of_all.int.__get__(cell)
    return str(uuid.UUID(int=number)) if type(number) is int else ODD


def _moment(cell: Any) -> Any:
    if type(cell) is not pd.Timestamp:
        clock, zone = dt.datetime.time(cell), dt.datetime.tzinfo.__get__(cell)
        cell = dt.datetime.combine(dt.datetime.date(cell), clock, zone)
    elif cell.tzinfo is not None:
        cell = cell.tz_convert("UTC")
    if cell.tzinfo is not None:
        module = type.__getattribute__(type(cell.tzinfo), _NAME)
        if type(module) is not str or module.split(".")[0] not in _ZONES:
            return ODD
    stamp = pd.Timestamp(cell)
    if stamp.tz is None:
        return _in_one_unit(stamp)
    stamp = stamp.tz_convert("UTC")
    return ODD if out_of_zones(stamp) else _in_one_unit(stamp)


# In some time zone it may be another year, or a moment that 64 bits of nanoseconds do not hold, of which a
# column of dates holds none: its cells are missing there, and so as objects. Zones are at most 14 hours
# ahead, and before there was a common time up to 16 from Greenwich.
FIRST_OF_ZONES, LAST_OF_ZONES = pd.Timestamp.min + pd.Timedelta(1, "D"), pd.Timestamp("9999-12-31 09:59:59")
EDGE_OF_ZONES = pd.Timestamp.max - pd.Timedelta(1, "D"), pd.Timestamp.max


def out_of_zones(moments: Any) -> Any:
    """Whether moments in UTC are in no column of a time zone, whatever its unit; of one or of many."""
    first, last, low, high = (
        stamp.tz_localize("UTC") for stamp in (FIRST_OF_ZONES, LAST_OF_ZONES, *EDGE_OF_ZONES)
    )
    return (moments < first) | (moments > last) | ((moments > low) & (moments <= high))


def _in_one_unit(stamp: Any) -> Any:
    if stamp is pd.NaT:
        return None
    if not dt.MINYEAR <= stamp.year <= dt.MAXYEAR:
        return ODD
    return stamp.as_unit("ns" if stamp.nanosecond else "us")


def _entries(cell: Any) -> Any:
    if any(issubclass(type(entry), tuple) for entry in tuple.__iter__(cell)):  # before it is looked into
        return ODD
    found = tuple(None if is_missing(entry) else entry for entry in map(plain, tuple.__iter__(cell)))
    return ODD if any(entry is ODD for entry in found) else found


_REBUILT: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    (complex, _complex),
    (bytes, lambda cell: bytes.__getitem__(cell, slice(None))),
    (np.datetime64, lambda cell: _in_one_unit(pd.Timestamp(cell))),
    (np.timedelta64, lambda cell: None if np.isnat(cell) else ODD),
    (np.generic, _numpy),
    (Decimal, _decimal),
    (dt.datetime, _moment),
    (dt.date, lambda cell: dt.date.fromordinal(dt.date.toordinal(cell))),
    (tuple, _entries),
    (uuid.UUID, _uuid),
    (Fraction, _fraction),
)
"""In order: the first that a cell's class is under rebuilds it."""
