"""Privacy-loss distributions: discretised from above, composed and evaluated by dp-accounting.

This module adds what dp-accounting lacks: curves of both directions from arbitrary profiles, and the choice
of the grid. Proofs: ``docs/explanation/proofs/composition.md``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from dp_accounting.pld.pld_pmf import PLDPmf, create_pmf_pessimistic_connect_dots_fixed_gap
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
from scipy.integrate import trapezoid
from scipy.optimize import isotonic_regression

from sdv_plausible.privacy.accounting.crossing import smallest_within
from sdv_plausible.privacy.accounting.gaussian import FloatArray, gaussian_log_delta
from sdv_plausible.privacy.accounting.losses import (
    ZCDP,
    ApproxDP,
    GaussianLoss,
    Loss,
    PureDP,
    both_directions,
)
from sdv_plausible.privacy.parameter_checks import Refused

# Charged for rounding in the convolutions and for cut tails: the larger of a constant, and an amount per use,
# because powers of a transform round once per use.
_NUMERICAL_DELTA = 1e-13
_NUMERICAL_DELTA_PER_USE = 2e-16
_ROUNDING = 1e-8  # relative, of the discretisation
_CLOSED_FORM_ROUNDING = 1e-9  # relative, of the Gaussian's closed form
_TAIL = 1e-16  # profile mass moved to infinity per mechanism
_LONG_GRID, _LARGEST_GRID = 1 << 18, 1 << 22  # points of a usual grid, and of any grid
_SMALLEST_STEP = 2.0**-27  # its error of a loss is below any stated precision
_REACH = 32.0  # width of a usual grid, in standard deviations of the total
_EXCESS_VARIANCE = 1e-6  # largest increase of the total's variance by the grid, relative
_SMALLEST_LOSS, _LARGEST_LOSS = 1e-7, 700.0  # range in which the end of a profile is searched


@dataclass(frozen=True, kw_only=True)
class SortedLosses:
    """Losses sorted by their kind of composition."""

    mu_squared: float  # all Gaussian noise together, as one Gaussian mechanism
    failure: float  # total probability of failures, of the (0, delta) kind
    others: tuple[tuple[Loss, int], ...]  # losses that need a loss distribution; zCDP losses as one

    @classmethod
    def of(cls, losses: Sequence[Loss]) -> SortedLosses:
        """Sort finite losses."""
        mu_squared = math.fsum(loss.count * loss.mu**2 for loss in losses if isinstance(loss, GaussianLoss))
        rho = math.fsum(loss.rho for loss in losses if isinstance(loss, ZCDP))
        log_success, others = 0.0, Counter[Loss]()
        for loss in losses:
            if isinstance(loss, ApproxDP):
                log_success += loss.count * math.log1p(-loss.delta) if loss.delta < 1 else -math.inf
            if (single := single_use(loss)) is not None:
                others[single] += loss.count
        if rho > 0:
            others[ZCDP(rho=rho)] = 1
        return cls(mu_squared=mu_squared, failure=-math.expm1(log_success), others=tuple(others.items()))


def single_use(loss: Loss) -> Loss | None:
    """One use of a loss that needs its own distribution; None for Gaussian noise, zCDP and failures."""
    if isinstance(loss, (ApproxDP, PureDP)):
        return PureDP(epsilon=loss.epsilon) if loss.epsilon > 0 else None
    if isinstance(loss, (GaussianLoss, ZCDP)):
        return None
    single: Any = loss
    if loss.count > 1 and "count" in getattr(loss, "__dataclass_fields__", ()):
        loss = replace(single, count=1)
    return loss


@dataclass(frozen=True)
class ComposedLoss:
    """A total: failures, with either Gaussian noise alone or the distribution of everything else."""

    failure: float
    mu: float
    distribution: PrivacyLossDistribution | None
    rounding: float = _NUMERICAL_DELTA

    def delta(self, epsilon: float) -> float:
        """Delta at epsilon >= 0, never below the true value."""
        if self.distribution is not None:
            # Rounding is relative in the discretisation, and absolute in the fast Fourier transforms.
            worst = float(self.distribution.get_delta_for_epsilon(epsilon)) * (1 + _ROUNDING) + self.rounding
        else:
            worst = self._gaussian_delta(epsilon)
        return min(1.0, self.failure + (1 - self.failure) * worst)

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon >= 0 at this delta, never below the true value; infinite if there is none."""
        if self.failure >= delta:
            return math.inf
        left = (delta - self.failure) / (1 - self.failure)
        if self.distribution is not None:
            left = (left - self.rounding) / (1 + _ROUNDING)
            return float(self.distribution.get_epsilon_for_delta(left)) if left > 0 else math.inf
        if not self.mu:
            return 0.0
        # Upper bound: delta is at most Phi(-x) <= exp(-x^2/2), with x = epsilon/mu - mu/2.
        upper = self.mu * (self.mu / 2 + math.sqrt(2 * math.log(1 / left))) * (1 + _ROUNDING)
        return smallest_within(self._gaussian_delta, left, 0.0, upper)

    def _gaussian_delta(self, epsilon: float) -> float:
        return (
            math.exp(gaussian_log_delta(self.mu, epsilon)) * (1 + _CLOSED_FORM_ROUNDING) if self.mu else 0.0
        )


