"""Total loss of everything that looked at the rows.

Three ways, each valid, the smallest counts: adding up, zero-concentrated DP with the tight conversion, and
privacy-loss distributions (dp-accounting), discretised pessimistically. All Gaussian noise together is one Gaussian
mechanism and alone needs no discretisation. Proofs: ``docs/explanation/proofs/composition.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from scipy.optimize import brentq

from sdv_plausible.privacy import checks as check
from sdv_plausible.privacy.accounting.gaussian import gaussian_log_delta, zcdp_delta
from sdv_plausible.privacy.accounting.loss_distribution import Composer, SortedLosses
from sdv_plausible.privacy.accounting.losses import (
    ZCDP,
    ApproxDP,
    BoundedRangeLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    InfiniteLoss,
    LaplaceLoss,
    Loss,
    PureDP,
    ReleaseLoss,
)

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
    "calibrate_gaussian",
    "compose",
    "compose_delta",
]

_LARGE_EPSILON = 50.0
_MARGIN = 2e-6  # relative; a calibrated budget composes to no more than the target, however it is split up


def compose(losses: Iterable[Loss], delta: float) -> float:
    """Smallest total epsilon at the given delta of mechanisms used in turn, each seeing the earlier results.

    Parameters
    ----------
    losses : iterable of Loss
        What was used, with counts.
    delta : float
        Delta of the total, in (0, 1).

    Returns
    -------
    float
        Never below the true total; 0 for nothing used, infinity where no finite epsilon holds at this delta.

    Raises
    ------
    ValueError
        If delta is out of range.
    """
    delta = check.open_probability("delta", delta, "it is the failure probability of the total; try 1e-9")
    used = list(losses)
    if any(isinstance(loss, InfiniteLoss) for loss in used):
        return math.inf
    rest, added, failing = _set_aside_large(used)
    if failing >= delta:
        return math.inf
    delta -= failing
    if not rest:
        return added
    best = min(_added_up(rest, delta), _zcdp_epsilon(rest, delta))
    if all(isinstance(loss, ZCDP) for loss in rest):
        return added + best
    total = _sort(rest)
    composed = Composer(total).distribution(total.mu_squared)
    return added + min(best, _epsilon_of(composed.delta, delta, best))


def compose_delta(losses: Iterable[Loss], epsilon: float) -> float:
    """Smallest delta at the given total epsilon >= 0; otherwise as :func:`compose`. Values in [0, 1]."""
    epsilon = check.non_negative("epsilon", epsilon)
    used = list(losses)
    if any(isinstance(loss, InfiniteLoss) for loss in used):
        return 1.0
    rest, added, failing = _set_aside_large(used)
    if added > epsilon:
        return 1.0
    epsilon -= added
    if not rest:
        return min(1.0, failing)
    total = _sort(rest)
    candidates = [Composer(total).distribution(total.mu_squared).delta(epsilon), _zcdp_delta(rest, epsilon)]
    pair = _sum(_pair(loss) for loss in rest)
    if pair and pair[0] <= epsilon:
        candidates.append(pair[1])
    return min(1.0, failing + min(candidates))


def calibrate_gaussian(epsilon: float, delta: float, other_losses: Sequence[Loss] = (), *, largest_share: float = 1.0) -> float:
    """Largest Gaussian budget mu that keeps the total within (epsilon, delta) next to the other losses.

    The budget is a sum of squares: releases with noise sigma_i and sensitivity s_i may be made as long as ``sum
    (s_i/sigma_i)^2 <= mu^2``; charge each as :class:`GaussianLoss`. What the discrete Gaussian loses against the
    continuous one is already taken off, for every way of splitting mu up (``docs/explanation/proofs/composition.md``,
    Theorem 2); from about epsilon 6 on zero-concentrated privacy allows more, and is used.

    Parameters
    ----------
    epsilon, delta : float
        Target of the total; epsilon > 0, delta in (0, 1).
    other_losses : sequence of Loss
        Everything else that is charged.
    largest_share : float
        Most of mu^2 that any single release will get, in (0, 1]; less than 1 gains a little (0.2 % of epsilon at
        epsilon 1).

    Returns
    -------
    float
        mu > 0. In terms of zCDP it is rho = mu^2/2, at (1, 1e-9) 10 % above what the tight zCDP conversion allows.

    Raises
    ------
    ValueError
        If a parameter is out of range or the other losses leave nothing.
    """
    target = check.positive("epsilon", epsilon, "it is the total to stay within") * (1 - _MARGIN)
    delta = check.open_probability("delta", delta)
    others = list(other_losses)
    spent = compose(others, delta)
    if spent >= target:
        raise ValueError(
            f"epsilon ({epsilon!r}) is used up: the other losses compose to {spent:.4g} at delta {delta:.3g}; raise epsilon "
            f"or spend less on them"
        )
    others, added, failing = _set_aside_large(others)
    target, delta = target - added, delta - failing
    base = _sort(others)
    ceiling = _largest_mu(lambda mu: float(np.exp(gaussian_log_delta(mu, target))), delta, 1e3)
    if base.others or base.given_away:
        composer = Composer(base, scale=ceiling)
        dominating = _largest_mu(lambda mu: composer.distribution(base.mu_squared + mu * mu).delta(target), delta, ceiling)
    elif base.mu_squared:
        dominating = math.sqrt(max(0.0, ceiling**2 - base.mu_squared))
    else:
        dominating = ceiling
    # Discrete Gaussians cost a factor of at most 1 + 1/(15 sigma^2), with 1/sigma^2 <= share m^2.
    share = check.rate("largest_share", largest_share)
    mu = float(brentq(lambda m: m * (1 + share * m * m / 15) - dominating, 0.0, dominating, xtol=1e-15, rtol=1e-12))
    mu = max(mu, _largest_mu(lambda m: _zcdp_delta([*others, ZCDP(rho=m * m / 2)], target), delta, ceiling))
    if not mu > 0:
        raise ValueError(f"epsilon ({epsilon!r}) is too small for any noise to be calibrated at delta {delta:.3g}; try 0.01")
    return mu


def _largest_mu(delta_at: Callable[[float], float], delta: float, ceiling: float) -> float:
    """Largest mu in (0, ceiling], within a relative 1e-9, at which an increasing delta is at most the target."""
    low, high = 0.0, ceiling
    if delta_at(high) <= delta:
        return high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        if middle < 1e-9 * ceiling:
            return 0.0
        low, high = (middle, high) if delta_at(middle) <= delta else (low, middle)
    return low


def _sort(losses: Sequence[Loss]) -> SortedLosses:
    gaussians = [loss for loss in losses if isinstance(loss, GaussianLoss)]
    rho = math.fsum(loss.rho for loss in losses if isinstance(loss, ZCDP))
    log_kept, others = 0.0, list[tuple[Loss, int]]()
    for loss in losses:
        if isinstance(loss, ApproxDP):
            log_kept += loss.count * math.log1p(-loss.delta) if loss.delta < 1 else -math.inf
            if loss.epsilon > 0:
                others.append((PureDP(epsilon=loss.epsilon), loss.count))
        elif isinstance(loss, PureDP):
            if loss.epsilon > 0:
                others.append((loss, loss.count))
        elif not isinstance(loss, (GaussianLoss, ZCDP)):
            others.append((loss, loss.count))
    if rho > 0:
        others.append((ZCDP(rho=rho), 1))
    return SortedLosses(
        mu_squared=math.fsum(loss.count * loss.mu**2 for loss in gaussians),
        given_away=-math.expm1(log_kept),
        others=tuple(others),
    )


def _pair(loss: Loss) -> tuple[float, float] | None:
    """(epsilon, delta) of all uses of a loss that has such a pair."""
    match loss:
        case ApproxDP():
            return loss.count * loss.epsilon, min(1.0, loss.count * loss.delta)
        case PureDP() | DiscreteLaplaceLoss() | LaplaceLoss() | BoundedRangeLoss():
            return loss.count * loss.epsilon, 0.0
        case ReleaseLoss():
            return loss.epsilon0, loss.delta
        case _:
            return None


def _rho(loss: Loss) -> tuple[float, float] | None:
    """(rho, delta) of all uses of a loss that is zCDP but for probability delta."""
    match loss:
        case ZCDP():
            return loss.rho, 0.0
        case GaussianLoss():
            return loss.count * loss.sensitivity_over_sigma**2 / 2, 0.0
        case BoundedRangeLoss():
            return loss.count * loss.epsilon**2 / 8, 0.0
        case _:
            pair = _pair(loss)
            uses = loss.count
            return None if pair is None else (uses * (pair[0] / uses) ** 2 / 2, pair[1])


def _sum(parts: Iterable[tuple[float, float] | None]) -> tuple[float, float] | None:
    """Sum of pairs of numbers; None if one is missing."""
    known = list(parts)
    if any(part is None for part in known):
        return None
    return math.fsum(p[0] for p in known if p), math.fsum(p[1] for p in known if p)


def _set_aside_large(losses: Sequence[Loss]) -> tuple[list[Loss], float, float]:
    """The losses without those that are beyond any protection, and the epsilon and delta of the latter, added up.

    In a distribution of losses one such use would overflow.
    """
    large = [loss for loss in losses if isinstance(loss, (PureDP, ApproxDP)) and loss.epsilon > _LARGE_EPSILON]
    added, failing = _sum(_pair(loss) for loss in large) or (0.0, 0.0)
    return [loss for loss in losses if loss not in large], added, failing


def _added_up(losses: Sequence[Loss], delta: float) -> float:
    pair = _sum(_pair(loss) for loss in losses)
    return math.inf if pair is None or pair[1] > delta else pair[0]


def _zcdp_delta(losses: Sequence[Loss], epsilon: float) -> float:
    """Delta by zero-concentrated privacy; in it discrete Gaussians cost as much as continuous ones: better at large mu."""
    total = _sum(_rho(loss) for loss in losses)
    return 1.0 if total is None else total[1] + float(zcdp_delta(total[0], epsilon))


def _zcdp_epsilon(losses: Sequence[Loss], delta: float) -> float:
    total = _sum(_rho(loss) for loss in losses)
    if total is None or total[1] >= delta:
        return math.inf
    rho, left = total[0], delta - total[1]
    start = rho + 2 * math.sqrt(rho * math.log(1 / left))  # Bun and Steinke's simple conversion is an upper bound
    return _epsilon_of(lambda e: float(zcdp_delta(rho, e)), left, start * (1 + 1e-9))


def _epsilon_of(delta_at: Callable[[float], float], delta: float, upper: float) -> float:
    """Smallest epsilon in [0, upper], within a relative 1e-8, at which a decreasing delta is at most the target."""
    if delta_at(0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    if math.isfinite(upper):
        high = upper
        if delta_at(high) > delta:
            return math.inf
    else:
        while delta_at(high) > delta:
            low, high = high, 2 * high
            if high > 1e4:
                return math.inf
    while high - low > 1e-8 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if delta_at(middle) <= delta else (middle, high)
    return high
