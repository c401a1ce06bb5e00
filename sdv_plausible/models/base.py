"""The protocol every generative model answers, and the value that passes between model and privacy test."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sdv_plausible.privacy.accounting.composition import calibrate_gaussian
from sdv_plausible.privacy.accounting.losses import Loss
from sdv_plausible.privacy.ledger import LedgerEntry, PrivacyLedger
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.table.domain import Domain

Omega = int | tuple[int, int] | str


@dataclass(frozen=True, kw_only=True)
class ModelBudget:
    """What a model may spend on learning.

    Parameters
    ----------
    epsilon : float
        Total privacy loss of learning; ``math.inf`` learns without noise (and without a claim).
    delta : float
        Failure probability that goes with it.
    spent : tuple of Loss
        What was charged before, such as a privately learned domain: the total with it stays within (epsilon, delta).
    """

    epsilon: float
    delta: float
    spent: tuple[Loss, ...] = ()

    def gaussian(self, failure: float = 0.0) -> float:
        """Largest Gaussian parameter mu for learning, next to what was spent and a failure probability."""
        if math.isinf(self.epsilon):
            return math.inf
        return calibrate_gaussian(self.epsilon, self.delta - failure, self.spent)


@dataclass(frozen=True, kw_only=True)
class Proposals:
    """Candidate rows and what the privacy test must know about them.

    Attributes
    ----------
    candidates : ndarray of int, shape (N, m)
        Codes in the domain's column order.
    seeds : ndarray of int64, shape (N,)
        Row number of the seed record each candidate was made from.
    omega : ndarray of int64, shape (N,)
        Number of attributes that were resampled; the other m - omega are the seed's.
    """

    candidates: np.ndarray
    seeds: np.ndarray
    omega: np.ndarray


@dataclass(frozen=True, kw_only=True)
class LearningRows:
    """The rows that a model may learn from: the same ones for both stages, or the paper's split.

    Attributes
    ----------
    structure, parameters : ndarray of int, shapes (n_T, m) and (n_P, m)
        Codes for structure learning (D_T) and for parameter learning (D_P).
    """

    structure: np.ndarray
    parameters: np.ndarray


class SeedModel(Protocol):
    """A generative model that turns a seed record into a candidate, with an exact likelihood of doing so."""

    @property
    def order(self) -> tuple[int, ...]:
        """The resampling order sigma, as column numbers."""
        ...

    def attach_seeds(self, seeds: np.ndarray) -> None:
        """Take the seed records (n_s, m) that proposals start from."""
        ...

    def propose(self, rows: np.ndarray, omega: np.ndarray, coins: Coins) -> Proposals:
        """Make one candidate from each seed row number, resampling omega attributes."""
        ...

    def log_likelihood(self, proposals: Proposals, rows: np.ndarray) -> np.ndarray:
        """Natural log of Pr[candidate i = M(seed rows[j]) | omega_i], shape (N, len(rows)); -inf allowed."""
        ...

    def count_plausible(self, proposals: Proposals, gamma: float) -> np.ndarray:
        """Plausible seeds k' of every proposal, shape (N,); equal to the scan over ``log_likelihood``."""
        ...


@runtime_checkable
class Learner(Protocol):
    """Makes a :class:`SeedModel` from rows, within a budget."""

    def plan(self, domain: Domain, budget: ModelBudget) -> list[LedgerEntry]:
        """Ledger entries of learning, from the domain and the budget alone."""
        ...

    def fit(self, rows: LearningRows, domain: Domain, budget: ModelBudget, ledger: PrivacyLedger, coins: Coins) -> SeedModel:
        """Learn; charge the ledger for everything looked at, before looking."""
        ...


def check_omega(omega: Omega | None, num_attributes: int | None = None) -> None:
    """Raise unless omega is an int, a pair (low, high) of ints with low <= high, or "all".

    Parameters
    ----------
    omega : int, tuple of int, "all" or None
        Number of resampled attributes; None leaves the choice to the synthesizer.
    num_attributes : int, optional
        The number m of attributes, once known: omega must lie in 0..m.

    Raises
    ------
    ValueError
        If it is none of these.
    """
    if omega is None or omega == "all":
        return
    ends: tuple[Any, ...] = tuple(omega) if isinstance(omega, (tuple, list)) else (omega, omega)
    whole = len(ends) == 2 and all(isinstance(e, (int, np.integer)) and not isinstance(e, bool) for e in ends)
    top = "the number of attributes" if num_attributes is None else str(num_attributes)
    if not whole or not 0 <= ends[0] <= ends[1] or (num_attributes is not None and ends[1] > num_attributes):
        raise ValueError(
            f"omega ({omega!r}) must be a whole number of resampled attributes between 0 and {top}, "
            'a pair (low, high) of such numbers, or "all"'
        )


def draw_omega(omega: Omega, num_attributes: int, size: int, coins: Coins) -> np.ndarray:
    """Number of resampled attributes of each candidate: fixed, or uniform over the range; drawn per candidate."""
    if isinstance(omega, str):
        return np.full(size, num_attributes, dtype=np.int64)
    if isinstance(omega, (tuple, list)):
        low, high = omega
        return low + coins.integers(high - low + 1, size)
    return np.full(size, omega, dtype=np.int64)
