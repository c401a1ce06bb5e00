"""Numbers as text: the public list of number formats that are detected, and parsing and writing them.

A format is named by the number 1234.5 written in it: ``$1,234.5``, ``1.234,5 €``, ``1234.5%``. Parentheses
around negative numbers are part of the name: ``($1,234.5)``. The format of a cell depends on its own text
alone (docs/explanation/proofs/type_votes.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from sdv_plausible.table.cells.dates import MIN_SHARE_ALONE

LARGEST_STEP = 2**62  # bound on the steps of rounding, and on what is rounded
MONEY = (
    "$", "€", "£", "¥", "₹", "USD", "EUR", "GBP", "JPY", "CHF", "CNY", "INR", "CAD", "AUD", "SEK", "NOK",
    "DKK", "PLN",
)  # fmt: skip
_PLACES = (
    ("", ""), ("", "%"), ("", " %"), *((mark + gap, "") for mark in MONEY for gap in ("", " ")),
    *(("", gap + mark) for mark in MONEY for gap in ("", " ")),
)  # fmt: skip  # prefix and suffix of the digits
_OTHER = {".": ",", ",": "."}  # decimal mark -> the other mark, which may separate thousands
_THOUSANDS = ("", ",", ".", " ", "'")
_SAME = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2019": "'", "\u2212": "-"})
_MARKS = "|".join(map(re.escape, MONEY))
_NUMBER = re.compile(
    rf"(?!.*[+-].*[+-])[+-]?(?P<before>(?:{_MARKS}) ?)?[+-]?"
    r"(?:[1-9][0-9]{0,2}(?P<thousands>[,. '])[0-9]{3}(?P<more>(?P=thousands)[0-9]{3})*|0|[1-9][0-9]*)"
    rf"(?:(?P<decimal>[.,])[0-9]+)?(?P<after> ?(?:%|{_MARKS}))?"
)
_BRACKETS = re.compile(rf"(?P<mark>(?:{_MARKS}) ?)?\((?P<inside>[^+\-()]*)\)")
_SPELLED = rf"((?:{_MARKS}) ?)?1[,. ']?234[.,]5( ?(?:%|{_MARKS}))?"
NUMBER_FORMAT = rf"^(?:{_SPELLED}|\({_SPELLED}\))$"

FORMAT_RULE = (
    "the number 1234.5 written as the column's cells are, such as '$1,234.5', '1.234,5 €', '1 234,5' or "
    "'1234.5%'"
)


class NumberFormat(NamedTuple):
    """A number format, or the format that one cell shows: ``decimal`` is empty without a fraction."""

    before: str = ""
    thousands: str = ""
    decimal: str = ""
    after: str = ""
    brackets: bool = False  # parentheses around negative numbers, instead of a sign

    @property
    def marks(self) -> tuple[str, str]:
        """Prefix and suffix without blanks, which are ignored when a cell is parsed."""
        return self.before.strip(), self.after.strip()

    def reads(self, shown: NumberFormat) -> bool:
        """Whether cells of the format ``shown`` can be parsed in this format.

        They may lack the currency and the thousands mark, have another thousands mark, and show negative
        numbers by a sign or by parentheses.
        """
        fraction = not shown.decimal and shown.thousands == self.decimal  # "1,234" like "12,5"
        digits = shown.thousands != self.decimal and shown.decimal in ("", self.decimal)
        marks = shown.marks == self.marks or (self.is_money and shown.marks == ("", ""))
        return marks and (digits or fraction)

    @property
    def is_money(self) -> bool:
        """Whether the format has a currency."""
        return any(mark in MONEY for mark in self.marks)

    def __str__(self) -> str:
        """Name of the format, or of the kind of a cell."""
        fraction = f"{self.decimal}5" if self.decimal else ""
        name = f"{self.before}1{self.thousands}234{fraction}{self.after}"
        return f"({name})" if self.brackets else name


_SHOWN = [
    NumberFormat(before, thousands, decimal, after, brackets)
    for brackets in (False, True)
    for before, after in _PLACES
    for thousands in _THOUSANDS
    for decimal in ("", ".", ",")
    if not thousands or thousands != decimal
]
NUMBER_KINDS = {"number" if shown == NumberFormat() else str(shown): shown for shown in _SHOWN}
"""Kinds of cells by name. "number" is the kind of digits alone, and of all other plain numbers."""
_KINDS = {shown: kind for kind, shown in NUMBER_KINDS.items()}
_FORMATS = {kind: shown for kind, shown in NUMBER_KINDS.items() if shown.decimal}


def number_kind(text: str) -> str | None:
    """Kind of a cell's text, or None if it matches no format of the list."""
    shown = _shown(text.strip().translate(_SAME))
    return None if shown is None else _KINDS[shown]


