"""Half-widths of confidence intervals for exact answers, from the noise of the noisy ones.

The noise of an answer is independent of the choice of its query. Each half-width therefore holds for its
answer alone, even if earlier answers chose the query (docs/explanation/proofs/error_bars.md, Theorem 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import betainc, betaincinv, ndtri

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.queries.transcript import DEVIATION, Noise

MIXTURE_FACTOR = 1.01  # factor on the wider distribution, for sums of Laplace and Gaussian noise


def check_level(level: float) -> None:
    """Reject a level that is not a probability below 1."""
    check.positive("level", level)
    if level >= 1:
        raise ValueError(f"level ({level!r}) must be below 1: it is a probability, try 0.95")


def half_widths(noise: Noise, scales: np.ndarray | float, miss: float) -> np.ndarray | float:
    """Smallest integers r = ceil(z scale) with Pr[|Z| > r] <= miss, for noise Z of each scale."""
    # "Discrete laplace" may be a sum of Laplace and Gaussian noise, whose tails lie between both.
    if noise == "rounded":
        return np.floor(scales)
    z, laplace_z = -float(ndtri(miss / 2)) * DEVIATION[noise], math.log(1 / miss)
    factor = z if noise == "discrete gaussian" else MIXTURE_FACTOR * max(z, laplace_z)
    return np.ceil(factor * np.asarray(scales))


def sum_half_width(sigmas: Sequence[float], miss: float) -> float:
    """Bound on a weighted sum of independent discrete Gaussians with these deviations."""
    # Gaussian moment generating functions dominate those of discrete Gaussians.
    return math.sqrt(2 * math.log(2 / miss) * math.fsum(s * s for s in sigmas))


STEPS = 10  # noise blocks per sigma; a block counts as its least favourable end
REACH = 6.0  # sigmas that are summed; the rest counts as least favourable
HALVINGS = 18
BLOCK_CELLS = 200_000  # most tails in memory at once


def proportion_limits(
    counts: np.ndarray, sigma: float, least_rows: int, most_rows: int, miss: float
) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper limits of the proportions behind counts with discrete Gaussian noise."""
    # A proportion is outside with probability at most ``miss``, half per side, if the row bounds hold.
    values, masses, outside = _blocks(sigma)
    distinct, inverse = np.unique(counts, return_inverse=True)

    def at_least(p: np.ndarray) -> np.ndarray:
        """Bound on Pr[count + noise >= y]; increases with p and with the number of rows."""
        return _tail(distinct, p, most_rows, values, masses) + outside

    def at_most(p: np.ndarray) -> np.ndarray:
        """Bound on Pr[count + noise <= y], by symmetry: n - count is binomial too."""
        return _tail(least_rows - distinct, 1 - p, least_rows, values, masses) + outside

    lower = _highest(lambda p: at_least(p) <= miss / 2, _guess(distinct, sigma, most_rows), -1)
    upper = _highest(lambda p: at_most(p) <= miss / 2, _guess(distinct, sigma, least_rows), 1)
    return lower[inverse].reshape(counts.shape), upper[inverse].reshape(counts.shape)


def binomial_limits(
    lowest: np.ndarray, highest: np.ndarray, least_rows: float, most_rows: float, miss: float
) -> tuple[np.ndarray, np.ndarray]:
    """Limits of the proportions behind counts in these ranges (Clopper and Pearson 1934)."""
    low, high = np.clip(lowest, 0, most_rows), np.clip(highest, 0, least_rows)
    lower = betaincinv(np.maximum(low, 1), most_rows - low + 1, miss / 2)
    upper = betaincinv(high + 1, np.maximum(least_rows - high, 1), 1 - miss / 2)
    return np.where(low > 0, lower, 0.0), np.where(high < least_rows, upper, 1.0)


def _blocks(sigma: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Largest values and masses of blocks of discrete Gaussian noise, and the mass outside all blocks."""
    step, reach = max(1, int(sigma / STEPS)), math.ceil(REACH * sigma) + 1
    z = np.arange(-reach, reach + 1)
    mass = np.exp(-0.5 * (z / sigma) ** 2)
    mass /= mass.sum()
    starts = np.arange(0, len(z), step)
    ends = np.append(starts[1:], len(z)) - 1
    return z[ends], np.add.reduceat(mass, starts), 2 * math.exp(-REACH * REACH / 2)


def _tail(y: np.ndarray, p: np.ndarray, rows: int, noise: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Bound on Pr[binomial(rows, p) + noise >= y], block by block of the noise."""
    bounds = np.empty(len(y))
    block_rows = max(1, BLOCK_CELLS // len(noise))
    for start in range(0, len(y), block_rows):
        block = slice(start, start + block_rows)
        k = y[block, None] - noise[None]
        inside = np.clip(k, 1, max(rows, 1))
        tails = betainc(inside, rows - inside + 1, p[block, None])
        bounds[block] = np.where(k <= 0, 1.0, np.where(k > rows, 0.0, tails)) @ masses
    return bounds


def _guess(y: np.ndarray, sigma: float, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Estimate of the proportions, and a distance far beyond the limits."""
    p = np.clip(y / max(rows, 1), 0.0, 1.0)
    distance = 8 * np.sqrt(rows * p * (1 - p) + sigma**2 + 1) / max(rows, 1)
    return p, distance


def _highest(
    is_rejected: Callable[[np.ndarray], np.ndarray], guess: tuple[np.ndarray, np.ndarray], side: int
) -> np.ndarray:
    """Outermost proportion that is not rejected, on one side, by bisection; errs outwards."""
    extreme = 0.0 if side < 0 else 1.0
    p, distance = guess
    outer = np.clip(p + side * distance, 0.0, 1.0)
    outer = np.where(is_rejected(outer), outer, extreme)
    inner = np.where(is_rejected(p), 1 - extreme, p)
    for _ in range(HALVINGS):
        middle = (inner + outer) / 2
        rejected = is_rejected(middle)
        outer, inner = np.where(rejected, middle, outer), np.where(rejected, inner, middle)
    return outer
