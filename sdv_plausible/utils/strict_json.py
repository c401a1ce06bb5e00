"""JSON as its standard has it: what a document says twice, or as no number, is refused and not guessed."""

from __future__ import annotations

import json
import math
from typing import Any


def strict_json(text: str) -> Any:
    """Read a document; no name is there twice in one object, and every number is finite.

    Raises
    ------
    ValueError
        If it is not JSON, or says such a thing. Names of entries are quoted, values never.
    """
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError("it nests too deeply") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"it says {twice[:80]!r} twice")
    return document


def _no_constant(name: str) -> float:
    raise ValueError(f"it holds {name}, which is not a number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("it holds a number beyond all doubles")
    return number
