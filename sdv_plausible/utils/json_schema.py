"""Validation and conversion of JSON values by a JSON Schema, which is published as is.

Only the keywords used by this package's documents are supported, so that the published schemas and the
program agree. No library fits: msgspec is faster and derives schemas from types, but its errors quote the
value, which may be a cell; jsonschema validates without converting and would be a dependency of every
install.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

Schema = Mapping[str, Any]
SharedSchemas = Mapping[str, tuple[Schema, Callable[[Any], Any]]]
"""Shared schemas by name (``$defs``), each with a function that converts a valid value to Python."""
MAX_FLOAT = float(np.finfo(float).max)


class JsonSchemaError(ValueError):
    """A value violates its schema: the place and the rule; the value is never quoted."""

    def __init__(self, place: str, rule: str, *, beyond: bool = False) -> None:
        super().__init__(f"{place.lstrip('.')} {rule}".strip())
        # ``beyond``: whether the rule is not expressible as a schema.
        self.place, self.rule, self.beyond = (place, rule, beyond)


def schema_ref(name: str) -> Schema:
    """Return a reference to a shared schema."""
    return {"$ref": f"#/$defs/{name}"}


def array_schema(items: Schema, **more: Any) -> Schema:
    """Return the schema of a list whose items have a schema."""
    return {"type": "array", "items": items, **more}


def object_schema(properties: Mapping[str, Schema], optional: Collection[str] = (), **more: Any) -> Schema:
    """Return the schema of an object with exactly these entries, required unless optional."""
    required = sorted(set(properties) - set(optional))
    return {
        "type": "object", "properties": properties, "required": required, "additionalProperties": False,
        **more,
    }  # fmt: skip


def nullable(form: Schema) -> Schema:
    """Return a schema that also allows null."""
    if "enum" in form:
        return {**form, "enum": [*form["enum"], None]}
    if isinstance(form.get("type"), str):
        return {**form, "type": [form["type"], "null"]}
    if not form:
        return form
    other_keywords = {key: value for key, value in form.items() if key not in ("anyOf", "$ref")}
    alternatives = form.get("anyOf") or [{"$ref": form["$ref"]}]
    return {**other_keywords, "anyOf": [*alternatives, {"type": "null"}]}


def is_whole(value: Any) -> bool:
    """Return whether a value is an integer in the sense of JSON Schema: 2.0 is one."""
    return is_number(value) and (isinstance(value, int) or value.is_integer())


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number and not a bool."""
    is_numeric = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_numeric and (isinstance(value, int) or math.isfinite(value))


_TYPES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "null": ("null", lambda v: v is None),
    "boolean": ("true or false", lambda v: isinstance(v, bool)),
    "integer": ("a whole number", is_whole),
    "number": ("a finite number", is_number),
    "string": ("text", lambda v: isinstance(v, str)),
    "array": ("a list", lambda v: isinstance(v, list)),
    "object": ("an object", lambda v: isinstance(v, dict)),
}


def parse_with_schema(form: Schema, value: Any, shared: SharedSchemas, place: str = "") -> Any:
    """Validate a JSON value and convert it: integers, and whatever shared schemas define."""
    if "$ref" in form:
        inner, convert = shared[form["$ref"].rpartition("/")[2]]
        plain = parse_with_schema(inner, value, shared, place)
        try:
            return convert(plain)
        except ValueError as error:
            raise JsonSchemaError(place, str(error), beyond=True) from None
    if "anyOf" in form:
        return _any(form["anyOf"], value, shared, place)
    if "enum" in form:
        if not any(
            value is allowed or (isinstance(value, str) and value == allowed) for allowed in form["enum"]
        ):
            raise JsonSchemaError(place, f"must be one of {', '.join(map(str, form['enum']))}")
        return value
    types = form.get("type", ())
    types = (types,) if isinstance(types, str) else types
    if types and not any(_TYPES[kind][1](value) for kind in types):
        raise JsonSchemaError(place, f"must be {' or '.join(_TYPES[kind][0] for kind in types)}")
    if isinstance(value, str):
        _check_text(form, value, place)
    elif isinstance(value, list):
        return _items(form, value, shared, place)
    elif isinstance(value, dict):
        return _entries(form, value, shared, place)
    elif is_number(value):
        if not form.get("minimum", -math.inf) <= value <= form.get("maximum", math.inf):
            low, high = form.get("minimum", "any"), form.get("maximum", "any")
            raise JsonSchemaError(place, f"must be a number from {low} to {high}")
        if "exclusiveMinimum" in form and value <= form["exclusiveMinimum"]:
            raise JsonSchemaError(place, f"must be above {form['exclusiveMinimum']}")
        return int(value) if "integer" in types and "number" not in types else value
    return value


