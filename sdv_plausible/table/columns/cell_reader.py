"""Parsing of cells, from text to value, by declaration alone.

The value of a cell is a function of its own text, the column's type and the spelling. Other cells have no
influence (docs/explanation/proofs/reading.md).
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.table.cells.canonical_forms import canonical, distinct_values, is_storable
from sdv_plausible.table.cells.cell_series import as_doubles
from sdv_plausible.table.cells.dates import (
    DIGIT_FORMATS,
    as_nanoseconds,
    detect_date_format,
    is_date,
    matches_date_format,
    read_date,
    write_date,
)
from sdv_plausible.table.cells.number_texts import (
    NUMBER_KINDS,
    main_number_format,
    number_kind,
    read_number,
    write_number,
)
from sdv_plausible.table.columns.column_document import MODELLED_SDTYPES, type_words

TRUE_VALUES = ("true", "t", "yes", "y", "1", "1.0")
FALSE_VALUES = ("false", "f", "no", "n", "0", "0.0")
_CACHE_SIZE = 1 << 14  # parsed texts cached per column
FIRST_YEAR = 1000  # earlier years are written with fewer digits
CODE_KIND, PHONE_KIND = "0123", "+123"  # kinds of non-canonical number texts
UPPER_BOOLEAN_KIND = "TRUE"  # kind of upper-case booleans
FRACTION_KINDS = (
    "1234.50",
    "1234.25",
)  # kinds of fractions of two or more digits: ending in zero, and others
_LEADING_ZERO = re.compile(r"[+-]?0[0-9]")
_FRACTION = re.compile(r"-?[0-9]+\.[0-9]+([0-9])")
_NO_DATE = np.iinfo(np.int64).min


@dataclass(frozen=True, kw_only=True)
class ColumnType:
    """Declared type of a column."""

    name: str
    sdtype: str
    datetime_format: str | None = None  # strftime format of dates
    # Declared values of a category (empty: cells are text), or texts next to numbers
    values: tuple[Hashable, ...] = ()
    regex_format: str | None = None  # pattern of generated ids
    pii: bool | None = None
    number_format: str | None = None  # number format; None: plain numbers

    @property
    def is_modelled(self) -> bool:
        """Whether the column is modelled, rather than generated like ids and personal data."""
        return self.sdtype in MODELLED_SDTYPES

    @property
    def is_number(self) -> bool:
        """Whether all cells are numbers, without texts next to them."""
        return self.sdtype == "numerical" and not self.values

    @property
    def words(self) -> dict[str, Any]:
        """The type in the vocabulary of SDV's metadata."""
        return type_words(vars(self))


