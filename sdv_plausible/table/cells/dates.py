"""Dates as nanoseconds since 1970 UTC, parsed row by row, and the style in which a column writes them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.table.cells.canonical_forms import (
    EDGE_OF_ZONES,
    FIRST_OF_ZONES,
    distinct_values,
    is_outside_zones,
)
from sdv_plausible.table.cells.cell_documents import ZONE_PATTERN

FORMATS = (
    "%Y-%m-%d", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%Y/%m/%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S",
    "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M", "%d.%m.%Y %H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M",
    "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S.%fZ",
    "%Y-%m-%d %H:%M:%S+00:00", "%Y-%m-%dT%H:%M:%S+00:00", "%Y-%m-%d %H:%M:%S%z", "%Y-%m-%dT%H:%M:%S%z",
    "%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%Y-%m", "%H:%M", "%H:%M:%S",
    "%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M", "%m/%d/%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S", "%d.%m.%Y %H:%M:%S",
    "%m/%d/%Y %I:%M %p", "%d/%m/%Y %I:%M %p", "%m/%d/%Y %I:%M:%S %p", "%d/%m/%Y %I:%M:%S %p",
    "%m/%d/%y", "%d/%m/%y", "%d.%m.%y", "%m/%d/%y %H:%M", "%d/%m/%y %H:%M", "%I:%M %p", "%I:%M:%S %p",
    "%Y%m%d", "%Y%m",
)  # fmt: skip
"""Formats of dates, moments, months and times of day that are detected where none is declared."""
DIGIT_FORMATS = ("%Y%m%d", "%Y%m")  # formats whose cells are also numbers
BROADER = {
    "%m/%d/%Y": "%d/%m/%Y",
    "%m/%d/%Y %H:%M": "%d/%m/%Y %H:%M",
    "%m/%d/%Y %H:%M:%S": "%d/%m/%Y %H:%M:%S",
    "%m/%d/%Y %I:%M %p": "%d/%m/%Y %I:%M %p",
    "%m/%d/%Y %I:%M:%S %p": "%d/%m/%Y %I:%M:%S %p",
    "%m/%d/%y": "%d/%m/%y",
    "%m/%d/%y %H:%M": "%d/%m/%y %H:%M",
    "%Y-%m-%d %H:%M:%S+00:00": "%Y-%m-%d %H:%M:%S%z",
    "%Y-%m-%dT%H:%M:%S+00:00": "%Y-%m-%dT%H:%M:%S%z",
    "%d %b %Y": "%d %B %Y",
    "%b %d, %Y": "%B %d, %Y",
}
"""Pairs of formats that may match the same cell: the earlier and the later in the list."""
_UTC = dt.timezone.utc
SENTINEL_DATES = (
    dt.datetime(9999, 12, 31, tzinfo=_UTC), dt.datetime(9999, 12, 31, 23, 59, 59, tzinfo=_UTC),
    dt.datetime(9999, 1, 1, tzinfo=_UTC), dt.datetime(2999, 12, 31, tzinfo=_UTC),
    dt.datetime(3000, 1, 1, tzinfo=_UTC),
)  # fmt: skip
"""Sentinel dates for "never" or "still open", outside the range of 64-bit nanoseconds."""
MIN_SHARE_ALONE = 0.1  # share of cells matched by the later format alone, above which it is the column's
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
_NAMES = {"B": MONTHS, "b": tuple(name[:3] for name in MONTHS)}
_NUMBERS = {letter: {n.lower(): i for i, n in enumerate(names, 1)} for letter, names in _NAMES.items()}
_NAMED = {code: re.compile(f"(?P<{code}>{'|'.join(names)})", re.IGNORECASE) for code, names in _NAMES.items()}
_CODE = re.compile("%(.)", re.DOTALL)
_FIGURES = re.compile("<([bB])([0-9]{2})>")
_HALVES = re.compile("%I((?::%M)?(?::%S)?) %p$")  # AM or PM after the time
_HALF = re.compile("([0-9]{1,2})((?::[0-9]{2}){0,2}) ([AP])M$", re.IGNORECASE)
_HOURS = re.compile("<I([0-9]{2})>((?::[0-9]{2}){0,2})$")
_PATTERNS = {
    "Y": "[0-9]{4}", "m": "[0-9]{1,2}", "d": "[0-9]{1,2}", "H": "[0-9]{1,2}", "M": "[0-9]{2}",
    "S": "[0-9]{2}", "y": "[0-9]{2}", "I": "[0-9]{1,2}", "p": "[AP]M", "f": "[0-9]{1,6}",
    "z": "[+-][0-9]{2}:?[0-9]{2}",
    **{code: p.pattern for code, p in _NAMED.items()},
}  # fmt: skip
_EXACT = {  # not 2013-1, nor numbers of seven digits
    "%Y-%m": "[0-9]{4}-[0-9]{2}", "%Y%m%d": "(?:19|20)[0-9]{6}", "%Y%m": "(?:19|20)[0-9]{4}",
}  # fmt: skip


def _pattern(form: str) -> re.Pattern[str]:
    parts = re.split("%(.)", form)
    pieces = [_PATTERNS[part] if i % 2 else re.escape(part) for i, part in enumerate(parts)]
    return re.compile(_EXACT.get(form, "".join(pieces)), re.IGNORECASE if has_names(form) else 0)


def detect_date_format(text: str) -> str | None:
    """Return the first format of the list that a stripped text matches, or None."""
    if not (text[-1:] in "0123456789ZMm" and text.isascii() and any(map(str.isdigit, text))):
        return None
    return next((form for form in FORMATS if matches_date_format(text, form)), None)


def matches_date_format(text: str, form: str) -> bool:
    """Whether a stripped text is a date in one format of the list."""
    if not _FORMS[form].fullmatch(text):
        return False
    try:
        read_date(text, form)
    except ValueError:
        return False
    return True


def main_date_format(counts: Mapping[str, float], present: float) -> str:
    """Return the format of most cells, the first on ties.

    Its broader partner is returned instead if that alone explains more than ``MIN_SHARE_ALONE`` of the cells.
    """
    # ``counts``: number of cells per format, in the order of the list.
    # ``present``: number of cells that are not missing.
    best = max(counts, key=lambda form: counts[form])
    broader = BROADER.get(best)
    return broader if broader is not None and counts.get(broader, 0.0) > MIN_SHARE_ALONE * present else best


def shows_date(form: str) -> bool:
    """Whether a format distinguishes dates."""
    return any(code not in "HIpMSfzZTXrR%nt" for code in _CODE.findall(form))


def shows_months(form: str | None) -> bool:
    """Whether a format shows years and months and nothing finer."""
    codes = {*_CODE.findall(form or "")} - {"%"}
    return codes in ({year, month} for year in "Yy" for month in "mbBh")


# --- month names and AM/PM ---------------------------------------------------------------


def digits_format(form: str) -> str:
    """Return the format with marked digits in place of names, which depend on the locale."""
    form = _HALVES.sub(r"<I%H>\1", form)
    return _CODE.sub(lambda code: f"<{code[1]}%m>" if code[1] in _NAMED else code[0], form)


def names_to_digits(text: Any, form: str) -> Any:
    """A cell rewritten for :func:`digits_format`; anything but text stays as it is."""
    if not isinstance(text, str):
        return text
    for code in (code for code in _CODE.findall(form) if code in _NAMED):
        text = _NAMED[code].sub(_name_to_digits, text, count=1)
    return _HALF.sub(_to_24_hours, text) if _HALVES.search(form) else text


def _name_to_digits(name: re.Match[str]) -> str:
    code = str(name.lastgroup)
    return f"<{code}{_NUMBERS[code][name[0].lower()]:02}>"


def _to_24_hours(clock: re.Match[str]) -> str:
    hour = int(clock[1])
    hours = 24 if not 1 <= hour <= 12 else hour % 12 + 12 * (clock[3] in "Pp")  # 24 is no hour
    return f"<I{hours:02}>{clock[2]}"


def _digits_to_names(text: str) -> str:
    with_months = _FIGURES.sub(lambda match: _NAMES[match[1]][int(match[2]) - 1], text)
    return _HOURS.sub(
        lambda match: f"{(int(match[1]) - 1) % 12 + 1:02}{match[2]} {'AP'[int(match[1]) // 12]}M", with_months
    )


def has_names(form: str | None) -> bool:
    """Whether a format contains month names or AM/PM."""
    return form is not None and (
        any(code in _NAMED for code in _CODE.findall(form)) or bool(_HALVES.search(form))
    )


def read_date(text: str, form: str) -> dt.datetime:
    """Return the moment that a text writes in a format."""
    # Raises ValueError if the text does not match the format.
    return dt.datetime.strptime(names_to_digits(text, form), digits_format(form))


def write_date(moment: dt.datetime, form: str) -> str:
    """Return a moment as text in a format."""
    return _digits_to_names(moment.strftime(digits_format(form)))


def sentinel_texts(form: str | None) -> tuple[str, ...]:
    """Texts of the usual sentinel dates in a format; empty if the format does not show whole dates."""
    codes = {*_CODE.findall(form or "")}
    if form is None or "Y" not in codes or not codes & {*"mbB"}:
        return ()
    return tuple(dict.fromkeys(write_date(moment, form) for moment in SENTINEL_DATES))


def is_date(text: str, form: str) -> bool:
    """Whether a text is a date of the years 1 to 9999 in a format."""
    try:
        read_date(text.strip(), form)
    except (ValueError, re.error):
        return False
    return True


def write_dates(moments: pd.Series[Any], form: str) -> pd.Series[Any]:
    """Moments as texts; missing stays missing."""
    if not has_names(form):
        return moments.dt.strftime(form)
    return moments.dt.strftime(digits_format(form)).map(_digits_to_names, na_action="ignore")


_FORMS = {form: _pattern(form) for form in FORMATS}


NANOSECONDS = {"D": 86_400 * 10**9, "h": 3_600 * 10**9, "min": 60 * 10**9, "s": 10**9, "ns": 1}
DATE_FORMAT_RULE = "a strftime format such as '%Y-%m-%d', with directives that pandas supports, each once"
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
                f"column {str(column.name)!r} has dates that do not match the datetime_format "
                f"({datetime_format!r}): give the format of the cells, or make such cells missing"
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
                f"column {name!r} has dates with a time zone ({column.dtype.tz}), but datetime_format "
                f"({form!r}) is for text: remove the format, or convert the column to text"
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
