"""Meaning of a total: how well any attacker can tell from a release whether a unit was in the data.

An attacker says "in" or "out" after seeing the release. Both bounds hold for every attacker, whatever they
know about the other rows (``docs/explanation/proofs/attackers.md``, Theorems 1 and 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.composition import composed_delta
from sdv_plausible.privacy.accounting.losses import Loss
from sdv_plausible.privacy.ledger_record import RARE, attacker_sentence, rounded_up

FALSE_ALARMS = (0.01, 0.001)
_POINTS = 30  # epsilons of the first grid; each one gives a bound


@dataclass(frozen=True)
class AttackerBounds:
    """Bounds on every membership attacker."""

    advantage: float  # true minus false positive rate, at most, in [0, 1]
    hits: dict[float, float]  # false positive rate -> true positive rate at most: at 1 % and at 0.1 %

    def sentence(self, question: str, *, is_conditional: bool = False) -> str:
        """State the meaning of the advantage; the question is what the attacker guesses."""
        return attacker_sentence((1 + self.advantage) / 2, question, is_conditional=is_conditional)

    def rare(self) -> str:
        """State the attacker's hit rates where false alarms must be rare."""
        hits = ", and ".join(
            f"with {_percent(false)} false alarms at most {_percent(hit)} hits"
            for false, hit in self.hits.items()
        )
        return (
            f"{RARE} {hits}. At any rate, hits exceed false alarms by at most {_percent(self.advantage)} (0 "
            "% is guessing)."
        )


def attackers(losses: Iterable[Loss]) -> AttackerBounds:
    """Bound every membership attacker by the composed losses: never too low, and 1 without a guarantee."""
    all_losses = list(losses)
    if not all_losses:
        return AttackerBounds(0.0, {rate: rate for rate in FALSE_ALARMS})
    delta = composed_delta(all_losses)
    return AttackerBounds(
        advantage=delta(0.0), hits={rate: true_positive_rate(delta, rate) for rate in FALSE_ALARMS}
    )


def true_positive_rate(delta: Callable[[float], float], false_positive_rate: float) -> float:
    """Largest true positive rate at a false positive rate, from a profile of both directions."""
    # ``delta`` maps epsilon >= 0 to the larger delta of removing and adding; the rate is in (0, 1).
    alpha = check.open_probability("false_positive_rate", false_positive_rate, "try 0.01")

    def bound(epsilon: float) -> float:
        failure = delta(epsilon)
        return min(1.0, math.exp(epsilon) * alpha + failure, 1 - math.exp(-epsilon) * (1 - failure - alpha))

    grid = [0.0, *np.geomspace(1e-3, math.log(1 / alpha) + 1, _POINTS).tolist()]
    bounds = [bound(epsilon) for epsilon in grid]
    best = int(np.argmin(bounds))
    bracket = (grid[max(best - 1, 0)], grid[min(best + 1, _POINTS)])
    optimum = minimize_scalar(bound, bounds=bracket, method="bounded", options={"xatol": 1e-7})
    return min(bounds[best], bound(float(optimum.x)))


def _percent(share: float) -> str:
    return f"{rounded_up(100 * share, 2 if share < 0.995 else 4)} %"
