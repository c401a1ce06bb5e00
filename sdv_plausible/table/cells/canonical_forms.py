"""Canonical form of a cell, computed from that cell alone. All comparisons of cells start from it.

The result must not depend on other cells of the column, on the order of equal cells, or on code in a cell's
own class (docs/explanation/proofs/private_domain.md, "From rows to counts"). A cell is therefore first
rebuilt as one of a closed set of types with known methods. No method of any other type is ever called.
"""

from __future__ import annotations

import datetime as dt
import math
import uuid
from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal
from fractions import Fraction
from types import EllipsisType
from typing import Any, Final

import numpy as np
import pandas as pd

NOT_A_VALUE: Final = ...
"""Marks a cell that cannot be a column's value: a list, a duration, an object of an unknown class."""
_INT64, _LARGEST_INTEGER, _NAME = 2**63, 10**100, "__module__"
LONGEST_TEXT, LONGEST_NAME = 100_000, 1_000
"""Maximum number of characters of a text, and of a name, in a file."""
_ZONES = ("datetime", "zoneinfo", "pytz", "dateutil")  # modules whose time zones are trusted
_PLAIN = frozenset(map(id, (type(None), bool, int, float, str, bytes, dt.date, EllipsisType)))


def to_builtin(cell: Any) -> Any:
    """Return the cell as None, bool, int, float, str, bytes, date, Timestamp, Decimal, Fraction or tuple."""
    # The type is exactly one of these. Subclasses and numpy scalars are rebuilt. Moments with a zone are
    # converted to UTC, in one unit per moment. Tuples hold such values, but no tuples. Anything else is
    # ``NOT_A_VALUE``.
    kind = type(cell)
    if id(kind) in _PLAIN:
        return cell
    if cell is pd.NaT or cell is pd.NA:
        return None
    for known, rebuilt in _REBUILDERS:
        # Fraction's own subclass check would call code of the cell's class
        if kind is known or (known is not Fraction and issubclass(kind, known)):
            try:
                return rebuilt(cell)
            except Exception:  # numpy, pandas and time zones raise many kinds of errors
                return NOT_A_VALUE
    return NOT_A_VALUE


def to_builtins(cells: np.ndarray) -> np.ndarray:
    """Apply :func:`to_builtin` to every cell of an object array; return the same array if nothing changes."""
    if types_of(cells) <= _PLAIN:
        return cells
    rebuilt = np.empty(len(cells), dtype=object)
    for i, cell in enumerate(cells):  # one by one: numpy would unpack tuples
        rebuilt[i] = to_builtin(cell)
    return rebuilt


def types_of(cells: np.ndarray) -> frozenset[int]:
    """Identities of the cells' types; {0} if a type cannot be hashed."""
    try:
        return frozenset(map(id, set(map(type, cells))))
    except Exception:  # a class whose metaclass has no hash
        return frozenset((0,))


def canonical(value: Any) -> Hashable:
    """Return the form by which values are compared: numbers are doubles, and whole doubles are int."""
    # Numbers beyond 2**53 are only as distinct as doubles are: declare longer ones as text.
    if type(value) is str:  # the most common case
        return value
    value = to_builtin(value)
    return _number(value) if type(value) in (int, float, Decimal, Fraction) else value


def is_missing(form: Any) -> bool:
    """Whether a canonical form is a missing value."""
    return form is None or (type(form) is float and math.isnan(form))


def is_storable(form: Any) -> bool:
    """Whether a file can hold a canonical form; other forms could be learned, but never released."""
    if isinstance(form, str):
        return is_text(form)
    if isinstance(form, float):
        return math.isfinite(form)
    return isinstance(form, dt.date) or (isinstance(form, int) and abs(form) <= _LARGEST_INTEGER)


def is_text(form: Any, most: int = LONGEST_TEXT) -> bool:
    """Whether a form is a text that files can hold: at most ``most`` characters, no lone surrogate."""
    if not isinstance(form, str) or len(form) > most:
        return False
    return not any("\ud800" <= letter <= "\udfff" for letter in form)


