"""Privacy losses of single uses of the rows; each loss knows its privacy profile.

A *profile* is delta as a function of epsilon >= 0, once for removing a row and once for adding one. Every
profile here is an upper bound on its mechanism's profile and is itself the profile of some pair of
distributions. So profiles may be composed, adaptively (Zhu, Dong, Wang, *Optimal Accounting of Differential
Privacy via Characteristic Function*, AISTATS 2022, Theorem 10). Proofs:
``docs/explanation/proofs/composition.md``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.gaussian import (
    FloatArray,
    discrete_gaussian_mu,
    gaussian_log_delta,
    zcdp_delta,
)

LARGEST_SQUARE = 1 / 25
"""Largest piece of a Gaussian budget, as a square of sensitivity over sigma."""
_ROUNDING = 1e-12  # relative
_LARGEST_EXPONENT = 700.0  # exp of it is still a double


class EpsilonDelta(NamedTuple):
    """One (epsilon, delta) guarantee."""

    epsilon: float
    delta: float


class RhoDelta(NamedTuple):
    """A guarantee of rho-zCDP except with probability delta."""

    rho: float
    delta: float


class Loss(ABC):
    """Privacy loss of a use of the rows: composition needs its profile, and the rest makes totals smaller."""

    @property
    def count(self) -> int:
        """Number of uses."""
        return 1

    @abstractmethod
    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Delta of one use at every epsilon >= 0: (removing a row, adding a row)."""

    def pair(self) -> EpsilonDelta | None:
        """Return the summed epsilon and delta of all uses; None if there is no such pair."""
        return None

    def zcdp(self) -> RhoDelta | None:
        """Return rho and delta of all uses together; None without zero-concentrated DP.

        The default follows from :meth:`pair`: epsilon-DP implies epsilon^2/2-zCDP (Bun and Steinke 2016,
        Proposition 1.4).
        """
        pair = self.pair()
        return (
            None if pair is None else RhoDelta(self.count * (pair.epsilon / self.count) ** 2 / 2, pair.delta)
        )


@dataclass(frozen=True, kw_only=True)
class PureDP(Loss):
    """`count` mechanisms that are each epsilon-DP, without further knowledge."""

    epsilon: float
    count: int = 1

    def __post_init__(self) -> None:
        check.non_negative("epsilon", self.epsilon)
        check.whole("count", self.count, 1)

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Randomised response: ``(e^epsilon_0 - e^epsilon)/(e^epsilon_0 + 1)``."""
        return both_directions(_randomised_response(self.epsilon, epsilon))

    def pair(self) -> EpsilonDelta:
        """Sum of the epsilons; delta is 0."""
        return EpsilonDelta(self.count * self.epsilon, 0.0)


@dataclass(frozen=True, kw_only=True)
class ApproxDP(Loss):
    """`count` mechanisms that are each (epsilon, delta)-DP, without further knowledge.

    epsilon >= 0, delta in [0, 1], count >= 1.
    """

    epsilon: float
    delta: float
    count: int = 1

    def __post_init__(self) -> None:
        check.non_negative("epsilon", self.epsilon)
        check.failure("delta", self.delta)
        check.whole("count", self.count, 1)

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """With probability delta a complete failure, else randomised response."""
        return both_directions(self.delta + (1 - self.delta) * _randomised_response(self.epsilon, epsilon))

    def pair(self) -> EpsilonDelta:
        """Sums of the epsilons and of the deltas."""
        return EpsilonDelta(self.count * self.epsilon, min(1.0, self.count * self.delta))


@dataclass(frozen=True, kw_only=True)
class ZCDP(Loss):
    """Any rho-zCDP mechanism."""

    rho: float

    def __post_init__(self) -> None:
        check.non_negative("rho", self.rho)

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Tight conversion of Canonne, Kamath and Steinke (2020), Proposition 12."""
        return both_directions(zcdp_delta(self.rho, epsilon))

    def zcdp(self) -> RhoDelta:
        """The given rho."""
        return RhoDelta(self.rho, 0.0)


