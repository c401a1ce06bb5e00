"""From noisy pair tables to latent correlations that belong together. Post-processing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.integrate import cumulative_simpson
from scipy.special import ndtr, ndtri

from sdv_plausible.extensions.models.gaussian_copula.copula_model import LEAST_SPREAD, MOST_FACTORS

PRIOR = 0.5  # deviation of a correlation before anything is seen: noise alone moves nothing far from 0
FEW_FACTORS = 4  # where there are so few columns that more factors than can be determined fit better
_ANGLES = np.linspace(-0.98, 0.98, 197) * np.pi / 2  # whose sines are the correlations that are compared
_ZERO = len(_ANGLES) // 2
_TURNS = 10  # of scores without an order
_ROUNDS = 200  # of principal factors


def polychoric(table: np.ndarray, sigma: float, total: float, first: np.ndarray, second: np.ndarray) -> float:
    """Latent correlation that explains a noisy table best."""
    # ``table`` (a, b) holds noisy counts, also negative ones, in the order of the latent axes; ``first`` and
    # ``second`` are the masses of its rows and columns.
    cells = cell_probabilities(first, second)
    expected = max(total, 1.0) * cells
    variance = sigma**2 + expected + 1.0
    loss = ((table - expected) ** 2 / variance + np.log(variance)).sum(axis=(1, 2))
    loss += (np.sin(_ANGLES) / PRIOR) ** 2
    best = int(loss.argmin())
    if not 0 < best < len(loss) - 1:
        return float(np.sin(_ANGLES[best]))
    left, middle, right = loss[best - 1 : best + 2]  # the vertex of the parabola through them
    bend = left - 2 * middle + right
    shift = 0.5 * (left - right) / bend if bend > 0 else 0.0
    return float(np.sin(_ANGLES[best] + shift * (_ANGLES[1] - _ANGLES[0])))


def cell_probabilities(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Probabilities (correlations, a, b) of a table's cells under every compared correlation."""
    # The probability of a quadrant grows with the correlation by the density at its corner; with the angle
    # asin(correlation), by exp(-(h**2 + k**2 - 2 h k sin) / (2 cos**2)) / 2 pi.
    h, k = (ndtri(np.clip(np.cumsum(p)[:-1], 1e-9, 1 - 1e-9))[:, None] for p in (first, second))
    k = k.T
    if not h.size or not k.size:
        return np.broadcast_to(np.outer(first, second), (len(_ANGLES), len(first), len(second)))
    sine = np.sin(_ANGLES)[:, None, None]
    density = np.exp(-(h**2 + k**2 - 2 * h * k * sine) / (2 * (1 - sine**2))) / (2 * np.pi)
    grown = cumulative_simpson(density, x=_ANGLES, axis=0, initial=0)
    corners = np.zeros((len(_ANGLES), len(first) + 1, len(second) + 1))
    corners[:, 1:-1, 1:-1] = ndtr(h) * ndtr(k) + grown - grown[_ZERO]
    corners[:, 1:, -1], corners[:, -1, 1:] = np.cumsum(first), np.cumsum(second)
    return np.maximum(np.diff(np.diff(corners, axis=1), axis=2), 0.0)


def latent_scores(
    tables: Mapping[tuple[int, int], np.ndarray],
    masses: Sequence[np.ndarray],
    ordered: Sequence[bool],
    noise: float = 0.0,
) -> list[np.ndarray]:
    """Scores of every column's buckets; those without an order get the one that correlates most with others.

    Scores are found in turn: those of a column make the sum of its squared correlations with all others as
    large as can be, given theirs (alternating least squares). Ordered columns keep normal scores. ``tables``
    of pairs, the smaller number first; ``noise`` is a cell's deviation in shares of the rows.
    """
    ties = _ties(tables, masses, noise)
    roots = [np.sqrt(np.maximum(p, 1e-9)) for p in masses]
    axes = [_normal_axis(p) for p in masses]
    free = [j for j, known in enumerate(ordered) if not known and len(masses[j]) > 2]
    for _ in range(_TURNS):
        for j in free:
            drawn = [ties[j, i] @ axes[i] for i in range(len(axes)) if i != j]
            if drawn:
                axes[j] = np.linalg.svd(np.stack(drawn, axis=1), full_matrices=False)[0][:, 0]
    return [axis / root for axis, root in zip(axes, roots, strict=True)]


def _ties(
    tables: Mapping[tuple[int, int], np.ndarray], masses: Sequence[np.ndarray], noise: float
) -> dict[tuple[int, int], np.ndarray]:
    """Every pair's departures from independence, both ways round, in units of their deviation."""
    ties = {}
    for (i, j), table in tables.items():
        even = np.outer(masses[i], masses[j])
        apart = (table / max(table.sum(), 1.0) - even) / np.sqrt(even + noise + 1e-9)
        ties[i, j], ties[j, i] = apart, apart.T
    return ties


def _normal_axis(mass: np.ndarray) -> np.ndarray:
    """Standardised normal scores of buckets in their order, times the root of their mass."""
    middle = np.clip(np.cumsum(mass) - mass / 2, 1e-9, 1 - 1e-9)
    scores = ndtri(middle)
    scores = scores - mass @ scores
    axis: np.ndarray = scores * np.sqrt(mass) / max(float(np.sqrt(mass @ scores**2)), 1e-9)
    return axis


def factors(correlations: np.ndarray) -> np.ndarray:
    """Loadings (m, r) whose products are near the given correlations: iterated principal factors."""
    # With a part of its own for every column, the correlations that they make are positive definite, whatever
    # noise did to those given. r is the number that m columns can determine, within limits.
    m = len(correlations)
    determined = int((2 * m + 1 - np.sqrt(8 * m + 1)) / 2)  # Ledermann's bound
    r = min(max(determined, FEW_FACTORS), MOST_FACTORS, m - 1)
    most = 1.0 - LEAST_SPREAD**2
    reduced = np.array(correlations, dtype=np.float64)
    off = np.abs(reduced - np.diag(np.diag(reduced)))
    np.fill_diagonal(reduced, np.minimum(off.max(axis=1, initial=0.0), most))
    loadings = np.zeros((m, r))
    for _ in range(_ROUNDS if r else 0):
        values, vectors = np.linalg.eigh(reduced)
        loadings = vectors[:, -r:] * np.sqrt(np.maximum(values[-r:], 0.0))
        common = (loadings**2).sum(axis=1)
        loadings *= np.sqrt(np.minimum(1.0, most / np.maximum(common, 1e-12)))[:, None]
        settled = np.minimum(common, most)
        if np.abs(settled - np.diag(reduced)).max() < 1e-6:
            break
        np.fill_diagonal(reduced, settled)
    return loadings
