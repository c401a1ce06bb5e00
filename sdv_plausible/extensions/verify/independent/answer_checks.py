"""Whether every noisy answer is paid for: by entries that allow its noise at its sensitivity."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from scipy.stats import norm

from sdv_plausible.extensions.verify.independent.ledger_checks import (
    FIRST,
    has_claim,
    is_earlier,
    losses_of,
    rows_of,
)
from sdv_plausible.extensions.verify.independent.totals import discrete_mu
from sdv_plausible.extensions.verify.independent.verdict import (
    ContradictionError,
    ProtectedUnit,
    UncheckableError,
    shown,
)

FREQUENT = ("frequent values", "frequent points")
OF_CELLS = ("counts", "present and missing", "precision", "runs", "rounding", "patterns", *FREQUENT)
UNSEEN = {
    "ZCDP": "noise of which rho alone is known", "SampledGaussianLoss": "sums over samples",
    "BoundedRangeLoss": "choices",
}  # fmt: skip
"""What these losses pay for, which is in no file."""
SIZES = ("number of rows", FIRST)
NOISE = ("discrete gaussian", "discrete laplace")
MANY_VALUES = 65  # whose steps tell whether noise is on its lattice
LEAST_HOLDERS = 5  # units that hold a value that is named, at least
LARGEST = 2**63 - 1
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


def check_all_there(document: Any) -> str:
    """Refuse entries that pay for noisy answers of which the file holds none, and axes that none is of."""
    entries = document["ledger"]["entries"]
    _check_named_once(document["answers"])
    paid = {name for answer in document["answers"]["asked"] for name in answer["paid_by"]}
    if not has_claim(entries):
        return "the ledger makes no claim, for which answers would be needed"
    paying = [e for e in entries if e["losses"] and not e.get("envelope") and e["parts"] != ["seeds"]]
    elsewhere = [
        entry
        for entry in paying
        if is_earlier(entry) or (entry["name"] == "types" and document["settings"].get("voted"))
    ]
    for entry in (entry for entry in paying if entry not in elsewhere and entry["name"] not in paid):
        raise ContradictionError(
            f"entry {shown(entry['name'])} pays for noisy answers, and the file holds none of them"
        )
    lost = sorted({UNSEEN[loss["type"]] for loss in losses_of(paying) if loss["type"] in UNSEEN})
    lost += [f"what was paid for by {shown(entry['name'])}, before or by a vote" for entry in elsewhere]
    if lost:
        raise UncheckableError(f"in no file, though paid for: {', '.join(lost)}")
    return f"each of the {len(paying)} entries that pay for noisy answers has its answers in the file"


def _check_named_once(answers: Any) -> None:
    """Refuse axes that are there twice or for nothing, and answers that name an axis or an entry twice."""
    axes = {(axis["column"], tuple(axis["buckets"].tolist())) for axis in answers["axes"]}
    used = {number for answer in answers["asked"] for table in answer["tables"] for number in table}
    if len(axes) < len(answers["axes"]) or used != {*range(len(axes))}:
        raise ContradictionError("the axes of the answers are not those that the answers are of, each once")
    for i, answer in enumerate(answers["asked"]):
        if any(len({*names}) < len(names) for names in (answer["paid_by"], *answer["tables"])):
            raise ContradictionError(f"answer {i} names an axis of a table, or an entry that pays, twice")


def check_answers(document: Any, names: Sequence[str]) -> str:
    """Refuse answers that these entries do not pay for."""
    unit, entries = ProtectedUnit.of(document["ledger"]), document["ledger"]["entries"]
    asked = [(i, a) for i, a in enumerate(document["answers"]["asked"]) if {*a["paid_by"]} <= {*names}]
    if lacking := {*names} - {entry["name"] for entry in entries}:
        raise ContradictionError(f"the ledger has no entry {shown(min(lacking))}")
    settings, axes = document["settings"], document["answers"]["axes"]
    paying = [entry for entry in entries if entry["name"] in names and _lends(entry, settings)]
    if standing := {*names} - {entry["name"] for entry in paying}:
        raise ContradictionError(
            f"answer {asked[0][0]} is paid by entry {shown(min(standing))}, which stands for others, or for "
            "answers that are in no file"
        )
    if not losses_of(paying):
        raise ContradictionError(f"answer {asked[0][0]} is paid by no entry that has a loss")
    if any(loss["type"] == "InfiniteLoss" for loss in losses_of(paying)):
        return "the entries make no claim, which pays for anything"
    for at in dict.fromkeys(rows_of(answer["rows"], settings) for _, answer in asked):
        there = [(i, answer) for i, answer in asked if rows_of(answer["rows"], settings) == at]
        losses = losses_of([entry for entry in paying if rows_of(entry["parts"], settings) == at])
        _check_paid(there, losses, axes, unit)
    return f"the entries allow the noise of all {len(asked)} at their sensitivities"


def _lends(entry: Any, settings: Any) -> bool:
    """Whether an entry pays for answers in this file: not if it stands for others, or paid before."""
    is_vote = entry["name"] == "types" and bool(settings.get("voted"))
    return not (entry.get("envelope") or is_earlier(entry) or is_vote)


def _check_paid(
    asked: Sequence[tuple[int, Any]], losses: Sequence[Any], axes: Any, unit: ProtectedUnit
) -> None:
    """Refuse answers of some rows that losses of the same rows do not pay for."""
    squares = [(o["sensitivity_over_sigma"] ** 2, o["count"]) for o in losses if o["type"] == "GaussianLoss"]
    pure = [o for o in losses if o["type"] in ("PureDP", "ApproxDP") or o.get("sensitivity") == 1]
    epsilons = [(loss["epsilon"], loss["count"]) for loss in pure]
    failures = Counter[float]()
    for loss in (one for one in losses if one["type"] == "ApproxDP" and one["delta"]):
        failures[loss["delta"]] += loss["count"]
    gaussian, laplace, needed = list[tuple[float, float, float]](), Pieces(), list[float]()
    sizes, fine = [answer for _, answer in asked if answer["kind"] == "number of rows"], list[Any]()
    for i, answer in asked:
        parts = _check_shape(i, answer, axes)
        if answer["noise"] not in NOISE:
            raise ContradictionError(
                f"answer {i} has no noise but was {answer['noise']}, and its entry pays for noise"
            )
        moved = _moved(i, answer, unit, parts)
        if answer["noise"] == "discrete laplace":
            laplace.append((moved / answer["scale"] / parts, parts))
        else:
            gaussian.append((moved, answer["scale"], _granularity(i, answer)))
            fine += [answer["values"] / gaussian[-1][2]] if gaussian[-1][2] < 1 else []
        if answer["kind"] in FREQUENT:
            needed.append(_failure_of_threshold(i, answer, sorted(failures), unit))
        elif answer["kind"] == "entropies":
            needed.append(_failure_of_entropies(i, answer, sizes, sorted(failures), unit))
    many = sum(steps.size for steps in fine)  # half of them are odd but for 8 deviations, in 1 of 10^15 files
    odd = sum(int((steps % 2 == 1).sum()) for steps in fine)
    if many >= MANY_VALUES and abs(2 * odd - many) > 8 * math.sqrt(many):
        raise ContradictionError(
            f"noise is said to be on a finer lattice, and {odd} of {many} values are on odd steps of it"
        )
    _check_failures(needed, failures)
    _add_up(gaussian, squares)
    _check_packed(laplace, epsilons)


def _check_failures(needed: Sequence[float], charged: Counter[float]) -> None:
    """Refuse answers that may fail where the k-th largest failure charged is less than the k-th needed."""
    # Answers can be matched with failures that are as large, one each, just if this holds for every k (Hall).
    if len(needed) > (many := charged.total()):
        raise ContradictionError(f"{len(needed)} answers may fail, and {many} failures are charged")
    for failure in {*needed}:
        uses, there = sum(f >= failure for f in needed), sum(n for d, n in charged.items() if d >= failure)
        if uses > there:
            raise ContradictionError(
                f"{uses} answers need a failure of {failure:.6g} or more, of which {there} are charged"
            )


def _least_rows(size: Any, noise: str, failure: float, unit: ProtectedUnit) -> int:
    """Rows that a noisy number of them says there are, but for a failure; 0 where it does not say."""
    (noisy,), far = size["values"].tolist(), -math.log(failure) if failure else math.inf
    if size["noise"] != noise or math.isinf(far):
        return 0
    if noise == "discrete laplace":  # the noisy number itself, once it is large
        return int(noisy) if noisy >= 2 * math.ceil(far * size["scale"] / unit.rows - 1e-6) + 2 else 0
    return max(1, int(noisy) - math.ceil(size["scale"] * math.sqrt(2 * far) - 1e-6) - unit.rows)


def _granularity(i: int, answer: Any) -> float:
    """Spacing of the values of an answer's noise: in its steps it is noise on whole numbers."""
    found = float(answer.get("granularity", 1.0))
    if not 0 < found <= 1 or math.frexp(found)[0] != 0.5:
        raise ContradictionError(f"answer {i} has granularity {found!r}, which is no power of two up to 1")
    return found


