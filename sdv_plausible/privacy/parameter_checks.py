"""Parameter checks: each error names the parameter, its value, the rule, and what to try."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

_LARGEST_INTEGER = 2**63 - 1
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_PLAIN = (str, bytes, int, float, complex, np.generic, type(None))
_SUGGESTED = 100  # only this many characters of a word are compared with known words
_LONGEST = 4096  # largest integer shown, in bits; Python refuses to print much larger ones
_FEW = 4  # longest sequence shown: a range, a split, some locales
# Smallest delta of a release. Below about 1e-308 doubles lose digits, and a delta would be charged too low.
SMALLEST_DELTA = 1e-300
SMALLEST_SHARE_OF_DELTA = 1e-307  # smallest delta of a part of a release


class NotShown:
    """Placeholder for a value that an error message already shows, or that is not a single value."""


class Refused(ValueError):  # noqa: N818  nothing has gone wrong
    """A parameter value that is invalid, by itself or in combination with others.

    Parameters
    ----------
    field : str
        The parameter's name.
    value : object
        The value given. It is shown if it is a text, a number or a short sequence of these. Of anything else
        only the type is shown, because an error must not contain cells of a table.
    rule, way_out : str
        The rule for valid values, and what to try; ``way_out`` may be empty.
    """

    def __init__(self, field: str, value: Any = None, rule: str | None = None, way_out: str = "") -> None:
        if rule is None:  # a message only: SDV re-creates errors from their text
            field, value, rule = "", NotShown, field
        value = value if _is_plain(value) else type(value)
        super().__init__(field, value, rule, way_out)
        self.field, self.value, self.rule, self.way_out = field, value, rule, way_out

    @classmethod
    def saying(cls, field: str, sentence: str) -> Refused:
        """Create an error from a complete sentence."""
        return cls(field, NotShown, sentence)

    def __str__(self) -> str:
        if self.value is NotShown:
            return escape_controls(self.rule, keep="")
        return escape_controls(
            f"{self.field} ({shown(self.value)}) {self.rule}{_tail(self.way_out)}", keep=""
        )


def shown(value: Any) -> str:
    """Format a value for an error: texts, numbers and short sequences of them; else only the type."""
    value = value if _is_plain(value) else type(value)
    return value.__name__ if isinstance(value, type) else f"{value!r:.200}"


def escape_controls(text: str, keep: str = "\n\t") -> str:
    """Escape control characters, as ``utils.visible`` does outside the privacy core."""
    return _CONTROL.sub(lambda match: match[0] if match[0] in keep else f"\\u{ord(match[0]):04x}", text)


def listed(names: Sequence[str]) -> str:
    """Join names, at most the first six."""
    return escape_controls(", ".join(names[:6]), keep="") + (
        f" and {len(names) - 6} more" if len(names) > 6 else ""
    )


def suggestion(word: str, known: Collection[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the most similar known word, or an empty string."""
    matches = difflib.get_close_matches(word[:_SUGGESTED], sorted({*known} - {word}), n=1)
    return f"; did you mean {matches[0]!r}?" if matches else ""


def one_of(name: str, value: Any, known: Collection[str], also: str = "", *, of: str = "") -> str:
    """Return value if it is one of the known words, else raise Refused with these and the most similar one.

    Parameters
    ----------
    name : str
        The parameter's name.
    value : object
        The value given.
    known : collection of str
        The known words.
    also : str
        Other valid values, in words, to follow the known ones.
    of : str
        What the known words are, if they are names; then only the first few are shown.
    """
    if isinstance(value, str) and value in known:
        return value
    *first, last = (f'"{word}"' for word in known)
    rule = f"{of}: {listed([*known])}" if of else " or ".join([", ".join(first), last] if first else [last])
    hint = suggestion(value, known) if isinstance(value, str) else ""
    raise Refused(name, value, f"must be {rule}{also}{hint}")


def require_columns(what: str, declared: Collection[str], names: Sequence[str]) -> None:
    """Raise ValueError unless a table has every declared column."""
    if missing := [name for name in declared if name not in names]:
        hint = suggestion(missing[0], [*map(str, names)])
        raise ValueError(
            f"{what} lacks the declared columns {missing}; it has {listed([*map(str, names)])}{hint}"
        )


def _is_plain(value: Any) -> bool:
    """Whether a value is a short text, number or sequence, so that it cannot be part of a table."""
    if isinstance(value, (tuple, list)):
        return len(value) <= _FEW and all(isinstance(item, _PLAIN) and _is_plain(item) for item in value)
    is_long = isinstance(value, int) and value.bit_length() > _LONGEST
    return isinstance(value, (type, *_PLAIN)) and not is_long


