"""A release file as docs/reference/release_file.md says: strict JSON, arrays, the schema, the digest."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from sdv_plausible.extensions.verify.independent.verdict import ContradictionError

MAX_BYTES = 128 * 2**20
MOST_LOSSES = 1_000  # in a ledger
MOST_USES, MOST_SQUARES = 2 * 10**6, 2e6  # of losses that are not Gaussian, and of those that are
MOST_KINDS = 40  # of losses that are not Gaussian: each is composed on a grid of its own
MOST_SIGMAS = 3e6  # sum of sigma over kinds of Gaussian noise
LEAST_SIGMA = 200.0  # what each kind counts as at least
LARGE_SIGMA = 20_000.0  # from which on its cost has a closed form
EXACT = 2**53  # steps of a granularity, which doubles tell apart
WHOLE = {"uint8": (0, 255)} | {f"int{n}": (-(2 ** (n - 1)), 2 ** (n - 1) - 1) for n in (16, 32, 64)}
LITTLE = {"uint8": "<u1", "int16": "<i2", "int32": "<i4", "int64": "<i8", "float64": "<f8"}
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float),
    "boolean": (bool,), "null": (type(None),),
}  # fmt: skip


def read(data: bytes) -> Any:
    """Document of a file: UTF-8, names of entries unique, numbers finite."""
    if len(data) > MAX_BYTES:
        raise ContradictionError(f"the file has more than {MAX_BYTES:,} bytes")
    strict: dict[str, Any] = {"object_pairs_hook": _entries, "parse_constant": _number}
    return json.loads(data.decode("utf-8"), parse_float=_number, **strict)


def _entries(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ContradictionError("an object has two entries of one name")
    return found


def _number(text: str) -> float:
    if not math.isfinite(found := float(text)):
        raise ContradictionError("the file holds a number that is not finite")
    return found


def check_sizes(ledgers: Sequence[Any]) -> None:
    """Refuse ledgers whose total would take minutes to add up: the program writes none."""
    found = [[loss for entry in ledger["entries"] for loss in entry["losses"]] for ledger in ledgers]
    if (most := max(map(len, found), default=0)) > MOST_LOSSES:
        raise ContradictionError(f"the ledger has {most:,} losses, and {MOST_LOSSES:,} are the most")
    squares, uses, kinds, sigmas = 0.0, 0, 0, set[float]()
    for losses in found:
        kinds += len({tuple(sorted({**loss, "count": 1}.items())) for loss in losses if _has_a_grid(loss)})
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


def _has_a_grid(loss: Any) -> bool:
    """Whether a loss is composed on a grid: Gaussian noise, failures and rho are not, and no total is."""
    if loss["type"] in ("PureDP", "ApproxDP"):
        return bool(loss["epsilon"] > 0)
    return loss["type"] not in ("GaussianLoss", "ZCDP", "InfiniteLoss")


def is_array(value: Any) -> bool:
    """Whether a value is an array in either form."""
    return isinstance(value, dict) and {"dtype", "shape"} < set(value) <= {"dtype", "shape", "data", "values"}


def array_of(value: Any) -> np.ndarray:
    """Array of a value: little-endian bytes in base64, row by row, or nested lists."""
    try:
        dtype, shape = value["dtype"], [int(side) for side in value["shape"]]
        if "data" in value:
            raw = base64.b64decode(value["data"], validate=True)
            found = np.frombuffer(raw, dtype=LITTLE[dtype]).reshape(shape)
        else:
            found = np.array(value["values"], dtype=LITTLE[dtype]).reshape(shape)
    except (ValueError, TypeError, LookupError, OverflowError):
        raise ContradictionError("an array does not hold numbers of its dtype and shape") from None
    low, high = (found.min(), found.max()) if found.size else (0, 0)
    fitting = [name for name, (least, most) in WHOLE.items() if least <= low and high <= most]
    if dtype not in ("float64", *fitting[:1]) or not np.isfinite(found).all():
        raise ContradictionError(
            f"an array of {dtype} must be of the shortest type that holds it, and finite"
        )
    return found.astype(np.float64 if dtype == "float64" else np.int64)


def with_arrays(value: Any, made: Callable[[Any], Any] = array_of) -> Any:
    """The document with something in the places of its arrays: numpy's, if nothing else is said."""
    if is_array(value):
        return made(value)
    if isinstance(value, dict):
        return {name: with_arrays(inner, made) for name, inner in value.items()}
    return [with_arrays(inner, made) for inner in value] if isinstance(value, list) else value


def in_counts(table: Any) -> Any:
    """A table's document with its arrays; answers that count steps of a granularity in units of 1."""
    found = with_arrays(table)
    for answer in found["answers"]["asked"]:
        steps = answer["values"]
        if "granularity" in answer and ((steps > EXACT) | (steps < -EXACT)).any():
            raise ContradictionError(
                "an answer has more than 2^53 steps of its granularity, which no double holds"
            )
        answer["values"] = answer["values"] * answer.get("granularity", 1)
    return found


