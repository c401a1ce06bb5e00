"""Shares of a learner's budget by stage, and their ledger entries: fixed before any row is read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from sdv_plausible.models.conditional_table import project_to_simplex
from sdv_plausible.privacy.accounting.losses import ApproxDP, InfiniteLoss, Loss, gaussian_noise
from sdv_plausible.privacy.entries import LedgerEntry, Part
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import Axis
from sdv_plausible.queries.queryable import NoisyValues, Queryable

NO_NOISE = "the model was learned without noise (epsilon is infinite): give a finite epsilon"

StageSpecs = Mapping[str, tuple[str, tuple[Part, ...]]]
"""Description of each stage's queries, and the parts of the model that they serve."""


@dataclass(frozen=True, kw_only=True)
class BudgetStages:
    """Shares of one Gaussian budget for the stages of a learner."""

    mu: float  # Gaussian privacy parameter of all stages together; infinity for no noise
    shares: Mapping[str, float]  # share of mu^2 per stage; they sum to 1
    num_attributes: int  # number m of attributes
    size_failure: float = 0.0  # failure probability of the noisy bound on the number of rows
    stage_specs: ClassVar[StageSpecs]

    def releases(self, stage: str) -> int:
        """Return the number of equally noisy numbers or tables of a stage."""
        return {"size": 1}.get(stage, self.num_attributes)

    def release_shares(self, stage: str) -> list[float]:
        """Return the shares of mu^2 of the releases of a stage."""
        return [self.shares[stage] / self.releases(stage)] * self.releases(stage)

    def mu_each(self, stage: str) -> float:
        """Return the parameter mu of each release of a stage."""
        return self.mu * math.sqrt(self.shares[stage] / self.releases(stage))

    def stage_entries(self) -> list[LedgerEntry]:
        """Return one ledger entry per stage; the failure of the bound on the rows adds to delta."""
        return [
            counts_entry(
                stage, *self.stage_specs[stage], self.mu_each(stage), self.releases(stage),
                self.size_failure if stage == "size" else 0.0,
            )
            for stage in self.stage_specs
            if stage in self.shares and self.releases(stage)
        ]  # fmt: skip


def counts_entry(
    name: str, what: str, parts: tuple[Part, ...], mu: float, count: int, failure: float = 0.0
) -> LedgerEntry:
    """Return the entry of ``count`` answers with Gaussian noise of parameter mu each."""
    losses: tuple[Loss, ...] = ()
    if math.isfinite(mu):
        failures = (ApproxDP(epsilon=0.0, delta=failure),) if failure else ()
        losses = (*gaussian_noise(mu, count), *failures)
    return stage_entry(name, what, parts, losses, "discrete Gaussian noise on every cell")


def stage_entry(
    name: str, what: str, parts: tuple[Part, ...], losses: tuple[Loss, ...], noise: str
) -> LedgerEntry:
    """Return the entry of a stage; without losses it has no noise and no privacy guarantee."""
    return LedgerEntry(
        name=name,
        mechanism=f"{what}, {noise if losses else 'no noise'}",
        losses=losses or (InfiniteLoss(),),
        scope="the model",
        note="" if losses else NO_NOISE,
        parts=parts,
    )


ParameterDraw = Literal["mean", "posterior"]


def dirichlet_table(
    counts: np.ndarray,
    margin: np.ndarray,
    concentration: float,
    draw: ParameterDraw = "mean",
    rng: KeyedRNG | None = None,
) -> np.ndarray:
    """Return the conditional table of counts under a Dirichlet prior (paper Eq. 11-13)."""
    # Shape (configurations, cardinality); rows sum to 1. Counts may be fractional. The prior is
    # ``concentration * margin``, which shrinks configurations with few records towards the child's margin
    # instead of the uniform distribution. Returns the posterior mean (Eq. 13) or a posterior draw (Eq. 12).
    alpha = counts + concentration * margin
    if draw == "posterior":
        if rng is None:
            raise ValueError('draw="posterior" needs rng')
        positive = alpha > 0
        drawn = np.zeros_like(alpha, dtype=float)
        drawn[positive] = rng.standard_gamma(alpha[positive])
        # A row of tiny alphas may underflow to all zeros; use its mean then.
        alpha = np.where(drawn.sum(axis=1, keepdims=True) > 0, drawn, alpha)
    table: np.ndarray = alpha / alpha.sum(axis=1, keepdims=True)
    return table


def clean_counts(noisy: np.ndarray, total: float) -> np.ndarray:
    """Project noisy counts on the simplex: the paper's Eq. 14 without its upward bias."""
    return project_to_simplex(noisy, max(total, 1.0))


def measure_margins(
    rows: Queryable, cardinalities: Sequence[int], shares: Sequence[float]
) -> tuple[list[NoisyValues], float, list[np.ndarray]]:
    """Measure the one-way counts; return them, their mean total (n is private), and clean margins."""
    answers = rows.ask_tables([[Axis.of_codes(j, c)] for j, c in enumerate(cardinalities)], shares)
    total = float(np.mean([answer.values.sum() for answer in answers]))
    return answers, total, [clean_margin(answer.values, total) for answer in answers]


def clean_margin(noisy: np.ndarray, total: float) -> np.ndarray:
    """Return a strictly positive distribution from noisy one-way counts."""
    margin = project_to_simplex(noisy, max(total, 1.0)) + 1e-6 * max(total, 1.0) / len(noisy)
    distribution: np.ndarray = margin / margin.sum()
    return distribution
