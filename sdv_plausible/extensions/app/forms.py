"""What is typed into the forms of all pages: numbers, and a column's words; each refusal beside its field.

A word that comes back as it was sent stays as it stood, whatever its text: pressing "save" without a change
must not look like an edit.
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
from sdv_plausible.table.learned.declared_ranges import is_wide
from sdv_plausible.utils.json_schema import strict_json

OTHER_SDTYPES = ("id", "email", "name", "phone_number", "address")  # invented, not modelled
LEFT_OUT = "left out"  # of the file
ONE_IN_A_LINE = 'One in a line; 1 is a number, "1" in quotes is a text.'
WHOLE = ""  # the place of a refusal that is about no single word
ROWS = "10000"  # to make, unless somebody says otherwise
Texts = Mapping[str, str]
Words = Mapping[str, Any]


def read_numbers(texts: Texts, usual: Texts) -> tuple[dict[str, Any], dict[str, str]]:
    """Numbers by field, and what is refused of them; what is usually empty may be, and is None then."""
    numbers, refusals = {}, {}
    for name, text in texts.items():
        left = "" if usual[name] else ", or left empty"
        try:
            numbers[name] = None if left and not text.strip() else _read_number(name, text, usual[name])
        except ValueError as error:
            refusals[name] = f"{name} ({text.strip()!r}) must be {error}{left}"
    return numbers, refusals


def _read_number(name: str, text: str, usual: str) -> float | int:
    """A number, or the rule that it breaks: what is no option counts rows."""
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


def place_of(error: Exception, fields: Container[str]) -> str:
    """The field that a refusal is about; ``WHOLE`` if it is about none of these."""
    name = getattr(error, "field", "")
    name = "rows" if name == "num_rows" else name
    return name if name in fields else WHOLE


@dataclass(frozen=True, kw_only=True)
class WordField:
    """One word of a declaration in a form."""

    word: str
    label: str
    hint: str = ""
    kind: str = "line"  # "line", "lines" or "choice"
    suits: tuple[str, ...] = ()  # the sdtypes that it goes with; all if empty
    show: Callable[[Any], str]  # a word -> its text
    read: Callable[[str, str | None], Any]  # a text that is not empty, and the sdtype -> the word


def scalar_text(value: Any) -> str:
    """A value as a line: texts that would read as something else are in quotes."""
    if not isinstance(value, str):
        return json.dumps(value)
    if not value.isprintable():
        return json.dumps(value)
    is_plain = value == value.strip() and value and read_scalar(value) == value
    return value if is_plain else json.dumps(value, ensure_ascii=False)


def read_scalar(text: str, sdtype: str | None = None) -> Any:
    """A line as a value: JSON of a number, truth value, null, text or date by name; else the text itself."""
    if sdtype == "datetime" and not text.startswith(('"', "{")):
        return text
    try:
        value = strict_json(text)
    except ValueError:
        return text
    return text if isinstance(value, list) else value


def _show_list(mark: str, values: Any) -> str:
    return mark.join(map(scalar_text, values)) if isinstance(values, list) else scalar_text(values)


def _read_lines(text: str, _: str | None) -> list[Any]:
    return [read_scalar(line.strip()) for line in text.split("\n") if line.strip()]


def _read_bins(text: str, _: str | None) -> Any:
    parts = [read_scalar(part) for part in re.split(r"[\s,;]+", text) if part]
    return parts[0] if len(parts) == 1 else parts


def _field(name: str, word: SpecWord) -> WordField:
    """How a word is shown and read, by what it may hold."""
    kind = word.form.get("type")
    known: dict[str, Any] = {"word": name, "label": word.title, "suits": word.suits, "hint": word.explanation}
    if kind == "array":
        lines = {"hint": f"{word.explanation} {ONE_IN_A_LINE}", "kind": "lines"}
        return WordField(show=partial(_show_list, "\n"), read=_read_lines, **known | lines)
    if kind == "boolean":
        said, meant = {True: "yes", False: "no"}, {"yes": True, "no": False}
        known |= {"show": lambda v: said.get(v, str(v)), "read": lambda text, _: meant.get(text, text)}
        return WordField(kind="choice", **known)
    if kind == "string":
        return WordField(show=str, read=lambda text, _: text, **known)
    if name == "bins":
        return WordField(show=partial(_show_list, ", "), read=_read_bins, **known)
    return WordField(show=scalar_text, read=read_scalar, **known)


FIELDS = tuple(_field(name, word) for name, word in WORDS.items() if word.title)
_BY_WORD = {field_.word: field_ for field_ in FIELDS}


def field_texts(words: Words) -> dict[str, str]:
    """The texts that a form shows for a column's words."""
    said = [(f, words.get(f.word)) for f in FIELDS]
    return {f.word: "" if w is None else f.show(w).replace("\r\n", "\n") for f, w in said}


