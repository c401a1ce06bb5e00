"""A release file as its published format says: strict JSON, arrays, the schema, the digest.

Written from docs/reference/release_file.md alone; nothing of the code that writes such files is used.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import numpy as np

MAX_BYTES = 128 * 2**20
WHOLE = {"uint8": (0, 2**8 - 1), "int16": (-(2**15), 2**15 - 1), "int32": (-(2**31), 2**31 - 1)}
WHOLE |= {"int64": (-(2**63), 2**63 - 1)}  # from the shortest
LITTLE = {"uint8": "<u1", "int16": "<i2", "int32": "<i4", "int64": "<i8", "float64": "<f8"}
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float),
    "boolean": (bool,), "null": (type(None),),
}  # fmt: skip


class FormatError(ValueError):
    """A file is not of the published format; the text says where and why, and quotes no value."""


def read(data: bytes) -> Any:
    """Document of a file: UTF-8, names of entries unique, numbers finite."""
    if len(data) > MAX_BYTES:
        raise FormatError(f"the file has more than {MAX_BYTES:,} bytes")
    try:
        return json.loads(
            data.decode("utf-8"), object_pairs_hook=_entries, parse_constant=_constant, parse_float=_number
        )
    except UnicodeDecodeError as error:
        raise FormatError(f"the file is not UTF-8 text (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise FormatError(f"the file is not JSON (line {error.lineno}, column {error.colno})") from None
    except RecursionError:
        raise FormatError("the file nests too deeply") from None


def _entries(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise FormatError("an object has two entries of one name")
    return found


def _constant(_: str) -> Any:
    raise FormatError("the file holds a constant that is not a number of JSON")


def _number(text: str) -> float:
    if not math.isfinite(found := float(text)):
        raise FormatError("the file holds a number that is not finite")
    return found


def is_array(value: Any) -> bool:
    """Whether a value is an array in either form."""
    return isinstance(value, dict) and {"dtype", "shape"} < set(value) <= {"dtype", "shape", "data", "values"}


def array_of(value: Any) -> np.ndarray:
    """Array of a value: little-endian bytes in base64, row by row, or nested lists."""
    dtype, shape = value["dtype"], [int(side) for side in value["shape"]]
    if "data" in value:
        try:
            raw = base64.b64decode(value["data"], validate=True)
        except (binascii.Error, ValueError, TypeError):
            raise FormatError("an array's data is not base64") from None
        if len(raw) != math.prod(shape) * np.dtype(LITTLE[dtype]).itemsize:
            raise FormatError("an array has not as many numbers as its shape says")
        found = np.frombuffer(raw, dtype=LITTLE[dtype]).reshape(shape)
    else:
        try:
            found = np.array(value["values"], dtype=LITTLE[dtype]).reshape(shape)
        except (ValueError, TypeError, OverflowError):
            raise FormatError("an array's values are not numbers of its dtype and shape") from None
    if dtype == "float64":
        if not np.isfinite(found).all():
            raise FormatError("an array holds a number that is not finite")
        return found.astype(np.float64)
    low, high = (int(found.min()), int(found.max())) if found.size else (0, 0)
    shortest = next(name for name, (least, most) in WHOLE.items() if least <= low and high <= most)
    if shortest != dtype:
        raise FormatError(f"an array of {dtype} must be of {shortest}, the shortest type that holds it")
    return found.astype(np.int64)


def with_arrays(value: Any) -> Any:
    """The document with numpy arrays in their places."""
    if is_array(value):
        return array_of(value)
    if isinstance(value, dict):
        return {name: with_arrays(inner) for name, inner in value.items()}
    return [with_arrays(inner) for inner in value] if isinstance(value, list) else value


def canonical(value: Any) -> bytes:
    """Bytes of which the digest is: arrays as base64, entries sorted, no white space, a line feed."""
    text = json.dumps(
        _as_base64(value), ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    )
    return (text + "\n").encode("utf-8")


def _as_base64(value: Any) -> Any:
    if is_array(value) and "values" in value:
        raw = array_of(value).astype(LITTLE[value["dtype"]]).tobytes()
        plain = {"dtype": value["dtype"], "shape": value["shape"]}
        return {**plain, "data": base64.b64encode(raw).decode("ascii")}
    if isinstance(value, dict):
        return {name: _as_base64(inner) for name, inner in value.items()}
    return [_as_base64(inner) for inner in value] if isinstance(value, list) else value


def schema() -> Any:
    """The published JSON schema."""
    return json.loads((files("sdv_plausible") / "release/file/release.schema.json").read_text("utf-8"))


def breaches(value: Any, form: Any, root: Any, place: str = "file") -> Iterator[str]:
    """Places where a value breaks a form of JSON Schema 2020-12, of the keywords that the schema uses."""
    if "$ref" in form:
        yield from breaches(value, root["$defs"][form["$ref"].rsplit("/", 1)[-1]], root, place)
    for keyword, least in (("anyOf", 1), ("oneOf", 1)):
        if keyword in form:
            fitting = sum(not any(breaches(value, one, root, place)) for one in form[keyword])
            if fitting < least or (keyword == "oneOf" and fitting > 1):
                yield f"{place} has none of its forms"
    if not _has_type(value, form.get("type")):
        yield f"{place} must be of type {form['type']}"
        return
    if "const" in form and value != form["const"]:
        yield f"{place} must be {form['const']!r}"
    if "enum" in form and value not in form["enum"]:
        yield f"{place} must be one of {form['enum']}"
    if isinstance(value, str):
        yield from _text(value, form, place)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        low, high = form.get("minimum", -math.inf), form.get("maximum", math.inf)
        if not low <= value <= high or value <= form.get("exclusiveMinimum", -math.inf):
            yield f"{place} is out of its range"
    elif isinstance(value, list):
        yield from _list(value, form, root, place)
    elif isinstance(value, dict):
        yield from _object(value, form, root, place)


def _has_type(value: Any, wanted: Any) -> bool:
    if wanted is None:
        return True
    names = [wanted] if isinstance(wanted, str) else wanted
    if isinstance(value, bool):
        return "boolean" in names
    return any(isinstance(value, TYPES[name]) for name in names) or (
        "integer" in names and isinstance(value, float) and value.is_integer()
    )


def _text(value: str, form: Any, place: str) -> Iterator[str]:
    if not form.get("minLength", 0) <= len(value) <= form.get("maxLength", math.inf):
        yield f"{place} is too short or too long"
    if "pattern" in form and not re.search(form["pattern"], value):
        yield f"{place} has not the form that it must have"


def _list(value: list[Any], form: Any, root: Any, place: str) -> Iterator[str]:
    if not form.get("minItems", 0) <= len(value) <= form.get("maxItems", math.inf):
        yield f"{place} has too few or too many items"
    if form.get("uniqueItems") and len({json.dumps(item, sort_keys=True) for item in value}) < len(value):
        yield f"{place} has an item twice"
    first = form.get("prefixItems", [])
    if form.get("items") is False and len(value) > len(first):
        yield f"{place} has too many items"
    for i, item in enumerate(value):
        inner = first[i] if i < len(first) else form.get("items") or {}
        if inner:
            yield from breaches(item, inner, root, f"{place}[{i}]")


def _object(value: dict[str, Any], form: Any, root: Any, place: str) -> Iterator[str]:
    known, others = form.get("properties", {}), form.get("additionalProperties", {})
    if lacking := [name for name in form.get("required", ()) if name not in value]:
        yield f"{place} lacks {', '.join(lacking)}"
    if not form.get("minProperties", 0) <= len(value) <= form.get("maxProperties", math.inf):
        yield f"{place} has too few or too many entries"
    for name, item in value.items():
        inner = known.get(name, others)
        if inner is False:
            yield f"{place} has an entry that the format does not know"
        elif inner:
            yield from breaches(item, inner, root, f"{place}.{name[:40]}")
