"""Categories whose values are learned under a budget: all at once, and twice where they are several.

The first look tells which columns hold many rows of values that it did not find; the second shares most
of the budget by that. Both are questions for values that occur, each with its threshold
(docs/explanation/proofs/private_domain.md, Lemma 2); how the second shares is post-processing of the first.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from sdv_plausible.queries.partition_selection import FrequentValueCounts
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.table.columns.domain import Attribute
from sdv_plausible.table.learned.private_domain import FIRST, DomainPlan
from sdv_plausible.table.learned.raw_queries import PRESENT, Flagged, FrequentValues, in_public_order

Noisy = tuple[float, float]
"""A noisy count, and the variance of its noise."""


class _CommonValues(NamedTuple):
    """Values that passed, how many rows hold which, and how many cells are missing."""

    values: Mapping[Flagged, Noisy]
    missing: Noisy

    @classmethod
    def of(cls, found: FrequentValueCounts) -> _CommonValues:
        """What one look found."""
        variance = found.sigma**2
        counts = zip(found.values, found.counts.tolist(), strict=True)
        return cls({value: (count, variance) for value, count in counts}, (float(found.public[0]), variance))

    def and_again(self, other: _CommonValues) -> _CommonValues:
        """What either look found; means of what both counted, each in proportion to how sure it is."""
        found = {**self.values, **other.values}
        found |= {v: _mean(self.values[v], other.values[v]) for v in self.values.keys() & other.values.keys()}
        return _CommonValues(
            {v: found[v] for v in in_public_order(found)}, _mean(self.missing, other.missing)
        )

    def others(self, size: Noisy) -> tuple[float, float]:
        """Rows of values that did not pass, what is left of all, and the standard deviation of that."""
        counts = [*self.values.values(), self.missing]
        deviation = math.sqrt(size[1] + math.fsum(variance for _, variance in counts))
        return size[0] - math.fsum(count for count, _ in counts), deviation

    def attribute(self, name: str, sdtype: str, size: Noisy, *, may_miss: bool) -> Attribute:
        """Values, rows of each and of others, and missing if there are such cells or no value was found."""
        counts: dict[Any, float] = {}
        for (_, value), (count, _) in self.values.items():  # True and 1 are one value to pandas
            known = sys.intern(value) if isinstance(value, str) else value  # a pickle tells one from two
            counts[known] = counts.get(known, 0.0) + count
        absent, variance = self.missing
        others, deviation = self.others(size)
        shown = (*counts.values(), others if others > PRESENT * deviation else 0.0)
        return Attribute(
            name=name, kind="ordinal" if sdtype == "ordinal" else "categorical", values=tuple(counts),
            nullable=(may_miss and absent > PRESENT * math.sqrt(variance)) or not counts,
            counts=tuple(max(0, round(count)) for count in shown) if counts else None,
            provenance="private",
        )  # fmt: skip


def learn_categories(rows: Queryable, plan: DomainPlan, size: Noisy) -> dict[str, Attribute]:
    """Learn the domains of the plan's categories; ``size`` is the number of rows."""

    def look(name: str, share: float) -> _CommonValues:
        return _CommonValues.of(rows.ask_frequent(FrequentValues(name), share, plan.failure))

    whole = {name: plan.share(name) for name in plan.categories}
    part = FIRST if plan.looks_twice else 1.0
    held = {name: look(name, part * share) for name, share in whole.items()}
    if plan.looks_twice:
        # No column is left out: of one that seems learned, noise may hide as many rows as its deviation says.
        lost = {name: math.sqrt(max(found.others(size))) for name, found in held.items()}
        each = (1 - part) * math.fsum(whole.values()) / math.fsum(lost.values())
        held = {name: found.and_again(look(name, each * lost[name])) for name, found in held.items()}
    return {
        name: found.attribute(name, plan.columns[name], size, may_miss=name not in plan.never_missing)
        for name, found in held.items()
    }


def _mean(one: Noisy, other: Noisy) -> Noisy:
    a, b = 1 / one[1], 1 / other[1]
    return (one[0] * a + other[0] * b) / (a + b), 1 / (a + b)
