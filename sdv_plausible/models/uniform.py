"""The uniform model: nothing is learned, so nothing is spent. A baseline and a negative control."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sdv_plausible.models.base import LearningRows, ModelBudget
from sdv_plausible.models.bayesian_network import BayesianNetwork, ConditionalTable
from sdv_plausible.models.paper.structure import topological_order
from sdv_plausible.privacy.ledger import LedgerEntry, PrivacyLedger
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.table.domain import Domain


@dataclass(frozen=True)
class UniformLearner:
    """Every value of the domain equally likely, independently."""

    def plan(self, domain: Domain, budget: ModelBudget) -> list[LedgerEntry]:  # noqa: ARG002
        """One free entry."""
        what = "uniform over the domain, nothing learned"
        return [LedgerEntry(name="model", mechanism=what, losses=(), scope="model", parts=("structure", "parameters"))]

    def fit(
        self,
        rows: LearningRows,  # noqa: ARG002
        domain: Domain,
        budget: ModelBudget,
        ledger: PrivacyLedger,
        coins: Coins,  # noqa: ARG002
    ) -> BayesianNetwork:
        """Build the network from the domain alone."""
        ledger.charge(*self.plan(domain, budget))
        cards = domain.cardinalities
        order = topological_order(((),) * len(domain), cards)
        return BayesianNetwork(
            [
                ConditionalTable(child=j, parents=(), buckets=(), probabilities=np.full((1, cards[j]), 1 / cards[j]))
                for j in order
            ]
        )
