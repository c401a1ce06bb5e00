"""What one use of the rows costs, as values: each loss knows its privacy profile.

A *profile* is delta as a function of epsilon >= 0, once for removing a row and once for adding one. Every profile
here is at least that of the mechanism it stands for and is the profile of some pair of distributions, so profiles may
be composed, adaptively (Zhu, Dong, Wang, *Optimal Accounting of Differential Privacy via Characteristic Function*,
AISTATS 2022, Theorem 10). Proofs: ``docs/explanation/proofs/composition.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, ndtri_exp

from sdv_plausible.privacy import parameter_checks as check

__all__ = [
    "ZCDP",
    "ApproxDP",
    "BoundedRangeLoss",
    "DiscreteLaplaceLoss",
    "GaussianLoss",
    "InfiniteLoss",
    "LaplaceLoss",
    "Loss",
    "PureDP",
    "ReleaseLoss",
    "discrete_gaussian_mu",
    "discrete_gaussian_sigma",
    "gaussian_log_delta",
    "zcdp_delta",
]

FloatArray = npt.NDArray[np.float64]
_LARGE_SIGMA = 1000.0  # beyond it the discrete Gaussian's excess over the Gaussian is bounded in closed form
_REACH = 9.0  # standard deviations over which the comparison is made; the tails beyond have mass below 3e-19


class Loss(Protocol):
    """What composition needs to know of a use of the rows."""

    @property
    def count(self) -> int:
        """How often it is used."""
        ...

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Delta of one use at every epsilon >= 0: (removing a row, adding a row)."""
        ...


@dataclass(frozen=True, kw_only=True)
class PureDP:
    """`count` mechanisms, each epsilon-DP and nothing more is known.

    Parameters
    ----------
    epsilon : float
        Loss of each, >= 0.
    count : int
        How many, >= 1.
    """

    epsilon: float
    count: int = 1

    def __post_init__(self) -> None:
        check.non_negative("epsilon", self.epsilon)
        check.whole("count", self.count, 1)

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Randomised response: ``(e^epsilon_0 - e^epsilon)/(e^epsilon_0 + 1)``."""
        return _both(_randomised_response(self.epsilon, epsilon))


@dataclass(frozen=True, kw_only=True)
class ApproxDP:
    """`count` mechanisms, each (epsilon, delta)-DP and nothing more is known.

    Parameters
    ----------
    epsilon, delta : float
        Loss of each; epsilon >= 0, delta in [0, 1].
    count : int
        How many, >= 1.
    """

    epsilon: float
    delta: float
    count: int = 1

    def __post_init__(self) -> None:
        check.non_negative("epsilon", self.epsilon)
        check.probability("delta", self.delta)
        check.whole("count", self.count, 1)

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """With probability delta everything, else randomised response."""
        return _both(self.delta + (1 - self.delta) * _randomised_response(self.epsilon, epsilon))


@dataclass(frozen=True, kw_only=True)
class ZCDP:
    """Anything that is rho-zCDP.

    Parameters
    ----------
    rho : float
        Zero-concentrated privacy loss, >= 0.
    """

    rho: float

    def __post_init__(self) -> None:
        check.non_negative("rho", self.rho)

    @property
    def count(self) -> int:
        """Uses: one; rho adds up."""
        return 1

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Tight conversion of Canonne, Kamath and Steinke (2020), Proposition 12."""
        return _both(zcdp_delta(self.rho, epsilon))


