"""Forms of all pages: numbers and a column's declaration. Each error is shown next to its field.

A field that comes back unchanged keeps its value, whatever its text: saving without changes must not count as
an edit.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sdv_plausible.fitting.options import OPTIONS
from sdv_plausible.table.columns.column_document import WORDS, SpecWord
from sdv_plausible.table.columns.domain import MAX_BINS
from sdv_plausible.table.declared.declarations import declares_type_only
from sdv_plausible.table.declared.specifications import (
    MODELLED_SDTYPES,
    check_keys,
    check_spec,
    declare,
    implied_sdtype,
    partial_declaration_of,
)
from sdv_plausible.utils.json_schema import strict_json

OTHER_SDTYPES = ("id", "email", "name", "phone_number", "address")  # generated, not modelled
LEFT_OUT = "left out"  # of the domain file
LISTED = 'Separate values by commas or lines. 1 is a number; "1" in quotes is text, and so is "a, b".'
_ITEM = re.compile(r'\s*("(?:[^"\\\n]|\\.)*"|\{[^{}\n]*\}|[^,\n]*)[^\S\n]*(?:[,\n]|$)')
_QUOTED = re.compile(r'[,"{\n]')  # texts with these are quoted in a list
NO_FIELD = ""  # key of an error that concerns no single field
ROWS = "10000"  # to generate by default
Texts = Mapping[str, str]
Words = Mapping[str, Any]


def read_numbers(texts: Texts, usual: Texts) -> tuple[dict[str, Any], dict[str, str]]:
    """Parse numeric fields: values and errors by field. A field without a default may be empty (None)."""
    numbers, refusals = {}, {}
    for name, text in texts.items():
        left = "" if usual[name] else ", or left empty"
        try:
            numbers[name] = None if left and not text.strip() else _read_number(name, text, usual[name])
        except ValueError as error:
            refusals[name] = f"{name} ({text.strip()!r}) must be {error}{left}"
    return numbers, refusals


def _read_number(name: str, text: str, usual: str) -> float | int:
    """Parse a number, or raise ValueError with the rule that it breaks; unknown fields are row counts."""
    is_whole = name not in OPTIONS or OPTIONS[name].kind is int
    try:
        value = float(re.sub(r"(?<=\d),(?=\d{3}\b)", "", text) if is_whole else text)
    except ValueError:
        raise ValueError(f"a number, such as {usual or ROWS}") from None
    if not is_whole:
        return value
    if not math.isfinite(value) or not value.is_integer() or value < 1:
        raise ValueError("a whole number from 1 on")
    return int(value)


def field_of_error(error: Exception, fields: Container[str]) -> str:
    """Return the field that an error is about; ``NO_FIELD`` if it is none of ``fields``."""
    name = getattr(error, "field", "")
    name = "rows" if name == "num_rows" else name
    return name if name in fields else NO_FIELD


@dataclass(frozen=True, kw_only=True)
class WordField:
    """Form field of one word of a declaration."""

    word: str
    label: str
    hint: str = ""
    kind: str = "line"  # "line", "lines" (a list) or "choice"
    suits: tuple[str, ...] = ()  # the sdtypes that it applies to; all if empty
    show: Callable[[Any], str]  # the word -> its text
    read: Callable[[str, str | None], Any]  # non-empty text, sdtype -> the word


def scalar_text(value: Any) -> str:
    """Format a value as one line; texts that would parse as something else are quoted."""
    if not isinstance(value, str):
        return json.dumps(value)
    if not value.isprintable():
        return json.dumps(value)
    is_plain = value == value.strip() and value and read_scalar(value) == value
    return value if is_plain else json.dumps(value, ensure_ascii=False)


def read_scalar(text: str, sdtype: str | None = None) -> Any:
    """Parse one line: JSON of a number, truth value, null, text or named date; otherwise the text itself."""
    if sdtype == "datetime" and not text.startswith(('"', "{")):
        return text
    try:
        value = strict_json(text)
    except ValueError:
        return text
    return text if isinstance(value, list) else value


def list_text(values: Any) -> str:
    """Format a list as one line, separated by commas."""
    return ", ".join(map(_item_text, values)) if isinstance(values, list) else scalar_text(values)


def _item_text(value: Any) -> str:
    text = scalar_text(value)
    is_plain = text != value or not _QUOTED.search(text)
    return text if is_plain else json.dumps(value, ensure_ascii=False)


def _read_list(text: str, _: str | None) -> list[Any]:
    return [read_scalar(item) for match in _ITEM.finditer(text) if (item := match[1].strip())]


def _read_bins(text: str, _: str | None) -> Any:
    parts = [read_scalar(part) for part in re.split(r"[\s,;]+", text) if part]
    return parts[0] if len(parts) == 1 else parts


def _field(name: str, word: SpecWord) -> WordField:
    """Form field of a word, by the type of its values."""
    json_type = word.form.get("type")
    common: dict[str, Any] = {
        "word": name,
        "label": word.title,
        "suits": word.suits,
        "hint": word.explanation,
    }
    if json_type == "array":
        return WordField(show=list_text, read=_read_list, **common | {"kind": "lines"})
    if json_type == "boolean":
        labels, values = {True: "yes", False: "no"}, {"yes": True, "no": False}
        common |= {"show": lambda v: labels.get(v, str(v)), "read": lambda text, _: values.get(text, text)}
        return WordField(kind="choice", **common)
    if json_type == "string":
        return WordField(show=str, read=lambda text, _: text, **common)
    if name == "bins":
        return WordField(show=list_text, read=_read_bins, **common)
    return WordField(show=scalar_text, read=read_scalar, **common)


FIELDS = tuple(_field(name, word) for name, word in WORDS.items() if word.title)
_BY_WORD = {field_.word: field_ for field_ in FIELDS}
_GRID_WORDS = ("sdtype", "range_min", "range_max", "range_values", "range_is_nullable", "source")
GRID = {word: _BY_WORD[word] for word in _GRID_WORDS}
"""Fields in a column's row; the others are folded."""
MORE_FIELDS = tuple(field_ for field_ in FIELDS if field_.word not in GRID)


