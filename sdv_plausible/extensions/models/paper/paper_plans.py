"""Budget shares of the paper's learner by stage, from the domain and the budget alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from sdv_plausible.extensions.models.paper.structure import ENTROPY_GRID, Entropies
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.count_learning import BudgetStages, StageSpecs, stage_entry
from sdv_plausible.privacy.accounting import paper_theorems as printed
from sdv_plausible.privacy.accounting.losses import ApproxDP, DiscreteLaplaceLoss, EpsilonDelta, Loss, PureDP
from sdv_plausible.privacy.entries import LedgerEntry, Part
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.queries.count_queries import CountTable, NumberOfRows
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


PRINTED_SIZE_FAILURE = 0.01  # share of delta for the event that the noisy n is far above n
STAGES: dict[str, tuple[str, Part]] = {
    "size": ("number of rows ([PD] Eq. 10)", "structure"),
    "structure": ("entropies, scale from Lemma 1 ([PD] Eq. 8, 9)", "structure"),
    "tables": ("counts of the tables ([PD] Eq. 14)", "parameters"),
}
MISSED = (
    "that the entropies' sensitivity is for replacing a row and twice what adding one needs, and that it is "
    "divided by a noisy number of rows; no claim rests on it"
)
SAME_ROWS = "that structure and tables were learned from the same rows here, "


@dataclass(frozen=True, kw_only=True)
class PrintedPlan:
    """Scales as printed, from the budget alone: epsilon for the structure, and again for the tables."""

    shares: printed.PaperShares | None  # loss of every noisy number; None for no noise
    num_attributes: int  # number m of attributes
    learns_structure: bool  # whether entropies are queried
    size_failure: float  # probability that the noisy number of rows is too high for Lemma 1

    @classmethod
    def make(cls, num_attributes: int, budget: ModelBudget, *, learns_structure: bool) -> PrintedPlan:
        """Compute the noise; the printed noise supports single rows, added or removed, only."""
        check_printed(budget.neighbours)
        shares = (
            printed.paper_shares(num_attributes, budget.epsilon, budget.delta)
            if math.isfinite(budget.epsilon) and num_attributes
            else None
        )
        failure = PRINTED_SIZE_FAILURE * budget.delta if shares and learns_structure else 0.0
        return cls(
            shares=shares,
            num_attributes=num_attributes,
            learns_structure=learns_structure,
            size_failure=failure,
        )

    @property
    def entropies(self) -> int:
        """Number of entropies, m (m + 1)."""
        return self.num_attributes * (self.num_attributes + 1)

    @property
    def least_noisy_rows(self) -> int:
        """Noisy number of rows below which entropies are not queried (paper_formulas.md, Theorem 1)."""
        if self.shares is None:
            return 1
        return 2 * math.ceil(-math.log(self.size_failure) / self.shares.size) + 2

    def as_printed(self, delta: float, split: tuple[float, float, float] | None) -> str:
        """Return the result of the formulas of section 3.5 for the model."""
        m, shares = self.num_attributes, self.shares
        if shares is None:
            return "no epsilon for the model"
        structure = EpsilonDelta(0.0, 0.0)
        if self.learns_structure:
            structure = printed.paper_structure_loss(m, shares.entropy, delta, shares.size)
        loss = printed.paper_model_loss(structure, printed.paper_parameter_loss(m, shares.counts, delta))
        how = "Theorems 2, 3, the larger of structure and tables"
        if split is not None:
            share = max(split[:2])
            loss = printed.paper_sampling_amplification(*loss, share)
            how += f", Theorem 4 with p = {share:.3g}"
        return f"epsilon {rounded_up(loss.epsilon)} at delta {rounded_up(loss.delta)} for the model ({how})"

    def entries(self) -> list[LedgerEntry]:
        """Return the ledger entries, with proved losses of this noise."""
        losses_of: dict[str, tuple[float, tuple[Loss, ...]]] = {}
        if (shares := self.shares) is not None:
            failure = ApproxDP(epsilon=0.0, delta=self.size_failure)
            tables = DiscreteLaplaceLoss(epsilon=shares.counts, count=self.num_attributes)
            losses_of = {
                "size": (shares.size, (DiscreteLaplaceLoss(epsilon=shares.size), failure)),
                "structure": (shares.entropy, (PureDP(epsilon=shares.entropy, count=self.entropies),)),
                "tables": (shares.counts, (tables,)),
            }
        entries = []
        for name, (what, part) in STAGES.items():
            if name == "tables" or self.learns_structure:
                each, losses = losses_of.get(name, (math.inf, ()))
                noise = f"Laplace noise as printed, epsilon {rounded_up(each, 4)} each"
                entries.append(stage_entry(name, what, (part,), losses, noise))
        return entries


@dataclass(frozen=True)
class PrintedSize(NumberOfRows):
    """Number of rows, with Laplace noise (Eq. 10)."""

    def l1(self, neighbours: Neighbours) -> int:
        """Return the L1 sensitivity: one row more or less."""
        return neighbours.rows


@dataclass(frozen=True)
class PrintedEntropies(Entropies):
    """Entropies with the sensitivity of Lemma 1 at ``least_rows``, here the noisy number of rows itself."""

    def l1(self, neighbours: Neighbours) -> int:  # noqa: ARG002
        """Return the L1 sensitivity: Lemma 1 for each entropy in steps, plus a step for rounding."""
        steps = math.ceil(printed.paper_entropy_sensitivity(self.least_rows) / ENTROPY_GRID) + 1
        return steps * self.apart


class PrintedCounts(CountTable):
    """Table of counts with Laplace noise."""

    def l1(self, neighbours: Neighbours) -> int:
        """Return the L1 sensitivity: one row changes one cell."""
        return neighbours.rows


def check_printed(neighbours: Neighbours) -> None:
    """Raise ValueError unless the guarantee protects single rows, added or removed."""
    if neighbours != ONE_ROW:
        others = [f"person ({neighbours.person!r})"] if neighbours.of_people else []
        others += ["neighbours ('replace_one')"] if neighbours.replace else []
        raise Refused.saying(
            "noise",
            f"noise ('paper') protects single rows added or removed, and not beside {' and '.join(others)}: "
            "leave that out, or use noise='calibrated'",
        )


def cut_at_zero(noisy: np.ndarray) -> np.ndarray:
    """Clip noisy counts as printed: ``max(0, n + noise)`` (Eq. 14)."""
    cut: np.ndarray = np.maximum(0.0, noisy)
    return cut


def uniform_prior(cardinality: int, concentration: float) -> np.ndarray:
    """Return uniform hyper-parameters alpha (Eq. 11) with this sum; the paper prints no value."""
    return np.full(cardinality, concentration / cardinality)