@dataclass(frozen=True, kw_only=True)
class GaussianLoss:
    """`count` discrete Gaussian mechanisms on integers.

    Parameters
    ----------
    sensitivity_over_sigma : float
        L2 sensitivity over sigma of each, > 0; ``sqrt(2 rho)`` in terms of zCDP.
    count : int
        How many, >= 1.
    """

    sensitivity_over_sigma: float
    count: int = 1

    def __post_init__(self) -> None:
        check.positive("sensitivity_over_sigma", self.sensitivity_over_sigma)
        check.whole("count", self.count, 1)

    @property
    def mu(self) -> float:
        """Gaussian privacy parameter of each: that of the continuous Gaussian mechanism that dominates it."""
        return discrete_gaussian_mu(1 / self.sensitivity_over_sigma)

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Profile of the dominating Gaussian mechanism."""
        return _both(np.exp(gaussian_log_delta(self.mu, epsilon)))


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplaceLoss:
    """`count` discrete Laplace mechanisms on integers: noise z with ``Pr[z] ~ exp(-epsilon |z| / sensitivity)``.

    Parameters
    ----------
    epsilon : float
        Loss of each, > 0.
    count : int
        How many, >= 1.
    sensitivity : int
        Most that the integer changes between neighbours, >= 1.
    """

    epsilon: float
    count: int = 1
    sensitivity: int = 1

    def __post_init__(self) -> None:
        check.positive("epsilon", self.epsilon)
        check.whole("count", self.count, 1)
        check.whole("sensitivity", self.sensitivity, 1)

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Exact, at the full shift ``s``: ``1 - (a^(m+1) + e^epsilon a^(s-m))/(1+a)`` with m the last value kept."""
        eps = np.asarray(epsilon, dtype=np.float64)
        s, rate = self.sensitivity, self.epsilon / self.sensitivity
        inside = np.minimum(eps, self.epsilon)
        m = np.clip(np.ceil(s * (1 - inside / self.epsilon) / 2 - 1e-9) - 1, 0, s)
        away = (np.exp(-rate * (m + 1)) + np.exp(inside - rate * (s - m))) / (1 + math.exp(-rate))
        return _both(np.where(eps < self.epsilon, np.maximum(0.0, 1 - away), 0.0))


@dataclass(frozen=True, kw_only=True)
class LaplaceLoss:
    """`count` Laplace mechanisms on real numbers, each with scale sensitivity/epsilon.

    Parameters
    ----------
    epsilon : float
        Loss of each, > 0.
    count : int
        How many, >= 1.
    """

    epsilon: float
    count: int = 1

    def __post_init__(self) -> None:
        check.positive("epsilon", self.epsilon)
        check.whole("count", self.count, 1)

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Exact: ``1 - exp((epsilon - epsilon_0)/2)``."""
        gap = np.minimum(0.0, (np.asarray(epsilon, dtype=np.float64) - self.epsilon) / 2)
        return _both(-np.expm1(gap))


@dataclass(frozen=True, kw_only=True)
class BoundedRangeLoss:
    """`count` mechanisms of epsilon-bounded range, such as the exponential mechanism (Gumbel report-noisy-max).

    Parameters
    ----------
    epsilon : float
        Range of the log likelihood ratio of each, > 0: the exponential mechanism with scale 2 sensitivity/epsilon.
    count : int
        How many, chosen adaptively or not, >= 1.
    """

    epsilon: float
    count: int = 1

    def __post_init__(self) -> None:
        check.positive("epsilon", self.epsilon)
        check.whole("count", self.count, 1)

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Largest over all positions of the range: ``(1 - e^((epsilon - epsilon_0)/2))^2 / (1 - e^-epsilon_0)``."""
        gap = np.minimum(0.0, (np.asarray(epsilon, dtype=np.float64) - self.epsilon) / 2)
        return _both(np.expm1(gap) ** 2 / -math.expm1(-self.epsilon))


@dataclass(frozen=True, kw_only=True)
class ReleaseLoss:
    """The release-level test: discrete Laplace sizes at epsilon0, or, where a group first enters, delta.

    A pair of neighbours is at one of the two, so the profile is the larger of both, below (epsilon0, delta)-DP with
    randomised response (``docs/explanation/proofs/release_test.md``, Theorem 2).

    Parameters
    ----------
    epsilon0, delta : float
        From :func:`sdv_plausible.privacy.accounting.release_test_loss`; epsilon0 > 0, delta in [0, 1].
    """

    epsilon0: float
    delta: float

    def __post_init__(self) -> None:
        check.positive("epsilon0", self.epsilon0)
        check.probability("delta", self.delta)

    @property
    def count(self) -> int:
        """Uses: one; sampling from the released groups is free."""
        return 1

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Larger of the noisy size's profile and of the entry of a group."""
        eps = np.asarray(epsilon, dtype=np.float64)
        sizes, _ = DiscreteLaplaceLoss(epsilon=self.epsilon0).profile(eps)
        absent = np.maximum(0.0, 1 - np.exp(np.minimum(eps, 700.0)) * (1 - self.delta))
        return np.maximum(sizes, self.delta), np.maximum(sizes, absent)


@dataclass(frozen=True, kw_only=True)
class InfiniteLoss:
    """No differential privacy: something was learned without noise or taken from the rows."""

    @property
    def count(self) -> int:
        """Uses: one is enough."""
        return 1

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """One everywhere."""
        return _both(np.ones_like(np.asarray(epsilon, dtype=np.float64)))


