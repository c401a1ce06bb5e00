"""Check the keys of a column's declaration: their values, the sdtype, and agreement with the metadata."""

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
from sdv_plausible.utils.file_names import find_collision, violated_rule
from sdv_plausible.utils.json_schema import JsonSchemaError, parse_with_schema

CATEGORIES, MODELLED_SDTYPES = column_document.CATEGORIES, column_document.MODELLED_SDTYPES
VALUE_WORDS = words_about("values")
FORM_WORDS = words_about("form")
"""Keys for the precision or format of values; valid without a range."""
ORIGIN_WORDS = words_about("origin")
"""Keys for the origin of a declaration."""
_QUOTED = 200  # longest quotation of an invalid value, in characters


def check_names(names: Iterable[Any], what: str) -> None:
    """Reject column names that are empty or not text."""
    for position, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise ValueError(
                f"{what}: the name of column {position} ({name!r:.60}) must be text: write {str(name)!r:.60}"
            )
        if not name.strip():
            raise ValueError(
                f"{what}: the name of column {position} ({name!r}) must not be empty: give the column a name"
            )
        if not is_text(name, LONGEST_NAME):
            raise ValueError(
                f"{what}: the name of column {position} ({name!r:.60}) must have at most {LONGEST_NAME:,} "
                "letters, none of them half a character (a lone surrogate): rename the column"
            )


def check_table_name(name: Any, field: str = "table_name") -> None:
    """Reject a table name that cannot be a file name."""
    if not is_text(name, LONGEST_NAME) or not name:
        wanted = f"must be a text of 1 to {LONGEST_NAME:,} whole letters"
        raise Refused(field, name, wanted, "try 'table'")
    if rule := violated_rule(name):
        raise Refused.saying(
            field, f"{field}: the table name {name!r:.40} becomes a file name, and {rule}: rename the table"
        )


def check_table_names(names: Collection[Any], field: str) -> None:
    """Reject table names that cannot be file names in one directory."""
    for name in names:
        check_table_name(name, field)
    if pair := find_collision(names):
        raise Refused.saying(
            field,
            f"{field}: the table names {pair[0]!r:.40} and {pair[1]!r:.40} become one file name on some "
            "systems: rename one of the tables",
        )


def check_keys(name: str, spec: Mapping[Any, Any]) -> None:
    """Reject unknown keys in a declaration."""
    valid_keys = words_about("type", "values", "form", "origin")
    for key in spec:
        if key not in WORDS:
            hint = suggestion(str(key), valid_keys) or f"; known are {', '.join(valid_keys)}"
            raise Refused.saying("domain", f"domain of column {name!r}: the key {key!r} means nothing{hint}")


def check_spec(name: str, spec: Mapping[str, Any]) -> None:
    """Reject a declaration with invalid values."""
    read_spec(name, spec)


def read_spec(name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """A declaration without nulls, its values as plain Python objects. Unknown keys stay."""
    declaration = {
        key: _read(name, key, value) for key, value in spec.items() if value is not None or key not in WORDS
    }
    sdtype = declaration.get("sdtype", "")
    for key in [key for key in declaration if key in WORDS and sdtype]:
        if not WORDS[key].applies_to(sdtype):
            raise Refused.saying(
                key,
                f"column {name!r}: {key} does not go with sdtype {sdtype!r}; leave it out, or change the "
                "sdtype",
            )
        if key in declaration and not WORDS[key].holds_for.get(sdtype, lambda _: True)(declaration[key]):
            raise Refused.saying(
                key, f"column {name!r}: {key} ({_quoted(spec[key])}) must be {WORDS[key].rule}"
            )
        if sdtype in WORDS[key].narrower:
            schema, rule = WORDS[key].narrower[sdtype]
            try:
                parse_with_schema(schema, plain(spec[key]), SHARED)
            except JsonSchemaError:
                sentence = f"column {name!r}: {key} ({_quoted(spec[key])}) {rule}"
                raise Refused.saying(key, sentence) from None
    return declaration


def _read(name: str, key: str, value: Any) -> Any:
    if key not in WORDS or WORDS[key].about == "nothing":
        return value
    word, detail = WORDS[key], ""
    try:
        converted = parse_with_schema(word.form, plain(value), SHARED)
        if word.holds(converted):
            return converted
    except ValueError as error:
        is_rule = isinstance(error, JsonSchemaError) and not error.place and not error.beyond
        detail = "" if is_rule else f"; {error}"
    raise Refused.saying(key, f"column {name!r}: {key} ({_quoted(value)}) must be {word.rule}{detail}")


def _quoted(value: Any) -> str:
    """A value's repr, shortened; only the type of other objects, which may hold cells of a table."""
    has_repr = isinstance(value, (str, bool, int, float, list, tuple, dict, dt.date, type(None)))
    text = repr(value) if has_repr else type(value).__name__
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}..."


def plain(value: Any) -> Any:
    """A value as in a JSON document; missing values inside lists become None."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple, range, np.ndarray, pd.Index, pd.Series)):
        return [None if _is_missing(item) else plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return write_value(value)


def _is_missing(value: Any) -> bool:
    return not isinstance(value, str) and pd.api.types.is_scalar(value) and bool(pd.isna(value))


def check_agreement(name: str, spec: Mapping[str, Any] | Attribute, metadata_spec: Mapping[str, Any]) -> None:
    """Reject a declaration that contradicts the metadata on type or date format."""
    # Numbers with text codes may be categorical in the metadata.
    if isinstance(spec, Attribute):
        spec = {
            "sdtype": sdtype_of(spec),
            "datetime_format": spec.datetime_format,
            "special_values": spec.texts,
        }
    metadata_spec = (
        {**metadata_spec, "sdtype": "numerical"} if _is_mixed(spec, metadata_spec) else metadata_spec
    )
    for key in ("sdtype", "datetime_format"):
        declared, in_metadata = spec.get(key), metadata_spec.get(key)
        if declared is not None and in_metadata is not None and _kind(declared) != _kind(in_metadata):
            raise Refused.saying(
                key,
                f"column {name!r}: the domain says {key} {declared!r}, the metadata {in_metadata!r}; say the "
                "same in both, or leave it out of the domain",
            )


def _is_mixed(spec: Mapping[str, Any], metadata_spec: Mapping[str, Any]) -> bool:
    """Whether numbers with text codes are declared, which detection calls categorical."""
    has_texts = any(isinstance(value, str) for value in spec.get("special_values") or ())
    return has_texts and spec.get("sdtype") == "numerical" and metadata_spec.get("sdtype") == "categorical"


def gets_placeholders(spec: Mapping[str, Any], is_key: bool = False) -> bool:
    """Whether a column gets placeholder values instead of a model: keys, ids and personal data."""
    sdtype = spec.get("sdtype")
    return is_key or sdtype in ("id", "unknown") or (sdtype not in MODELLED_SDTYPES and spec.get("pii", True))


def sdtype_of(attribute: Attribute) -> str:
    """SDV's semantic type of an attribute."""
    if set(map(type, attribute.values)) == {bool}:
        return "boolean"
    return {"integer": "numerical", "float": "numerical"}.get(attribute.kind, attribute.kind)


def _kind(key: str) -> str:
    return "categorical" if key in CATEGORIES else key
