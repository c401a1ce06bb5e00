"""Single cells' values in a document.

Texts, numbers and truth values as they are, dates and decimals by name.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Hashable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.release_file.reading import Part

MOST = 10**100  # of a whole number
ZONE = (
    r"(?!dateutil/)[A-Za-z0-9_+\-:]{1,40}(/[A-Za-z0-9_+\-]{1,40}){0,3}"  # pandas opens a file for some others
)
_MOMENT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?"
_DECIMAL = r"-?\d{1,60}(\.\d{1,60})?(E[+-]?\d{1,3})?"


def write_value(value: Any) -> Any:
    """JSON form of a value.

    Raises
    ------
    ValueError
        If it has none.
    """
    if isinstance(value, np.generic):
        value = pd.Timestamp(value) if isinstance(value, np.datetime64) else value.item()
    finite = isinstance(value, float) and math.isfinite(value)
    if finite or isinstance(value, str) or (isinstance(value, int) and abs(value) <= MOST):
        return value
    if isinstance(value, dt.datetime) and not pd.isna(value):
        stamp = pd.Timestamp(value)
        if stamp.tz is None:
            return {"moment": stamp.isoformat(), "time_zone": None}
        if re.fullmatch(ZONE, str(stamp.tz)):
            moment = stamp.tz_convert("UTC").tz_localize(None)
            return {"moment": moment.isoformat(), "time_zone": str(stamp.tz)}
    elif isinstance(value, dt.date):
        return {"date": value.isoformat()}
    elif isinstance(value, Decimal) and re.fullmatch(_DECIMAL, str(value)):
        return {"decimal": str(value)}
    raise ValueError(
        f"a value of type {type(value).__name__} has no form in a release file: declare the column's values "
        "as texts, "
        "finite numbers, truth values, dates or decimals"
    )


def read_value(part: Part) -> Hashable:
    """Value of a JSON form."""
    value = part.value
    if isinstance(value, str):
        return part.text()
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        if abs(value) > MOST:
            raise part.refuse("must be a whole number of at most 100 digits")
        return value
    if isinstance(value, float):
        return part.number()
    known = {("date",): _read_date, ("decimal",): _read_decimal, ("moment", "time_zone"): _read_moment}
    form = tuple(sorted(value)) if isinstance(value, dict) and len(value) < 3 else ()
    if form not in known:
        raise part.refuse(
            "must be a text, a number, a truth value, or an object with moment and time_zone, date or decimal"
        )
    return known[form](part)


def read_zone(part: Part) -> str:
    """Name of a time zone that this machine knows."""
    zone = part.text(pattern=ZONE)
    try:
        pd.Timestamp(0, tz="UTC").tz_convert(zone)
    except Exception:  # whatever the zone's library says
        raise part.refuse("must be the name of a time zone that is known here") from None
    return zone


def _read_date(part: Part) -> Hashable:
    text = part.entries()["date"].text(pattern=r"\d{4}-\d\d-\d\d")
    return part.checked(lambda: dt.date.fromisoformat(text))


def _read_decimal(part: Part) -> Hashable:
    return Decimal(part.entries()["decimal"].text(pattern=_DECIMAL))


def _read_moment(part: Part) -> Hashable:
    entries = part.entries()
    text, zone = entries["moment"].text(pattern=_MOMENT), entries["time_zone"].maybe(read_zone)
    moment = part.checked(lambda: pd.Timestamp(text))
    return part.checked(lambda: moment if zone is None else moment.tz_localize("UTC").tz_convert(zone))
