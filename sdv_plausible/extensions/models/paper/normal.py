"""Normal conditionals (paper, section 3.4): tables whose rows are regressions on the configuration."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from sdv_plausible.table.columns.domain import Attribute

LEAST_DEVIATION = 0.25  # of the narrowest bin's distance to the next: a row at one number stays there
MOST = (
    3.0  # ranges beyond the ends to which a Normal's centre may go, and of its deviation: nearly flat there
)
STEPS = 100


def normal_rows(table: np.ndarray, attribute: Attribute) -> np.ndarray:
    """A table whose rows are Normal over the bins of a number or date, with the mean and variance they had.

    Shape (configurations, cardinality), rows sum to 1. Texts beside numbers, and missing, keep their
    probabilities; categories are left alone. The Normal is cut off at the ends of the range, and has the
    moments as it is then; where none has them (as of two heaps at the ends), it is the nearest found.
    """
    bins = len(attribute.lower)
    if bins < 2:
        return table
    lower, upper = np.asarray(attribute.lower, dtype=float), np.asarray(attribute.upper, dtype=float)
    middle = (lower + upper) / 2
    inner = (upper[:-1] + lower[1:]) / 2
    ends = np.concatenate([[2 * middle[0] - inner[0]], inner, [2 * middle[-1] - inner[-1]]])
    numbers = table[:, :bins]
    mass = numbers.sum(axis=1, keepdims=True)
    # A row that has no number is given some: its mass makes nothing of them, and 0 may be far from the range.
    shares = np.where(mass > 0, numbers / np.where(mass > 0, mass, 1.0), 1 / bins)
    found = np.array(table, dtype=float)
    found[:, :bins] = mass * _truncated(shares, middle, ends)
    return found


def _truncated(shares: np.ndarray, middle: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Normals cut off at the ends, whose mean and deviation over the bins are those of ``shares``."""
    least, width = LEAST_DEVIATION * np.diff(middle).min(), ends[-1] - ends[0]
    wanted, spread = _moments(shares, middle)
    spread = np.maximum(spread, least)
    centre, deviation = wanted.copy(), spread.copy()
    best, error = _cells(centre, deviation, ends), np.full(len(shares), np.inf)
    for _ in range(STEPS):  # what truncation takes from the moments is given back, again and again
        cells = _cells(centre, deviation, ends)
        mean, around = _moments(cells, middle)
        off = np.abs(mean - wanted) / spread + np.abs(around / spread - 1)
        nearer = off < error
        best[nearer], error[nearer] = cells[nearer], off[nearer]
        centre = np.clip(centre + wanted - mean, ends[0] - MOST * width, ends[-1] + MOST * width)
        deviation = np.clip(deviation * spread / np.maximum(around, least), least, MOST * width)
    return best


def _cells(centre: np.ndarray, deviation: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Mass of each bin under Normals, of all that is between the ends."""
    scaled = (ends - centre[:, None]) / deviation[:, None]
    # On the side where both ends are above the centre the tails tell them apart, and not what is below.
    cells = np.where(
        scaled[:, :-1] > 0, ndtr(-scaled[:, :-1]) - ndtr(-scaled[:, 1:]), np.diff(ndtr(scaled), axis=1)
    )
    whole = cells.sum(axis=1, keepdims=True)
    return np.where(whole > 0, cells / np.where(whole > 0, whole, 1.0), 1 / cells.shape[1])


def _moments(cells: np.ndarray, middle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of bins' middles."""
    mean = cells @ middle
    return mean, np.sqrt((cells * (middle - mean[:, None]) ** 2).sum(axis=1))