def _add_up(gaussian: Sequence[tuple[float, float, float]], squares: Pieces) -> None:
    """Refuse Gaussian answers (sensitivity, sigma, granularity) that cost more than the charged pieces."""
    # In terms of zero-concentrated privacy, and of continuous noise that stands for whole-number noise; each
    # is an upper bound, however a budget is split.
    costs: dict[str, Callable[[float], float]] = {
        "squares of sensitivity over sigma": lambda sigma: 1 / sigma, "squares of mu": discrete_mu,
    }  # fmt: skip
    for what, cost in costs.items():
        spent = math.fsum((moved / step * cost(sigma / step)) ** 2 for moved, sigma, step in gaussian)
        charged = math.fsum(count * cost(square**-0.5) ** 2 for square, count in squares)
        if spent > charged * (1 + _ROUNDING):
            raise _spends(spent, charged, what)


def _spends(ours: float, charged: float, what: str) -> ContradictionError:
    said = f"the answers spend {ours:.6g} where {charged:.6g} is charged ({what})"
    return ContradictionError(f"{said}: one has less noise than its entry allows, or more were given")


def _check_packed(spent: Pieces, charged: Pieces) -> None:
    """Refuse epsilons of answers unless each can be taken from one charged epsilon that still holds it."""
    # What is taken from a piece adds up to it at most, which is as good as the piece itself (Lemma 2 (b) of
    # docs/explanation/proofs/composition.md). The fit takes them in turn, so that honest answers fit so.
    if not (_packs(spent, charged) or _packs(sorted(spent, reverse=True), charged)):
        added, most = (math.fsum(size * count for size, count in pieces) for pieces in (spent, charged))
        if added > most * (1 + _ROUNDING):
            raise _spends(added, most, "epsilons of Laplace noise")
        raise ContradictionError(
            f"the epsilons of answers with Laplace noise ({added:.6g} in all) cannot each be taken from one "
            f"of those that are charged ({most:.6g} in all)"
        )


