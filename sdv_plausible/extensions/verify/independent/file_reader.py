"""Reader of a release file as specified in docs/reference/release_file.md."""

from __future__ import annotations

import base64
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from sdv_plausible.extensions.verify.independent.verdict import ContradictionError

_CONTROL_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # Unicode categories of control characters
_DEVICE = re.compile(r"(?:CON|PRN|AUX|NUL|(?:COM|LPT)[0-9]|CON(?:IN|OUT)\$)\s*(?:\.|$)")
MAX_NAME_BYTES = 240


def check_table_names(names: Iterable[str]) -> None:
    """Reject names that are paths or devices on some system, and two that are equal on one."""
    first_spelling = dict[str, str]()
    for name in names:
        if not _is_file_name(name):
            raise ContradictionError(
                f"the table name {name!r:.40} cannot be a file name, or leads to another folder"
            )
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
        if first_spelling.setdefault(folded, name) != name:
            raise ContradictionError(
                f"the table names {first_spelling[folded]!r:.40} and {name!r:.40} are one on some systems"
            )


def _is_file_name(name: str) -> bool:
    plain = unicodedata.normalize("NFKC", name)
    return (
        not {unicodedata.category(letter) for letter in {*name} - {*"\u200c\u200d"}} & _CONTROL_CATEGORIES
        and 0 < len(name.encode()) <= MAX_NAME_BYTES
        and not {*name, *plain} & {*'/\\:*?"<>|'}
        and not any(form[:1] in ("", " ", ".", "-", "~") or form[-1:] in (" ", ".") for form in (name, plain))
        and not name[0].isspace()
        and not name[-1].isspace()
        and _DEVICE.match(plain.upper()) is None
    )


MAX_BYTES = 128 * 2**20
MOST_LOSSES = 1_000  # in a ledger
MOST_USES, MOST_SQUARES = 2 * 10**6, 2e6  # uses of non-Gaussian losses, and sum of squares of Gaussian losses
MOST_KINDS = 40  # of non-Gaussian losses: each is composed on its own grid
MOST_SIGMAS = 3e6  # sum of sigma over kinds of Gaussian noise
LEAST_SIGMA = 200.0  # smallest sigma counted for a kind
LARGE_SIGMA = 20_000.0  # its cost has a closed form from here
EXACT = 2**53  # largest number of steps that a double represents exactly
INTEGER_RANGES = {"uint8": (0, 255)} | {f"int{n}": (-(2 ** (n - 1)), 2 ** (n - 1) - 1) for n in (16, 32, 64)}
LITTLE_ENDIAN = {"uint8": "<u1", "int16": "<i2", "int32": "<i4", "int64": "<i8", "float64": "<f8"}
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float),
    "boolean": (bool,), "null": (type(None),),
}  # fmt: skip


def read(data: bytes) -> Any:
    """Parse the document: UTF-8, unique names in objects, finite numbers."""
    if len(data) > MAX_BYTES:
        raise ContradictionError(f"the file has more than {MAX_BYTES:,} bytes")
    hooks: dict[str, Any] = {"object_pairs_hook": _entries, "parse_constant": _number}
    return json.loads(data.decode("utf-8"), parse_float=_number, **hooks)


