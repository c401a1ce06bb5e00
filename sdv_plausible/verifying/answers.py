"""Whether every noisy answer is paid for: by entries that allow its noise at its sensitivity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import norm

from sdv_plausible.verifying.ledger import losses_of, rows_of
from sdv_plausible.verifying.verdict import LieError, OpenError, Unit

FREQUENT = ("frequent values", "frequent points")
OF_CELLS = ("counts", "present and missing", "precision", "runs", "rounding", *FREQUENT)
LEAST_HOLDERS = 5  # units that hold a value that is named, at least
_ROUNDING = 1e-6  # relative
Pieces = list[tuple[float, int]]  # costs, and how many there are of each


def groups(document: Any) -> list[list[str]]:
    """Names of entries that pay for answers together."""
    found: list[list[str]] = []
    for names in (list(answer["paid_by"]) for answer in document["answers"]["asked"]):
        others = [group for group in found if {*group} & {*names}]
        found = [group for group in found if group not in others]
        found.append(list(dict.fromkeys([name for group in [*others, names] for name in group])))
    return found


def check_answers(document: Any, names: Sequence[str]) -> str:
    """Refuse answers that these entries do not pay for."""
    unit, entries = Unit.of(document["ledger"]), document["ledger"]["entries"]
    asked = [(i, a) for i, a in enumerate(document["answers"]["asked"]) if {*a["paid_by"]} <= {*names}]
    if lacking := {*names} - {entry["name"] for entry in entries}:
        raise LieError(f"the ledger has no entry {min(lacking)!r}")
    paying = [entry for entry in entries if entry["name"] in names]
    if not losses_of(paying):
        raise LieError(f"answer {asked[0][0]} is paid by no entry that has a loss")
    if any(loss["type"] == "InfiniteLoss" for loss in losses_of(paying)):
        return "the entries make no claim, which pays for anything"
    settings, axes = document["settings"], document["answers"]["axes"]
    for at in dict.fromkeys(rows_of(answer["rows"], settings) for _, answer in asked):
        there = [(i, answer) for i, answer in asked if rows_of(answer["rows"], settings) == at]
        losses = losses_of([entry for entry in paying if rows_of(entry["parts"], settings) == at])
        _check_paid(there, losses, axes, unit)
    return f"the entries allow the noise of all {len(asked)} at their sensitivities"


def _check_paid(asked: Sequence[tuple[int, Any]], losses: Sequence[Any], axes: Any, unit: Unit) -> None:
    """Refuse answers of some rows that losses of the same rows do not pay for."""
    squares = [(o["sensitivity_over_sigma"] ** 2, o["count"]) for o in losses if o["type"] == "GaussianLoss"]
    pure = [o for o in losses if o["type"] in ("PureDP", "ApproxDP") or o.get("sensitivity") == 1]
    epsilons = [(loss["epsilon"], loss["count"]) for loss in pure]
    failures = [loss["delta"] for loss in losses if loss["type"] == "ApproxDP" for _ in range(loss["count"])]
    gaussian, laplace, failure = Pieces(), Pieces(), max(failures, default=0.0)
    sizes = [answer for _, answer in asked if answer["kind"] == "number of rows"]
    for i, answer in asked:
        parts = _check_shape(i, answer, axes)
        cost = _moved(i, answer, unit, parts) / answer["scale"]
        if answer["noise"] == "discrete laplace":
            laplace.append((cost / parts, parts))
        else:
            gaussian.append((cost**2 / parts, parts))
        if answer["kind"] in FREQUENT:
            _check_threshold(i, answer, failure, unit)
        elif answer["kind"] == "entropies":
            least = max((_least_rows(a, answer["noise"], failure, unit) for a in sizes), default=0)
            if not 0 < answer["details"]["least_rows"] <= least:
                raise LieError(f"answer {i}: least_rows may be {least} by the noisy number of rows")
    if (many := sum(answer["kind"] in (*FREQUENT, "entropies") for _, answer in asked)) > len(failures):
        raise LieError(f"{many} answers may fail, and {len(failures)} failures are charged")
    _compare("squares of sensitivity over sigma", gaussian, squares)
    _compare("epsilons of Laplace noise", laplace, epsilons)


def _least_rows(size: Any, noise: str, failure: float, unit: Unit) -> int:
    """Rows that a noisy number of them says there are, but for a failure; 0 where it does not say."""
    (noisy,), far = size["values"].tolist(), -math.log(failure) if failure else math.inf
    if size["noise"] != noise or math.isinf(far):
        return 0
    if noise == "discrete laplace":  # the noisy number itself, once it is large
        return int(noisy) if noisy >= 2 * math.ceil(far * size["scale"] / unit.rows - 1e-6) + 2 else 0
    return max(1, int(noisy) - math.ceil(size["scale"] * math.sqrt(2 * far) - 1e-6) - unit.rows)


def _compare(what: str, spent: Pieces, charged: Pieces) -> None:
    """Refuse answers of which the k largest cost more than the k largest charges, for any k."""
    at, most = _sums(charged)
    if sum(count for _, count in charged) == 1:  # one piece may be cut into any
        at = at * 1e-9
    ours, added = _sums(spent)
    allowed = np.interp(ours, at, most)
    if (added > allowed * (1 + _ROUNDING)).any():
        k = int(np.argmax(added - allowed))
        said = f"the answers spend {added[k]:.6g} where {allowed[k]:.6g} is charged ({what})"
        raise LieError(f"{said}: one has less noise than its entry allows, or more were given")


def _sums(pieces: Pieces) -> tuple[np.ndarray, np.ndarray]:
    sizes = np.array(sorted(pieces, reverse=True), dtype=float).reshape(-1, 2)
    return np.append(0, sizes[:, 1].cumsum()), np.append(0, (sizes[:, 0] * sizes[:, 1]).cumsum())


def _check_shape(i: int, answer: Any, axes: Sequence[Any]) -> int:
    """Refuse an answer of another shape than its question; as how many numbers it is charged."""
    kind, tables, details = answer["kind"], answer["tables"], answer["details"]
    if any(number >= len(axes) for table in tables for number in table):
        raise LieError(f"answer {i} speaks of an axis that is not there")
    parts = len(tables[0]) * (len(tables[0]) + 1) if kind == "entropies" else 1
    numbers = {"entropies": parts, "distances": len(tables), "number of rows": 1, "present and missing": 2}
    wanted: tuple[int, ...] | None = (numbers[kind],) if kind in numbers else None
    if kind == "counts":
        wanted = tuple(int(axes[number]["buckets"].max()) + 1 for number in tables[0])
    elif kind == "runs":
        wanted = details["first"].shape
    elif kind in FREQUENT:
        wanted = (len(details["found"]) + len(details["public"]),)
    if wanted is not None and answer["values"].shape != wanted:
        raise LieError(f"answer {i} ({kind}) has shape {answer['values'].shape}, and its question {wanted}")
    return parts


def _moved(i: int, answer: Any, unit: Unit, parts: int) -> float:
    """How far one unit moves the exact answer, at most: as a Euclidean distance; for Laplace noise in all."""
    kind, is_laplace = answer["kind"], answer["noise"] == "discrete laplace"
    if kind == "number of rows" or (kind == "counts" and is_laplace):
        return unit.rows
    if kind in OF_CELLS and not is_laplace:
        return unit.l2
    if kind == "distances" and not is_laplace:
        return unit.l1 * math.sqrt(len(answer["tables"]))
    if kind != "entropies":
        raise OpenError(f"answer {i} is to a question of its own, whose sensitivity is in no file")
    c, n = unit.rows, int(answer["details"]["least_rows"])
    bits = (2 + 1 / math.log(2) + 2 * math.log2(max(1, n))) / max(1, n)  # as printed: Lemma 1 of the paper
    if not is_laplace:
        n = max(1, n - c) if unit.is_replaced else n
        bits = ((n + c) * math.log2(n + c) - (n * math.log2(n) if n else 0)) / (n + c)
    return (math.ceil(bits / answer["details"]["grid"] - 1e-6) + 1) * (parts if is_laplace else parts**0.5)


def _check_threshold(i: int, answer: Any, failure: float, unit: Unit) -> None:
    """Refuse a value that is named though its noisy count is below what the failure paid for allows."""
    if not failure:
        raise LieError(f"answer {i} names values, and no entry pays for what their threshold may fail with")
    counts = answer["values"][len(answer["details"]["public"]) :]
    far = math.ceil(answer["scale"] * float(norm.isf(failure / unit.l1)) - 1e-6)
    if (counts < (least := LEAST_HOLDERS * unit.rows + far + 1)).any():
        raise LieError(f"answer {i} names a value that {counts.min()} rows hold, below its threshold {least}")