class Composer:
    """Composes a fixed set of losses with any amount of Gaussian noise.

    ``scale`` is the largest Gaussian mu that may be added to ``total``. ``coarseness`` multiplies the grid
    step: the totals are found faster, are slightly larger, and remain upper bounds.
    """

    def __init__(self, total: SortedLosses, scale: float = 0.0, coarseness: int = 1) -> None:
        self._failure, self._step, self._rounding = total.failure, 1.0, _NUMERICAL_DELTA
        self._others: PrivacyLossDistribution | None = None
        if not total.others:
            return
        tops = [_profile_end(loss) for loss, _ in total.others]
        uses = 1 + sum(count for _, count in total.others)
        self._rounding = max(_NUMERICAL_DELTA, uses * _NUMERICAL_DELTA_PER_USE)
        spread = zip(total.others, tops, strict=True)
        variance = math.fsum(count * _second_moment(loss, top) for (loss, count), top in spread)
        self._step = coarseness * _grid_step(total.mu_squared + scale**2 + variance, uses, max(tops))
        for (loss, count), top in zip(total.others, tops, strict=True):
            part = _repeated(loss, count, top, self._step)
            self._others = part if self._others is None else self._others.compose(part)

    def distribution(self, mu_squared: float) -> ComposedLoss:
        """Total with Gaussian noise of the given squared mu."""
        mu, composed = math.sqrt(mu_squared), self._others
        if composed is not None and mu > 0:
            noise = _Gaussian(mu)
            try:
                composed = composed.compose(_discretise(noise, _profile_end(noise), self._step))
            except IndexError as error:  # all mass is beyond the grid
                raise Refused.saying(
                    "epsilon",
                    "losses of hundreds of epsilon cannot be composed: lower epsilon, or use math.inf to "
                    "learn without noise and without a privacy guarantee",
                ) from error
        return ComposedLoss(self._failure, mu, composed, self._rounding)


@lru_cache(maxsize=8)
def composer_of(total: SortedLosses) -> Composer:
    """Cached composer of a total: a ledger evaluates one total several times."""
    return Composer(total)


@dataclass(frozen=True)
class _Gaussian(Loss):
    """The continuous Gaussian mechanism with parameter mu."""

    mu: float

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        return both_directions(np.exp(gaussian_log_delta(self.mu, epsilon)))


def _grid_step(variance: float, uses: int, top: float) -> float:
    """Grid step of the losses, a power of two."""
    # Connecting the dots splits each atom between its grid neighbours, which adds at most step^2/4 to the
    # variance of a loss. The total of this stays below a millionth of the variance, unless the grid gets too
    # long; a coarser grid only gives a looser bound.
    step = max(
        math.sqrt(4 * _EXCESS_VARIANCE * variance / uses),
        _REACH * math.sqrt(variance) / _LONG_GRID,
        2 * top / _LARGEST_GRID,
        _SMALLEST_STEP,
    )
    return float(2.0 ** math.floor(math.log2(step)))


