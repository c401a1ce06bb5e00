"""How people round: the share of numbers that are multiples of 5, 10, 50, ...

And moments at full and half hours.

Inside a bin of many values a draw first chooses how round the value is, as the noisy shares say for
numbers of its size, and then one of the values that are as round. Incomes come out in hundreds, departures
in five minutes; where nothing is rounded, the shares say so, and the draw is uniform.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

NUMBER_STEPS = (1, 5, 10, 50, 100, 500, 1000, 5000, 10_000, 50_000, 100_000, 500_000, 1_000_000)
SIZES = 8  # numbers of 1, 2, ... 8 and more digits are told apart
SURE = 2.5  # standard deviations above 0 from which a share counts
TELLING = 10.0  # standard deviations that the numbers of a size must have together


@dataclass(frozen=True)
class Rounding:
    """Shares of rounded lattice points.

    Parameters
    ----------
    steps : tuple of int
        Increasing, the first 1: a point belongs to the largest step that divides it.
    weights : tuple of tuple of float, shape (sizes, steps)
        For points of 1, 2, ... digits the share of each step; one row serves points of all sizes.
    """

    steps: tuple[int, ...]
    weights: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        table = np.array(self.weights, dtype=float)
        shaped = table.ndim == 2 and table.shape[1] == len(self.steps) and bool((table >= 0).all())
        if (
            not shaped
            or not (table.sum(axis=1) > 0).all()
            or self.steps[0] != 1
            or list(self.steps) != sorted(set(self.steps))
        ):
            raise ValueError(
                "rounding: steps must increase from 1, and weights have a non-negative row of as many "
                "shares per size"
            )

    def draw(self, low: np.ndarray, high: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Lattice points in the closed runs low..high, from two uniform numbers each."""
        weights = np.array(self.weights)
        chosen = weights[np.minimum(sizes((low + high) // 2), len(weights) - 1)]
        fits = np.stack([high // step - (low - 1) // step > 0 for step in self.steps], axis=1)
        chosen = np.where(fits, chosen, 0.0)
        chosen[:, 0] += chosen.sum(axis=1) == 0  # no multiple of a step that occurs: any point
        cumulative = np.cumsum(chosen, axis=1)
        which = (u[:, None] * cumulative[:, -1:] >= cumulative).sum(axis=1)
        step = np.array(self.steps, dtype=np.int64)[np.minimum(which, len(self.steps) - 1)]
        first, last = -(-low // step), high // step
        return (first + np.minimum((v * (last - first + 1)).astype(np.int64), last - first)) * step


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
    """Rounding from noisy counts of points by size and step, shape (sizes, steps); post-processing.

    Where the numbers of a size hardly stand out from the noise, their steps get the shares of points nobody
    rounds.
    """
    kept = np.where(counts > SURE * sigma, counts, 0.0)
    plain = np.array([_share_of_plain(steps, i) for i in range(len(steps))])
    rows = [row / row.sum() if row.sum() > TELLING * max(sigma, 1e-9) else plain for row in kept]
    return Rounding(tuple(steps), tuple(tuple(row.tolist()) for row in rows))


def _share_of_plain(steps: Sequence[int], i: int) -> float:
    """Share of all whole numbers whose largest step is steps[i]."""
    whole = int(np.lcm.reduce(np.array(steps, dtype=object)))
    if (
        whole > 10**6
    ):  # decimal steps: each is divided by the smaller ones but for twos and fives; close enough
        return 1 / steps[i] - (1 / steps[i + 1] if i + 1 < len(steps) else 0)
    numbers = classes(np.arange(1, whole + 1), steps)
    return float((numbers == i).mean())
