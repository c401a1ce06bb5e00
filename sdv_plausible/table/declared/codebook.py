"""Code books: declarations by column, and messages about what could not be read."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sdv_plausible.table.declared.domain_file import is_blank, read_json
from sdv_plausible.table.declared.spec_words import check_spec
from sdv_plausible.utils.input_files import read_text_file
from sdv_plausible.utils.printable import escape_controls

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_EXACT = 2**53  # doubles represent all integers up to here
_DECIMAL = re.compile(r"-?([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")

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
        message = (names[-1], f"the last column is taken for the code book's {self.last_column!r}")
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
            raise ValueError(f"a value ({value!r:.60}) must be a text or a number, and no list of them")
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
        messages = [(name, f"no range is told: give range_min and range_max{and_codes}, or it is learned")]
    declaration |= {key: end for key, end in (("range_min", low), ("range_max", high)) if end is not None}
    numbers = [value for code in codes if (value := parse_number(code)) is not None]
    special = [*numbers, *(code for code in codes if parse_number(code) is None)]
    try:
        check_spec(name, {**declaration, "special_values": special})
    except ValueError:
        special = numbers
        messages.append((name, f"cells with codes among {listed} that are no numbers are read as missing"))
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
            (name, "a category of the values that have labels: are these all?")
        ]
    if is_text:
        return {"sdtype": None}, [(name, "no values but missing ones are listed")]
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
    return read_json(path, "code book", "in a form that is read")