def _entries(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ContradictionError("an object has two entries of one name")
    return entries


def _number(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ContradictionError("the file holds a number that is not finite")
    return value


def check_sizes(ledgers: Sequence[Any]) -> None:
    """Reject ledgers whose total would take minutes to compute; the package writes none."""
    losses_by_ledger = [
        [loss for entry in ledger["entries"] for loss in entry["losses"]] for ledger in ledgers
    ]
    if (longest := max(map(len, losses_by_ledger), default=0)) > MOST_LOSSES:
        raise ContradictionError(f"the ledger has {longest:,} losses, and {MOST_LOSSES:,} are the most")
    squares, uses, kinds, sigmas = 0.0, 0, 0, set[float]()
    for losses in losses_by_ledger:
        kinds += len({tuple(sorted({**loss, "count": 1}.items())) for loss in losses if _uses_grid(loss)})
        for loss in losses:
            if loss["type"] == "GaussianLoss":
                ratio = min(loss["sensitivity_over_sigma"], MOST_SQUARES)
                squares += ratio**2 * loss["count"]
                sigmas.add(1 / max(ratio, 1e-300))
            else:
                uses += loss.get("count", 1)
    if uses > MOST_USES or squares > MOST_SQUARES:
        raise ContradictionError(
            f"the losses have {uses:,} uses beside Gaussian ones, whose squares add up to {squares:,.6g}: "
            f"{MOST_USES:,} and {MOST_SQUARES:,.0f} are the most"
        )
    if kinds > MOST_KINDS:
        raise ContradictionError(
            f"the losses beside Gaussian ones are of {kinds:,} kinds, and {MOST_KINDS} are the most"
        )
    if math.fsum(max(s, LEAST_SIGMA) for s in sigmas if s <= LARGE_SIGMA) > MOST_SIGMAS:
        raise ContradictionError(
            f"the Gaussian losses are of {len(sigmas):,} kinds, whose total takes too long"
        )


def _uses_grid(loss: Any) -> bool:
    """Whether a loss is composed on a grid."""
    if loss["type"] in ("PureDP", "ApproxDP"):
        return bool(loss["epsilon"] > 0)
    return loss["type"] not in ("GaussianLoss", "ZCDP", "InfiniteLoss")


def is_array(value: Any) -> bool:
    """Whether a value is an array, in either form."""
    return isinstance(value, dict) and {"dtype", "shape"} < set(value) <= {"dtype", "shape", "data", "values"}


def array_of(value: Any) -> np.ndarray:
    """NumPy array of a value: base64 of little-endian bytes in row-major order, or nested lists."""
    try:
        dtype, shape = value["dtype"], [int(side) for side in value["shape"]]
        if "data" in value:
            raw = base64.b64decode(value["data"], validate=True)
            array = np.frombuffer(raw, dtype=LITTLE_ENDIAN[dtype]).reshape(shape)
        else:
            array = np.array(value["values"], dtype=LITTLE_ENDIAN[dtype]).reshape(shape)
    except (ValueError, TypeError, LookupError, OverflowError):
        raise ContradictionError("an array does not hold numbers of its dtype and shape") from None
    low, high = (array.min(), array.max()) if array.size else (0, 0)
    fitting = [name for name, (least, most) in INTEGER_RANGES.items() if least <= low and high <= most]
    if dtype not in ("float64", *fitting[:1]) or not np.isfinite(array).all():
        raise ContradictionError(
            f"an array of {dtype} must be of the shortest type that holds it, and finite"
        )
    return array.astype(np.float64 if dtype == "float64" else np.int64)


def map_arrays(value: Any, convert: Callable[[Any], Any] = array_of) -> Any:
    """The document with its arrays replaced by ``convert(array)``; by default NumPy arrays."""
    if is_array(value):
        return convert(value)
    if isinstance(value, dict):
        return {name: map_arrays(inner, convert) for name, inner in value.items()}
    return [map_arrays(inner, convert) for inner in value] if isinstance(value, list) else value


def decode_table(table: Any) -> Any:
    """A table's document with NumPy arrays; answers on a finer grid are scaled to counts."""
    document = map_arrays(table)
    for answer in document["answers"]["asked"]:
        steps = answer["values"]
        if "granularity" in answer and ((steps > EXACT) | (steps < -EXACT)).any():
            raise ContradictionError(
                "an answer has more than 2^53 steps of its granularity, which no double holds"
            )
        answer["values"] = answer["values"] * answer.get("granularity", 1)
    return document


def canonical(value: Any) -> bytes:
    """Canonical bytes for the digest: base64 arrays, sorted keys, no white space, a line feed."""
    compact, options = map_arrays(value, _as_base64), {"separators": (",", ":"), "allow_nan": False}
    return (json.dumps(compact, ensure_ascii=False, sort_keys=True, **options) + "\n").encode("utf-8")  # type: ignore[arg-type]


def _as_base64(value: Any) -> Any:
    data = base64.b64encode(array_of(value).astype(LITTLE_ENDIAN[value["dtype"]]).tobytes()).decode("ascii")
    return {"dtype": value["dtype"], "shape": value["shape"], "data": data}


def schema() -> Any:
    """The published JSON schema."""
    return json.loads((files("sdv_plausible") / "release/file/release.schema.json").read_text("utf-8"))


def schema_violations(value: Any, json_schema: Any, root: Any, path: str = "file") -> Iterator[str]:
    """Violations of a JSON Schema 2020-12, for the keywords that the published schema uses."""
    if "$ref" in json_schema:
        yield from schema_violations(value, root["$defs"][json_schema["$ref"].rsplit("/", 1)[-1]], root, path)
    for keyword, max_matches in (("anyOf", math.inf), ("oneOf", 1)):
        matches = sum(
            not any(schema_violations(value, option, root, path)) for option in json_schema.get(keyword, ())
        )
        if keyword in json_schema and not 1 <= matches <= max_matches:
            same_kind = [option for option in json_schema[keyword] if _is_named(value, option)]
            yield from schema_violations(value, same_kind[0], root, path) if len(same_kind) == 1 else ()
            yield f"{path} has none of its forms"
    if "not" in json_schema and not any(schema_violations(value, json_schema["not"], root, path)):
        yield f"{path} has a form that it must not have"
    if value != json_schema.get("const", value) or value not in json_schema.get("enum", [value]):
        yield f"{path} must be one of {json_schema.get('enum', [json_schema.get('const')])}"
    if not _has_type(value, json_schema.get("type")):
        yield f"{path} must be of type {json_schema['type']}"
    elif not _is_in_range(value, json_schema):
        yield f"{path} is out of its range, of its length, or of its pattern{_maximum_hint(json_schema)}"
    else:
        for inner, item, name in _children(value, json_schema):
            if inner is False:
                is_missing = isinstance(value, dict) and name[1:] not in value
                yield f"{path}{name[:40]} {'is lacking' if is_missing else 'is not known to the format'}"
            yield from schema_violations(item, inner or {}, root, f"{path}{name[:40]}")


def _is_named(value: Any, json_schema: Any) -> bool:
    """Whether a subschema is for an object's type: a ``const`` property that matches."""
    forms = json_schema.get("properties", {}) if isinstance(value, dict) else {}
    return any("const" in one and value.get(name) == one["const"] for name, one in forms.items())


def _maximum_hint(json_schema: Any) -> str:
    """The largest number that a schema allows, as text."""
    return f": {json_schema['maximum']:,} is the most" if "maximum" in json_schema else ""


def _children(value: Any, json_schema: Any) -> Iterator[tuple[Any, Any, str]]:
    """Subschemas of the items or properties of a value, with the values."""
    if isinstance(value, list):
        prefix = json_schema.get("prefixItems", [])
        subschemas = [*prefix[: len(value)], *[json_schema.get("items", {})] * (len(value) - len(prefix))]
        yield from zip(subschemas, value, (f"[{i}]" for i in range(len(value))), strict=True)
    elif isinstance(value, dict):
        known, default = json_schema.get("properties", {}), json_schema.get("additionalProperties", {})
        yield from ((known.get(name, default), item, f".{name}") for name, item in value.items())
        yield from (
            (False, None, f".{name}") for name in json_schema.get("required", ()) if name not in value
        )


def _has_type(value: Any, expected: Any) -> bool:
    names = [expected] if isinstance(expected, str) else expected
    if names is None or isinstance(value, bool):
        return names is None or "boolean" in names
    if isinstance(value, float) and value.is_integer() and "integer" in names:
        return True
    return any(isinstance(value, TYPES[name]) for name in names)


def _is_in_range(value: Any, json_schema: Any) -> bool:
    """Whether a number is in its range, and a text, list or object in its length limits."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        low, high = json_schema.get("minimum", -math.inf), json_schema.get("maximum", math.inf)
        return bool(low <= value <= high and value > json_schema.get("exclusiveMinimum", -math.inf))
    if not isinstance(value, (str, list, dict)):
        return True
    suffix = {str: "Length", list: "Items", dict: "Properties"}[type(value)]
    if not json_schema.get(f"min{suffix}", 0) <= len(value) <= json_schema.get(f"max{suffix}", math.inf):
        return False
    if isinstance(value, str):
        return re.search(json_schema.get("pattern", ""), value) is not None
    unique = isinstance(value, list) and json_schema.get("uniqueItems")
    return not unique or len({json.dumps(item, sort_keys=True) for item in value}) == len(value)