def _packs(spent: Pieces, charged: Pieces) -> bool:
    """Whether every piece, in this order, can be taken from the smallest charged one that still holds it."""
    left = Counter[float]()
    for size, count in charged:
        left[size] += count
    sizes = sorted(left)
    for cost, number in spent:
        wanted = number if cost else 0
        while wanted:
            if (at := bisect_left(sizes, cost / (1 + _ROUNDING))) == len(sizes):
                return False
            size = sizes[at]
            fitting = max(1, int(size * (1 + _ROUNDING) / cost))  # what is left of it stays the smallest
            whole, rest = divmod(taken := min(wanted, fitting * left[size]), fitting)
            wanted -= taken
            left[size] -= whole + (rest > 0)
            if not left[size]:
                del sizes[at], left[size]
            for smaller, count in ((size - fitting * cost, whole), (size - rest * cost, int(rest > 0))):
                if count and smaller > 0:
                    if smaller not in left:
                        insort(sizes, smaller)
                    left[smaller] += count
    return True


def _check_shape(i: int, answer: Any, axes: Sequence[Any]) -> int:
    """Refuse an answer of another shape than its question; as how many numbers it is charged."""
    kind, tables, details = answer["kind"], answer["tables"], answer["details"]
    if any(number >= len(axes) for table in tables for number in table):
        raise ContradictionError(f"answer {i} speaks of an axis that is not there")
    parts = len(tables[0]) * (len(tables[0]) + 1) if kind == "entropies" else 1
    numbers = {"entropies": parts, "distances": len(tables), "present and missing": 2}
    numbers |= dict.fromkeys(SIZES, 1)
    wanted: tuple[int, ...] | None = (numbers[kind],) if kind in numbers else None
    if kind == "counts":
        wanted = tuple(int(axes[number]["buckets"].max()) + 1 for number in tables[0])
    elif kind == "runs":
        wanted = details["first"].shape
    elif kind in FREQUENT:
        wanted = (len(details["found"]) + len(details["public"]),)
    if wanted is not None and answer["values"].shape != wanted:
        raise ContradictionError(
            f"answer {i} ({kind}) has shape {answer['values'].shape}, and its question {wanted}"
        )
    return parts