def positive(name: str, value: Any, hint: str = "") -> float:
    """Return value as a float if it is finite and above 0, else raise Refused."""
    return _number(name, value, lambda x: x > 0, "must be a finite number above 0", hint)


def non_negative(name: str, value: Any, hint: str = "") -> float:
    """Return value as a float if it is finite and at least 0, else raise Refused."""
    return _number(name, value, lambda x: x >= 0, "must be a finite number of at least 0", hint)


def at_least(name: str, value: Any, lower: float, hint: str = "") -> float:
    """Return value as a float if it is finite and at least `lower`, else raise Refused."""
    return _number(name, value, lambda x: x >= lower, f"must be a finite number of at least {lower}", hint)


def open_probability(name: str, value: Any, hint: str = "") -> float:
    """Return value as a float if it lies strictly between 0 and 1, else raise Refused."""
    return _number(name, value, lambda x: 0 < x < 1, "must lie strictly between 0 and 1", hint)


def probability(name: str, value: Any, hint: str = "") -> float:
    """Return value as a float if it lies in [0, 1], else raise Refused."""
    return _number(name, value, lambda x: 0 <= x <= 1, "must lie between 0 and 1", hint)


def delta(name: str, value: Any, hint: str = "", *, smallest: float = SMALLEST_DELTA) -> float:
    """Return value as a float if it lies in [smallest, 1), else raise Refused."""
    text = f"must be below 1 and at least {smallest:g}, from where on doubles have all their digits"
    return _number(name, open_probability(name, value, hint), lambda x: x >= smallest, text, hint)


def share_of_delta(name: str, value: Any, hint: str = "") -> float:
    """Return value as a float if it lies in [SMALLEST_SHARE_OF_DELTA, 1), else raise Refused."""
    return delta(name, value, hint, smallest=SMALLEST_SHARE_OF_DELTA)


def failure(name: str, value: Any, hint: str = "") -> float:
    """Return value as a float if it is 0, 1 or a valid share of a delta, else raise Refused."""
    checked = probability(name, value, hint)
    return checked if checked in (0, 1) else share_of_delta(name, checked, hint)


def rate(name: str, value: Any, hint: str = "") -> float:
    """Return value as a float if it lies in (0, 1], else raise Refused."""
    return _number(name, value, lambda x: 0 < x <= 1, "must be above 0 and at most 1", hint)


def whole(name: str, value: Any, minimum: int, hint: str = "", *, most: int = _LARGEST_INTEGER) -> int:
    """Return value as an int if it is an integer from `minimum` to `most`, else raise Refused."""
    ok = isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= minimum
    if not ok or value > most:
        rule = f"from {minimum} to {most:,}" if ok or most < _LARGEST_INTEGER else f"of at least {minimum}"
        raise Refused(name, value, f"must be a whole number {rule}", hint)
    return int(value)


def truth(name: str, value: Any) -> bool:
    """Return value if it is True or False, else raise Refused."""
    if not isinstance(value, (bool, np.bool_)):
        raise Refused(name, value, "must be True or False")
    return bool(value)


def integer_array(name: str, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return `values` as an int64 array, else raise TypeError or ValueError."""
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(
            f"{name} (dtype {array.dtype}) must be integers: round first, then convert with .astype('int64')"
        )
    if array.size and array.dtype == np.uint64 and array.max() > np.uint64(_LARGEST_INTEGER):
        raise ValueError(f"{name} ({array.max()}) must be below 2**63")
    return array.astype(np.int64)


def finite_array(name: str, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return `values` as a float64 array of finite numbers, else raise TypeError or ValueError."""
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iuf":
        raise TypeError(f"{name} (dtype {array.dtype}) must be numbers")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ValueError(
            f"{name} must be finite: {np.count_nonzero(~np.isfinite(array))} values are NaN or infinite"
        )
    return array


def _number(name: str, value: Any, rule: Callable[[float], bool], text: str, hint: str) -> float:
    number = _as_float(value)
    if not math.isfinite(number) or not rule(number):
        raise Refused(name, value, text, hint)
    return number


def _as_float(value: Any) -> float:
    """Convert a number to float: infinity on overflow, NaN for anything else, Booleans included."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _tail(hint: str) -> str:
    return f": {hint}" if hint else ""


def plain_numbers(value: Any) -> None:
    """Replace NumPy scalars in a frozen dataclass by Python numbers, as release files need them."""
    for field in fields(value):
        if isinstance(number := getattr(value, field.name, None), np.generic):
            object.__setattr__(value, field.name, number.item())