@dataclass(frozen=True, kw_only=True)
class Spelling:
    """How the cells of a file are written, for all columns; chosen without reading the rows."""

    # ``true_values``, ``false_values``: texts of booleans. Case and surrounding blanks are ignored.
    # Raises ValueError if a mark is not one character, the two marks are equal, or one text has two meanings.

    decimal: str = "."  # decimal point, one character
    thousands: str | None = None  # separator of groups of three digits, one character. None: no separator.
    na_values: Sequence[str] = ("",)  # texts that mean missing. Surrounding blanks are ignored.
    true_values: Sequence[str] = TRUE_VALUES
    false_values: Sequence[str] = FALSE_VALUES

    def __post_init__(self) -> None:
        for name in ("decimal", "thousands"):
            mark = getattr(self, name)
            if mark is not None and not (
                isinstance(mark, str) and len(mark) == 1 and mark not in "0123456789+-eE"
            ):
                raise Refused(name, mark, "must be one character other than a digit, a sign or e", "try ','")
        if self.decimal is None:
            raise Refused("decimal", None, "must be one character", "try '.'")
        if self.decimal == self.thousands:
            raise ValueError(
                f"decimal ({self.decimal!r}) and thousands ({self.thousands!r}) must be two different "
                "characters"
            )
        for name in ("na_values", "true_values", "false_values"):
            texts = getattr(self, name)
            if (
                isinstance(texts, str)
                or not isinstance(texts, Iterable)
                or not all(isinstance(t, str) for t in texts)
            ):
                raise Refused(name, texts, "must be a list of texts, such as ['', 'NA']")
            object.__setattr__(self, name, tuple(texts))
        true, false = (set(map(_fold, texts)) for texts in (self.true_values, self.false_values))
        both = sorted((true & false) | (self._missing & (true | false)))
        if both:
            raise ValueError(
                f"na_values, true_values and false_values share {both[0]!r}: use each text in one list only"
            )

    def is_missing(self, text: str) -> bool:
        """Whether a cell's text means missing; surrounding blanks are ignored."""
        return text.strip() in self._missing

    def number(self, text: str) -> float:
        """Parse a number; NaN if the text is no number, or exceeds a double."""
        if not self._number.fullmatch(text.strip()):
            return math.nan
        number = float(self.plain(text))
        return number if math.isfinite(number) else math.nan

    def plain(self, number: str) -> str:
        """Text of a number in Python's notation."""
        grouped = number.strip() if self.thousands is None else number.strip().replace(self.thousands, "")
        return grouped.replace(self.decimal, ".")

    def truth(self, text: str) -> bool | None:
        """Parse a boolean; None if the text is none."""
        return self._truth.get(_fold(text))

    @cached_property
    def _missing(self) -> frozenset[str]:
        return frozenset(text.strip() for text in self.na_values)

    @cached_property
    def _truth(self) -> dict[str, bool]:
        return {
            **dict.fromkeys(map(_fold, self.true_values), True),
            **dict.fromkeys(map(_fold, self.false_values), False),
        }

    @cached_property
    def _number(self) -> re.Pattern[str]:
        digits, point = "[0-9]+", re.escape(self.decimal)
        if self.thousands is not None:
            digits = f"(?:[0-9]{{1,3}}(?:{re.escape(self.thousands)}[0-9]{{3}})+|[0-9]+)"
        return re.compile(f"[+-]?(?:{digits}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?")


def _fold(text: str) -> str:
    return text.strip().casefold()


PLAIN_SPELLING = Spelling()


def cell_kind(text: str, spelling: Spelling) -> str:
    """Kind of a cell, from its own text alone."""
    stripped = text.strip()
    if spelling.is_missing(text):
        return "missing"
    if stripped.casefold() in ("true", "false"):
        return UPPER_BOOLEAN_KIND if stripped.isupper() else "truth"
    is_number = not math.isnan(spelling.number(text))
    if is_number and (code := _code(stripped)):
        return code
    kind = number_kind(stripped)
    if kind == "1234.5" and (fraction := _FRACTION.fullmatch(stripped)):
        kind = FRACTION_KINDS[0] if fraction[1] == "0" else FRACTION_KINDS[1]
    if is_number:
        return next((form for form in DIGIT_FORMATS if matches_date_format(stripped, form)), kind or "number")
    return detect_date_format(stripped) or kind or "text"


def _code(number: str) -> str | None:
    """Kind of a number text with leading zeros, a plus sign or too many digits; None if it is canonical."""
    if number.startswith("+"):
        return PHONE_KIND
    digits = number.removeprefix("-")
    too_long = digits.isascii() and digits.isdigit() and int(float(digits)) != int(digits)
    return CODE_KIND if too_long or _LEADING_ZERO.match(number) else None


@lru_cache(maxsize=8)
def plain_number_kinds(spelling: Spelling) -> frozenset[str]:
    """Kinds of cells that are numbers in the table's own spelling."""
    kinds = {kind for kind in (*NUMBER_KINDS, *FRACTION_KINDS) if not math.isnan(spelling.number(kind))}
    return frozenset({"number", *kinds})


