"""Patterns from which ids are invented: by SDV, and in time and memory that end."""

from __future__ import annotations

import math
import re
import sys
from typing import Any

if sys.version_info >= (3, 11):
    from re import _parser  # type: ignore[attr-defined]  # as SDV does, which invents ids
else:
    import sre_parse as _parser

LONGEST_PATTERN, MOST_PARTS, MOST_TEXTS = 200, 100_000, 10**300
ID_FORMAT = (
    f"a regular expression of at most {LONGEST_PATTERN} letters, and {MOST_PARTS:,} parts: SDV holds n of "
    "them for [a-z]{n}, and 1 + 2 + ... + n for [a-z]{1,n}. It makes texts of letters, sets, groups and what "
    "repeats one of them, and of no [^a], ab|cd, a+?, a{0}, (?:ab){2} or look-around; try [A-Z0-9]{8}"
)
_ENDLESS_TIMES = 16  # what SDV repeats without an end
_DIGIT = re.compile(r"(\\d|[0-9]|\[[0-9](?:-[0-9]|[0-9]*)\])(?:\{([0-9]{1,2})\})?")
_MOST_DIGITS = 18  # of every whole number of 64 bits


def is_id_format(form: Any) -> bool:
    """Whether a value is a pattern from which ids can be invented, by SDV and in time and memory that end."""
    try:
        return is_short_format(form) and 0 < _texts(_parser.parse(form)) <= MOST_TEXTS and bool(form.encode())
    except (LookupError, ValueError):
        return False


def is_short_format(form: Any) -> bool:
    """Whether a value is a pattern that can be held in a memory that ends, whether or not SDV follows it."""
    if not isinstance(form, str) or len(form) > LONGEST_PATTERN:
        return False
    try:
        return _parts(_parser.parse(form)) <= MOST_PARTS
    except (re.error, OverflowError, RecursionError):
        return False


def makes_numbers(form: str) -> bool:
    """Whether all texts of a pattern are whole numbers of one length, which a zero in front would change."""
    atoms = list(_DIGIT.finditer(form))
    if not atoms or "".join(atom.group() for atom in atoms) != form:
        return False
    digits = sum(int(atom.group(2) or 1) for atom in atoms)
    first = atoms[0].group(1)
    return 0 < digits <= _MOST_DIGITS and (digits == 1 or re.fullmatch(first, "0") is None)


def _parts(said: Any) -> int:
    """Generators that SDV makes for a piece of a pattern: one for a letter, and all repeats at once."""
    if isinstance(said, (tuple, list)):
        return sum(map(_parts, said))
    if not isinstance(said, _parser.SubPattern):
        return 0
    found, pieces = 0, list[Any](said.data)
    for kind, piece in pieces:
        times, inner = 1, piece
        if str(kind).endswith("_REPEAT"):
            low, high, inner = piece
            high = max(low, _ENDLESS_TIMES) if high is _parser.MAXREPEAT else high
            times = (low + high) * (high - low + 1) // 2
        found += max(1, times * _parts(inner))
    return found


def _texts(pieces: Any) -> int:
    """Texts that SDV counts for a pattern, 0 for one without an end; it adds them up in doubles."""
    counts = [_texts_of(str(kind), piece) for kind, piece in pieces if str(kind) != "AT"]
    return math.prod(counts) if counts else 0


def _texts_of(kind: str, piece: Any) -> int:
    """The same for a piece; LookupError or ValueError for one of which SDV makes no text."""
    if kind == "SUBPATTERN":
        return _texts(piece[-1])
    if kind == "IN":
        return sum(_texts_of(str(inner), one) for inner, one in piece)
    if kind == "MAX_REPEAT":
        low, high, inner = piece
        high = _ENDLESS_TIMES if high is _parser.MAXREPEAT else high
        one = _texts(inner) if len(inner) == 1 else 0  # of (?:ab){2} it makes aa
        return (high - max(low, 1) + 1) * min(one ** min(high, 63), 2**63) if low <= high else 0
    first, last = {"LITERAL": (piece, piece), "RANGE": piece, "ANY": (1, 100), "CATEGORY": (1, 100)}[kind]
    if first <= 0xDFFF and last >= 0xD800:
        raise ValueError("half a character is no text")
    return int(last - first + 1)
