"""Whether every noisy answer is paid for: by entries that allow its noise at its sensitivity."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import norm

from sdv_plausible.verifying.verdict import LieError, OpenError, Unit, Verdict

OF_CELLS = (
    "counts", "present and missing", "precision", "runs", "rounding", "frequent values", "frequent points",
)  # fmt: skip
FREQUENT = OF_CELLS[-2:]
LEAST_HOLDERS = 5  # units that hold a value that is named, at least
_ROUNDING = 1e-6  # relative


@dataclass
class _Spent:
    """Pieces that were spent or charged: squares of sensitivity over sigma, epsilons, failures."""

    squares: list[tuple[float, int]] = field(default_factory=list)
    epsilons: list[tuple[float, int]] = field(default_factory=list)
    failures: list[tuple[float, int]] = field(default_factory=list)
    answers: int = 0


def check_answers(document: Mapping[str, Any], unit: Unit) -> list[Verdict]:
    """A verdict for every set of entries that answers are paid from."""
    section, entries = document["answers"], document["ledger"]["entries"]
    if not section["asked"]:
        return [Verdict("answers", "ok", "there are none, and none has to be paid for")]
    return [_check(names, section, entries, unit) for names in _groups(section["asked"])]


def _groups(asked: Sequence[Any]) -> list[list[str]]:
    """Names that pay for answers, those of one answer together."""
    groups: list[list[str]] = []
    for answer in asked:
        names = list(answer["paid_by"])
        for group in [group for group in groups if {*group} & {*names}]:
            groups.remove(group)
            names = [*group, *(name for name in names if name not in group)]
        groups.append(names)
    return groups


def _check(names: Sequence[str], section: Any, entries: Sequence[Any], unit: Unit) -> Verdict:
    about = f"answers paid by {', '.join(names) or 'nothing'}"
    asked = [(i, one) for i, one in enumerate(section["asked"]) if {*one["paid_by"]} <= {*names}]
    try:
        if lacking := [name for name in names if all(entry["name"] != name for entry in entries)]:
            raise LieError(f"the ledger has no entry {lacking[0]!r}")
        paying = [entry for entry in entries if entry["name"] in names and entry["losses"]]
        if not names or not paying:
            raise LieError(f"answer {asked[0][0]} is paid by no entry that has a loss")
        charged = _charged(paying)
        if charged is None:
            return Verdict(about, "ok", "the entries make no claim, which pays for anything")
        spent = _Spent()
        for i, answer in asked:
            _add(spent, i, answer, section["axes"], unit)
            if answer["kind"] in FREQUENT:
                _check_threshold(i, answer, charged, unit)
        _compare("noise: squares of sensitivity / sigma", spent.squares, charged.squares)
        _compare("noise: epsilons", spent.epsilons, charged.epsilons)
        _compare("failures of thresholds", [(0.0, spent.answers)], charged.failures)
    except LieError as error:
        return Verdict(about, "refused", str(error))
    except OpenError as error:
        return Verdict(about, "not checkable", str(error))
    return Verdict(about, "ok", f"the entries allow the noise of all {len(asked)} at their sensitivities")


def _charged(entries: Sequence[Any]) -> _Spent | None:
    """What entries allow; None where they make no claim."""
    found = _Spent()
    for loss in (loss for entry in entries for loss in entry["losses"]):
        kind, count = loss["type"], int(loss.get("count", 1))
        if kind == "InfiniteLoss":
            return None
        if kind == "GaussianLoss":
            found.squares.append((loss["sensitivity_over_sigma"] ** 2, count))
        elif kind in ("PureDP", "ApproxDP") or (kind == "DiscreteLaplaceLoss" and loss["sensitivity"] == 1):
            found.epsilons.append((loss["epsilon"], count))
            found.failures.append((loss.get("delta", 0.0), count if loss.get("delta") else 0))
    return found


def _compare(what: str, spent: list[tuple[float, int]], charged: list[tuple[float, int]]) -> None:
    """Refuse answers of which the k largest cost more than the k largest charges, for any k."""
    have, most = (sum(count for _, count in pieces) for pieces in (spent, charged))
    if what.startswith("failures"):
        if have > most:
            raise LieError(f"{what}: {have} were made, and {most} are charged")
        return
    at, sums = _sums(charged)
    ours, added = _sums(spent)
    if len(charged) == 1 and charged[0][1] == 1:  # one piece may be cut into any
        at = np.array([0.0, 1e-9])
    allowed = np.interp(ours, at, sums)
    if (added > allowed * (1 + _ROUNDING) + 1e-300).any():
        k = int(np.argmax(added - allowed))
        raise LieError(
            f"{what}: the answers spend {added[k]:.6g} where {allowed[k]:.6g} is charged: an answer has less "
            "noise than its entry allows, or more answers were given"
        )


def _sums(pieces: list[tuple[float, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the largest pieces, and what so many add up to."""
    sizes = np.array(sorted(pieces, reverse=True), dtype=float).reshape(-1, 2)
    return np.append(0, sizes[:, 1].cumsum()), np.append(0, (sizes[:, 0] * sizes[:, 1]).cumsum())


