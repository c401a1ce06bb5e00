"""Domain as a table of text: each column's values and their provenance."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pandas as pd

_MOST_VALUES = 4
_WORDS = {
    "declared": "declared",
    "private": "learned within the budget",
    "inferred": "read off the rows: no claim",
    "edited": "edited after a look at the rows: no claim",
}
TABLE_HEADER = ("column", "may hold", "from")


def title(domain: Collection[Any]) -> str:
    """Return the heading."""
    return f"Domain of {len(domain)} column{'' if len(domain) == 1 else 's'}"


def lines(domain: Collection[Any]) -> tuple[tuple[str, str, str], ...]:
    """Return name, values and provenance of each column as text."""
    return tuple((attribute.name, _describe(attribute), _WORDS[attribute.provenance]) for attribute in domain)


def _describe(attribute: Any) -> str:
    parts = []
    if len(attribute.lower):
        ends = (attribute.lower[0], attribute.upper[-1])
        low, high = (_format_end(attribute, end) for end in ends)
        bins = len(attribute.lower)
        parts.append(f"{low} to {high} in {bins} bin{'' if bins == 1 else 's'}")
    if attribute.values:
        examples = [str(value) for value in attribute.values[:_MOST_VALUES]]
        more = len(attribute.values) - len(examples)
        parts.append(", ".join(examples) + (f" and {more} more" if more else ""))
    if attribute.nullable:
        parts.append("missing")
    return "; ".join(parts)


def _format_end(attribute: Any, end: float) -> str:
    if attribute.kind == "datetime":
        stamp = pd.Timestamp(int(end))
        return str(stamp.date()) if stamp == stamp.normalize() else str(stamp.floor("s"))
    return f"{end:g}" if abs(end) < 1e6 else f"{end:,.0f}"
