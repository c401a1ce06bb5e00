"""Check that the ledger's entries pay for every noisy answer, at its noise and sensitivity."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.stats import norm

from sdv_plausible.extensions.verify.independent.ledger_checks import (
    FIRST_COUNT,
    has_claim,
    is_reused_domain,
    losses_of,
    split_part_of,
)
from sdv_plausible.extensions.verify.independent.totals import discrete_mu
from sdv_plausible.extensions.verify.independent.verdict import (
    ContradictionError,
    ProtectedUnit,
    UncheckableError,
    quoted,
)

PARTITION_KINDS = ("frequent values", "frequent points")
HISTOGRAM_KINDS = (
    "counts",
    "present and missing",
    "precision",
    "runs",
    "rounding",
    "patterns",
    *PARTITION_KINDS,
)
UNRECORDED = {
    "ZCDP": "noise of which rho alone is known", "SampledGaussianLoss": "sums over samples",
    "BoundedRangeLoss": "choices",
}  # fmt: skip
"""Loss types that pay for answers which no file holds."""
ROW_COUNT_KINDS = ("number of rows", FIRST_COUNT)
NOISE_TYPES = ("discrete gaussian", "discrete laplace")
MIN_PARITY_VALUES = 65  # fewest values for the test of the noise's grid
MIN_UNITS = 5  # fewest units that hold a reported value
LARGEST = 2**63 - 1
_ROUNDING = 1e-6  # relative
Pieces = list[tuple[float, int]]  # (cost, count)


def payer_groups(document: Any) -> list[list[str]]:
    """Group the names of entries that pay for answers together."""
    merged: list[list[str]] = []
    for names in (list(answer["paid_by"]) for answer in document["answers"]["asked"]):
        overlapping = [group for group in merged if {*group} & {*names}]
        merged = [group for group in merged if group not in overlapping]
        merged.append(list(dict.fromkeys([name for group in [*overlapping, names] for name in group])))
    return merged


def check_complete(document: Any) -> str:
    """Check that every paying entry has answers in the file, and that every axis is used."""
    entries = document["ledger"]["entries"]
    _check_named_once(document["answers"])
    paid = {name for answer in document["answers"]["asked"] for name in answer["paid_by"]}
    if not has_claim(entries):
        return "the ledger makes no claim, for which answers would be needed"
    paying = [e for e in entries if e["losses"] and not e.get("envelope") and e["parts"] != ["seeds"]]
    elsewhere = [
        entry
        for entry in paying
        if is_reused_domain(entry) or (entry["name"] == "types" and document["settings"].get("voted"))
    ]
    for entry in (entry for entry in paying if entry not in elsewhere and entry["name"] not in paid):
        raise ContradictionError(
            f"entry {quoted(entry['name'])} pays for noisy answers, and the file holds none of them"
        )
    lost = sorted({UNRECORDED[loss["type"]] for loss in losses_of(paying) if loss["type"] in UNRECORDED})
    lost += [f"what was paid for by {quoted(entry['name'])}, before or by a vote" for entry in elsewhere]
    if lost:
        raise UncheckableError(f"in no file, though paid for: {', '.join(lost)}")
    return f"each of the {len(paying)} entries that pay for noisy answers has its answers in the file"


def _check_named_once(answers: Any) -> None:
    """Reject duplicate or unused axes, and answers that name an axis or an entry twice."""
    axes = {(axis["column"], tuple(axis["buckets"].tolist())) for axis in answers["axes"]}
    used = {number for answer in answers["asked"] for table in answer["tables"] for number in table}
    if len(axes) < len(answers["axes"]) or used != {*range(len(axes))}:
        raise ContradictionError("the axes of the answers are not those that the answers are of, each once")
    for i, answer in enumerate(answers["asked"]):
        if any(len({*names}) < len(names) for names in (answer["paid_by"], *answer["tables"])):
            raise ContradictionError(f"answer {i} names an axis of a table, or an entry that pays, twice")


def check_answers(document: Any, names: Sequence[str]) -> str:
    """Check that these entries pay for their answers."""
    unit, entries = ProtectedUnit.of(document["ledger"]), document["ledger"]["entries"]
    answers = [(i, a) for i, a in enumerate(document["answers"]["asked"]) if {*a["paid_by"]} <= {*names}]
    if unknown := {*names} - {entry["name"] for entry in entries}:
        raise ContradictionError(f"the ledger has no entry {quoted(min(unknown))}")
    settings, axes = document["settings"], document["answers"]["axes"]
    paying = [entry for entry in entries if entry["name"] in names and _pays_here(entry, settings)]
    if unpaid := {*names} - {entry["name"] for entry in paying}:
        raise ContradictionError(
            f"answer {answers[0][0]} is paid by entry {quoted(min(unpaid))}, which stands for others, or for "
            "answers that are in no file"
        )
    if not losses_of(paying):
        raise ContradictionError(f"answer {answers[0][0]} is paid by no entry that has a loss")
    if any(loss["type"] == "InfiniteLoss" for loss in losses_of(paying)):
        return "the entries make no claim, which pays for anything"
    for part in dict.fromkeys(split_part_of(answer["rows"], settings) for _, answer in answers):
        of_part = [(i, answer) for i, answer in answers if split_part_of(answer["rows"], settings) == part]
        losses = losses_of([entry for entry in paying if split_part_of(entry["parts"], settings) == part])
        _check_paid(of_part, losses, axes, unit)
    return f"the entries allow the noise of all {len(answers)} at their sensitivities"


def _pays_here(entry: Any, settings: Any) -> bool:
    """Whether an entry pays for answers in this file: not worst-case charges or earlier payments."""
    is_vote = entry["name"] == "types" and bool(settings.get("voted"))
    return not (entry.get("envelope") or is_reused_domain(entry) or is_vote)


def _check_paid(
    answers: Sequence[tuple[int, Any]], losses: Sequence[Any], axes: Any, unit: ProtectedUnit
) -> None:
    """Check that the losses charged on some rows pay for the answers about these rows."""
    charges = [loss for loss in losses if loss["type"] == "GaussianLoss"]
    squares = [(loss["sensitivity_over_sigma"] ** 2, loss["count"]) for loss in charges]
    pure = [loss for loss in losses if loss["type"] in ("PureDP", "ApproxDP") or loss.get("sensitivity") == 1]
    epsilons = [(loss["epsilon"], loss["count"]) for loss in pure]
    failures = Counter[float]()
    for loss in (loss for loss in losses if loss["type"] == "ApproxDP" and loss["delta"]):
        failures[loss["delta"]] += loss["count"]
    gaussian, laplace, needed = list[tuple[float, float, float]](), Pieces(), list[float]()
    sizes, fine_steps = [answer for _, answer in answers if answer["kind"] == "number of rows"], list[Any]()
    for i, answer in answers:
        parts = _check_shape(i, answer, axes)
        if answer["noise"] not in NOISE_TYPES:
            raise ContradictionError(
                f"answer {i} has no noise but was {answer['noise']}, and its entry pays for noise"
            )
        sensitivity = _sensitivity(i, answer, unit, parts, axes)
        if answer["noise"] == "discrete laplace":
            laplace.append((sensitivity / answer["scale"] / parts, parts))
        else:
            gaussian.append((sensitivity, answer["scale"], _granularity(i, answer)))
            fine_steps += [answer["values"] / gaussian[-1][2]] if gaussian[-1][2] < 1 else []
        if answer["kind"] in PARTITION_KINDS:
            needed.append(_failure_of_threshold(i, answer, sorted(failures), unit))
        elif answer["kind"] == "entropies":
            needed.append(_failure_of_entropies(i, answer, sizes, sorted(failures), unit))
    num_steps = sum(steps.size for steps in fine_steps)  # half are odd, within 8 standard deviations
    odd = sum(int((steps % 2 == 1).sum()) for steps in fine_steps)
    if num_steps >= MIN_PARITY_VALUES and abs(2 * odd - num_steps) > 8 * math.sqrt(num_steps):
        raise ContradictionError(
            f"noise is said to be on a finer lattice, and {odd} of {num_steps} values are on odd steps of it"
        )
    _check_failures(needed, failures)
    _check_gaussian(gaussian, squares)
    _check_laplace(laplace, epsilons)


def _check_failures(needed: Sequence[float], charged: Counter[float]) -> None:
    """Reject answers if the k-th largest failure charged is below the k-th largest needed."""
    # By Hall's theorem, each answer can then be matched to a failure of its own that is large enough.
    if len(needed) > (num_charged := charged.total()):
        raise ContradictionError(f"{len(needed)} answers may fail, and {num_charged} failures are charged")
    for failure in {*needed}:
        uses = sum(f >= failure for f in needed)
        available = sum(n for d, n in charged.items() if d >= failure)
        if uses > available:
            raise ContradictionError(
                f"{uses} answers need a failure of {failure:.6g} or more, of which {available} are charged"
            )


def _least_rows(size: Any, noise: str, failure: float, unit: ProtectedUnit) -> int:
    """Lower bound on the rows from their noisy number, up to a failure; 0 if there is none."""
    (noisy,), log_inverse = size["values"].tolist(), -math.log(failure) if failure else math.inf
    if size["noise"] != noise or math.isinf(log_inverse):
        return 0
    if noise == "discrete laplace":  # the noisy number itself, if it is large enough
        return int(noisy) if noisy >= 2 * math.ceil(log_inverse * size["scale"] / unit.rows - 1e-6) + 2 else 0
    return max(1, int(noisy) - math.ceil(size["scale"] * math.sqrt(2 * log_inverse) - 1e-6) - unit.rows)


def _granularity(i: int, answer: Any) -> float:
    """Spacing of the values of an answer; in units of it the noise is integer noise."""
    spacing = float(answer.get("granularity", 1.0))
    if not 0 < spacing <= 1 or math.frexp(spacing)[0] != 0.5:
        raise ContradictionError(f"answer {i} has granularity {spacing!r}, which is no power of two up to 1")
    return spacing


def _check_gaussian(gaussian: Sequence[tuple[float, float, float]], squares: Pieces) -> None:
    """Reject Gaussian answers (sensitivity, sigma, granularity) that cost more than is charged."""
    # Two measures: zero-concentrated privacy, and mu of continuous noise that dominates the integer noise.
    # Each is an upper bound for any split of a budget.
    costs: dict[str, Callable[[float], float]] = {
        "squares of sensitivity over sigma": lambda sigma: 1 / sigma, "squares of mu": discrete_mu,
    }  # fmt: skip
    for measure, cost in costs.items():
        spent = math.fsum((l2 / step * cost(sigma / step)) ** 2 for l2, sigma, step in gaussian)
        charged = math.fsum(count * cost(square**-0.5) ** 2 for square, count in squares)
        if spent > charged * (1 + _ROUNDING):
            raise _overspent(spent, charged, measure)


def _overspent(used: float, charged: float, measure: str) -> ContradictionError:
    summary = f"the answers spend {used:.6g} where {charged:.6g} is charged ({measure})"
    return ContradictionError(f"{summary}: one has less noise than its entry allows, or more were given")


def _check_laplace(spent: Pieces, charged: Pieces) -> None:
    """Reject Laplace answers unless each epsilon fits into a charged epsilon that still has room."""
    # Parts of a charged piece that sum to at most the piece cost no more than the piece (Lemma 2 (b) of
    # docs/explanation/proofs/composition.md). A fit spends its pieces in order, so its answers can be packed.
    if not (_can_pack(spent, charged) or _can_pack(sorted(spent, reverse=True), charged)):
        added, limit = (math.fsum(size * count for size, count in pieces) for pieces in (spent, charged))
        if added > limit * (1 + _ROUNDING):
            raise _overspent(added, limit, "epsilons of Laplace noise")
        raise ContradictionError(
            f"the epsilons of answers with Laplace noise ({added:.6g} in all) cannot each be taken from one "
            f"of those that are charged ({limit:.6g} in all)"
        )


def _can_pack(spent: Pieces, charged: Pieces) -> bool:
    """Best-fit packing: whether each piece, in this order, fits into the smallest sufficient one."""
    left = Counter[float]()
    for size, count in charged:
        left[size] += count
    sizes = sorted(left)
    for cost, number in spent:
        remaining = number if cost else 0
        while remaining:
            if (index := bisect_left(sizes, cost / (1 + _ROUNDING))) == len(sizes):
                return False
            size = sizes[index]
            fitting = max(1, int(size * (1 + _ROUNDING) / cost))  # the remainder stays smallest
            used_up, rest = divmod(taken := min(remaining, fitting * left[size]), fitting)
            remaining -= taken
            left[size] -= used_up + (rest > 0)
            if not left[size]:
                del sizes[index], left[size]
            for smaller, count in ((size - fitting * cost, used_up), (size - rest * cost, int(rest > 0))):
                if count and smaller > 0:
                    if smaller not in left:
                        insort(sizes, smaller)
                    left[smaller] += count
    return True


def _check_shape(i: int, answer: Any, axes: Sequence[Any]) -> int:
    """Check an answer's shape against its query; return how many numbers it is charged as."""
    kind, tables, details = answer["kind"], answer["tables"], answer["details"]
    if any(number >= len(axes) for table in tables for number in table):
        raise ContradictionError(f"answer {i} speaks of an axis that is not there")
    parts = len(tables[0]) * (len(tables[0]) + 1) if kind == "entropies" else 1
    numbers = {"entropies": parts, "present and missing": 2}
    numbers |= dict.fromkeys(("distances", "products"), len(tables))
    numbers |= dict.fromkeys(ROW_COUNT_KINDS, 1)
    expected: tuple[int, ...] | None = (numbers[kind],) if kind in numbers else None
    if kind == "counts":
        expected = tuple(int(axes[number]["buckets"].max()) + 1 for number in tables[0])
    elif kind == "runs":
        expected = details["first"].shape
    elif kind in PARTITION_KINDS:
        expected = (len(details["found"]) + len(details["public"]),)
    if expected is not None and answer["values"].shape != expected:
        raise ContradictionError(
            f"answer {i} ({kind}) has shape {answer['values'].shape}, and its question {expected}"
        )
    return parts


