"""What each kind of loss of a release file is worth, read from the format page: distributions of losses.

A use of the rows is as bad as one pair of distributions; what composes is the logarithm of their ratio, the
*privacy loss*. Gaussian noise is kept apart, as ``mu``; every other kind is atoms of its loss here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

FIELDS: dict[str, tuple[str, ...]] = {
    "GaussianLoss": ("sensitivity_over_sigma", "count"),
    "SampledGaussianLoss": ("rate", "sensitivity_over_sigma", "count"),
    "ApproxDP": ("epsilon", "delta", "count"),
    "PureDP": ("epsilon", "count"),
    "DiscreteLaplaceLoss": ("epsilon", "count", "sensitivity"),
    "BoundedRangeLoss": ("epsilon", "count"),
    "ReleaseLoss": ("epsilon0", "delta", "l1"),
    "ZCDP": ("rho",),
    "InfiniteLoss": (),
}
LARGE = 50.0  # epsilon of a pure or approximate loss from which on it is added, and not composed
_FINE = 4000  # atoms of a loss that has a density, or a curve with a bend that is not known beforehand
Loss = Mapping[str, Any]


@dataclass(frozen=True)
class Atoms:
    """A privacy loss of finitely many values, for removing a unit; ``reverse`` is that for adding one."""

    values: np.ndarray
    masses: np.ndarray  # they sum to 1 less ``failure``
    failure: float = 0.0  # mass of an infinite loss
    symmetric: bool = True

    def reverse(self) -> Atoms:
        """The loss of the other direction: where the second distribution has no mass, nothing is lost."""
        if self.symmetric:
            return self
        return Atoms(-self.values, self.masses * np.exp(-self.values), 0.0, symmetric=False)


@dataclass
class Sorted:
    """Losses by how they compose."""

    mu_squared: float = 0.0
    rho: float = 0.0  # of zero-concentrated privacy, of everything; infinite where a loss has none
    epsilon: float = 0.0  # everything added up; infinite where that is no pair
    delta: float = 0.0  # that goes with both
    log_kept: float = 0.0  # logarithm of the probability that no failure happens
    others: list[tuple[Atoms, int]] = field(default_factory=list)
    sampled: list[tuple[float, float, int]] = field(default_factory=list)  # rate, mu, count
    zcdp: float = 0.0  # rho of losses of which nothing else is known
    endless: bool = False

    @classmethod
    def of(cls, losses: Sequence[Loss]) -> Sorted:
        """Sort losses."""
        found = cls()
        for loss in losses:
            found.add(loss)
        return found

    def add(self, loss: Loss) -> None:
        """Take in one."""
        kind, count = loss["type"], int(loss.get("count", 1))
        epsilon = float(loss.get("epsilon", loss.get("epsilon0", 0.0)))
        failure, rho = count * float(loss.get("delta", 0.0)), count * epsilon**2 / 2
        if kind == "InfiniteLoss":
            self.endless = True
        elif kind in ("GaussianLoss", "SampledGaussianLoss"):
            ratio = float(loss["sensitivity_over_sigma"])
            mu, rho, epsilon = discrete_mu(1 / ratio), count * ratio**2 / 2, math.inf
            if kind == "GaussianLoss":
                self.mu_squared += count * mu * mu
            else:
                self.sampled.append((float(loss["rate"]), mu, count))
        elif kind == "ZCDP":
            rho, epsilon = float(loss["rho"]), math.inf
            self.zcdp += rho
        elif kind == "ReleaseLoss":
            self.others.append((release(epsilon, float(loss["delta"]), int(loss["l1"])), 1))
        elif kind == "DiscreteLaplaceLoss":
            self.others.append((laplace(epsilon, int(loss["sensitivity"])), count))
        elif kind == "BoundedRangeLoss":
            rho /= 4
            self.others.append((bounded_range(epsilon), count))
        elif epsilon > 0:
            self.others.append((laplace(epsilon, 1), count))
        if kind == "ApproxDP":
            self.log_kept += count * math.log1p(-loss["delta"]) if loss["delta"] < 1 else -math.inf
        self.rho, self.epsilon = self.rho + rho, self.epsilon + count * epsilon
        self.delta += failure


def discrete_mu(sigma: float) -> float:
    """Largest step of ``Phi^-1(Pr[X <= m])`` from one whole number to the next, X discrete Gaussian."""
    if sigma > 20_000:
        return (1 + 8 / sigma**2) / sigma
    reach = math.ceil(25 * sigma) + 20
    below = np.logaddexp.accumulate(-(np.arange(-reach, 1.0) ** 2) / (2 * sigma**2))
    log_cdf = below - np.logaddexp(below[-2], below[-1])  # as many are above zero as below
    place = ndtri_exp(log_cdf[(log_cdf > log_ndtr(-12.0)) & (log_cdf < 0)])
    steps = np.diff(place)
    return float(max(steps.max(initial=0.0), -2 * ndtri_exp(log_cdf[-2])))


def laplace(epsilon: float, sensitivity: int) -> Atoms:
    """Discrete Laplace noise on a whole number that moves by this much; by 1, randomised response."""
    rate = epsilon / sensitivity
    at = np.arange(sensitivity + 1.0)
    inside = np.exp(-rate * at) * -math.expm1(-rate)
    inside[0], inside[-1] = 1.0, math.exp(-epsilon)
    return Atoms(rate * (sensitivity - 2 * at), inside / (1 + math.exp(-rate)))


def bounded_range(epsilon: float) -> Atoms:
    """The loss of density ``exp((l - epsilon)/2) / (2 (1 - exp(-epsilon)))`` from -epsilon to epsilon."""
    ends = np.linspace(-epsilon, epsilon, _FINE + 1)
    masses = np.diff(np.expm1((ends - epsilon) / 2)) / -math.expm1(-epsilon)
    return Atoms((ends[1:] + ends[:-1]) / 2, masses / masses.sum())


def release(epsilon: float, delta: float, l1: int) -> Atoms:
    """Noisy sizes, or a group that shows with probability delta: the larger of both at every epsilon."""
    if l1 == 1:
        last = math.exp(epsilon) - delta * (math.exp(epsilon) + 1)  # where the sizes' line falls to delta
        if last <= math.exp(-epsilon):
            raise ValueError("delta leaves nothing of the noisy sizes")
        masses = np.array([1.0, last]) / (1 + math.exp(epsilon))
        return Atoms(np.array([-epsilon, math.log(last)]), masses, delta, symmetric=False)
    sizes, left = laplace(epsilon, l1), laplace(epsilon * (l1 - 1) / l1, l1 - 1)

    def curve(at: np.ndarray) -> np.ndarray:
        return np.maximum(_curve(sizes, at), delta + (1 - delta) * _curve(left, at))

    at = np.union1d(np.linspace(0.0, epsilon, _FINE), np.abs([*sizes.values, *left.values]))
    at = at[np.append(True, np.diff(at) > 1e-9 * epsilon)]
    both = np.append(-at[:0:-1], at)
    found = np.append(1 - np.exp(-at[:0:-1]) * (1 - curve(at[:0:-1])), curve(at))
    ratios = np.append(0.0, np.exp(both))
    slopes = np.append(np.diff(np.append(1.0, found)) / np.diff(ratios), 0.0)
    masses = np.maximum(ratios[1:] * np.diff(slopes), 0.0)
    return Atoms(both, masses * (1 - delta) / masses.sum(), delta)


def _curve(atoms: Atoms, epsilon: np.ndarray) -> np.ndarray:
    """Delta of a loss at every epsilon >= 0."""
    kept = 1 - np.exp(np.minimum(epsilon[:, None] - atoms.values, 0.0))
    found: np.ndarray = kept @ atoms.masses
    return found
