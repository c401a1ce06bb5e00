"""Training from noisy sums of clipped gradients: all of it is post-processing of the answers."""

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

RATE = 0.02  # of Adam
_FIRST, _SECOND, _TINY = 0.9, 0.99, 1e-8
_AVERAGED = 0.5  # the last share of the steps, whose weights are averaged: that takes noise off


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """How a network is trained; nothing here looks at rows."""

    steps: int  # sums over samples that are asked for
    sample: float  # probability that a row is in a sample
    weight: float  # of the divergence from the prior

    def run(
        self,
        start: Autoencoder,
        rows: Queryable,
        buckets: Sequence[np.ndarray],
        total: float,
        coins: KeyedRNG,
    ) -> Autoencoder:
        """Train by Adam on noisy gradients, and average the last weights."""
        weights = np.concatenate([getattr(start, name).reshape(-1) for name in WEIGHTS])
        first, second, average = np.zeros_like(weights), np.zeros_like(weights), np.zeros_like(weights)
        network, averaged = start, 0
        for step in range(1, self.steps + 1):
            question = GradientSum(network, buckets, self.weight, coins.spawn("latent points", step))
            found = rows.ask_sampled(question, self.sample).values * UNIT
            gradient = found / max(self.sample * total, 1.0)
            first = _FIRST * first + (1 - _FIRST) * gradient
            second = _SECOND * second + (1 - _SECOND) * gradient**2
            moved = (first / (1 - _FIRST**step)) / (np.sqrt(second / (1 - _SECOND**step)) + _TINY)
            weights = np.clip(weights - RATE * moved, -LARGEST_WEIGHT, LARGEST_WEIGHT)
            if step > self.steps * (1 - _AVERAGED):
                averaged += 1
                average += (weights - average) / averaged
            network = with_weights(network, weights)
        return with_weights(network, average if averaged else weights)


def with_weights(network: Autoencoder, weights: np.ndarray) -> Autoencoder:
    """Network of these weights, all in one vector, put on their grid."""
    ends = np.cumsum([getattr(network, name).size for name in WEIGHTS])
    parts = np.split(on_grid(weights, WEIGHT_STEP, LARGEST_WEIGHT), ends[:-1])
    made = {
        name: part.reshape(getattr(network, name).shape) for name, part in zip(WEIGHTS, parts, strict=True)
    }
    return Autoencoder(sizes=network.sizes, floor=network.floor, base=network.base, **made)


def untrained(
    masses: Sequence[np.ndarray], hidden: int, latent: int, floor: float, coins: KeyedRNG
) -> Autoencoder:
    """Network with random weights, whose decoder starts from the margins of the columns' buckets."""
    sizes = tuple(len(mass) for mass in masses)
    made = {
        name: np.asarray(coins.spawn(name).normal(shape))
        for name, shape in shapes(sum(sizes), hidden, latent).items()
    }
    made["embedding"] *= 1 / np.sqrt(len(sizes))
    for name, inputs in (("means", hidden), ("spreads", hidden), ("hidden", latent), ("output", hidden)):
        made[name] *= 1 / np.sqrt(inputs)
        made[name][-1] = 0.0
    made["output"] *= 0.1
    base = np.log(np.maximum(np.concatenate(masses), 1e-9))
    return Autoencoder(
        sizes=sizes,
        floor=floor,
        base=on_grid(base, WEIGHT_STEP, -LOWEST_LOGIT),
        **{name: on_grid(array, WEIGHT_STEP, LARGEST_WEIGHT) for name, array in made.items()},
    )
