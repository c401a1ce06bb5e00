"""From pair tables to a network: what is measured, and what follows from it, is in the simulated rows."""

from __future__ import annotations

import numpy as np
import pytest

from sdv_plausible.models.adaptive import maximum_entropy
from sdv_plausible.models.adaptive.estimates import Estimates
from sdv_plausible.models.adaptive.maximum_entropy import elimination_order, fit_network
from sdv_plausible.privacy.noise.coins import Coins

SIZES = (20, 4, 2, 4, 20)  # of a chain a - b - c - d - e: links at the ends weak, in the middle strong
FIRST, MIDDLE, LAST = 1, 2, 3


def link(a: int, b: int, strength: float) -> np.ndarray:
    """Joint distribution of codes in 0..a-1 and 0..b-1 with uniform margins that agree in their leading part so often."""
    same = np.floor(np.arange(a) * b / a)[:, None] == np.arange(b) if a >= b else link(b, a, 1.0).T > 0
    return strength * same / same.sum() + (1 - strength) / (a * b)


def chain() -> Estimates:
    strengths = (0.1, 0.9, 0.9, 0.1)
    pairs = {}
    for i, strength in enumerate(strengths):
        table = link(SIZES[i], SIZES[i + 1], strength)
        pairs[i, i + 1], pairs[i + 1, i] = table, table.T
    margins = [np.full(k, 1 / k) for k in SIZES]
    return Estimates(margins=margins, coarse=margins, buckets=[np.arange(k) for k in SIZES], pairs=pairs)


def distance(rows: np.ndarray, i: int, j: int, expected: np.ndarray) -> float:
    """Total variation distance of a simulated pair from what it should be."""
    found = np.bincount(rows[:, i] * SIZES[j] + rows[:, j], minlength=SIZES[i] * SIZES[j]).reshape(
        SIZES[i], SIZES[j]
    )
    return float(np.abs(found / len(rows) - expected).sum() / 2)


def farthest(estimates: Estimates) -> float:
    """Largest distance of simulated pairs: those measured, and the two that meet in the middle of the chain."""
    _, rows = fit_network(estimates, 300_000, 40_000, Coins.from_seed(3))
    first, last = estimates.pairs[FIRST, MIDDLE], estimates.pairs[MIDDLE, LAST]
    through = (first / estimates.margins[MIDDLE]) @ last
    measured = [distance(rows, i, j, table) for (i, j), table in estimates.pairs.items() if i < j]
    return max(*measured, distance(rows, FIRST, LAST, through))


def test_what_two_columns_share_through_a_third_is_kept():
    assert farthest(chain()) < 0.03


def test_by_size_alone_the_chain_would_be_torn(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(maximum_entropy, "LOSS_STEP", np.inf)
    assert elimination_order(chain()).index(MIDDLE) > max(
        elimination_order(chain()).index(i) for i in (FIRST, LAST)
    )
    assert farthest(chain()) > 0.1


def test_every_column_is_placed_once_whatever_was_measured():
    estimates = chain()
    alone = Estimates(margins=estimates.margins, coarse=estimates.coarse, buckets=estimates.buckets, pairs={})
    assert sorted(elimination_order(alone)) == sorted(elimination_order(estimates)) == [0, 1, 2, 3, 4]
