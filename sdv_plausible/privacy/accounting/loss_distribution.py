"""Privacy-loss distributions on a grid: discretised from above, composed by dp-accounting.

Proofs: ``docs/explanation/proofs/composition.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt
from dp_accounting.pld.pld_pmf import DensePLDPmf

from sdv_plausible.privacy.accounting.gaussian import gaussian_log_delta
from sdv_plausible.privacy.accounting.losses import Loss

__all__ = ["ComposedLoss", "Composer", "SortedLosses"]

FloatArray = npt.NDArray[np.float64]
_NUMERICAL_DELTA = 1e-13  # charged once for rounding in the convolutions and the cut tails
_TAIL = 1e-16  # profile mass given to infinity per mechanism
_LONG_GRID, _LARGEST_GRID = 1 << 18, 1 << 22


@dataclass(frozen=True, kw_only=True)
class SortedLosses:
    """Losses sorted by how they compose.

    Parameters
    ----------
    mu_squared : float
        All Gaussian noise together, as one Gaussian mechanism.
    given_away : float
        Probability of the pure failures of (0, delta) kind.
    others : tuple of (loss, count)
        What needs a privacy-loss distribution; zCDP losses among them as one.
    """

    mu_squared: float
    given_away: float
    others: tuple[tuple[Loss, int], ...]


class ComposedLoss:
    """A total: failures, Gaussian noise, and the distribution of the other losses, each direction apart."""

    def __init__(self, given_away: float, mu: float, directions: Sequence[DensePLDPmf]) -> None:
        self._given_away, self._mu, self._directions = given_away, mu, directions

    def delta(self, epsilon: float) -> float:
        """Delta at epsilon >= 0, never below the true one."""
        if self._directions:
            # Rounding is relative in the discretisation and absolute in the fast Fourier transforms.
            worst = max(float(pmf.get_delta_for_epsilon(epsilon)) for pmf in self._directions)
            worst = worst * (1 + 1e-8) + _NUMERICAL_DELTA
        else:
            worst = math.exp(float(gaussian_log_delta(self._mu, epsilon))) * (1 + 1e-9) if self._mu else 0.0
        return min(1.0, self._given_away + (1 - self._given_away) * worst)


class Composer:
    """Composes a fixed set of losses with any amount of Gaussian noise.

    Parameters
    ----------
    total : SortedLosses
        The losses.
    scale : float
        Largest Gaussian mu that will be asked for beyond what `total` holds.
    """

    def __init__(self, total: SortedLosses, scale: float = 0.0) -> None:
        self._given_away, self._step = total.given_away, 1.0
        self._others: tuple[DensePLDPmf, ...] = ()
        if total.others:
            self._discretise(total, scale)

    def _discretise(self, total: SortedLosses, scale: float) -> None:
        tops = [_top(loss) for loss, _ in total.others]
        uses = 1 + sum(count for _, count in total.others)
        variance = (
            total.mu_squared
            + scale**2
            + math.fsum(count * _variance(loss, top) for (loss, count), top in zip(total.others, tops, strict=True))
        )
        self._step = _grid_step(variance, uses, max(tops))
        pairs = [_pmfs(loss, top, self._step) for (loss, _), top in zip(total.others, tops, strict=True)]
        counts = [count for _, count in total.others]
        symmetric = all(remove is add for remove, add in pairs)
        self._others = tuple(
            reduce(_convolve, (_repeat(pair[side], n) for pair, n in zip(pairs, counts, strict=True)))
            for side in ((0,) if symmetric else (0, 1))
        )

    def distribution(self, mu_squared: float) -> ComposedLoss:
        """Everything together with Gaussian noise of the given mu squared."""
        mu, directions = math.sqrt(mu_squared), self._others
        if directions and mu > 0:
            noise = _Gaussian(mu)
            gaussian, _ = _pmfs(noise, _top(noise), self._step)
            directions = tuple(_convolve(pmf, gaussian) for pmf in directions)
        return ComposedLoss(self._given_away, mu, directions)


@dataclass(frozen=True)
class _Gaussian:
    """The continuous Gaussian mechanism with parameter mu."""

    mu: float
    count: int = 1

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        delta = np.exp(gaussian_log_delta(self.mu, epsilon))
        return delta, delta


def _grid_step(variance: float, uses: int, top: float) -> float:
    """Width of the grid of losses, a power of two.

    Connecting the dots splits each atom between its neighbours on the grid, which adds at most step^2/4 to the
    variance of a loss: keep that below a millionth of the whole, unless the grid gets too long (a wider grid only
    bounds more loosely).
    """
    step = max(math.sqrt(4e-6 * variance / uses), 32 * math.sqrt(variance) / _LONG_GRID, 2 * top / _LARGEST_GRID)
    return float(2.0 ** math.floor(math.log2(step)))


def _top(loss: Loss) -> float:
    """Find an epsilon beyond which a profile has nothing left but what it gives away for sure."""
    grid = np.append(np.geomspace(1e-7, 700.0, 600), 700.0)
    remove, add = loss.profile(grid)
    settled = np.maximum(remove - remove[-1], add - add[-1]) <= _TAIL
    return float(grid[np.argmax(settled)])


def _variance(loss: Loss, top: float) -> float:
    """Rough variance of one use's privacy loss, from a coarse grid; it only sets the width of the real one."""
    step = top / 64
    losses = step * np.arange(1, 65)
    remove, _ = loss.profile(np.append(0.0, losses))
    masses = _positive_masses(remove, step)
    return float(np.sum(masses * (1 + np.exp(-losses)) * losses**2))


def _pmfs(loss: Loss, top: float, step: float) -> tuple[DensePLDPmf, DensePLDPmf]:
    """Privacy-loss distributions of both directions on a grid, by connecting the dots of the profile from above.

    Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, *Connect the Dots*, PETS 2022. The masses of negative losses come
    from the other direction's positive ones, which is exact and free of cancellation.
    """
    knots = max(1, math.ceil(top / step))
    remove, add = loss.profile(np.arange(knots + 1) * step)
    symmetric = remove is add
    start = max(remove[0], add[0])  # total variation: the same for both directions
    positive = [_positive_masses(np.append(start, curve[1:]), step) for curve in (remove, add)]
    decay = np.exp(-step * np.arange(1, knots + 1))

    def pmf(own: int, curve: FloatArray) -> DensePLDPmf:
        negative = (positive[1 - own] * decay)[::-1]
        at_zero = max(0.0, 1 - math.fsum(positive[own]) - math.fsum(negative) - float(curve[-1]))
        masses = np.concatenate([negative, [at_zero], positive[own]])
        return DensePLDPmf(step, -knots, masses, float(curve[-1]), True)

    first = pmf(0, remove)
    return first, (first if symmetric else pmf(1, add))


def _positive_masses(curve: FloatArray, step: float) -> FloatArray:
    """Masses at step, 2 step, ... whose hockey-stick divergences pass through the curve's points."""
    falls = np.maximum(0.0, -np.diff(curve))
    masses: FloatArray = falls / -math.expm1(-step) - np.append(falls[1:], 0.0) / math.expm1(step)
    return np.maximum(0.0, masses)


def _repeat(pmf: DensePLDPmf, count: int) -> DensePLDPmf:
    return pmf if count == 1 else pmf.self_compose(count)


def _convolve(first: DensePLDPmf, second: DensePLDPmf) -> DensePLDPmf:
    return first.compose(second, tail_mass_truncation=1e-15)
