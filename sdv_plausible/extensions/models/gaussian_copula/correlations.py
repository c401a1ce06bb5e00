"""Latent correlations from noisy pair tables (post-processing)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.integrate import cumulative_simpson
from scipy.special import ndtr, ndtri

from sdv_plausible.extensions.models.gaussian_copula.copula_model import LEAST_SPREAD, MOST_FACTORS

PRIOR = 0.5  # prior standard deviation of a correlation, which shrinks pure noise towards 0
FEW_FACTORS = 4  # smallest number of factors, even if few columns do not determine them
_ANGLES = np.linspace(-0.98, 0.98, 197) * np.pi / 2  # arcsines of the candidate correlations
_ZERO = len(_ANGLES) // 2
_TURNS = 10  # rounds of alternating least squares
_ROUNDS = 200  # iterations of principal factors


def polychoric(table: np.ndarray, sigma: float, total: float, first: np.ndarray, second: np.ndarray) -> float:
    """Return the latent correlation that best explains a noisy table."""
    # ``table`` (a, b) holds noisy, possibly negative counts in the order of the latent axes; ``first`` and
    # ``second`` are the masses of its rows and columns.
    cells = cell_probabilities(first, second)
    expected = max(total, 1.0) * cells
    variance = sigma**2 + expected + 1.0
    loss = ((table - expected) ** 2 / variance + np.log(variance)).sum(axis=(1, 2))
    loss += (np.sin(_ANGLES) / PRIOR) ** 2
    best = int(loss.argmin())
    if not 0 < best < len(loss) - 1:
        return float(np.sin(_ANGLES[best]))
    left, middle, right = loss[best - 1 : best + 2]  # vertex of their parabola
    curvature = left - 2 * middle + right
    shift = 0.5 * (left - right) / curvature if curvature > 0 else 0.0
    return float(np.sin(_ANGLES[best] + shift * (_ANGLES[1] - _ANGLES[0])))


def cell_probabilities(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the probabilities (correlations, a, b) of a table's cells under every candidate correlation."""
    # The derivative of a quadrant's probability by the correlation is the density at its corner. By the angle
    # asin(correlation) it is exp(-(h**2 + k**2 - 2 h k sin) / (2 cos**2)) / 2 pi.
    h, k = (ndtri(np.clip(np.cumsum(p)[:-1], 1e-9, 1 - 1e-9))[:, None] for p in (first, second))
    k = k.T
    if not h.size or not k.size:
        return np.broadcast_to(np.outer(first, second), (len(_ANGLES), len(first), len(second)))
    sine = np.sin(_ANGLES)[:, None, None]
    density = np.exp(-(h**2 + k**2 - 2 * h * k * sine) / (2 * (1 - sine**2))) / (2 * np.pi)
    integral = cumulative_simpson(density, x=_ANGLES, axis=0, initial=0)
    corners = np.zeros((len(_ANGLES), len(first) + 1, len(second) + 1))
    corners[:, 1:-1, 1:-1] = ndtr(h) * ndtr(k) + integral - integral[_ZERO]
    corners[:, 1:, -1], corners[:, -1, 1:] = np.cumsum(first), np.cumsum(second)
    return np.maximum(np.diff(np.diff(corners, axis=1), axis=2), 0.0)


def latent_scores(
    tables: Mapping[tuple[int, int], np.ndarray],
    masses: Sequence[np.ndarray],
    ordered: Sequence[bool],
    noise: float = 0.0,
) -> list[np.ndarray]:
    """Return scores of every column's buckets: normal scores, or optimal scores for unordered columns.

    The scores of an unordered column maximise the sum of its squared correlations with all others, in turn
    (alternating least squares). ``tables`` maps pairs, smaller number first, to counts. ``noise`` is the
    standard deviation of a cell, as a share of the rows.
    """
    residuals = _residuals(tables, masses, noise)
    roots = [np.sqrt(np.maximum(p, 1e-9)) for p in masses]
    axes = [_normal_axis(p) for p in masses]
    unordered = [j for j, is_ordered in enumerate(ordered) if not is_ordered and len(masses[j]) > 2]
    for _ in range(_TURNS):
        for j in unordered:
            projections = [residuals[j, i] @ axes[i] for i in range(len(axes)) if i != j]
            if projections:
                axes[j] = np.linalg.svd(np.stack(projections, axis=1), full_matrices=False)[0][:, 0]
    return [axis / root for axis, root in zip(axes, roots, strict=True)]


def _residuals(
    tables: Mapping[tuple[int, int], np.ndarray], masses: Sequence[np.ndarray], noise: float
) -> dict[tuple[int, int], np.ndarray]:
    """Return the standardised deviations from independence of every pair, in both orientations."""
    residuals = {}
    for (i, j), table in tables.items():
        independent = np.outer(masses[i], masses[j])
        residual = (table / max(table.sum(), 1.0) - independent) / np.sqrt(independent + noise + 1e-9)
        residuals[i, j], residuals[j, i] = residual, residual.T
    return residuals


def _normal_axis(mass: np.ndarray) -> np.ndarray:
    """Return the standardised normal scores of ordered buckets, times the square root of their mass."""
    middle = np.clip(np.cumsum(mass) - mass / 2, 1e-9, 1 - 1e-9)
    scores = ndtri(middle)
    scores = scores - mass @ scores
    axis: np.ndarray = scores * np.sqrt(mass) / max(float(np.sqrt(mass @ scores**2)), 1e-9)
    return axis


def factors(correlations: np.ndarray) -> np.ndarray:
    """Return loadings (m, r) whose products approximate the correlations: iterated principal factors."""
    # Every column has an own factor, so the resulting correlations are positive definite even if noise left
    # the given ones indefinite. r is the number of factors that m columns determine, within limits.
    m = len(correlations)
    determined = int((2 * m + 1 - np.sqrt(8 * m + 1)) / 2)  # Ledermann's bound
    r = min(max(determined, FEW_FACTORS), MOST_FACTORS, m - 1)
    max_communality = 1.0 - LEAST_SPREAD**2
    reduced = np.array(correlations, dtype=np.float64)
    off_diagonal = np.abs(reduced - np.diag(np.diag(reduced)))
    np.fill_diagonal(reduced, np.minimum(off_diagonal.max(axis=1, initial=0.0), max_communality))
    loadings = np.zeros((m, r))
    for _ in range(_ROUNDS if r else 0):
        values, vectors = np.linalg.eigh(reduced)
        loadings = vectors[:, -r:] * np.sqrt(np.maximum(values[-r:], 0.0))
        communality = (loadings**2).sum(axis=1)
        loadings *= np.sqrt(np.minimum(1.0, max_communality / np.maximum(communality, 1e-12)))[:, None]
        clipped = np.minimum(communality, max_communality)
        if np.abs(clipped - np.diag(reduced)).max() < 1e-6:
            break
        np.fill_diagonal(reduced, clipped)
    return loadings
