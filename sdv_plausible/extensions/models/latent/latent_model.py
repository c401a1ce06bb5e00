"""Trained autoencoder: a prefix model over public nodes, and seeds tested by their latent points.

A record d is encoded as a Gaussian on a grid. The latent point z is drawn from it, and y is decoded from z
alone (docs/explanation/proofs/latent_test.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from sdv_plausible.extensions.models.latent.autoencoder import (
    LARGEST_VALUE,
    VALUE_STEP,
    WEIGHTS,
    Autoencoder,
    on_grid,
    precisions,
)
from sdv_plausible.extensions.models.node_mixture import NodeMixture, even_uniform, nodes
from sdv_plausible.models.base import Proposals, SeedModel
from sdv_plausible.models.model_types import Arrays, register_model_type
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.queryable import SeedRecords

_SUM_TOLERANCE = 1e-6


class LatentModel(NodeMixture):
    """Records decoded from a latent point, which without a seed is one of finitely many public nodes.

    ``buckets`` holds the bucket of every code of each column, ``within`` its probability given the bucket.
    """

    in_latent_space: ClassVar[bool] = True

    def __init__(
        self, network: Autoencoder, buckets: Sequence[np.ndarray], within: Sequence[np.ndarray]
    ) -> None:
        self.network = network
        self.buckets = tuple(np.array(bucket, dtype=np.int64) for bucket in buckets)
        self.within = tuple(np.array(share, dtype=np.float64) for share in within)
        self._check()

    def _check(self) -> None:
        if not len(self.buckets) == len(self.within) == len(self.network.sizes):
            raise ValueError("buckets and within must have an array for each column of the network")
        for bucket, share, size in zip(self.buckets, self.within, self.network.sizes, strict=True):
            if (
                bucket.ndim != 1
                or bucket.shape != share.shape
                or sorted(set(bucket.tolist())) != list(range(size))
            ):
                raise ValueError(
                    "buckets must name each of their column's buckets, with a share for every code"
                )
            if not (share > 0).all() or (np.abs(np.bincount(bucket, share) - 1) > _SUM_TOLERANCE).any():
                raise ValueError("within must be positive, and its sum over the codes of a bucket 1")

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """Number of codes of each attribute."""
        return tuple(len(bucket) for bucket in self.buckets)

    @property
    def order(self) -> tuple[int, ...]:
        """Columns sorted by number of codes: small ones first make large prefix groups."""
        return tuple(sorted(range(len(self.buckets)), key=lambda j: (len(self.buckets[j]), j)))

    def for_row_tests(self) -> SeedModel:
        """Return the model with seeds: the row tests use latent points."""
        return LatentSeeds(self)

    @cached_property
    def _decoded(self) -> np.ndarray:
        """Probabilities of all buckets at every node, (NODES, all buckets)."""
        points = on_grid(nodes(self.network.num_latent), VALUE_STEP, LARGEST_VALUE)
        return self.network.decode(points)

    def log_probabilities(self, column: int) -> np.ndarray:
        """Return the log probability of every code of a column given every node."""
        start, bucket = self.network.offsets[column], self.buckets[column]
        log_p: np.ndarray = np.log(self._decoded[:, start + bucket].T * self.within[column][:, None])
        return log_p

    def codes_of(self, column: int, chosen: np.ndarray, rng: KeyedRNG, stratum: int) -> np.ndarray:
        """Draw codes of a column for records with these nodes, by inversion."""
        uniform = even_uniform(len(chosen), rng, stratum, chosen)
        return self.drawn(column, self._decoded[chosen], uniform)

    def drawn(self, column: int, decoded: np.ndarray, uniform: np.ndarray) -> np.ndarray:
        """Draw codes of a column by inversion, for records with these probabilities of all buckets."""
        start, bucket, share = self.network.offsets[column], self.buckets[column], self.within[column]
        by_bucket = np.argsort(bucket, kind="stable")
        size = self.network.sizes[column]
        below = np.cumsum(decoded[:, start : start + size], axis=1)
        which = np.minimum((uniform[:, None] >= below[:, :-1]).sum(axis=1), size - 1)
        left = np.where(which > 0, below[np.arange(len(which)), which - 1], 0.0)
        inside = np.clip((uniform - left) / decoded[np.arange(len(which)), start + which], 0.0, 1 - 2.0**-40)
        # Consecutive buckets of length 1, divided by the shares of their codes
        ends = np.cumsum(share[by_bucket] / np.bincount(bucket, share)[bucket[by_bucket]])
        place = np.searchsorted(ends, which + inside, side="right")
        first = np.searchsorted(bucket[by_bucket], which)
        last = np.searchsorted(bucket[by_bucket], which, side="right") - 1
        codes: np.ndarray = by_bucket[np.clip(place, first, last)]
        return codes

    def to_arrays(self) -> Arrays:
        """Return the full state as arrays."""
        flat = {name: getattr(self.network, name).reshape(-1) for name in WEIGHTS}
        h, latent = self.network.embedding.shape[1], self.network.num_latent
        return {
            **flat,
            "base": self.network.base,
            "floor": np.array([self.network.floor]),
            "shape": np.array([h, latent], dtype=np.int64),
            "cardinalities": np.array(self.cardinalities, dtype=np.int64),
            "buckets": np.concatenate(self.buckets),
            "within": np.concatenate(self.within),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> LatentModel:
        """Create the model from the arrays of :meth:`to_arrays`."""
        integer_names = ("shape", "cardinalities", "buckets")
        if set(arrays) != {*WEIGHTS, "base", "floor", "within", *integer_names}:
            raise ValueError(
                "a latent model has weights, base, floor, shape, cardinalities, buckets and within"
            )
        if any(np.ndim(array) != 1 for array in arrays.values()) or any(
            np.asarray(arrays[name]).dtype.kind != "i" for name in integer_names
        ):
            raise ValueError("shape, cardinalities and buckets must be whole numbers, and all arrays flat")
        cards, shape = np.asarray(arrays["cardinalities"]), arrays["shape"]
        if len(shape) != 2 or (np.asarray(shape) < 1).any() or len(arrays["floor"]) != 1 or (cards < 1).any():
            raise ValueError("shape must be two positive numbers, floor one, and cardinalities positive")
        if not len(cards) or cards.sum() != len(arrays["buckets"]) or cards.sum() != len(arrays["within"]):
            raise ValueError("buckets and within must fit the cardinalities")
        ends = np.cumsum(cards)[:-1]
        buckets = np.split(np.asarray(arrays["buckets"]), ends)
        if min(bucket.min() for bucket in buckets) < 0:
            raise ValueError("buckets must not be negative")
        return cls(_network(arrays, buckets), buckets, np.split(np.asarray(arrays["within"]), ends))


def _network(arrays: Arrays, buckets: Sequence[np.ndarray]) -> Autoencoder:
    """Return the network of flat arrays; reshaping rejects inconsistent sizes."""
    h, latent = (int(number) for number in arrays["shape"])
    columns = {"embedding": h, "means": latent, "spreads": latent, "hidden": h, "output": len(arrays["base"])}
    weights = {
        name: np.asarray(arrays[name], dtype=np.float64).reshape(-1, columns[name]) for name in WEIGHTS
    }
    return Autoencoder(
        sizes=tuple(int(bucket.max()) + 1 for bucket in buckets),
        floor=float(arrays["floor"][0]),
        base=np.asarray(arrays["base"], dtype=np.float64),
        **weights,
    )


class LatentSeeds(SeedModel):
    """Autoencoder whose candidates are decoded from the seeds' latent points."""

    in_latent_space: ClassVar[bool] = True
    _terms: np.ndarray | None = None

    def __init__(self, model: LatentModel) -> None:
        self.model = model

    @property
    def num_attributes(self) -> int:
        """Number m of attributes."""
        return self.model.num_attributes

    @property
    def num_latent(self) -> int:
        """Number of latent dimensions."""
        return self.model.network.num_latent

    @property
    def order(self) -> tuple[int, ...]:
        """Order of the columns, which has no effect because no seed value is kept."""
        return self.model.order

    def attach_seeds(self, seeds: SeedRecords) -> None:
        """Set and encode the seed records."""
        super().attach_seeds(seeds)
        buckets = [bucket[seeds.codes[:, j]] for j, bucket in enumerate(self.model.buckets)]
        self._means, self._levels = self.model.network.encode(np.stack(buckets, axis=1))
        self._terms = terms(self._means, self._levels, self.model.network.floor)

    def propose(self, rows: np.ndarray, omega: np.ndarray, rng: KeyedRNG) -> Proposals:
        """Draw a latent point from each seed and decode it; fully resampled candidates have none."""
        free = np.asarray(omega) == self.num_attributes
        points = self.points(rows, rng.spawn("points"))
        candidates = np.empty((len(rows), self.num_attributes), dtype=np.int32)
        candidates[~free] = self.decoded(points[~free], rng.spawn("columns"))
        candidates[free] = self.model.sample(int(free.sum()), rng.spawn("free"))
        points[free] = np.nan  # these points were not tested and must not be released
        return Proposals(candidates=candidates, seeds=rows, omega=np.asarray(omega), latents=points)

    def points(self, rows: np.ndarray, rng: KeyedRNG) -> np.ndarray:
        """Draw a latent point (N, l) from each seed row number (N,)."""
        self.seeds  # noqa: B018  complains if there are none
        return draw(self._means[rows], self._levels[rows], self.model.network.floor, rng)

    def decoded(self, points: np.ndarray, rng: KeyedRNG) -> np.ndarray:
        """Draw a record from each latent point alone."""
        probabilities = self.model.network.decode(points)
        codes = np.empty((len(points), self.num_attributes), dtype=np.int32)
        for j in range(self.num_attributes):
            codes[:, j] = self.model.drawn(j, probabilities, rng.uniform(len(points)))
        return codes

    def log_likelihood(self, proposals: Proposals, rows: np.ndarray) -> np.ndarray:
        """Return the log probability of each latent point under the seeds; 0 if no point was used."""
        self.seeds  # noqa: B018  complains if there are none
        assert self._terms is not None
        assert proposals.latents is not None, "propose gives the latent points"
        z = proposals.latents
        log_p: np.ndarray = features(z) @ self._terms[rows].T
        log_p[proposals.omega == self.num_attributes] = 0.0
        return log_p