@dataclass(frozen=True, kw_only=True)
class GaussianLoss(Loss):
    """`count` discrete Gaussian mechanisms on integers."""

    sensitivity_over_sigma: float  # L2 sensitivity over sigma of each, > 0; ``sqrt(2 rho)`` in zCDP
    count: int = 1

    def __post_init__(self) -> None:
        check.positive("sensitivity_over_sigma", self.sensitivity_over_sigma)
        check.whole("count", self.count, 1)

    @property
    def mu(self) -> float:
        """Gaussian privacy parameter of the continuous Gaussian mechanism that dominates one of them."""
        return discrete_gaussian_mu(1 / self.sensitivity_over_sigma)

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Profile of the dominating Gaussian mechanism."""
        return both_directions(np.exp(gaussian_log_delta(self.mu, epsilon)))

    def zcdp(self) -> RhoDelta:
        """The same as for the continuous Gaussian: Canonne, Kamath and Steinke (2020), Theorem 4."""
        return RhoDelta(self.count * self.sensitivity_over_sigma**2 / 2, 0.0)


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplaceLoss(Loss):
    """`count` discrete Laplace mechanisms: integer noise with ``Pr[z] ~ exp(-epsilon |z| / sensitivity)``."""

    epsilon: float
    count: int = 1
    sensitivity: int = 1  # largest change of the integer between neighbours, >= 1

    def __post_init__(self) -> None:
        check.positive("epsilon", self.epsilon)
        check.whole("count", self.count, 1)
        check.whole("sensitivity", self.sensitivity, 1)

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Exact, at full shift ``s``: ``1 - (a^(m+1) + e^epsilon a^(s-m))/(1+a)``, m the last value kept."""
        eps = np.asarray(epsilon, dtype=np.float64)
        s, rate = self.sensitivity, self.epsilon / self.sensitivity
        inside = np.minimum(eps, self.epsilon)
        m = np.clip(np.ceil(s * (1 - inside / self.epsilon) / 2 - 1e-9) - 1, 0, s)
        away = (np.exp(-rate * (m + 1)) + np.exp(inside - rate * (s - m))) / (1 + math.exp(-rate))
        return both_directions(np.where(eps < self.epsilon, np.maximum(0.0, 1 - away), 0.0))

    def pair(self) -> EpsilonDelta:
        """Sum of the epsilons; delta is 0."""
        return EpsilonDelta(self.count * self.epsilon, 0.0)


@dataclass(frozen=True, kw_only=True)
class BoundedRangeLoss(Loss):
    """`count` mechanisms of epsilon-bounded range, such as the exponential mechanism (Gumbel noise)."""

    # Range of each log likelihood ratio, > 0: the exponential mechanism with scale 2 sensitivity/epsilon
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
        """Sum of the epsilons; delta is 0."""
        return EpsilonDelta(self.count * self.epsilon, 0.0)

    def zcdp(self) -> RhoDelta:
        """A quarter of a pure loss's rho: Cesar and Rogers (2021)."""
        return RhoDelta(self.count * self.epsilon**2 / 8, 0.0)


