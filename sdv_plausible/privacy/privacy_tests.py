"""The privacy tests: which candidates may leave.

Three guarantees, never blurred (docs/explanation/privacy_promise.md): :class:`DeterministicTest` gives plausible
deniability only, :class:`RandomizedTest` gives differential privacy row by row, :class:`ReleaseTest` gives one
guarantee for any number of rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.privacy.noise.coins import Coins


def _check(name: str, value: Any, ok: bool, rule: str) -> None:
    if not ok:
        raise ValueError(f"{name} ({value!r}) {rule}")


def check_k(k: int) -> None:
    """Raise unless k is a whole number >= 1."""
    ok = isinstance(k, (int, np.integer)) and not isinstance(k, bool) and k >= 1
    _check("k", k, ok, "must be a whole number >= 1: it is a number of plausible seed records; try 50")


def check_gamma(gamma: float) -> None:
    """Raise unless gamma is finite and > 1."""
    _check("gamma", gamma, _is_number(gamma) and gamma > 1, "must be a finite number > 1: it is a factor; try 4.0")


def check_epsilon0(epsilon0: float) -> None:
    """Raise unless epsilon0 is finite and > 0."""
    _check("epsilon0", epsilon0, _is_number(epsilon0) and epsilon0 > 0, "must be a finite number > 0; try 1.0")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and math.isfinite(value)


@dataclass(frozen=True, kw_only=True)
class DeterministicTest:
    """Privacy Test 1 (section 2): pass if the candidate has at least k plausible seeds.

    It gives plausible deniability, not differential privacy: whether a row passes depends on a sharp threshold.

    Parameters
    ----------
    k : int
        Plausible seeds needed, >= 1; the seed itself counts.
    gamma : float
        Partition width, > 1.
    """

    k: int
    gamma: float

    def __post_init__(self) -> None:
        check_k(self.k)
        check_gamma(self.gamma)

    def passes(self, plausible_seeds: np.ndarray, coins: Coins) -> np.ndarray:  # noqa: ARG002
        """Boolean array: which candidates pass."""
        passed: np.ndarray = plausible_seeds >= self.k
        return passed


@dataclass(frozen=True, kw_only=True)
class RandomizedTest:
    """Privacy Test 2 (section 2.2): as Test 1, with the threshold drawn afresh for every candidate.

    The threshold is ``k + z`` with z discrete Laplace, ``Pr[z] ~ exp(-epsilon0 |z|)``: counts are integers, so
    integer noise loses nothing and has no floating-point side door.

    Parameters
    ----------
    k : int
        Centre of the threshold, >= 1. No released row is sure to have k plausible seeds.
    gamma : float
        Partition width, > 1.
    epsilon0 : float
        Inverse scale of the threshold noise, > 0.
    """

    k: int
    gamma: float
    epsilon0: float

    def __post_init__(self) -> None:
        check_k(self.k)
        check_gamma(self.gamma)
        check_epsilon0(self.epsilon0)

    def passes(self, plausible_seeds: np.ndarray, coins: Coins) -> np.ndarray:
        """Boolean array: which candidates pass; one fresh threshold each."""
        # Repeatable: drawn from the call's own secret stream, so that SDV's reset_sampling repeats the very same rows.
        noisy = noise.discrete_laplace(plausible_seeds, sensitivity=1, epsilon=self.epsilon0, coins=coins, repeatable=True)
        passed: np.ndarray = noisy >= self.k
        return passed


@dataclass(frozen=True, kw_only=True)
class ReleaseTest:
    """One noisy size per prefix group, drawn once: any number of rows for one (epsilon0, delta).

    Groups of at least k seeds get ``size + z``, z discrete Laplace with scale 1/epsilon0, and are released if that is
    at least ``k + margin``. So every released prefix has at least k true seeds, surely, and the loss is
    (epsilon0, Pr[z >= margin]) (docs/explanation/proofs/release_test.md).

    Parameters
    ----------
    k : int
        Sure lower bound on the seeds of every released prefix, >= 1.
    epsilon0 : float
        Privacy loss of the noisy sizes, > 0.
    delta : float
        Upper bound on the failure probability, in (0, 1).
    """

    k: int
    epsilon0: float
    delta: float

    def __post_init__(self) -> None:
        check_k(self.k)
        check_epsilon0(self.epsilon0)
        ok = _is_number(self.delta) and 0 < self.delta < 1
        _check("delta", self.delta, ok, "must lie strictly between 0 and 1; try 1e-9")

    @property
    def margin(self) -> int:
        """Smallest s >= 1 with Pr[z >= s] = a**s / (1 + a) <= delta, where a = exp(-epsilon0)."""
        log_tail_at_0 = -math.log1p(math.exp(-self.epsilon0))
        return max(1, math.ceil((log_tail_at_0 - math.log(self.delta)) / self.epsilon0))

    def release(self, group_sizes: np.ndarray, coins: Coins) -> tuple[np.ndarray, np.ndarray]:
        """Select groups and draw their released sizes.

        Parameters
        ----------
        group_sizes : ndarray of int, shape (g,)
            True sizes of the groups present.
        coins : Coins
            Source of the noise.

        Returns
        -------
        released : ndarray of int
            Positions of the released groups.
        noisy_sizes : ndarray of int64
            Their released sizes, each >= k + margin.
        """
        large = np.flatnonzero(group_sizes >= self.k)
        if not len(large):
            return large, np.empty(0, dtype=np.int64)
        noisy = noise.discrete_laplace(group_sizes[large], sensitivity=1, epsilon=self.epsilon0, coins=coins)
        kept = noisy >= self.k + self.margin
        return large[kept], noisy[kept]
