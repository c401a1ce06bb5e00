"""How far a noisy answer is from the exact one, at most, with a given probability.

The noise on an answer is independent of whatever had it asked: these widths hold for each answer on its own,
also where earlier answers chose it (docs/explanation/proofs/error_bars.md, Theorem 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.queries.transcript import DEVIATION, Noise

MIXED = 1.01  # of the wider of both laws, what sums of Laplace and Gaussian noise may have


def check_level(level: float) -> None:
    """Refuse a level that is no probability."""
    check.positive("level", level)
    if level >= 1:
        raise ValueError(f"level ({level!r}) must be below 1: it is a probability, try 0.95")


def half_widths(noise: Noise, scales: np.ndarray | float, miss: float) -> np.ndarray | float:
    """Least r = ceil(z scale) with Pr[|Z| > r] <= miss, for each parameter of the noise Z: whole numbers."""
    # Laplace noise may be a sum, of Gaussian noise too, of that variance: its tails lie between both laws'.
    if noise == "rounded":
        return np.floor(scales)
    z, widest = -float(ndtri(miss / 2)) * DEVIATION[noise], math.log(1 / miss)
    return np.ceil((z if noise == "discrete gaussian" else MIXED * max(z, widest)) * np.asarray(scales))


def sum_half_width(sigmas: Sequence[float], miss: float) -> float:
    """Bound on a sum of independent discrete Gaussians of these deviations, weights included."""
    # By their moment generating functions, which those of the Gaussians dominate.
    return math.sqrt(2 * math.log(2 / miss) * math.fsum(s * s for s in sigmas))
