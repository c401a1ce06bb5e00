"""Dates as text: the public list of spellings that cells are asked for, and months' names, always English.

A cell is of one spelling at most, by its own text alone: the first in the list that it fits
(docs/explanation/proofs/type_votes.md). The process' locale has no say.
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
    "%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%Y-%m", "%H:%M", "%H:%M:%S", "%Y%m%d",
)  # fmt: skip
"""Of dates, moments, months and times of day that cells of text are asked for where nobody declared one."""
DIGITS = "%Y%m%d"  # whose cells are numbers as well
BROADER = {
    "%m/%d/%Y": "%d/%m/%Y",
    "%m/%d/%Y %H:%M": "%d/%m/%Y %H:%M",
    "%Y-%m-%d %H:%M:%S+00:00": "%Y-%m-%d %H:%M:%S%z",
    "%Y-%m-%dT%H:%M:%S+00:00": "%Y-%m-%dT%H:%M:%S%z",
    "%d %b %Y": "%d %B %Y",
    "%b %d, %Y": "%B %d, %Y",
}
"""Of two formats that may read the same cell, the earlier and the later in the list."""
ALONE = 0.1  # share of the cells that only the later one reads, from which a column is of that one
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
_NAMES = {"B": MONTHS, "b": tuple(name[:3] for name in MONTHS)}
_NUMBERS = {letter: {n.lower(): i for i, n in enumerate(names, 1)} for letter, names in _NAMES.items()}
_NAMED = {code: re.compile(f"(?P<{code}>{'|'.join(names)})", re.IGNORECASE) for code, names in _NAMES.items()}
_CODE = re.compile("%(.)", re.DOTALL)
_FIGURES = re.compile("<([bB])([0-9]{2})>")
_PATTERNS = {
    "Y": "[0-9]{4}", "m": "[0-9]{1,2}", "d": "[0-9]{1,2}", "H": "[0-9]{1,2}", "M": "[0-9]{2}",
    "S": "[0-9]{2}", "f": "[0-9]{1,6}", "z": "[+-][0-9]{2}:?[0-9]{2}",
    **{code: p.pattern for code, p in _NAMED.items()},
}  # fmt: skip
_EXACT = {"%Y-%m": "[0-9]{4}-[0-9]{2}", DIGITS: "(?:19|20)[0-9]{6}"}  # 2013-1 and numbers of seven digits


def _pattern(form: str) -> re.Pattern[str]:
    parts = re.split("%(.)", form)
    pieces = [_PATTERNS[part] if i % 2 else re.escape(part) for i, part in enumerate(parts)]
    return re.compile(_EXACT.get(form, "".join(pieces)), re.IGNORECASE if "%b" in form.lower() else 0)


_FORMS = {form: _pattern(form) for form in FORMATS}


def form_of(text: str) -> str | None:
    """Return the first format of the list that a text without blanks around it fits, or None."""
    if not (text[-1:] in "0123456789Z" and text.isascii() and any(map(str.isdigit, text))):
        return None
    return next((form for form in FORMATS if fits(text, form)), None)


def fits(text: str, form: str) -> bool:
    """Whether a text without blanks around it is a date in one format of the list."""
    if not _FORMS[form].fullmatch(text):
        return False
    try:
        read_date(text, form)
    except ValueError:
        return False
    return True


def main_form(counts: Mapping[str, float], present: float) -> str:
    """Return the format of most cells, the first of equals; its broader one where that alone explains some.

    Parameters
    ----------
    counts : mapping
        Cells of each format, in the order of the list.
    present : float
        All cells that are not missing.
    """
    best = max(counts, key=lambda form: counts[form])
    broader = BROADER.get(best)
    return broader if broader is not None and counts.get(broader, 0.0) > ALONE * present else best


def shows_date(form: str) -> bool:
    """Whether a format tells one date from another."""
    return any(code not in "HIpMSfzZTXrR%nt" for code in _CODE.findall(form))


def shows_months(form: str | None) -> bool:
    """Whether a format shows years and months and nothing finer."""
    codes = {*_CODE.findall(form or "")} - {"%"}
    return codes in ({year, month} for year in "Yy" for month in "mbBh")


# --- months' names ------------------------------------------------------------------------------


def figures_format(form: str) -> str:
    """Return the format with months' numbers, marked, in the place of names, which follow the locale."""
    return _CODE.sub(lambda code: f"<{code[1]}%m>" if code[1] in _NAMED else code[0], form)


def in_figures(text: Any, form: str) -> Any:
    """A cell of a format as :func:`figures_format` has it: what is no text stays as it is."""
    if not isinstance(text, str):
        return text
    for code in (code for code in _CODE.findall(form) if code in _NAMED):
        text = _NAMED[code].sub(_in_number, text, count=1)
    return text


def _in_number(name: re.Match[str]) -> str:
    code = str(name.lastgroup)
    return f"<{code}{_NUMBERS[code][name[0].lower()]:02}>"


def _in_names(text: str) -> str:
    return _FIGURES.sub(lambda found: _NAMES[found[1]][int(found[2]) - 1], text)


def names_months(form: str | None) -> bool:
    """Whether a format writes months' names."""
    return form is not None and any(code in _NAMED for code in _CODE.findall(form))


def read_date(text: str, form: str) -> dt.datetime:
    """Return the moment that one text writes.

    Raises
    ------
    ValueError
        If it writes none in this format.
    """
    return dt.datetime.strptime(in_figures(text, form), figures_format(form))


def write_date(moment: dt.datetime, form: str) -> str:
    """Return the text of one moment."""
    return _in_names(moment.strftime(figures_format(form)))


def write_dates(moments: pd.Series[Any], form: str) -> pd.Series[Any]:
    """Texts of moments, missing as missing."""
    if not names_months(form):
        return moments.dt.strftime(form)
    return moments.dt.strftime(figures_format(form)).map(_in_names, na_action="ignore")
