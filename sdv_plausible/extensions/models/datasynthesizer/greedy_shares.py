"""Budget shares of GreedyBayes, from the domain and the budget alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.budget_stages import BudgetStages, StageSpecs, stage_entry
from sdv_plausible.privacy.accounting.losses import BoundedRangeLoss
from sdv_plausible.privacy.entries import MODEL_PARTS, LedgerEntry
from sdv_plausible.privacy.ledger_record import rounded_up
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