def _sensitivity(i: int, answer: Any, unit: ProtectedUnit, parts: int, axes: Sequence[Any]) -> float:
    """Sensitivity of the exact answer to one unit: Euclidean, or in total for Laplace noise."""
    kind, is_laplace = answer["kind"], answer["noise"] == "discrete laplace"
    if kind in ROW_COUNT_KINDS or (kind == "counts" and is_laplace):
        return unit.rows
    if kind in HISTOGRAM_KINDS and not is_laplace:
        return unit.l2
    if kind == "distances" and not is_laplace:
        return unit.l1 * math.sqrt(len(answer["tables"]))
    if kind == "products" and not is_laplace:
        return unit.l1 * _length_of_products(i, answer, axes)
    if kind != "entropies":
        raise UncheckableError(f"answer {i} is to a question of its own, whose sensitivity is in no file")
    c, n = unit.rows, int(answer["details"]["least_rows"])
    bits = (2 + 1 / math.log(2) + 2 * math.log2(max(1, n))) / max(1, n)  # as printed in the paper, Lemma 1
    if not is_laplace:
        n = max(1, n - c) if unit.is_replaced else n
        bits = ((n + c) * math.log2(n + c) - (n * math.log2(n) if n else 0)) / (n + c)
    return (math.ceil(bits / answer["details"]["grid"] - 1e-6) + 1) * (parts if is_laplace else parts**0.5)


