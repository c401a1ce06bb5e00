"""Parameter learning as in section 3.4 of the paper: Dirichlet-multinomial tables from (noisy) counts."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.special import ndtr

from sdv_plausible.models.conditional_table import project_to_simplex
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.table.columns.domain import Attribute

ParameterDraw = Literal["mean", "posterior"]


def dirichlet_table(
    counts: np.ndarray,
    margin: np.ndarray,
    concentration: float,
    draw: ParameterDraw = "mean",
    coins: Coins | None = None,
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
    """Non-negative counts that sum to ``total`` from noisy ones: the paper's Eq."""
    # 14 without its upward bias.
    return project_to_simplex(noisy, max(total, 1.0))


def clean_margin(noisy: np.ndarray, total: float) -> np.ndarray:
    """A strictly positive distribution from noisy one-way counts."""
    margin = project_to_simplex(noisy, max(total, 1.0)) + 1e-6 * max(total, 1.0) / len(noisy)
    distribution: np.ndarray = margin / margin.sum()
    return distribution


LEAST_DEVIATION = 0.25  # of the narrowest bin's distance to the next: a row at one number stays there


def normal_rows(table: np.ndarray, attribute: Attribute) -> np.ndarray:
    """A table whose rows are Normal over the bins of a number or date, with the mean and variance they had.

    Shape (configurations, cardinality), rows sum to 1. Texts beside numbers, and missing, keep their
    probabilities; categories are left alone. The Normal is cut off at the ends of the range, which moves its
    moments where it is not narrow.
    """
    bins = len(attribute.lower)
    if bins < 2:
        return table
    lower, upper = np.asarray(attribute.lower, dtype=float), np.asarray(attribute.upper, dtype=float)
    middle = (lower + upper) / 2
    inner = (upper[:-1] + lower[1:]) / 2
    ends = np.concatenate([[2 * middle[0] - inner[0]], inner, [2 * middle[-1] - inner[-1]]])
    numbers = table[:, :bins]
    mass = numbers.sum(axis=1, keepdims=True)
    # A row that has no number is given some: its mass makes nothing of them, and 0 may be far from the range.
    shares = np.where(mass > 0, numbers / np.where(mass > 0, mass, 1.0), 1 / bins)
    mean = shares @ middle
    spread = (shares * (middle - mean[:, None]) ** 2).sum(axis=1)
    deviation = np.maximum(np.sqrt(spread), LEAST_DEVIATION * np.diff(middle).min())
    cells = np.diff(ndtr((ends - mean[:, None]) / deviation[:, None]), axis=1)
    found = np.array(table, dtype=float)
    found[:, :bins] = mass * cells / cells.sum(axis=1, keepdims=True)
    return found
