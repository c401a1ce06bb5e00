"""Normal conditionals (paper, section 3.4): each row of a table becomes a Normal over the bins."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from sdv_plausible.table.columns.domain import Attribute

LEAST_DEVIATION = 0.25  # smallest deviation, as a share of the smallest distance between bins
MOST = 3.0  # largest centre beyond the ends and largest deviation, in ranges: the Normal is nearly flat there
STEPS = 100


def normal_rows(table: np.ndarray, attribute: Attribute) -> np.ndarray:
    """Replace the rows of a table by Normals over the bins of a number or date, with equal mean and variance.

    Shape (configurations, cardinality); rows sum to 1. Texts in numeric columns, and missing, keep their
    probabilities. Categorical columns do not change. The Normal is truncated to the range and has the moments
    after truncation. If no Normal has these moments (such as two peaks at the ends), the nearest one is used.
    """
    bins = len(attribute.lower)
    if bins < 2:
        return table
    lower, upper = np.asarray(attribute.lower, dtype=float), np.asarray(attribute.upper, dtype=float)
    middle = (lower + upper) / 2
    boundaries = (upper[:-1] + lower[1:]) / 2
    ends = np.concatenate([[2 * middle[0] - boundaries[0]], boundaries, [2 * middle[-1] - boundaries[-1]]])
    numbers = table[:, :bins]
    mass = numbers.sum(axis=1, keepdims=True)
    # A row without numbers gets uniform shares, which its mass of 0 cancels.
    shares = np.where(mass > 0, numbers / np.where(mass > 0, mass, 1.0), 1 / bins)
    result = np.array(table, dtype=float)
    result[:, :bins] = mass * _truncated(shares, middle, ends)
    return result


def _truncated(shares: np.ndarray, middle: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return truncated Normals whose mean and deviation over the bins are those of ``shares``."""
    least, width = LEAST_DEVIATION * np.diff(middle).min(), ends[-1] - ends[0]
    target_mean, target_deviation = _moments(shares, middle)
    target_deviation = np.maximum(target_deviation, least)
    centre, deviation = target_mean.copy(), target_deviation.copy()
    best, error = _cells(centre, deviation, ends), np.full(len(shares), np.inf)
    for _ in range(STEPS):  # fixed-point iteration that compensates for the truncation
        cells = _cells(centre, deviation, ends)
        mean, deviation_now = _moments(cells, middle)
        error_now = np.abs(mean - target_mean) / target_deviation + np.abs(
            deviation_now / target_deviation - 1
        )
        is_better = error_now < error
        best[is_better], error[is_better] = cells[is_better], error_now[is_better]
        centre = np.clip(centre + target_mean - mean, ends[0] - MOST * width, ends[-1] + MOST * width)
        deviation = np.clip(
            deviation * target_deviation / np.maximum(deviation_now, least), least, MOST * width
        )
    return best


def _cells(centre: np.ndarray, deviation: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the mass of each bin under Normals truncated to the ends."""
    scaled = (ends - centre[:, None]) / deviation[:, None]
    # For bins above the centre, differences of upper tails avoid cancellation.
    cells = np.where(
        scaled[:, :-1] > 0, ndtr(-scaled[:, :-1]) - ndtr(-scaled[:, 1:]), np.diff(ndtr(scaled), axis=1)
    )
    total = cells.sum(axis=1, keepdims=True)
    return np.where(total > 0, cells / np.where(total > 0, total, 1.0), 1 / cells.shape[1])


def _moments(cells: np.ndarray, middle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of the bins' middles."""
    mean = cells @ middle
    return mean, np.sqrt((cells * (middle - mean[:, None]) ** 2).sum(axis=1))
