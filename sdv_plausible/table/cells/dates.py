"""Dates as nanoseconds since 1970 UTC, parsed row by row, and the style in which a column writes them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.table.cells.canonical_forms import EDGE_OF_ZONES, FIRST_OF_ZONES, is_outside_zones
from sdv_plausible.table.cells.cell_documents import ZONE_PATTERN
from sdv_plausible.table.cells.date_texts import digits_format, has_names, names_to_digits, shows_date
from sdv_plausible.table.cells.distinct import distinct_values

NANOSECONDS = {"D": 86_400 * 10**9, "h": 3_600 * 10**9, "min": 60 * 10**9, "s": 10**9, "ns": 1}
DATE_FORMAT_RULE = "a strftime format such as '%Y-%m-%d', of directives that pandas reads, each once"
_YEARS = ("0001-01-01", "9999-12-31 23:59:59.999999")
_NANOSECONDS_OF_ZONES = (FIRST_OF_ZONES, EDGE_OF_ZONES[0])
_READ = (str, int, float, dt.date, pd.Timestamp)


def as_nanoseconds(
    column: pd.Series[Any], datetime_format: str | None = None, *, row_by_row: bool = False
) -> np.ndarray:
    """Nanoseconds since 1970 UTC as int64; missing is the smallest int64 (numpy's NaT)."""
    # ``row_by_row`` parses every row by itself. Text without a format must then be ISO 8601 (pandas would
    # guess a format from the first row and apply it to all others). Unreadable cells are missing.
    column = _to_numpy(column)
    if not isinstance(column.dtype, pd.DatetimeTZDtype) and not pd.api.types.is_datetime64_dtype(
        column.dtype
    ):
        try:
            if row_by_row:
                column = _parse_cells(column, datetime_format or "ISO8601")
            else:
                cells, form = _with_digits(column, datetime_format)
                column = pd.to_datetime(cells, format=form, utc=True)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"column {str(column.name)!r} has dates that cannot be read in the datetime_format "
                f"({datetime_format!r}): give the format that they are written in, or make such cells missing"
            ) from error
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    try:
        if row_by_row:
            column = column.where((column >= pd.Timestamp.min) & (column <= pd.Timestamp.max))
        return column.astype("M8[ns]").to_numpy().view("i8")
    except pd.errors.OutOfBoundsDatetime as error:
        raise ValueError(
            f"column {str(column.name)!r} has dates outside the years 1678 to 2262; use missing for 'never'"
        ) from error


def _parse_cells(column: pd.Series[Any], form: str) -> pd.Series[Any]:
    """Moments in UTC, each distinct cell parsed by itself; "now" and "today" are missing."""
    where, forms = distinct_values(column)
    dates = [form if type(form) in _READ and form not in ("now", "today") else None for form in forms]
    cells = pd.Series(dates, dtype=object)
    if form == "ISO8601":  # parsed together, cells without an offset would take another cell's
        cells = pd.Series([_parse(cell, form) if type(cell) is str else cell for cell in cells], dtype=object)
    cells, figures = _with_digits(cells, form)
    read = pd.to_datetime(cells, format=figures, utc=True, errors="coerce", cache=False)
    return read.reindex(where).set_axis(column.index)  # index -1 (missing) gives NaT


def _with_digits(column: pd.Series[Any], form: str | None) -> tuple[pd.Series[Any], str | None]:
    """Cells and format with month numbers in place of names, which pandas parses by the locale."""
    if form is None or not has_names(form):
        return column, form
    cells = [names_to_digits(cell, form) for cell in column]  # Series.map fails on integers beyond 2**1024
    return pd.Series(cells, index=column.index, dtype=object), digits_format(form)


def _parse(text: str, form: str) -> Any:
    return pd.to_datetime(text, format=form, utc=True, errors="coerce")


def mask_out_of_range(column: pd.Series[Any]) -> pd.Series[Any]:
    """Column with moments beyond the years 1 to 9999 (in UTC or local time) set to missing."""
    # pandas raises an error or crashes on such moments.
    if not is_date_column(column) and not _is_arrow_date(column):
        return column
    moments = _to_numpy(column)
    if isinstance(moments.dtype, pd.DatetimeTZDtype):
        beyond = np.asarray(is_outside_zones(moments))
    else:
        first, last = map(pd.Timestamp, _YEARS)
        beyond = ((moments < first) | (moments > last)).to_numpy()
    return column.where(~beyond) if beyond.any() else column


def arrow_to_numpy(cells: Any) -> pd.Series[Any]:
    """Arrow moments as a numpy-backed series, in their own unit and time zone."""
    zone, values = getattr(cells.type, "tz", None), cells.to_numpy()
    moments = pd.Series(values.astype("M8[s]") if np.datetime_data(values.dtype)[0] == "D" else values)
    return moments if zone is None else moments.dt.tz_localize("UTC").dt.tz_convert(zone)


def is_date_column(column: pd.Series[Any]) -> bool:
    """Whether a column's type is a date type, so that no text is parsed."""
    dtype = column.dtype
    is_arrow = isinstance(dtype, pd.ArrowDtype) and dtype.kind == "M"
    return is_arrow or isinstance(dtype, pd.DatetimeTZDtype) or pd.api.types.is_datetime64_dtype(dtype)


def _is_arrow_date(column: pd.Series[Any]) -> bool:
    """Whether a column has Arrow's date type."""
    return isinstance(column.dtype, pd.ArrowDtype) and str(column.dtype.pyarrow_dtype).startswith("date")


def _to_numpy(column: pd.Series[Any]) -> pd.Series[Any]:
    """Arrow dates as numpy dates; other columns unchanged."""
    if isinstance(column.dtype, pd.ArrowDtype) and (column.dtype.kind == "M" or _is_arrow_date(column)):
        return arrow_to_numpy(column.array.__arrow_array__()).set_axis(column.index)
    return column


