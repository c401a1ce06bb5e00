"""Read JSON Schemas of records: type, enum, const, minimum, maximum, multipleOf, format."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from sdv_plausible.table.declared.codebook import (
    Codebook,
    CodebookReader,
    Message,
    categorical_declaration,
    parse_number,
    read_document,
)

_READ = {
    "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
    "format",
}  # fmt: skip
_WORDS_FOR_PEOPLE = {"title", "description", "$comment", "examples", "default", "deprecated", "readOnly"}


def read_json_schema(path: Path) -> Codebook:
    """Read the properties of a record."""
    document = read_document(path)
    if isinstance(document, dict) and isinstance(document.get("items"), dict):
        document = document["items"]  # the schema of an array of records
    properties = document.get("properties") if isinstance(document, dict) else None
    if not isinstance(properties, dict) or not properties:
        raise ValueError(f"{path} is no JSON schema of records: it must have 'properties'")
    required = document.get("required") or []
    if not isinstance(required, list):
        raise ValueError(f"{path}: 'required' ({required!r:.60}) must be a list of names")
    columns: dict[str, dict[str, Any]] = {}
    messages: list[Message] = []
    for name, schema in properties.items():
        if not isinstance(schema, dict):
            raise ValueError(f"{path}: the property {name!r} ({schema!r:.60}) must be an object")
        columns[name], column_messages = _column(name, schema, name in required)
        messages += column_messages
    return Codebook(columns=columns, messages=tuple(messages))


def _column(name: str, schema: dict[str, Any], is_required: bool) -> tuple[dict[str, Any], list[Message]]:
    unknown = sorted(set(schema) - _READ - _WORDS_FOR_PEOPLE)
    messages: list[Message] = [(name, f"not understood: {', '.join(unknown)}")] if unknown else []
    declared_type = schema.get("type") or []
    types = [declared_type] if isinstance(declared_type, str) else declared_type
    if not isinstance(types, list):
        raise ValueError(f"column {name!r}: type ({types!r:.60}) must be a text or a list, such as 'integer'")
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    present_types = [kind for kind in types if kind != "null"]
    if values is not None and (not isinstance(values, list) or not all(map(_is_value, values))):
        raise ValueError(f"column {name!r}: enum ({values!r:.60}) must be a list of texts or numbers")
    if values is not None:
        declaration = categorical_declaration(value for value in values if value is not None)
    elif present_types in (["integer"], ["number"]):
        declaration, range_messages = _numbers(name, schema, present_types[0])
        messages += range_messages
    elif present_types == ["boolean"]:
        declaration = {"sdtype": "boolean", "range_values": [False, True]}
    elif present_types == ["string"] and schema.get("format") in ("date", "date-time"):
        is_day = schema["format"] == "date"
        declaration = {"sdtype": "datetime", **({"datetime_format": "%Y-%m-%d"} if is_day else {})}
        missing_keys = "range_min and range_max" + ("" if is_day else ", and its datetime_format")
        messages.append((name, f"no range of dates is told: give {missing_keys}, or it is learned"))
    else:
        return {"sdtype": None}, [*messages, (name, "no values are listed")]
    may_miss = "null" in types or (values is not None and None in values)
    return {**declaration, "range_is_nullable": may_miss or not is_required}, messages


def _numbers(name: str, schema: dict[str, Any], number_type: str) -> tuple[dict[str, Any], list[Message]]:
    ends: dict[str, float] = {}
    for key, suffix, sign in (("range_min", "inimum", 1), ("range_max", "aximum", -1)):
        side = "m" + suffix
        if side in schema:
            ends[key] = _number(name, side, schema[side])
        strict = "exclusiveM" + suffix
        if strict in schema:
            bound = _number(name, strict, schema[strict])
            if number_type == "integer":
                bound = math.floor(bound) + 1 if sign > 0 else math.ceil(bound) - 1
            ends[key] = bound if key not in ends else (max if sign > 0 else min)(bound, ends[key])
    if len(ends) == 2 and ends["range_min"] > ends["range_max"]:
        raise ValueError(f"column {name!r}: no number is between {ends['range_min']} and {ends['range_max']}")
    messages: list[Message] = (
        [] if len(ends) == 2 else [(name, "no range is told: give both its ends, or it is learned")]
    )
    declaration: dict[str, Any] = {"sdtype": "numerical", **ends}
    if number_type == "integer":
        declaration["decimal_places"] = 0
    elif "multipleOf" in schema:
        digits = -math.log10(_number(name, "multipleOf", schema["multipleOf"]) or math.inf)
        if math.isfinite(digits) and 0 <= round(digits) <= 15 and abs(digits - round(digits)) < 1e-9:
            declaration["decimal_places"] = round(digits)
        else:
            messages.append((name, f"multipleOf {schema['multipleOf']!r} is not said"))
    return declaration, messages


def _number(name: str, key: str, value: Any) -> float:
    parsed = parse_number(value) if not isinstance(value, str) else None
    if parsed is None or (key == "multipleOf" and parsed <= 0):
        raise ValueError(f"column {name!r}: {key} ({value!r:.60}) must be a number")
    return parsed


def _is_value(value: Any) -> bool:
    return isinstance(value, (str, int, float, bool, type(None)))


def looks_like(document: Any) -> bool:
    """Whether a document is a JSON Schema of records."""
    if not isinstance(document, dict) or "properties" not in document or "schema_type" in document:
        return False
    return not all(
        isinstance(entry, dict) and "description" in entry for entry in document.values()
    )  # the format of NIST


READER = CodebookReader(read_json_schema, endings=(".json",), recognizes=looks_like)