def canonical(value: Any) -> bytes:
    """Bytes of which the digest is: arrays as base64, entries sorted, no white space, a line feed."""
    plain, form = with_arrays(value, _as_base64), {"separators": (",", ":"), "allow_nan": False}
    return (json.dumps(plain, ensure_ascii=False, sort_keys=True, **form) + "\n").encode("utf-8")  # type: ignore[arg-type]


def _as_base64(value: Any) -> Any:
    data = base64.b64encode(array_of(value).astype(LITTLE[value["dtype"]]).tobytes()).decode("ascii")
    return {"dtype": value["dtype"], "shape": value["shape"], "data": data}


def schema() -> Any:
    """The published JSON schema."""
    return json.loads((files("sdv_plausible") / "release/file/release.schema.json").read_text("utf-8"))


def breaches(value: Any, form: Any, root: Any, place: str = "file") -> Iterator[str]:
    """Places where a value breaks a form of JSON Schema 2020-12, of the keywords that the schema uses."""
    if "$ref" in form:
        yield from breaches(value, root["$defs"][form["$ref"].rsplit("/", 1)[-1]], root, place)
    for keyword, most in (("anyOf", math.inf), ("oneOf", 1)):
        fitting = sum(not any(breaches(value, one, root, place)) for one in form.get(keyword, ()))
        if keyword in form and not 1 <= fitting <= most:
            named = [one for one in form[keyword] if _is_named(value, one)]
            yield from breaches(value, named[0], root, place) if len(named) == 1 else ()
            yield f"{place} has none of its forms"
    if "not" in form and not any(breaches(value, form["not"], root, place)):
        yield f"{place} has a form that it must not have"
    if value != form.get("const", value) or value not in form.get("enum", [value]):
        yield f"{place} must be one of {form.get('enum', [form.get('const')])}"
    if not _has_type(value, form.get("type")):
        yield f"{place} must be of type {form['type']}"
    elif not _within(value, form):
        yield f"{place} is out of its range, of its length, or of its pattern{_ends(form)}"
    else:
        for inner, item, name in _inside(value, form):
            if inner is False:
                is_lacking = isinstance(value, dict) and name[1:] not in value
                yield f"{place}{name[:40]} {'is lacking' if is_lacking else 'is not known to the format'}"
            yield from breaches(item, inner or {}, root, f"{place}{name[:40]}")


def _is_named(value: Any, form: Any) -> bool:
    """Whether one of several forms is that of an object's kind: it fixes an entry that the object has."""
    entries = form.get("properties", {}) if isinstance(value, dict) else {}
    return any("const" in one and value.get(name) == one["const"] for name, one in entries.items())


def _ends(form: Any) -> str:
    """The largest number that a form allows, if there is one."""
    return f": {form['maximum']:,} is the most" if "maximum" in form else ""


def _inside(value: Any, form: Any) -> Iterator[tuple[Any, Any, str]]:
    """Forms of what is inside a list or an object, and what that is."""
    if isinstance(value, list):
        first = form.get("prefixItems", [])
        forms = [*first[: len(value)], *[form.get("items", {})] * (len(value) - len(first))]
        yield from zip(forms, value, (f"[{i}]" for i in range(len(value))), strict=True)
    elif isinstance(value, dict):
        known, others = form.get("properties", {}), form.get("additionalProperties", {})
        yield from ((known.get(name, others), item, f".{name}") for name, item in value.items())
        yield from ((False, None, f".{name}") for name in form.get("required", ()) if name not in value)


def _has_type(value: Any, wanted: Any) -> bool:
    names = [wanted] if isinstance(wanted, str) else wanted
    if names is None or isinstance(value, bool):
        return names is None or "boolean" in names
    if isinstance(value, float) and value.is_integer() and "integer" in names:
        return True
    return any(isinstance(value, TYPES[name]) for name in names)


def _within(value: Any, form: Any) -> bool:
    """Whether a number is in its range; whether a text, a list or an object is as long as it may be."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        low, high = form.get("minimum", -math.inf), form.get("maximum", math.inf)
        return bool(low <= value <= high and value > form.get("exclusiveMinimum", -math.inf))
    if not isinstance(value, (str, list, dict)):
        return True
    what = {str: "Length", list: "Items", dict: "Properties"}[type(value)]
    if not form.get(f"min{what}", 0) <= len(value) <= form.get(f"max{what}", math.inf):
        return False
    if isinstance(value, str):
        return re.search(form.get("pattern", ""), value) is not None
    unique = isinstance(value, list) and form.get("uniqueItems")
    return not unique or len({json.dumps(item, sort_keys=True) for item in value}) == len(value)
