"""The published JSON schema of the domain file, made from the words there are.

``python -m sdv_plausible.declaring.schema > docs/reference/declarations.schema.json`` writes it anew.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, get_args

from sdv_plausible.table.domain import MOST_DIGITS, Attribute, Kind
from sdv_plausible.table.domain_file import SCHEMA
from sdv_plausible.table.words import LONGEST_PATTERN, MODELLED_SDTYPES

_FIELDS = [field.name for field in fields(Attribute) if field.name != "name"]
_VALUE = {"type": ["string", "number", "boolean"]}
_END = {"type": ["number", "string"]}
WORDS: dict[str, tuple[str, dict[str, Any]]] = {
    "sdtype": (
        f"What the column is: {', '.join(MODELLED_SDTYPES)} are modelled; id and personal data, such as name "
        "or email, are invented. null is to be filled in.",
        {"type": "string", "examples": [*MODELLED_SDTYPES, "id", "name", "email"]},
    ),
    "datetime_format": ("strftime format of dates, such as %Y-%m-%d.", {"type": "string", "pattern": "%"}),
    "regex_format": (
        "Pattern of invented ids; a million repeats are refused.",
        {"type": "string", "maxLength": LONGEST_PATTERN},
    ),
    "pii": ("Whether the column holds personal data.", {"type": "boolean"}),
    "range_min": ("Smallest value: a number, or a date as text in the column's format.", _END),
    "range_max": ("Largest value.", _END),
    "range_values": ("All values of a category.", {"type": "array", "items": _VALUE}),
    "range_is_nullable": ("Whether missing is a value; left out: learned, or allowed.", {"type": "boolean"}),
    "decimal_places": (
        "Digits after the point; left out: learned.",
        {"type": "integer", "minimum": 0, "maximum": MOST_DIGITS},
    ),
    "bins": (
        "A number of equal bins, or increasing edges; left out: learned within the range.",
        {"type": ["integer", "array"], "minimum": 1, "minItems": 2, "items": {"type": "number"}},
    ),
    "special_values": (
        "Values with a meaning of their own, which stay single, also beside the range.",
        {"type": "array", "items": {"type": ["number", "string"]}, "uniqueItems": True},
    ),
    "rounding": (
        "Steps that people round to, each a multiple of the one before, such as 5, 15, 60; left out: 5, 10, "
        "50 and so on.",
        {"type": "array", "items": {"type": "integer", "minimum": 2}, "minItems": 1},
    ),
    "resolution": (
        "Distance of two values: a number, such as 0.25; of dates D, h, min, s or a part of a day, such as "
        "15min.",
        {"type": ["number", "string"], "exclusiveMinimum": 0, "pattern": "^([1-9][0-9]*)?(D|h|min|s)$"},
    ),
    "parts": (
        "Dates with a time of day: split, into date and time of day, or whole.",
        {"enum": ["split", "whole"]},
    ),
    "buckets": (
        "Bucket of every code when the column is a parent in the network.",
        {"type": "array", "items": {"type": "integer", "minimum": 0}},
    ),
    "groups": (
        "Values of a category that are like one another: group names and their values, or how many first "
        "letters of a value name its group.",
        {
            "type": ["object", "integer"], "minimum": 1,
            "additionalProperties": {"type": "array", "items": _VALUE},
        },
    ),
    "source": (
        "The public source that the declaration was taken from: the address of a code book, a law.",
        {"type": "string", "minLength": 1},
    ),
    "detected": ("Read off the rows by a program: no claim is made with it.", {"type": "boolean"}),
    "provenance": ("Where the words come from; 'edited' makes no claim.", {"enum": ["declared", "edited"]}),
    **dict.fromkeys(
        ("high_cardinality", "computer_representation", "order", "order_by"),
        ("A word of SDV's metadata without meaning here.", {}),
    ),
}  # fmt: skip
"""What each word of a column means, and its form."""


def schema_document() -> dict[str, Any]:
    """JSON schema (2020-12) of the domain file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://sdv-plausible/declarations/1",
        "title": "Domain file of sdv-plausible, format 1",
        "description": "What is declared of the columns of a table, without looking at its rows.",
        "type": "object",
        "required": ["schema", "columns"],
        "additionalProperties": False,
        "properties": {
            "$schema": {"type": "string", "description": "Where this schema is, for editors."},
            "schema": {"const": SCHEMA},
            "detected": {
                "type": "boolean", "description": "All of it was read off the rows: it declares nothing.",
            },
            "columns": {
                "type": "object",
                "propertyNames": {"minLength": 1},
                "additionalProperties": {
                    "if": {"required": ["kind"]},
                    "then": {"$ref": "#/$defs/attribute"},
                    "else": {"$ref": "#/$defs/column"},
                },
                "description": "Column name: its declaration.",
            },
            "looked": {
                "type": "object",
                "additionalProperties": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
                "description": "Written by the program when a column is compared with the rows: SHA-256 of "
                "its words. Leave it as it is.",
            },
            "looked_rules": {
                "type": "array",
                "items": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
                "description": "Written by the program when rows that break a rule are counted: SHA-256 of "
                "every rule. Leave it as it is.",
            },
            "rules_source": {
                "type": "string",
                "minLength": 1,
                "description": "The public text that the rules are from, if they were changed after that.",
            },
            "learned": {
                "type": "object",
                "required": ["ledger", "charge"],
                "description": "Written by the program when columns were learned privately: what that cost. "
                "Leave it as it is.",
            },
        },
        "$defs": {
            "attribute": {
                "type": "object",
                "description": "A value set as it was learned: bins and all.",
                "additionalProperties": False,
                "properties": {name: {} for name in _FIELDS} | {"kind": {"enum": list(get_args(Kind))}},
            },
            "column": {
                "type": "object",
                "additionalProperties": False,
                "properties": {word: _property(*WORDS[word]) for word in WORDS},
            }
        },
    }  # fmt: skip


def _property(meaning: str, form: dict[str, Any]) -> dict[str, Any]:
    """A word may be null, which says nothing."""
    if "enum" in form:
        return {"description": meaning, "enum": [*form["enum"], None]}
    if "type" not in form:
        return {"description": meaning, **form}
    types = [form["type"]] if isinstance(form["type"], str) else form["type"]
    return {"description": meaning, **form, "type": [*types, "null"]}


def schema_text() -> str:
    """The schema as it is published."""
    return json.dumps(schema_document(), indent=1) + "\n"


if __name__ == "__main__":
    print(schema_text(), end="")
