"""The words of a column's declaration, checked.

Which there are, what they may hold, and what they may not contradict.
"""

from __future__ import annotations

import datetime as dt
import difflib
import math
import re
import sys
from collections.abc import Collection, Hashable, Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

if sys.version_info >= (3, 11):
    from re import _parser  # type: ignore[attr-defined]  # as SDV does, which invents ids
else:
    import sre_parse as _parser

from sdv_plausible.table.cells import is_number
from sdv_plausible.table.dates import resolution_step
from sdv_plausible.table.domain import MOST_DIGITS, Attribute
from sdv_plausible.table.forms import LONGEST_NAME, is_text

CATEGORIES = ("categorical", "ordinal", "boolean")
MODELLED_SDTYPES = ("numerical", "datetime", *CATEGORIES)
TYPE_WORDS = ("sdtype", "datetime_format", "regex_format", "pii")
"""Words that say what a column is; the others say which values it may hold."""
VALUE_WORDS = (
    "range_min", "range_max", "range_values", "range_is_nullable", "decimal_places", "bins",
    "special_values", "rounding", "buckets", "groups",
)  # fmt: skip
FORM_WORDS = ("resolution", "parts")
"""Words that say how the values lie in time, or on a grid; they may stand without a range."""
ORIGIN_WORDS = ("source", "detected", "provenance")
"""Words that say where a declaration is from."""
_UNUSED = (
    "high_cardinality",
    "computer_representation",
    "order",
    "order_by",
)  # SDV's, without meaning for a value set
_NUMBERS_ONLY = (
    "range_min", "range_max", "decimal_places", "bins", "special_values", "rounding", *FORM_WORDS,
)  # fmt: skip
_NOT_FOR = {
    "numerical": ("range_values", "parts", "groups"),
    "datetime": ("range_values", "decimal_places", "special_values", "rounding", "groups"),
    "categorical": _NUMBERS_ONLY,
    "ordinal": (*_NUMBERS_ONLY, "groups"),
    "boolean": (*_NUMBERS_ONLY, "groups"),
}
LONGEST_PATTERN, MOST_PARTS, MOST_TEXTS = 200, 100_000, 10**300
ID_FORMAT = (
    f"a regular expression of at most {LONGEST_PATTERN} letters, and {MOST_PARTS:,} parts: SDV holds n of "
    "them for [a-z]{n}, and 1 + 2 + ... + n for [a-z]{1,n}. It makes texts of letters, sets, groups and what "
    "repeats one of them, and of no [^a], ab|cd, a+?, a{0}, (?:ab){2} or look-around; try [A-Z0-9]{8}"
)
_ENDLESS_TIMES = 16  # what SDV repeats without an end
_NUMBERS = (int, float, np.integer, np.floating)
_DATES = (str, dt.date, np.datetime64)


def check_names(names: Iterable[Any], what: str) -> None:
    """Refuse column names that are not text, or empty.

    Raises
    ------
    ValueError
        Naming the first such name and its place.
    """
    for place, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise ValueError(
                f"{what}: the name of column {place} ({name!r}) must be text: write {str(name)!r}"
            )
        if not name.strip():
            raise ValueError(
                f"{what}: the name of column {place} ({name!r}) must not be empty: give the column a name"
            )
        if not is_text(name, LONGEST_NAME):
            raise ValueError(
                f"{what}: the name of column {place} ({name!r:.60}) must have at most {LONGEST_NAME:,} "
                "letters, none of them half a character (a lone surrogate): rename the column"
            )


def check_table_name(name: Any) -> None:
    """Refuse a name of a table that no file can hold.

    Raises
    ------
    ValueError
        If it is no text, empty or too long, or holds half a character.
    """
    if not is_text(name, LONGEST_NAME) or not name:
        raise ValueError(
            f"table_name ({name!r:.60}) must be a text of 1 to {LONGEST_NAME:,} whole letters; try 'table'"
        )


