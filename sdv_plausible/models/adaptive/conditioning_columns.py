"""One-way counts, and columns that stand beside those that are to be learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sdv_plausible.models.adaptive.schedule import margin_shares
from sdv_plausible.queries.count_queries import Axis
from sdv_plausible.queries.queryable import Queryable

LIGHT = 0.25  # of the share of its counts that a column gets which only stands beside
LIGHT_PAIR = 0.25  # of the share of its table that a pair with such a column gets
CLOSE = 1.0  # deviation of a cell of a margin that is known otherwise


Noisy = tuple[np.ndarray, float]
"""Counts, and the deviation of each."""
OneWay = tuple[list[np.ndarray], list[float], float]
"""One-way counts of all columns, their deviations, and the number of rows that they add up to."""


def mean_of(one: Noisy, other: Noisy) -> Noisy:
    """Mean of two answers to one question, by inverse variance."""
    first, second = one[1] ** -2, other[1] ** -2
    return (first * one[0] + second * other[0]) / (first + second), (first + second) ** -0.5


@dataclass(frozen=True, kw_only=True)
class ConditioningColumns:
    """Columns whose joint law is known otherwise: the others are learned given them.

    Parameters
    ----------
    columns : frozenset of int
        Their numbers. No pair of two of them is asked for.
    margins : mapping of int to ndarray
        Distributions of some of them, which are not asked for either.
    """

    columns: frozenset[int] = frozenset()
    margins: Mapping[int, np.ndarray] = field(default_factory=dict)

    def is_pair(self, num_columns: int) -> np.ndarray:
        """Whether two columns are both beside, (m, m)."""
        beside = np.isin(np.arange(num_columns), list(self.columns))
        return np.logical_and.outer(beside, beside)

    def weighed(self, shares: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """Shares of pairs (k, 2), less of those with a column beside."""
        if not self.columns or not len(shares):
            return shares
        weight = np.where(np.isin(pairs, list(self.columns)).any(1), LIGHT_PAIR, 1.0)
        return np.asarray(shares * weight * (shares.sum() / (shares * weight).sum()))

    def ask(self, rows: Queryable, cardinalities: Sequence[int], share: float) -> OneWay:
        """One-way counts of all columns."""
        asked = [j for j in range(len(cardinalities)) if j not in self.margins]
        weight = margin_shares([cardinalities[j] for j in asked], 1.0)
        weight *= [LIGHT if j in self.columns else 1.0 for j in asked]
        shares = (share * weight / weight.sum()).tolist()
        answers = rows.ask_tables([[Axis.of_codes(j, cardinalities[j])] for j in asked], shares)
        return self._with_known({j: (a.values, a.sigma) for j, a in zip(asked, answers, strict=True)})

    def together(self, one: OneWay, other: OneWay) -> OneWay:
        """The mean of two answers, by inverse variance."""
        both = zip(one[0], one[1], other[0], other[1], strict=True)
        found = {j: mean_of((a, s), (b, t)) for j, (a, s, b, t) in enumerate(both) if j not in self.margins}
        return self._with_known(found)

    def _with_known(self, found: dict[int, Noisy]) -> OneWay:
        variance = np.array([len(counts) * max(sigma, 1e-9) ** 2 for counts, sigma in found.values()])
        sums = np.array([counts.sum() for counts, _ in found.values()])
        total = max(float((sums / variance).sum() / (1 / variance).sum()), 1.0)
        found |= {j: (margin * total, CLOSE) for j, margin in self.margins.items()}
        counts, sigmas = zip(*(found[j] for j in range(len(found))), strict=True)
        return list(counts), list(sigmas), total