def field_texts(words: Words) -> dict[str, str]:
    """Texts that a form shows for a column's declaration."""
    values = [(f, words.get(f.word)) for f in FIELDS]
    return {f.word: "" if v is None else f.show(v).replace("\r\n", "\n") for f, v in values}


def selectable_sdtypes(words: Words) -> tuple[str, ...]:
    """Sdtypes that a form offers for a column: modelled ones, common others, and its own."""
    sdtypes = (*MODELLED_SDTYPES, *OTHER_SDTYPES)
    own = words.get("sdtype")
    return sdtypes if own is None or own in sdtypes else (*sdtypes, str(own))


@dataclass(frozen=True)
class ColumnForm:
    """Submitted form of one column."""

    words: Words | None  # None if the column is left out of the file
    texts: Mapping[str, str]  # by word, as typed
    # error messages by word; "" for errors that concern no single word
    refusals: Mapping[str, str] = field(default_factory=dict)


def read_column_form(name: str, before: Words, typed: Mapping[str, str]) -> ColumnForm:
    """Parse a column's fields; missing fields, and words without a field, keep their values."""
    shown = field_texts(before)
    texts = {word: typed.get(word, shown[word]).replace("\r\n", "\n") for word in _BY_WORD}
    if texts["sdtype"] == LEFT_OUT:
        return ColumnForm(None, texts)
    sdtype = texts["sdtype"] or None
    words = dict(before)
    for word, text in texts.items():
        if text == shown[word]:
            continue
        if text.strip():
            words[word] = _BY_WORD[word].read(text if word == "source" else text.strip(), sdtype)
        elif word == "sdtype":
            words[word] = None
        else:
            words.pop(word, None)
    return ColumnForm(words, texts, refusals(name, words))


def refusals(name: str, words: Words) -> dict[str, str]:
    """Validate a column's declaration: error messages by word."""
    errors: dict[str, str] = {}
    given = {word: value for word, value in words.items() if value is not None}
    for word, value in given.items():
        errors |= _errors_of(partial(_check_word, name, word, value, given))
    if errors or (given.keys() <= {"source"} and "sdtype" in words):
        return errors  # a blank is no error; it is filled in later
    return _errors_of(partial(_check_declaration, name, words))


def _check_word(name: str, word: str, value: Any, words: Words) -> None:
    check_keys(name, {word: value})
    sdtype = words.get("sdtype")
    check_spec(name, {word: value, **({"sdtype": sdtype} if isinstance(sdtype, str) else {})})


def _check_declaration(name: str, words: Words) -> None:
    if not declares_type_only(name, words) and partial_declaration_of(name, words, {}) is None:
        declare(name, words, None, MAX_BINS)


def _errors_of(test: Callable[[], object]) -> dict[str, str]:
    """Run a check; return its error message by word."""
    try:
        test()
    except (ValueError, TypeError, OverflowError) as error:
        return {field_of_error(error, _BY_WORD): str(error)}
    return {}


def meaning(name: str, words: Any) -> str:
    """Summarise a column's valid declaration in one line."""
    if isinstance(words, Mapping) and "kind" in words:
        return "learned with noise: each fit that uses it pays for it"
    if not isinstance(words, Mapping) or (words.get("sdtype") is None and implied_sdtype(words) is None):
        return "no type yet"
    if declares_type_only(name, words):
        if words["sdtype"] in MODELLED_SDTYPES:
            return "values are learned"
        return "placeholder values"
    if partial_declaration_of(name, words, {}) is not None:
        return "partly learned"
    attribute = declare(name, words, None, MAX_BINS)
    missing = ", and missing" if attribute.nullable else ""
    if attribute.is_wide and words.get("bins") is None:
        return f"bins are learned{missing}"
    count = attribute.cardinality - attribute.nullable
    return f"{count:,} {'values' if attribute.lower == attribute.upper else 'values and bins'}{missing}"


def words_without_field(words: Words) -> dict[str, Any]:
    """Words that the form does not show; they are kept."""
    return {word: value for word, value in words.items() if word not in _BY_WORD and value is not None}
