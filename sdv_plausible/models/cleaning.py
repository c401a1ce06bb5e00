"""Distributions from noisy counts: projection, and Dirichlet-multinomial tables (paper, section 3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from sdv_plausible.models.conditional_table import project_to_simplex
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import Axis
from sdv_plausible.queries.queryable import NoisyValues, Queryable

ParameterDraw = Literal["mean", "posterior"]


def dirichlet_table(
    counts: np.ndarray,
    margin: np.ndarray,
    concentration: float,
    draw: ParameterDraw = "mean",
    coins: KeyedRNG | None = None,
) -> np.ndarray:
    """Return the conditional table of counts under a Dirichlet prior (paper Eq. 11-13)."""
    # Shape (configurations, cardinality); rows sum to 1. Counts may be fractional. The prior is
    # ``concentration * margin``, which shrinks configurations with few records towards the child's margin
    # instead of the uniform distribution. Returns the posterior mean (Eq. 13) or a posterior draw (Eq. 12).
    alpha = counts + concentration * margin
    if draw == "posterior":
        if coins is None:
            raise ValueError('draw="posterior" needs coins')
        positive = alpha > 0
        drawn = np.zeros_like(alpha, dtype=float)
        drawn[positive] = coins.standard_gamma(alpha[positive])
        # A row of tiny alphas may underflow to all zeros; use its mean then.
        alpha = np.where(drawn.sum(axis=1, keepdims=True) > 0, drawn, alpha)
    table: np.ndarray = alpha / alpha.sum(axis=1, keepdims=True)
    return table


def clean_counts(noisy: np.ndarray, total: float) -> np.ndarray:
    """Project noisy counts on the simplex: the paper's Eq. 14 without its upward bias."""
    return project_to_simplex(noisy, max(total, 1.0))


def measure_margins(
    rows: Queryable, cardinalities: Sequence[int], shares: Sequence[float]
) -> tuple[list[NoisyValues], float, list[np.ndarray]]:
    """Measure the one-way counts; return them, their mean total (n is private), and clean margins."""
    answers = rows.ask_tables([[Axis.of_codes(j, c)] for j, c in enumerate(cardinalities)], shares)
    total = float(np.mean([answer.values.sum() for answer in answers]))
    return answers, total, [clean_margin(answer.values, total) for answer in answers]


def clean_margin(noisy: np.ndarray, total: float) -> np.ndarray:
    """Return a strictly positive distribution from noisy one-way counts."""
    margin = project_to_simplex(noisy, max(total, 1.0)) + 1e-6 * max(total, 1.0) / len(noisy)
    distribution: np.ndarray = margin / margin.sum()
    return distribution
