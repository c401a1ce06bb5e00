"""Which tables are worth their noise. Scores are noisy answers: nothing here looks at rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

NUM_SIZES = 200  # numbers of tables that are weighed against each other, at most
Keep = Callable[[np.ndarray], np.ndarray]


def worth_measuring(
    score: np.ndarray, price: np.ndarray, share: float, sigma: Callable[[float], float], most: int, keep: Keep
) -> tuple[np.ndarray, np.ndarray]:
    """The tables for which the sum of scores less the L1 noise of measuring them all is largest."""
    # Tables are ranked by what they bring beyond their own noise: of two equal scores the smaller table goes
    # first. ``score``: L1 distance that each table would mend, minus infinity for what is not to be measured;
    # ``price``: its L1 noise in standard deviations of a cell; ``sigma``: that for a share of mu^2. ``keep``
    # gets ranked positions, best first, and returns those that may be measured together, in the same order;
    # whether one may does not depend on those after it. Positions, and their shares of mu^2.
    best, chosen, best_shares = 0.0, np.zeros(0, dtype=int), np.zeros(0)
    for k in np.unique(np.geomspace(1, max(most, 1), NUM_SIZES).round().astype(int)):
        top = _first_kept(sigma(share / k) * price - score, int(k), keep)
        top = top[np.isfinite(score[top])]
        if not len(top):
            continue
        shares = price[top] ** (1 / 3)
        shares *= share / shares.sum()
        distinct, which = np.unique(shares, return_inverse=True)  # tables of one shape have one share
        gain = float((score[top] - np.array([sigma(s) for s in distinct])[which] * price[top]).sum())
        if gain > best:
            best, chosen, best_shares = gain, top, shares
    return chosen, best_shares


def _first_kept(value: np.ndarray, k: int, keep: Keep) -> np.ndarray:
    """The first k that ``keep`` leaves of the positions ranked by value; as few as possible are ranked."""
    size = 4 * k
    while True:
        kept = keep(_smallest(value, size))[:k]
        if len(kept) == k or size >= len(value):
            return kept
        size *= 4


def _smallest(value: np.ndarray, size: int) -> np.ndarray:
    """First ``size`` positions, or a few more, of a stable sort by value."""
    if size >= len(value):
        return np.argsort(value, kind="stable")
    among = np.flatnonzero(value <= np.partition(value, size - 1)[size - 1])
    return among[np.argsort(value[among], kind="stable")]
