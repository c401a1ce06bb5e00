"""Encoder and decoder in fixed-point arithmetic, so that sums are exact.

All numbers lie on a public grid. Sums of grid numbers below 2**53 units are exact in double precision, in any
order and block size. All other operations are elementwise and correctly rounded by IEEE 754. The output for a
record is therefore a function of that record alone, bit for bit (docs/explanation/proofs/latent_test.md,
Lemma 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sdv_plausible.privacy.parameter_checks import Refused, positive

WEIGHT_STEP, VALUE_STEP = 2.0**-10, 2.0**-8
LARGEST_WEIGHT, LARGEST_VALUE, LARGEST_MEAN = 8.0, 16.0, 8.0
LEVELS = 32  # levels of the spread, log-spaced from the floor to 1
LEAST_FLOOR = 1 / 32
MOST_LATENT, MOST_HIDDEN = 16, 1024
MOST_BUCKETS = 4096  # largest number of buckets of a column with exact sums of masses
LOWEST_LOGIT = -24.0
_EXP_STEPS = 10  # exp(x) is computed as (1 + x / 2**10) ** 2**10
_MASS_STEP = 2.0**-40
WEIGHTS = ("embedding", "means", "spreads", "hidden", "output")


def on_grid(values: np.ndarray, step: float, largest: float) -> np.ndarray:
    """Round to multiples of a step, and clip to [-largest, largest]."""
    rounded: np.ndarray = np.clip(np.rint(values / step) * step, -largest, largest)
    return rounded


def precisions(floor: float) -> np.ndarray:
    """Return the precision ``1 / sigma**2`` of every level, on the grid of values, from the floor upwards."""
    spreads = floor ** (1 - np.arange(LEVELS + 1) / LEVELS)
    rounded: np.ndarray = (
        np.floor(1 / spreads**2 / VALUE_STEP) * VALUE_STEP
    )  # rounding down keeps spreads above the floor
    return rounded


@dataclass(frozen=True, eq=False)
class Autoencoder:
    """Weights of an encoder and a decoder over bucketed columns."""

    sizes: tuple[int, ...]
    floor: float  # smallest spread of an encoded record, in [1/32, 1]
    base: np.ndarray  # shape (all buckets,): base logits of the decoder
    # Shapes (all buckets, h), (h + 1, l), (h + 1, l), (l + 1, h), (h + 1, all buckets); last rows are biases
    embedding: np.ndarray
    means: np.ndarray
    spreads: np.ndarray
    hidden: np.ndarray
    output: np.ndarray

    def __post_init__(self) -> None:
        check_floor(self.floor)
        total = sum(self.sizes)
        if not self.sizes or min(self.sizes) < 1 or self.embedding.ndim != 2 or self.means.ndim != 2:
            raise ValueError("sizes must be positive, and embedding and means matrices")
        if max(self.sizes) > MOST_BUCKETS:
            raise ValueError(f"sizes (up to {max(self.sizes)}) must be at most {MOST_BUCKETS}")
        h, latent = self.embedding.shape[1], self.means.shape[1]
        if not (1 <= latent <= MOST_LATENT and 1 <= h <= MOST_HIDDEN):
            raise ValueError(f"a network has 1 to {MOST_LATENT} latent and 1 to {MOST_HIDDEN} hidden numbers")
        wanted = shapes(total, h, latent)
        found = {name: getattr(self, name).shape for name in WEIGHTS}
        if found != wanted or self.base.shape != (total,):
            raise ValueError(f"weights must have the shapes {wanted}, not {found}, and base {(total,)}")
        for name in (*WEIGHTS, "base"):
            array, largest = getattr(self, name), -LOWEST_LOGIT if name == "base" else LARGEST_WEIGHT
            if not np.array_equal(array, on_grid(array, WEIGHT_STEP, largest)):
                raise ValueError(f"{name} must hold multiples of {WEIGHT_STEP} up to {largest}")

    @property
    def num_latent(self) -> int:
        """Number of latent dimensions."""
        return self.means.shape[1]

    @cached_property
    def offsets(self) -> np.ndarray:
        """Index of each column's first bucket."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]])

    @cached_property
    def precisions(self) -> np.ndarray:
        """Precision of every level of the spread."""
        return precisions(self.floor)

    @cached_property
    def deviations(self) -> np.ndarray:
        """Standard deviation of every level of the spread."""
        return 1 / np.sqrt(self.precisions)

    def encode(self, buckets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return means (N, l), on the grid of values, and spread levels (N, l) of records (N, m)."""
        hidden = self.embed(buckets)
        means = on_grid(affine(hidden, self.means), VALUE_STEP, LARGEST_MEAN)
        return means, levels(affine(hidden, self.spreads))

    def embed(self, buckets: np.ndarray) -> np.ndarray:
        """Return the first layer of the encoder, (N, h)."""
        summed = np.zeros((len(buckets), self.embedding.shape[1]))
        for j, offset in enumerate(self.offsets):
            summed += self.embedding[buckets[:, j] + offset]
        return rectified(summed)

    def decode(self, points: np.ndarray) -> np.ndarray:
        """Return the probabilities of all buckets (N, all buckets) at points on the grid of values."""
        return self.softmax(affine(rectified(affine(points, self.hidden)), self.output) + self.base)

    def softmax(self, logits: np.ndarray) -> np.ndarray:
        """Return the positive probabilities of the buckets of every column."""
        column_max = np.repeat(np.maximum.reduceat(logits, self.offsets, axis=1), self.sizes, axis=1)
        mass = 1 + np.maximum(logits - column_max, LOWEST_LOGIT) / 2**_EXP_STEPS
        for _ in range(_EXP_STEPS):
            mass *= mass
        mass = np.floor(mass / _MASS_STEP) * _MASS_STEP
        total = np.add.reduceat(mass, self.offsets, axis=1)
        probabilities: np.ndarray = mass / np.repeat(total, self.sizes, axis=1)
        return probabilities


def shapes(total: int, hidden: int, latent: int) -> dict[str, tuple[int, int]]:
    """Return the shapes of the weights."""
    return {
        "embedding": (total, hidden),
        "means": (hidden + 1, latent),
        "spreads": (hidden + 1, latent),
        "hidden": (latent + 1, hidden),
        "output": (hidden + 1, total),
    }


def check_floor(floor: float) -> None:
    """Raise unless the floor of the spread is in [1/32, 1]."""
    if not LEAST_FLOOR <= positive("floor", floor) <= 1:
        raise Refused(
            "floor", floor,
            f"must be between {LEAST_FLOOR:g} and 1: it is the least standard deviation of an encoded "
            "record, next to a spread of all records of about 1",
        )  # fmt: skip


def affine(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the exact product with the weights, whose last row is the bias."""
    product: np.ndarray = values @ weights[:-1] + weights[-1]
    return product


def rectified(values: np.ndarray) -> np.ndarray:
    """Return the positive parts, rounded to the grid of values and clipped."""
    clipped: np.ndarray = np.clip(np.rint(values / VALUE_STEP) * VALUE_STEP, 0.0, LARGEST_VALUE)
    return clipped


def levels(raw: np.ndarray) -> np.ndarray:
    """Return the level of the spread, 0 to ``LEVELS``, of the encoder's output."""
    share = (1 + raw / (1 + np.abs(raw))) / 2
    return np.rint(share * LEVELS).astype(np.int64)
