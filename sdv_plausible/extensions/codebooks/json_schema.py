"""JSON Schema of a table's records: type, enum, const, minimum, maximum, multipleOf, format."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from sdv_plausible.table.declared.codebook import (
    Codebook,
    CodebookReader,
    Message,
    categories,
    number,
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
        document = document["items"]  # a table is an array of records
    properties = document.get("properties") if isinstance(document, dict) else None
    if not isinstance(properties, dict) or not properties:
        raise ValueError(f"{path} is no JSON schema of records: it must have 'properties'")
    required = document.get("required") or []
    if not isinstance(required, list):
        raise ValueError(f"{path}: 'required' ({required!r:.60}) must be a list of names")
    columns: dict[str, dict[str, Any]] = {}
    messages: list[Message] = []
    for name, given in properties.items():
        if not isinstance(given, dict):
            raise ValueError(f"{path}: the property {name!r} ({given!r:.60}) must be an object")
        columns[name], said = _column(name, given, name in required)
        messages += said
    return Codebook(columns=columns, messages=tuple(messages))


def _column(name: str, given: dict[str, Any], is_required: bool) -> tuple[dict[str, Any], list[Message]]:
    strange = sorted(set(given) - _READ - _WORDS_FOR_PEOPLE)
    messages: list[Message] = [(name, f"not understood: {', '.join(strange)}")] if strange else []
    stated = given.get("type") or []
    types = [stated] if isinstance(stated, str) else stated
    if not isinstance(types, list):
        raise ValueError(f"column {name!r}: type ({types!r:.60}) must be a text or a list, such as 'integer'")
    values = [given["const"]] if "const" in given else given.get("enum")
    kinds = [kind for kind in types if kind != "null"]
    if values is not None and (not isinstance(values, list) or not all(map(_is_value, values))):
        raise ValueError(f"column {name!r}: enum ({values!r:.60}) must be a list of texts or numbers")
    if values is not None:
        words = categories(value for value in values if value is not None)
    elif kinds in (["integer"], ["number"]):
        words, said = _numbers(name, given, kinds[0])
        messages += said
    elif kinds == ["boolean"]:
        words = {"sdtype": "boolean", "range_values": [False, True]}
    elif kinds == ["string"] and given.get("format") in ("date", "date-time"):
        is_day = given["format"] == "date"
        words = {"sdtype": "datetime", **({"datetime_format": "%Y-%m-%d"} if is_day else {})}
        wanted = "range_min and range_max" + ("" if is_day else ", and its datetime_format")
        messages.append((name, f"no range of dates is told: give {wanted}, or it is learned"))
    else:
        return {"sdtype": None}, [*messages, (name, "no values are listed")]
    may_miss = "null" in types or (values is not None and None in values)
    return {**words, "range_is_nullable": may_miss or not is_required}, messages


def _numbers(name: str, given: dict[str, Any], kind: str) -> tuple[dict[str, Any], list[Message]]:
    ends: dict[str, float] = {}
    for word, end, step in (("range_min", "inimum", 1), ("range_max", "aximum", -1)):
        side = "m" + end
        if side in given:
            ends[word] = _number(name, side, given[side])
        strict = "exclusiveM" + end
        if strict in given:
            bound = _number(name, strict, given[strict])
            if kind == "integer":
                bound = math.floor(bound) + 1 if step > 0 else math.ceil(bound) - 1
            ends[word] = bound if word not in ends else (max if step > 0 else min)(bound, ends[word])
    if len(ends) == 2 and ends["range_min"] > ends["range_max"]:
        raise ValueError(f"column {name!r}: no number is between {ends['range_min']} and {ends['range_max']}")
    messages: list[Message] = (
        [] if len(ends) == 2 else [(name, "no range is told: give both its ends, or it is learned")]
    )
    words: dict[str, Any] = {"sdtype": "numerical", **ends}
    if kind == "integer":
        words["decimal_places"] = 0
    elif "multipleOf" in given:
        digits = -math.log10(_number(name, "multipleOf", given["multipleOf"]) or math.inf)
        if math.isfinite(digits) and 0 <= round(digits) <= 15 and abs(digits - round(digits)) < 1e-9:
            words["decimal_places"] = round(digits)
        else:
            messages.append((name, f"multipleOf {given['multipleOf']!r} is not said"))
    return words, messages


def _number(name: str, key: str, value: Any) -> float:
    found = number(value) if not isinstance(value, str) else None
    if found is None or (key == "multipleOf" and found <= 0):
        raise ValueError(f"column {name!r}: {key} ({value!r:.60}) must be a number")
    return found


def _is_value(value: Any) -> bool:
    return isinstance(value, (str, int, float, bool, type(None)))


def looks_like(document: Any) -> bool:
    """Whether a JSON document has this form."""
    if not isinstance(document, dict) or "properties" not in document:
        return False
    return not all(isinstance(one, dict) and "description" in one for one in document.values())  # NIST's form


READER = CodebookReader(read_json_schema, endings=(".json",), recognizes=looks_like)
