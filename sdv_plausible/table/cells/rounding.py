"""How people round: the share of numbers that are multiples of 5, 10, 50, ...

Inside a bin of many values a draw first chooses how round the value is, as the noisy shares say for numbers
of its size, and then one of the values that are as round. Incomes come out in hundreds; where nothing is
rounded, the shares say so, and the draw is uniform.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

NUMBER_STEPS = (1, 5, 10, 50, 100, 500, 1000, 5000, 10_000, 50_000, 100_000, 500_000, 1_000_000)
SIZES = 8  # numbers of 1, 2, ... 8 and more digits are told apart
SURE = 2.5  # standard deviations above 0 from which a share counts
LARGEST_STEP = 2**62
TELLING = 10.0  # standard deviations that the numbers of a size must have together


@dataclass(frozen=True)
class Rounding:
    """Shares of lattice points that are rounded to steps."""

    steps: tuple[int, ...]  # increasing, the first 1
    # shape (sizes, steps): for points of 1, 2, ... digits the share of values rounded to each step, that is,
    # of any of its multiples; one row serves points of all sizes
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
        """Plain form; :meth:`from_dict` reads it back."""
        weights = [[float(weight) for weight in row] for row in self.weights]
        return {"steps": [int(step) for step in self.steps], "weights": weights}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Rounding:
        """Read the plain form, of lists of numbers."""
        return cls(tuple(document["steps"]), tuple(tuple(map(float, row)) for row in document["weights"]))

    def draw(self, low: np.ndarray, high: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Lattice points in the closed runs low..high, from two uniform numbers each."""
        weights = np.array(self.weights)
        middle = low + (high - low) // 2
        chosen = weights[np.minimum(sizes(middle), len(weights) - 1)]
        zero = (low <= 0) & (high >= 0)  # a multiple of every step, and no sign of rounding
        others = [high // step - (low - 1) // step - (zero if step > 1 else 0) for step in self.steps]
        fits = np.stack(others, axis=1) > 0
        chosen = np.where(fits, chosen, 0.0)
        chosen[:, 0] += chosen.sum(axis=1) == 0  # no multiple of a step that occurs: any point
        cumulative = np.cumsum(chosen, axis=1)
        which = (u[:, None] * cumulative[:, -1:] >= cumulative).sum(axis=1)
        step = np.array(self.steps, dtype=np.int64)[np.minimum(which, len(self.steps) - 1)]
        first, last = -(-low // step), high // step
        drawn = (first + np.minimum((v * (last - first + 1)).astype(np.int64), last - first)) * step
        return np.clip(drawn, low, high)  # a share next to 0 may round to a step that does not fit


def sizes(points: np.ndarray) -> np.ndarray:
    """Number of digits of each point less one, at most ``SIZES`` - 1."""
    return np.searchsorted(10 ** np.arange(1, SIZES), np.abs(points), side="right")


def classes(points: np.ndarray, steps: Sequence[int]) -> np.ndarray:
    """Number of the largest step that divides each point; 0 is divided by all."""
    found = np.zeros(len(points), dtype=np.int64)
    for number, step in enumerate(steps):
        found[points % step == 0] = number
    return found


def estimate(counts: np.ndarray, sigma: float, steps: Sequence[int]) -> Rounding:
    """Rounding from noisy counts of points by size and step, shape (sizes, steps); post-processing."""
    # Among values rounded to a step there are multiples of larger steps too: a larger step has a share only
    # as far as its points are more than the smaller ones explain, and stand out from the noise. Numbers of a
    # size that hardly do together are rounded as all are; where all hardly do, nobody rounds.
    table = np.asarray(counts, dtype=float)
    plain = (1.0, *[0.0] * (len(steps) - 1))
    of_all = _shares(table.sum(axis=0).tolist(), sigma * math.sqrt(len(table)), steps) or plain
    return Rounding(tuple(steps), tuple(_shares(row, sigma, steps) or of_all for row in table.tolist()))


def _shares(counts: Sequence[float], sigma: float, steps: Sequence[int]) -> tuple[float, ...] | None:
    """Shares of the steps, each of which divides the next one; None where the noise hides them."""
    if sum(count for count in counts if count > SURE * sigma) <= TELLING * max(sigma, 1e-9):
        return None
    found, density = [], 0.0  # of values at the multiples of a step, per point
    for count, step, larger in zip(counts, steps, (*steps[1:], math.inf), strict=True):
        alone = 1 / step - 1 / larger  # share of all points of which this is the largest step
        excess = count - alone * density
        found.append(excess / (alone * step) if excess > SURE * sigma else 0.0)
        density += found[-1] * step
    whole = sum(found)
    return tuple(share / whole for share in found) if whole else None
