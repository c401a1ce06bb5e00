"""Which tables are worth their noise. Scores are noisy answers: nothing here looks at rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

NUM_SIZES = 200  # numbers of tables that are weighed against each other, at most
Keep = Callable[[np.ndarray], np.ndarray]


def worth_measuring(
    score: np.ndarray, price: np.ndarray, share: float, sigma: Callable[[float], float], most: int, keep: Keep
) -> tuple[np.ndarray, np.ndarray]:
    """The tables for which the sum of scores less the L1 noise of measuring them all is largest.

    Tables are ranked by what they bring beyond their own noise: of two equal scores the smaller table goes
    first.

    Parameters
    ----------
    score : ndarray
        L1 distance that each table would mend; minus infinity for what is not to be measured.
    price : ndarray
        L1 noise of each table, in standard deviations of a cell.
    share : float
        Share of mu^2 for all of them.
    sigma : callable
        Noise deviation of a cell for a share of mu^2.
    most : int
        Number of tables, at most.
    keep : callable
        Of ranked positions, best first, those that may be measured together, in the same order.

    Returns
    -------
    chosen : ndarray of int
        Positions.
    shares : ndarray
        Their shares of mu^2.
    """
    best, chosen, best_shares = 0.0, np.zeros(0, dtype=int), np.zeros(0)
    for k in np.unique(np.geomspace(1, max(most, 1), NUM_SIZES).round().astype(int)):
        top = keep(np.argsort(sigma(share / k) * price - score, kind="stable"))[:k]
        top = top[np.isfinite(score[top])]
        if not len(top):
            continue
        shares = price[top] ** (1 / 3)
        shares *= share / shares.sum()
        gain = float((score[top] - np.array([sigma(s) for s in shares]) * price[top]).sum())
        if gain > best:
            best, chosen, best_shares = gain, top, shares
    return chosen, best_shares
