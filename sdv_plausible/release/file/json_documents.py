"""JSON of release files: strict, canonical, and limited in size before it is parsed."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from types import NoneType
from typing import Any, Protocol, TypeVar

import numpy as np

from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.utils.entry_points import extension_names
from sdv_plausible.utils.file_paths import open_regular_file
from sdv_plausible.utils.json_schema import strict_json

INTEGER_TYPES = ("uint8", "int16", "int32", "int64")
DTYPES = (*INTEGER_TYPES, "float64")
MAX_DIMENSIONS, MAX_CELLS = 8, 2**31


def encode(array: np.ndarray, *, readable: bool = False) -> dict[str, Any]:
    """JSON form of an array of finite numbers."""
    array = np.asarray(array)
    if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise ValueError(
            "an array of a release must contain finite numbers: store probabilities, not their logarithms"
        )
    array = array.astype(_smallest_dtype(array))
    if readable:
        content: dict[str, Any] = {"values": array.tolist()}
    else:
        raw = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes()
        content = {"data": base64.b64encode(raw).decode("ascii")}
    return {"dtype": array.dtype.name, "shape": list(array.shape), **content}


def decode(document: Any) -> np.ndarray:
    """Array of a JSON form, as int64 or float64."""
    if not isinstance(document, dict) or set(document) not in (
        {"dtype", "shape", "data"},
        {"dtype", "shape", "values"},
    ):
        raise ValueError("an array must have dtype, shape, and data or values")
    dtype, shape = document["dtype"], document["shape"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ValueError(f"an array's dtype must be one of {', '.join(DTYPES)}")
    dimensions = shape if isinstance(shape, list) and len(shape) <= MAX_DIMENSIONS else [-1]
    if not all(type(side) is int and 0 <= side < 2**31 for side in dimensions):
        raise ValueError(
            f"an array's shape must be a list of at most {MAX_DIMENSIONS} whole numbers of at least 0"
        )
    if math.prod(max(side, 1) for side in dimensions) > MAX_CELLS:
        raise ValueError(f"an array's shape must leave it at most {MAX_CELLS:,} numbers, empty sides as 1")
    size = math.prod(dimensions)
    little_endian = np.dtype(dtype).newbyteorder("<")
    flat = (
        _from_bytes(document["data"], little_endian, size)
        if "data" in document
        else _from_lists(document["values"], dimensions, little_endian)
    )
    array = flat.reshape(dimensions).astype(np.float64 if dtype == "float64" else np.int64)
    if not np.isfinite(array).all():
        raise ValueError("an array holds a number that is not finite")
    if dtype != "float64" and _smallest_dtype(array) != dtype:
        raise ValueError(f"an array of these whole numbers must have the dtype {_smallest_dtype(array)}")
    return array


def _smallest_dtype(array: np.ndarray) -> str:
    """Name of the smallest dtype of an array."""
    if array.dtype.kind == "f":
        return "float64"
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    for name in INTEGER_TYPES:
        if np.iinfo(name).min <= low and high <= np.iinfo(name).max:
            return name
    raise ValueError("an array holds a whole number of at least 2**63")


def _from_bytes(text: Any, dtype: np.dtype[Any], size: int) -> np.ndarray:
    num_bytes = size * dtype.itemsize
    if not isinstance(text, str) or len(text) != 4 * -(-num_bytes // 3):  # before decoding
        raise ValueError(f"an array's data must be the base64 text of {num_bytes} bytes")
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("an array's data must be base64") from None
    if len(raw) != num_bytes or base64.b64encode(raw).decode("ascii") != text:
        raise ValueError(f"an array's data must be the base64 text of {num_bytes} bytes")
    return np.frombuffer(raw, dtype=dtype)


def _from_lists(values: Any, sides: list[int], dtype: np.dtype[Any]) -> np.ndarray:
    """Flat array of nested lists, which must match the shape and the dtype."""
    level = [values]
    for side in sides:
        if not all(isinstance(item, list) and len(item) == side for item in level):
            raise ValueError(f"an array's values must be nested lists of the shape {tuple(sides)}")
        level = [inner for item in level for inner in item]
    if dtype.kind == "f":
        is_valid = all(type(number) is float for number in level)
    else:
        limits = np.iinfo(dtype)
        is_valid = all(type(number) is int and limits.min <= number <= limits.max for number in level)
    if not is_valid:
        raise ValueError(f"an array's values must be numbers of dtype {dtype.name}")
    return np.array(level, dtype=dtype)


FORMAT = "sdv-plausible-release/1"
MULTI_TABLE_FORMAT = "sdv-plausible-families/1"  # format of related tables
MAX_BYTES = 128 * 2**20
MAX_ITEMS = 4_000_000  # commas, brackets and braces, each about 100 bytes of memory when parsed
WIDTH = 140  # longest line of the readable form
_PLAIN: dict[str, Any] = {"ensure_ascii": False, "allow_nan": False}


def write(document: Any, *, readable: bool = False) -> bytes:
    """UTF-8 text of a document that may contain arrays, in canonical or readable form."""
    # Readable: nested lists, line breaks, keys in order. Canonical: base64, no white space, sorted keys.
    plain = map_arrays(document, lambda array: encode(array, readable=readable))
    try:
        text = (
            _pretty(plain) if readable else json.dumps(plain, separators=(",", ":"), sort_keys=True, **_PLAIN)
        )
        return (text + "\n").encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(
            "a name or a value contains a lone surrogate (half a Unicode character): clean the text first"
        ) from None


def map_arrays(value: Any, write_array: Callable[[np.ndarray], Any]) -> Any:
    """The document with every array replaced by ``write_array(array)``."""
    if isinstance(value, np.ndarray):
        return write_array(value)
    if isinstance(value, dict):
        return {name: map_arrays(inner, write_array) for name, inner in value.items()}
    return [map_arrays(inner, write_array) for inner in value] if isinstance(value, (list, tuple)) else value


def _pretty(value: Any, indent: str = "") -> str:
    """Text of a plain document, with line breaks only where a line would be too long."""
    flat = json.dumps(value, **_PLAIN)
    if len(flat) + len(indent) <= WIDTH or not isinstance(value, (dict, list)):
        return flat
    deeper = indent + " "
    if isinstance(value, list):
        if not any(isinstance(inner, (dict, list)) for inner in value):
            return flat  # numbers stay on one line
        return "[\n" + ",\n".join(deeper + _pretty(inner, deeper) for inner in value) + f"\n{indent}]"
    entries = (
        f"{deeper}{json.dumps(name, **_PLAIN)}: {_pretty(inner, deeper)}" for name, inner in value.items()
    )
    return "{\n" + ",\n".join(entries) + f"\n{indent}}}"


def read(data: bytes, max_bytes: int = MAX_BYTES) -> Any:
    """Parse strict JSON of a limited size."""
    if len(data) > max_bytes:
        raise ValueError(
            f"the file has more than {max_bytes:,} bytes: raise max_bytes if that size is correct"
        )
    if sum(data.count(sign) for sign in (b",", b"[", b"{")) > MAX_ITEMS * max(1, max_bytes // MAX_BYTES):
        raise ValueError("the file has too many parts to be a release")
    try:
        text = data.decode("utf-8")
        return strict_json(text)
    except UnicodeDecodeError as error:
        raise ValueError(f"the file is not UTF-8 text (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"the file is not JSON (line {error.lineno}, column {error.colno})") from None


def kind_of_release(path: str | Path) -> str | None:
    """Kind of a release file that an extension reads, by its first bytes; None for one table."""
    with open_regular_file(path) as file:
        match = re.match(rb'\s*\{\s*"format"\s*:\s*"sdv-plausible-([a-z]+)/', file.read(200))
    kind = "" if match is None else match[1].decode()
    return kind if kind in extension_names("release") else None


def check_digest_type(digest: Any) -> None:
    """Check the type of ``expect_sha256``."""
    if not isinstance(digest, (str, NoneType)):
        raise Refused("expect_sha256", digest, "must be the text of a digest, or None", "ask its publisher")


class _HasDigest(Protocol):
    @property
    def digest(self) -> str: ...


Loaded = TypeVar("Loaded", bound=_HasDigest)


def load_file(
    path: str | Path, read: Callable[[bytes], Loaded], what: str, expect_sha256: str | None, max_bytes: int
) -> Loaded:
    """Read a file with ``read``, and compare its digest; an error names the file and ``what`` it is not."""
    check_digest_type(expect_sha256)
    with open_regular_file(path) as file:
        data = file.read(max_bytes + 1)
    try:
        release = read(data)
    except ValueError as error:
        raise ValueError(f"{str(path)!r} is not {what}, or is damaged: {error}") from None
    if expect_sha256 is not None and str(expect_sha256).lower() not in (
        release.digest,
        hashlib.sha256(data).hexdigest(),
    ):
        raise ValueError(
            f"{str(path)!r} is not the expected release: its sha256 is {release.digest}, and expect_sha256 "
            f"is {expect_sha256!r:.99}. Request the file or the digest again"
        )
    return release