def gaussian_log_delta(mu: float, epsilon: npt.ArrayLike) -> FloatArray:
    """Natural log of the Gaussian mechanism's delta: ``Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)``.

    Balle and Wang, *Improving the Gaussian Mechanism*, ICML 2018, Theorem 5. `mu` is sensitivity over standard
    deviation.
    """
    eps = np.asarray(epsilon, dtype=np.float64)
    keep, lose = log_ndtr(mu / 2 - eps / mu), eps + log_ndtr(-mu / 2 - eps / mu)
    with np.errstate(divide="ignore"):
        result: FloatArray = keep + np.log(-np.expm1(np.minimum(lose - keep, 0.0)))
    return result


def discrete_gaussian_mu(sigma: float) -> float:
    """Parameter mu of the Gaussian mechanism that dominates the discrete Gaussian with unit sensitivity and this sigma.

    The largest increment of ``Phi^-1(Pr[X < m])`` between consecutive integers m, computed for this sigma: about
    ``(1 + 1/(24 sigma^2))/sigma``. For sensitivity s, or an integer vector of L2 norm s, s times as much
    (``docs/explanation/proofs/composition.md``, Theorem 2).

    Parameters
    ----------
    sigma : float
        Parameter of the discrete Gaussian, > 0.
    """
    return _discrete_gaussian_mu(check.positive("sigma", sigma))


def discrete_gaussian_sigma(mu: float) -> float:
    """Smallest sigma whose discrete Gaussian with unit sensitivity is dominated by the Gaussian mechanism with `mu`."""
    mu = check.positive("mu", mu)
    low, high = 1 / mu, 2 / mu
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if discrete_gaussian_mu(middle) <= mu else (middle, high)
    return high


def zcdp_delta(rho: float, epsilon: npt.ArrayLike) -> FloatArray:
    """Delta of a rho-zCDP mechanism at every epsilon >= 0, by the tight conversion through Renyi divergences.

    Smallest over alpha > 1 of ``e^((alpha-1)(alpha rho - epsilon)) (1 - 1/alpha)^alpha / (alpha - 1)`` (Canonne,
    Kamath, Steinke, *The Discrete Gaussian for Differential Privacy*, 2020, Proposition 12), and ``sqrt(rho/2)``,
    Pinsker's bound for epsilon = 0. Every alpha gives a valid bound; they are searched on a grid around the best.
    """
    eps = np.asarray(epsilon, dtype=np.float64)
    if rho == 0:
        return np.zeros_like(eps)
    # The best alpha lies a little below (epsilon + rho)/(2 rho) once epsilon exceeds rho.
    centre = np.maximum((eps + rho) / (2 * rho) - 1, 0.1 / math.sqrt(rho))
    less_one = centre[..., None] * np.geomspace(0.05, 3.0, 600)
    alpha = 1 + less_one
    log_delta = less_one * (alpha * rho - eps[..., None]) - np.log(less_one) + alpha * np.log1p(-1 / alpha)
    smallest: FloatArray = np.minimum(np.exp(np.minimum(log_delta.min(axis=-1), 0.0)), min(1.0, math.sqrt(rho / 2)))
    return smallest


def _both(delta: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    array = np.asarray(delta, dtype=np.float64)
    return array, array


def _randomised_response(limit: float, epsilon: npt.ArrayLike) -> FloatArray:
    eps = np.asarray(epsilon, dtype=np.float64)
    # (e^limit - e^eps)/(e^limit + 1), written so that nothing overflows.
    result: FloatArray = -np.expm1(np.minimum(eps - limit, 0.0)) / (1 + math.exp(-limit))
    return result


@lru_cache(maxsize=4096)
def _discrete_gaussian_mu(sigma: float) -> float:
    if sigma > _LARGE_SIGMA:
        return (1 + 5 / sigma**2) / sigma
    reach = math.ceil(_REACH * sigma) + 2
    # Far enough down that what is missing of the tail is below rounding, even relative to the smallest sum used.
    below = np.arange(-reach - math.ceil(12 * sigma) - 12, 0, dtype=np.float64)
    log_weight = -(below**2) / (2 * sigma**2)
    log_sum = np.logaddexp.accumulate(log_weight)
    log_total = np.logaddexp(math.log(2) + log_sum[-1], 0.0)  # both sides and the weight 1 at zero
    probit = ndtri_exp(log_sum[-reach:] - log_total)  # of Pr[X <= m], m = -reach .. -1
    # Symmetry: the probit of Pr[X <= 0] is minus that of Pr[X <= -1], and increments repeat on the other side.
    increments = np.append(np.diff(probit), -2 * probit[-1])
    return float(increments.max()) * (1 + 1e-9)
