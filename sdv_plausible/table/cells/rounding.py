"""Rounding by people: the share of numbers that are multiples of 5, 10, 50, ...

Inside a wide bin, sampling first draws a rounding step from the noisy shares for numbers of that size, then
one of its multiples. Incomes come out in hundreds. Where nothing is rounded the shares reflect that, and the
draw is uniform.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from sdv_plausible.table.cells.number_texts import LARGEST_STEP

NUMBER_STEPS = (1, 5, 10, 50, 100, 500, 1000, 5000, 10_000, 50_000, 100_000, 500_000, 1_000_000)
SIZES = 8  # size classes: numbers of 1, 2, ... 7 digits, and of 8 or more
MIN_SIGNAL = 2.5  # standard deviations above 0 at which a share is significant
MIN_TOTAL_SIGNAL = 10.0  # standard deviations that the total of a size class must exceed


@dataclass(frozen=True)
class Rounding:
    """Shares of grid points that are rounded to each step."""

    steps: tuple[int, ...]  # increasing, the first 1
    # shape (sizes, steps): for points of 1, 2, ... digits, the share of values rounded to each step. A single
    # row serves points of all sizes.
    weights: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        steps, rows = self.steps, self.weights
        increasing = bool(steps) and steps[0] == 1 and all(a < b for a, b in pairwise(steps))
        whole = all(isinstance(s, int) and not isinstance(s, bool) and s <= LARGEST_STEP for s in steps)
        if (
            not (whole and increasing and rows)
            or any(len(row) != len(steps) or not all(weight >= 0 for weight in row) for row in rows)
            or not all(0 < sum(row) < math.inf for row in rows)
        ):
            raise ValueError(
                "rounding: steps must increase from 1, whole numbers, and weights have a non-negative row of "
                "as many shares per size"
            )

    def to_dict(self) -> dict[str, Any]:
        """JSON form; :meth:`from_dict` reads it back."""
        weights = [[float(weight) for weight in row] for row in self.weights]
        return {"steps": [int(step) for step in self.steps], "weights": weights}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Rounding:
        """Read the JSON form."""
        return cls(tuple(document["steps"]), tuple(tuple(map(float, row)) for row in document["weights"]))

    def draw(self, low: np.ndarray, high: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Draw grid points from the closed intervals low..high, using two uniform numbers each."""
        weights = np.array(self.weights)
        middle = low + (high - low) // 2
        chosen = weights[np.minimum(size_classes(middle), len(weights) - 1)]
        zero = (low <= 0) & (high >= 0)  # 0 is a multiple of every step, and no evidence of rounding
        multiples = [high // step - (low - 1) // step - (zero if step > 1 else 0) for step in self.steps]
        fits = np.stack(multiples, axis=1) > 0
        chosen = np.where(fits, chosen, 0.0)
        chosen[:, 0] += chosen.sum(axis=1) == 0  # no multiple of any used step: any point
        cumulative = np.cumsum(chosen, axis=1)
        which = (u[:, None] * cumulative[:, -1:] >= cumulative).sum(axis=1)
        step = np.array(self.steps, dtype=np.int64)[np.minimum(which, len(self.steps) - 1)]
        first, last = -(-low // step), high // step
        drawn = (first + np.minimum((v * (last - first + 1)).astype(np.int64), last - first)) * step
        return np.clip(drawn, low, high)  # a share near 0 may select a step that does not fit


def size_classes(points: np.ndarray) -> np.ndarray:
    """Size class of each point: its number of digits minus one, at most ``SIZES`` - 1."""
    return np.searchsorted(10 ** np.arange(1, SIZES), np.abs(points), side="right")


def step_classes(points: np.ndarray, steps: Sequence[int]) -> np.ndarray:
    """Index of the largest step that divides each point; all steps divide 0."""
    indices = np.zeros(len(points), dtype=np.int64)
    for number, step in enumerate(steps):
        indices[points % step == 0] = number
    return indices


def estimate_rounding(counts: np.ndarray, sigma: float, steps: Sequence[int]) -> Rounding:
    """Estimate shares from noisy counts of points by size and step, shape (sizes, steps). Post-processing."""
    # Values rounded to a step include multiples of larger steps. A larger step gets a share only where its
    # points exceed what smaller steps explain, and exceed the noise. A size class without a clear signal
    # uses the shares of all sizes. Without any signal, nothing is rounded.
    table = np.asarray(counts, dtype=float)
    unrounded = (1.0, *[0.0] * (len(steps) - 1))
    pooled = _shares(table.sum(axis=0).tolist(), sigma * math.sqrt(len(table)), steps) or unrounded
    return Rounding(tuple(steps), tuple(_shares(row, sigma, steps) or pooled for row in table.tolist()))


def _shares(counts: Sequence[float], sigma: float, steps: Sequence[int]) -> tuple[float, ...] | None:
    """Shares of the steps, each of which divides the next; None where noise hides them."""
    if sum(count for count in counts if count > MIN_SIGNAL * sigma) <= MIN_TOTAL_SIGNAL * max(sigma, 1e-9):
        return None
    shares, density = [], 0.0  # density: values per point at the multiples of a step
    for count, step, larger in zip(counts, steps, (*steps[1:], math.inf), strict=True):
        exclusive = 1 / step - 1 / larger  # share of points whose largest step this is
        excess = count - exclusive * density
        shares.append(excess / (exclusive * step) if excess > MIN_SIGNAL * sigma else 0.0)
        density += shares[-1] * step
    total = sum(shares)
    return tuple(share / total for share in shares) if total else None
