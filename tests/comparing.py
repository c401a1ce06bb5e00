"""Comparisons of large values: what differs first, in one line.

A bare ``assert one == other`` makes pytest explain the difference of two long values line by line. That takes minutes where
it is expected to fail (a planted fault), so such comparisons go through here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SHOWN = 80  # characters of each side


def check_same(one: Any, other: Any, what: str) -> None:
    """Compare first; raise AssertionError with ``what`` and the first difference."""
    if one != other:
        raise AssertionError(f"{what}: {first_difference(one, other)}")


def first_difference(one: Any, other: Any) -> str:
    """Where two values differ first, and how, in one line."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in one:
            if key not in other or one[key] != other[key]:
                return f"at {key!r}: {_shown(one[key])} against {_shown(other.get(key, 'nothing'))}"
        return f"there is also {_shown([key for key in other if key not in one])}"
    if isinstance(one, (str, bytes, list, tuple)) and type(one) is type(other):
        at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
        if at is None:
            return f"{len(one)} against {len(other)} elements"
        return f"at {at}: {_shown(one[at : at + SHOWN])} against {_shown(other[at : at + SHOWN])}"
    return f"{_shown(one)} against {_shown(other)}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
