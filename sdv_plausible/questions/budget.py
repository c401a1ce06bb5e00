"""What charged ledger entries allow.

A sum of squares for Gaussian noise, an epsilon for other noise, failures.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from sdv_plausible.privacy.accounting.losses import (
    ApproxDP,
    BoundedRangeLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    InfiniteLoss,
    Loss,
    PureDP,
    ReleaseLoss,
)
from sdv_plausible.privacy.accounting.sampled_gaussian import SampledGaussianLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import BudgetExceededError
from sdv_plausible.privacy.neighbours import Neighbours

_ROUNDING = 1e-9  # relative: shares that add up to the whole may miss it by rounding


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """What questions may cost together."""

    # Gaussian privacy parameter of all Gaussian noise together, >= 0; infinity answers without noise
    mu: float
    epsilon: float = 0.0  # sum of the epsilons of discrete Laplace noise
    failure: float = 0.0  # sum of the failure probabilities of thresholds and bounds
    choices: int = 0
    choice: float = math.inf  # epsilon of each of them; infinity without noise
    # Sums over samples: how many, at which rate and with how much noise each
    sampled: SampledGaussianLoss | None = None

    @classmethod
    def of(cls, entries: Iterable[LedgerEntry]) -> Allowance:
        """Return what ledger entries have paid for."""
        squares, epsilon, failure = 0.0, 0.0, 0.0
        losses = [loss for entry in entries for loss in entry.losses]
        for loss in losses:
            more = _paid_for(loss)
            squares, epsilon, failure = squares + more[0], epsilon + more[1], failure + more[2]
        chosen = [loss for loss in losses if isinstance(loss, BoundedRangeLoss)]
        sampled = [loss for loss in losses if isinstance(loss, SampledGaussianLoss)]
        if len(sampled) > 1:
            raise ValueError(
                f"entries ({len(sampled)} of sums over samples) must have one of these at most: charge all "
                "sums as one, with their number"
            )
        return cls(
            mu=math.sqrt(squares),
            epsilon=epsilon,
            failure=failure,
            choices=sum(loss.count for loss in chosen),
            choice=min((loss.epsilon for loss in chosen), default=math.inf),  # the least pays for any of them
            sampled=sampled[0] if sampled else None,
        )

    @property
    def is_private(self) -> bool:
        """Whether there is noise at all."""
        return math.isfinite(self.mu)

    def for_counts(self, neighbours: Neighbours) -> Allowance:
        """What is allowed in terms of one row: mu of a table of counts that one row moves by 1."""
        return replace(self, mu=self.mu / neighbours.histogram_l2)

    def sigma(self, share: float, sensitivity: float = 1.0) -> float:
        """Noise deviation that a share of mu^2 buys at an L2 sensitivity; 0 without privacy."""
        return sensitivity / (self.mu * math.sqrt(share)) if self.is_private else 0.0


def _paid_for(loss: Loss) -> tuple[float, float, float]:
    """Square of mu, epsilon and failure probability that a loss pays for."""
    match loss:
        case InfiniteLoss():
            return math.inf, math.inf, 1.0
        case GaussianLoss():
            return loss.count * loss.sensitivity_over_sigma**2, 0.0, 0.0
        case ApproxDP():
            return 0.0, loss.count * loss.epsilon, loss.count * loss.delta
        case PureDP() | DiscreteLaplaceLoss():
            return 0.0, loss.count * loss.epsilon, 0.0
        case ReleaseLoss():
            return 0.0, loss.epsilon0, loss.delta
        case _:  # a loss that no kind of question draws on
            return 0.0, 0.0, 0.0


class Meter:
    """Counts what was spent of an allowance. Views of the same rows share one.

    Gaussian noise is a sum of squares: a release with sensitivity s and noise sigma costs (s / sigma)^2, and
    the costs may be chosen as one goes, as long as their sum stays within mu^2
    (docs/explanation/proofs/adaptive_network.md, Lemma 1).
    """

    def __init__(self, allowance: Allowance) -> None:
        self.allowance = allowance
        self.share = self.epsilon = self.failure = 0.0  # spent so far
        self.choices = self.sums = 0
        self._answers = 0

    def next_answer(self) -> int:
        """Number the answers, so that each has a stream of coins of its own."""
        self._answers += 1
        return self._answers

    def spend_choice(self) -> None:
        """Spend one choice before it is made."""
        if self.allowance.is_private and self.choices >= self.allowance.choices:
            raise BudgetExceededError(
                f"the choice exceeds the budget: all {self.allowance.choices} that were charged are made"
            )
        self.choices += 1

    def spend_sum(self, rate: float) -> None:
        """Spend one sum over a sample before it is drawn, at the rate that was charged."""
        if self.allowance.is_private:
            paid = self.allowance.sampled
            if paid is None or self.sums >= paid.count:
                made = 0 if paid is None else paid.count
                raise BudgetExceededError(
                    f"the sum over a sample exceeds the budget: all {made} that were charged are made"
                )
            if not 0 < rate <= paid.rate:
                raise BudgetExceededError(
                    f"rate ({rate:g}) must be above 0 and at most the rate that was charged ({paid.rate:g})"
                )
        self.sums += 1

    def spend(self, *, share: float = 0.0, epsilon: float = 0.0, failure: float = 0.0) -> None:
        """Spend a share of mu^2, epsilon of discrete Laplace noise, failure probability, before an answer."""
        # Where less is left, nothing is spent.
        allowed = self.allowance
        whole = 1.0 if allowed.mu > 0 else 0.0
        for what, wanted, used, most in (
            ("share", share, self.share, whole),
            ("epsilon", epsilon, self.epsilon, allowed.epsilon),
            ("failure", failure, self.failure, allowed.failure),
        ):
            if not wanted >= 0:
                raise ValueError(
                    f"{what} ({wanted!r}) must be a number of at least 0: it is what a question costs"
                )
            if used + wanted > most * (1 + _ROUNDING):
                left = max(most - used, 0)
                raise BudgetExceededError(
                    f"{what} ({wanted:.4g}) of the budget exceeds what is left ({left:.4g})"
                )
        self.share, self.epsilon, self.failure = (
            self.share + share,
            self.epsilon + epsilon,
            self.failure + failure,
        )
