"""What became of a learned column's rows: kept exactly, kept as ranges, replaced, or missing.

All of it is computed from released answers and the released domain, so that anyone can compute it again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np
import pandas as pd

from sdv_plausible.queries.count_queries import QueryRecord
from sdv_plausible.queries.transcript import NoisyAnswer
from sdv_plausible.table.cells.dates import on_clocks
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.learned.raw_queries import PrecisionCounts, counts_points
from sdv_plausible.table.learned.value_grid import MOST_DECIMALS, TOP, Run, Shown, ValueGrid

NAMED = 0.10  # share of a column's rows from which a possible loss is named
MOST_LEVELS = 100  # of runs, each within the ones before
LIKELY = 1.64  # standard deviations of the noise that "possible" allows for
Noisy = tuple[float, float]
"""A noisy count, and the variance of its noise."""


@dataclass(frozen=True, kw_only=True)
class LostMass:
    """Shares of a column's rows, by what became of their values.

    ``exact``, ``merged``, ``replaced`` and ``missing`` are estimates. ``uncertainty`` is the standard
    deviation of ``replaced``, the share of values that the domain does not hold.
    """

    column: str
    exact: float
    merged: float
    replaced: float
    missing: float
    uncertainty: float

    @property
    def most(self) -> float:
        """Share of the rows that may have lost their value."""
        return min(1.0, self.replaced + LIKELY * self.uncertainty)


def masses(domain: Domain, answers: Sequence[NoisyAnswer]) -> list[LostMass]:
    """The ledger of mass of every column that was learned privately, where its answers are known."""
    sizes = [answer for answer in answers if answer.asked.kind == "number of rows"]
    if not sizes or float(sizes[0].values.ravel()[0]) < 1:
        return []
    size = float(sizes[0].values.ravel()[0]), sizes[0].scale ** 2
    found = []
    for attribute in domain:
        own = [answer for answer in answers if answer.asked.columns == (attribute.name,)]
        if attribute.provenance == "private" and own:
            found += [_mass(attribute, own, size)]
    return found


def fault_of(domain: Domain, answers: Sequence[NoisyAnswer]) -> str | None:
    """What no honest question has, of answers that the ledger of mass would be computed from."""
    of_rows = [answer for answer in answers if answer.asked.kind == "number of rows"]
    if any(answer.values.size != 1 for answer in of_rows):
        return "must have one number as the number of rows"
    attributes: dict[tuple[str, ...], Attribute] = {(attribute.name,): attribute for attribute in domain}
    levels = Counter(answer.asked.columns for answer in answers if answer.asked.kind == "runs")
    if max(levels.values(), default=0) > MOST_LEVELS:
        return f"must count the runs of a column at most {MOST_LEVELS} times"
    for answer in answers:
        attribute = attributes.get(answer.asked.columns)
        if answer.asked.kind not in _KINDS or attribute is None or attribute.provenance != "private":
            continue
        if answer.values.ndim != 1 or not _is_honest(answer.asked, len(answer.values), attribute):
            return f"must have the details of a question about {answer.asked.kind}, and its values"
    return None


def _is_honest(asked: QueryRecord, size: int, attribute: Attribute) -> bool:
    """Whether a question about a column has the details that its kind has, and as many values."""
    details = asked.details
    match asked.kind:
        case "present and missing":
            return size == 2
        case "precision":
            beside = _tuple(details, "beside")
            return beside is not None and {str}.issuperset(map(type, beside)) and size > len(beside) + 2
        case "frequent values":
            public, found = _tuple(details, "public"), _tuple(details, "found")
            return None not in (public, found) and size == len(public or ()) + len(found or ())
    if not _is_lattice(details) or attribute.kind != details["kind"]:
        return False
    if asked.kind == "frequent points":
        found = _tuple(details, "found")
        return found is not None and size == len(found) and {int}.issuperset(map(type, found))
    first, last, without = (details.get(name) for name in ("first", "last", "without"))
    arrays = all(isinstance(part, np.ndarray) for part in (first, last, without))
    if not arrays or first is None or last is None or not size == len(first) == len(last):
        return False
    return bool((first <= last).all() and (first[1:] > last[:-1]).all())


def _tuple(details: Mapping[str, Any], name: str) -> tuple[Any, ...] | None:
    value = details.get(name)
    return value if isinstance(value, tuple) else None


def _is_lattice(details: Mapping[str, Any]) -> bool:
    decimals, unit, shown = details.get("decimals"), details.get("unit"), details.get("shown", "moments")
    return (
        type(details.get("kind")) is str
        and (decimals is None or (type(decimals) is int and 0 <= decimals <= MOST_DECIMALS))
        and type(unit) is int
        and 0 < unit < TOP
        and type(shown) is str
        and shown in get_args(Shown)
    )


def columns_frame(
    domain: Domain, answers: Sequence[NoisyAnswer], others: Mapping[str, float] | None = None
) -> pd.DataFrame:
    """What became of every modelled column: its codes, and shares of its rows where it was learned.

    ``others``: of columns whose types were voted for, the share of cells that may be of another kind.
    """
    voted = others or {}
    known = {mass.column: mass for mass in masses(domain, answers)}
    shares = ("exact", "merged", "replaced", "uncertainty", "missing")
    rows = [
        {
            "column": attribute.name, "kind": attribute.kind, "codes": attribute.cardinality,
            "domain": attribute.provenance,
            **{name: getattr(known.get(attribute.name), name, math.nan) for name in shares},
            "other_kind": voted.get(attribute.name, voted.get(attribute.name.rpartition(": ")[0], math.nan)),
        }
        for attribute in domain
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["column", "kind", "codes", "domain", *shares, "other_kind"]).set_index(
        "column"
    )


def of_mass(domain: Domain, answers: Sequence[NoisyAnswer]) -> list[str]:
    """Name the columns that may have lost more than a tenth of their rows' values."""
    lost = [mass for mass in masses(domain, answers) if mass.most > NAMED]
    if not lost:
        return []
    names = [f"{mass.column} (up to {mass.most:.0%})" for mass in lost]
    return [
        f"{', '.join(names)}: these shares of the values may be lost to the noise and replaced by more "
        "common ones. Declare ranges or values of these columns (domain=...), leave columns out, or give "
        "more epsilon"
    ]


