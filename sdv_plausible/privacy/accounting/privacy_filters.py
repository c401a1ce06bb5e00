"""Privacy filters: limits for a sequence of fits whose costs are chosen adaptively.

Composition adds costs that are fixed beforehand. A filter fixes limits beforehand and lets costs depend on
earlier releases: every fit has a cost per limit, and is refused if a sum of costs would exceed a limit. All
admitted fits together are then (epsilon, delta)-DP. Proofs: ``docs/explanation/proofs/budget.md``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from scipy.special import log_expit, ndtri_exp

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.accounting.crossing import largest_within, smallest_within
from sdv_plausible.privacy.accounting.gaussian import gaussian_log_delta
from sdv_plausible.privacy.accounting.losses import ApproxDP, GaussianLoss, InfiniteLoss, Loss, PureDP

FAILURE_SHARE = 0.1  # share of delta that the rho filter reserves for thresholds, as for a learned domain
_LARGEST_MU = 1e3
Cost = Mapping[str, float]
"""Cost of a fit, or a limit: an amount per unit of the filter."""


@dataclass(frozen=True)
class PrivacyFilter(ABC):
    """A total that is fixed beforehand, for costs that are not.

    ``epsilon`` > 0 and ``delta`` in (0, 1) limit all fits together.
    """

    epsilon: float
    delta: float
    name: ClassVar[str]

    def __post_init__(self) -> None:
        epsilon = check.positive("epsilon", self.epsilon, "it is the total of all fits; try 1.0")
        why = "it is the failure probability of all fits together; try 1e-8"
        object.__setattr__(self, "epsilon", epsilon)  # release files hold no NumPy numbers
        object.__setattr__(self, "delta", check.delta("delta", self.delta, why))

    @property
    @abstractmethod
    def limits(self) -> Cost:
        """Upper limits on the summed costs of all fits, per unit."""

    @abstractmethod
    def cost(self, losses: Sequence[Loss], delta: float) -> Cost:
        """Cost of one fit with these finite losses, whose total is stated at delta."""

    @abstractmethod
    def left(self, costs: Iterable[Cost], delta: float) -> float:
        """Largest epsilon left for another fit with Gaussian noise only, at its delta; 0 for none."""

    def admits(self, costs: Iterable[Cost]) -> bool:
        """Whether the exact sum of the costs is within every limit."""
        total = add_up(costs)
        return all(total.get(unit, 0) <= _exact(limit) for unit, limit in self.limits.items())

    def _rest(self, costs: Iterable[Cost]) -> dict[str, float]:
        total = add_up(costs)
        return {unit: float(_exact(limit) - total.get(unit, 0)) for unit, limit in self.limits.items()}


class SumFilter(PrivacyFilter):
    """Limits the sum of the fits' epsilons and the sum of their deltas (proof page budget.md, Theorem 1).

    Admits any fit with a privacy guarantee, whatever its mechanisms.
    """

    name = "sum"

    @property
    def limits(self) -> Cost:
        """Epsilon and delta."""
        return {"epsilon": self.epsilon, "delta": self.delta}

    def cost(self, losses: Sequence[Loss], delta: float) -> Cost:
        """Composed total at the fit's delta, and that delta."""
        _refuse_infinite(losses)
        if not losses:
            return {"epsilon": 0.0, "delta": 0.0}
        return {"epsilon": compose(losses, delta) if delta else _sum_epsilons(losses), "delta": delta}

    def left(self, costs: Iterable[Cost], delta: float) -> float:
        """Remaining epsilon, if enough delta remains."""
        rest = self._rest(costs)
        return max(0.0, rest["epsilon"]) if delta <= rest["delta"] else 0.0