def _moved(i: int, answer: Any, unit: ProtectedUnit, parts: int) -> float:
    """How far one unit moves the exact answer, at most: as a Euclidean distance; for Laplace noise in all."""
    kind, is_laplace = answer["kind"], answer["noise"] == "discrete laplace"
    if kind in SIZES or (kind == "counts" and is_laplace):
        return unit.rows
    if kind in OF_CELLS and not is_laplace:
        return unit.l2
    if kind == "distances" and not is_laplace:
        return unit.l1 * math.sqrt(len(answer["tables"]))
    if kind != "entropies":
        raise UncheckableError(f"answer {i} is to a question of its own, whose sensitivity is in no file")
    c, n = unit.rows, int(answer["details"]["least_rows"])
    bits = (2 + 1 / math.log(2) + 2 * math.log2(max(1, n))) / max(1, n)  # as printed: Lemma 1 of the paper
    if not is_laplace:
        n = max(1, n - c) if unit.is_replaced else n
        bits = ((n + c) * math.log2(n + c) - (n * math.log2(n) if n else 0)) / (n + c)
    return (math.ceil(bits / answer["details"]["grid"] - 1e-6) + 1) * (parts if is_laplace else parts**0.5)


def _least_failure(failures: Sequence[float], allows: Callable[[float], bool]) -> float | None:
    """The smallest of some failures, in order, that allows what every larger one does, too."""
    at = bisect_left(failures, True, key=allows)
    return failures[at] if at < len(failures) else None


def _failure_of_threshold(i: int, answer: Any, failures: Sequence[float], unit: ProtectedUnit) -> float:
    """The smallest failure whose threshold all named values reach; refuse ones that reach none."""
    if not failures:
        raise ContradictionError(
            f"answer {i} names values, and no entry pays for what their threshold may fail with"
        )
    least = answer["values"][len(answer["details"]["public"]) :].min(initial=LARGEST)
    found = _least_failure(failures, lambda failure: least >= threshold(answer["scale"], failure, unit))
    if found is None:
        most = threshold(answer["scale"], failures[-1], unit)
        raise ContradictionError(
            f"answer {i} names a value that {least} rows hold, below its threshold {most}"
        )
    return found


def threshold(sigma: float, failure: float, unit: ProtectedUnit) -> int:
    """Rows that hold a value that is named, by their noisy number at least."""
    return LEAST_HOLDERS * unit.rows + math.ceil(sigma * float(norm.isf(failure / unit.l1)) - 1e-6) + 1


def _failure_of_entropies(
    i: int, answer: Any, sizes: Sequence[Any], failures: Sequence[float], unit: ProtectedUnit
) -> float:
    """The smallest failure with which a noisy number of rows says that there are as many as it takes."""

    def most(failure: float) -> int:
        return max((_least_rows(one, answer["noise"], failure, unit) for one in sizes), default=0)

    wanted = answer["details"]["least_rows"]
    found = _least_failure(failures, lambda failure: 0 < wanted <= most(failure))
    if found is None:
        allowed = most(failures[-1]) if failures else 0
        raise ContradictionError(f"answer {i}: least_rows may be {allowed} by the noisy number of rows")
    return found
