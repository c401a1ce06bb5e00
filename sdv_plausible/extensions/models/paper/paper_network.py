"""The paper's learner (section 3): noisy entropies for structure, noisy counts for Dirichlet tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import ndtr

from sdv_plausible.extensions.models.paper.paper_plans import (
    MISSED,
    SAME_ROWS,
    LearningPlan,
    PrintedCounts,
    PrintedEntropies,
    PrintedPlan,
    PrintedSize,
    Structure,
    check_printed,
    cut_at_zero,
    uniform_prior,
)
from sdv_plausible.extensions.models.paper.structure import (
    Entropies,
    check_structure,
    check_tables,
    correlation_feature_selection,
    within_memory,
)
from sdv_plausible.models.base import Learner, ModelBudget, SeedModel
from sdv_plausible.models.bayesian_network import BayesianNetwork, Parents, topological_order
from sdv_plausible.models.buckets import MAX_BUCKETS, default_buckets
from sdv_plausible.models.conditional_table import ConditionalTable
from sdv_plausible.models.count_learning import ParameterDraw, clean_counts, dirichlet_table, measure_margins
from sdv_plausible.models.forecast import Forecast, noise_distance, undeclared_columns
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.composition import check_split
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import Axis, NumberOfRows
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.table.columns.domain import Attribute, Domain

# Normal conditionals (paper, section 3.4): each row of a table becomes a Normal over the bins.


LEAST_DEVIATION = 0.25  # smallest deviation, as a share of the smallest distance between bins
MOST = 3.0  # largest centre beyond the ends and largest deviation, in ranges: the Normal is nearly flat there
STEPS = 100


def normal_rows(table: np.ndarray, attribute: Attribute) -> np.ndarray:
    """Replace the rows of a table by Normals over the bins of a number or date, with equal mean and variance.

    Shape (configurations, cardinality); rows sum to 1. Texts in numeric columns, and missing, keep their
    probabilities. Categorical columns do not change. The Normal is truncated to the range and has the moments
    after truncation. If no Normal has these moments (such as two peaks at the ends), the nearest one is used.
    """
    bins = len(attribute.lower)
    if bins < 2:
        return table
    lower, upper = np.asarray(attribute.lower, dtype=float), np.asarray(attribute.upper, dtype=float)
    middle = (lower + upper) / 2
    boundaries = (upper[:-1] + lower[1:]) / 2
    ends = np.concatenate([[2 * middle[0] - boundaries[0]], boundaries, [2 * middle[-1] - boundaries[-1]]])
    numbers = table[:, :bins]
    mass = numbers.sum(axis=1, keepdims=True)
    # A row without numbers gets uniform shares, which its mass of 0 cancels.
    shares = np.where(mass > 0, numbers / np.where(mass > 0, mass, 1.0), 1 / bins)
    result = np.array(table, dtype=float)
    result[:, :bins] = mass * _truncated(shares, middle, ends)
    return result


def _truncated(shares: np.ndarray, middle: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return truncated Normals whose mean and deviation over the bins are those of ``shares``."""
    least, width = LEAST_DEVIATION * np.diff(middle).min(), ends[-1] - ends[0]
    target_mean, target_deviation = _moments(shares, middle)
    target_deviation = np.maximum(target_deviation, least)
    centre, deviation = target_mean.copy(), target_deviation.copy()
    best, error = _cells(centre, deviation, ends), np.full(len(shares), np.inf)
    for _ in range(STEPS):  # fixed-point iteration that compensates for the truncation
        cells = _cells(centre, deviation, ends)
        mean, deviation_now = _moments(cells, middle)
        error_now = np.abs(mean - target_mean) / target_deviation + np.abs(
            deviation_now / target_deviation - 1
        )
        is_better = error_now < error
        best[is_better], error[is_better] = cells[is_better], error_now[is_better]
        centre = np.clip(centre + target_mean - mean, ends[0] - MOST * width, ends[-1] + MOST * width)
        deviation = np.clip(
            deviation * target_deviation / np.maximum(deviation_now, least), least, MOST * width
        )
    return best


