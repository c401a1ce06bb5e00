"""Differentially private training: noisy sums of clipped gradients over Poisson samples, and Adam."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sdv_plausible.extensions.models.latent.autoencoder import (
    LARGEST_MEAN,
    LARGEST_VALUE,
    LARGEST_WEIGHT,
    LOWEST_LOGIT,
    VALUE_STEP,
    WEIGHT_STEP,
    WEIGHTS,
    Autoencoder,
    affine,
    levels,
    on_grid,
    rectified,
    shapes,
)
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import ExactCounts
from sdv_plausible.queries.queryable import Queryable

CLIP = 1.0  # largest norm of a row's contribution
DELTA_STEP = 2.0**-12  # grid step of derivatives before clipping
_CLIPPED_STEP = 2.0**-16  # grid step of derivatives after clipping
UNIT = VALUE_STEP * _CLIPPED_STEP  # unit of the integer sums
LARGEST_NORM = round(CLIP / UNIT)
_SAFE = 1 - 2.0**-20  # margin for rounding errors in the norms
_BLOCK = 2048  # rows per block
_LARGEST_DELTA = 2.0**6


@dataclass(frozen=True, eq=False)
class GradientSum:
    """Sum of the rows' clipped gradients of the evidence lower bound, in integer steps of ``UNIT``."""

    network: Autoencoder  # current weights, from earlier answers
    buckets: Sequence[np.ndarray]  # bucket of every code of each column, from earlier answers
    weight: float  # weight of the divergence from the prior, relative to the log likelihood
    rng: KeyedRNG
    proof = "docs/explanation/proofs/sampled_sum.md, Theorem 2"

    def exact(self, rows: ExactCounts) -> np.ndarray:
        """Return one integer per weight."""
        codes = rows.records()
        shapes = {name: getattr(self.network, name).shape for name in WEIGHTS}
        summed = {name: np.zeros(shape, dtype=np.int64) for name, shape in shapes.items()}
        for start in range(0, len(codes), _BLOCK):
            block = codes[start : start + _BLOCK]
            noise = np.asarray(self.rng.spawn(start).normal((len(block), self.network.num_latent)))
            for name, part in self._sums(block, noise):
                summed[name] += part
        return np.concatenate([summed[name].reshape(-1) for name in WEIGHTS])

    def sensitivity(self, neighbours: Neighbours) -> float:
        """Return the largest norm of a unit's contribution."""
        return float(LARGEST_NORM * neighbours.histogram_l1)

    def _sums(self, codes: np.ndarray, noise: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        """Yield the sums over a block of rows, layer by layer."""
        bucket_index = np.stack([bucket[codes[:, j]] for j, bucket in enumerate(self.buckets)], axis=1)
        layers = clipped(backward(self.network, bucket_index, noise, self.weight), len(self.buckets))
        bucket_index = bucket_index + self.network.offsets
        ones = np.zeros((len(bucket_index), len(self.network.embedding)))
        np.put_along_axis(ones, bucket_index, 1.0, 1)
        for name, (layer_inputs, deltas) in layers.items():
            inputs = ones if layer_inputs is None else layer_inputs
            part = (inputs / VALUE_STEP).T @ deltas  # integers below 2**53: exact
            yield name, part.astype(np.int64)


Layers = dict[str, tuple[np.ndarray | None, np.ndarray]]
"""Inputs (N, i), on the grid of values, and derivatives (N, o) of each layer; gradients are their products.
Inputs of None are one-hot codes of every column."""


def backward(network: Autoencoder, places: np.ndarray, noise: np.ndarray, weight: float) -> Layers:
    """Return the derivatives of each row's evidence lower bound, rounded to grids."""
    active = network.embed(places)
    drift, raw = affine(active, network.means), affine(active, network.spreads)
    means, spread = on_grid(drift, VALUE_STEP, LARGEST_MEAN), network.deviations[levels(raw)]
    noise = on_grid(noise, DELTA_STEP, LARGEST_VALUE)
    points = on_grid(means + spread * noise, VALUE_STEP, LARGEST_VALUE)
    decoded = rectified(affine(points, network.hidden))
    d_output = network.softmax(affine(decoded, network.output) + network.base)
    observed = places + network.offsets
    np.put_along_axis(d_output, observed, np.take_along_axis(d_output, observed, 1) - 1, 1)
    d_output = _rounded(d_output)
    d_hidden = _rounded((d_output @ network.output[:-1].T) * _inside(decoded))
    d_points = _rounded(d_hidden @ network.hidden[:-1].T)
    d_mean = _rounded((d_points + weight * means) * (np.abs(drift) < LARGEST_MEAN))
    slope = spread * (math.log(1 / network.floor) / 2) / np.square(1 + np.abs(raw))
    d_raw = _rounded((d_points * noise + weight * (spread - 1 / spread)) * slope)
    d_embedding = _rounded((d_mean @ network.means[:-1].T + d_raw @ network.spreads[:-1].T) * _inside(active))
    return {
        "embedding": (None, d_embedding),
        "means": (_with_one(active), d_mean),
        "spreads": (_with_one(active), d_raw),
        "hidden": (_with_one(points), d_hidden),
        "output": (_with_one(decoded), d_output),
    }


def clipped(layers: Layers, columns: int) -> Layers:
    """Scale each row's derivatives to a contribution of norm at most ``CLIP``, in integer steps."""
    squares = {
        name: np.full(len(deltas), float(columns)) if inputs is None else (inputs**2).sum(axis=1)
        for name, (inputs, deltas) in layers.items()
    }
    norms = sum(squares[name] * (deltas**2).sum(axis=1) for name, (_, deltas) in layers.items())
    factor = _SAFE * np.minimum(1.0, CLIP / np.sqrt(np.maximum(norms, 2.0**-60)))
    scaled = {
        name: (inputs, np.trunc(deltas * factor[:, None] / _CLIPPED_STEP))
        for name, (inputs, deltas) in layers.items()
    }
    squared_norms = np.zeros(len(factor))
    for name, (_, deltas) in scaled.items():  # the exact check in integers that the proof relies on
        # Doubles are exact up to 2**53 and, unlike integers, do not wrap around.
        squared_norms += squares[name] / VALUE_STEP**2 * (deltas**2).sum(axis=1)
    is_bounded = (squared_norms <= LARGEST_NORM**2)[:, None]
    return {name: (inputs, np.where(is_bounded, deltas, 0.0)) for name, (inputs, deltas) in scaled.items()}


def _rounded(deltas: np.ndarray) -> np.ndarray:
    return on_grid(deltas, DELTA_STEP, _LARGEST_DELTA)


def _inside(active: np.ndarray) -> np.ndarray:
    return (active > 0) & (active < LARGEST_VALUE)


def _with_one(values: np.ndarray) -> np.ndarray:
    return np.hstack([values, np.ones((len(values), 1))])


RATE = 0.02  # learning rate of Adam
_FIRST, _SECOND, _TINY = 0.9, 0.99, 1e-8  # beta1, beta2 and epsilon of Adam
_AVERAGED = 0.5  # share of the steps, the last ones, whose weights are averaged to reduce noise


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """Training schedule; independent of the rows."""

    steps: int  # number of queries, each on a fresh sample
    sample: float  # probability that a row is in a sample
    weight: float  # weight of the divergence from the prior

    def run(
        self, start: Autoencoder, rows: Queryable, buckets: Sequence[np.ndarray], total: float, rng: KeyedRNG
    ) -> Autoencoder:
        """Train with Adam on noisy gradients, and average the last weights."""
        weights = np.concatenate([getattr(start, name).reshape(-1) for name in WEIGHTS])
        first, second, average = np.zeros_like(weights), np.zeros_like(weights), np.zeros_like(weights)
        network, num_averaged = start, 0
        for step in range(1, self.steps + 1):
            query = GradientSum(network, buckets, self.weight, rng.spawn("latent points", step))
            noisy_sum = rows.ask_sampled(query, self.sample).values * UNIT
            gradient = noisy_sum / max(self.sample * total, 1.0)
            first = _FIRST * first + (1 - _FIRST) * gradient
            second = _SECOND * second + (1 - _SECOND) * gradient**2
            update = (first / (1 - _FIRST**step)) / (np.sqrt(second / (1 - _SECOND**step)) + _TINY)
            weights = np.clip(weights - RATE * update, -LARGEST_WEIGHT, LARGEST_WEIGHT)
            if step > self.steps * (1 - _AVERAGED):
                num_averaged += 1
                average += (weights - average) / num_averaged
            network = with_weights(network, weights)
        return with_weights(network, average if num_averaged else weights)


def with_weights(network: Autoencoder, weights: np.ndarray) -> Autoencoder:
    """Return the network with these weights, given as one vector and rounded to their grid."""
    ends = np.cumsum([getattr(network, name).size for name in WEIGHTS])
    parts = np.split(on_grid(weights, WEIGHT_STEP, LARGEST_WEIGHT), ends[:-1])
    arrays = {
        name: part.reshape(getattr(network, name).shape) for name, part in zip(WEIGHTS, parts, strict=True)
    }
    return Autoencoder(sizes=network.sizes, floor=network.floor, base=network.base, **arrays)


def untrained(
    masses: Sequence[np.ndarray], hidden: int, latent: int, floor: float, rng: KeyedRNG
) -> Autoencoder:
    """Return a network with random weights, whose decoder starts from the margins of the buckets."""
    sizes = tuple(len(mass) for mass in masses)
    arrays = {
        name: np.asarray(rng.spawn(name).normal(shape))
        for name, shape in shapes(sum(sizes), hidden, latent).items()
    }
    arrays["embedding"] *= 1 / np.sqrt(len(sizes))
    for name, inputs in (("means", hidden), ("spreads", hidden), ("hidden", latent), ("output", hidden)):
        arrays[name] *= 1 / np.sqrt(inputs)
        arrays[name][-1] = 0.0
    arrays["output"] *= 0.1
    base = np.log(np.maximum(np.concatenate(masses), 1e-9))
    return Autoencoder(
        sizes=sizes,
        floor=floor,
        base=on_grid(base, WEIGHT_STEP, -LOWEST_LOGIT),
        **{name: on_grid(array, WEIGHT_STEP, LARGEST_WEIGHT) for name, array in arrays.items()},
    )
