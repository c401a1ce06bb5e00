"""Gaussian noise on sums over fresh Poisson samples of the rows: the loss of one step of private training.

Proofs: ``docs/explanation/proofs/sampled_sum.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.composition import calibrate_gaussian, compose_delta
from sdv_plausible.privacy.accounting.crossing import largest_within
from sdv_plausible.privacy.accounting.gaussian import FloatArray, discrete_gaussian_mu, gaussian_log_delta
from sdv_plausible.privacy.accounting.losses import Loss, RhoDelta
from sdv_plausible.privacy.ledger_record import rounded_up

_LARGEST_EPSILON = 600.0  # its exponential over a rate is still a double
_MARGIN = 2e-6  # relative; the calibrated noise stays within the target
_LOW, _HIGH = 0.3, 1.5  # search range, relative to the limit theorem's sensitivity over sigma
_PRECISION = 5e-4  # relative precision of the noise; a composition is slow


@dataclass(frozen=True, kw_only=True)
class SampledGaussianLoss(Loss):
    """`count` discrete Gaussian mechanisms, each on a fresh Poisson sample; for rows added or removed."""

    rate: float  # probability that a row is in a sample, by itself, in (0, 1]
    sensitivity_over_sigma: float  # L2 sensitivity of the sampled sum over sigma, > 0
    count: int = 1

    def __post_init__(self) -> None:
        check.positive("rate", self.rate)
        check.positive("sensitivity_over_sigma", self.sensitivity_over_sigma)
        check.whole("count", self.count, 1)
        if self.rate > 1:
            raise ValueError(f"rate ({self.rate!r}) must be at most 1: it is a probability")

    @property
    def mu(self) -> float:
        """Gaussian privacy parameter of each mechanism on all rows."""
        return discrete_gaussian_mu(1 / self.sensitivity_over_sigma)

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Exact for the dominating Gaussian: a mixture against one of its components, and the reverse."""
        eps = np.minimum(np.asarray(epsilon, dtype=np.float64), _LARGEST_EPSILON)
        q = self.rate
        remove = q * self._unsampled(np.log1p(np.expm1(eps) / q))
        left = -np.expm1(eps + np.log1p(-q)) if q < 1 else np.ones_like(eps)
        inside = left > 0  # else the component without the row dominates, and delta is 0
        ratio = np.where(inside, eps + np.log(q) - np.log(np.where(inside, left, 1.0)), 0.0)
        add = np.where(inside, left * self._unsampled(ratio), 0.0)
        return remove, add

    def _unsampled(self, epsilon: FloatArray) -> FloatArray:
        """Profile of the same noise without sampling."""
        delta: FloatArray = np.exp(gaussian_log_delta(self.mu, np.maximum(epsilon, 0.0)))
        return delta

    def zcdp(self) -> RhoDelta:
        """At most the rho of the same noise on all rows: Renyi divergences are quasi-convex."""
        return RhoDelta(self.count * self.sensitivity_over_sigma**2 / 2, 0.0)


@lru_cache(maxsize=64)
def calibrate_sampled(
    epsilon: float, delta: float, rate: float, count: int, other_losses: tuple[Loss, ...] = ()
) -> SampledGaussianLoss:
    """Least noise for sums over Poisson samples that keeps the total within (epsilon, delta)."""
    target = check.positive("epsilon", epsilon, "it is the total to stay within") * (1 - _MARGIN)
    delta = check.share_of_delta("delta", delta)

    def at(ratio: float) -> float:
        loss = SampledGaussianLoss(rate=rate, sensitivity_over_sigma=ratio, count=count)
        return compose_delta([*other_losses, loss], target)

    mu = calibrate_gaussian(epsilon, delta, other_losses)  # of all sums together, as one mechanism
    guess = math.sqrt(math.log1p((mu / rate) ** 2 / count))
    ratio = largest_within(at, delta, _LOW * guess, _HIGH * guess, rtol=_PRECISION)
    if not ratio > 0:
        raise check.Refused.saying(
            "epsilon",
            f"epsilon ({epsilon!r}) leaves too little for {count} sums at delta {rounded_up(delta)}: raise "
            "epsilon or use fewer sums",
        )
    return SampledGaussianLoss(rate=rate, sensitivity_over_sigma=ratio, count=count)