def _mass(attribute: Attribute, answers: Sequence[NoisyAnswer], size: Noisy) -> LostMass:
    known = {kind: [a for a in answers if a.asked.kind == kind] for kind in _KINDS}
    missing: Noisy | None = None
    for answer in known["present and missing"]:
        missing = float(answer.values[-1]), answer.scale**2
    beside: list[Noisy] = []  # texts that the column keeps, such as dates for "never"
    for answer in known["precision"]:
        levels, noise = PrecisionCounts.of(answer.values, answer.asked), answer.scale**2
        gone = (levels.missing, *levels.lost(attribute.texts, answer.scale))
        missing = _sum((count, noise) for count in gone)
        beside = [(count, noise) for text, count in levels.beside.items() if text in attribute.texts]
    exact: Noisy = _sum(beside)
    moved: Noisy = 0.0, 0.0
    if known["frequent values"]:
        found, missing = _of_values(known["frequent values"])
        exact = _sum(found.values())
        moved = _less(size, exact, missing)
    elif known["runs"]:
        others = None if missing is None else _sum([missing, *beside])
        single, moved = _Runs.of(attribute, known["runs"], known["frequent points"]).shares(size, others)
        exact = _sum([exact, single])
    elif attribute.cardinality == 1 and attribute.nullable and missing is not None:
        moved = _less(size, missing)  # no value was learned
    if missing is not None and not attribute.nullable and known["precision"]:  # they get random values
        moved, missing = _sum([moved, (max(missing[0], 0.0), missing[1])]), None
    rows = size[0]
    absent = 0.0 if missing is None else float(np.clip(missing[0] / rows, 0, 1))
    replaced = float(np.clip(moved[0] / rows, 0, 1 - absent))
    alone = float(np.clip(exact[0] / rows, 0, 1 - absent - replaced))
    if known["present and missing"]:
        alone = 1 - absent
    return LostMass(
        column=attribute.name, exact=alone, merged=max(0.0, 1 - alone - replaced - absent),
        replaced=replaced, missing=absent, uncertainty=math.sqrt(moved[1]) / rows,
    )  # fmt: skip


_KINDS = ("precision", "present and missing", "frequent values", "frequent points", "runs")


def _of_values(looks: Sequence[NoisyAnswer]) -> tuple[dict[Any, Noisy], Noisy]:
    """Values that were found, and missing cells: means of what several looks counted."""
    sums: dict[Any, tuple[float, float]] = {}
    for look in looks:
        weight = 1 / max(look.scale, 1e-9) ** 2
        public = len(look.asked.details["public"])
        names = [None] * public + [(type(v) is bool, v) for v in look.asked.details["found"]]
        for name, count in zip(names, look.values.tolist(), strict=True):
            counted, weights = sums.get(name, (0.0, 0.0))
            sums[name] = counted + weight * count, weights + weight
    means = {name: (counted / weights, 1 / weights) for name, (counted, weights) in sums.items()}
    return means, means.pop(None, (0.0, 0.0))


def _sum(counts: Any) -> Noisy:
    known = list(counts)
    return math.fsum(count for count, _ in known), math.fsum(variance for _, variance in known)


def _less(whole: Noisy, *parts: Noisy) -> Noisy:
    """What is left of a noisy count without noisy parts of it."""
    count, variance = _sum(parts)
    return whole[0] - count, whole[1] + variance


def _mean(one: Noisy, other: Noisy) -> Noisy:
    """The best of two estimates of one number."""
    if not one[1] or not other[1]:
        return one if not one[1] else other
    a, b = 1 / one[1], 1 / other[1]
    return (one[0] * a + other[0] * b) / (a + b), 1 / (a + b)


@dataclass
class _Node:
    """A run that was counted, and the parts of it that were counted later."""

    first: int
    last: int
    count: Noisy
    parts: list[_Node] = field(default_factory=list)
    moved: Noisy | None = None  # once it is known