def sdtypes_to_choose(words: Words) -> tuple[str, ...]:
    """The sdtypes that a form offers for a column: the modelled ones, the usual others, and its own."""
    known = (*MODELLED_SDTYPES, *OTHER_SDTYPES)
    own = words.get("sdtype")
    return known if own is None or own in known else (*known, str(own))


@dataclass(frozen=True)
class ColumnForm:
    """What came back of one column."""

    words: Words | None  # None if it is left out of the file
    texts: Mapping[str, str]  # what was typed
    # word that is refused -> why; "" for what is about no single word
    refusals: Mapping[str, str] = field(default_factory=dict)


def filled_in(name: str, before: Words, typed: Mapping[str, str]) -> ColumnForm:
    """Read a column's fields, of which those that are not there, and words without one, stay."""
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
    """Say what the language of declarations refuses of a column, by the word that it is about."""
    found: dict[str, str] = {}
    said = {word: value for word, value in words.items() if value is not None}
    for word, value in said.items():
        found |= _refused(partial(_check_word, name, word, value, said))
    if found or (said.keys() <= {"source"} and "sdtype" in words):
        return found  # a blank is no error: it is to be filled in
    return _refused(partial(_check_whole, name, words))


def _check_word(name: str, word: str, value: Any, said: Words) -> None:
    check_keys(name, {word: value})
    sdtype = said.get("sdtype")
    check_spec(name, {word: value, **({"sdtype": sdtype} if isinstance(sdtype, str) else {})})


def _check_whole(name: str, words: Words) -> None:
    if not declares_type_only(name, words) and partial_declaration_of(name, words, {}) is None:
        declare(name, words, None, MAX_BINS)


def _refused(test: Callable[[], object]) -> dict[str, str]:
    """What a check refuses, beside the word that it is about."""
    try:
        test()
    except (ValueError, TypeError, OverflowError) as error:
        return {place_of(error, _BY_WORD): str(error)}
    return {}


def meaning(name: str, words: Any) -> str:
    """What a column's words come to, in one line; the words must not be refused."""
    if isinstance(words, Mapping) and "kind" in words:
        return "learned within a budget; every fit that uses the file pays for it"
    if not isinstance(words, Mapping) or (words.get("sdtype") is None and implied_sdtype(words) is None):
        return "to be filled in"
    if declares_type_only(name, words):
        if words["sdtype"] in MODELLED_SDTYPES:
            return "its values are not declared: they are learned within the budget of a fit"
        return "invented anew, not modelled"
    if partial_declaration_of(name, words, {}) is not None:
        return "its values are learned within the budget of a fit, and keep to what is declared"
    attribute = declare(name, words, None, MAX_BINS)
    missing = ", and missing" if attribute.nullable else ""
    if is_wide(attribute) and words.get("bins") is None:
        return f"a wide range: its bins are learned inside it{missing}"
    count = attribute.cardinality - attribute.nullable
    return f"{count:,} {'values' if attribute.lower == attribute.upper else 'values and bins'}{missing}"


def without_field(words: Words) -> dict[str, Any]:
    """Words that the form does not show; they stay as they are."""
    return {word: value for word, value in words.items() if word not in _BY_WORD and value is not None}
