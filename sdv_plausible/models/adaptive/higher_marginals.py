"""Dependence that no pair shows: tables of three or four columns on coarse levels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sdv_plausible.models.adaptive.denoising import rake_all
from sdv_plausible.models.adaptive.estimates import Columns, Estimates
from sdv_plausible.models.adaptive.schedule import SetRound, worth_measuring
from sdv_plausible.models.buckets import make_buckets
from sdv_plausible.queries.count_queries import Axis, L1Distances
from sdv_plausible.queries.queryable import NoisyValues, Queryable
from sdv_plausible.utils.counting import joint_counts

MOST_LEVELS = 4
LEAST_LEVEL = 0.02  # mass of a level
LEAST = 0.02  # L1 distance, as a share of the rows, that is worth a table in the network
SETS_PER_COLUMN = 3  # tables that are measured, at most


def make_levels(coarse: Sequence[np.ndarray], ordered: Sequence[bool]) -> list[np.ndarray]:
    """Level of every bucket of every column, from the noisy masses of the buckets."""
    return [
        np.unique(make_buckets(p, is_ordered, MOST_LEVELS, LEAST_LEVEL), return_inverse=True)[1]
        for p, is_ordered in zip(coarse, ordered, strict=True)
    ]


def candidates(usable: Sequence[int], most: int, linked: Callable[[int, int], float]) -> list[Columns]:
    """Sets of three columns; of four as well where there is room for all of them."""
    # Where there is no room for all of three, the most strongly linked pairs are taken, each with every third
    # column. Decided by numbers of columns and earlier answers. ``linked`` tells how strongly two columns are
    # linked, as far as is known.
    threes, fours = math.comb(len(usable), 3), math.comb(len(usable), 4)
    if threes <= most:
        sizes = (3, 4) if threes + fours <= most else (3,)
        return [s for size in sizes for s in itertools.combinations(usable, size)]
    pairs = sorted(itertools.combinations(usable, 2), key=lambda e: -linked(*e))
    found: dict[Columns, None] = {}
    for e in pairs:
        found |= dict.fromkeys(tuple(sorted((*e, j))) for j in usable if j not in e)
        if len(found) >= most:
            break
    return list(found)[:most]


class SetTables:
    """Tables of three or four columns, of which those that the model gets most wrong are measured.

    ``axes`` are levels of the codes of every column, ``simulated`` (N, m) those of rows of the current model.
    """

    def __init__(self, rows: Queryable, axes: Sequence[Axis], simulated: np.ndarray, total: float) -> None:
        self._rows, self._axes, self._simulated, self._total = rows, axes, simulated, total
        self._measured: dict[Columns, tuple[NoisyValues, np.ndarray]] = {}

    def measure(self, sets: Sequence[Columns], this: SetRound) -> bool:
        """Score sets, choose, measure. False if none was chosen; nothing is asked where there are none."""
        if not sets:
            return False
        estimates = [self._estimate(s) for s in sets]
        question = L1Distances([self._axes_of(s) for s in sets], [np.rint(t) for t in estimates])
        answer = self._rows.ask(question, this.score_share)
        chosen, shares = self._worth_measuring(sets, estimates, answer, this)
        tables = self._rows.ask_tables([self._axes_of(sets[i]) for i in chosen], shares)
        self._measured = {sets[i]: (t, estimates[i]) for i, t in zip(chosen, tables, strict=True)}
        return bool(chosen)

    def take(self, answers: Mapping[Columns, NoisyValues]) -> None:
        """Take in tables that were measured earlier."""
        self._measured = {columns: (answer, self._estimate(columns)) for columns, answer in answers.items()}

    def _axes_of(self, columns: Columns) -> list[Axis]:
        return [self._axes[j] for j in columns]

    def _estimate(self, columns: Columns) -> np.ndarray:
        """The current model's count table of a set."""
        sizes = [self._axes[j].size for j in columns]
        counts = joint_counts([self._simulated[:, j] for j in columns], sizes)
        return counts * (self._total / max(len(self._simulated), 1))

    def _worth_measuring(
        self, sets: Sequence[Columns], estimates: Sequence[np.ndarray], answer: NoisyValues, this: SetRound
    ) -> tuple[list[int], list[float]]:
        """Positions of the sets to measure, and their shares."""
        # A score counts less what sampling, in the rows and in the simulation, makes of it; where it is no
        # larger than the largest noise on so many scores, nothing.
        scatter = 0.8 * math.sqrt(1 + self._total / max(len(self._simulated), 1))
        chance = [np.where(t < 0.5, t, scatter * np.sqrt(t)).sum() for t in estimates]
        score = np.minimum(answer.values - np.array(chance), 2 * self._total)
        least = max(math.sqrt(2 * math.log(len(sets) + 1)) * answer.sigma, LEAST * self._total)
        chosen, shares = worth_measuring(
            score=np.where(score > least, score, -np.inf),
            price=np.array([0.8 * t.size for t in estimates]),
            share=this.table_share,
            sigma=self._rows.sigma,
            most=min(SETS_PER_COLUMN * len(self._axes), len(sets)),
            keep=lambda ranked: self._apart(ranked, sets),
        )
        return chosen.tolist(), shares.tolist()

    def _apart(self, ranked: np.ndarray, sets: Sequence[Columns]) -> np.ndarray:
        """Of ranked sets those that neither hold an earlier one nor lie in it."""
        kept: list[int] = []
        for i in ranked:
            here = set(sets[i])
            if not any(here.issuperset(sets[k]) or here.issubset(sets[k]) for k in kept):
                kept.append(int(i))
            if len(kept) == SETS_PER_COLUMN * len(self._axes):
                break
        return np.array(kept, dtype=int)

    def scatter(self) -> dict[Columns, float]:
        """How far each cell of a measured set may be off, as a share of the rows."""
        return {columns: (answer.sigma + 1) / self._total for columns, (answer, _) in self._measured.items()}

    def cleaned(self, known: Callable[[Columns], np.ndarray | None]) -> dict[Columns, np.ndarray]:
        """Distributions of the measured sets, raked to what is known of their columns and pairs."""
        # What a table says beyond the model is shrunk by what noise adds to it (James and Stein 1961).
        found = {}
        for columns, (answer, before) in self._measured.items():
            residual = answer.values - before
            length = max(float((residual**2).sum()), 1e-12)
            table = before + residual * max(0.0, 1 - residual.size * answer.sigma**2 / length)
            parts = [part for size in (1, 2) for part in itertools.combinations(columns, size)]
            margins = {
                tuple(columns.index(j) for j in part): target
                for part in parts
                if (target := known(part)) is not None
            }
            found[columns] = rake_all(table / self._total, margins)
        return found


def with_sets(estimates: Estimates, tables: SetTables) -> Estimates:
    """Estimates with the measured sets."""

    def known(part: Columns) -> np.ndarray | None:
        return estimates.on_levels(part) if len(part) == 1 or part in estimates.pairs else None

    return replace(estimates, sets=tables.cleaned(known), scatter={**estimates.scatter, **tables.scatter()})
