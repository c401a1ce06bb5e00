"""Cells as rules read and write them: numbers, dates as nanoseconds, values in one canonical form."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.rules.rule import Formats
from sdv_plausible.table.cells.canonical_forms import canonical
from sdv_plausible.table.cells.cell_series import as_doubles
from sdv_plausible.table.cells.date_texts import write_dates
from sdv_plausible.table.cells.dates import as_nanoseconds
from sdv_plausible.table.cells.distinct import distinct_values
from sdv_plausible.table.columns.domain import Attribute

NO_DATE = np.iinfo(np.int64).min
WHOLE, FARTHEST = 2**62, 2.0**1000  # ends of a made column of whole numbers, and of any numbers
MISSING = ("missing",)  # stands for a missing cell among canonical values


def numbers(table: pd.DataFrame, name: str, formats: Formats) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of a column, dates as nanoseconds (int64), and which of them are there."""
    if name in formats:
        moments = as_nanoseconds(table[name], formats[name], row_by_row=True)
        return moments, moments != NO_DATE
    found = as_doubles(table[name])
    return found, np.isfinite(found)


def keys(table: pd.DataFrame, name: str, formats: Formats) -> tuple[np.ndarray, list[Hashable]]:
    """Number of each cell's distinct value, and those values: canonical, dates as nanoseconds."""
    if name in formats:
        where, moments = pd.factorize(numbers(table, name, formats)[0])
        return where, [MISSING if moment == NO_DATE else int(moment) for moment in moments]
    where, found = distinct_values(table[name])
    return np.where(where < 0, len(found), where), [*found, MISSING]


def key(value: Any, name: str, formats: Formats) -> Hashable:
    """Canonical form of one declared value of a column, as :func:`keys` has it."""
    if pd.isna(value):
        return MISSING
    return moment(value, name, formats[name]) if name in formats else canonical(value)


def declared(values: Iterable[Any], names: Iterable[str], formats: Formats) -> tuple[Hashable, ...]:
    """One declared combination of values, as :func:`combinations` has it."""
    return tuple(key(value, name, formats) for value, name in zip(values, names, strict=True))


def moment(value: Any, name: str, form: str | None) -> int:
    """Nanoseconds of one declared date, in the column's format or as ISO 8601."""
    if not isinstance(value, (int, float, np.number)):
        one = pd.Series([value], dtype=object)
        for known in (form, None):
            found = int(as_nanoseconds(one, known, row_by_row=True)[0])
            if found != NO_DATE:
                return found
    raise ValueError(
        f"column {name!r}: {value!r} must be a date in the column's format ({form!r}) or as ISO 8601"
    )


def combinations(
    table: pd.DataFrame, names: Sequence[str], formats: Formats
) -> tuple[np.ndarray, list[tuple[Hashable, ...]]]:
    """Number of each row's combination of values, and those combinations in canonical form."""
    if not len(table):
        return np.zeros(0, dtype=np.int64), []
    columns = [keys(table, name, formats) for name in names]
    where, distinct = pd.MultiIndex.from_arrays([codes for codes, _ in columns]).factorize()
    return where, [tuple(columns[j][1][code] for j, code in enumerate(found)) for found in distinct]


def is_number(value: Any) -> bool:
    """Whether a declared value is a finite number."""
    plain = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return plain and bool(np.isfinite(float(value)))


def member(table: pd.DataFrame, name: str, formats: Formats, values: Iterable[Any]) -> np.ndarray:
    """Whether each cell of a column is among declared values."""
    where, distinct = keys(table, name, formats)
    wanted = {key(value, name, formats) for value in values}
    return np.array([value in wanted for value in distinct], dtype=bool)[where]


def same(table: pd.DataFrame, first: str, second: str, formats: Formats) -> np.ndarray:
    """Whether the cells of two columns are the same value, or both missing."""
    (a, found), (b, others) = keys(table, first, formats), keys(table, second, formats)
    number = {value: i for i, value in enumerate([*found, *others])}
    left, right = (np.array([number[v] for v in side], dtype=int) for side in (found, others))
    return np.asarray(left[a] == right[b])


def written(values: np.ndarray, there: np.ndarray, attribute: Attribute) -> pd.Series[Any]:
    """Numbers, or dates as nanoseconds, as a column of this attribute; missing where they are not there."""
    if attribute.kind != "datetime":
        if attribute.kind == "integer":
            values = np.round(values)
            return pd.Series(values.astype(np.int64) if there.all() else np.where(there, values, np.nan))
        if attribute.decimals is not None:
            values = np.round(values, attribute.decimals)
        values = np.clip(values, -FARTHEST, FARTHEST)
        return pd.Series(np.where(there, values, np.nan))
    stamps = pd.Series(np.where(there, values, NO_DATE).astype(np.int64).view("M8[ns]"))
    if attribute.datetime_format is not None:
        text = write_dates(stamps.dt.tz_localize("UTC"), attribute.datetime_format)
        return text.astype(object).where(stamps.notna(), None)
    if attribute.time_zone is not None:
        return stamps.dt.tz_localize("UTC").dt.tz_convert(attribute.time_zone)
    return stamps


def one_bin(name: str, ends: tuple[Any, Any], *, whole: bool, **words: Any) -> Attribute:
    """The value set of a column of numbers that a rule makes: all from its lowest to its highest."""
    # Noise may have found ends far from any cell: what 64 bits do not hold is no whole number, and no end is
    # beyond what doubles hold.
    whole = whole and all(abs(end) < WHOLE for end in ends)
    low, high = (int(end) if whole else min(max(float(end), -FARTHEST), FARTHEST) for end in ends)
    decimals = None if whole else words.pop("decimals", None)
    kept = {key: value for key, value in words.items() if key != "decimals"}
    kind: Any = "integer" if whole else "float"
    return Attribute(name=name, kind=kind, lower=(low,), upper=(high,), decimals=decimals, **kept)


def rounded(values: np.ndarray) -> np.ndarray:
    """Sums and differences of decimals without the doubles' last digits."""
    return values if values.dtype.kind == "i" else np.round(values, 12)