@dataclass(frozen=True, kw_only=True)
class ReleaseLoss(Loss):
    """The release-level test: discrete Laplace sizes at epsilon0 or, where a group first appears, delta.

    One row either changes a size or makes a group appear, so the profile is the larger of both cases; it is
    below (epsilon0, delta)-DP with randomised response (``docs/explanation/proofs/release_test.md``, Theorem
    2). The rows of one person may do both: each group that appears takes one row off the change of the sizes
    (``persons.md``, Theorem 4).
    """

    epsilon0: float  # loss of the noisy sizes, > 0
    delta: float  # probability that groups added by one unit are released, in [0, 1]
    l1: int = 1  # L1 sensitivity of all sizes together, >= 1; the noise has scale l1/epsilon0

    def __post_init__(self) -> None:
        check.positive("epsilon0", self.epsilon0)
        check.failure("delta", self.delta)
        check.whole("l1", self.l1, 1)

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Larger of the noisy sizes' profile and that of an appearing group with the remaining changes."""
        eps = np.asarray(epsilon, dtype=np.float64)
        sizes, _ = DiscreteLaplaceLoss(epsilon=self.epsilon0, sensitivity=self.l1).profile(eps)
        if self.l1 > 1:
            fewer = self.l1 - 1
            left = DiscreteLaplaceLoss(epsilon=self.epsilon0 * fewer / self.l1, sensitivity=fewer)
            return both_directions(np.maximum(sizes, self.delta + (1 - self.delta) * left.profile(eps)[0]))
        absent = np.maximum(0.0, 1 - np.exp(np.minimum(eps, _LARGEST_EXPONENT)) * (1 - self.delta))
        return np.maximum(sizes, self.delta), np.maximum(sizes, absent)

    def pair(self) -> EpsilonDelta:
        """Epsilon and delta of the release; sampling from the released groups is free."""
        return EpsilonDelta(self.epsilon0, self.delta)


@dataclass(frozen=True, kw_only=True)
class InfiniteLoss(Loss):
    """No differential privacy: rows were used without noise."""

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """One everywhere."""
        return both_directions(np.ones_like(np.asarray(epsilon, dtype=np.float64)))


def both_directions(delta: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return one curve for both removing and adding a row; identical objects mean equal curves."""
    array = np.asarray(delta, dtype=np.float64)
    return array, array


def _randomised_response(limit: float, epsilon: npt.ArrayLike) -> FloatArray:
    eps = np.asarray(epsilon, dtype=np.float64)
    # (e^limit - e^eps)/(e^limit + 1), written so that nothing overflows.
    result: FloatArray = -np.expm1(np.minimum(eps - limit, 0.0)) / (1 + math.exp(-limit))
    return result


_in_one_piece: ContextVar[bool] = ContextVar("budgets in one piece", default=False)


@contextmanager
def charge_in_one_piece() -> Iterator[None]:
    """Charge each Gaussian budget as one piece, as version 0.1 did, to verify files of that version."""
    token = _in_one_piece.set(True)
    try:
        yield
    finally:
        _in_one_piece.reset(token)


def budgets_in_one_piece() -> bool:
    """Whether each Gaussian budget is charged as one piece."""
    return _in_one_piece.get()


def gaussian_noise(mu: float, count: int = 1) -> tuple[GaussianLoss, ...]:
    """Losses of `count` Gaussian budgets mu, in pieces, so that answers within a budget may have any size.

    Pieces have sigma >= 5 sensitivities, where discrete noise costs hardly more than continuous noise.
    Answers larger than a piece get a little more noise (proof page composition.md, Theorem 4).
    """
    full = 0 if budgets_in_one_piece() else math.floor(mu * mu / LARGEST_SQUARE * (1 + _ROUNDING))
    rest = mu * mu - full * LARGEST_SQUARE
    if not full or (full == 1 and rest <= _ROUNDING * LARGEST_SQUARE):
        return (GaussianLoss(sensitivity_over_sigma=mu, count=count),)
    pieces = GaussianLoss(sensitivity_over_sigma=math.sqrt(LARGEST_SQUARE), count=count * full)
    if rest <= _ROUNDING * LARGEST_SQUARE:
        return (pieces,)
    return pieces, GaussianLoss(sensitivity_over_sigma=math.sqrt(rest), count=count)


def squares(losses: Iterable[Loss]) -> float:
    """Sum of squared sensitivity over sigma of all discrete Gaussian noise among the losses."""
    noise = (loss for loss in losses if isinstance(loss, GaussianLoss))
    return math.fsum(loss.count * loss.sensitivity_over_sigma**2 for loss in noise)
