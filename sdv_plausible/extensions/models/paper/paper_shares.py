"""Budget shares of the paper's learner by stage, from the domain and the budget alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.budget_stages import BudgetStages, StageSpecs
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.table.columns.domain import Domain

Structure = Literal["cfs", "independent"] | Mapping[str, Sequence[str]]
SHARES = {"margins": 0.10, "size": 0.02, "structure": 0.18, "tables": 0.70}  # shares of mu**2
SIZE_FAILURE = 0.01  # share of delta for the event that the noisy lower bound on n is too high


@dataclass(frozen=True, kw_only=True)
class LearningPlan(BudgetStages):
    """Budget of every stage of the paper's learner."""

    stage_specs: ClassVar[StageSpecs] = {
        "margins": ("one-way counts", ("parameters",)),
        "size": ("number of rows, for the entropies' sensitivity", ("structure",)),
        "structure": ("entropies for correlation-based feature selection", ("structure",)),
        "tables": ("counts of the conditional tables", ("parameters",)),
    }

    @classmethod
    def make(cls, structure: Structure, domain: Domain, budget: ModelBudget) -> LearningPlan:
        """Compute the noise of every stage."""
        stages = list(SHARES) if structure == "cfs" else ["margins", "tables"]
        if structure == "independent":
            stages = ["margins"]
        total = sum(SHARES[s] for s in stages)
        is_private = math.isfinite(budget.epsilon)
        failure = SIZE_FAILURE * budget.delta if is_private and "size" in stages else 0.0
        return cls(
            mu=budget.gaussian(failure),
            shares={s: SHARES[s] / total for s in stages},
            num_attributes=len(domain),
            size_failure=failure,
        )

    def releases(self, stage: str) -> int:
        """Return the number of releases of a stage; the structure uses entropies of all columns and pairs."""
        m = self.num_attributes
        return m * (m + 1) if stage == "structure" else super().releases(stage)

    def entries(self, structure: Structure) -> list[LedgerEntry]:
        """Return one ledger entry per stage."""
        if isinstance(structure, str):
            return self.stage_entries()
        declared = LedgerEntry(
            name="structure", mechanism="declared by the user", losses=(), scope="the model",
            parts=("structure",),
        )  # fmt: skip
        return [*self.stage_entries(), declared]
