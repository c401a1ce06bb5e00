"""Marginals of three or four columns on coarse levels, for dependence that no pair shows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sdv_plausible.models.adaptive.denoising import rake_all
from sdv_plausible.models.adaptive.maximum_entropy import Columns, Estimates
from sdv_plausible.models.adaptive.schedule import SetRound, worth_measuring
from sdv_plausible.models.buckets import make_buckets
from sdv_plausible.queries.count_queries import Axis, L1Distances
from sdv_plausible.queries.queryable import NoisyValues, Queryable
from sdv_plausible.utils.counting import joint_counts

MOST_LEVELS = 4
LEAST_LEVEL = 0.02  # smallest mass of a level
LEAST = 0.02  # smallest L1 distance, as a share of the rows, that is worth a table
SETS_PER_COLUMN = 3  # measured tables per column, at most


def make_levels(coarse: Sequence[np.ndarray], ordered: Sequence[bool]) -> list[np.ndarray]:
    """Return the level of every bucket of every column, from the noisy masses of the buckets."""
    return [
        np.unique(make_buckets(p, is_ordered, MOST_LEVELS, LEAST_LEVEL), return_inverse=True)[1]
        for p, is_ordered in zip(coarse, ordered, strict=True)
    ]


def candidate_sets(
    usable: Sequence[int], most: int, dependence: Callable[[int, int], float]
) -> list[Columns]:
    """Return candidate sets of three columns, and of four if there is room for all."""
    # If there are too many triples, the most dependent pairs are combined with every third column. The choice
    # uses the number of columns and earlier answers only.
    threes, fours = math.comb(len(usable), 3), math.comb(len(usable), 4)
    if threes <= most:
        sizes = (3, 4) if threes + fours <= most else (3,)
        return [s for size in sizes for s in itertools.combinations(usable, size)]
    pairs = sorted(itertools.combinations(usable, 2), key=lambda e: -dependence(*e))
    sets: dict[Columns, None] = {}
    for e in pairs:
        sets |= dict.fromkeys(tuple(sorted((*e, j))) for j in usable if j not in e)
        if len(sets) >= most:
            break
    return list(sets)[:most]


class HigherMarginals:
    """Marginals of three or four columns, of which the worst-modelled ones are measured.

    ``axes`` are the levels of each column's codes, ``simulated`` (N, m) those of the current model's rows.
    """

    def __init__(self, rows: Queryable, axes: Sequence[Axis], simulated: np.ndarray, total: float) -> None:
        self._rows, self._axes, self._simulated, self._total = rows, axes, simulated, total
        self._measured: dict[Columns, tuple[NoisyValues, np.ndarray]] = {}

    def measure(self, sets: Sequence[Columns], current: SetRound) -> bool:
        """Score sets, choose and measure; False if none was chosen. Without sets nothing is queried."""
        if not sets:
            return False
        estimates = [self._estimate(s) for s in sets]
        question = L1Distances([self._axes_of(s) for s in sets], [np.rint(t) for t in estimates])
        answer = self._rows.ask(question, current.score_share)
        chosen, shares = self._worth_measuring(sets, estimates, answer, current)
        tables = self._rows.ask_tables([self._axes_of(sets[i]) for i in chosen], shares)
        self._measured = {sets[i]: (t, estimates[i]) for i, t in zip(chosen, tables, strict=True)}
        return bool(chosen)

    def set_measured(self, answers: Mapping[Columns, NoisyValues]) -> None:
        """Use tables that were measured earlier."""
        self._measured = {columns: (answer, self._estimate(columns)) for columns, answer in answers.items()}

    def _axes_of(self, columns: Columns) -> list[Axis]:
        return [self._axes[j] for j in columns]

    def _estimate(self, columns: Columns) -> np.ndarray:
        """Return the current model's count table of a set."""
        sizes = [self._axes[j].size for j in columns]
        counts = joint_counts([self._simulated[:, j] for j in columns], sizes)
        return counts * (self._total / max(len(self._simulated), 1))

    def _worth_measuring(
        self, sets: Sequence[Columns], estimates: Sequence[np.ndarray], answer: NoisyValues, current: SetRound
    ) -> tuple[list[int], list[float]]:
        """Return the positions of the sets to measure, and their shares of mu^2."""
        # Subtract the expected distance due to sampling, in the rows and in the simulation. Scores below the
        # expected maximum of the noise do not count.
        scatter = 0.8 * math.sqrt(1 + self._total / max(len(self._simulated), 1))
        chance = [np.where(t < 0.5, t, scatter * np.sqrt(t)).sum() for t in estimates]
        score = np.minimum(answer.values - np.array(chance), 2 * self._total)
        least = max(math.sqrt(2 * math.log(len(sets) + 1)) * answer.sigma, LEAST * self._total)
        chosen, shares = worth_measuring(
            score=np.where(score > least, score, -np.inf),
            price=np.array([0.8 * t.size for t in estimates]),
            share=current.table_share,
            sigma=self._rows.sigma,
            most=min(SETS_PER_COLUMN * len(self._axes), len(sets)),
            keep=lambda ranked: self._without_nested(ranked, sets),
        )
        return chosen.tolist(), shares.tolist()

    def _without_nested(self, ranked: np.ndarray, sets: Sequence[Columns]) -> np.ndarray:
        """Return the ranked sets that neither contain an earlier one nor are contained in one."""
        accepted: list[int] = []
        for i in ranked:
            columns = set(sets[i])
            if not any(columns.issuperset(sets[k]) or columns.issubset(sets[k]) for k in accepted):
                accepted.append(int(i))
            if len(accepted) == SETS_PER_COLUMN * len(self._axes):
                break
        return np.array(accepted, dtype=int)

    def scatter(self) -> dict[Columns, float]:
        """Return the standard deviation of the cells of each measured set, as a share of the rows."""
        return {columns: (answer.sigma + 1) / self._total for columns, (answer, _) in self._measured.items()}

    def cleaned(self, known_marginal: Callable[[Columns], np.ndarray | None]) -> dict[Columns, np.ndarray]:
        """Return the distributions of the measured sets, raked to known marginals of columns and pairs."""
        # The residual from the model is shrunk in proportion to its noise (James and Stein 1961).
        distributions = {}
        for columns, (answer, prior) in self._measured.items():
            residual = answer.values - prior
            norm = max(float((residual**2).sum()), 1e-12)
            table = prior + residual * max(0.0, 1 - residual.size * answer.sigma**2 / norm)
            marginals = [marginal for size in (1, 2) for marginal in itertools.combinations(columns, size)]
            margins = {
                tuple(columns.index(j) for j in marginal): target
                for marginal in marginals
                if (target := known_marginal(marginal)) is not None
            }
            distributions[columns] = rake_all(table / self._total, margins)
        return distributions


def with_higher_marginals(estimates: Estimates, tables: HigherMarginals) -> Estimates:
    """Return the estimates together with the measured sets."""

    def known_marginal(columns: Columns) -> np.ndarray | None:
        return estimates.on_levels(columns) if len(columns) == 1 or columns in estimates.pairs else None

    return replace(
        estimates, sets=tables.cleaned(known_marginal), scatter={**estimates.scatter, **tables.scatter()}
    )
