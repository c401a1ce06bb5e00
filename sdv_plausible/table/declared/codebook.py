"""Code books: declarations by column, and messages about what could not be read."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from sdv_plausible.table.cells.dates import DIGIT_FORMATS, FORMATS, read_date, write_date
from sdv_plausible.table.cells.number_texts import plain_number_text
from sdv_plausible.table.columns.cell_reader import PLAIN_SPELLING, Spelling, cell_kind, detect_number_format
from sdv_plausible.table.columns.column_document import MAX_DECIMALS
from sdv_plausible.table.declared.domain_file import is_blank, read_json
from sdv_plausible.table.declared.specifications import (
    MODELLED_SDTYPES,
    VALUE_WORDS,
    check_spec,
    declared_attribute,
)
from sdv_plausible.utils.entry_points import extension, extension_names
from sdv_plausible.utils.file_paths import check_regular_file, read_text_file
from sdv_plausible.utils.text_output import escape_controls

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_EXACT = 2**53  # doubles represent all integers up to here
_DECIMAL = re.compile(r"-?([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")

PLAIN_TYPES = {
    **dict.fromkeys(("number", "numeric", "integer", "int", "float", "real", "double"), "numerical"),
    **dict.fromkeys(("category", "nominal", "code"), "categorical"),
    **dict.fromkeys(("date", "timestamp"), "datetime"),
    "bool": "boolean",
}
"""Common names of sdtypes."""
WHOLE_TYPES = ("integer", "int")
Message = tuple[str | None, str]
"""The column of a message (None: the whole document), and its text."""


@dataclass(frozen=True, kw_only=True)
class Codebook:
    """Declarations taken from one public document."""

    # Declarations by column; ``{"sdtype": None}`` if the type is unknown.
    columns: Mapping[str, Mapping[str, Any]]
    messages: tuple[Message, ...] = ()  # about parts that were not understood or cannot be declared
    last_column: str | None = None  # name here of the table's last column

    @property
    def lines(self) -> list[str]:
        """The messages, one per line."""
        lines = (text if name is None else f"{name}: {text}" for name, text in self.messages)
        return [escape_controls(line, keep="") for line in lines]

    def of_table(self, names: Sequence[str]) -> Codebook:
        """The code book for a table with these columns, with the table's name of the last one."""
        if self.last_column is None or self.last_column in names or not names or names[-1] in self.columns:
            return self
        columns = {
            names[-1] if name == self.last_column else name: declaration
            for name, declaration in self.columns.items()
        }
        message = (names[-1], f"the last column is used as the code book's {self.last_column!r}")
        return Codebook(columns=columns, messages=(*self.messages, message))

    def with_source(self, source: str) -> Codebook:
        """The code book with ``source`` in every declaration that is not blank."""
        cited = {
            name: declaration if is_blank(declaration) else {**declaration, "source": source}
            for name, declaration in self.columns.items()
        }
        return replace(self, columns=cited)


def with_unknown_decimals(declaration: Mapping[str, Any]) -> Mapping[str, Any]:
    """Declaration with float ends if decimal places are unknown: integer ends would mean integers."""
    precision = {key for key in ("decimal_places", "resolution") if declaration.get(key) is not None}
    if declaration.get("sdtype") != "numerical" or precision:
        return declaration
    ends = {key: declaration[key] for key in ("range_min", "range_max") if declaration.get(key) is not None}
    if any(abs(end) > _EXACT for end in ends.values()):
        return declaration
    return {**declaration, **{key: float(end) for key, end in ends.items()}}


@dataclass(frozen=True)
class CodebookReader:
    """A reader of one format of code books, as extensions register it.

    Parameters
    ----------
    read : callable
        Reads the file at a path as a :class:`Codebook`. Raises a one-line ValueError if it is damaged.
    endings : tuple of str
        File extensions, in lower case.
    recognizes : callable, optional
        Whether a JSON document has this format; only for readers of ``.json``.
    """

    read: Callable[[Path], Codebook]
    endings: tuple[str, ...]
    recognizes: Callable[[Any], bool] | None = None


def parse_codes(codes: Iterable[Any]) -> list[Any]:
    """Codes as in a table: integers if all are written as such (``1``, not ``01``), else texts."""
    texts = [str(code).strip() for code in codes]
    return [int(text) for text in texts] if all(map(_WHOLE.fullmatch, texts)) else texts