def _number(value: Any) -> Hashable:
    try:
        double = float(value)
    except OverflowError:
        return value if type(value) is int else NOT_A_VALUE
    return int(double) if double.is_integer() and abs(double) < _INT64 else double


def _numpy(cell: Any) -> Any:
    item: Any = np.generic.item(cell)
    if isinstance(item, (np.longdouble, np.clongdouble)):  # Python has no such number
        real, imaginary = item.real, item.imag
        return NOT_A_VALUE if imaginary != 0 else int(real) if real.is_integer() else float(real)
    return NOT_A_VALUE if isinstance(item, np.generic) else to_builtin(item)


def _complex(cell: Any) -> Any:
    return NOT_A_VALUE if complex.imag.__get__(cell) else complex.real.__get__(cell)


def _decimal(cell: Any) -> Any:
    exact = Decimal(cell)
    return None if exact.is_nan() else exact


def _fraction(cell: Any) -> Any:
    is_plain = type(cell.numerator) is int and type(cell.denominator) is int
    return Fraction(cell.numerator, cell.denominator) if is_plain else NOT_A_VALUE


def _uuid(cell: Any) -> Any:
    uuid_type: Any = uuid.UUID
    number = uuid_type.int.__get__(cell)
    return str(uuid.UUID(int=number)) if type(number) is int else NOT_A_VALUE


def _moment(cell: Any) -> Any:
    if type(cell) is not pd.Timestamp:
        clock, zone = dt.datetime.time(cell), dt.datetime.tzinfo.__get__(cell)
        cell = dt.datetime.combine(dt.datetime.date(cell), clock, zone)
    elif cell.tzinfo is not None:
        cell = cell.tz_convert("UTC")
    if cell.tzinfo is not None:
        module = type.__getattribute__(type(cell.tzinfo), _NAME)
        if type(module) is not str or module.split(".")[0] not in _ZONES:
            return NOT_A_VALUE
    stamp = pd.Timestamp(cell)
    if stamp.tz is None:
        return _normalize_unit(stamp)
    stamp = stamp.tz_convert("UTC")
    return NOT_A_VALUE if is_outside_zones(stamp) else _normalize_unit(stamp)


# Such a moment may fall in another year in some time zone, or outside 64 bits of nanoseconds. A column of
# dates cannot hold it, so the cell is missing there, and equally among objects. Zones are at most 14 hours
# ahead of UTC, and local times before standard time up to 16 hours.
FIRST_OF_ZONES, LAST_OF_ZONES = pd.Timestamp.min + pd.Timedelta(1, "D"), pd.Timestamp("9999-12-31 09:59:59")
EDGE_OF_ZONES = pd.Timestamp.max - pd.Timedelta(1, "D"), pd.Timestamp.max


def is_outside_zones(moments: Any) -> Any:
    """Whether moments in UTC fit in no column with a time zone, whatever its unit. Scalar or array."""
    first, last, low, high = (
        stamp.tz_localize("UTC") for stamp in (FIRST_OF_ZONES, LAST_OF_ZONES, *EDGE_OF_ZONES)
    )
    return (moments < first) | (moments > last) | ((moments > low) & (moments <= high))


def _normalize_unit(stamp: Any) -> Any:
    if stamp is pd.NaT:
        return None
    if not dt.MINYEAR <= stamp.year <= dt.MAXYEAR:
        return NOT_A_VALUE
    return stamp.as_unit("ns" if stamp.nanosecond else "us")


def _tuple(cell: Any) -> Any:
    if any(issubclass(type(entry), tuple) for entry in tuple.__iter__(cell)):  # reads no entry
        return NOT_A_VALUE
    entries = tuple(None if is_missing(entry) else entry for entry in map(to_builtin, tuple.__iter__(cell)))
    return NOT_A_VALUE if any(entry is NOT_A_VALUE for entry in entries) else entries


