"""The total of a ledger's losses, composed anew, by other means than the program's own.

A use of the rows is as bad as one pair of distributions; what composes is the logarithm of their ratio, the
*privacy loss*. Gaussian noise alone is composed by dp-accounting's distributions of it. Every other kind is
atoms of its loss here, whose sums are taken next to the closed form of Gaussian noise (Balle and Wang, ICML
2018, Theorem 8), as is Gaussian noise of a large mu alone; the program composes these by dp-accounting.
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

NUMERICAL, NUMERICAL_PER_USE = 2e-13, 4e-16  # of delta: the program may charge for rounding
GRID = 2e-3  # of a loss's deviation: a step of the program's grid for one use
LARGE = 50.0  # epsilon of a pure or approximate loss from which on it is added, and not composed
_FINE = 4000  # atoms of a loss that has a density, or a curve with a bend that is not known beforehand
_STEPS, _LEAST, _MOST = 400, 1 << 19, 1 << 21  # of a grid: for a standard deviation, and of all
_FEW, _FEW_USES = 1 << 15, 256  # up to which sums of losses are formed one by one, and not on a grid
_COARSE = 1 << 16  # points of a grid that are taken next to Gaussian noise
_ROUNDS = 1e-16  # of delta, for each use: powers of a transform round as often
_LOG_DUST, _DUST = 48.0, 1e-18  # a mass of exp(-this), or of this, counts as none
_CLOSED = 10.0  # mu of Gaussian noise alone from which on its losses are no exponents of doubles
_LARGE_SIGMA = 400.0  # from which on the first two terms of a discrete Gaussian's mu are enough
_MOST_STEPS = 20_000  # of a sensitivity: noise on finer ones is hardly another
_ABOVE_ONE = np.geomspace(1e-6, 1e6, 12_000)  # Renyi orders, less 1
Loss = Mapping[str, Any]


@dataclass(frozen=True)
class DiscreteLoss:
    """A privacy loss of finitely many values, for removing a unit; ``reverse`` is that for adding one."""

    values: np.ndarray
    masses: np.ndarray  # they sum to 1 less ``failure``
    failure: float = 0.0  # mass of an infinite loss
    back: np.ndarray | None = None  # masses for adding a unit; None where both directions are equal

    def reverse(self) -> DiscreteLoss:
        """The loss of the other direction: what the second distribution lacks is no loss."""
        return self if self.back is None else DiscreteLoss(-self.values, self.back, 0.0, self.masses)


@dataclass
class GroupedLosses:
    """Losses by how they compose."""

    mu_squared: float = 0.0
    rho: float = 0.0  # of zero-concentrated privacy
    epsilon: float = 0.0  # everything added up; infinite where that is no pair
    delta: float = 0.0  # that goes with both
    log_kept: float = 0.0  # logarithm of the probability that no failure happens
    others: list[tuple[DiscreteLoss, int]] = field(default_factory=list)
    zcdp: float = 0.0  # rho of losses of which nothing else is known

    @classmethod
    def of(cls, losses: Sequence[Loss]) -> GroupedLosses:
        """Sort losses, equal ones together."""
        found, counts = cls(), Counter[tuple[tuple[str, Any], ...]]()
        for loss in losses:
            counts[tuple(sorted({**loss, "count": 1}.items()))] += loss.get("count", 1)
        for kind, count in counts.items():
            found._add(dict(kind)["type"], dict(kind), count)
        return found

    def _add(self, kind: str, loss: Loss, count: int) -> None:
        epsilon, delta = loss.get("epsilon", loss.get("epsilon0", math.inf)), loss.get("delta", 0.0)
        ratio, shrink = loss.get("sensitivity_over_sigma", 0.0), 8 if kind == "BoundedRangeLoss" else 2
        self.zcdp += count * loss.get("rho", 0.0)
        if kind == "GaussianLoss":
            self.mu_squared += count * discrete_mu(1 / ratio) ** 2
        elif kind == "SampledGaussianLoss":
            self.others.append((sampled(loss["rate"], discrete_mu(1 / ratio)), count))
        elif kind == "ReleaseLoss" and delta < 1:
            self.others.append((release(epsilon, delta, loss["l1"]), count))
        elif kind == "BoundedRangeLoss":
            self.others.append((bounded_range(epsilon), count))
        elif 0 < epsilon < math.inf:
            self.others.append((laplace(epsilon, loss.get("sensitivity", 1)), count))
        if kind == "ApproxDP" or delta == 1:
            self.log_kept += count * math.log1p(-delta) if delta < 1 else -math.inf
        self.rho += count * loss.get("rho", ratio**2 / 2 if ratio else epsilon**2 / shrink)
        self.epsilon, self.delta = self.epsilon + count * epsilon, self.delta + count * delta


@lru_cache(maxsize=4096)
def discrete_mu(sigma: float) -> float:
    """Largest step of ``Phi^-1(Pr[X <= m])`` from one whole number to the next, X discrete Gaussian."""
    if sigma > _LARGE_SIGMA:
        return (1 + 1 / (24 * sigma**2)) / sigma
    reach = math.ceil(25 * sigma) + 20
    below = np.logaddexp.accumulate(-(np.arange(-reach, 1.0) ** 2) / (2 * sigma**2))
    log_cdf = below - np.logaddexp(below[-2], below[-1])  # as many are above zero as below
    steps = np.diff(ndtri_exp(log_cdf[(log_cdf > log_ndtr(-12.0)) & (log_cdf < 0)]))
    return float(max(steps.max(initial=0.0), -2 * ndtri_exp(log_cdf[-2])))


def laplace(epsilon: float, sensitivity: int) -> DiscreteLoss:
    """Discrete Laplace noise on a whole number that moves by this much; by 1, randomised response."""
    sensitivity = min(sensitivity, _MOST_STEPS)
    rate = epsilon / sensitivity
    at = np.arange(sensitivity + 1.0)
    inside = np.exp(-rate * at) * -math.expm1(-rate)
    inside[0], inside[-1] = 1.0, math.exp(-epsilon)
    return DiscreteLoss(rate * (sensitivity - 2 * at), inside / (1 + math.exp(-rate)))


def sampled(rate: float, mu: float) -> DiscreteLoss:
    """Gaussian noise on a sum over a sample: ``ln(1 - q + q exp(mu x - mu^2/2))``, x of the mixture."""
    ends = np.linspace(-12.0, 12.0 + mu, _FINE + 1)
    masses = (1 - rate) * np.diff(ndtr(ends)) + rate * np.diff(ndtr(ends - mu))
    middle = (ends[1:] + ends[:-1]) / 2
    values = np.log1p(rate * np.expm1(mu * middle - mu * mu / 2))
    return DiscreteLoss(values, masses, 0.0, masses * np.exp(-values))


def bounded_range(epsilon: float) -> DiscreteLoss:
    """The loss of density ``exp((l - epsilon)/2) / (2 (1 - exp(-epsilon)))`` from -epsilon to epsilon."""
    ends = np.linspace(-epsilon, epsilon, 5 * _FINE + 1)  # middles of so many are within 5e-5 of the largest
    masses = np.diff(np.expm1((ends - epsilon) / 2)) / -math.expm1(-epsilon)
    return DiscreteLoss((ends[1:] + ends[:-1]) / 2, masses / masses.sum())


def release(epsilon: float, delta: float, l1: int) -> DiscreteLoss:
    """Noisy sizes, or a group that shows with probability delta: the larger of both at every epsilon."""
    if l1 == 1 and delta >= -math.expm1(-epsilon):  # the sizes tell nothing beyond the group
        return DiscreteLoss(np.array([math.log1p(-delta)]), np.array([1 - delta]), delta, np.ones(1))
    if l1 == 1:
        most = 1 + math.exp(-epsilon)
        last = epsilon + math.log1p(-delta * most)  # where the sizes' line falls to delta
        back = np.array([1.0, math.exp(-epsilon)]) / most
        return DiscreteLoss(np.array([-epsilon, last]), np.array([back[1], 1 / most - delta]), delta, back)
    sizes, left = laplace(epsilon, l1), laplace(epsilon * (l1 - 1) / l1, l1 - 1)
    at = np.union1d(np.linspace(0.0, epsilon, _FINE), np.abs([*sizes.values, *left.values]))
    at = at[np.append(True, np.diff(at) > 1e-9 * epsilon)]
    fall = -np.diff(np.maximum(_curve(sizes, at), delta + (1 - delta) * _curve(left, at)))
    width = np.diff(at)  # a corner's mass is by how much the slope in exp(epsilon) changes there
    masses = np.maximum(0.0, fall / -np.expm1(-width) - np.append(fall[1:] / np.expm1(width[1:]), 0.0))
    below = masses * np.exp(-at[1:])
    middle = max(0.0, 1 - delta - float(masses.sum() + below.sum()))
    masses = np.concatenate([below[::-1], [middle], masses])
    return DiscreteLoss(np.append(-at[:0:-1], at), masses * (1 - delta) / masses.sum(), delta)


def _curve(atoms: DiscreteLoss, epsilon: np.ndarray) -> np.ndarray:
    """Delta of a loss at every epsilon >= 0."""
    above = (atoms.values > 0) & (atoms.masses > 0)
    values, masses = atoms.values[above], atoms.masses[above]
    down = np.argsort(-values)
    kept = np.append(0.0, masses[down].cumsum())
    lost = np.append(-np.inf, np.logaddexp.accumulate((np.log(masses) - values)[down]))  # its logarithm
    beyond = np.searchsorted(-values[down], -epsilon)  # how many losses are larger
    return np.maximum(0.0, kept[beyond] - np.exp(epsilon + lost[beyond]))


def total(losses: Sequence[Loss], delta: float) -> float:
    """Epsilon at delta of all of them, used in turn; infinite where there is none."""
    large, found = (
        GroupedLosses.of([one for one in losses if _is_large(one) == side]) for side in (True, False)
    )
    if large.delta >= delta or any(one["type"] == "InfiniteLoss" for one in losses):
        return math.inf
    delta -= large.delta
    best = found.epsilon if found.delta <= delta else math.inf
    if found.rho and found.delta < delta:
        best = min(best, _of_rho(found.rho, delta - found.delta))
    if not found.zcdp:
        best = min(best, _composed(found, delta))
    elif found.mu_squared or found.others:
        raise UncheckableError("there is no total here of losses of which rho alone is known, beside others")
    return large.epsilon + best


def _of_rho(rho: float, delta: float) -> float:
    """Epsilon of zero-concentrated privacy (Canonne, Kamath and Steinke 2020, Proposition 12)."""
    a = _ABOVE_ONE
    epsilon = rho * (1 + a) + np.log(a) - (math.log(delta) + (1 + a) * np.log1p(a)) / a
    return max(0.0, float(epsilon.min()))


def _is_large(loss: Loss) -> bool:
    return loss["type"] in ("PureDP", "ApproxDP") and loss["epsilon"] > LARGE


def program_excess(losses: Sequence[Loss]) -> tuple[float, float]:
    """Delta that the program may charge for rounding, and epsilon that one step of its grid may add."""
    others = GroupedLosses.of([one for one in losses if not _is_large(one)]).others
    uses = 1 + sum(count for _, count in others)
    moment = sum(count * float(atoms.masses @ atoms.values**2) for atoms, count in others)
    return max(NUMERICAL, uses * NUMERICAL_PER_USE), GRID * math.sqrt(moment / uses)


def split_total(parts: Sequence[tuple[float, Sequence[Loss]]], common: Sequence[Loss], delta: float) -> float:
    """Epsilon where each row falls, secretly and by itself, into one part or into none: of all of them."""
    share = delta / 2 if common else delta
    costs = [(p, total(losses, share) if losses else 0.0) for p, losses in parts]
    most = max(cost for _, cost in costs)
    if math.isinf(most):
        return math.inf
    inside = math.fsum(p * (math.exp(cost - most) - math.exp(-most)) for p, cost in costs)
    amplified = max(0.0, most + math.log(inside + math.exp(-most)))
    if not common:
        return amplified
    return total([{"type": "ApproxDP", "epsilon": amplified, "delta": share}, *common], delta)


def _composed(found: GroupedLosses, delta: float) -> float:
    """By distributions of the loss, in the worse of both directions."""
    failure, mu = -math.expm1(found.log_kept), math.sqrt(found.mu_squared)
    if failure >= delta:
        return math.inf
    left = (delta - failure) / (1 - failure)
    if not found.others and mu > _CLOSED:
        return _smallest(lambda epsilon: float(gaussian_delta(mu, np.array(epsilon))), left)
    if not found.others:
        step = {"value_discretization_interval": mu / _STEPS}
        return float(pld.from_gaussian_mechanism(1 / mu, **step).get_epsilon_for_delta(left)) if mu else 0.0
    both = [found.others, [(atoms.reverse(), count) for atoms, count in found.others]]
    both = both[: 1 if all(atoms.back is None for atoms, _ in found.others) else 2]
    return max(_smallest(_delta_beside(others, mu), left) for others in both)


def _delta_beside(others: Sequence[tuple[DiscreteLoss, int]], mu: float) -> Callable[[float], float]:
    """Delta at every epsilon of Gaussian noise next to losses of finitely many values."""
    log_kept = sum(count * math.log1p(-atoms.failure) for atoms, count in others)
    rounds = 0.0
    if (whole := _sums(others)) is None:
        whole, rounds = _sums_on_grid(others, mu), _ROUNDS * sum(count for _, count in others)
    values, masses = whole.values, whole.masses
    return lambda at: rounds - math.expm1(log_kept) + float(masses @ gaussian_delta(mu, at - values))


def _sums(others: Sequence[tuple[DiscreteLoss, int]]) -> DiscreteLoss | None:
    """Every sum of losses, where these are few: a grid would move the largest, which counts."""
    values, masses = np.zeros(1), np.ones(1)
    if sum(count for _, count in others) > _FEW_USES:
        return None
    for atoms in (atoms for atoms, count in others for _ in range(count)):
        if values.size * atoms.values.size > _FEW:
            return None
        values, masses = np.add.outer(values, atoms.values).ravel(), np.outer(masses, atoms.masses).ravel()
        order = np.argsort(values)
        values, masses = values[order], masses[order]
        is_new = np.append(True, np.diff(values) > 1e-13 * np.abs(values).max())  # and no rounding
        first = np.flatnonzero(is_new)
        values, masses = np.maximum.reduceat(values, first), np.add.reduceat(masses, first)
    return DiscreteLoss(values, masses)


def _sums_on_grid(others: Sequence[tuple[DiscreteLoss, int]], mu: float) -> DiscreteLoss:
    """Sums of many losses, at multiples of a step."""
    uses = sum(count for _, count in others)
    mean = sum(count * float(atoms.masses @ atoms.values) for atoms, count in others)
    deviation = math.sqrt(sum(count * float(atoms.masses @ atoms.values**2) for atoms, count in others))
    largest = [float(np.abs(atoms.values).max()) for atoms, _ in others]
    most = sum(count * end for (_, count), end in zip(others, largest, strict=True))
    part = 2 * max(largest) * _LOG_DUST / 3  # Bernstein's inequality: what is beyond has no mass
    reach = min(most, abs(mean) + part + math.hypot(part, math.sqrt(2 * _LOG_DUST) * deviation))
    step = min(math.hypot(deviation, mu) / _STEPS / math.sqrt(uses), 4 * reach / _LEAST)
    step = max(step, 4 * reach / _MOST)
    size = 1 << (2 * math.ceil(reach / step) + 4).bit_length()
    spectrum = np.ones(size // 2 + 1, dtype=complex)
    for atoms, count in others:
        _times_power(spectrum, np.fft.rfft(_on_grid(atoms, step, size)), count)
    masses, places = np.fft.irfft(spectrum, size), np.fft.fftfreq(size, 1 / size)
    whole = DiscreteLoss(step * places[masses > _DUST], masses[masses > _DUST])
    coarse = max(step, 2 * reach / _COARSE)  # a sum is shared out once, and not with every use
    masses = _on_grid(whole, coarse, size)
    return DiscreteLoss(coarse * places[masses > _DUST], masses[masses > _DUST])


def _times_power(product: np.ndarray, factor: np.ndarray, power: int) -> None:
    """Multiply a product by a power of a factor, which is lost: by squares, which is fast."""
    while power:
        if power & 1:
            product *= factor
        if power := power >> 1:
            factor *= factor


def _on_grid(atoms: DiscreteLoss, step: float, size: int) -> np.ndarray:
    """Masses at multiples of a step: each value is shared so that both distributions keep their mass."""
    place = np.floor(atoms.values / step + 1e-9).astype(int)
    up = atoms.masses * np.expm1(place * step - atoms.values) / math.expm1(-step)
    return np.bincount(place % size, atoms.masses - up, size) + np.bincount((place + 1) % size, up, size)


def gaussian_delta(mu: float, epsilon: np.ndarray) -> np.ndarray:
    """``Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)`` at any epsilon, of either sign."""
    if not mu:
        return np.maximum(0.0, -np.expm1(np.minimum(epsilon, 0.0)))
    keep, lose = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    return np.asarray(np.exp(keep) * -np.expm1(np.minimum(lose - keep, 0.0)))


def _smallest(delta: Callable[[float], float], most: float) -> float:
    """Smallest epsilon at which delta is this or less."""
    high = next((end for end in 2.0 ** np.arange(-10, 24) if delta(end) <= most), math.inf)
    if delta(0.0) <= most or math.isinf(high):
        return 0.0 if delta(0.0) <= most else math.inf
    return float(brentq(lambda e: math.log(max(delta(e), 1e-300) / most), 0.0, high, xtol=1e-12, rtol=1e-10))