def parse_number(text: Any) -> int | float | None:
    """The finite number that a text is, as int if possible; None if it is no number."""
    if isinstance(text, bool) or text is None:
        return None
    stripped = str(text).strip()
    if _WHOLE.fullmatch(stripped):
        return int(stripped)
    value = float(stripped) if _DECIMAL.fullmatch(stripped) else math.nan
    return value if math.isfinite(value) else None


def categorical_declaration(values: Iterable[Any]) -> dict[str, Any]:
    """Declaration of a column with a list of values."""
    listed = list(values)
    for value in listed:
        if not isinstance(value, Hashable):
            raise ValueError(f"a value ({value!r:.60}) must be a single text or number")
    return {"sdtype": "categorical", "range_values": list(dict.fromkeys(listed))}


def numerical_declaration(
    name: str, low: float | None, high: float | None, codes: Sequence[Any] = ()
) -> tuple[dict[str, Any], list[Message]]:
    """Declaration of numbers in a range with codes outside it, and messages."""
    declaration: dict[str, Any] = {"sdtype": "numerical"}
    listed = ", ".join(map(repr, codes))
    messages: list[Message] = []
    if low is None or high is None:
        and_codes = f" (and for its codes {listed})" if codes else ""
        messages = [(name, f"no range is given: set range_min and range_max{and_codes}, or it is learned")]
    declaration |= {key: end for key, end in (("range_min", low), ("range_max", high)) if end is not None}
    numbers = [value for code in codes if (value := parse_number(code)) is not None]
    special = [*numbers, *(code for code in codes if parse_number(code) is None)]
    try:
        check_spec(name, {**declaration, "special_values": special})
    except ValueError:
        special = numbers
        messages.append((name, f"cells with codes among {listed} that are not numbers are read as missing"))
    if special:
        declaration["special_values"] = special
    return declaration, messages


def labelled_declaration(
    name: str, codes: Sequence[Any], missing: Sequence[Any], *, is_text: bool = False
) -> tuple[dict[str, Any], list[Message]]:
    """Declaration of a column with labelled values, and messages."""
    # Codes for missing values are cells of the table like others.
    if not codes and not missing:
        return {"sdtype": None}, [(name, "no values are listed")]
    valid_codes = [code for code in codes if code not in missing]
    if valid_codes:
        values = [*codes, *(code for code in missing if code not in codes)]
        return categorical_declaration(values if is_text else parse_codes(values)), [
            (name, "a category of the values with labels: is the list complete?")
        ]
    if is_text:
        return {"sdtype": None}, [(name, "only missing values are listed")]
    return numerical_declaration(name, None, None, list(dict.fromkeys([*codes, *missing])))


