"""The words of a column's declaration, checked: by themselves, by the sdtype, and against the metadata."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.privacy.parameter_checks import Refused, suggestion
from sdv_plausible.table.cells.canonical_forms import LONGEST_NAME, is_text
from sdv_plausible.table.cells.cell_documents import write_value
from sdv_plausible.table.columns import column_document
from sdv_plausible.table.columns.column_document import SHARED, WORDS, words_about
from sdv_plausible.table.columns.domain import Attribute
from sdv_plausible.utils.file_names import broken_rule, colliding
from sdv_plausible.utils.json_schema import JsonSchemaError, read

CATEGORIES, MODELLED_SDTYPES = column_document.CATEGORIES, column_document.MODELLED_SDTYPES
VALUE_WORDS = words_about("values")
FORM_WORDS = words_about("form")
"""Words that say how the values lie in time, or on a grid; they may stand without a range."""
ORIGIN_WORDS = words_about("origin")
"""Words that say where a declaration is from."""
_QUOTED = 200  # letters of what is refused


def check_names(names: Iterable[Any], what: str) -> None:
    """Refuse column names that are not text, or empty."""
    for place, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise ValueError(
                f"{what}: the name of column {place} ({name!r:.60}) must be text: write {str(name)!r:.60}"
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


def check_table_name(name: Any, field: str = "table_name") -> None:
    """Refuse a table name that cannot be a file name: a path, a device, or nothing that files can hold."""
    if not is_text(name, LONGEST_NAME) or not name:
        wanted = f"must be a text of 1 to {LONGEST_NAME:,} whole letters"
        raise Refused(field, name, wanted, "try 'table'")
    if rule := broken_rule(name):
        raise Refused.saying(
            field, f"{field}: the table name {name!r:.40} becomes a file name, and {rule}: rename the table"
        )


def check_table_names(names: Collection[Any], field: str) -> None:
    """Refuse table names that cannot be file names of one folder."""
    for name in names:
        check_table_name(name, field)
    if pair := colliding(names):
        raise Refused.saying(
            field,
            f"{field}: the table names {pair[0]!r:.40} and {pair[1]!r:.40} become one file name on some "
            "systems: rename one of the tables",
        )


def check_keys(name: str, spec: Mapping[Any, Any]) -> None:
    """Refuse words in a declaration that mean nothing."""
    known = words_about("type", "values", "form", "origin")
    for key in spec:
        if key not in WORDS:
            hint = suggestion(str(key), known) or f"; known are {', '.join(known)}"
            raise Refused.saying("domain", f"domain of column {name!r}: the key {key!r} means nothing{hint}")


def check_words(name: str, spec: Mapping[str, Any]) -> None:
    """Refuse a declaration whose words hold what they cannot mean."""
    read_words(name, spec)


def read_words(name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """The words of a declaration that say something, as plain Python values; keys that are no words stay."""
    found = {
        key: _read(name, key, value) for key, value in spec.items() if value is not None or key not in WORDS
    }
    sdtype = found.get("sdtype", "")
    for key in [key for key in found if key in WORDS and sdtype]:
        if not WORDS[key].goes_with(sdtype):
            raise Refused.saying(
                key,
                f"column {name!r}: {key} does not go with sdtype {sdtype!r}; leave it out, or change the "
                "sdtype",
            )
        if key in found and not WORDS[key].holds_of.get(sdtype, lambda _: True)(found[key]):
            raise Refused.saying(
                key, f"column {name!r}: {key} ({_quoted(spec[key])}) must be {WORDS[key].rule}"
            )
        if sdtype in WORDS[key].narrower:
            form, rule = WORDS[key].narrower[sdtype]
            try:
                read(form, plain(spec[key]), SHARED)
            except JsonSchemaError:
                sentence = f"column {name!r}: {key} ({_quoted(spec[key])}) {rule}"
                raise Refused.saying(key, sentence) from None
    return found


def _read(name: str, key: str, value: Any) -> Any:
    if key not in WORDS or WORDS[key].about == "nothing":
        return value
    word, inside = WORDS[key], ""
    try:
        found = read(word.form, plain(value), SHARED)
        if word.holds(found):
            return found
    except ValueError as error:
        is_rule = isinstance(error, JsonSchemaError) and not error.place and not error.beyond
        inside = "" if is_rule else f"; {error}"
    raise Refused.saying(key, f"column {name!r}: {key} ({_quoted(value)}) must be {word.rule}{inside}")


def _quoted(value: Any) -> str:
    """What stands there, cut short; of what could be a table its type alone, as an error holds no cell."""
    named = isinstance(value, (str, bool, int, float, list, tuple, dict, dt.date, type(None)))
    text = repr(value) if named else type(value).__name__
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}..."


def plain(value: Any) -> Any:
    """A word as a document has it. Inside lists missing is null."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple, range, np.ndarray, pd.Index, pd.Series)):
        return [None if _is_missing(inner) else plain(inner) for inner in value]
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    return write_value(value)


def _is_missing(value: Any) -> bool:
    return not isinstance(value, str) and pd.api.types.is_scalar(value) and bool(pd.isna(value))


def check_agreement(name: str, spec: Mapping[str, Any] | Attribute, known: Mapping[str, Any]) -> None:
    """Refuse a declaration that contradicts the metadata on what a column is."""
    # Numbers with texts beside them may be categorical in the metadata.
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
            raise Refused.saying(
                key,
                f"column {name!r}: the domain says {key} {mine!r}, the metadata {theirs!r}; say the same in "
                "both, or leave it out of the domain",
            )


def _is_mixed(spec: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
    """Whether numbers with texts beside them are declared, which detected metadata calls categorical."""
    texts = any(isinstance(value, str) for value in spec.get("special_values") or ())
    return texts and spec.get("sdtype") == "numerical" and known.get("sdtype") == "categorical"


def is_invented(spec: Mapping[str, Any], is_key: bool = False) -> bool:
    """Whether a column is not modelled: a key, an id or personal data."""
    sdtype = spec.get("sdtype")
    return is_key or sdtype in ("id", "unknown") or (sdtype not in MODELLED_SDTYPES and spec.get("pii", True))


def sdtype_of(attribute: Attribute) -> str:
    """SDV's semantic type of an attribute."""
    if set(map(type, attribute.values)) == {bool}:
        return "boolean"
    return {"integer": "numerical", "float": "numerical"}.get(attribute.kind, attribute.kind)


def _kind(word: str) -> str:
    return "categorical" if word in CATEGORIES else word
