"""Read Table Schemas of Frictionless Data, alone or in a Data Package or Resource with one table.

Source: Table Schema of Data Package 2.0 (datapackage.org/standard/table-schema), compatible with 1.0.
"""

from __future__ import annotations

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
from sdv_plausible.table.declared.specifications import check_names

_READ = {"required", "enum", "minimum", "maximum"}
_SPELLINGS = (
    "decimalChar",
    "groupChar",
    "bareNumber",
    "missingValues",
    "trueValues",
    "falseValues",
)  # of a field
_WORDLESS = {
    "pattern",
    "minLength",
    "maxLength",
    "jsonSchema",
}  # without effect on value sets, or only for ids
_DATES = {"date": "%Y-%m-%d", "datetime": "%Y-%m-%dT%H:%M:%SZ", "yearmonth": "%Y-%m", "time": "%H:%M:%S"}


def looks_like(document: Any) -> bool:
    """Whether a document contains a Table Schema."""
    is_pandera = isinstance(document, dict) and "schema_type" in document
    return not is_pandera and _schema(document) is not None


def read_table_schema(path: Path) -> Codebook:
    """Read the fields of a schema."""
    schema = _schema(read_document(path))
    fields = schema["fields"] if schema else None
    if not schema or not fields or not all(isinstance(f, dict) and "name" in f for f in fields):
        raise ValueError(
            f"{path} is no Table Schema: it must have 'fields', each with a 'name', or 'resources' with one "
            "table that has a 'schema'"
        )
    check_names([field["name"] for field in fields], str(path))
    columns: dict[str, dict[str, Any]] = {}
    messages: list[Message] = []
    try:
        missing = _values(schema.get("missingValues") or [""])
        keys = schema.get("primaryKey") or []
        keys = [keys] if isinstance(keys, str) else list(keys)
    except (TypeError, KeyError):
        raise ValueError(f"{path}: missingValues and primaryKey must be lists of texts") from None
    if set(missing) - {"", "NA", "NaN", "null"}:
        messages.append((None, f"missingValues {missing!r}: give them as na_values when the table is read"))
    for field in fields:
        name = field["name"]
        if name in columns:
            raise ValueError(f"{path}: {name!r} has two fields; leave one out")
        try:
            if _is_id(field, keys):
                columns[name] = {"sdtype": "id"}
                continue
            columns[name], column_messages = _column(name, field, missing)
        except (TypeError, KeyError, AttributeError):
            raise ValueError(
                f"{path}: field {name!r} has not the form that a Table Schema gives it"
            ) from None
        messages += column_messages
    return Codebook(columns=columns, messages=tuple(messages))


def _schema(document: Any) -> dict[str, Any] | None:
    """The schema in a schema document, a resource, or a package with one resource."""
    if isinstance(document, dict) and isinstance(document.get("resources"), list):
        document = document["resources"][0] if len(document["resources"]) == 1 else None
    if isinstance(document, dict) and isinstance(document.get("schema"), dict):
        document = document["schema"]
    is_schema = isinstance(document, dict) and isinstance(document.get("fields"), list)
    return document if is_schema else None


def _values(listed: Any) -> list[Any]:
    """Values of a list, with or without labels."""
    if not isinstance(listed, list):
        raise TypeError("no list")
    values = [item["value"] if isinstance(item, dict) else item for item in listed]
    return list(dict.fromkeys(values))  # raises TypeError for unhashable values


def _is_id(field: dict[str, Any], keys: list[str]) -> bool:
    """Whether a field is unique, the primary key, or a part of the key without declared values."""
    limits = field.get("constraints") or {}
    has_values = "categories" in field or bool({"enum", "minimum", "maximum"} & {*limits})
    return limits.get("unique") is True or (field["name"] in keys and (len(keys) == 1 or not has_values))


def _column(name: str, field: dict[str, Any], missing: list[Any]) -> tuple[dict[str, Any], list[Message]]:
    limits, kind = field.get("constraints") or {}, field.get("type", "string")
    values = limits.get("enum", field.get("categories"))
    if kind == "boolean" and {"trueValues", "falseValues"} <= {*field}:
        values = [*field["falseValues"], *field["trueValues"]]  # as written in the cells
    unknown = sorted(set(limits) - _READ - _WORDLESS)
    unknown += [word for word in _SPELLINGS if word in field and not (values and word.endswith("eValues"))]
    messages: list[Message] = [(name, f"not understood: {', '.join(unknown)}")] if unknown else []
    if values:
        listed = [value for value in _values(values) if value is not None and value not in missing]
        if kind in ("integer", "number", "year"):
            listed = [value if (parsed := parse_number(value)) is None else parsed for value in listed]
        declaration = categorical_declaration(listed)
        if field.get("categoriesOrdered") is True:
            declaration["sdtype"] = "ordinal"
    elif kind == "boolean":
        declaration = {"sdtype": "boolean", "range_values": [False, True]}
    elif kind in ("integer", "number", "year"):
        no_decimals = {} if kind == "number" else {"decimal_places": 0}
        declaration = {"sdtype": "numerical", **_ends(name, limits), **no_decimals}
    elif kind in _DATES:
        date_format = str(field.get("format", "default")).removeprefix("fmt:")
        date_format = {"default": _DATES[kind], "any": ""}.get(date_format, date_format)
        ends = {
            end: limits[key]
            for end, key in (("range_min", "minimum"), ("range_max", "maximum"))
            if key in limits
        }
        declaration = {
            "sdtype": "datetime",
            **({"datetime_format": date_format} if date_format else {}),
            **ends,
        }
        if len(ends) < 2:
            messages.append((name, "no range of dates is told: give both its ends, or it is learned"))
    else:
        return {"sdtype": None}, [*messages, (name, "no values are listed")]
    if declaration["sdtype"] == "numerical" and not {"range_min", "range_max"} <= {*declaration}:
        messages.append((name, "no range is told: give both its ends, or it is learned"))
    return {**declaration, "range_is_nullable": limits.get("required") is not True}, messages


def _ends(name: str, limits: dict[str, Any]) -> dict[str, float]:
    ends: dict[str, float] = {}
    for word, key in (("range_min", "minimum"), ("range_max", "maximum")):
        if key in limits:
            value = parse_number(limits[key])
            if value is None:
                raise ValueError(f"column {name!r}: {key} ({limits[key]!r:.60}) must be a number")
            ends[word] = value
    if len(ends) == 2 and ends["range_min"] > ends["range_max"]:
        raise ValueError(f"column {name!r}: no number is between {ends['range_min']} and {ends['range_max']}")
    return ends


READER = CodebookReader(read_table_schema, endings=(".json",), recognizes=looks_like)
