"""Whom to attack: rows crafted for the worst case, outliers, and random rows."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sdv_plausible.audit.attacks.frames import TableCoder
from sdv_plausible.audit.membership import FloatArray
from sdv_plausible.privacy.noise.coins import Coins

KINDS = ("crafted", "outlier", "random")
RARE = 4  # crafted cells come from one of so many rows, the rarest of the column


def rarity(frame: pd.DataFrame) -> FloatArray:
    """How rare every row is: mean over columns of ``-log2`` of the share of rows in its bin, in bits.

    Numbers are cut into 16 bins of equal shares and the bins' ends are told apart from their middle, so that
    a largest value is rarer than one in the crowd.

    Parameters
    ----------
    frame : DataFrame
        At least one row.
    """
    coder = TableCoder(frame)
    return np.asarray(_cell_rarity(coder, frame).mean(axis=1), dtype=np.float64)


def outliers(frame: pd.DataFrame, number: int) -> np.ndarray:
    """Positions of the rarest rows by :func:`rarity`, rarest first."""
    return np.argsort(-rarity(frame), kind="stable")[: _checked(number, frame)]


def random_rows(frame: pd.DataFrame, number: int, coins: Coins) -> np.ndarray:
    """Positions of so many different rows, all equally likely."""
    return coins.permutation(len(frame))[: _checked(number, frame)]


def crafted(frame: pd.DataFrame, number: int, coins: Coins) -> pd.DataFrame:
    """Rows for the worst case: each cell, for itself, from the rarest quarter of its column.

    Such rows are like no other: their cells are values of the table, their combinations are not.

    Parameters
    ----------
    frame : DataFrame
        At least one row.
    number : int
        Rows to make, >= 1.
    coins : Coins
        Choose the cells.
    """
    if number < 1:
        raise ValueError(f"number ({number}) must be at least 1")
    bits = _cell_rarity(TableCoder(frame), frame)
    rare = max(1, len(frame) // RARE)
    made = {}
    for j, name in enumerate(frame.columns):
        from_rows = np.argsort(-bits[:, j], kind="stable")[:rare]
        chosen = from_rows[coins.spawn("column", j).integers(rare, number)]
        made[name] = frame[name].iloc[chosen].reset_index(drop=True)
    return pd.DataFrame(made, columns=frame.columns)


def _cell_rarity(coder: TableCoder, frame: pd.DataFrame) -> FloatArray:
    bins, ranks = coder.bins(frame), coder.ranks(frame)
    bits = np.empty(bins.shape)
    for j, numeric in enumerate(coder.is_number):
        _, where, counts = np.unique(bins[:, j], return_inverse=True, return_counts=True)
        share = counts[where] / len(frame)
        if numeric:  # share of rows at least so far out on its side
            out = np.minimum(ranks[:, j], 1 - ranks[:, j]) * 2
            share = np.where(np.isnan(out), share, np.maximum(out, 1 / len(frame)))
        bits[:, j] = -np.log2(share)
    return bits


def _checked(number: int, frame: pd.DataFrame) -> int:
    if not 1 <= number <= len(frame):
        raise ValueError(f"number ({number}) must be 1 to the number of rows ({len(frame)})")
    return number
