"""Noisy correlations of ordered columns: one answer to all pairs, cleaned together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sdv_plausible.queries.count_queries import MAX_SCORE

Pair = tuple[int, int]
CUT = 2.0  # normal scores are clipped at this value: few rows exceed it, and the largest sets the noise
SIGNIFICANT = 2.0  # errors from which a correlation is used
LEAST, MAX_CORRELATION = 0.05, 0.99  # smallest correlation that is used, and largest one
MAX_PER_COLUMN = 15  # largest number of correlations per column: a limit on the time of a fit
STEPS = 30  # steps of the factor analysis


@dataclass(frozen=True, kw_only=True)
class Correlation:
    """Mean product of two columns' standardised scores, and its standard error."""

    value: float
    error: float


def integer_scores(scores: np.ndarray) -> np.ndarray:
    """Round normal scores to integers of at most ``MAX_SCORE``: sums of their products are integers, too."""
    cut = np.clip(scores, -CUT, CUT)
    return np.rint(cut * (MAX_SCORE / max(float(np.abs(cut).max()), 1e-9))).astype(np.int64)


def significant_correlations(
    sums: np.ndarray,
    sigma: float,
    pairs: Sequence[Pair],
    scores: Mapping[int, np.ndarray],
    counts: Mapping[int, np.ndarray],
) -> dict[Pair, Correlation]:
    """Return the strongest correlations that exceed the noise.

    ``sums`` are noisy sums of products of ``scores``, and ``counts`` the rows of every bucket of a column.
    """
    total = {j: max(float(c.sum()), 1.0) for j, c in counts.items()}
    mean = {j: float(scores[j] @ counts[j]) / total[j] for j in scores}
    scale = {
        j: max(float(scores[j].astype(float) ** 2 @ counts[j]) / total[j] - mean[j] ** 2, 1e-9) ** 0.5
        for j in scores
    }
    index = {j: k for k, j in enumerate(scores)}
    noisy, errors = np.zeros((len(index),) * 2), np.full((len(index),) * 2, np.inf)
    for (i, j), products in zip(pairs, sums.tolist(), strict=True):
        cell = (index[i], index[j])
        noisy[cell] = noisy[cell[::-1]] = (products / total[i] - mean[i] * mean[j]) / (scale[i] * scale[j])
        errors[cell] = errors[cell[::-1]] = sigma / (total[i] * scale[i] * scale[j])
    cleaned = factor_analysis(noisy, errors)
    estimates = {
        (i, j): Correlation(
            value=float(np.clip(cleaned[index[i], index[j]], -MAX_CORRELATION, MAX_CORRELATION)),
            error=float(errors[index[i], index[j]]),
        )
        for i, j in pairs
    }
    selected = [e for e, r in estimates.items() if abs(r.value) > max(SIGNIFICANT * r.error, LEAST)]
    selected = sorted(selected, key=lambda e: (-abs(estimates[e].value), e))[: MAX_PER_COLUMN * len(index)]
    return {e: estimates[e] for e in sorted(selected)}


def factor_analysis(noisy: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Return the low-rank part of noisy correlations (d, d): eigenvalues shrunk for white noise.

    The diagonal is unknown and is iterated (principal factors). An eigenvalue y of a matrix with noise of
    standard deviation s has expectation x + d s^2 / x, where x is the true one (Wigner matrices; Capitaine,
    Donati-Martin and Féral 2009).
    """
    is_known = np.isfinite(errors)
    d = len(noisy)
    if d < 3 or is_known.sum() != d * (d - 1):
        return noisy
    variance = float((errors[is_known] ** 2).mean())
    low_rank, communalities = noisy, np.minimum(np.abs(noisy).max(1), 0.95)
    for _ in range(STEPS):
        y, vectors = np.linalg.eigh(noisy + np.diag(communalities))
        x = np.where(y**2 > 4 * d * variance, (y + np.sqrt(np.maximum(y**2 - 4 * d * variance, 0))) / 2, 0)
        low_rank = (vectors * np.maximum(x, 0)) @ vectors.T
        communalities = np.clip(np.diag(low_rank), 0, 0.98)
    return low_rank