register_model_type("latent", LatentModel, LatentModel.to_arrays, LatentModel.from_arrays)


LOG_STEP = VALUE_STEP**3 / 2  # grid of log probabilities
_REACH = 9.5  # truncation of draws, in standard deviations (latent_test.md, Lemma 3)
_FINE = 2.0**-53  # last bit of a uniform number, below which a second one adds bits


def draw(means: np.ndarray, levels: np.ndarray, floor: float, rng: KeyedRNG) -> np.ndarray:
    """Draw a point (N, l) around each mean with the spread of its levels, by inversion from the tails."""
    uniform = rng.uniform(levels.shape) + _FINE * rng.uniform(levels.shape)
    side = 1 - 2 * rng.integers(2, levels.shape)
    steps = np.empty(levels.shape, dtype=np.int64)
    for level in np.unique(levels).tolist():
        values, masses = grid_gaussian(floor, level)
        at_least = np.cumsum(2 * masses[values < 0])  # tail masses, the farthest and rarest steps first
        is_level = levels == level
        steps[is_level] = len(at_least) - np.searchsorted(at_least, uniform[is_level], side="right")
    points: np.ndarray = means + side * steps * VALUE_STEP
    return points


def features(points: np.ndarray) -> np.ndarray:
    """Return the squares, the coordinates and 1 of every point, (N, 2 l + 1)."""
    return np.hstack([np.square(points), points, np.ones((len(points), 1))])


