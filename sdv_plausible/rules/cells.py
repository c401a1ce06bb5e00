"""Cells as rules read and write them: numbers, dates as nanoseconds, values in one canonical form."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.rules.rule import Formats
from sdv_plausible.table.cells import as_doubles, canonical
from sdv_plausible.table.dates import as_nanoseconds
from sdv_plausible.table.domain import Attribute

NO_DATE = np.iinfo(np.int64).min
MISSING = ("missing",)  # stands for a missing cell among canonical values


def numbers(table: pd.DataFrame, name: str, formats: Formats) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of a column, dates as nanoseconds (int64), and which of them are there."""
    if name in formats:
        moments = as_nanoseconds(table[name], formats[name], row_by_row=True)
        return moments, moments != NO_DATE
    found = as_doubles(table[name])
    return found, np.isfinite(found)


def keys(column: pd.Series[Any]) -> tuple[np.ndarray, list[Hashable]]:
    """Number of each cell's distinct value, and those values in their canonical form."""
    where, distinct = pd.factorize(column.astype(object))
    found: list[Hashable] = [canonical(value) for value in distinct]
    return np.where(where < 0, len(found), where), [*found, MISSING]


def key(value: Any) -> Hashable:
    """Canonical form of one declared value."""
    return MISSING if pd.isna(value) else canonical(value)


def is_number(value: Any) -> bool:
    """Whether a declared value is a finite number."""
    plain = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return plain and bool(np.isfinite(float(value)))


def member(column: pd.Series[Any], values: Iterable[Hashable]) -> np.ndarray:
    """Whether each cell is among canonical values."""
    where, distinct = keys(column)
    wanted = set(values)
    return np.array([value in wanted for value in distinct])[where]


def same(first: pd.Series[Any], second: pd.Series[Any]) -> np.ndarray:
    """Whether the cells of two columns are the same value, or both missing."""
    (a, found), (b, others) = keys(first), keys(second)
    number = {value: i for i, value in enumerate([*found, *others])}
    return np.array([number[v] for v in found])[a] == np.array([number[v] for v in others])[b]


def written(values: np.ndarray, there: np.ndarray, attribute: Attribute) -> pd.Series[Any]:
    """Numbers, or dates as nanoseconds, as a column of this attribute; missing where they are not there."""
    if attribute.kind != "datetime":
        if attribute.kind == "integer":
            values = np.round(values)
            return pd.Series(values.astype(np.int64) if there.all() else np.where(there, values, np.nan))
        if attribute.decimals is not None:
            values = np.round(values, attribute.decimals)
        return pd.Series(np.where(there, values, np.nan))
    stamps = pd.Series(np.where(there, values, NO_DATE).astype(np.int64).view("M8[ns]"))
    if attribute.datetime_format is not None:
        text = stamps.dt.tz_localize("UTC").dt.strftime(attribute.datetime_format)
        return text.astype(object).where(stamps.notna(), None)
    if attribute.time_zone is not None:
        return stamps.dt.tz_localize("UTC").dt.tz_convert(attribute.time_zone)
    return stamps