def _shown(text: str) -> NumberFormat | None:
    if inside := _BRACKETS.fullmatch(text):
        shown = _shown(f"{inside['mark'] or ''}{inside['inside']}")
        return None if shown is None else shown._replace(brackets=True)
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    before, after, thousands, decimal = (
        match[part] or "" for part in ("before", "after", "thousands", "decimal")
    )
    if (thousands and thousands == decimal) or (before and after):
        return None
    if match["more"]:  # 1,234,567 cannot be a fraction
        decimal = decimal or _OTHER.get(thousands, "")
    return NumberFormat(before, thousands, decimal, after)


def is_number_format(text: str) -> bool:
    """Whether a text names a format of the list."""
    return text in _FORMATS


def check_number_format(name: str, form: Any, kind: str) -> None:
    """Raise ValueError for an unknown number format, or one on a column that holds no numbers."""
    if form is not None and not (kind in ("integer", "float") and isinstance(form, str) and form in _FORMATS):
        raise ValueError(
            f"column {name!r}: number_format ({form!r}) must be {FORMAT_RULE}, and its kind integer or float"
        )


def plain_number_text(text: str, form: str) -> str:
    """Return a formatted number as plain text, such as ``-1234.50``; empty if it is not in the format."""
    text, spelled = text.strip().translate(_SAME), _FORMATS[form]
    shown = _shown(text)
    if shown is None or not spelled.reads(shown):
        return ""
    return ("-" if shown.brackets else "") + "".join(
        "." if c == spelled.decimal else c for c in text if c in f"-0123456789{spelled.decimal}"
    )


def read_number(text: str, form: str) -> float:
    """Parse a number in a format; NaN if the text does not match or exceeds a double."""
    number = float(plain_number_text(text, form) or math.nan)
    return number if math.isfinite(number) else math.nan


def write_number(number: float, form: str, decimals: int | None = None) -> str:
    """Return a number as text in a format, with ``decimals`` digits after the point (None: all digits)."""
    spelled, exact = _FORMATS[form], Decimal(str(number))
    text = format(exact.copy_abs(), ",f" if decimals is None else f",.{decimals}f")
    marks = str.maketrans({",": spelled.thousands, ".": spelled.decimal})
    written = f"{spelled.before}{text.translate(marks)}{spelled.after}"
    if exact >= 0:
        return written
    return f"({written})" if spelled.brackets else f"-{written}"


def read_numbers(cells: Iterable[Any], form: str) -> list[Any]:
    """Parse the cells that are text; all others stay as they are."""
    return [read_number(cell, form) if isinstance(cell, str) else cell for cell in cells]


def main_number_format(counts: Mapping[str, float], present: float) -> tuple[str, float]:
    """Return the format that parses most cells (the first on ties), and how many it parses."""
    # ``counts``: number of cells per kind, in the order of the list.
    # ``present``: number of cells that are not missing.
    best, most = "", (0.0, 0.0)
    by_format = {NUMBER_KINDS[kind]: count for kind, count in counts.items() if count}
    for before, after in _PLACES:
        place = NumberFormat(before, after=after)
        own = sum(n for shown, n in by_format.items() if (shown.before, shown.after) == (before, after))
        if not own:
            continue
        similar = {shown: count for shown, count in by_format.items() if shown.marks == place.marks}
        if (
            place.is_money and sum(similar.values()) > MIN_SHARE_ALONE * present
        ):  # then bare numbers count, too
            similar |= {shown: count for shown, count in by_format.items() if shown.marks == ("", "")}
        form = _digits(place, similar, present)
        if any(shown.brackets and form.reads(shown) for shown in similar):
            form = form._replace(brackets=True)
        parsed = sum(count for shown, count in similar.items() if form.reads(shown))
        if (parsed, own) > most:
            best, most = str(form), (parsed, own)
    return best, most[0]


def _digits(place: NumberFormat, similar: Mapping[NumberFormat, float], present: float) -> NumberFormat:
    """Thousands and decimal marks of cells that have the same prefix and suffix."""

    def count(thousands: Collection[str], decimals: Collection[str]) -> float:
        return sum(
            n for shown, n in similar.items() if shown.thousands in thousands and shown.decimal in decimals
        )

    def order(decimal: str) -> tuple[float, float, float]:
        alone = count(_THOUSANDS, (decimal,))
        return (alone if alone > MIN_SHARE_ALONE * present else 0.0, count((_OTHER[decimal],), ("",)), alone)

    decimal = max(_OTHER, key=order)
    between = [mark for mark in _THOUSANDS if mark not in ("", decimal)]
    thousands = max(between, key=lambda mark: count((mark,), ("", decimal)))
    thousands_mark = thousands if count((thousands,), ("", decimal)) else ""
    return place._replace(thousands=thousands_mark, decimal=decimal)