def _cells(centre: np.ndarray, deviation: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the mass of each bin under Normals truncated to the ends."""
    scaled = (ends - centre[:, None]) / deviation[:, None]
    # For bins above the centre, differences of upper tails avoid cancellation.
    cells = np.where(
        scaled[:, :-1] > 0, ndtr(-scaled[:, :-1]) - ndtr(-scaled[:, 1:]), np.diff(ndtr(scaled), axis=1)
    )
    total = cells.sum(axis=1, keepdims=True)
    return np.where(total > 0, cells / np.where(total > 0, total, 1.0), 1 / cells.shape[1])


def _moments(cells: np.ndarray, middle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of the bins' middles."""
    mean = cells @ middle
    return mean, np.sqrt((cells * (middle - mean[:, None]) ** 2).sum(axis=1))


Accounting = Literal["proved", "paper"]


@dataclass(frozen=True, kw_only=True)
class PaperNetwork(Learner):
    """Learns structure and parameters of a Bayesian network as in [PD], with or without noise.

    Parameters
    ----------
    structure : {"cfs", "independent"} or mapping
        ``"cfs"`` is the paper's correlation-based feature selection. ``"independent"`` is the marginals
        baseline. A mapping ``{child: [parents]}`` declares the structure at no cost.
    max_cost : int
        Largest number of parent configurations of a table, at least 1 ([PD] Eq. 6, without a value).
    max_parents : int, optional
        Largest number of parents, at least 0. None means no limit.
    concentration : float
        Prior mass of each conditional row in records, without noise, > 0. Noise increases it. [PD] prints no
        value of its alpha.
    parameters : {"mean", "posterior"}
        Posterior mean of the tables, or a posterior draw.
    noise : {"calibrated", "paper"}
        ``"paper"`` uses Laplace noise as printed and posterior draws, for comparison. Epsilon is then the
        paper's, by its formulas and before its amplification. The ledger's total differs.
    conditionals : {"table", "normal"}
        ``"normal"`` makes numbers and dates Normal given their parents, at no further cost.
    split : (float, float, float), optional
        The paper's split: probabilities of a row to serve structure, parameters or seeds, each > 0, with a
        sum of at most 1. Other rows are not used. None uses every row for all three.
    accounting : {"proved", "paper"}
        ``"paper"`` adds the result of the paper's formulas to the ledger and needs ``noise="paper"``. The
        total stays the proved one.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """

    structure: Structure = "cfs"
    max_cost: int = 300
    max_parents: int | None = None
    concentration: float = 1.0
    parameters: ParameterDraw = "mean"
    noise: Literal["calibrated", "paper"] = "calibrated"
    conditionals: Literal["table", "normal"] = "table"
    split: tuple[float, float, float] | None = None
    accounting: Accounting = "proved"
    makes: ClassVar[type[SeedModel]] = BayesianNetwork
    parts_apart: ClassVar[bool] = True

    @property
    def looks_at_pairs(self) -> bool:
        """Whether all pairs of columns are considered."""
        return self.structure == "cfs"

    @property
    def arcs(self) -> Mapping[str, Sequence[str]] | None:
        """Declared parents of columns, or None."""
        return None if isinstance(self.structure, str) else self.structure

    def __post_init__(self) -> None:
        if not isinstance(self.structure, Mapping):
            also = ", or a mapping {child: [parents]}"
            check.one_of("structure", self.structure, ("cfs", "independent"), also)
        if isinstance(self.structure, Mapping):
            lists = {child: _listed(child, parents) for child, parents in self.structure.items()}
            object.__setattr__(self, "structure", lists)
        check.whole("max_cost", self.max_cost, 1, "it bounds parent configurations")
        if self.max_parents is not None:
            check.whole("max_parents", self.max_parents, 0, "or None for no bound")
        check.positive("concentration", self.concentration, "try 1.0")
        check.one_of("parameters", self.parameters, ("mean", "posterior"))
        why = "; a linear regression on parents in buckets is a mean for each configuration, as in 'normal'"
        check.one_of("conditionals", self.conditionals, ("table", "normal"), why)
        check.one_of("noise", self.noise, ("calibrated", "paper"))
        check.one_of("accounting", self.accounting, ("proved", "paper"))
        if self.accounting == "paper" and self.noise != "paper":
            raise check.Refused(
                "accounting", "paper", 'needs noise="paper": the printed formulas are for the printed noise'
            )
        if self.split is not None:
            check_split(self.split)

    def printed_plan(self, domain: Domain, budget: ModelBudget) -> PrintedPlan:
        """Return the scales of the noise as printed."""
        return PrintedPlan.make(len(domain), budget, learns_structure=self.structure == "cfs")

    def check_neighbours(self, neighbours: Neighbours) -> None:
        """Raise ValueError if the noise as printed does not support the neighbouring relation."""
        if self.noise == "paper":
            check_printed(neighbours)

    def check_domain(self, domain: Domain) -> None:
        """Raise ValueError for arcs between unknown columns, or with tables too large for memory."""
        if self.arcs is not None:
            check_tables(check_structure(self.arcs, domain), domain)

    def as_printed(self, domain: Domain, budget: ModelBudget) -> tuple[str, str] | None:
        """Return the result of section 3.5 for the model, and what it omits."""
        if self.accounting != "paper":
            return None
        missed = MISSED if self.split else SAME_ROWS + MISSED
        return self.printed_plan(domain, budget).as_printed(budget.delta, self.split), missed

    def plan(self, domain: Domain, budget: ModelBudget) -> list[LedgerEntry]:
        """Return the ledger entries of learning."""
        if self.noise == "paper":
            return self.printed_plan(domain, budget).entries()
        return LearningPlan.make(self.structure, domain, budget).entries(self.structure)

    def forecast(self, domain: Domain, budget: ModelBudget, rows: int) -> Forecast | None:
        """Return the expected effect of noise; dependence as in tables with one parent."""
        plan, cards = LearningPlan.make(self.structure, domain, budget), np.array(domain.cardinalities)
        if math.isinf(plan.mu) or self.noise == "paper":
            return None
        sigma = {stage: budget.neighbours.histogram_l2 / plan.mu_each(stage) for stage in plan.shares}
        cells = float(np.median(cards)) * min(float(np.median(cards)), MAX_BUCKETS)
        return Forecast(
            rows=rows,
            assumed=undeclared_columns(domain),
            columns={
                n: noise_distance(int(c), sigma["margins"], rows)
                for n, c in zip(domain.names, cards, strict=True)
            },
            link=0.4 * cells * sigma["tables"] / rows
            if "tables" in sigma
            else None,  # E|z| / 2 = 0.4 sigma per cell
        )

    def fit(self, rows: Queryable, domain: Domain, budget: ModelBudget, rng: KeyedRNG) -> BayesianNetwork:
        """Learn a network: margins, structure, then the tables of this structure."""
        if self.noise == "paper":
            return self._fit_as_printed(rows, domain, budget, rng)
        plan = LearningPlan.make(self.structure, domain, budget)
        counted, cards = rows.part("parameters"), domain.cardinalities
        codes = [Axis.of_codes(j, c) for j, c in enumerate(cards)]
        noisy, total, margins = measure_margins(counted, cards, plan.release_shares("margins"))
        buckets = [default_buckets(a, margin) for a, margin in zip(domain, margins, strict=True)]
        parents = within_memory(self._parents(domain, buckets, plan, rows.part("structure")), buckets, cards)
        coarse = [Axis(j, bucket) for j, bucket in enumerate(buckets)]
        if "tables" in plan.shares:
            sets = [[*(coarse[i] for i in p), codes[j]] for j, p in enumerate(parents)]
            noisy = counted.ask_tables(sets, plan.release_shares("tables"))
        tables = {}
        for j, answer in enumerate(noisy):
            counts = clean_counts(answer.values.reshape(-1, cards[j]), total)
            sigma = answer.sigma if "tables" in plan.shares else 0.0
            strength = self.concentration + sigma * math.sqrt(cards[j])
            probabilities = dirichlet_table(counts, margins[j], strength, self.parameters, rng)
            tables[j] = self._table(domain, buckets, j, parents[j], probabilities)
        return BayesianNetwork([tables[j] for j in topological_order(parents, cards)])

    def _fit_as_printed(
        self, rows: Queryable, domain: Domain, budget: ModelBudget, rng: KeyedRNG
    ) -> BayesianNetwork:
        """Fit as in sections 3.3.1 and 3.4.1: without margins; buckets are declared or of equal length."""
        plan, cards = self.printed_plan(domain, budget), domain.cardinalities
        buckets = [default_buckets(attribute) for attribute in domain]
        learned_parents = self._printed_parents(domain, buckets, plan, rows.part("structure"))
        parents = within_memory(learned_parents, buckets, cards)
        counted, tables = rows.part("parameters"), {}
        for j, chosen in enumerate(parents):
            axes = [*(Axis(i, buckets[i]) for i in chosen), Axis.of_codes(j, cards[j])]
            counts = counted.ask_laplace(PrintedCounts(axes), plan.shares.counts if plan.shares else 0.0)
            prior = uniform_prior(cards[j], 1.0)
            probabilities = dirichlet_table(
                cut_at_zero(counts.values.reshape(-1, cards[j])), prior, self.concentration, "posterior", rng
            )
            tables[j] = self._table(domain, buckets, j, chosen, probabilities)
        return BayesianNetwork([tables[j] for j in topological_order(parents, cards)])

    def _table(
        self, domain: Domain, buckets: Sequence[np.ndarray], j: int, parents: Sequence[int], rows: np.ndarray
    ) -> ConditionalTable:
        """Return the conditional table of a child from its noisy rows."""
        if self.conditionals == "normal":
            rows = normal_rows(rows, domain.attributes[j])
        chosen = tuple(buckets[i] for i in parents)
        return ConditionalTable(child=j, parents=tuple(parents), buckets=chosen, probabilities=rows)

    def _printed_parents(
        self, domain: Domain, buckets: list[np.ndarray], plan: PrintedPlan, rows: Queryable
    ) -> Parents:
        if not isinstance(self.structure, str):
            return check_structure(self.structure, domain)
        nothing: Parents = ((),) * len(domain)
        if self.structure == "independent":
            return nothing
        shares = plan.shares
        number = rows.ask_laplace(PrintedSize(), shares.size if shares else 0.0, plan.size_failure)
        noisy_rows = int(number.values[0])
        if noisy_rows < plan.least_noisy_rows:  # Lemma 1 may not hold at so few noisy rows
            return nothing
        question = PrintedEntropies(domain.cardinalities, buckets, noisy_rows)
        steps = rows.ask_laplace(question, plan.entropies * shares.entropy if shares else 0.0)
        correlation = question.table(steps.values).correlation()
        return correlation_feature_selection(correlation, buckets, self.max_cost, self.max_parents)

    def _parents(
        self, domain: Domain, buckets: list[np.ndarray], plan: LearningPlan, rows: Queryable
    ) -> Parents:
        if not isinstance(self.structure, str):
            return check_structure(self.structure, domain)
        if self.structure == "independent":
            return ((),) * len(domain)
        question = Entropies(domain.cardinalities, buckets, least_rows(rows, plan))
        entropies = question.table(rows.ask(question, plan.shares["structure"]).values)
        return correlation_feature_selection(
            entropies.correlation(), buckets, self.max_cost, self.max_parents
        )


def least_rows(rows: Queryable, plan: LearningPlan) -> int:
    """Return a lower bound on the smaller table's rows (docs/explanation/proofs/learning.md, Theorem 2)."""
    number = rows.ask(NumberOfRows(), plan.shares["size"], plan.size_failure)
    # The discrete Gaussian is sub-Gaussian: Pr[z >= t sigma] <= exp(-t**2 / 2). One unit's rows are
    # subtracted, because the sensitivity is that of the smaller of two neighbouring tables.
    tail = math.sqrt(-2 * math.log(plan.size_failure)) * number.sigma if plan.size_failure else 0.0
    return max(1, int(number.values[0]) - math.ceil(tail) - rows.neighbours.rows)


def _listed(child: str, parents: Any) -> list[str]:
    """Return the parents as a list, for files."""
    if isinstance(parents, (str, bytes)) or not isinstance(parents, Iterable):
        shown = repr(parents) if isinstance(parents, str) else type(parents).__name__
        raise check.Refused.saying(
            "structure",
            f"structure: the parents of {child!r} ({shown}) must be a list of columns, such as ['a']",
        )
    return sorted(parents) if isinstance(parents, (set, frozenset)) else list(parents)


INDEPENDENT = partial(PaperNetwork, structure="independent")
"""The marginals baseline: no column depends on another."""
