"""How many of some records turn up when records are drawn in a random order: exactly, in whole numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sdv_plausible.privacy.checks import whole
from sdv_plausible.privacy.noise.coins import Coins

Counts = npt.NDArray[np.int64]


def count_among_drawn(counts: npt.ArrayLike, population: int, drawn: int, stop: int, coins: Coins) -> Counts:
    """Of each number of records that count, how many are among those drawn without replacement."""
    # Drawing is fresh for every entry and stops at ``stop`` of them: ``min(stop, hypergeometric)``. Every
    # draw is one unbiased whole number, so the law is exact. ``counts`` has shape (N,), entries
    # 0..population.
    whole("population", population, 1)
    whole("stop", stop, 1)
    counted = np.asarray(counts, dtype=np.int64)
    # Who counts and who is drawn may change places: the smaller number is gone through one by one.
    gone_through, others = np.minimum(counted, drawn), np.maximum(counted, drawn)
    found = np.zeros(len(counted), dtype=np.int64)
    active, step = np.flatnonzero(gone_through > 0), 0
    while len(active):
        hit = coins.integers(population - step, len(active)) < others[active] - found[active]
        found[active] += hit
        step += 1
        active = active[(found[active] < stop) & (step < gone_through[active])]
    return found