class RhoFilter(PrivacyFilter):
    """Limits the sum of the fits' rho = mu^2/2, for Gaussian noise (proof page budget.md, Theorem 2).

    Counts Gaussian noise and pure losses, each by the mu of its dominating mechanism, and thresholds, which
    fail with a probability. Thresholds have their own share of delta, fixed beforehand. Two equal fits cost
    about 1.4 times one.
    """

    name = "rho"

    @property
    def limits(self) -> Cost:
        """Largest rho within epsilon at delta minus the thresholds' share, and that share."""
        mu = largest_within(
            lambda mu: math.exp(gaussian_log_delta(mu, self.epsilon)),
            self.delta * (1 - FAILURE_SHARE), 1e-9, _LARGEST_MU,
        )  # fmt: skip
        return {"rho": mu * mu / 2, "failure": self.delta * FAILURE_SHARE}

    def cost(self, losses: Sequence[Loss], delta: float) -> Cost:  # noqa: ARG002  rho has none
        """Sums over Gaussian noise with pure losses, and over thresholds."""
        _refuse_infinite(losses)
        pure = [loss for loss in losses if isinstance(loss, PureDP)]
        squares = math.fsum(loss.count * pure_mu(loss.epsilon) ** 2 for loss in pure)
        losses = [loss for loss in losses if loss not in pure]
        cost = gaussian_cost(losses)
        if cost is None:
            others = [type(loss).__name__ for loss in losses if gaussian_cost([loss]) is None]
            raise ValueError(
                "filter ('rho') accepts only Gaussian noise, thresholds and pure losses, but this fit also "
                f"has a {others[0]}: use a budget with filter='sum', or test='release' with omega='all'"
            )
        return {"rho": (cost[0] + squares) / 2, "failure": cost[1]}

    def left(self, costs: Iterable[Cost], delta: float) -> float:
        """Epsilon of the remaining rho at this delta."""
        rho = self._rest(costs)["rho"]
        mu = math.sqrt(2 * max(rho, 0.0))
        if mu == 0:
            return 0.0
        upper = mu * mu / 2 + mu * math.sqrt(2 * math.log(1 / delta)) + 1e-9
        return smallest_within(lambda e: math.exp(gaussian_log_delta(mu, e)), delta, 0.0, upper)


FILTERS: dict[str, type[PrivacyFilter]] = {kind.name: kind for kind in (SumFilter, RhoFilter)}


def _sum_epsilons(losses: Sequence[Loss]) -> float:
    """Sum of the epsilons of pure losses."""
    pairs = [loss.pair() for loss in losses]
    if any(pair is None or pair.delta for pair in pairs):
        raise ValueError("losses: at delta 0 they must be pure")
    return math.fsum(pair.epsilon for pair in pairs if pair is not None)


def pure_mu(epsilon: float) -> float:
    """Mu of the Gaussian pair that dominates every epsilon-DP mechanism (budget.md, Lemma 2)."""
    if epsilon < 1e-3:  # avoids cancellation; the tangent at 0 is above the curve
        return math.sqrt(math.pi / 2) * epsilon
    return -2 * float(ndtri_exp(log_expit(-epsilon))) * (1 + 1e-12)


def gaussian_cost(losses: Sequence[Loss]) -> tuple[float, float] | None:
    """Sums of squared mu and of failure probabilities; None if a loss is neither noise nor failure."""
    squares, failure = [], []
    for loss in losses:
        if isinstance(loss, GaussianLoss):
            squares.append(loss.count * loss.mu**2)
        elif isinstance(loss, ApproxDP) and loss.epsilon == 0:
            failure.append(loss.count * loss.delta)
        else:
            return None
    return math.fsum(squares), math.fsum(failure)


def add_up(costs: Iterable[Cost]) -> dict[str, Fraction]:
    """Exact sum of costs as decimal numbers: ten times 1e-10 is 1e-9."""
    total: dict[str, Fraction] = {}
    for cost in costs:
        for unit, amount in cost.items():
            total[unit] = total.get(unit, Fraction()) + _exact(amount)
    return total


def _exact(amount: float) -> Fraction:
    return Fraction(repr(float(amount)))


def _refuse_infinite(losses: Sequence[Loss]) -> None:
    if any(isinstance(loss, InfiniteLoss) for loss in losses):
        raise ValueError(
            "budget: this fit has no privacy guarantee, so it cannot draw from a budget. Remove the causes "
            "that plan() and the ledger list, or fit with budget=None"
        )