def _any(forms: list[Schema], value: Any, shared: SharedSchemas, place: str) -> Any:
    """Read a value by the first alternative that fits; otherwise raise the most specific error."""
    errors = []
    for form in forms:
        try:
            return parse_with_schema(form, value, shared, place)
        except JsonSchemaError as error:
            errors.append(error)
    deepest = max(errors, key=lambda error: (error.beyond, len(error.place)))
    if deepest.beyond or len(deepest.place) > len(place):
        raise deepest
    rules = dict.fromkeys(error.rule.removeprefix("must be ") for error in errors)
    raise JsonSchemaError(place, f"must be {' or '.join(rules)}")


def _check_text(form: Schema, value: str, place: str) -> None:
    """Check length and pattern of a text."""
    least, most = form.get("minLength", 0), form.get("maxLength", math.inf)
    if not least <= len(value) <= most:
        raise JsonSchemaError(
            place, f"must be a text of {f'{least} to' if least else 'at most'} {most} letters"
        )
    pattern = form.get("pattern")
    if pattern is not None and not re.search(re.sub(r"\$$", r"\\Z", pattern), value):
        raise JsonSchemaError(place, f"must be a text of the form {pattern}")


def _items(form: Schema, value: list[Any], shared: SharedSchemas, place: str) -> list[Any]:
    """Read the items of a list."""
    prefix, item_form = form.get("prefixItems", []), form.get("items", {})
    max_items = form.get("maxItems", len(prefix) if item_form is False else math.inf)
    min_items = form.get("minItems", 0)
    if not min_items <= len(value) <= max_items:
        raise JsonSchemaError(place, f"must have {min_items} to {max_items} items")
    if form.get("uniqueItems") and len(set(map(_identity, value))) < len(value):
        raise JsonSchemaError(place, "must be distinct")
    forms = [*prefix, *[item_form] * (len(value) - len(prefix))]
    return [parse_with_schema(forms[i], item, shared, f"{place}[{i}]") for i, item in enumerate(value)]


def _identity(value: Any) -> Any:
    """Return a key for JSON equality: 1 equals 1.0, but 1 does not equal true."""
    if isinstance(value, (dict, list)):
        return json.dumps(value, sort_keys=True, default=str)
    return isinstance(value, bool), value


def _entries(form: Schema, value: dict[str, Any], shared: SharedSchemas, place: str) -> dict[str, Any]:
    """Read the entries of an object."""
    known, others = form.get("properties", {}), form.get("additionalProperties", {})
    if len(value) < form.get("minProperties", 0):
        raise JsonSchemaError(place, f"must have at least {form['minProperties']} entries")
    if missing := [name for name in form.get("required", ()) if name not in value]:
        names = list(form["required"])
        raise JsonSchemaError(place, f"must have {' and '.join(names)}: {missing[0]!r} is missing")
    if others is False and (unknown := sorted(map(str, set(value) - set(known)))):
        raise JsonSchemaError(
            place, f"must have no other entries than {', '.join(known)}: unknown {unknown!r:.80}"
        )
    return {
        name: parse_with_schema(known.get(name, others), inner, shared, f"{place}.{str(name)[:40]}")
        for name, inner in value.items()
    }


def strict_json(text: str) -> Any:
    """Parse a document whose objects have unique names and whose numbers are finite."""
    # Raises ValueError if the text is not JSON, or has duplicate names or non-finite numbers. The message may
    # quote names, never values.
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        seen: set[str] = set()
        duplicate = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"it has the key {duplicate[:80]!r} twice")
    return document


def _no_constant(name: str) -> float:
    raise ValueError(f"it contains {name}, which is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("it contains a number outside the range of doubles")
    return number
