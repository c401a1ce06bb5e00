"""Training from noisy sums of clipped gradients (post-processing of the answers)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sdv_plausible.extensions.models.latent.autoencoder import (
    LARGEST_WEIGHT,
    LOWEST_LOGIT,
    WEIGHT_STEP,
    WEIGHTS,
    Autoencoder,
    on_grid,
    shapes,
)
from sdv_plausible.extensions.models.latent.gradients import UNIT, GradientSum
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.queryable import Queryable

RATE = 0.02  # learning rate of Adam
_FIRST, _SECOND, _TINY = 0.9, 0.99, 1e-8
_AVERAGED = 0.5  # last share of the steps whose weights are averaged, to reduce noise


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """Training schedule; independent of the rows."""

    steps: int  # number of queries, each on a fresh sample
    sample: float  # probability that a row is in a sample
    weight: float  # weight of the divergence from the prior

    def run(
        self,
        start: Autoencoder,
        rows: Queryable,
        buckets: Sequence[np.ndarray],
        total: float,
        coins: KeyedRNG,
    ) -> Autoencoder:
        """Train with Adam on noisy gradients, and average the last weights."""
        weights = np.concatenate([getattr(start, name).reshape(-1) for name in WEIGHTS])
        first, second, average = np.zeros_like(weights), np.zeros_like(weights), np.zeros_like(weights)
        network, num_averaged = start, 0
        for step in range(1, self.steps + 1):
            question = GradientSum(network, buckets, self.weight, coins.spawn("latent points", step))
            noisy_sum = rows.ask_sampled(question, self.sample).values * UNIT
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
    masses: Sequence[np.ndarray], hidden: int, latent: int, floor: float, coins: KeyedRNG
) -> Autoencoder:
    """Return a network with random weights, whose decoder starts from the margins of the buckets."""
    sizes = tuple(len(mass) for mass in masses)
    arrays = {
        name: np.asarray(coins.spawn(name).normal(shape))
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
