"""Strict JSON: duplicate names and non-finite numbers are errors."""

from __future__ import annotations

import json
import math
from typing import Any


def strict_json(text: str) -> Any:
    """Parse a document whose objects have unique names and whose numbers are finite.

    Raises
    ------
    ValueError
        If the text is not JSON, or has duplicate names or non-finite numbers. The message may quote names,
        never values.
    """
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError("it nests too deeply") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        seen: set[str] = set()
        duplicate = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"it says {duplicate[:80]!r} twice")
    return document


def _no_constant(name: str) -> float:
    raise ValueError(f"it holds {name}, which is not a number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("it holds a number beyond all doubles")
    return number
