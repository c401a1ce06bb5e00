"""Distributions from noisy counts: cleaned, and as Dirichlet-multinomial tables (paper, section 3.4)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from sdv_plausible.models.conditional_table import project_to_simplex
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

ParameterDraw = Literal["mean", "posterior"]


def dirichlet_table(
    counts: np.ndarray,
    margin: np.ndarray,
    concentration: float,
    draw: ParameterDraw = "mean",
    coins: KeyedRNG | None = None,
) -> np.ndarray:
    """Conditional table from counts under a Dirichlet prior (paper Eq. 11-13)."""
    # Shape (configurations, cardinality), rows sum to 1; counts may be fractional after noise and projection.
    # The prior is ``concentration * margin``, so that a configuration with little data falls back to the
    # child's margin and not to the uniform distribution. The posterior's mean (Eq. 13), or with coins one
    # draw of it (Eq. 12).
    alpha = counts + concentration * margin
    if draw == "posterior":
        if coins is None:
            raise ValueError('draw="posterior" needs coins')
        positive = alpha > 0
        drawn = np.zeros_like(alpha, dtype=float)
        drawn[positive] = coins.standard_gamma(alpha[positive])
        # A row of tiny alphas may underflow to all zeros; its mean is as good a draw as any.
        alpha = np.where(drawn.sum(axis=1, keepdims=True) > 0, drawn, alpha)
    table: np.ndarray = alpha / alpha.sum(axis=1, keepdims=True)
    return table


def clean_counts(noisy: np.ndarray, total: float) -> np.ndarray:
    """Non-negative counts with this sum from noisy ones: the paper's Eq. 14 without its upward bias."""
    return project_to_simplex(noisy, max(total, 1.0))


def clean_margin(noisy: np.ndarray, total: float) -> np.ndarray:
    """A strictly positive distribution from noisy one-way counts."""
    margin = project_to_simplex(noisy, max(total, 1.0)) + 1e-6 * max(total, 1.0) / len(noisy)
    distribution: np.ndarray = margin / margin.sum()
    return distribution