def detect_number_format(counts: Mapping[str, float], spelling: Spelling) -> tuple[str | None, float]:
    """Number format of a column (None: the table's), and how many cells it parses, from counts per kind."""
    numbers: dict[str, float] = {kind: counts.get(kind, 0) for kind in NUMBER_KINDS}
    numbers["number"] += sum(counts.get(form, 0) for form in DIGIT_FORMATS)
    numbers["1234.5"] += sum(counts.get(kind, 0) for kind in FRACTION_KINDS)
    plain = sum(numbers[kind] for kind in numbers if kind in plain_number_kinds(spelling))
    present = sum(count for kind, count in counts.items() if kind != "missing")
    form, parsed = main_number_format(numbers, present)
    return (form, parsed) if parsed > plain else (None, plain)


class CellReader:
    """Parser of one column's cells, each by itself.

    ``unread`` counts cells that are neither missing nor of the column's type. It is for the data owner only.
    """

    def __init__(self, column: ColumnType, spelling: Spelling) -> None:
        self.column, self.spelling, self.unread = column, spelling, 0
        values = [v.item() if isinstance(v, np.generic) else v for v in column.values]
        self._texts = {v: v for v in values if isinstance(v, str)}
        self._truths = {v for v in values if isinstance(v, bool)}
        self._numbers = {
            canonical(v): v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)
        }
        others = [v for v in values if not isinstance(v, (str, bool, int, float))]
        self._others = {(v.isoformat() if isinstance(v, (dt.date, dt.time)) else str(v)): v for v in others}
        self._check()
        self._cache_index: dict[str, int] = {}  # cache: text -> index into the parsed values
        self._cached_values, self._unreadable = self._values([]), np.zeros(0, dtype=bool)

    def _check(self) -> None:
        column = self.column
        for text in self._texts:
            if self.spelling.is_missing(text):
                raise ValueError(
                    f"column {column.name!r}: the declared value {text!r} is also in na_values (texts for "
                    "missing): remove it from one of them"
                )
        if column.sdtype != "datetime":
            return
        if column.datetime_format is None:
            raise ValueError(
                f"column {column.name!r} holds dates as text: give its datetime_format, such as '%Y-%m-%d'"
            )
        try:
            self._dates(["0"])
        except ValueError as error:
            raise ValueError(
                f"column {column.name!r}: datetime_format ({column.datetime_format!r}) is none: "
                f"{error.__cause__}"
            ) from error

    def read(self, texts: Sequence[str]) -> np.ndarray:
        """Values of cells, shape (n,): doubles for a number (missing is NaN), else objects (missing is None).

        A numeric column with texts gives objects, too. Cells of a category outside its declared values stay
        as they are: the codec handles them.
        """
        if len(self._cache_index) > _CACHE_SIZE:
            self._cache_index, self._cached_values = {}, self._cached_values[:0]
            self._unreadable = self._unreadable[:0]
        if new := [text for text in dict.fromkeys(texts) if text not in self._cache_index]:
            missing = np.fromiter(map(self.spelling.is_missing, new), dtype=bool, count=len(new))
            values = self._values(new)
            values[missing] = np.nan if self.column.is_number else None
            self._cache_index.update((text, len(self._cached_values) + i) for i, text in enumerate(new))
            self._cached_values = np.concatenate([self._cached_values, values])
            self._unreadable = np.concatenate([self._unreadable, pd.isna(values) & ~missing])
        where = np.fromiter(map(self._cache_index.__getitem__, texts), dtype=np.int64, count=len(texts))
        self.unread += int(self._unreadable[where].sum())
        return self._cached_values[where]

    def _values(self, texts: list[str]) -> np.ndarray:
        if self.column.is_number:
            return np.fromiter(map(self._number, texts), dtype=float, count=len(texts))
        values = np.empty(len(texts), dtype=object)
        if self.column.sdtype == "datetime":
            values[:] = self._dates(texts)
        elif self.column.sdtype == "numerical":
            values[:] = [self._number_or_text(text) for text in texts]
        elif self.column.is_modelled:
            values[:] = [self._category(text) for text in texts]
        else:
            values[:] = texts
        return values

    def _dates(self, texts: list[str]) -> list[str | None]:
        """The texts that are dates in the column's format, unchanged; None for all others."""
        texts = [text.strip() for text in texts]
        digits = [
            text if any(map(str.isdigit, text)) else "" for text in texts
        ]  # pandas parses 'now' and 'today' as dates
        moments = as_nanoseconds(
            pd.Series(digits, dtype=object), self.column.datetime_format, row_by_row=True
        )
        return [
            text if moment != _NO_DATE or text in self._texts or self._is_far(text) else None
            for text, moment in zip(texts, moments.tolist(), strict=True)
        ]

    def _is_far(self, text: str) -> bool:
        """Whether a text is a date outside the range of nanoseconds."""
        return is_date(text, str(self.column.datetime_format))

    def _number_or_text(self, text: str) -> float | str | None:
        """Return the declared text that equals the cell, else its number."""
        if text in self._texts:
            return text
        number = self._number(text)
        return None if math.isnan(number) else number

    def _number(self, text: str) -> float:
        form = self.column.number_format
        return self.spelling.number(text) if form is None else read_number(text, form)

    def _category(self, text: str) -> Hashable:
        """Return the declared value that a text means, else the text; None for an unknown boolean."""
        for known in (text, text.strip()):
            if known in self._texts:
                return self._texts[known]
        number = canonical(self.spelling.number(text))
        if number in self._numbers:
            return self._numbers[number]
        truth = self.spelling.truth(text)
        if truth in self._truths:
            return truth
        if text.strip() in self._others:
            return self._others[text.strip()]
        return None if self.column.sdtype == "boolean" else text


