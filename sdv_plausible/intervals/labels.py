"""What stands beside a count: the value of a code, the ends of a bin, the values of a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.questions.counts import Axis
from sdv_plausible.table.domain import Attribute

MISSING = "missing"
OR = " or "


def axis_labels(attribute: Attribute, axis: Axis) -> list[Any]:
    """Label of every bucket of an axis.

    A bucket of one code has its value. A group has a text, for its count is the group's and says nothing of
    a single value in it: "17 to 24", "'A' or 'B'".
    """
    codes = [np.flatnonzero(axis.buckets == bucket) for bucket in range(axis.size)]
    return [
        _code(attribute, int(group[0])) if len(group) == 1 else _group(attribute, group) for group in codes
    ]


def _code(attribute: Attribute, code: int) -> Any:
    """One code's value; bins have their ends, missing has a word."""
    bins = len(attribute.lower)
    if code == attribute.missing_code:
        return MISSING
    if code >= bins:
        return attribute.values[code - bins]
    low, high = (_number(attribute, end[code]) for end in (attribute.lower, attribute.upper))
    return low if low == high else f"{low} to {high}"


def _group(attribute: Attribute, codes: Sequence[int] | np.ndarray) -> str:
    """Several codes in words; neighbours that are ordered as a range."""
    parts: list[str] = []
    ordered = [int(c) for c in codes if c < attribute.num_ordered]
    for run in np.split(np.array(ordered, dtype=int), np.flatnonzero(np.diff(ordered) > 1) + 1):
        if len(run):
            parts.append(_range(attribute, int(run[0]), int(run[-1])))
    parts += [str(_code(attribute, int(c))) for c in codes if c >= attribute.num_ordered]
    return OR.join(parts)


def _range(attribute: Attribute, first: int, last: int) -> str:
    if not attribute.lower:
        ends: list[Any] = [attribute.values[first], attribute.values[last]]
    else:
        ends = [_number(attribute, attribute.lower[first]), _number(attribute, attribute.upper[last])]
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _number(attribute: Attribute, number: float) -> Any:
    if attribute.kind == "datetime":
        return pd.Timestamp(int(number))
    return int(number) if attribute.kind == "integer" else float(number)
