"""Learning a Bayesian network from rows: what is measured, with how much noise, charged before it is looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sdv_plausible.models.base import LearningRows, ModelBudget
from sdv_plausible.models.bayesian_network import BayesianNetwork, ConditionalTable
from sdv_plausible.models.counting import joint_counts, num_configurations
from sdv_plausible.models.forecast import Forecast, noise_distance, undeclared
from sdv_plausible.models.paper.parameters import ParameterDraw, clean_counts, clean_margin, dirichlet_table
from sdv_plausible.models.paper.structure import (
    MAX_BUCKETS,
    EntropyTable,
    Parents,
    check_structure,
    correlation_feature_selection,
    count_entropies,
    default_buckets,
    topological_order,
)
from sdv_plausible.privacy.accounting.losses import ApproxDP, GaussianLoss, InfiniteLoss, Loss
from sdv_plausible.privacy.accounting.sensitivity import entropy_sensitivity_in_steps
from sdv_plausible.privacy.ledger import LedgerEntry, Part, PrivacyLedger
from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.table.domain import Domain

Structure = Literal["cfs", "independent"] | Mapping[str, Sequence[str]]
ENTROPY_GRID = 2.0**-20  # bits; entropies are rounded to it so that their noise is integer noise
SIZE_FAILURE = 0.01  # share of delta for the event that the noisy lower bound on n is too high
MAX_CELLS = 50_000_000  # of one conditional table
SHARES = {"margins": 0.10, "size": 0.02, "structure": 0.18, "tables": 0.70}  # of mu**2


@dataclass(frozen=True, kw_only=True)
class BayesianNetworkLearner:
    """Learns structure and parameters of a Bayesian network, with or without noise.

    Parameters
    ----------
    structure : {"cfs", "independent"} or mapping
        ``"cfs"``: the paper's correlation-based feature selection; ``"independent"``: the marginals baseline; or
        ``{child: [parents]}`` as given, which costs nothing.
    max_cost : int
        Upper bound on the number of parent configurations of one table (paper Eq. 7).
    max_parents : int, optional
        Upper bound on the number of parents.
    concentration : float
        Prior mass of each conditional row in records, at no noise; noise raises it.
    parameters : {"mean", "posterior"}
        Posterior mean of the tables, or a posterior draw.
    """

    structure: Structure = "cfs"
    max_cost: int = 300
    max_parents: int | None = None
    concentration: float = 1.0
    parameters: ParameterDraw = "mean"

    def __post_init__(self) -> None:
        if isinstance(self.structure, str) and self.structure not in ("cfs", "independent"):
            raise ValueError(f'structure ({self.structure!r}) must be "cfs", "independent" or a mapping {{child: [parents]}}')
        if not isinstance(self.structure, (str, Mapping)):
            raise ValueError(f"structure ({self.structure!r}) must be a name or a mapping {{child: [parents]}}")
        if not _is_whole(self.max_cost) or self.max_cost < 1:
            raise ValueError(f"max_cost ({self.max_cost!r}) must be a whole number >= 1: it bounds parent configurations")
        if self.max_parents is not None and (not _is_whole(self.max_parents) or self.max_parents < 0):
            raise ValueError(f"max_parents ({self.max_parents!r}) must be a whole number >= 0, or None for no bound")
        number = isinstance(self.concentration, (int, float, np.number)) and not isinstance(self.concentration, bool)
        if not (number and math.isfinite(self.concentration) and self.concentration > 0):
            raise ValueError(f"concentration ({self.concentration!r}) must be a finite number > 0; try 1.0")
        if self.parameters not in ("mean", "posterior"):
            raise ValueError(f'parameters ({self.parameters!r}) must be "mean" or "posterior"')

    def plan(self, domain: Domain, budget: ModelBudget) -> list[LedgerEntry]:
        """Ledger entries of learning."""
        return self._plan(domain, budget).entries(self.structure)

    def _plan(self, domain: Domain, budget: ModelBudget) -> LearningPlan:
        """Decide the noise of every stage from the domain and the budget alone."""
        stages = ["margins", "size", "structure", "tables"]
        if isinstance(self.structure, str) and self.structure == "independent":
            stages = ["margins"]
        elif not isinstance(self.structure, str):
            stages = ["margins", "tables"]
        if math.isinf(budget.epsilon):
            return LearningPlan(mu=dict.fromkeys(stages, math.inf), num_attributes=len(domain))
        failure = SIZE_FAILURE * budget.delta if "size" in stages else 0.0
        mu_squared = budget.gaussian(failure) ** 2
        weight = {s: SHARES[s] for s in stages}
        mu = {s: math.sqrt(mu_squared * w / sum(weight.values())) for s, w in weight.items()}
        return LearningPlan(mu=mu, num_attributes=len(domain), size_failure=failure)

    def forecast(self, domain: Domain, budget: ModelBudget, rows: int) -> Forecast | None:
        """How the noise will show on a table of about so many rows; links as tables with one parent."""
        plan, cards = self._plan(domain, budget), np.array(domain.cardinalities)
        sigma = {stage: 1 / plan.mu_each(stage) for stage in plan.mu}
        if not sigma["margins"]:
            return None
        cells = float(np.median(cards)) * min(float(np.median(cards)), MAX_BUCKETS)
        return Forecast(
            rows=rows,
            assumed=undeclared(domain),
            columns={n: noise_distance(int(c), sigma["margins"], rows) for n, c in zip(domain.names, cards, strict=True)},
            link=0.4 * cells * sigma["tables"] / rows if "tables" in sigma else None,  # E|z| / 2 = 0.4 sigma per cell
        )

    def fit(
        self, rows: LearningRows, domain: Domain, budget: ModelBudget, ledger: PrivacyLedger, coins: Coins
    ) -> BayesianNetwork:
        """Learn from rows of codes.

        Everything is charged, all stages at once, before the first look at the rows.
        """
        plan = self._plan(domain, budget)
        ledger.charge(*plan.entries(self.structure))
        measure, codes = _Measurer(rows.structure, plan, coins), rows.parameters
        cards = domain.cardinalities
        margin_counts = measure.counts([joint_counts(codes, j, c, (), ()) for j, c in enumerate(cards)], "margins")
        # The total is the average over the noisy tables: n itself is private.
        total = float(np.mean([counts.sum() for counts in margin_counts]))
        margins = [clean_margin(counts[0], total) for counts in margin_counts]
        buckets = [default_buckets(a, margin) for a, margin in zip(domain, margins, strict=True)]
        parents = self._parents(domain, buckets, measure)
        _check_cells(parents, buckets, domain)
        noisy = measure.counts(
            [joint_counts(codes, j, cards[j], p, [buckets[i] for i in p]) for j, p in enumerate(parents)], "tables"
        ) if "tables" in plan.mu else margin_counts  # fmt: skip
        tables = {}
        for j, counts in enumerate(noisy):
            strength = self.concentration + measure.deviation("tables") * math.sqrt(cards[j])
            table = dirichlet_table(clean_counts(counts, total), margins[j], strength, self.parameters, coins)
            tables[j] = ConditionalTable(
                child=j, parents=parents[j], buckets=tuple(buckets[i] for i in parents[j]), probabilities=table
            )
        return BayesianNetwork([tables[j] for j in topological_order(parents, cards)])

    def _parents(self, domain: Domain, buckets: list[np.ndarray], measure: _Measurer) -> Parents:
        if not isinstance(self.structure, str):
            return check_structure(self.structure, domain)
        if self.structure == "independent":
            return ((),) * len(domain)
        entropies = measure.entropies(domain.cardinalities, buckets)
        return correlation_feature_selection(entropies.correlation(), buckets, self.max_cost, self.max_parents)


def _is_whole(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _check_cells(parents: Parents, buckets: Sequence[np.ndarray], domain: Domain) -> None:
    """Refuse a given structure whose tables would not fit into memory."""
    for child, chosen in zip(domain, parents, strict=True):
        cells = num_configurations([buckets[p] for p in chosen]) * child.cardinality
        if cells > MAX_CELLS:
            raise ValueError(
                f"structure: the table of {child.name!r} with parents {[domain.names[p] for p in chosen]} has {cells:,} cells, "
                f"above {MAX_CELLS:,}: leave out parents, or declare coarser buckets for them"
            )


@dataclass(frozen=True, kw_only=True)
class LearningPlan:
    """Noise of every stage, as Gaussian privacy parameters mu (sensitivity over standard deviation).

    Parameters
    ----------
    mu : dict of str to float
        One value per stage; infinity for no noise.
    num_attributes : int
        The number m of attributes.
    size_failure : float
        Probability that the noisy lower bound on n is above n.
    """

    mu: dict[str, float]
    num_attributes: int
    size_failure: float = 0.0

    def releases(self, stage: str) -> int:
        """Number of equally noisy releases of a stage."""
        m = self.num_attributes
        return {"size": 1, "structure": m * (m + 1)}.get(stage, m)

    def mu_each(self, stage: str) -> float:
        """Parameter mu of each single release of a stage."""
        return self.mu[stage] / math.sqrt(self.releases(stage))

    def entries(self, structure: Structure) -> list[LedgerEntry]:
        """Ledger entries, one per stage."""
        texts = {
            "margins": "one-way counts",
            "size": "number of rows, for the entropies' sensitivity",
            "structure": "entropies for correlation-based feature selection",
            "tables": "counts of the conditional tables",
        }
        paid: dict[str, tuple[Part, ...]] = {"size": ("structure",), "structure": ("structure",)}
        entries = []
        for stage, mu in self.mu.items():
            losses: tuple[Loss, ...]
            if math.isinf(mu):
                losses, how, note = (InfiniteLoss(),), texts[stage] + ", no noise", NO_NOISE
            else:
                each = self.mu_each(stage)
                losses = (GaussianLoss(sensitivity_over_sigma=each, count=self.releases(stage)),)
                if stage == "size":  # docs/explanation/proofs/entropy_sensitivity.md: the event only adds to delta
                    losses = (*losses, ApproxDP(epsilon=0.0, delta=self.size_failure))
                how = f"{texts[stage]}, discrete Gaussian noise on every cell, mu {each:.4g} each"
                note = ""
            entries.append(
                LedgerEntry(
                    name=stage,
                    mechanism=how,
                    losses=losses,
                    scope="the model",
                    note=note,
                    parts=paid.get(stage, ("parameters",)),
                )
            )
        if not isinstance(structure, str):
            entries.append(
                LedgerEntry(
                    name="structure", mechanism="declared by the user", losses=(), scope="the model", parts=("structure",)
                )
            )
        return entries


NO_NOISE = "the model was learned without noise (epsilon is infinite); give a finite epsilon"


class _Measurer:
    """Takes noisy measurements of the rows as planned. The only place of the learner that touches them."""

    def __init__(self, codes: np.ndarray, plan: LearningPlan, coins: Coins) -> None:
        self._codes, self._plan, self._coins = codes, plan, coins

    def deviation(self, stage: str) -> float:
        """Standard deviation of a stage's count noise."""
        return 1 / self._plan.mu_each(stage) if stage in self._plan.mu else 0.0

    def counts(self, tables: list[np.ndarray], stage: str) -> list[np.ndarray]:
        """Noise on every cell; one row changes one cell of each table by 1."""
        mu = self._plan.mu_each(stage)
        if math.isinf(mu):
            return [t.astype(float) for t in tables]
        return [noise.discrete_gaussian(t, sensitivity=1, rho=mu * mu / 2, coins=self._coins).astype(float) for t in tables]

    def entropies(self, cardinalities: Sequence[int], buckets: list[np.ndarray]) -> EntropyTable:
        """Noisy entropies on an integer grid; sensitivity from docs/explanation/proofs/entropy_sensitivity.md."""
        exact = count_entropies(self._codes, cardinalities, buckets)
        mu = self._plan.mu_each("structure")
        if math.isinf(mu):
            return exact
        units = np.rint(exact.flatten() / ENTROPY_GRID).astype(np.int64)
        sensitivity = entropy_sensitivity_in_steps(self._size_lower_bound(), ENTROPY_GRID)
        noisy = noise.discrete_gaussian(units, sensitivity=sensitivity, rho=mu * mu / 2, coins=self._coins)
        return EntropyTable.unflatten(noisy * ENTROPY_GRID, len(cardinalities))

    def _size_lower_bound(self) -> int:
        mu = self._plan.mu_each("size")
        n = np.array([len(self._codes)])
        noisy = noise.discrete_gaussian(n, sensitivity=1, rho=mu * mu / 2, coins=self._coins)
        # The discrete Gaussian is sub-Gaussian: Pr[z >= t sigma] <= exp(-t**2 / 2). One less than the bound, because
        # the sensitivity is that of the smaller of two neighbouring tables.
        tail = math.sqrt(-2 * math.log(self._plan.size_failure)) / mu
        return max(1, int(noisy[0]) - math.ceil(tail) - 1)
