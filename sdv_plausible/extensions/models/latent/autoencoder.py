"""Encoder and decoder in fixed point: every number lies on a public grid, so that sums are exact.

A sum of grid numbers below 2**53 units is exact in doubles, in any order and in any blocks of
rows; all else is done number by number with operations that IEEE 754 rounds correctly. So what a network says
of a record is a function of that record alone, to the last bit (docs/explanation/proofs/latent_test.md,
Lemma 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sdv_plausible.privacy.parameter_checks import Refused, positive

WEIGHT_STEP, VALUE_STEP = 2.0**-10, 2.0**-8
LARGEST_WEIGHT, LARGEST_VALUE, LARGEST_MEAN = 8.0, 16.0, 8.0
LEVELS = 32  # of the spread, evenly on a logarithmic scale from the floor to 1
LEAST_FLOOR = 1 / 32
MOST_LATENT, MOST_HIDDEN = 16, 1024
MOST_BUCKETS = 4096  # of a column: sums of their masses are exact
LOWEST_LOGIT = -24.0
_EXP_STEPS = 10  # exp(x) is (1 + x / 2**10) ** 2**10
_MASS_STEP = 2.0**-40
WEIGHTS = ("embedding", "means", "spreads", "hidden", "output")


def on_grid(values: np.ndarray, step: float, largest: float) -> np.ndarray:
    """Nearest multiples of a step, within +-largest."""
    rounded: np.ndarray = np.clip(np.rint(values / step) * step, -largest, largest)
    return rounded


def precisions(floor: float) -> np.ndarray:
    """Precision ``1 / sigma**2`` of every level, on the grid of values: the first is the floor's."""
    spreads = floor ** (1 - np.arange(LEVELS + 1) / LEVELS)
    found: np.ndarray = (
        np.floor(1 / spreads**2 / VALUE_STEP) * VALUE_STEP
    )  # down: spreads not below the floor
    return found


@dataclass(frozen=True, eq=False)
class Autoencoder:
    """Weights of an encoder and a decoder over columns of buckets."""

    sizes: tuple[int, ...]
    floor: float  # least spread of an encoded record, in [1/32, 1]
    base: np.ndarray  # shape (all buckets,): logits that the decoder starts from
    # Weights: (all buckets, h), (h + 1, l), (h + 1, l), (l + 1, h), (h + 1, all buckets); last rows are
    # biases
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
        """Dimensions of the latent space."""
        return self.means.shape[1]

    @cached_property
    def offsets(self) -> np.ndarray:
        """Where every column's buckets begin."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]])

    @cached_property
    def precisions(self) -> np.ndarray:
        """Precision of every level of the spread."""
        return precisions(self.floor)

    @cached_property
    def deviations(self) -> np.ndarray:
        """Standard deviation of every level."""
        return 1 / np.sqrt(self.precisions)

    def encode(self, buckets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means (N, l), on the grid of values, and levels (N, l) of the spread, of records (N, m)."""
        active = self.embed(buckets)
        means = on_grid(affine(active, self.means), VALUE_STEP, LARGEST_MEAN)
        return means, levels(affine(active, self.spreads))

    def embed(self, buckets: np.ndarray) -> np.ndarray:
        """First layer of the encoder, (N, h)."""
        summed = np.zeros((len(buckets), self.embedding.shape[1]))
        for j, offset in enumerate(self.offsets):
            summed += self.embedding[buckets[:, j] + offset]
        return rectified(summed)

    def decode(self, points: np.ndarray) -> np.ndarray:
        """Probabilities of every bucket of every column (N, all buckets), of points on the grid of values."""
        return self.softmax(affine(rectified(affine(points, self.hidden)), self.output) + self.base)

    def softmax(self, logits: np.ndarray) -> np.ndarray:
        """Probabilities of the buckets of every column; none is 0."""
        top = np.repeat(np.maximum.reduceat(logits, self.offsets, axis=1), self.sizes, axis=1)
        mass = 1 + np.maximum(logits - top, LOWEST_LOGIT) / 2**_EXP_STEPS
        for _ in range(_EXP_STEPS):
            mass *= mass
        mass = np.floor(mass / _MASS_STEP) * _MASS_STEP
        total = np.add.reduceat(mass, self.offsets, axis=1)
        probabilities: np.ndarray = mass / np.repeat(total, self.sizes, axis=1)
        return probabilities


def shapes(total: int, hidden: int, latent: int) -> dict[str, tuple[int, int]]:
    """Shapes of the weights."""
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
    """Exact product with the weights, the last row being the bias."""
    found: np.ndarray = values @ weights[:-1] + weights[-1]
    return found


def rectified(values: np.ndarray) -> np.ndarray:
    """Positive parts, on the grid of values and up to a largest one."""
    found: np.ndarray = np.clip(np.rint(values / VALUE_STEP) * VALUE_STEP, 0.0, LARGEST_VALUE)
    return found


def levels(raw: np.ndarray) -> np.ndarray:
    """Level of the spread from the encoder's number, 0 to ``LEVELS``."""
    share = (1 + raw / (1 + np.abs(raw))) / 2
    return np.rint(share * LEVELS).astype(np.int64)
