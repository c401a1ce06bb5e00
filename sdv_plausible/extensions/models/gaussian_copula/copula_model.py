"""Gaussian copula on codes, as a mixture over fixed nodes with exact probabilities.

The latent normal of column j is ``loadings[j] . f + spread[j] e``, with common factors f and an own factor e.
The code is determined by thresholds on this normal. Rectangle probabilities of a multivariate normal have no
closed form, so f is drawn from a fixed public set of nodes with mean 0 and covariance 1
(docs/explanation/proofs/gaussian_copula.md). Given the node, the columns of a record are independent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from sdv_plausible.extensions.models.node_mixture import NodeMixture, even_uniform, nodes
from sdv_plausible.models.model_types import Arrays, register_model_type
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

MOST_FACTORS = 16
LEAST_SPREAD = 0.1  # smallest own deviation of a column: below it, few nodes could explain a record
_TINY = 1e-300
_GRID = np.linspace(-9.0, 9.0, 2001)  # grid of latent values for interpolating thresholds


class CopulaModel(NodeMixture):
    """Gaussian copula on codes.

    Parameters
    ----------
    loadings : ndarray, shape (m, r)
        Factor loadings. The latent correlation of two columns is the product of their rows. The squares of a
        row sum to at most ``1 - LEAST_SPREAD**2``.
    axes : sequence of ndarray
        Codes of each column in their order on the latent axis.
    thresholds : sequence of ndarray
        Ascending boundaries between consecutive codes on the latent axis, one fewer than codes.
    """

    def __init__(
        self, loadings: np.ndarray, axes: Sequence[np.ndarray], thresholds: Sequence[np.ndarray]
    ) -> None:
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

    def codes_of(self, column: int, chosen: np.ndarray, coins: KeyedRNG, stratum: int) -> np.ndarray:
        """Draw codes of a column for records with these nodes, by inversion."""
        centre = (nodes(self.loadings.shape[1]) @ self.loadings[column])[chosen]
        latent = centre + self.spreads[column] * ndtri(even_uniform(len(chosen), coins, stratum, centre))
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
