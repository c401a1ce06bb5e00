"""Column types from declarations and metadata alone; reading a file depends on nothing else."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.table.columns.cell_reader import ColumnType
from sdv_plausible.table.columns.column_document import TYPE_WORDS, type_words
from sdv_plausible.table.columns.domain import Attribute
from sdv_plausible.table.declared.declarations import explicit_domain_file, uses_metadata_values
from sdv_plausible.table.declared.domain_file import read_json
from sdv_plausible.table.declared.specifications import (
    MODELLED_SDTYPES,
    check_agreement,
    check_keys,
    check_names,
    check_spec,
    declared_attribute,
    gets_placeholders,
    implied_sdtype,
    partial_declaration_of,
    sdtype_of,
)

DECLARED_TYPES = "_stated_types"
"""Attribute of metadata made from declarations: the original type keys of its columns. Not saved to files."""
_RELEASED = (
    "columns", "primary_key", "alternate_keys", "column_relationships", "METADATA_SPEC_VERSION",
)  # fmt: skip  # keys of a table's metadata


def column_types(
    domain: Any = None, metadata: Any = None, person: str | None = None
) -> dict[str, ColumnType]:
    """Types of all columns in a domain or metadata, and of the ``person`` column."""
    # ``domain`` as for the synthesizer, or types by column name. From metadata, only semantic types and date
    # formats are used, unless ``domain="written"``.
    metadata_specs: Mapping[str, Mapping[str, Any]] = metadata_columns(metadata)
    file = explicit_domain_file(domain)
    declared = metadata_specs if uses_metadata_values(domain) else {} if file is None else file.declarations()
    names = dict.fromkeys([*metadata_specs, *declared, *([] if person is None else [person])])
    if person is not None:
        metadata_specs = {**metadata_specs, person: person_spec(person, metadata_specs.get(person), declared)}
    return {name: _column_type(name, declared.get(name, {}), metadata_specs.get(name, {})) for name in names}


def types_of_unknown_origin(metadata: Any, domain: Any = None, person: str | None = None) -> tuple[str, ...]:
    """Columns whose type, date format, id pattern or role as a key comes from metadata only."""
    # SDV's metadata does not record its origin, so it may have been detected in the rows. Columns of
    # ``metadata_of`` come from declarations, unless they were changed since.
    table, columns = _table_and_columns(metadata)
    if not columns or uses_metadata_values(domain):
        return ()
    file, original_types = explicit_domain_file(domain), getattr(metadata, DECLARED_TYPES, None)
    declared = {} if file is None else file.declarations()
    undeclared = {
        name
        for name, column_type in column_types(domain, metadata, person).items()
        if name in columns
        and (original_types or {}).get(name) != type_words(columns[name])
        and _without_defaults(column_type)
        != _without_defaults(_declared_type(name, declared.get(name), declared, person))
    }
    keys = _key_columns(table) if original_types is None else set()
    return tuple(name for name in columns if name in undeclared | keys)


def _declared_type(
    name: str, spec: Any, declared: Mapping[str, Any], person: str | None
) -> ColumnType | None:
    """Type of a column from declarations alone, or None."""
    metadata_spec = person_spec(name, None, declared) if name == person else {}
    try:
        return None if spec is None and not metadata_spec else _column_type(name, spec or {}, metadata_spec)
    except ValueError:  # such as dates whose format is in the metadata only
        return None


def _without_defaults(column_type: ColumnType | None) -> dict[str, Any] | None:
    """Keys of a type, without ``pii: true``, which is the default."""
    return (
        None
        if column_type is None
        else {key: value for key, value in column_type.words.items() if value is not True}
    )


def _key_columns(table: Mapping[Any, Any]) -> set[str]:
    """Columns that are keys or part of a column relationship in a table's metadata."""
    keys = [table.get("primary_key"), *(table.get("alternate_keys") or ())]
    keys += [relationship.get("column_names") for relationship in table.get("column_relationships") or ()]
    return {name for key in keys for name in ([key] if isinstance(key, str) else key or ())}


