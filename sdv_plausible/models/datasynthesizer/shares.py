"""How GreedyBayes shares out its budget, from the domain and the budget alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sdv_plausible.models.base import NO_NOISE, ModelBudget
from sdv_plausible.privacy.accounting.losses import (
    ApproxDP,
    BoundedRangeLoss,
    GaussianLoss,
    InfiniteLoss,
    Loss,
)
from sdv_plausible.privacy.entries import LedgerEntry, Part
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.table.columns.domain import Domain

STRUCTURE = 0.2  # of what a Gaussian budget could buy, for the choices; they are charged as what they are
SHARES = {"size": 0.02, "margins": 0.18, "tables": 0.80}  # of mu**2 that is left
SIZE_FAILURE = 0.01  # share of delta for the event that the noisy upper bound on n is too low
_TEXTS = {
    "size": "number of rows, for the sensitivity of mutual information",
    "margins": "one-way counts",
    "tables": "counts of the conditional tables",
}
_PARTS: dict[str, tuple[Part, ...]] = {
    "size": ("structure",),
    "margins": ("parameters",),
    "tables": ("parameters",),
}


@dataclass(frozen=True, kw_only=True)
class GreedyPlan:
    """What every stage may spend."""

    mu: float  # Gaussian privacy parameter of all counts together; infinity for no noise
    choice: float  # epsilon of each choice of an attribute and its parents
    num_attributes: int  # the number m of attributes
    size_failure: float  # probability that the noisy upper bound on n is below n

    @classmethod
    def make(cls, domain: Domain, budget: ModelBudget) -> GreedyPlan:
        """Decide the noise of every stage."""
        m = len(domain)
        if math.isinf(budget.epsilon):
            return cls(mu=math.inf, choice=math.inf, num_attributes=m, size_failure=0.0)
        if m < 2:
            return cls(mu=budget.gaussian(), choice=math.inf, num_attributes=m, size_failure=0.0)
        failure = SIZE_FAILURE * budget.delta
        # epsilon^2/8-zCDP for a choice against mu^2/2 for Gaussian noise
        choice = 2 * math.sqrt(STRUCTURE / (m - 1)) * budget.gaussian(failure)
        spent = (*budget.spent, BoundedRangeLoss(epsilon=choice, count=m - 1))
        rest = ModelBudget(epsilon=budget.epsilon, delta=budget.delta, spent=spent)
        return cls(mu=rest.gaussian(failure), choice=choice, num_attributes=m, size_failure=failure)

    @property
    def shares(self) -> dict[str, float]:
        """Share of mu^2 of every stage that there is."""
        return SHARES if self.num_attributes > 1 else {"margins": 1.0}

    def share_each(self, stage: str) -> float:
        """Share of mu^2 of each number or table of a stage."""
        m = self.num_attributes
        return self.shares[stage] / {"size": 1, "margins": m, "tables": m - 1}[stage]

    def entries(self) -> list[LedgerEntry]:
        """Ledger entries, one per stage."""
        if math.isinf(self.mu):
            return [
                LedgerEntry(
                    name="model",
                    mechanism="GreedyBayes, no noise",
                    losses=(InfiniteLoss(),),
                    scope="the model",
                    note=NO_NOISE,
                    parts=("structure", "parameters"),
                )
            ]
        entries = [self._counts(stage) for stage in self.shares]
        if self.num_attributes > 1:
            losses = (BoundedRangeLoss(epsilon=self.choice, count=self.num_attributes - 1),)
            each = rounded_up(self.choice, 4)
            how = f"largest mutual information, exponential mechanism of epsilon {each} per column"
            entries.append(_entry("structure", how, losses, ("structure",)))
        return entries

    def _counts(self, stage: str) -> LedgerEntry:
        each = self.share_each(stage)
        mu, count = self.mu * math.sqrt(each), round(self.shares[stage] / each)
        losses: tuple[Loss, ...] = (GaussianLoss(sensitivity_over_sigma=mu, count=count),)
        if stage == "size":  # the event that the bound is too low only adds to delta
            losses = (*losses, ApproxDP(epsilon=0.0, delta=self.size_failure))
        how = f"{_TEXTS[stage]}, discrete Gaussian noise on every cell, mu {rounded_up(mu)} each"
        return _entry(stage, how, losses, _PARTS[stage])


def _entry(name: str, how: str, losses: tuple[Loss, ...], parts: tuple[Part, ...]) -> LedgerEntry:
    return LedgerEntry(name=name, mechanism=how, losses=losses, scope="the model", parts=parts)