@dataclass(frozen=True)
class _Runs:
    """The levels of counted runs of a column of numbers or dates, and its bins."""

    top: list[_Node]
    bins: np.ndarray  # first and last points, shape (bins, 2)
    alone: list[Noisy] | None  # counts of the points that no level counts; None where some are not known

    @classmethod
    def of(cls, attribute: Attribute, runs: Sequence[NoisyAnswer], frequent: Sequence[NoisyAnswer]) -> _Runs:
        details = runs[0].asked.details
        lattice = ValueGrid(
            kind=details["kind"], decimals=details["decimals"], unit=details["unit"],
            shown=details.get("shown", "moments"),
        )  # fmt: skip
        number = np.int64 if lattice.kind == "datetime" else np.float64
        ends = [
            lattice.index(on_clocks(np.array(end, dtype=number), attribute.time_zone))
            for end in (attribute.lower, attribute.upper)
        ]
        counts: dict[int, Noisy] = {}
        for answer in frequent:
            found = zip(answer.asked.details["found"], answer.values.tolist(), strict=True)
            counts |= {int(point): (float(count), answer.scale**2) for point, count in found}
        levels = list(runs)
        if len(levels) > 1 and counts_points(levels[0].asked.details):
            first = levels.pop(0)
            points = zip(
                np.asarray(first.asked.details["first"]).tolist(), first.values.tolist(), strict=True
            )
            counts |= {point: (float(count), first.scale**2) for point, count in points}
        without = [int(point) for point in np.asarray(levels[0].asked.details["without"]).tolist()]
        alone = [counts[point] for point in without if point in counts]
        return cls(_tree(levels), np.stack(ends, axis=1), alone if len(alone) == len(without) else None)

    def shares(self, size: Noisy, missing: Noisy | None) -> tuple[Noisy, Noisy]:
        """Rows of single values that stand alone, and rows whose values are in no bin."""
        exact = _sum(self.alone or [])
        moved = self._moved(self.top)
        for node in self._leaves(self.top):
            if node.first == node.last and self._holds(node.first, node.last):
                exact = _sum([exact, node.count])
        if self.alone is not None and missing is not None:
            inside = [node.count for node in self.top if self._holds(node.first, node.last)]
            deeper = self._moved([n for n in self.top if self._holds(n.first, n.last)])
            beyond = _less(size, missing, *self.alone, *inside)
            moved = _mean(moved, _sum([beyond, deeper]))
        return exact, moved

    def _holds(self, first: int, last: int) -> bool:
        """Whether a bin has a point of this run."""
        place = int(np.searchsorted(self.bins[:, 0], last, side="right")) - 1
        return place >= 0 and int(self.bins[place, 1]) >= first

    def _moved(self, nodes: Sequence[_Node]) -> Noisy:
        """Rows of these runs whose values are in no bin."""
        return _sum(map(self._moved_of, nodes))

    def _moved_of(self, node: _Node) -> Noisy:
        """The same of one run; asked for twice where a run has parts, and computed once."""
        if node.moved is None:
            node.moved = self._new_moved(node)
        return node.moved

    def _new_moved(self, node: _Node) -> Noisy:
        if not self._holds(node.first, node.last):
            return node.count
        if not node.parts:
            return 0.0, 0.0
        inside = [part for part in node.parts if self._holds(part.first, part.last)]
        if len(inside) == len(node.parts):
            return self._moved(node.parts)
        rest = _less(node.count, *(part.count for part in inside))
        return _mean(self._moved(node.parts), _sum([rest, self._moved(inside)]))

    def _leaves(self, nodes: Sequence[_Node]) -> list[_Node]:
        return [leaf for node in nodes for leaf in (self._leaves(node.parts) if node.parts else [node])]


def _tree(levels: Sequence[NoisyAnswer]) -> list[_Node]:
    """The runs of the first level, each with its parts."""
    top: list[_Node] = []
    leaves: list[_Node] = []
    for level in levels:
        runs: list[Run] = list(
            zip(*(np.asarray(level.asked.details[end]).tolist() for end in ("first", "last")), strict=True)
        )
        nodes = [
            _Node(int(first), int(last), (float(count), level.scale**2))
            for (first, last), count in zip(runs, level.values.tolist(), strict=True)
        ]
        if not top:
            top = leaves = nodes
            continue
        starts = [leaf.first for leaf in leaves]
        split, new = set(), list[_Node]()
        for node in nodes:
            place = int(np.searchsorted(starts, node.first, side="right")) - 1
            if place >= 0 and (leaves[place].first, leaves[place].last) == (node.first, node.last):
                leaves[place].count = _mean(leaves[place].count, node.count)  # counted again
                continue
            new.append(node)
            if place >= 0 and leaves[place].last >= node.last:
                leaves[place].parts.append(node)
                split.add(place)
        stay = [leaf for i, leaf in enumerate(leaves) if i not in split]
        leaves = sorted([*stay, *new], key=lambda node: node.first)
    return top
