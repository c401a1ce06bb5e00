"""GreedyBayes ([DS], Algorithm 1): a random root, then repeatedly the most informative parents."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import xlogy

from sdv_plausible.models.adaptive.measurements import inverse_variance_mean
from sdv_plausible.models.base import Learner, ModelBudget, SeedModel
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.models.buckets import default_buckets
from sdv_plausible.models.conditional_table import ConditionalTable
from sdv_plausible.models.count_learning import (
    BudgetStages,
    StageSpecs,
    clean_counts,
    clean_margin,
    dirichlet_table,
    measure_margins,
    stage_entry,
)
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.losses import BoundedRangeLoss
from sdv_plausible.privacy.accounting.sensitivity import information_sensitivity_in_steps
from sdv_plausible.privacy.entries import MODEL_PARTS, LedgerEntry
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import Axes, Axis, ExactCounts, NumberOfRows, QueryRecord
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.table.columns.domain import Domain

STRUCTURE = 0.2  # share of the budget for structure, converted to the exponential mechanism's own loss
SHARES = {"size": 0.02, "margins": 0.18, "tables": 0.80}  # shares of the remaining mu**2
SIZE_FAILURE = 0.01  # share of delta for the event that the noisy upper bound on n is too low


@dataclass(frozen=True, kw_only=True)
class GreedyPlan(BudgetStages):
    """Budget of every stage of GreedyBayes."""

    choice: float  # epsilon of each selection of an attribute and its parents
    stage_specs: ClassVar[StageSpecs] = {
        "size": ("number of rows, for the sensitivity of mutual information", ("structure",)),
        "margins": ("one-way counts", ("parameters",)),
        "tables": ("counts of the conditional tables", ("parameters",)),
    }

    @classmethod
    def make(cls, domain: Domain, budget: ModelBudget) -> GreedyPlan:
        """Compute the noise of every stage."""
        m, choice, failure = len(domain), math.inf, 0.0
        if m > 1 and math.isfinite(budget.epsilon):
            failure = SIZE_FAILURE * budget.delta
            # A selection satisfies epsilon^2/8-zCDP, Gaussian noise mu^2/2-zCDP
            choice = 2 * math.sqrt(STRUCTURE / (m - 1)) * budget.gaussian(failure)
            spent = (*budget.spent, BoundedRangeLoss(epsilon=choice, count=m - 1))
            budget = replace(budget, spent=spent)
        return cls(
            mu=budget.gaussian(failure),
            choice=choice,
            shares=SHARES if m > 1 else {"margins": 1.0},
            num_attributes=m,
            size_failure=failure,
        )

    def releases(self, stage: str) -> int:
        """Return the number of tables: one per column except the root."""
        return self.num_attributes - 1 if stage == "tables" else super().releases(stage)

    def entries(self) -> list[LedgerEntry]:
        """Return one ledger entry per stage."""
        if math.isinf(self.mu):
            return [stage_entry("model", "GreedyBayes", MODEL_PARTS, (), "")]
        if self.num_attributes < 2:
            return self.stage_entries()
        losses = (BoundedRangeLoss(epsilon=self.choice, count=self.num_attributes - 1),)
        noise = f"exponential mechanism of epsilon {rounded_up(self.choice, 4)} per column"
        structure = stage_entry("structure", "largest mutual information", ("structure",), losses, noise)
        return [*self.stage_entries(), structure]


LEVELS = (20, 14, 10, 7, 5, 4, 3, 2)  # numbers of buckets, fine to coarse
LISTED = 20_000  # largest number of candidates that are enumerated before sampling
Pair = tuple[int, tuple[int, ...]]


@dataclass(frozen=True, kw_only=True)
class AttributeLevels:
    """Axes of every attribute at every level of detail, from noisy margins."""

    axes: Sequence[Axes]  # by level, then by attribute
    most_cells: float  # largest number of cells of a conditional table with acceptable noise

    @classmethod
    def make(cls, domain: Domain, margins: Sequence[np.ndarray], most_cells: float) -> AttributeLevels:
        """Cut every attribute into buckets of about equal noisy mass."""
        attributes = list(zip(domain, margins, strict=True))
        axes = [
            [
                Axis(j, default_buckets(attribute, margin, most))
                for j, (attribute, margin) in enumerate(attributes)
            ]
            for most in LEVELS
        ]
        return cls(axes=axes, most_cells=most_cells)

    def finest(self, child: int, parents: Sequence[int]) -> tuple[Axis, Axes] | None:
        """Return the axes at the finest level at which the table of a child and its parents fits."""
        for level in self.axes:
            if math.prod(level[j].size for j in (child, *parents)) <= self.most_cells:
                return level[child], [level[j] for j in parents]
        return None


def candidates(
    visited: Sequence[int], remaining: Sequence[int], max_parents: int, most: int, rng: KeyedRNG
) -> list[Pair]:
    """Return attributes with 1 to ``max_parents`` visited parents: all, or a random sample of ``most``."""
    # The sample does not depend on the rows, so the choice costs as much as with a fixed set
    # (docs/explanation/proofs/greedy_bayes.md, Theorem 3). ``max_parents`` is the paper's k.
    sizes = range(1, min(max_parents, len(visited)) + 1)
    number = len(remaining) * sum(math.comb(len(visited), size) for size in sizes)
    if number > max(LISTED, 4 * most):
        return list(itertools.islice(_sample_candidates(visited, remaining, max_parents, rng), most))
    pairs = [
        (child, parents)
        for size in sizes
        for parents in itertools.combinations(visited, size)
        for child in remaining
    ]
    return pairs if number <= most else [pairs[i] for i in rng.permutation(number)[:most]]


def _sample_candidates(
    visited: Sequence[int], remaining: Sequence[int], max_parents: int, rng: KeyedRNG
) -> Iterator[Pair]:
    """Sample distinct candidates without end; every number of parents is equally likely."""
    seen = set()
    largest = min(max_parents, len(visited))
    while True:
        child = remaining[rng.integers(len(remaining))]
        size = 1 + rng.integers(largest)
        parents = tuple(sorted(visited[i] for i in rng.permutation(len(visited))[:size]))
        if (child, parents) not in seen:
            seen.add((child, parents))
            yield child, parents


GRID = 2.0**-10  # bits; computed scores are exact to half a step up to 2**34 rows


@dataclass(frozen=True)
class MutualInformation:
    """``n I(X; parents)`` of every candidate, in integer steps of ``GRID``."""

    # Attribute and parents. Buckets are public or from earlier answers
    candidates: Sequence[tuple[Axis, Axes]]
    most_rows: int  # upper bound on the rows of the larger of two neighbouring tables, from an earlier answer
    proof = "docs/explanation/proofs/greedy_bayes.md, Theorems 1 and 2"

    def asked(self) -> QueryRecord:
        """Return the record of the query."""
        tables = tuple((*parents, child) for child, parents in self.candidates)
        return QueryRecord(kind="mutual information", tables=tables, details={"most_rows": self.most_rows})

    def exact(self, rows: ExactCounts) -> np.ndarray:
        """Return one score per candidate, shape (number of candidates,)."""
        sets = [(*parents, child) for child, parents in self.candidates]
        bits = [rows_times_information(table) for table in rows.tables(sets)]
        return np.rint(np.array(bits) / GRID).astype(np.int64)

    def sensitivity(self, neighbours: Neighbours) -> float:
        """Return the sensitivity of a score; a replacement counts as a removal and an addition."""
        steps = information_sensitivity_in_steps(self.most_rows, GRID, neighbours.rows)
        return float(2 * steps if neighbours.replace else steps)


def rows_times_information(table: np.ndarray) -> float:
    """Return n times the mutual information, in bits, of the last axis of counts and all others together."""
    pairs = table.reshape(-1, table.shape[-1])
    parts = (pairs, pairs.sum(axis=0), pairs.sum(axis=1), pairs.sum())
    both, child, parents, n = (float(xlogy(part, part).sum()) for part in parts)
    return (n + both - child - parents) / float(np.log(2))


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

    def fit(self, rows: Queryable, domain: Domain, budget: ModelBudget, rng: KeyedRNG) -> BayesianNetwork:
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
        nodes = self._network(structure_rows, levels, most_rows, m, rng)
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
        self, rows: Queryable, levels: AttributeLevels, most_rows: int, m: int, rng: KeyedRNG
    ) -> list[Node]:
        """Return attributes with their parents, in topological order (Algorithm 1)."""
        rng = rng.spawn("GreedyBayes")
        root = int(rng.integers(m))
        nodes: list[Node] = [(levels.axes[0][root], ())]
        visited, rest = [root], [j for j in range(m) if j != root]
        while rest:
            candidate_pairs = candidates(visited, rest, self.max_parents, self.max_candidates, rng)
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
