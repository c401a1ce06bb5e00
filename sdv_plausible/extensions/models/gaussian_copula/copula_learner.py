"""Learner of a private Gaussian copula from noisy margins and noisy bucketed pair tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sdv_plausible.extensions.models.gaussian_copula.copula_model import (
    CopulaModel,
    factors,
    latent_scores,
    polychoric,
)
from sdv_plausible.models.base import Learner, ModelBudget, SeedModel
from sdv_plausible.models.buckets import default_buckets
from sdv_plausible.models.count_learning import BudgetStages, StageSpecs, measure_margins
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.entries import MODEL_PARTS, LedgerEntry
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import Axis
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.table.columns.domain import Domain

Tables = Mapping[tuple[int, int], np.ndarray]
MARGINS = 0.5  # share of mu**2 for one-way counts; pairs get the rest


class CopulaPlan(BudgetStages):
    """Budget of margins and pairs; a single column has no pairs."""

    stage_specs: ClassVar[StageSpecs] = {
        "margins": ("one-way counts", MODEL_PARTS),
        "pairs": ("counts of pairs of buckets", MODEL_PARTS),
    }

    @classmethod
    def make(cls, domain: Domain, budget: ModelBudget) -> CopulaPlan:
        """Compute the shares of the budget."""
        shares = {"margins": MARGINS, "pairs": 1 - MARGINS} if len(domain) > 1 else {"margins": 1.0}
        return cls(mu=budget.gaussian(), shares=shares, num_attributes=len(domain))

    def releases(self, stage: str) -> int:
        """Return the number of tables of a stage."""
        m = self.num_attributes
        return m * (m - 1) // 2 if stage == "pairs" else super().releases(stage)


@dataclass(frozen=True, kw_only=True)
class GaussianCopula(Learner):
    """Learn margins and polychoric correlations from noisy counts.

    Parameters
    ----------
    max_buckets : int
        Largest number of buckets of a column in pair tables, at least 2. Noise is added to every cell, so
        keep it small.
    """

    max_buckets: int = 10
    makes: ClassVar[type[SeedModel]] = CopulaModel
    looks_at_pairs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check.whole("max_buckets", self.max_buckets, 2, "a table of pairs needs two buckets; try 10")

    def plan(self, domain: Domain, budget: ModelBudget) -> list[LedgerEntry]:
        """Return the ledger entries of learning: one for the margins and one for the pairs."""
        plan = CopulaPlan.make(domain, budget)
        if math.isinf(plan.mu):
            return [budget.entry("counts of columns and of pairs of buckets")]
        return plan.stage_entries()

    def fit(self, rows: Queryable, domain: Domain, budget: ModelBudget, rng: KeyedRNG) -> CopulaModel:  # noqa: ARG002
        """Measure the margins, then pair tables on buckets of these margins."""
        m, plan = len(domain), CopulaPlan.make(domain, budget)
        _, total, margins = measure_margins(rows, domain.cardinalities, plan.release_shares("margins"))
        buckets = [
            default_buckets(column, margin, self.max_buckets)
            for column, margin in zip(domain, margins, strict=True)
        ]
        pairs = list(itertools.combinations(range(m), 2))
        axes = [[Axis(i, buckets[i]), Axis(j, buckets[j])] for i, j in pairs]
        found = rows.ask_tables(axes, plan.release_shares("pairs")) if pairs else []
        sigma = found[0].sigma if found else 0.0
        tables = {pair: np.asarray(answer.values, float) for pair, answer in zip(pairs, found, strict=True)}
        masses = [np.bincount(bucket, margin) for bucket, margin in zip(buckets, margins, strict=True)]
        ranks = _ranks(domain, tables, masses, sigma / max(total, 1.0))
        correlations = _correlations(tables, sigma, total, masses, ranks)
        return CopulaModel.of_margins(factors(correlations), _axes(buckets, ranks), margins)


def _ranks(domain: Domain, tables: Tables, masses: Sequence[np.ndarray], noise: float) -> list[np.ndarray]:
    """Return the buckets of every column by latent score; ordered columns keep their order."""
    ordered = [column.is_ordered for column in domain]
    scores = latent_scores(tables, masses, ordered, noise)
    return [
        np.arange(len(score)) if known else np.argsort(score, kind="stable")
        for score, known in zip(scores, ordered, strict=True)
    ]


def _correlations(
    tables: Tables, sigma: float, total: float, masses: Sequence[np.ndarray], ranks: Sequence[np.ndarray]
) -> np.ndarray:
    """Return the matrix of polychoric correlations, which noise may leave indefinite."""
    along = [mass[rank] for mass, rank in zip(masses, ranks, strict=True)]
    correlations = np.eye(len(masses))
    for (i, j), table in tables.items():
        sorted_table = table[np.ix_(ranks[i], ranks[j])]
        correlations[i, j] = correlations[j, i] = polychoric(sorted_table, sigma, total, along[i], along[j])
    return correlations


def _axes(buckets: Sequence[np.ndarray], ranks: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the codes of every column along its latent axis: bucket by bucket, in code order within."""
    place = [np.argsort(rank) for rank in ranks]
    return [np.argsort(where[bucket], kind="stable") for bucket, where in zip(buckets, place, strict=True)]