def read_text(path: Path, what: str) -> str:
    """Text of a UTF-8 file."""
    try:
        return read_text_file(path, encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ValueError(f"{path}: line {line} is not UTF-8: save this {what} in that encoding") from None


def read_document(path: Path) -> Any:
    """A JSON document."""
    return read_json(path, "code book", "in a supported form")


MOST_VALUES = 1000  # largest number of values of a category; longer lists are names or ids
WARNING = (
    "A published table is one that anybody may see. A confidential table, also an older one of the same "
    "survey, is not: declarations derived from it cost the people in it their privacy guarantee."
)


def declarations_of_table(table: pd.DataFrame, spelling: Spelling = PLAIN_SPELLING) -> Codebook:
    """Declarations from a published table of text, with None for missing. Must not be confidential."""
    columns: dict[str, Mapping[str, Any]] = {}
    messages = []
    for name in table.columns:
        cells = [str(value) for value in table[name].dropna()]
        declaration = _words(cells, spelling)
        if declaration is None:
            content = f"more than {MOST_VALUES:,} different texts" if cells else "no value"
            messages.append((name, f"{content}: is it an id?"))
            columns[str(name)] = {"sdtype": None}
        else:
            columns[str(name)] = {**declaration, "range_is_nullable": len(cells) < len(table)}
    return Codebook(columns=columns, messages=tuple(messages))


def _words(cells: Sequence[str], spelling: Spelling) -> dict[str, Any] | None:
    values = list(dict.fromkeys(cells))
    if not values:
        return None
    kinds = Counter(cell_kind(value, spelling) for value in values)
    if kinds.keys() == {"truth"}:
        return {"sdtype": "boolean", "range_values": [False, True]}
    value_format, numbers = detect_number_format(kinds, spelling)
    if numbers == len(values) > max(kinds[value_format] for value_format in DIGIT_FORMATS):
        if value_format is None:
            return _numbers([spelling.plain(value).removeprefix("+") for value in values])
        return {
            **_numbers([plain_number_text(value, value_format) for value in values]),
            "number_format": value_format,
        }
    for value_format in kinds.keys() & {*FORMATS}:  # at most one is the format of all values
        if dates := _dates(values, value_format):
            ends = {"range_min": dates[0], "range_max": dates[-1]}
            return {"sdtype": "datetime", "datetime_format": value_format, **ends}
    return categorical_declaration(sorted(parse_codes(values))) if len(values) <= MOST_VALUES else None


def _numbers(texts: Sequence[str]) -> dict[str, Any]:
    values = [value for text in texts if (value := parse_number(text)) is not None]
    declaration: dict[str, Any] = {"sdtype": "numerical", "range_min": min(values), "range_max": max(values)}
    if not any("e" in text.casefold() for text in texts):
        digits = max(len(text.partition(".")[2]) for text in texts)
        declaration["decimal_places"] = min(digits, MAX_DECIMALS)
    return declaration


def _dates(texts: Sequence[str], date_format: str) -> list[str]:
    """The texts in chronological order; empty unless all match the format exactly."""
    with suppress(ValueError):
        dates = {text.strip(): read_date(text.strip(), date_format) for text in texts}
        if all(write_date(moment, date_format) == text for text, moment in dates.items()):
            return sorted(dates, key=dates.__getitem__)
    return []


CODEBOOK_FORMATS = extension_names("codebook")
"""Formats of code books that installed packages read."""


def read_codebook(path: str | Path, form: str | None = None) -> Codebook:
    """Read the declarations of a code book, citing the file's name as source."""
    # Raises ValueError if the file is damaged or has another format. One line with the file, the place and
    # the way out.
    path = Path(path)
    if form is not None and form not in CODEBOOK_FORMATS:
        raise ValueError(f"format ({form!r}) must be one of {', '.join(CODEBOOK_FORMATS)}")
    try:
        form = form or _form(path)
        check_regular_file(path)
        return _usable(_reader(form).read(path)).with_source(path.name)
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply: flatten it") from None
    except ValueError as error:  # add the file to errors about a column or cell
        text = escape_controls(" ".join(str(error).split()), keep="")
        raise ValueError(text if str(path) in text else f"{path}: {text}") from error


def _usable(codebook: Codebook) -> Codebook:
    """The code book as a fit accepts it; raises ValueError for contradictory declarations."""
    columns: dict[str, Mapping[str, Any]] = {}
    messages = list(codebook.messages)
    for name, declaration in codebook.columns.items():
        usable, sdtype = with_unknown_decimals(declaration), declaration.get("sdtype")
        if sdtype in MODELLED_SDTYPES:
            declared_attribute(name, usable)
        elif sdtype is not None and (unused := [key for key in usable if key in VALUE_WORDS]):
            usable = {key: value for key, value in usable.items() if key not in unused}
            messages.append(
                (name, f"of type {sdtype!r}, which gets placeholder values: {', '.join(unused)} not used")
            )
        columns[name] = usable
    return replace(codebook, columns=columns, messages=tuple(messages))


def _reader(form: str) -> CodebookReader:
    reader: CodebookReader = extension("codebook", form)
    return reader


def _form(path: Path) -> str:
    """Format of a file by its extension, or by its content for JSON."""
    ending = path.suffix.lower()
    forms = [form for form in CODEBOOK_FORMATS if ending in _reader(form).endings]
    if not forms:
        endings = dict.fromkeys(ending for form in CODEBOOK_FORMATS for ending in _reader(form).endings)
        raise ValueError(
            f"{path}: code books with the ending {ending!r} are not supported; supported are "
            f"{', '.join(endings)}; or give the format: {', '.join(CODEBOOK_FORMATS)}"
        )
    if len(forms) > 1:
        document = read_document(path)
        fitting = [form for form in forms if (test := _reader(form).recognizes) and test(document)]
        if not fitting:
            raise ValueError(
                f"{path} is not in a supported code book form: {', '.join(forms)}; give the format"
            )
        if len(fitting) > 1:
            raise ValueError(f"{path} can be read as {' and as '.join(fitting)}: choose one, as its format")
        return fitting[0]
    return forms[0]