def _length_of_products(i: int, answer: Any, axes: Sequence[Any]) -> float:
    """Largest length of one row's products of scores: one product for each pair of columns."""
    sizes: dict[str, int] = {}
    for number in itertools.chain.from_iterable(answer["tables"]):
        size = int(axes[number]["buckets"].max()) + 1
        if sizes.setdefault(axes[number]["column"], size) != size:
            raise ContradictionError(f"answer {i} (products) has several axes of one column")
    scores = answer["details"].get("scores")
    is_whole = isinstance(scores, np.ndarray) and scores.dtype.kind == "i"
    if any(len(table) != 2 for table in answer["tables"]) or not (
        sizes and is_whole and scores.shape == (sum(sizes.values()),)
    ):
        raise ContradictionError(f"answer {i} (products) is not of pairs with a score for each bucket")
    parts = np.split(scores, np.cumsum(list(sizes.values()))[:-1])
    largest = {name: max(int(part.max()), -int(part.min())) for name, part in zip(sizes, parts, strict=True)}
    pairs = ([axes[number]["column"] for number in table] for table in answer["tables"])
    return math.sqrt(sum((largest[first] * largest[second]) ** 2 for first, second in pairs))


def _least_failure(failures: Sequence[float], allows: Callable[[float], bool]) -> float | None:
    """Smallest of some sorted failures that passes a monotone test."""
    index = bisect_left(failures, True, key=allows)
    return failures[index] if index < len(failures) else None


