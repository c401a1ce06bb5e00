"""Learn the values of categorical columns under a privacy budget, in two rounds if there are several columns.

The first round estimates how many rows of each column hold values that it did not find. The second round
allocates most of the budget accordingly, which is post-processing of the first. Both rounds are partition
selection, each with its threshold (docs/explanation/proofs/private_domain.md, Lemma 2).
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
from sdv_plausible.table.learned.raw_queries import (
    PRESENT,
    FrequentValues,
    NoisyCount,
    TypedValue,
    in_public_order,
    weighted_mean,
)


class _CommonValues(NamedTuple):
    """Values above the threshold, with noisy counts of them and of missing cells."""

    values: Mapping[TypedValue, NoisyCount]
    missing: NoisyCount

    @classmethod
    def of(cls, answer: FrequentValueCounts) -> _CommonValues:
        """The result of one round."""
        variance = answer.sigma**2
        counts = zip(answer.values, answer.counts.tolist(), strict=True)
        return cls({value: (count, variance) for value, count in counts}, (float(answer.public[0]), variance))

    def average_with(self, other: _CommonValues) -> _CommonValues:
        """Union of two rounds, with inverse-variance weighted means of counts in both."""
        merged = {**self.values, **other.values}
        merged |= {
            value: weighted_mean(self.values[value], other.values[value])
            for value in self.values.keys() & other.values.keys()
        }
        return _CommonValues(
            {value: merged[value] for value in in_public_order(merged)},
            weighted_mean(self.missing, other.missing),
        )

    def others(self, size: NoisyCount) -> tuple[float, float]:
        """Estimated rows with values below the threshold, and its standard deviation."""
        counts = [*self.values.values(), self.missing]
        deviation = math.sqrt(size[1] + math.fsum(variance for _, variance in counts))
        return size[0] - math.fsum(count for count, _ in counts), deviation

    def attribute(self, name: str, sdtype: str, size: NoisyCount, *, may_miss: bool) -> Attribute:
        """Attribute with the values, and with counts of each and of all others together."""
        counts: dict[Any, float] = {}
        for (_, value), (count, _) in self.values.items():  # pandas treats True and 1 as one value
            # Equal strings become one object, so that pickles are equal.
            interned = sys.intern(value) if isinstance(value, str) else value
            counts[interned] = counts.get(interned, 0.0) + count
        missing, variance = self.missing
        others, deviation = self.others(size)
        all_counts = (*counts.values(), others if others > PRESENT * deviation else 0.0)
        return Attribute(
            name=name, kind="ordinal" if sdtype == "ordinal" else "categorical", values=tuple(counts),
            nullable=(may_miss and missing > PRESENT * math.sqrt(variance)) or not counts,
            counts=tuple(max(0, round(count)) for count in all_counts) if counts else None,
            provenance="private",
        )  # fmt: skip


def learn_categories(rows: Queryable, plan: DomainPlan, size: NoisyCount) -> dict[str, Attribute]:
    """Learn the domains of the plan's categorical columns; ``size``: noisy number of rows."""

    def query(name: str, share: float) -> _CommonValues:
        return _CommonValues.of(rows.ask_frequent(FrequentValues(name), share, plan.failure))

    shares = {name: plan.share(name) for name in plan.categories}
    round_share = FIRST if plan.has_two_rounds else 1.0
    learned = {name: query(name, round_share * share) for name, share in shares.items()}
    if plan.has_two_rounds:
        # At least the deviation: noise may hide as many rows in a column that seems complete.
        weights = {name: math.sqrt(max(values.others(size))) for name, values in learned.items()}
        share_per_weight = (1 - round_share) * math.fsum(shares.values()) / math.fsum(weights.values())
        learned = {
            name: values.average_with(query(name, share_per_weight * weights[name]))
            for name, values in learned.items()
        }
    return {
        name: values.attribute(name, plan.columns[name], size, may_miss=name not in plan.never_missing)
        for name, values in learned.items()
    }