def _profile_end(loss: Loss) -> float:
    """Find an epsilon beyond which a profile is constant."""
    grid = np.append(np.geomspace(_SMALLEST_LOSS, _LARGEST_LOSS, 600), _LARGEST_LOSS)
    remove, add = loss.profile(grid)
    settled = np.maximum(remove - remove[-1], add - add[-1]) <= _TAIL
    return float(grid[np.argmax(settled)])


def _second_moment(loss: Loss, top: float) -> float:
    """Rough second moment of one use's privacy loss, for the grid step only."""
    # A loss L has ``Pr[L > l] = delta(l) - delta'(l)`` and, for l < 0, the density of the other direction
    # times e^l. Integrated by parts, E[L^2] is twice the integral of ``(1 + l + (1 - l) e^-l) delta(l)`` over
    # l > 0.
    losses = np.linspace(0.0, top, 65)
    remove, add = loss.profile(losses)
    weight = 1 + losses + (1 - losses) * np.exp(-losses)
    return float(2 * trapezoid(weight * np.maximum(remove - remove[-1], add - add[-1]), losses))


def _discretise(loss: Loss, top: float, step: float) -> PrivacyLossDistribution:
    """Discretise both directions of a profile from above, by connecting the dots."""
    # Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, *Connect the Dots*, PETS 2022.
    losses: FloatArray = step * np.arange(max(1, math.ceil(top / step)) + 1, dtype=np.float64)
    remove, add = loss.profile(losses)
    if remove is add:
        return PrivacyLossDistribution(_pmf(remove, remove, losses))
    return PrivacyLossDistribution(_pmf(remove, add, losses), _pmf(add, remove, losses))


@lru_cache(maxsize=4)
def _repeated(loss: Loss, count: int, top: float, step: float) -> PrivacyLossDistribution:
    """Distribution of ``count`` uses of a loss, cached: the rows are composed alone, and with the rest."""
    single = _discretise(loss, top, step)
    if count == 1:
        return single
    with np.errstate(over="ignore"):  # some orders tried for the tails overflow
        return single.self_compose(count)


def _pmf(own: FloatArray, other: FloatArray, losses: FloatArray) -> PLDPmf:
    """Probability masses of one direction; its curve is ``1 - e^loss (1 - other)`` at negative losses."""
    negative = (other - np.expm1(-losses) * (1 - other))[:0:-1]
    curve = convex_hull(np.append(-losses[:0:-1], losses), np.append(negative, own))
    return create_pmf_pessimistic_connect_dots_fixed_gap(
        float(losses[1]), 1 - len(losses), len(losses) - 1, curve
    )


def convex_hull(losses: FloatArray, bounds: FloatArray) -> FloatArray:
    """Largest decreasing curve below the bounds that is convex in e^loss and 1 at ``e^loss = 0``."""
    # The true curve is such a curve, so it lies below. The result is the curve of some pair of distributions,
    # which the bounds need not be (``docs/explanation/proofs/composition.md``, Lemma 1). Both arguments have
    # shape (g,): ``losses`` increase, ``bounds`` are upper bounds of delta there.
    ratios = np.append(0.0, np.exp(losses))
    curve = np.append(1.0, np.minimum.accumulate(np.clip(bounds, 0.0, 1.0)))
    widths = np.append(math.exp(losses[0]), np.exp(losses[:-1]) * np.expm1(np.diff(losses)))
    slopes = np.diff(curve) / widths
    if np.all(np.diff(slopes) >= 0):
        return curve[1:]
    # The slopes of the largest convex curve below are an isotonic regression; its blocks end at corners.
    corners = isotonic_regression(slopes, weights=widths).blocks
    hull: FloatArray = np.interp(ratios[1:], ratios[corners], curve[corners])
    return hull