def suggestion(word: str, known: Collection[str]) -> str:
    """``"; did you mean 'x'?"`` if a known word is like this one, else nothing."""
    near = difflib.get_close_matches(word, sorted(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def check_keys(name: str, spec: Mapping[Any, Any]) -> None:
    """Refuse words in a declaration that mean nothing.

    Raises
    ------
    ValueError
        Naming the column and the word, with the nearest that exists.
    """
    known = (*TYPE_WORDS, *VALUE_WORDS, *FORM_WORDS, *ORIGIN_WORDS)
    for key in spec:
        if key not in (*known, *_UNUSED):
            hint = suggestion(str(key), known) or f"; known are {', '.join(known)}"
            raise ValueError(f"domain of column {name!r}: the key {key!r} means nothing{hint}")


def check_words(name: str, spec: Mapping[str, Any]) -> None:
    """Refuse a declaration whose words hold what they cannot mean.

    Raises
    ------
    ValueError
        Naming the column, the word, what it holds, and the rule.
    """
    for key, value in spec.items():
        if value is not None and key in _RULES:
            rule, holds = _RULES[key]
            if not holds(value):
                raise ValueError(f"column {name!r}: {key} ({value!r}) must be {rule}")
    sdtype = spec.get("sdtype")
    step = spec.get("resolution")
    like = {"numerical": "0.25", "datetime": "'min'"}.get(sdtype or "")
    if step is not None and like and isinstance(step, str) != (sdtype == "datetime"):
        raise ValueError(f"column {name!r}: resolution ({step!r}) of sdtype {sdtype!r} must be like {like}")
    for key in _NOT_FOR.get(sdtype or "", ()):
        if spec.get(key) is not None:
            raise ValueError(
                f"column {name!r}: {key} does not go with sdtype {sdtype!r}; leave it out, or change the "
                "sdtype"
            )


def check_agreement(name: str, spec: Mapping[str, Any] | Attribute, known: Mapping[str, Any]) -> None:
    """Refuse a declaration that contradicts the metadata on what a column is.

    Raises
    ------
    ValueError
        If their sdtypes are of different kinds, or their date formats differ. Numbers with texts beside them
        may be categorical in the metadata.
    """
    if isinstance(spec, Attribute):
        spec = {
            "sdtype": sdtype_of(spec),
            "datetime_format": spec.datetime_format,
            "special_values": spec.texts,
        }
    known = {**known, "sdtype": "numerical"} if _is_mixed(spec, known) else known
    for key in ("sdtype", "datetime_format"):
        mine, theirs = spec.get(key), known.get(key)
        if mine is not None and theirs is not None and _kind(mine) != _kind(theirs):
            raise ValueError(
                f"column {name!r}: the domain says {key} {mine!r}, the metadata {theirs!r}; say the same in "
                "both, or leave it "
                "out of the domain"
            )


def _is_mixed(spec: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
    """Whether numbers with texts beside them are declared, which detected metadata calls categorical."""
    texts = any(isinstance(value, str) for value in spec.get("special_values") or ())
    return texts and spec.get("sdtype") == "numerical" and known.get("sdtype") == "categorical"


def sdtype_of(attribute: Attribute) -> str:
    """SDV's semantic type of an attribute."""
    if set(map(type, attribute.values)) == {bool}:
        return "boolean"
    return {"integer": "numerical", "float": "numerical"}.get(attribute.kind, attribute.kind)


def _kind(word: str) -> str:
    return "categorical" if word in CATEGORIES else word


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, range, np.ndarray, pd.Index, pd.Series))


def _is_values(value: Any) -> bool:
    return _is_list(value) and all(
        isinstance(v, Hashable) and not pd.api.types.is_list_like(v) for v in value
    )


def _is_numbers(value: Any) -> bool:
    return _is_list(value) and all(
        isinstance(v, _NUMBERS) and not isinstance(v, bool) and _is_finite(v) for v in value
    )


def _are_special(value: Any) -> bool:
    texts = [v for v in value if isinstance(v, str)] if _is_list(value) else []
    return (
        _is_list(value)
        and _is_numbers([v for v in value if not isinstance(v, str)])
        and not any(map(is_number, texts))
    )


def _is_step(value: Any) -> bool:
    if isinstance(value, str):
        return resolution_step(value) is not None
    plain = isinstance(value, _NUMBERS) and not isinstance(value, bool)
    return plain and _is_finite(value) and bool(value > 0)


def _is_chain(value: Any) -> bool:
    steps = [1, *value] if _is_list(value) and all(map(_is_whole, value)) else []
    return len(steps) > 1 and all(a < b and b % a == 0 for a, b in pairwise(steps))


def _is_end(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, _DATES) or (isinstance(value, _NUMBERS) and _is_finite(value))


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


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


_END = ("a finite number or a date", _is_end)
_RULES: dict[str, tuple[str, Any]] = {
    "sdtype": ("text such as 'numerical'", lambda v: isinstance(v, str)),
    "datetime_format": ("a strftime format such as '%Y-%m-%d'", lambda v: isinstance(v, str) and "%" in v),
    "regex_format": (ID_FORMAT, is_id_format),
    "source": (
        f"text: the public source, such as the address of a code book, in at most {LONGEST_NAME:,} letters",
        lambda v: is_text(v, LONGEST_NAME) and v.strip() != "",
    ),
    "detected": ("true or false", lambda v: isinstance(v, bool)),
    "provenance": ("'declared' or 'edited'", lambda v: v in ("declared", "edited")),
    "pii": ("true or false", lambda v: isinstance(v, (bool, np.bool_))),
    "range_is_nullable": ("true or false", lambda v: isinstance(v, (bool, np.bool_))),
    "range_min": _END,
    "range_max": _END,
    "range_values": ("a list of values, such as ['f', 'm']", _is_values),
    "decimal_places": (
        f"a whole number from 0 to {MOST_DIGITS}, or left out for all digits",
        lambda v: _is_whole(v) and 0 <= v <= MOST_DIGITS,
    ),
    "bins": (
        "a whole number of equal bins, or a list of at least two increasing edges",
        lambda v: (_is_whole(v) and v >= 1) or (_is_numbers(v) and len(v) > 1 and all(np.diff(v) > 0)),
    ),
    "special_values": (
        "a list of distinct finite numbers, and of texts that write no number",
        lambda v: _are_special(v) and len(set(v)) == len(v),
    ),
    "rounding": (
        "a list of whole numbers above 1, each a multiple of the one before, such as [5, 15, 60]",
        _is_chain,
    ),
    "resolution": (
        "a number above 0, or of dates 'D', 'h', 'min', 's' or a part of a day such as '15min'",
        _is_step,
    ),
    "parts": ("'split', into date and time of day, or 'whole'", lambda v: v in ("split", "whole")),
    "buckets": (
        "a list of whole numbers from 0 on, one for each code",
        lambda v: _is_list(v) and all(_is_whole(b) and b >= 0 for b in v),
    ),
    "groups": (
        "a mapping of group names to lists of values, such as {'fruit': ['apple', 'pear']}, or a whole "
        "number from 1 on: so many first letters name the group",
        lambda v: (_is_whole(v) and v >= 1) or (isinstance(v, Mapping) and all(map(_is_values, v.values()))),
    ),
}