# --- cells of data frames -------------------------------------------------------------------------


def reparse_columns(frame: pd.DataFrame, types: Mapping[str, ColumnType], spelling: Spelling) -> pd.DataFrame:
    """Parse columns of a frame as if read from a file: each cell becomes text, then a value."""
    result = frame.copy(deep=False)
    for name in (name for name in types if name in frame):
        if types[name].number_format is not None and frame[name].dtype.kind in "iuf":  # already numbers
            numbers = as_doubles(frame[name])
            result[name] = pd.Series(np.where(np.isfinite(numbers), numbers, np.nan), index=frame.index)
            continue
        where, forms = distinct_values(frame[name])
        reader = CellReader(types[name], spelling)
        present = [i for i, form in enumerate(forms) if is_storable(form)]
        form, number_format = types[name].datetime_format, types[name].number_format
        parsed = reader.read([cell_text(forms[i], spelling, form, number_format) for i in present])
        nothing = np.nan if types[name].is_number else None
        values = np.full(len(forms) + 1, nothing, dtype=parsed.dtype)  # the last is missing
        values[present] = parsed
        result[name] = pd.Series(values[where], index=frame.index, dtype=values.dtype)
    return result


def cell_text(
    cell: Hashable, spelling: Spelling, form: str | None = None, number_format: str | None = None
) -> str:
    """The text that a CSV file would hold for a cell in canonical form.

    A moment is written in the column's format if that loses nothing. So is a number.
    """
    if number_format is not None and isinstance(cell, (int, float)) and not isinstance(cell, bool):
        return write_number(cell, number_format)
    if isinstance(cell, dt.date):
        return _text_of_moment(pd.Timestamp(cell), form)
    if isinstance(cell, float):
        return str(cell).replace(".", spelling.decimal)
    return str(cell)


def _text_of_moment(moment: pd.Timestamp, form: str | None) -> str:
    if moment.tzinfo is None and form is not None and moment.year >= FIRST_YEAR:
        text = write_date(moment, form)
        with suppress(ValueError):  # a format with an offset
            if read_date(text, form) == moment:
                return text
    is_day = moment.tzinfo is None and moment == moment.normalize()
    return moment.isoformat(sep=" ")[: 10 if is_day else None]
