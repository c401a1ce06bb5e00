"""Regular expressions for generated ids, limited to those that SDV can expand in bounded time and memory."""

from __future__ import annotations

import math
import re
import sys
from typing import Any

if sys.version_info >= (3, 11):
    from re import _parser  # type: ignore[attr-defined]  # as in SDV, which generates the ids
else:
    import sre_parse as _parser

LONGEST_PATTERN, MAX_PARTS, MAX_IDS = 200, 100_000, 10**300
ID_FORMAT = (
    f"a regular expression of at most {LONGEST_PATTERN} letters, and {MAX_PARTS:,} parts: SDV holds n of "
    "them for [a-z]{n}, and 1 + 2 + ... + n for [a-z]{1,n}. It makes texts of letters, sets, groups and what "
    "repeats one of them, and of no [^a], ab|cd, a+?, a{0}, (?:ab){2} or look-around; try [A-Z0-9]{8}"
)
_UNBOUNDED_REPEATS = 16  # SDV's limit for unbounded repeats
_DIGIT = re.compile(r"(\\d|[0-9]|\[[0-9](?:-[0-9]|[0-9]*)\])(?:\{([0-9]{1,2})\})?")
_MOST_DIGITS = 18  # any whole number of 18 digits fits 64 bits


def is_id_format(form: Any) -> bool:
    """Whether SDV can generate ids from a pattern in bounded time and memory."""
    try:
        return is_short_format(form) and 0 < _texts(_parser.parse(form)) <= MAX_IDS and bool(form.encode())
    except (LookupError, ValueError):
        return False


def is_short_format(form: Any) -> bool:
    """Whether a value is a pattern of bounded size, whether or not SDV supports it."""
    if not isinstance(form, str) or len(form) > LONGEST_PATTERN:
        return False
    try:
        return _count_generators(_parser.parse(form)) <= MAX_PARTS
    except (re.error, OverflowError, RecursionError):
        return False


def makes_numbers(form: str) -> bool:
    """Whether all ids of a pattern are whole numbers of one length without leading zeros."""
    atoms = list(_DIGIT.finditer(form))
    if not atoms or "".join(atom.group() for atom in atoms) != form:
        return False
    digits = sum(int(atom.group(2) or 1) for atom in atoms)
    first = atoms[0].group(1)
    return 0 < digits <= _MOST_DIGITS and (digits == 1 or re.fullmatch(first, "0") is None)


def _count_generators(pattern: Any) -> int:
    """Number of generators that SDV creates for a pattern: one per character, with all repeats at once."""
    if isinstance(pattern, (tuple, list)):
        return sum(map(_count_generators, pattern))
    if not isinstance(pattern, _parser.SubPattern):
        return 0
    total, pieces = 0, list[Any](pattern.data)
    for kind, piece in pieces:
        times, inner = 1, piece
        if str(kind).endswith("_REPEAT"):
            low, high, inner = piece
            high = max(low, _UNBOUNDED_REPEATS) if high is _parser.MAXREPEAT else high
            times = (low + high) * (high - low + 1) // 2
        total += max(1, times * _count_generators(inner))
    return total


def _texts(pieces: Any) -> int:
    """Number of ids that SDV counts for a pattern, which it sums in doubles; 0 if unbounded."""
    counts = [_count_piece_ids(str(kind), piece) for kind, piece in pieces if str(kind) != "AT"]
    return math.prod(counts) if counts else 0


def _count_piece_ids(kind: str, piece: Any) -> int:
    """Number of ids of one piece; LookupError or ValueError if SDV cannot generate it."""
    if kind == "SUBPATTERN":
        return _texts(piece[-1])
    if kind == "IN":
        return sum(_count_piece_ids(str(inner), base) for inner, base in piece)
    if kind == "MAX_REPEAT":
        low, high, inner = piece
        high = _UNBOUNDED_REPEATS if high is _parser.MAXREPEAT else high
        base = _texts(inner) if len(inner) == 1 else 0  # SDV expands (?:ab){2} to "aa"
        return (high - max(low, 1) + 1) * min(base ** min(high, 63), 2**63) if low <= high else 0
    first, last = {"LITERAL": (piece, piece), "RANGE": piece, "ANY": (1, 100), "CATEGORY": (1, 100)}[kind]
    if first <= 0xDFFF and last >= 0xD800:
        raise ValueError("half a character is no text")
    return int(last - first + 1)
