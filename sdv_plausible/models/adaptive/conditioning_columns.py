"""One-way counts, and conditioning columns that are modelled elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sdv_plausible.models.adaptive.schedule import margin_shares
from sdv_plausible.queries.count_queries import Axis
from sdv_plausible.queries.queryable import Queryable

LIGHT = 0.25  # factor on the budget share of a conditioning column's counts
LIGHT_PAIR = 0.25  # factor on the budget share of a pair with a conditioning column
CLOSE = 1.0  # standard deviation assumed for the cells of a given margin


Noisy = tuple[np.ndarray, float]
"""Counts and their standard deviation."""
OneWay = tuple[list[np.ndarray], list[float], float]
"""One-way counts of all columns, their standard deviations, and their common total."""


def inverse_variance_mean(first: Noisy, second: Noisy) -> Noisy:
    """Return the mean of two noisy answers by inverse variance."""
    weight_1, weight_2 = first[1] ** -2, second[1] ** -2
    return (weight_1 * first[0] + weight_2 * second[0]) / (weight_1 + weight_2), (weight_1 + weight_2) ** -0.5


@dataclass(frozen=True, kw_only=True)
class ConditioningColumns:
    """Columns whose joint distribution is modelled elsewhere; the other columns are learned given them.

    Parameters
    ----------
    columns : frozenset of int
        Column numbers. No pair of two of these columns is measured.
    margins : mapping of int to ndarray
        Given distributions of some columns, which are not measured.
    """

    columns: frozenset[int] = frozenset()
    margins: Mapping[int, np.ndarray] = field(default_factory=dict)

    def pair_mask(self, num_columns: int) -> np.ndarray:
        """Whether both columns of a pair are conditioning columns, (m, m)."""
        is_conditioning = np.isin(np.arange(num_columns), list(self.columns))
        return np.logical_and.outer(is_conditioning, is_conditioning)

    def reweighted(self, shares: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """Return the shares of pairs (k, 2), reduced for pairs with a conditioning column."""
        if not self.columns or not len(shares):
            return shares
        weight = np.where(np.isin(pairs, list(self.columns)).any(1), LIGHT_PAIR, 1.0)
        return np.asarray(shares * weight * (shares.sum() / (shares * weight).sum()))

    def measure(self, rows: Queryable, cardinalities: Sequence[int], share: float) -> OneWay:
        """Measure the one-way counts of all columns without a given margin."""
        measured = [j for j in range(len(cardinalities)) if j not in self.margins]
        weight = margin_shares([cardinalities[j] for j in measured], 1.0)
        weight *= [LIGHT if j in self.columns else 1.0 for j in measured]
        shares = (share * weight / weight.sum()).tolist()
        answers = rows.ask_tables([[Axis.of_codes(j, cardinalities[j])] for j in measured], shares)
        return self._with_given_margins(
            {j: (a.values, a.sigma) for j, a in zip(measured, answers, strict=True)}
        )

    def averaged(self, first: OneWay, second: OneWay) -> OneWay:
        """Return the mean of two measurements by inverse variance."""
        both = zip(first[0], first[1], second[0], second[1], strict=True)
        means = {
            j: inverse_variance_mean((a, s), (b, t))
            for j, (a, s, b, t) in enumerate(both)
            if j not in self.margins
        }
        return self._with_given_margins(means)

    def _with_given_margins(self, counts_of: dict[int, Noisy]) -> OneWay:
        variance = np.array([len(counts) * max(sigma, 1e-9) ** 2 for counts, sigma in counts_of.values()])
        sums = np.array([counts.sum() for counts, _ in counts_of.values()])
        total = max(float((sums / variance).sum() / (1 / variance).sum()), 1.0)
        counts_of |= {j: (margin * total, CLOSE) for j, margin in self.margins.items()}
        counts, sigmas = zip(*(counts_of[j] for j in range(len(counts_of))), strict=True)
        return list(counts), list(sigmas), total
