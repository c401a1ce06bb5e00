"""Numbers as text: the public list of spellings that cells are asked for, and reading and writing them.

A spelling is named by the number 1234.5 written so: ``$1,234.5``, ``1.234,5 €``, ``1234.5%``; where brackets
stand around negative numbers, so does the name: ``($1,234.5)``. Which one a cell shows is a function of its
own text alone (docs/explanation/proofs/type_votes.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from sdv_plausible.table.cells.date_texts import ALONE

MONEY = (
    "$", "€", "£", "¥", "₹", "USD", "EUR", "GBP", "JPY", "CHF", "CNY", "INR", "CAD", "AUD", "SEK", "NOK",
    "DKK", "PLN",
)  # fmt: skip
_PLACES = (
    ("", ""), ("", "%"), ("", " %"), *((mark + gap, "") for mark in MONEY for gap in ("", " ")),
    *(("", gap + mark) for mark in MONEY for gap in ("", " ")),
)  # fmt: skip  # what stands before the digits, and after them
_OTHER = {".": ",", ",": "."}  # mark before a fraction -> which of the two may stand between thousands then
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
    """One spelling, or what one cell shows of it: no ``decimal`` where there is no fraction."""

    before: str = ""
    thousands: str = ""
    decimal: str = ""
    after: str = ""
    brackets: bool = False  # around negative numbers, in the place of a sign

    @property
    def marks(self) -> tuple[str, str]:
        """What stands before and after; a blank between does not count when a cell is read."""
        return self.before.strip(), self.after.strip()

    def reads(self, shown: NumberFormat) -> bool:
        """Whether cells that show this are numbers in the spelling.

        They may lack its currency and its mark between thousands, have another mark there, and be negative
        by a sign or by brackets.
        """
        fraction = not shown.decimal and shown.thousands == self.decimal  # 1,234 where 12,5 is one
        digits = shown.thousands != self.decimal and shown.decimal in ("", self.decimal)
        marks = shown.marks == self.marks or (self.is_money and shown.marks == ("", ""))
        return marks and (digits or fraction)

    @property
    def is_money(self) -> bool:
        """Whether it has a currency."""
        return any(mark in MONEY for mark in self.marks)

    def __str__(self) -> str:
        """Name of the spelling, or of the kind of a cell."""
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
"""Kinds of cells, each named by one; of digits alone it is the kind of all other numbers, too."""
_KINDS = {shown: kind for kind, shown in NUMBER_KINDS.items()}
_FORMATS = {kind: shown for kind, shown in NUMBER_KINDS.items() if shown.decimal}


def number_kind(text: str) -> str | None:
    """Kind of a cell's text, or None if it is no number of the list."""
    shown = _shown(text.strip().translate(_SAME))
    return None if shown is None else _KINDS[shown]


def _shown(text: str) -> NumberFormat | None:
    if inside := _BRACKETS.fullmatch(text):
        shown = _shown(f"{inside['mark'] or ''}{inside['inside']}")
        return None if shown is None else shown._replace(brackets=True)
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    before, after, thousands, decimal = (
        found[part] or "" for part in ("before", "after", "thousands", "decimal")
    )
    if (thousands and thousands == decimal) or (before and after):
        return None
    if found["more"]:  # 1,234,567 can be no fraction
        decimal = decimal or _OTHER.get(thousands, "")
    return NumberFormat(before, thousands, decimal, after)


def is_number_format(text: str) -> bool:
    """Whether a text names a spelling of the list."""
    return text in _FORMATS


def check_number_format(name: str, form: Any, kind: str) -> None:
    """Refuse what is no spelling of the list, and one of a column that holds no numbers."""
    if form is not None and not (kind in ("integer", "float") and isinstance(form, str) and form in _FORMATS):
        raise ValueError(
            f"column {name!r}: number_format ({form!r}) must be {FORMAT_RULE}, and its kind integer or float"
        )


def plain_text(text: str, form: str) -> str:
    """Return the plain text, such as ``-1234.50``, of a number in a spelling; of none an empty one."""
    text, spelled = text.strip().translate(_SAME), _FORMATS[form]
    shown = _shown(text)
    if shown is None or not spelled.reads(shown):
        return ""
    return ("-" if shown.brackets else "") + "".join(
        "." if c == spelled.decimal else c for c in text if c in f"-0123456789{spelled.decimal}"
    )


def read_number(text: str, form: str) -> float:
    """Return the number that a text writes in a spelling, or NaN if it writes none that a double holds."""
    number = float(plain_text(text, form) or math.nan)
    return number if math.isfinite(number) else math.nan


def write_number(number: float, form: str, decimals: int | None = None) -> str:
    """Return the text of a number, with all its digits or so many after the point."""
    spelled, exact = _FORMATS[form], Decimal(str(number))
    text = format(exact.copy_abs(), ",f" if decimals is None else f",.{decimals}f")
    marks = str.maketrans({",": spelled.thousands, ".": spelled.decimal})
    written = f"{spelled.before}{text.translate(marks)}{spelled.after}"
    if exact >= 0:
        return written
    return f"({written})" if spelled.brackets else f"-{written}"


def read_numbers(cells: Iterable[Any], form: str) -> list[Any]:
    """Numbers of the cells that are text; all others stay as they are."""
    return [read_number(cell, form) if isinstance(cell, str) else cell for cell in cells]


def main_number_format(counts: Mapping[str, float], present: float) -> tuple[str, float]:
    """Return the spelling that reads most cells, the first of equals, and how many it reads.

    Parameters
    ----------
    counts : mapping
        Cells of each kind, in the order of the list.
    present : float
        All cells that are not missing.
    """
    best, most = "", (0.0, 0.0)
    found = {NUMBER_KINDS[kind]: count for kind, count in counts.items() if count}
    for before, after in _PLACES:
        place = NumberFormat(before, after=after)
        own = sum(count for shown, count in found.items() if (shown.before, shown.after) == (before, after))
        if not own:
            continue
        alike = {shown: count for shown, count in found.items() if shown.marks == place.marks}
        if place.is_money and sum(alike.values()) > ALONE * present:  # then cells without it are money, too
            alike |= {shown: count for shown, count in found.items() if shown.marks == ("", "")}
        form = _digits(place, alike, present)
        if any(shown.brackets and form.reads(shown) for shown in alike):
            form = form._replace(brackets=True)
        read = sum(count for shown, count in alike.items() if form.reads(shown))
        if (read, own) > most:
            best, most = str(form), (read, own)
    return best, most[0]


def _digits(place: NumberFormat, alike: Mapping[NumberFormat, float], present: float) -> NumberFormat:
    """What stands among the digits of cells that have the same marks."""

    def count(thousands: Collection[str], decimals: Collection[str]) -> float:
        return sum(
            n for shown, n in alike.items() if shown.thousands in thousands and shown.decimal in decimals
        )

    def order(decimal: str) -> tuple[float, float, float]:
        alone = count(_THOUSANDS, (decimal,))
        return (alone if alone > ALONE * present else 0.0, count((_OTHER[decimal],), ("",)), alone)

    decimal = max(_OTHER, key=order)
    between = [mark for mark in _THOUSANDS if mark not in ("", decimal)]
    thousands = max(between, key=lambda mark: count((mark,), ("", decimal)))
    found = thousands if count((thousands,), ("", decimal)) else ""
    return place._replace(thousands=found, decimal=decimal)
