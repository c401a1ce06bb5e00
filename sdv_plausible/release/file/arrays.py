"""Arrays in a release file: dtype, shape, and base64 of little-endian bytes or, in a readable file, lists.

Equal arrays have equal forms. The dtype is always the smallest integer type that holds the values, or
float64.
"""

from __future__ import annotations

import base64
import binascii
import math
from typing import Any

import numpy as np

INTEGER_TYPES = ("uint8", "int16", "int32", "int64")
DTYPES = (*INTEGER_TYPES, "float64")
MAX_DIMENSIONS, MAX_CELLS = 8, 2**31


def encode(array: np.ndarray, *, readable: bool = False) -> dict[str, Any]:
    """JSON form of an array of finite numbers."""
    array = np.asarray(array)
    if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise ValueError(
            "an array of a release holds finite numbers: store probabilities, not their logarithms"
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
