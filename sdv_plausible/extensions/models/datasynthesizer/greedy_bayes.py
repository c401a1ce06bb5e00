"""GreedyBayes ([DS], Algorithm 1): a random root, then repeatedly the most informative parents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sdv_plausible.extensions.models.datasynthesizer.candidates import (
    AttributeLevels,
    MutualInformation,
    candidates,
)
from sdv_plausible.extensions.models.datasynthesizer.greedy_shares import GreedyPlan
from sdv_plausible.models.adaptive.conditioning_columns import inverse_variance_mean
from sdv_plausible.models.base import Learner, ModelBudget, SeedModel
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.models.cleaning import clean_counts, clean_margin, dirichlet_table, measure_margins
from sdv_plausible.models.conditional_table import ConditionalTable
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import Axes, Axis, NumberOfRows
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.table.columns.domain import Domain

Node = tuple[Axis, Axes]


@dataclass(frozen=True, kw_only=True)
class GreedyBayes(Learner):
    """DataSynthesizer's correlated attribute mode: a Bayesian network by GreedyBayes, fully private.

    Parameters
    ----------
    max_parents : int
        The paper's k: largest number of parents of an attribute, at least 1.
    usefulness : float
        Smallest mean count of a conditional table's cells, in standard deviations of their noise, >= 0.
        Parents are coarsened or dropped to reach it. ``0`` allows tables of any size up to ``max_cells``.
    max_cells : int
        Largest number of cells of a conditional table, at least 4.
    max_candidates : int
        Largest number of candidates of a step, at least 1. Of more candidates a random sample is scored.
    """

    max_parents: int = 4
    usefulness: float = 4.0
    max_cells: int = 300_000
    max_candidates: int = 1000
    makes: ClassVar[type[SeedModel]] = BayesianNetwork

    def __post_init__(self) -> None:
        check.whole("max_parents", self.max_parents, 1, "it is the paper's k; try 4")
        check.non_negative("usefulness", self.usefulness)
        check.whole("max_cells", self.max_cells, 4, "it bounds a table; try 300000")
        check.whole("max_candidates", self.max_candidates, 1, "it bounds the time of a step; try 1000")

    def plan(self, domain: Domain, budget: ModelBudget) -> list[LedgerEntry]:
        """Return the ledger entries of learning."""
        return GreedyPlan.make(domain, budget).entries()

    def fit(self, rows: Queryable, domain: Domain, budget: ModelBudget, coins: KeyedRNG) -> BayesianNetwork:
        """Learn a network: number of rows, margins, structure, then the tables of this structure."""
        plan = GreedyPlan.make(domain, budget)
        parameter_rows, m = rows.part("parameters"), len(domain)
        answers, total, margins = measure_margins(
            parameter_rows, domain.cardinalities, plan.release_shares("margins")
        )
        if m < 2:
            return BayesianNetwork([_margin(j, margins) for j in range(m)])
        structure_rows = rows.part("structure")
        most_rows = _most_rows(structure_rows, plan)
        levels = AttributeLevels.make(domain, margins, self._most_cells(total, parameter_rows, plan))
        nodes = self._network(structure_rows, levels, most_rows, m, coins)
        # The table of an attribute without parents measures its one-way counts again.
        sets = [
            [*parents, child] if parents else [Axis.of_codes(child.column, len(margins[child.column]))]
            for child, parents in nodes[1:]
        ]
        tables = parameter_rows.ask_tables(sets, plan.release_shares("tables"))
        for (child, parents), answer in zip(nodes[1:], tables, strict=True):
            if not parents and answer.sigma:
                noisy_counts = [(a.values, a.sigma) for a in (answers[child.column], answer)]
                margins[child.column] = clean_margin(inverse_variance_mean(*noisy_counts)[0], total)
        conditionals = {
            child.column: _table(child, parents, answer.values, answer.sigma, margins, total)
            for (child, parents), answer in zip(nodes[1:], tables, strict=True)
            if parents
        }
        return BayesianNetwork(
            [conditionals.get(child.column) or _margin(child.column, margins) for child, _ in nodes]
        )

    def _most_cells(self, total: float, rows: Queryable, plan: GreedyPlan) -> float:
        """Return the largest number of cells of a table: theta-usefulness of PrivBayes."""
        sigma = rows.sigma(plan.release_shares("tables")[0])
        noise = self.usefulness * sigma
        return float(self.max_cells) if not noise else min(self.max_cells, max(total, 1.0) / noise)

    def _network(
        self, rows: Queryable, levels: AttributeLevels, most_rows: int, m: int, coins: KeyedRNG
    ) -> list[Node]:
        """Return attributes with their parents, in topological order (Algorithm 1)."""
        coins = coins.spawn("GreedyBayes")
        root = int(coins.integers(m))
        nodes: list[Node] = [(levels.axes[0][root], ())]
        visited, rest = [root], [j for j in range(m) if j != root]
        while rest:
            candidate_pairs = candidates(visited, rest, self.max_parents, self.max_candidates, coins)
            feasible = [
                node for node in (levels.finest(*pair) for pair in candidate_pairs) if node is not None
            ]
            node: Node = (levels.axes[0][rest[0]], ())
            if feasible:  # with too few rows no table is small enough, and the attribute has no parents
                node = feasible[rows.choose(MutualInformation(feasible, most_rows))]
            nodes.append(node)
            visited.append(node[0].column)
            rest.remove(node[0].column)
        return nodes


def _most_rows(rows: Queryable, plan: GreedyPlan) -> int:
    """Return an upper bound on the number of rows (docs/explanation/proofs/greedy_bayes.md, Theorem 3)."""
    number = rows.ask(NumberOfRows(), plan.shares["size"], plan.size_failure)
    # The discrete Gaussian is sub-Gaussian: Pr[z <= -t sigma] <= exp(-t**2 / 2).
    tail = math.sqrt(-2 * math.log(plan.size_failure)) * number.sigma if plan.size_failure else 0.0
    return max(1, int(number.values[0]) + math.ceil(tail) + rows.neighbours.rows)


def _margin(j: int, margins: Sequence[np.ndarray]) -> ConditionalTable:
    return ConditionalTable(child=j, parents=(), buckets=(), probabilities=margins[j][None, :])


def _table(
    child: Axis, parents: Axes, noisy: np.ndarray, sigma: float, margins: Sequence[np.ndarray], total: float
) -> ConditionalTable:
    """Return the conditional table of noisy counts; within a bucket the child follows its margin."""
    margin = margins[child.column]
    mass = np.bincount(child.buckets, margin, minlength=child.size)
    counts = clean_counts(noisy.reshape(-1, child.size), total)
    coarse = dirichlet_table(counts, mass, 1.0 + sigma * math.sqrt(child.size))
    fine = coarse[:, child.buckets] * (margin / mass[child.buckets])
    return ConditionalTable(
        child=child.column,
        parents=tuple(axis.column for axis in parents),
        buckets=tuple(axis.buckets for axis in parents),
        probabilities=fine / fine.sum(axis=1, keepdims=True),
    )
