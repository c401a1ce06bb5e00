"""Normal conditionals (paper, section 3.4): tables whose rows are regressions on the configuration."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from sdv_plausible.table.columns.domain import Attribute

LEAST_DEVIATION = 0.25  # of the narrowest bin's distance to the next: a row at one number stays there


def normal_rows(table: np.ndarray, attribute: Attribute) -> np.ndarray:
    """A table whose rows are Normal over the bins of a number or date, with the mean and variance they had.

    Shape (configurations, cardinality), rows sum to 1. Texts beside numbers, and missing, keep their
    probabilities; categories are left alone. The Normal is cut off at the ends of the range, which moves its
    moments where it is not narrow.
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
    mean = shares @ middle
    spread = (shares * (middle - mean[:, None]) ** 2).sum(axis=1)
    deviation = np.maximum(np.sqrt(spread), LEAST_DEVIATION * np.diff(middle).min())
    cells = np.diff(ndtr((ends - mean[:, None]) / deviation[:, None]), axis=1)
    found = np.array(table, dtype=float)
    found[:, :bins] = mass * cells / cells.sum(axis=1, keepdims=True)
    return found