def _add(spent: _Spent, i: int, answer: Any, axes: Sequence[Any], unit: Unit) -> None:
    """Add what one answer costs, once its shape is that of its question."""
    kind, scale, tables = answer["kind"], float(answer["scale"]), answer["tables"]
    if any(not 0 <= number < len(axes) for table in tables for number in table):
        raise LieError(f"answer {i} speaks of an axis that is not there")
    parts, shape = 1, answer["values"].shape
    if kind == "entropies":
        parts = len(tables[0]) * (len(tables[0]) + 1)
        wanted: tuple[int, ...] | None = (parts,)
    elif kind == "counts":
        wanted = tuple(int(axes[number]["buckets"].max()) + 1 for number in tables[0])
    else:
        wanted = {
            "distances": (len(tables),), "number of rows": (1,), "present and missing": (2,),
        }.get(kind)  # fmt: skip
        if kind == "runs":
            wanted = answer["details"]["first"].shape
        elif kind in FREQUENT:
            wanted = (len(answer["details"]["found"]) + len(answer["details"]["public"]),)
    if wanted is not None and shape != wanted:
        raise LieError(f"answer {i} ({kind}) has the shape {shape}, and its question has {wanted}")
    if answer["noise"] == "discrete laplace":
        spent.epsilons.append((_l1(i, answer, unit, parts) / scale / parts, parts))
    else:
        spent.squares.append(((_l2(i, answer, unit, parts) / scale) ** 2 / parts, parts))
    spent.answers += kind in FREQUENT


def _l2(i: int, answer: Any, unit: Unit, parts: int) -> float:
    """How far one unit moves the exact answer, at most, as a Euclidean distance."""
    kind = answer["kind"]
    if kind in OF_CELLS:
        return unit.l2
    if kind == "number of rows":
        return float(unit.rows)
    if kind == "distances":
        return unit.l1 * math.sqrt(len(answer["tables"]))
    if kind == "entropies":
        c, n = unit.rows, int(answer["details"]["least_rows"])
        n = max(1, n - c) if unit.is_replaced else n
        bits = math.log2(c) if n == 0 else ((n + c) * math.log2(n + c) - n * math.log2(n)) / (n + c)
        return (math.ceil(bits / answer["details"]["grid"] - 1e-6) + 1) * math.sqrt(parts)
    raise OpenError(f"answer {i} is to a question of its own ({kind!r}), whose sensitivity no file holds")


def _l1(i: int, answer: Any, unit: Unit, parts: int) -> float:
    """The same, numbers added up."""
    if answer["kind"] in ("number of rows", "counts"):
        return float(unit.rows)
    if answer["kind"] == "entropies":  # of the paper as printed, Lemma 1
        n = int(answer["details"]["least_rows"])
        bits = (2 + 1 / math.log(2) + 2 * math.log2(n)) / n
        return float((math.ceil(bits / answer["details"]["grid"] - 1e-6) + 1) * parts)
    raise OpenError(f"answer {i} is to a question of its own, whose sensitivity no file holds")


def _check_threshold(i: int, answer: Any, charged: _Spent, unit: Unit) -> None:
    """Refuse a value that is named though its noisy count is below what the failure paid for allows."""
    most = max((delta for delta, count in charged.failures if count), default=0.0)
    if not most:
        raise LieError(f"answer {i} names values, and no entry pays for what their threshold may fail with")
    counts = answer["values"][len(answer["details"]["public"]) :]
    far = math.ceil(answer["scale"] * float(norm.isf(most / unit.l1)) - 1e-6)
    least = (LEAST_HOLDERS - 1) * unit.rows + unit.rows + far + 1
    if (counts < least).any():
        raise LieError(
            f"answer {i} names a value whose noisy count is {counts.min()}, below the threshold {least} at "
            f"the failure probability that is charged"
        )
