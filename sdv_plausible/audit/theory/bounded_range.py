"""The loss of mechanisms of bounded range, such as the exponential mechanism: no release uses one.

Proof: ``docs/explanation/proofs/composition.md``, Theorem 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sdv_plausible.privacy import checks as check
from sdv_plausible.privacy.accounting.losses import EpsilonDelta, Loss, RhoDelta, both_directions

__all__ = ["BoundedRangeLoss"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class BoundedRangeLoss(Loss):
    """`count` mechanisms of epsilon-bounded range, such as the exponential mechanism (Gumbel noise).

    Parameters
    ----------
    epsilon : float
        Range of the log likelihood ratio of each, > 0: the exponential mechanism with scale 2
        sensitivity/epsilon.
    count : int
        How many, chosen adaptively or not, >= 1.
    """

    epsilon: float
    count: int = 1

    def __post_init__(self) -> None:
        check.positive("epsilon", self.epsilon)
        check.whole("count", self.count, 1)

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Largest over positions of the range: ``(1 - e^((epsilon - epsilon_0)/2))^2/(1 - e^-epsilon_0)``."""
        gap = np.minimum(0.0, (np.asarray(epsilon, dtype=np.float64) - self.epsilon) / 2)
        return both_directions(np.expm1(gap) ** 2 / -math.expm1(-self.epsilon))

    def pair(self) -> EpsilonDelta:
        """Pure: delta is 0."""
        return EpsilonDelta(self.count * self.epsilon, 0.0)

    def zcdp(self) -> RhoDelta:
        """A quarter of what a pure loss has: Cesar and Rogers (2021)."""
        return RhoDelta(self.count * self.epsilon**2 / 8, 0.0)
