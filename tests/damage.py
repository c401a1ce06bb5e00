"""Damage to a release file: of bytes, of its JSON, and of the numbers in its arrays."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from sdv_plausible.release.file.json_documents import decode, encode

JUNK: list[Any] = [
    None, True, False, 0, 1, -1, 2, 255, 2**31, 2**53, 2**63 - 1, 2**63, -(2**63), 10**40, 10**400, 0.5, -0.5, 1.0, 1e308, 5e-324,
    "", "x", "nan", "\x00", "é" * 2000, "2020-02-30", "../../etc/passwd", "%", "%10000000Y", "categorical", "float", "datetime",
    "Europe/Nowhere", "dateutil//etc/passwd", "a" * 2000, [], {}, [[]], [[[[]]]], {"": None}, [0], [1, 1], ["x", "x"],
    {"dtype": "float64", "shape": [1], "values": [1.0]}, {"dtype": "int64", "shape": [2**40], "data": ""},
    {"decimal": "1e9999999"}, {"date": "2020-13-01"}, {"moment": "1400-01-01T00:00:00", "time_zone": None},
]  # fmt: skip
PIECES = [
    b"NaN", b"-Infinity", b"1e999", b"{}", b"[", b"]", b'"', b"\\ud800", b"\xff", b"null", b"\x00", b",",
    b"9" * 5000, b"[",
]  # fmt: skip


def damage_bytes(data: bytes, rng: random.Random) -> bytes:
    """Change, drop, repeat or put in some bytes."""
    damaged = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        at = rng.randrange(len(damaged) or 1)
        length = rng.choice([1, 1, 2, 8, 100])
        kind = rng.randrange(6)
        if kind == 0 and damaged:
            damaged[at] = rng.randrange(256)
        elif kind == 1:
            del damaged[at : at + length]
        elif kind == 2:
            damaged[at:at] = damaged[at : at + length]
        elif kind == 3:
            damaged[at:at] = rng.choice(PIECES)
        elif kind == 4:
            damaged[at : at + length] = bytes(rng.randrange(32, 127) for _ in range(length))
        else:
            del damaged[at:]
    return bytes(damaged)


def damage_json(data: bytes, rng: random.Random) -> bytes:
    """Put something else in the place of a value, drop it, or repeat it."""
    document = json.loads(data)
    for _ in range(rng.choice([1, 1, 2])):
        if not document:
            break
        holder, key = _somewhere(document, rng)
        kind = rng.randrange(8)
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, list):
            holder.insert(rng.randrange(len(holder) + 1), copy.deepcopy(holder[key]))
        elif kind == 2 and isinstance(holder, dict):
            holder[rng.choice(["x", "type", "dtype", "é" * 500])] = holder[key]
        elif kind == 3:
            there, other = _somewhere(document, rng)
            holder[key] = copy.deepcopy(there[other])
        elif kind == 4 and isinstance(holder[key], (int, float)) and not isinstance(holder[key], bool):
            number = holder[key]
            less = number * 0.999 if abs(number) < 1e308 else number - 1  # 10**400 is no double
            holder[key] = rng.choice([-number, number + 1, number * 2, less])
        elif kind == 5 and isinstance(holder[key], str):
            kept = holder[key][: rng.randrange(len(holder[key]) + 1)]
            holder[key] = kept + rng.choice(["", "é", "=", "A", "\x00"])
        else:
            holder[key] = copy.deepcopy(rng.choice(JUNK))
    return json.dumps(document).encode()


def damage_arrays(data: bytes, rng: random.Random) -> bytes:
    """Change numbers, shape or type of arrays, and write them as they should be written."""
    document = json.loads(data)
    arrays = _arrays(document)
    for _ in range(rng.choice([1, 1, 3]) if arrays else 0):
        holder, key = rng.choice(arrays)
        array = decode(holder[key])
        flat = array.ravel().copy()
        kind = rng.randrange(6)
        if kind < 3 and flat.size:
            numbers = [-1, 0, 1, 2, 7, 1000, 2**31, 2**62, flat[0], flat[-1]]
            flat[rng.randrange(flat.size)] = rng.choice(numbers)
            array = flat.reshape(array.shape)
        elif kind == 3 and flat.size:
            array = array[: rng.randrange(len(array) + 1)]
        elif kind == 4:
            array = array.reshape(*array.shape[::-1])
        elif np.abs(array).max(initial=0) < 2**53:
            array = array.astype(rng.choice([np.float64, np.int64]))
        holder[key] = encode(array, readable=rng.random() < 0.5)
    return json.dumps(document).encode()


def damage_ledger(data: bytes, rng: random.Random) -> bytes:
    """Junk in what the guarantee rests on: a ledger, its entries, an entry's losses, the settings."""
    document = json.loads(data)
    ledger = document["ledger"]
    charged = [entry for entry in ledger["entries"] if entry["losses"]]
    places: list[tuple[Any, str]] = [(document, "ledger"), (ledger, "entries"), (document, "settings")]
    holder, key = rng.choice(places + [(entry, "losses") for entry in charged])
    holder[key] = json.loads(damage_json(json.dumps(holder[key]).encode(), rng))
    return json.dumps(document).encode()


Damage = Callable[[bytes, random.Random], bytes]
DAMAGES: list[Damage] = [damage_bytes, damage_json, damage_json, damage_arrays]


def damaged(files: list[bytes], rng: random.Random, kinds: list[Damage] = DAMAGES) -> bytes:
    """One of the files with one of the kinds of damage."""
    return rng.choice(kinds)(rng.choice(files), rng)


def _somewhere(document: dict[str, Any], rng: random.Random) -> tuple[Any, Any]:
    """A container and the place of a value in it; every section, and every depth, is as likely."""
    holder: Any = document
    while True:
        key = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        inner = holder[key]
        if not isinstance(inner, (dict, list)) or not inner or rng.random() < 0.15:
            return holder, key
        holder = inner


def _arrays(value: Any) -> list[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = []
    for key, inner in items:
        is_array = isinstance(inner, dict) and "dtype" in inner and "shape" in inner
        found += [(value, key)] if is_array else _arrays(inner)
    return found
