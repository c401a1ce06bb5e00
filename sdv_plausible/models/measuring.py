"""Noisy measurements within one Gaussian budget: the only place where the adaptive learner touches rows."""

from __future__ import annotations

import math

import numpy as np

from sdv_plausible.privacy.ledger import BudgetExceededError
from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.privacy.noise.coins import Coins


class GaussianBudget:
    """Releases integer tables with discrete Gaussian noise until the budget is used up.

    The budget is a sum of squares: a release with sensitivity s and noise sigma costs (s / sigma)^2, and the costs may be
    chosen as one goes, as long as their sum stays within mu^2 (docs/explanation/proofs/adaptive_network.md, Lemma 1).

    Parameters
    ----------
    mu : float
        Total Gaussian privacy parameter, > 0; infinity releases without noise.
    coins : Coins
        Source of the noise.
    """

    def __init__(self, mu: float, coins: Coins) -> None:
        self.mu = mu
        self._coins = coins
        self._used = 0.0

    @property
    def is_private(self) -> bool:
        """Whether there is noise at all."""
        return math.isfinite(self.mu)

    def sigma(self, share: float, sensitivity: float = 1.0) -> float:
        """Noise deviation that a share of mu^2 buys; 0 without privacy."""
        return sensitivity / (self.mu * math.sqrt(share)) if self.is_private else 0.0

    def release(self, table: np.ndarray, share: float, sensitivity: float = 1.0) -> np.ndarray:
        """Noise on every cell of an integer table, for a share of mu^2.

        Raises
        ------
        BudgetExceededError
            If less than the share is left. Nothing is released then.
        """
        if self._used + share > 1 + 1e-9:
            raise BudgetExceededError(f"share ({share:.4g}) of the budget exceeds what is left ({1 - self._used:.4g})")
        self._used += share
        if not self.is_private:
            return table.astype(float)
        rho = self.mu**2 * share / 2
        return noise.discrete_gaussian(table, sensitivity=sensitivity, rho=rho, coins=self._coins).astype(float)
