"""Dates as text: the public list of formats that are detected, and month names, always in English.

A cell has at most one format, decided by its own text: the first format of the list that matches
(docs/explanation/proofs/type_votes.md). The locale of the process has no effect.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

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

    Its broader partner is returned instead if that alone explains more than a share ``MIN_SHARE_ALONE`` of the cells.

    Parameters
    ----------
    counts : mapping
        Number of cells per format, in the order of the list.
    present : float
        Number of cells that are not missing.
    """
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
    """Return the moment that a text writes in a format.

    Raises
    ------
    ValueError
        If the text does not match the format.
    """
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
