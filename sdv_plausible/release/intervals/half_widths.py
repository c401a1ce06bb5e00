"""Half-widths of confidence intervals for exact answers, from the noise of the noisy ones.

The noise of an answer is independent of the choice of its query. Each half-width therefore holds for its
answer alone, even if earlier answers chose the query (docs/explanation/proofs/error_bars.md, Theorem 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

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
