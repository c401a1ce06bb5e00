"""Cells in rules: numbers, dates as nanoseconds, and values in canonical form."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.rules.rule import Formats
from sdv_plausible.table.cells.canonical_forms import canonical, distinct_values
from sdv_plausible.table.cells.cell_series import as_doubles
from sdv_plausible.table.cells.dates import as_nanoseconds, write_dates
from sdv_plausible.table.columns.domain import Attribute

NO_DATE = np.iinfo(np.int64).min
# Limits of derived columns
LARGEST_INTEGER, LARGEST_NUMBER = 2**62, 2.0**1000
MISSING = ("missing",)  # canonical form of a missing cell


def to_numbers(table: pd.DataFrame, name: str, formats: Formats) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of a column, dates as nanoseconds (int64), and a mask of present cells."""
    if name in formats:
        moments = as_nanoseconds(table[name], formats[name], row_by_row=True)
        return moments, moments != NO_DATE
    numbers = as_doubles(table[name])
    return numbers, np.isfinite(numbers)


def distinct_keys(table: pd.DataFrame, name: str, formats: Formats) -> tuple[np.ndarray, list[Hashable]]:
    """Index of each cell into its column's distinct values, and those values in canonical form."""
    if name in formats:
        where, moments = pd.factorize(to_numbers(table, name, formats)[0])
        return where, [MISSING if moment == NO_DATE else int(moment) for moment in moments]
    where, forms = distinct_values(table[name])
    return np.where(where < 0, len(forms), where), [*forms, MISSING]


def cell_key(value: Any, name: str, formats: Formats) -> Hashable:
    """Canonical form of a declared value, comparable to :func:`distinct_keys`."""
    if pd.isna(value):
        return MISSING
    return to_nanoseconds(value, name, formats[name]) if name in formats else canonical(value)


def combination_key(values: Iterable[Any], names: Iterable[str], formats: Formats) -> tuple[Hashable, ...]:
    """Canonical form of a declared combination, comparable to :func:`distinct_combinations`."""
    return tuple(cell_key(value, name, formats) for value, name in zip(values, names, strict=True))


def to_nanoseconds(value: Any, name: str, form: str | None) -> int:
    """Nanoseconds of a declared date, in the column's format or as ISO 8601."""
    if not isinstance(value, (int, float, np.number)):
        cells = pd.Series([value], dtype=object)
        for candidate in (form, None):
            nanoseconds = int(as_nanoseconds(cells, candidate, row_by_row=True)[0])
            if nanoseconds != NO_DATE:
                return nanoseconds
    raise ValueError(
        f"column {name!r}: {value!r} must be a date in the column's format ({form!r}) or as ISO 8601"
    )


def distinct_combinations(
    table: pd.DataFrame, names: Sequence[str], formats: Formats
) -> tuple[np.ndarray, list[tuple[Hashable, ...]]]:
    """Index of each row's combination of values, and those combinations in canonical form."""
    if not len(table):
        return np.zeros(0, dtype=np.int64), []
    columns = [distinct_keys(table, name, formats) for name in names]
    where, distinct = pd.MultiIndex.from_arrays([codes for codes, _ in columns]).factorize()
    return where, [tuple(columns[j][1][code] for j, code in enumerate(codes)) for codes in distinct]


def is_number(value: Any) -> bool:
    """Whether a declared value is a finite number."""
    plain = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    with suppress(OverflowError):  # an integer beyond doubles
        return plain and math.isfinite(value)
    return False


def is_in(table: pd.DataFrame, name: str, formats: Formats, values: Iterable[Any]) -> np.ndarray:
    """Mask of cells that equal one of the declared values."""
    where, distinct = distinct_keys(table, name, formats)
    allowed = {cell_key(value, name, formats) for value in values}
    return np.array([value in allowed for value in distinct], dtype=bool)[where]


def are_equal(table: pd.DataFrame, first: str, second: str, formats: Formats) -> np.ndarray:
    """Mask of rows in which two columns are equal, or both missing."""
    (a, values), (b, others) = distinct_keys(table, first, formats), distinct_keys(table, second, formats)
    number = {value: i for i, value in enumerate([*values, *others])}
    left, right = (np.array([number[v] for v in side], dtype=int) for side in (values, others))
    return np.asarray(left[a] == right[b])


def to_column(values: np.ndarray, present: np.ndarray, attribute: Attribute) -> pd.Series[Any]:
    """Column of an attribute from numbers or nanoseconds; missing where ``present`` is False."""
    if attribute.kind != "datetime":
        if attribute.kind == "integer":
            values = np.round(values)
            return pd.Series(values.astype(np.int64) if present.all() else np.where(present, values, np.nan))
        if attribute.decimals is not None:
            values = rounded(values, attribute.decimals)
        values = np.clip(values, -LARGEST_NUMBER, LARGEST_NUMBER)
        return pd.Series(np.where(present, values, np.nan))
    stamps = pd.Series(np.where(present, values, NO_DATE).astype(np.int64).view("M8[ns]"))
    if attribute.datetime_format is not None:
        text = write_dates(stamps.dt.tz_localize("UTC"), attribute.datetime_format)
        return text.astype(object).where(stamps.notna(), None)
    if attribute.time_zone is not None:
        return stamps.dt.tz_localize("UTC").dt.tz_convert(attribute.time_zone)
    return stamps


def single_bin(
    name: str, ends: tuple[Any, Any], *, whole: bool, nullable: bool, decimals: int | None = None
) -> Attribute:
    """Attribute of a derived numeric column: one bin from its lowest to its highest value."""
    # Noisy ends may lie far from any cell. Ends beyond 64 bits become floats, and all ends are clipped to
    # the range of doubles.
    whole = whole and all(abs(end) < LARGEST_INTEGER for end in ends)
    low, high = (int(end) if whole else min(max(float(end), -LARGEST_NUMBER), LARGEST_NUMBER) for end in ends)
    kind: Any = "integer" if whole else "float"
    decimals = None if whole else decimals
    return Attribute(name=name, kind=kind, lower=(low,), upper=(high,), decimals=decimals, nullable=nullable)


def common_decimals(attributes: Iterable[Attribute]) -> int | None:
    """Largest number of digits after the point of numeric columns; None if one keeps all digits."""
    decimals = [0 if a.kind == "integer" else a.decimals for a in attributes]
    return None if None in decimals else max(d for d in decimals if d is not None)


def count_decimals(number: float) -> int:
    """Digits after the point of a declared number, at most 12."""
    digits = (d for d in range(12) if math.isclose(round(number, d), number, rel_tol=1e-12))
    return next(digits, 12)


def rounded(values: Any, decimals: int) -> np.ndarray:
    """Numbers rounded to some digits after the point; from 2^53 on, doubles have none."""
    with np.errstate(over="ignore"):  # no warning because of one cell
        return np.where(np.abs(values) < 2.0**53, np.round(values, decimals), values)


def round_decimals(values: np.ndarray) -> np.ndarray:
    """Sums and differences of decimals without floating-point noise in the last digits."""
    return values if values.dtype.kind == "i" else np.round(values, 12)