def terms(means: np.ndarray, levels: np.ndarray, floor: float) -> np.ndarray:
    """Return the coefficients (n, 2 l + 1) of :func:`features` in every seed's log probability."""
    precision = precisions(floor)[levels]
    constant = np.square(means) * precision / 2 + log_totals(floor)[levels]
    return np.hstack([-precision / 2, precision * means, -constant.sum(axis=1, keepdims=True)])


@lru_cache(maxsize=1024)
def grid_gaussian(floor: float, level: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the steps from the mean and their probabilities at a level: a Gaussian on the grid."""
    values, weights = _weights(floor, level)
    return values, weights / weights.sum()


@lru_cache(maxsize=64)
def log_totals(floor: float) -> np.ndarray:
    """Return the log of the sum of the weights at every level, on the grid of logarithms."""
    totals = [_weights(floor, level)[1].sum() for level in range(len(precisions(floor)))]
    rounded: np.ndarray = np.rint(np.log(totals) / LOG_STEP) * LOG_STEP
    return rounded


def _weights(floor: float, level: int) -> tuple[np.ndarray, np.ndarray]:
    precision = precisions(floor)[level]
    reach = int(_REACH / np.sqrt(precision) / VALUE_STEP)
    values = np.arange(-reach, reach + 1)
    return values, np.exp(-np.square(values * VALUE_STEP) * precision / 2)
