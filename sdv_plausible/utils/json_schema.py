"""A value of a JSON document, read by its form: a JSON Schema, which is published as it stands.

Of JSON Schema this reads the words that our documents are stated in, so that what a schema says and what the
program does are one. No library does it: msgspec is faster and makes the schema from types, but its errors
quote the value, which may be a cell; jsonschema checks and does not read, and would come with every install.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

Form = Mapping[str, Any]
Shared = Mapping[str, tuple[Form, Callable[[Any], Any]]]
"""Forms by name, as a schema's ``$defs``, each with what makes a Python value of what has it."""
LARGEST = float(np.finfo(float).max)


class JsonSchemaError(ValueError):
    """A value has not its form: where in it, and what the form says there; the value is not quoted."""

    def __init__(self, place: str, rule: str, *, beyond: bool = False) -> None:
        super().__init__(f"{place.lstrip('.')} {rule}".strip())
        self.place, self.rule, self.beyond = place, rule, beyond  # what a schema can say


def ref(name: str) -> Form:
    """A shared form."""
    return {"$ref": f"#/$defs/{name}"}


def list_of(items: Form, **more: Any) -> Form:
    """A list of what has a form."""
    return {"type": "array", "items": items, **more}


def object_of(properties: Mapping[str, Form], optional: Collection[str] = (), **more: Any) -> Form:
    """An object of these entries and no others, all but the optional ones of which it must have."""
    required = sorted(set(properties) - set(optional))
    return {
        "type": "object", "properties": properties, "required": required, "additionalProperties": False,
        **more,
    }  # fmt: skip


def or_null(form: Form) -> Form:
    """A form that may be null."""
    if "enum" in form:
        return {**form, "enum": [*form["enum"], None]}
    if isinstance(form.get("type"), str):
        return {**form, "type": [form["type"], "null"]}
    if not form:
        return form
    rest = {key: value for key, value in form.items() if key not in ("anyOf", "$ref")}
    inner = form.get("anyOf") or [{"$ref": form["$ref"]}]
    return {**rest, "anyOf": [*inner, {"type": "null"}]}


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number, as JSON Schema has it: 2.0 is one."""
    return is_number(value) and (isinstance(value, int) or value.is_integer())


def is_number(value: Any) -> bool:
    """Whether a value is a finite number, and no truth value."""
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return plain and (isinstance(value, int) or math.isfinite(value))


_TYPES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "null": ("null", lambda v: v is None),
    "boolean": ("true or false", lambda v: isinstance(v, bool)),
    "integer": ("a whole number", is_whole),
    "number": ("a finite number", is_number),
    "string": ("text", lambda v: isinstance(v, str)),
    "array": ("a list", lambda v: isinstance(v, list)),
    "object": ("an object", lambda v: isinstance(v, dict)),
}


def read(form: Form, value: Any, shared: Shared, place: str = "") -> Any:
    """The Python value of a JSON value: itself, but for whole numbers and what shared forms make."""
    if "$ref" in form:
        inner, made = shared[form["$ref"].rpartition("/")[2]]
        found = read(inner, value, shared, place)
        try:
            return made(found)
        except ValueError as error:
            raise JsonSchemaError(place, str(error), beyond=True) from None
    if "anyOf" in form:
        return _any(form["anyOf"], value, shared, place)
    if "enum" in form:
        if not any(value is known or (isinstance(value, str) and value == known) for known in form["enum"]):
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


def _any(forms: list[Form], value: Any, shared: Shared, place: str) -> Any:
    refused = []
    for form in forms:
        try:
            return read(form, value, shared, place)
        except JsonSchemaError as error:
            refused.append(error)
    deepest = max(refused, key=lambda error: (error.beyond, len(error.place)))
    if deepest.beyond or len(deepest.place) > len(place):
        raise deepest
    rules = dict.fromkeys(error.rule.removeprefix("must be ") for error in refused)
    raise JsonSchemaError(place, f"must be {' or '.join(rules)}")


def _check_text(form: Form, value: str, place: str) -> None:
    least, most = form.get("minLength", 0), form.get("maxLength", math.inf)
    if not least <= len(value) <= most:
        raise JsonSchemaError(
            place, f"must be a text of {f'{least} to' if least else 'at most'} {most} letters"
        )
    pattern = form.get("pattern")
    if pattern is not None and not re.search(re.sub(r"\$$", r"\\Z", pattern), value):
        raise JsonSchemaError(place, f"must be a text of the form {pattern}")


def _items(form: Form, value: list[Any], shared: Shared, place: str) -> list[Any]:
    first, inner = form.get("prefixItems", []), form.get("items", {})
    most = form.get("maxItems", len(first) if inner is False else math.inf)
    least = form.get("minItems", 0)
    if not least <= len(value) <= most:
        raise JsonSchemaError(place, f"must have {least} to {most} items")
    if form.get("uniqueItems") and len(set(map(_identity, value))) < len(value):
        raise JsonSchemaError(place, "must be distinct")
    forms = [*first, *[inner] * (len(value) - len(first))]
    return [read(forms[i], item, shared, f"{place}[{i}]") for i, item in enumerate(value)]


def _identity(value: Any) -> Any:
    """What equal values of JSON have in common: 1 and 1.0 are equal, 1 and true are not."""
    if isinstance(value, (dict, list)):
        return json.dumps(value, sort_keys=True, default=str)
    return isinstance(value, bool), value


def _entries(form: Form, value: dict[str, Any], shared: Shared, place: str) -> dict[str, Any]:
    known, others = form.get("properties", {}), form.get("additionalProperties", {})
    if len(value) < form.get("minProperties", 0):
        raise JsonSchemaError(place, f"must have at least {form['minProperties']} entries")
    if missing := [name for name in form.get("required", ()) if name not in value]:
        names = list(form["required"])
        raise JsonSchemaError(place, f"must have {' and '.join(names)}: no {missing[0]!r}")
    if others is False and (unknown := sorted(map(str, set(value) - set(known)))):
        raise JsonSchemaError(
            place, f"must have no other entries than {', '.join(known)}: unknown {unknown!r:.80}"
        )
    return {
        name: read(known.get(name, others), inner, shared, f"{place}.{str(name)[:40]}")
        for name, inner in value.items()
    }
