"""Cell values in JSON documents.

Texts, numbers and booleans are stored as they are, dates and decimals as small objects.
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

from sdv_plausible.table.cells.canonical_forms import LONGEST_TEXT, is_text
from sdv_plausible.utils.json_schema import Schema, nullable, object_schema, parse_with_schema, schema_ref

LARGEST_INTEGER = 10**100  # largest whole number
ZONE_PATTERN = (
    r"^(?!dateutil/)[A-Za-z0-9_+\-:]{1,40}(/[A-Za-z0-9_+\-]{1,40}){0,3}$"  # pandas opens files for others
)


ZONE_FORM: Schema = {"type": "string", "pattern": ZONE_PATTERN}
_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?$"
DATE_FORMS: tuple[Schema, ...] = (
    object_schema({"moment": {"type": "string", "pattern": _MOMENT}, "time_zone": nullable(ZONE_FORM)}),
    object_schema({"date": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}}),
)
DECIMAL_PATTERN = r"^-?[0-9]{1,60}(\.[0-9]{1,60})?(E[+-]?[0-9]{1,3})?$"
VALUE_FORM: Schema = {
    "description": "The value of a cell.",
    "anyOf": [
        {"type": ["string", "number", "boolean"], "maxLength": LONGEST_TEXT},
        *DATE_FORMS,
        object_schema({"decimal": {"type": "string", "pattern": DECIMAL_PATTERN}}),
    ],
}


def write_value(value: Any) -> Any:
    """JSON form of a value."""
    if isinstance(value, np.generic):
        value = pd.Timestamp(value) if isinstance(value, np.datetime64) else value.item()
    finite = isinstance(value, float) and math.isfinite(value)
    if finite or isinstance(value, str) or (isinstance(value, int) and abs(value) <= LARGEST_INTEGER):
        return value
    if isinstance(value, dt.datetime) and not pd.isna(value):
        stamp = pd.Timestamp(value)
        if stamp.tz is None:
            return {"moment": stamp.isoformat(), "time_zone": None}
        if re.fullmatch(ZONE_PATTERN, str(stamp.tz)):
            moment = stamp.tz_convert("UTC").tz_localize(None)
            return {"moment": moment.isoformat(), "time_zone": str(stamp.tz)}
    elif isinstance(value, dt.date) and not pd.isna(value):
        return {"date": value.isoformat()}
    elif isinstance(value, Decimal) and re.fullmatch(DECIMAL_PATTERN, str(value)):
        return {"decimal": str(value)}
    raise ValueError(
        f"a value of type {type(value).__name__} cannot be written to a file: declare the values as texts, "
        "finite numbers, truth values, dates or decimals"
    )


def parse_value(plain: Any) -> Hashable:
    """Parse JSON of the form ``VALUE_FORM``."""
    if isinstance(plain, str) and not is_text(plain):
        raise ValueError(f"must have at most {LONGEST_TEXT:,} characters, and no lone surrogate")
    if isinstance(plain, int) and abs(plain) > LARGEST_INTEGER:
        raise ValueError("must be a whole number of at most 100 digits")
    if not isinstance(plain, dict):
        return plain
    try:
        if "decimal" in plain:
            return Decimal(plain["decimal"])
        if "date" in plain:
            return dt.date.fromisoformat(plain["date"])
        moment, zone = pd.Timestamp(plain["moment"]), plain["time_zone"]
        return moment if zone is None else moment.tz_localize("UTC").tz_convert(zone)
    except Exception:  # time zone libraries raise many kinds of errors
        raise ValueError("must be an existing date and time zone") from None


def read_value(plain: Any) -> Any:
    """Validate and parse the JSON form of a value."""
    return parse_with_schema(schema_ref("value"), plain, {"value": (VALUE_FORM, parse_value)})
