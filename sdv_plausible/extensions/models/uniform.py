"""Uniform model without learning or privacy cost: a baseline and negative control."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sdv_plausible.models.base import Learner, ModelBudget, SeedModel
from sdv_plausible.models.bayesian_network import BayesianNetwork, topological_order
from sdv_plausible.models.conditional_table import ConditionalTable
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.table.columns.domain import Domain


@dataclass(frozen=True)
class Uniform(Learner):
    """Draws every column independently and uniformly from its domain."""

    makes: ClassVar[type[SeedModel]] = BayesianNetwork

    def plan(self, domain: Domain, budget: ModelBudget) -> list[LedgerEntry]:  # noqa: ARG002
        """Return one entry without cost."""
        what = "uniform over the domain, nothing learned"
        return [
            LedgerEntry(
                name="model", mechanism=what, losses=(), scope="model", parts=("structure", "parameters")
            )
        ]

    def fit(self, rows: Queryable, domain: Domain, budget: ModelBudget, rng: KeyedRNG) -> BayesianNetwork:  # noqa: ARG002
        """Build the network from the domain alone."""
        cards = domain.cardinalities
        return BayesianNetwork(
            [
                ConditionalTable(
                    child=j, parents=(), buckets=(), probabilities=np.full((1, cards[j]), 1 / cards[j])
                )
                for j in topological_order(((),) * len(domain), cards)
            ]
        )