def utc_to_local(moments: np.ndarray, time_zone: str | None) -> np.ndarray:
    """Convert UTC nanoseconds to local time; missing stays missing. Without a time zone, return the same."""
    if time_zone is None:
        return moments
    stamps = pd.Series(_clip(moments).view("M8[ns]")).dt.tz_localize("UTC").dt.tz_convert(time_zone)
    return stamps.dt.tz_localize(None).to_numpy().astype("M8[ns]").view(np.int64)


def local_to_utc(shown: np.ndarray, time_zone: str | None) -> np.ndarray:
    """Convert local nanoseconds to UTC; ambiguous times are winter time, skipped times move forward."""
    if time_zone is None:
        return shown
    stamps = pd.Series(_clip(shown).view("M8[ns]")).dt.tz_localize(
        time_zone, ambiguous=np.zeros(len(shown), dtype=bool), nonexistent="shift_forward"
    )
    return stamps.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy().astype("M8[ns]").view(np.int64)


def _clip(moments: np.ndarray) -> np.ndarray:
    """Clip moments so that a day before and after fits 64 bits in every time zone; missing stays missing."""
    first, last = (int(end.value) for end in _NANOSECONDS_OF_ZONES)
    missing = moments == np.iinfo(np.int64).min
    return np.where(missing, moments, np.clip(moments, first, last)).astype(np.int64)


def bins_to_utc(
    lower: Sequence[float], upper: Sequence[float], time_zone: str | None
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Convert bins in local time to UTC; a bin in a skipped hour becomes a single value."""
    if time_zone is None or not len(lower):
        return tuple(lower), tuple(upper)
    first, last = (local_to_utc(np.array(ends, dtype=np.int64), time_zone) for ends in (lower, upper))
    bins: list[tuple[int, int]] = []
    for low, high in zip(first.tolist(), last.tolist(), strict=True):
        begin = max(low, bins[-1][1] + 1) if bins else low
        bins.append((begin, max(begin, high)))
    return tuple(low for low, _ in bins), tuple(high for _, high in bins)


def date_style(column: pd.Series[Any], datetime_format: str | None) -> dict[str, Any]:
    """How a column's dates are written: the declared format, else the time zone of its type."""
    # With a declared format, the column's own type (dates or text) is ignored: a single cell that is no date
    # would change it.
    if datetime_format is not None:
        return {"datetime_format": datetime_format}
    zone = getattr(_to_numpy(column.iloc[:0]).dtype, "tz", None)
    return {"datetime_format": None} if zone is None else {"time_zone": str(zone)}


def check_dates(table: pd.DataFrame, formats: Mapping[str, str | None]) -> None:
    """Raise ValueError if a column's type does not match how its dates are written. Reads only the schema."""
    # Text needs a format: pandas would parse all rows as the first one suggests. Dates with a time zone
    # have none.
    for name, form in formats.items():
        column = _to_numpy(table[name].iloc[:0])
        check_style(name, date_style(column, form).get("time_zone"), form)
        if form is None and not is_date_column(column):
            raise ValueError(
                f"column {name!r} holds dates as text: give its datetime_format, such as '%Y-%m-%d', in the "
                "declaration or the metadata"
            )
        if form is not None and isinstance(column.dtype, pd.DatetimeTZDtype):
            raise ValueError(
                f"column {name!r} has dates of a time zone ({column.dtype.tz}), and datetime_format "
                f"({form!r}) is for text: leave the format out, or turn the column into text"
            )


def check_style(name: str, time_zone: Any, datetime_format: Any) -> None:
    """Raise ValueError for an unknown time zone or an invalid date format."""
    if datetime_format is not None and not is_date_format(datetime_format):
        raise ValueError(f"column {name!r}: datetime_format ({datetime_format!r}) must be {DATE_FORMAT_RULE}")
    try:
        if time_zone is not None and not re.fullmatch(ZONE_PATTERN, str(time_zone)):
            raise ValueError("no file can name it")
        pd.Timestamp(0).tz_localize(time_zone)
    except Exception as error:  # time zone libraries raise several kinds of errors
        raise ValueError(
            f"column {name!r}: time_zone ({time_zone!r}) must be such as 'Europe/Zurich', or null"
        ) from error


def is_date_format(form: str) -> bool:
    """Whether dates can be parsed and written in a format: all directives are known and occur once."""
    try:
        pd.to_datetime("0", format=form, errors="coerce")
        pd.Timestamp(0).strftime(form)
    except Exception:  # several kinds of errors, re.error among them
        return False
    return True


def resolution_step(text: str) -> int | None:
    """Nanoseconds of a resolution, a day or a divisor of a day such as "15min"; None for anything else."""
    match = re.fullmatch(r"([1-9]\d{0,4})?(D|h|min|s)", text)
    if match is None:
        return None
    step = int(match[1] or 1) * NANOSECONDS[match[2]]
    return step if NANOSECONDS["D"] % step == 0 else None


def format_unit(form: str | None) -> int:
    """Finest unit, in nanoseconds, that a strftime format shows."""
    if form is None:
        return 1
    if "%f" in form:
        return 1000  # microseconds
    shown = (
        unit
        for letters, unit in (("STcX", "s"), ("M", "min"), ("HI", "h"))
        for letter in letters
        if f"%{letter}" in form
    )
    return NANOSECONDS[next(shown, "D")]


def shows_time(datetime_format: str | None) -> bool:
    """Whether a format is given and shows both a date and a time of day."""
    if datetime_format is None:
        return False
    return format_unit(datetime_format) < NANOSECONDS["D"] and shows_date(datetime_format)
