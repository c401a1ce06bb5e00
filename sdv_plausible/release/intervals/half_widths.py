"""How far a noisy answer is from the exact one, at most, with a given probability.

The noise on an answer is independent of whatever had it asked: these widths hold for each answer on its own,
also where earlier answers chose it (docs/explanation/proofs/error_bars.md, Theorem 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy.special import ndtri

from sdv_plausible.privacy import checks as check


def check_level(level: float) -> None:
    """Refuse a level that is no probability."""
    check.positive("level", level)
    if level >= 1:
        raise ValueError(f"level ({level!r}) must be below 1: it is a probability, try 0.95")


def gaussian_half_width(sigma: float, miss: float) -> int:
    """Least multiple-free bound r = ceil(z sigma) with Pr[|Z| > r] <= miss, Z discrete Gaussian."""
    return math.ceil(-float(ndtri(miss / 2)) * sigma)


def sum_half_width(sigmas: Sequence[float], miss: float) -> float:
    """Bound on a sum of independent discrete Gaussians of these deviations, weights included."""
    # By their moment generating functions, which those of the Gaussians dominate.
    return math.sqrt(2 * math.log(2 / miss) * math.fsum(s * s for s in sigmas))