def _failure_of_threshold(i: int, answer: Any, failures: Sequence[float], unit: ProtectedUnit) -> float:
    """Smallest failure whose threshold every reported value reaches; an error if there is none."""
    if not failures:
        raise ContradictionError(
            f"answer {i} names values, and no entry pays for what their threshold may fail with"
        )
    smallest_count = answer["values"][len(answer["details"]["public"]) :].min(initial=LARGEST)
    smallest = _least_failure(
        failures, lambda failure: smallest_count >= threshold(answer["scale"], failure, unit)
    )
    if smallest is None:
        limit = threshold(answer["scale"], failures[-1], unit)
        raise ContradictionError(
            f"answer {i} names a value that {smallest_count} rows hold, below its threshold {limit}"
        )
    return smallest


def threshold(sigma: float, failure: float, unit: ProtectedUnit) -> int:
    """Smallest noisy count at which a value may be reported."""
    return MIN_UNITS * unit.rows + math.ceil(sigma * float(norm.isf(failure / unit.l1)) - 1e-6) + 1


def _failure_of_entropies(
    i: int, answer: Any, sizes: Sequence[Any], failures: Sequence[float], unit: ProtectedUnit
) -> float:
    """Smallest failure at which the noisy number of rows supports ``least_rows``."""

    def most(failure: float) -> int:
        return max((_least_rows(size, answer["noise"], failure, unit) for size in sizes), default=0)

    least_rows = answer["details"]["least_rows"]
    smallest = _least_failure(failures, lambda failure: 0 < least_rows <= most(failure))
    if smallest is None:
        allowed = most(failures[-1]) if failures else 0
        raise ContradictionError(f"answer {i}: least_rows may be {allowed} by the noisy number of rows")
    return smallest
