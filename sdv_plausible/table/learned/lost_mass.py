"""Estimate how learned domains affect rows: values kept exactly, binned, replaced, or missing.

The estimates use released answers and the released domain only, so that anyone can reproduce them.
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
from sdv_plausible.table.cells.dates import utc_to_local
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.learned.raw_queries import NoisyCount, PrecisionCounts, counts_points, weighted_mean
from sdv_plausible.table.learned.value_grid import MOST_DECIMALS, TOP, Run, Shown, ValueGrid
from sdv_plausible.utils.messages import ColumnNote

NAMED = 0.10  # possible loss, as a share of the rows, from which a column is named in a warning
MOST_LEVELS = 100  # largest number of RunCounts answers per column
LIKELY = 1.64  # standard deviations of noise added to the estimate of a possible loss


@dataclass(frozen=True, kw_only=True)
class LostMass:
    """Estimated shares of a column's rows whose values are exact, binned, replaced or missing.

    ``uncertainty`` is the standard deviation of ``replaced``, the share of out-of-domain cells.
    """

    column: str
    exact: float
    merged: float
    replaced: float
    missing: float
    uncertainty: float

    @property
    def most(self) -> float:
        """Upper confidence limit of the share of replaced values."""
        return min(1.0, self.replaced + LIKELY * self.uncertainty)


def estimate_lost_mass(domain: Domain, answers: Sequence[NoisyAnswer]) -> list[LostMass]:
    """Estimates for every privately learned column whose answers are available."""
    sizes = [answer for answer in answers if answer.asked.kind == "number of rows"]
    if not sizes or float(sizes[0].values.ravel()[0]) < 1:
        return []
    size = float(sizes[0].values.ravel()[0]), sizes[0].scale ** 2
    estimates = []
    for attribute in domain:
        column_answers = [answer for answer in answers if answer.asked.columns == (attribute.name,)]
        if attribute.provenance == "private" and column_answers:
            estimates += [_lost_mass(attribute, column_answers, size)]
    return estimates


def answers_fault(domain: Domain, answers: Sequence[NoisyAnswer]) -> str | None:
    """The rule that answers read by :func:`estimate_lost_mass` break, or None."""
    row_counts = [answer for answer in answers if answer.asked.kind == "number of rows"]
    if any(answer.values.size != 1 for answer in row_counts):
        return "must have one number as the number of rows"
    attributes: dict[tuple[str, ...], Attribute] = {(attribute.name,): attribute for attribute in domain}
    levels = Counter(answer.asked.columns for answer in answers if answer.asked.kind == "runs")
    if max(levels.values(), default=0) > MOST_LEVELS:
        return f"must count the runs of a column at most {MOST_LEVELS} times"
    for answer in answers:
        attribute = attributes.get(answer.asked.columns)
        if answer.asked.kind not in _KINDS or attribute is None or attribute.provenance != "private":
            continue
        if answer.values.ndim != 1 or not _is_consistent(answer.asked, len(answer.values), attribute):
            return f"must have the details and values of a query of kind {answer.asked.kind}"
    return None


def _is_consistent(record: QueryRecord, size: int, attribute: Attribute) -> bool:
    """Whether a record has the details of its kind, and as many as the values."""
    details = record.details
    match record.kind:
        case "present and missing":
            return size == 2
        case "precision":
            texts = _tuple_detail(details, "beside")
            return texts is not None and {str}.issuperset(map(type, texts)) and size > len(texts) + 2
        case "frequent values":
            public, values = _tuple_detail(details, "public"), _tuple_detail(details, "found")
            return None not in (public, values) and size == len(public or ()) + len(values or ())
    if not _is_grid(details) or attribute.kind != details["kind"]:
        return False
    if record.kind == "frequent points":
        values = _tuple_detail(details, "found")
        return values is not None and size == len(values) and {int}.issuperset(map(type, values))
    first, last, without = (details.get(name) for name in ("first", "last", "without"))
    are_arrays = all(isinstance(array, np.ndarray) for array in (first, last, without))
    if not are_arrays or first is None or last is None or not size == len(first) == len(last):
        return False
    return bool((first <= last).all() and (first[1:] > last[:-1]).all())


def _tuple_detail(details: Mapping[str, Any], name: str) -> tuple[Any, ...] | None:
    value = details.get(name)
    return value if isinstance(value, tuple) else None


def _is_grid(details: Mapping[str, Any]) -> bool:
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
    """Table of all modelled columns: number of codes, and the shares of :class:`LostMass` if learned.

    ``others``: upper limit of the share of cells of another kind, for columns with an inferred type.
    """
    other_kind = others or {}
    estimates = {mass.column: mass for mass in estimate_lost_mass(domain, answers)}
    shares = ("exact", "merged", "replaced", "uncertainty", "missing")
    rows = [
        {
            "column": attribute.name, "kind": attribute.kind, "codes": attribute.cardinality,
            "domain": attribute.provenance,
            **{name: getattr(estimates.get(attribute.name), name, math.nan) for name in shares},
            "other_kind": other_kind.get(
                attribute.name, other_kind.get(attribute.name.rpartition(": ")[0], math.nan)
            ),
        }
        for attribute in domain
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["column", "kind", "codes", "domain", *shares, "other_kind"]).set_index(
        "column"
    )


def lost_mass_warnings(domain: Domain, answers: Sequence[NoisyAnswer]) -> list[str]:
    """Warning that names the columns whose possible loss exceeds ``NAMED``."""
    lossy = [mass for mass in estimate_lost_mass(domain, answers) if mass.most > NAMED]
    if not lossy:
        return []
    return [
        ColumnNote(
            {mass.column: f"up to {mass.most:.0%}" for mass in lossy},
            "of the values may be lost to the noise and replaced by more common ones",
            "Declare values or a range (domain=...), or raise epsilon.",
        )
    ]


def _lost_mass(attribute: Attribute, answers: Sequence[NoisyAnswer], size: NoisyCount) -> LostMass:
    by_kind = {kind: [answer for answer in answers if answer.asked.kind == kind] for kind in _KINDS}
    missing: NoisyCount | None = None
    for answer in by_kind["present and missing"]:
        missing = float(answer.values[-1]), answer.scale**2
    text_counts: list[NoisyCount] = []  # texts in the domain, such as placeholder dates
    for answer in by_kind["precision"]:
        levels, noise = PrecisionCounts.of(answer.values, answer.asked), answer.scale**2
        counts = (levels.missing, *levels.lost(attribute.texts, answer.scale))
        missing = _sum((count, noise) for count in counts)
        text_counts = [(count, noise) for text, count in levels.beside.items() if text in attribute.texts]
    exact: NoisyCount = _sum(text_counts)
    replaced: NoisyCount = 0.0, 0.0
    if by_kind["frequent values"]:
        value_counts, missing = _mean_value_counts(by_kind["frequent values"])
        exact = _sum(value_counts.values())
        replaced = _subtract(size, exact, missing)
    elif by_kind["runs"]:
        not_numbers = None if missing is None else _sum([missing, *text_counts])
        tree = _RunTree.of(attribute, by_kind["runs"], by_kind["frequent points"])
        single_rows, replaced = tree.shares(size, not_numbers)
        exact = _sum([exact, single_rows])
    elif attribute.cardinality == 1 and attribute.nullable and missing is not None:
        replaced = _subtract(size, missing)  # no value was learned
    if missing is not None and not attribute.nullable and by_kind["precision"]:  # they get random values
        replaced, missing = _sum([replaced, (max(missing[0], 0.0), missing[1])]), None
    rows = size[0]
    missing_share = 0.0 if missing is None else float(np.clip(missing[0] / rows, 0, 1))
    replaced_share = float(np.clip(replaced[0] / rows, 0, 1 - missing_share))
    exact_share = float(np.clip(exact[0] / rows, 0, 1 - missing_share - replaced_share))
    if by_kind["present and missing"]:
        exact_share = 1 - missing_share
    return LostMass(
        column=attribute.name,
        exact=exact_share,
        merged=max(0.0, 1 - exact_share - replaced_share - missing_share),
        replaced=replaced_share,
        missing=missing_share,
        uncertainty=math.sqrt(replaced[1]) / rows,
    )


_KINDS = ("precision", "present and missing", "frequent values", "frequent points", "runs")


def _mean_value_counts(answers: Sequence[NoisyAnswer]) -> tuple[dict[Any, NoisyCount], NoisyCount]:
    """Weighted means of the counts of several rounds: of values, and of missing cells."""
    sums: dict[Any, tuple[float, float]] = {}
    for answer in answers:
        weight = 1 / max(answer.scale, 1e-9) ** 2
        public_cells = len(answer.asked.details["public"])
        keys = [None] * public_cells + [(type(v) is bool, v) for v in answer.asked.details["found"]]
        for key, count in zip(keys, answer.values.tolist(), strict=True):
            counted, weights = sums.get(key, (0.0, 0.0))
            sums[key] = counted + weight * count, weights + weight
    means = {key: (counted / weights, 1 / weights) for key, (counted, weights) in sums.items()}
    return means, means.pop(None, (0.0, 0.0))


def _sum(counts: Any) -> NoisyCount:
    terms = list(counts)
    return math.fsum(count for count, _ in terms), math.fsum(variance for _, variance in terms)


def _subtract(total: NoisyCount, *parts: NoisyCount) -> NoisyCount:
    """A noisy count minus noisy parts of it."""
    count, variance = _sum(parts)
    return total[0] - count, total[1] + variance


@dataclass
class _Node:
    """A counted run, and its parts counted later."""

    first: int
    last: int
    count: NoisyCount
    parts: list[_Node] = field(default_factory=list)
    replaced_rows: NoisyCount | None = None  # cached


@dataclass(frozen=True)
class _RunTree:
    """The counted runs of a column of numbers or dates, and its bins."""

    top: list[_Node]
    bins: np.ndarray  # first and last points, shape (bins, 2)
    single_counts: (
        list[NoisyCount] | None
    )  # counts of the points excluded from all runs; None if some are unknown

    @classmethod
    def of(
        cls, attribute: Attribute, runs: Sequence[NoisyAnswer], frequent: Sequence[NoisyAnswer]
    ) -> _RunTree:
        details = runs[0].asked.details
        grid = ValueGrid(
            kind=details["kind"], decimals=details["decimals"], unit=details["unit"],
            shown=details.get("shown", "moments"),
        )  # fmt: skip
        dtype = np.int64 if grid.kind == "datetime" else np.float64
        ends = [
            grid.index(utc_to_local(np.array(end, dtype=dtype), attribute.time_zone))
            for end in (attribute.lower, attribute.upper)
        ]
        counts: dict[int, NoisyCount] = {}
        for answer in frequent:
            frequent_points = zip(answer.asked.details["found"], answer.values.tolist(), strict=True)
            counts |= {int(point): (float(count), answer.scale**2) for point, count in frequent_points}
        levels = list(runs)
        if len(levels) > 1 and counts_points(levels[0].asked.details):
            point_level = levels.pop(0)
            points = zip(
                np.asarray(point_level.asked.details["first"]).tolist(),
                point_level.values.tolist(),
                strict=True,
            )
            counts |= {point: (float(count), point_level.scale**2) for point, count in points}
        excluded = [int(point) for point in np.asarray(levels[0].asked.details["without"]).tolist()]
        excluded_counts = [counts[point] for point in excluded if point in counts]
        return cls(
            _build_trees(levels),
            np.stack(ends, axis=1),
            excluded_counts if len(excluded_counts) == len(excluded) else None,
        )

    def shares(self, size: NoisyCount, missing: NoisyCount | None) -> tuple[NoisyCount, NoisyCount]:
        """Rows with a single-value bin, and rows whose values are in no bin."""
        exact = _sum(self.single_counts or [])
        replaced = self._replaced(self.top)
        for node in self._leaves(self.top):
            if node.first == node.last and self._overlaps(node.first, node.last):
                exact = _sum([exact, node.count])
        if self.single_counts is not None and missing is not None:
            inside = [node.count for node in self.top if self._overlaps(node.first, node.last)]
            replaced_inside = self._replaced(
                [node for node in self.top if self._overlaps(node.first, node.last)]
            )
            outside = _subtract(size, missing, *self.single_counts, *inside)
            replaced = weighted_mean(replaced, _sum([outside, replaced_inside]))
        return exact, replaced

    def _overlaps(self, first: int, last: int) -> bool:
        """Whether a bin overlaps the run."""
        index = int(np.searchsorted(self.bins[:, 0], last, side="right")) - 1
        return index >= 0 and int(self.bins[index, 1]) >= first

    def _replaced(self, nodes: Sequence[_Node]) -> NoisyCount:
        """Rows in these runs whose values are in no bin."""
        return _sum(map(self._cached_replaced, nodes))

    def _cached_replaced(self, node: _Node) -> NoisyCount:
        """Rows in a run whose values are in no bin, cached."""
        if node.replaced_rows is None:
            node.replaced_rows = self._compute_replaced(node)
        return node.replaced_rows

    def _compute_replaced(self, node: _Node) -> NoisyCount:
        if not self._overlaps(node.first, node.last):
            return node.count
        if not node.parts:
            return 0.0, 0.0
        inside = [part for part in node.parts if self._overlaps(part.first, part.last)]
        if len(inside) == len(node.parts):
            return self._replaced(node.parts)
        rest = _subtract(node.count, *(part.count for part in inside))
        return weighted_mean(self._replaced(node.parts), _sum([rest, self._replaced(inside)]))

    def _leaves(self, nodes: Sequence[_Node]) -> list[_Node]:
        return [leaf for node in nodes for leaf in (self._leaves(node.parts) if node.parts else [node])]


def _build_trees(levels: Sequence[NoisyAnswer]) -> list[_Node]:
    """The runs of the first level as trees of parts."""
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
        split, fresh = set(), list[_Node]()
        for node in nodes:
            index = int(np.searchsorted(starts, node.first, side="right")) - 1
            if index >= 0 and (leaves[index].first, leaves[index].last) == (node.first, node.last):
                leaves[index].count = weighted_mean(
                    leaves[index].count, node.count
                )  # the same run, counted again
                continue
            fresh.append(node)
            if index >= 0 and leaves[index].last >= node.last:
                leaves[index].parts.append(node)
                split.add(index)
        unsplit = [leaf for i, leaf in enumerate(leaves) if i not in split]
        leaves = sorted([*unsplit, *fresh], key=lambda node: node.first)
    return top
