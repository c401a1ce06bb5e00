"""Latent points of records: Gaussians on a grid, whose log probabilities are exact sums of grid numbers.

One matrix product gives them for many points and seeds at once, to the last bit whatever the blocks
(docs/explanation/proofs/latent_test.md, Lemma 2).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from sdv_plausible.models.latent.network import VALUE_STEP, precisions
from sdv_plausible.privacy.noise.coins import Coins

LOG_STEP = VALUE_STEP**3 / 2  # every log probability is a multiple of it
_REACH = 9.5  # standard deviations: nothing is drawn beyond (latent_test.md, Lemma 3)
_FINE = 2.0**-53  # a uniform number's last bit: a second one goes on from there


def draw(means: np.ndarray, levels: np.ndarray, floor: float, coins: Coins) -> np.ndarray:
    """Draw a point (N, l) around each mean, with the spread of its levels, by inversion from the far ends."""
    uniform = coins.uniform(levels.shape) + _FINE * coins.uniform(levels.shape)
    side = 1 - 2 * coins.integers(2, levels.shape)
    steps = np.empty(levels.shape, dtype=np.int64)
    for level in np.unique(levels).tolist():
        values, masses = law(floor, level)
        at_least = np.cumsum(2 * masses[values < 0])  # so many steps away: the most first, which are rarest
        here = levels == level
        steps[here] = len(at_least) - np.searchsorted(at_least, uniform[here], side="right")
    found: np.ndarray = means + side * steps * VALUE_STEP
    return found


def features(points: np.ndarray) -> np.ndarray:
    """Squares, coordinates and 1 of every point, (N, 2 l + 1)."""
    return np.hstack([np.square(points), points, np.ones((len(points), 1))])


def terms(means: np.ndarray, levels: np.ndarray, floor: float) -> np.ndarray:
    """Coefficients (n, 2 l + 1) of the squares, the coordinates and 1 in every seed's log probability."""
    precision = precisions(floor)[levels]
    constant = np.square(means) * precision / 2 + log_totals(floor)[levels]
    return np.hstack([-precision / 2, precision * means, -constant.sum(axis=1, keepdims=True)])


@lru_cache(maxsize=1024)
def law(floor: float, level: int) -> tuple[np.ndarray, np.ndarray]:
    """Steps from the mean, and their probabilities, at a level of the spread: a Gaussian on the grid."""
    values, weights = _weights(floor, level)
    return values, weights / weights.sum()


@lru_cache(maxsize=64)
def log_totals(floor: float) -> np.ndarray:
    """Logarithm of what the weights add up to, for every level, on the grid of logarithms."""
    totals = [_weights(floor, level)[1].sum() for level in range(len(precisions(floor)))]
    found: np.ndarray = np.rint(np.log(totals) / LOG_STEP) * LOG_STEP
    return found


def _weights(floor: float, level: int) -> tuple[np.ndarray, np.ndarray]:
    precision = precisions(floor)[level]
    reach = int(_REACH / np.sqrt(precision) / VALUE_STEP)
    values = np.arange(-reach, reach + 1)
    return values, np.exp(-np.square(values * VALUE_STEP) * precision / 2)