def person_spec(
    person: str, metadata_spec: Mapping[str, Any] | None, declared: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Declaration of the person column: an id, which is never modelled."""
    # A modelled type in metadata may have been detected and is ignored; a declared one is an error.
    declaration = declared.get(person, {})
    has_values = not isinstance(declaration, Mapping) or "kind" in declaration
    if has_values or (declaration.get("sdtype") or implied_sdtype(declaration)) in MODELLED_SDTYPES:
        rule = "identifies persons, so it is an id and never modelled, but it is declared as modelled"
        raise Refused("person", person, rule, 'declare it as "sdtype": "id", or remove the declaration')
    return metadata_spec if metadata_spec and gets_placeholders(metadata_spec) else {"sdtype": "id"}


def metadata_columns(metadata: Any) -> dict[str, dict[str, Any]]:
    """Columns of a single table's metadata, including detected values; empty if there is no metadata."""
    _, columns = _table_and_columns(metadata)
    check_names(columns, "metadata")
    for name, spec in columns.items():
        check_spec(name, {"regex_format": spec.get("regex_format")})
    return {name: dict(spec) for name, spec in columns.items()}


def check_released(metadata: Any) -> None:
    """Reject table-level metadata that a release cannot express, such as a sequence key."""
    table, _ = _table_and_columns(metadata)
    if unsupported := sorted(str(key) for key, value in table.items() if value and key not in _RELEASED):
        raise ValueError(
            f"metadata: {', '.join(unsupported)} cannot be released: remove it. Name the column that "
            "identifies persons in person="
        )


def _table_and_columns(metadata: Any) -> tuple[Mapping[Any, Any], Mapping[Any, Any]]:
    """A table's document and its columns, each empty if absent."""
    document: Any = metadata.to_dict() if hasattr(metadata, "to_dict") else metadata
    if isinstance(metadata, (str, os.PathLike)):
        document = read_json(Path(metadata), "metadata", "or SDV Metadata")
    if document is None:
        return {}, {}
    if not isinstance(document, Mapping):
        rule = "must be SDV Metadata with one table, or its document"
        raise Refused("metadata", type(document), rule, "metadata_of(domain) creates it from declarations")
    tables = document.get("tables")
    if isinstance(tables, Mapping) and "sdtype" not in tables:
        document = next(iter(tables.values()), {})
    columns = document.get("columns") if isinstance(document, Mapping) else None
    is_table = isinstance(columns, Mapping) and "sdtype" not in columns
    table, columns = (document, columns) if is_table else ({}, document)
    if not isinstance(columns, Mapping) or not all(isinstance(spec, Mapping) for spec in columns.values()):
        raise ValueError(
            "metadata: its columns must be a mapping from names to specifications such as {'sdtype': 'id'}"
        )
    return table, columns


def _column_type(name: str, declared: Any, metadata_spec: Mapping[str, Any]) -> ColumnType:
    if isinstance(declared, ColumnType):
        return declared
    date_format = metadata_spec.get("datetime_format")
    if not isinstance(declared, (Attribute, Mapping)):
        raise Refused.saying(
            "domain",
            f"domain of column {name!r} ({type(declared).__name__}) must be a mapping such as "
            f"{{'range_min': 0, 'range_max': 99}}",
        )
    check_agreement(name, declared, metadata_spec)
    if isinstance(declared, Attribute):
        return ColumnType(
            name=name,
            sdtype=sdtype_of(declared),
            datetime_format=declared.datetime_format or date_format,
            values=declared.values,
            number_format=declared.number_format,
        )
    if declared is not metadata_spec:
        check_keys(name, declared)
    spec = {"datetime_format": date_format, **declared}
    spec["sdtype"] = declared.get("sdtype") or metadata_spec.get("sdtype") or implied_sdtype(declared)
    check_spec(name, spec)
    if spec["sdtype"] is None:
        raise ValueError(
            f"column {name!r}: its type is unknown; give its sdtype, such as 'numerical', 'categorical' or "
            "'id'"
        )
    attribute = declared_attribute(name, spec)
    partial = None if attribute else partial_declaration_of(name, spec)
    values = attribute.values if attribute else partial.texts if partial else ()
    declaration: dict[str, Any] = {
        key: spec.get(key, metadata_spec.get(key)) for key in (*TYPE_WORDS, "number_format")
    }
    return ColumnType(name=name, values=values, **declaration)


SDTYPES = {
    "ip": "ipv4_address", "ssn": "ssn", "iban": "iban", "email": "email", "mail": "email",
    "phone": "phone_number", "telephone": "phone_number", "fax": "phone_number", "surname": "last_name",
    "forename": "first_name", "firstname": "first_name", "lastname": "last_name", "fullname": "name",
    "username": "user_name", "name": "name", "address": "address", "street": "street_address",
}  # fmt: skip
"""Words that indicate personal data, and the sdtype of its placeholder values."""
NEUTRAL_WORDS = frozenset((
    "e", "first", "last", "full", "given", "family", "middle", "maiden", "user", "customer", "client",
    "patient", "person", "student", "employee", "member", "contact", "home", "work", "office", "private",
    "mobile", "cell", "number", "no", "line", "postal", "mailing", "billing", "shipping", "delivery",
))  # fmt: skip
"""Other words allowed in such a name; any other word (product_name) means no personal data."""
_WORD = re.compile("[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def personal_sdtype(name: str) -> str | None:
    """The sdtype of placeholder values for a column of this name; None if it indicates no personal data."""
    words = [word.casefold() for word in _WORD.findall(name)]
    if not {*words} <= {*SDTYPES, *NEUTRAL_WORDS}:
        return None
    return next((sdtype for word, sdtype in SDTYPES.items() if word in words), None)
