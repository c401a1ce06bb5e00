"""Gaussian copula on codes, as a mixture over fixed nodes with exact probabilities.

The latent normal of column j is ``loadings[j] . f + spread[j] e``, with common factors f and an own factor e.
The code is determined by thresholds on this normal. Rectangle probabilities of a multivariate normal have no
closed form, so f is drawn from a fixed public set of nodes with mean 0 and covariance 1
(docs/explanation/proofs/gaussian_copula.md). Given the node, the columns of a record are independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.integrate import cumulative_simpson
from scipy.special import ndtr, ndtri

from sdv_plausible.extensions.models.node_mixture import NodeMixture, even_uniform, nodes
from sdv_plausible.models.model_types import Arrays, register_model_type
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

MOST_FACTORS = 16
LEAST_SPREAD = 0.1  # smallest own deviation of a column: below it, few nodes could explain a record
_TINY = 1e-300
_GRID = np.linspace(-9.0, 9.0, 2001)  # grid of latent values for interpolating thresholds


class CopulaModel(NodeMixture):
    """Gaussian copula on codes."""

    def __init__(
        self, loadings: np.ndarray, axes: Sequence[np.ndarray], thresholds: Sequence[np.ndarray]
    ) -> None:
        # ``loadings``: (m, r) factor loadings. The latent correlation of two columns is the product of their
        # rows. The squares of a row sum to at most ``1 - LEAST_SPREAD**2``.
        # ``axes``: codes of each column in their order on the latent axis.
        # ``thresholds``: ascending boundaries between consecutive codes on the latent axis, one fewer than
        # codes.
        self.loadings = np.array(loadings, dtype=np.float64)
        self.axes = tuple(np.array(axis, dtype=np.int64) for axis in axes)
        self.thresholds = tuple(np.array(ends, dtype=np.float64) for ends in thresholds)
        self._check()
        self.spreads = np.sqrt(1.0 - (self.loadings**2).sum(axis=1))

    def _check(self) -> None:
        m = len(self.axes)
        if self.loadings.ndim != 2 or len(self.loadings) != m or len(self.thresholds) != m:
            raise ValueError("loadings must have a row, and thresholds an array, for each of the axes")
        if self.loadings.shape[1] > MOST_FACTORS:
            raise ValueError(
                f"loadings ({self.loadings.shape[1]} factors) must have at most {MOST_FACTORS} factors"
            )
        if not ((self.loadings**2).sum(axis=1) <= 1 - LEAST_SPREAD**2 + 1e-9).all():
            raise ValueError(f"loadings must leave every column a spread of at least {LEAST_SPREAD}")
        for axis, ends in zip(self.axes, self.thresholds, strict=True):
            if ends.shape != (max(len(axis) - 1, 0),) or sorted(axis.tolist()) != list(range(len(axis))):
                raise ValueError("axes must name every code once, with one threshold fewer than codes")
            if not len(axis) or not np.isfinite(ends).all() or (np.diff(ends) < 0).any():
                raise ValueError("thresholds must be finite and ascending, and every column has a code")

    @classmethod
    def of_margins(
        cls, loadings: np.ndarray, axes: Sequence[np.ndarray], margins: Sequence[np.ndarray]
    ) -> CopulaModel:
        """Create the copula whose columns have these margins, one probability per code."""
        loadings = np.asarray(loadings, dtype=np.float64)
        spreads = np.sqrt(np.maximum(1.0 - (loadings**2).sum(axis=1), LEAST_SPREAD**2))
        points = nodes(loadings.shape[1])
        thresholds = []
        for row, spread, axis, margin in zip(loadings, spreads, axes, margins, strict=True):
            cdf = ndtr((_GRID - (points @ row)[:, None]) / spread).mean(axis=0)
            cumulative = np.cumsum(np.asarray(margin, dtype=np.float64)[axis])[:-1] / np.sum(margin)
            thresholds.append(np.interp(cumulative, cdf, _GRID))
        return cls(loadings, axes, thresholds)

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """Number of codes of each attribute."""
        return tuple(len(axis) for axis in self.axes)

    @property
    def order(self) -> tuple[int, ...]:
        """Columns sorted by number of codes: small ones first make large prefix groups."""
        return tuple(sorted(range(len(self.axes)), key=lambda j: (len(self.axes[j]), j)))

    @property
    def correlation(self) -> np.ndarray:
        """Latent correlations (m, m), positive definite because every column has an own factor."""
        correlation = self.loadings @ self.loadings.T
        np.fill_diagonal(correlation, 1.0)
        return correlation

    def log_probabilities(self, column: int) -> np.ndarray:
        """Return the log probability of every code of a column given every node, (codes, NODES)."""
        ends = np.concatenate([[-np.inf], self.thresholds[column], [np.inf]])
        centre = nodes(self.loadings.shape[1]) @ self.loadings[column]
        z = (ends[:, None] - centre) / self.spreads[column]
        low, high = z[:-1], z[1:]
        interval_mass = np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
        log_p = np.empty_like(interval_mass)
        log_p[self.axes[column]] = np.log(np.maximum(interval_mass, _TINY))
        return log_p

    def codes_of(self, column: int, chosen: np.ndarray, rng: KeyedRNG, stratum: int) -> np.ndarray:
        """Draw codes of a column for records with these nodes, by inversion."""
        centre = (nodes(self.loadings.shape[1]) @ self.loadings[column])[chosen]
        latent = centre + self.spreads[column] * ndtri(even_uniform(len(chosen), rng, stratum, centre))
        codes: np.ndarray = self.axes[column][np.searchsorted(self.thresholds[column], latent, side="right")]
        return codes

    def to_arrays(self) -> Arrays:
        """Return the full state as arrays."""
        return {
            "loadings": self.loadings.reshape(-1),
            "cardinalities": np.array(self.cardinalities, dtype=np.int64),
            "axes": np.concatenate(self.axes),
            "thresholds": np.concatenate(self.thresholds),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> CopulaModel:
        """Create the model from the arrays of :meth:`to_arrays`."""
        if set(arrays) != {"loadings", "cardinalities", "axes", "thresholds"}:
            raise ValueError("a Gaussian copula has loadings, cardinalities, axes and thresholds")
        cards = np.asarray(arrays["cardinalities"])
        is_integer = cards.dtype.kind == "i" and np.asarray(arrays["axes"]).dtype.kind == "i"
        if not is_integer or cards.ndim != 1 or not len(cards) or (cards < 1).any():
            raise ValueError("cardinalities must be positive whole numbers, and axes whole numbers")
        ends = np.cumsum(cards)
        sizes = len(arrays["axes"]), len(arrays["thresholds"]), len(arrays["loadings"]) % len(cards)
        if sizes != (ends[-1], ends[-1] - len(cards), 0):
            raise ValueError("axes, thresholds and loadings must fit the cardinalities")
        axes = np.split(np.asarray(arrays["axes"]), ends[:-1])
        thresholds = np.split(np.asarray(arrays["thresholds"]), np.cumsum(cards - 1)[:-1])
        return cls(np.asarray(arrays["loadings"]).reshape(len(cards), -1), axes, thresholds)


register_model_type("gaussian_copula", CopulaModel, CopulaModel.to_arrays, CopulaModel.from_arrays)


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
