"""How the paper's learner shares out its budget over its stages, from the domain and the budget alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sdv_plausible.models.base import NO_NOISE, ModelBudget
from sdv_plausible.privacy.accounting.losses import ApproxDP, GaussianLoss, InfiniteLoss, Loss
from sdv_plausible.privacy.entries import LedgerEntry, Part
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.table.columns.domain import Domain

Structure = Literal["cfs", "independent"] | Mapping[str, Sequence[str]]
SHARES = {"margins": 0.10, "size": 0.02, "structure": 0.18, "tables": 0.70}  # of mu**2
SIZE_FAILURE = 0.01  # share of delta for the event that the noisy lower bound on n is too high
_PARTS: dict[str, tuple[Part, ...]] = {
    "margins": ("parameters",),
    "size": ("structure",),
    "structure": ("structure",),
    "tables": ("parameters",),
}
_TEXTS = {
    "margins": "one-way counts",
    "size": "number of rows, for the entropies' sensitivity",
    "structure": "entropies for correlation-based feature selection",
    "tables": "counts of the conditional tables",
}


@dataclass(frozen=True, kw_only=True)
class LearningPlan:
    """Shares of every stage."""

    mu: float  # Gaussian privacy parameter of all stages together; infinity for no noise
    shares: dict[str, float]  # share of mu^2 of every stage that is made; they sum to 1
    num_attributes: int  # the number m of attributes
    size_failure: float = 0.0  # probability that the noisy lower bound on n is above n

    @classmethod
    def make(cls, structure: Structure, domain: Domain, budget: ModelBudget) -> LearningPlan:
        """Decide the noise of every stage."""
        stages = ["margins", "size", "structure", "tables"]
        if isinstance(structure, str) and structure == "independent":
            stages = ["margins"]
        elif not isinstance(structure, str):
            stages = ["margins", "tables"]
        whole = sum(SHARES[s] for s in stages)
        private = math.isfinite(budget.epsilon)
        failure = SIZE_FAILURE * budget.delta if private and "size" in stages else 0.0
        return cls(
            mu=budget.gaussian(failure),
            shares={s: SHARES[s] / whole for s in stages},
            num_attributes=len(domain),
            size_failure=failure,
        )

    def releases(self, stage: str) -> int:
        """Number of equally noisy numbers or tables of a stage."""
        m = self.num_attributes
        return {"size": 1, "structure": m * (m + 1)}.get(stage, m)

    def each(self, stage: str) -> list[float]:
        """Shares of mu^2 of the tables of a stage."""
        return [self.shares[stage] / self.releases(stage)] * self.releases(stage)

    def mu_each(self, stage: str) -> float:
        """Parameter mu of each single release of a stage."""
        return self.mu * math.sqrt(self.shares[stage] / self.releases(stage))

    def entries(self, structure: Structure) -> list[LedgerEntry]:
        """Ledger entries, one per stage."""
        entries = []
        for stage, text in _TEXTS.items():
            if stage not in self.shares:
                continue
            losses: tuple[Loss, ...]
            if math.isinf(self.mu):
                losses, how, note = (InfiniteLoss(),), text + ", no noise", NO_NOISE
            else:
                each = self.mu_each(stage)
                losses = (GaussianLoss(sensitivity_over_sigma=each, count=self.releases(stage)),)
                if (
                    stage == "size"
                ):  # docs/explanation/proofs/entropy_sensitivity.md: the event only adds to delta
                    losses = (*losses, ApproxDP(epsilon=0.0, delta=self.size_failure))
                how = f"{text}, discrete Gaussian noise on every cell, mu {rounded_up(each)} each"
                note = ""
            parts = _PARTS[stage]
            entries.append(
                LedgerEntry(
                    name=stage, mechanism=how, losses=losses, scope="the model", note=note, parts=parts
                )
            )
        if not isinstance(structure, str):
            how = "declared by the user"
            entries.append(
                LedgerEntry(
                    name="structure", mechanism=how, losses=(), scope="the model", parts=("structure",)
                )
            )
        return entries