_REBUILDERS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    (complex, _complex),
    (bytes, lambda cell: bytes.__getitem__(cell, slice(None))),
    (np.datetime64, lambda cell: _normalize_unit(pd.Timestamp(cell))),
    (np.timedelta64, lambda cell: None if np.isnat(cell) else NOT_A_VALUE),
    (np.generic, _numpy),
    (Decimal, _decimal),
    (dt.datetime, _moment),
    (dt.date, lambda cell: dt.date.fromordinal(dt.date.toordinal(cell))),
    (tuple, _tuple),
    (uuid.UUID, _uuid),
    (Fraction, _fraction),
)
"""Rebuilders, in order: the first matching base class applies."""


IndexArray = np.ndarray[Any, np.dtype[np.int64]]
_COMPARED = frozenset(map(id, (type(None), int, float, str)))  # equal cells of these types have one form


def distinct_values(column: pd.Series[Any]) -> tuple[IndexArray, list[Hashable]]:
    """Index of each cell into a list of canonical forms (-1 is missing), and that list."""
    # A form may occur twice in the list, or be unused.
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _canonicalised(column.cat.codes.to_numpy(), column.cat.categories.to_list())
    if str(column.dtype) == "halffloat[pyarrow]":  # pyarrow 25 and older cannot compare these
        return distinct_objects(column.to_numpy(dtype=object))
    if is_arrow(column):
        where, categories = pd.factorize(column.array)
        return _canonicalised(where, as_objects(categories.__arrow_array__()))
    if column.dtype == object or isinstance(column.dtype, pd.StringDtype):
        return distinct_objects(column.to_numpy(dtype=object))
    where, values = pd.factorize(column)
    return _canonicalised(where, list(values))


def distinct_objects(cells: np.ndarray) -> tuple[IndexArray, list[Hashable]]:
    """The same for an object array."""
    # Canonical forms are compared, not cells: among equal cells of several types, the first would stand
    # for all.
    kinds = types_of(cells)
    if kinds <= _COMPARED:
        # In an array of texts alone, pandas compares each up to its first NUL. A missing cell makes it
        # compare whole texts.
        where, values = pd.factorize(np.append(cells, np.array([None], dtype=object)))
        return where[:-1], list(map(canonical, values))
    if kinds <= _COMPARED | {id(bool)}:
        truths = np.fromiter((cell is True or cell is False for cell in cells), dtype=bool, count=len(cells))
        others = cells.copy()
        others[truths] = None
        where, forms = distinct_objects(others)
        where[truths] = len(forms) + cells[truths].astype(np.int64)
        return where, [*forms, False, True]
    forms = [canonical(cell) for cell in cells]
    number: dict[tuple[type, Hashable], int] = {}
    codes = (-1 if is_missing(form) else number.setdefault((type(form), form), len(number)) for form in forms)
    return np.fromiter(codes, dtype=np.int64, count=len(cells)), [form for _, form in number]


def _canonicalised(indices: Any, values: Sequence[Any]) -> tuple[IndexArray, list[Hashable]]:
    """Replace values by canonical forms; values that are missing in Python get index -1."""
    forms = list(map(canonical, values))
    missing = np.array([*map(is_missing, forms), True])
    if not missing[:-1].any():
        return indices.astype(np.int64), forms
    return np.where(missing[indices], -1, indices).astype(np.int64), forms


def is_arrow(column: pd.Series[Any]) -> bool:
    """Whether a column has an Arrow type."""
    return isinstance(column.dtype, pd.ArrowDtype)


def as_objects(cells: Any) -> list[Any]:
    """Arrow cells as Python objects; a cell without an equivalent, such as the year 10000, is missing."""
    try:
        return list(cells.to_pylist())
    except (ValueError, OverflowError):
        return list(map(_as_object, cells))


def _as_object(cell: Any) -> Any:
    try:
        return cell.as_py()
    except (ValueError, OverflowError):
        return None
