"""Composition of a ledger's losses into a total, by other means than the package's accounting.

A mechanism is represented by the *privacy loss* of a dominating pair of distributions. Gaussian noise alone
is composed by dp-accounting. Any other mechanism is represented by atoms of its loss here. Their sums are
combined with the closed form of Gaussian noise (Balle and Wang, ICML 2018, Theorem 8), which also serves for
Gaussian noise alone with a large mu; the package's accounting composes these with dp-accounting.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr, ndtri_exp

from sdv_plausible.extensions.verify.independent.verdict import UncheckableError

NUMERICAL, NUMERICAL_PER_USE = 2e-13, 4e-16  # delta that the package may charge for rounding
GRID = 2e-3  # step of the package's grid for one use, in standard deviations of the loss
LARGE = 50.0  # larger epsilons of pure or approximate losses are added, not composed
_ATOMS = 4000  # atoms of a continuous loss, or of a privacy curve with unknown corners
_STEPS = 400  # grid points per standard deviation
_MIN_POINTS, _MAX_POINTS = 1 << 19, 1 << 21  # of a grid
_MAX_EXACT_SUMS, _MAX_EXACT_USES = 1 << 15, 256  # up to which sums are formed exactly, not on a grid
_COARSE = 1 << 16  # grid points that are combined with Gaussian noise
_FFT_ERROR = 1e-16  # rounding error of delta per use, from powers of the transform
_LOG_NEGLIGIBLE, _NEGLIGIBLE = 48.0, 1e-18  # negligible mass: exp(-48), and 1e-18
_CLOSED_FORM_MU = 10.0  # largest mu of Gaussian noise alone whose losses a double can exponentiate
_LARGE_SIGMA = 400.0  # larger sigmas use the first two terms of the discrete Gaussian's mu
_MAX_SENSITIVITY = 20_000  # largest integer sensitivity that is represented exactly
_ORDERS_MINUS_ONE = np.geomspace(1e-6, 1e6, 12_000)  # Renyi orders minus 1
Loss = Mapping[str, Any]


@dataclass(frozen=True)
class DiscreteLoss:
    """A privacy loss with finitely many values, for removing a unit."""

    values: np.ndarray
    masses: np.ndarray  # sum to 1 - ``failure``
    failure: float = 0.0  # mass of an infinite loss
    reversed_masses: np.ndarray | None = None  # masses for adding a unit; None if both directions are equal

    def reverse(self) -> DiscreteLoss:
        """The loss for adding a unit."""
        if self.reversed_masses is None:
            return self
        return DiscreteLoss(-self.values, self.reversed_masses, 0.0, self.masses)


@dataclass
class GroupedLosses:
    """Losses grouped by how they compose."""

    mu_squared: float = 0.0
    rho: float = 0.0  # of zero-concentrated privacy
    epsilon: float = 0.0  # sum; infinite if a loss has no (epsilon, delta)
    delta: float = 0.0  # delta that goes with ``rho`` and ``epsilon``
    log_no_failure: float = 0.0  # log probability of no failure
    others: list[tuple[DiscreteLoss, int]] = field(default_factory=list)
    zcdp: float = 0.0  # rho of losses known by rho only

    @classmethod
    def of(cls, losses: Sequence[Loss]) -> GroupedLosses:
        """Group losses, equal ones together."""
        groups, counts = cls(), Counter[tuple[tuple[str, Any], ...]]()
        for loss in losses:
            counts[tuple(sorted({**loss, "count": 1}.items()))] += loss.get("count", 1)
        for kind, count in counts.items():
            groups._add(dict(kind)["type"], dict(kind), count)
        return groups

    def _add(self, kind: str, loss: Loss, count: int) -> None:
        epsilon, delta = loss.get("epsilon", loss.get("epsilon0", math.inf)), loss.get("delta", 0.0)
        ratio, divisor = loss.get("sensitivity_over_sigma", 0.0), 8 if kind == "BoundedRangeLoss" else 2
        self.zcdp += count * loss.get("rho", 0.0)
        if kind == "GaussianLoss":
            self.mu_squared += count * discrete_mu(1 / ratio) ** 2
        elif kind == "SampledGaussianLoss":
            self.others.append((sampled_gaussian_loss(loss["rate"], discrete_mu(1 / ratio)), count))
        elif kind == "ReleaseLoss" and delta < 1:
            self.others.append((release_loss(epsilon, delta, loss["l1"]), count))
        elif kind == "BoundedRangeLoss":
            self.others.append((bounded_range_loss(epsilon), count))
        elif 0 < epsilon < math.inf:
            self.others.append((laplace_loss(epsilon, loss.get("sensitivity", 1)), count))
        if kind == "ApproxDP" or delta == 1:
            self.log_no_failure += count * math.log1p(-delta) if delta < 1 else -math.inf
        self.rho += count * loss.get("rho", ratio**2 / 2 if ratio else epsilon**2 / divisor)
        self.epsilon, self.delta = self.epsilon + count * epsilon, self.delta + count * delta


@lru_cache(maxsize=4096)
def discrete_mu(sigma: float) -> float:
    """Largest step of ``Phi^-1(Pr[X <= m])`` between consecutive integers, X discrete Gaussian."""
    if sigma > _LARGE_SIGMA:
        return (1 + 1 / (24 * sigma**2)) / sigma
    reach = math.ceil(25 * sigma) + 20
    below = np.logaddexp.accumulate(-(np.arange(-reach, 1.0) ** 2) / (2 * sigma**2))
    log_cdf = below - np.logaddexp(below[-2], below[-1])  # symmetric around zero
    steps = np.diff(ndtri_exp(log_cdf[(log_cdf > log_ndtr(-12.0)) & (log_cdf < 0)]))
    return float(max(steps.max(initial=0.0), -2 * ndtri_exp(log_cdf[-2])))


def laplace_loss(epsilon: float, sensitivity: int) -> DiscreteLoss:
    """Discrete Laplace noise at an integer sensitivity; sensitivity 1 is randomised response."""
    sensitivity = min(sensitivity, _MAX_SENSITIVITY)
    rate = epsilon / sensitivity
    steps = np.arange(sensitivity + 1.0)
    masses = np.exp(-rate * steps) * -math.expm1(-rate)
    masses[0], masses[-1] = 1.0, math.exp(-epsilon)
    return DiscreteLoss(rate * (sensitivity - 2 * steps), masses / (1 + math.exp(-rate)))


def sampled_gaussian_loss(rate: float, mu: float) -> DiscreteLoss:
    """Subsampled Gaussian: ``ln(1 - q + q exp(mu x - mu^2/2))``, x of the mixture."""
    ends = np.linspace(-12.0, 12.0 + mu, _ATOMS + 1)
    masses = (1 - rate) * np.diff(ndtr(ends)) + rate * np.diff(ndtr(ends - mu))
    midpoints = (ends[1:] + ends[:-1]) / 2
    values = np.log1p(rate * np.expm1(mu * midpoints - mu * mu / 2))
    return DiscreteLoss(values, masses, 0.0, masses * np.exp(-values))


def bounded_range_loss(epsilon: float) -> DiscreteLoss:
    """The loss of density ``exp((l - epsilon)/2) / (2 (1 - exp(-epsilon)))`` on [-epsilon, epsilon]."""
    ends = np.linspace(-epsilon, epsilon, 5 * _ATOMS + 1)  # so many midpoints are within 5e-5 of the maximum
    masses = np.diff(np.expm1((ends - epsilon) / 2)) / -math.expm1(-epsilon)
    return DiscreteLoss((ends[1:] + ends[:-1]) / 2, masses / masses.sum())


def release_loss(epsilon: float, delta: float, l1: int) -> DiscreteLoss:
    """Noisy sizes, or a group reported with probability delta: the pointwise larger privacy curve."""
    if l1 == 1 and delta >= -math.expm1(-epsilon):  # the group's failure dominates the sizes
        return DiscreteLoss(np.array([math.log1p(-delta)]), np.array([1 - delta]), delta, np.ones(1))
    if l1 == 1:
        normalizer = 1 + math.exp(-epsilon)
        last = epsilon + math.log1p(-delta * normalizer)  # where the curve of the sizes falls to delta
        reverse = np.array([1.0, math.exp(-epsilon)]) / normalizer
        masses = np.array([reverse[1], 1 / normalizer - delta])
        return DiscreteLoss(np.array([-epsilon, last]), masses, delta, reverse)
    sizes, rest = laplace_loss(epsilon, l1), laplace_loss(epsilon * (l1 - 1) / l1, l1 - 1)
    epsilons = np.union1d(np.linspace(0.0, epsilon, _ATOMS), np.abs([*sizes.values, *rest.values]))
    epsilons = epsilons[np.append(True, np.diff(epsilons) > 1e-9 * epsilon)]
    drops = -np.diff(np.maximum(_curve(sizes, epsilons), delta + (1 - delta) * _curve(rest, epsilons)))
    width = np.diff(epsilons)  # a corner's mass is the change of slope in exp(epsilon)
    masses = np.maximum(0.0, drops / -np.expm1(-width) - np.append(drops[1:] / np.expm1(width[1:]), 0.0))
    below = masses * np.exp(-epsilons[1:])
    middle = max(0.0, 1 - delta - float(masses.sum() + below.sum()))
    masses = np.concatenate([below[::-1], [middle], masses])
    return DiscreteLoss(np.append(-epsilons[:0:-1], epsilons), masses * (1 - delta) / masses.sum(), delta)


def _curve(atoms: DiscreteLoss, epsilon: np.ndarray) -> np.ndarray:
    """Privacy curve: delta of a loss at every epsilon >= 0."""
    above = (atoms.values > 0) & (atoms.masses > 0)
    values, masses = atoms.values[above], atoms.masses[above]
    order = np.argsort(-values)
    first = np.append(0.0, masses[order].cumsum())
    log_second = np.append(-np.inf, np.logaddexp.accumulate((np.log(masses) - values)[order]))
    num_larger = np.searchsorted(-values[order], -epsilon)
    return np.maximum(0.0, first[num_larger] - np.exp(epsilon + log_second[num_larger]))


def total(losses: Sequence[Loss], delta: float) -> float:
    """Epsilon at delta of the composition; infinite if there is none."""
    large = GroupedLosses.of([loss for loss in losses if _is_large(loss)])
    groups = GroupedLosses.of([loss for loss in losses if not _is_large(loss)])
    if large.delta >= delta or any(loss["type"] == "InfiniteLoss" for loss in losses):
        return math.inf
    delta -= large.delta
    best = groups.epsilon if groups.delta <= delta else math.inf
    if groups.rho and groups.delta < delta:
        best = min(best, _epsilon_of_zcdp(groups.rho, delta - groups.delta))
    if not groups.zcdp:
        best = min(best, _compose(groups, delta))
    elif groups.mu_squared or groups.others:
        raise UncheckableError("there is no total here of losses of which rho alone is known, beside others")
    return large.epsilon + best


def _epsilon_of_zcdp(rho: float, delta: float) -> float:
    """Epsilon of zero-concentrated privacy (Canonne, Kamath and Steinke 2020, Proposition 12)."""
    a = _ORDERS_MINUS_ONE
    epsilon = rho * (1 + a) + np.log(a) - (math.log(delta) + (1 + a) * np.log1p(a)) / a
    return max(0.0, float(epsilon.min()))


def _is_large(loss: Loss) -> bool:
    return loss["type"] in ("PureDP", "ApproxDP") and loss["epsilon"] > LARGE


def accounting_slack(losses: Sequence[Loss]) -> tuple[float, float]:
    """Delta that the package may charge for rounding, and epsilon of one step of its grid."""
    others = GroupedLosses.of([loss for loss in losses if not _is_large(loss)]).others
    uses = 1 + sum(count for _, count in others)
    moment = sum(count * float(atoms.masses @ atoms.values**2) for atoms, count in others)
    return max(NUMERICAL, uses * NUMERICAL_PER_USE), GRID * math.sqrt(moment / uses)


def split_total(parts: Sequence[tuple[float, Sequence[Loss]]], common: Sequence[Loss], delta: float) -> float:
    """Epsilon at delta if each row falls, secretly and independently, into one part or none."""
    share = delta / 2 if common else delta
    costs = [(p, total(losses, share) if losses else 0.0) for p, losses in parts]
    largest = max(cost for _, cost in costs)
    if math.isinf(largest):
        return math.inf
    amplified_sum = math.fsum(p * (math.exp(cost - largest) - math.exp(-largest)) for p, cost in costs)
    amplified = max(0.0, largest + math.log(amplified_sum + math.exp(-largest)))
    if not common:
        return amplified
    return total([{"type": "ApproxDP", "epsilon": amplified, "delta": share}, *common], delta)


def _compose(groups: GroupedLosses, delta: float) -> float:
    """Epsilon by privacy loss distributions, in the worse direction."""
    failure, mu = -math.expm1(groups.log_no_failure), math.sqrt(groups.mu_squared)
    if failure >= delta:
        return math.inf
    remaining = (delta - failure) / (1 - failure)
    if not groups.others and mu > _CLOSED_FORM_MU:
        return _smallest_epsilon(lambda epsilon: float(gaussian_delta(mu, np.array(epsilon))), remaining)
    if not groups.others:
        if not mu:
            return 0.0
        loss = pld.from_gaussian_mechanism(1 / mu, value_discretization_interval=mu / _STEPS)
        return float(loss.get_epsilon_for_delta(remaining))
    directions = [groups.others, [(atoms.reverse(), count) for atoms, count in groups.others]]
    directions = directions[: 1 if all(atoms.reversed_masses is None for atoms, _ in groups.others) else 2]
    return max(_smallest_epsilon(_composed_curve(others, mu), remaining) for others in directions)


def _composed_curve(others: Sequence[tuple[DiscreteLoss, int]], mu: float) -> Callable[[float], float]:
    """Privacy curve of Gaussian noise composed with losses of finitely many values."""
    log_no_failure = sum(count * math.log1p(-atoms.failure) for atoms, count in others)
    fft_error = 0.0
    if (loss := _exact_sums(others)) is None:
        loss, fft_error = _sums_on_grid(others, mu), _FFT_ERROR * sum(count for _, count in others)
    values, masses = loss.values, loss.masses
    constant = fft_error - math.expm1(log_no_failure)
    return lambda epsilon: constant + float(masses @ gaussian_delta(mu, epsilon - values))


def _exact_sums(others: Sequence[tuple[DiscreteLoss, int]]) -> DiscreteLoss | None:
    """Exact sums of few losses, or None; a grid would move the largest sum."""
    values, masses = np.zeros(1), np.ones(1)
    if sum(count for _, count in others) > _MAX_EXACT_USES:
        return None
    for atoms in (atoms for atoms, count in others for _ in range(count)):
        if values.size * atoms.values.size > _MAX_EXACT_SUMS:
            return None
        values, masses = np.add.outer(values, atoms.values).ravel(), np.outer(masses, atoms.masses).ravel()
        order = np.argsort(values)
        values, masses = values[order], masses[order]
        is_new = np.append(True, np.diff(values) > 1e-13 * np.abs(values).max())  # not equal up to rounding
        first = np.flatnonzero(is_new)
        values, masses = np.maximum.reduceat(values, first), np.add.reduceat(masses, first)
    return DiscreteLoss(values, masses)


def _sums_on_grid(others: Sequence[tuple[DiscreteLoss, int]], mu: float) -> DiscreteLoss:
    """Sums of many losses by FFT, on a grid."""
    uses = sum(count for _, count in others)
    mean = sum(count * float(atoms.masses @ atoms.values) for atoms, count in others)
    deviation = math.sqrt(sum(count * float(atoms.masses @ atoms.values**2) for atoms, count in others))
    largest = [float(np.abs(atoms.values).max()) for atoms, _ in others]
    max_sum = sum(count * end for (_, count), end in zip(others, largest, strict=True))
    # By Bernstein's inequality the mass beyond ``reach`` is negligible.
    linear, spread = 2 * max(largest) * _LOG_NEGLIGIBLE / 3, math.sqrt(2 * _LOG_NEGLIGIBLE) * deviation
    reach = min(max_sum, abs(mean) + linear + math.hypot(linear, spread))
    step = min(math.hypot(deviation, mu) / _STEPS / math.sqrt(uses), 4 * reach / _MIN_POINTS)
    step = max(step, 4 * reach / _MAX_POINTS)
    size = 1 << (2 * math.ceil(reach / step) + 4).bit_length()
    spectrum = np.ones(size // 2 + 1, dtype=complex)
    for atoms, count in others:
        _multiply_by_power(spectrum, np.fft.rfft(_on_grid(atoms, step, size)), count)
    masses, places = np.fft.irfft(spectrum, size), np.fft.fftfreq(size, 1 / size)
    fine = DiscreteLoss(step * places[masses > _NEGLIGIBLE], masses[masses > _NEGLIGIBLE])
    coarse = max(step, 2 * reach / _COARSE)  # sums are split onto the coarse grid once, not per use
    masses = _on_grid(fine, coarse, size)
    return DiscreteLoss(coarse * places[masses > _NEGLIGIBLE], masses[masses > _NEGLIGIBLE])


def _multiply_by_power(product: np.ndarray, factor: np.ndarray, power: int) -> None:
    """Multiply in place by a power of a factor, by repeated squaring; overwrites the factor."""
    while power:
        if power & 1:
            product *= factor
        if power := power >> 1:
            factor *= factor


def _on_grid(atoms: DiscreteLoss, step: float, size: int) -> np.ndarray:
    """Masses on a grid: each value is split so that both distributions keep their mass."""
    index = np.floor(atoms.values / step + 1e-9).astype(int)
    up = atoms.masses * np.expm1(index * step - atoms.values) / math.expm1(-step)
    return np.bincount(index % size, atoms.masses - up, size) + np.bincount((index + 1) % size, up, size)


def gaussian_delta(mu: float, epsilon: np.ndarray) -> np.ndarray:
    """``Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)`` at any epsilon, of either sign."""
    if not mu:
        return np.maximum(0.0, -np.expm1(np.minimum(epsilon, 0.0)))
    log_first, log_second = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    return np.asarray(np.exp(log_first) * -np.expm1(np.minimum(log_second - log_first, 0.0)))


def _smallest_epsilon(delta: Callable[[float], float], limit: float) -> float:
    """Smallest epsilon at which delta is at most this."""
    high = next((end for end in 2.0 ** np.arange(-10, 24) if delta(end) <= limit), math.inf)
    if delta(0.0) <= limit or math.isinf(high):
        return 0.0 if delta(0.0) <= limit else math.inf
    return float(brentq(lambda e: math.log(max(delta(e), 1e-300) / limit), 0.0, high, xtol=1e-12, rtol=1e-10))
