"""Tables as numbers, for attacks that compare rows: how far they are apart and how rare they are.

And whom to attack: rows crafted for the worst case, outliers, and random rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.extensions.audit.membership import FloatArray
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

BINS = 16  # of a column of numbers, by equal shares of the reference
BLOCK = 4_000_000  # distances that are held at once


class TableCoder:
    """Codes tables by a reference that sets the scales: numbers and dates by rank, others by category."""

    def __init__(self, reference: pd.DataFrame) -> None:
        if not len(reference):
            raise ValueError("reference has no row: give the table that sets the scales")
        self.columns = list(reference.columns)
        self.is_number = [_is_number(reference[c]) for c in self.columns]
        self._sorted: list[Any] = []
        for name, numeric in zip(self.columns, self.is_number, strict=True):
            values = _numbers(reference[name]) if numeric else _texts(reference[name])
            self._sorted.append(
                np.sort(values[~np.isnan(values)])
                if numeric
                else {v: i for i, v in enumerate(np.unique(values))}
            )

    def ranks(self, frame: pd.DataFrame) -> FloatArray:
        """Shape (n, m): numbers by the share of smaller ones, NaN if missing; others as codes."""
        columns = []
        for name, numeric, known in zip(self.columns, self.is_number, self._sorted, strict=True):
            if numeric:
                values = _numbers(frame[name])
                low, high = (np.searchsorted(known, values, side=s) for s in ("left", "right"))
                columns.append(np.where(np.isnan(values), np.nan, (low + high) / (2 * max(len(known), 1))))
            else:
                columns.append(np.array([known.get(v, -1) for v in _texts(frame[name])], dtype=np.float64))
        return np.column_stack(columns)

    def bins(self, frame: pd.DataFrame) -> np.ndarray:
        """Shape (n, m): small whole numbers, -1 for a missing number and for an unknown category."""
        found = self.ranks(frame)
        for j, numeric in enumerate(self.is_number):
            if numeric:
                cut = np.minimum(np.floor(found[:, j] * BINS), BINS - 1)
                found[:, j] = np.where(np.isnan(cut), -1, cut)
        return found.astype(np.int64)

    def log_density(self, at: FloatArray, table: FloatArray, width: float) -> FloatArray:
        """Log of the mean over the rows of `table` of ``exp(-distance/width)``, for every row of `at`."""
        found = np.empty(len(at))
        for part, distances in self._blocks(at, table):
            scaled = -distances / width
            top = scaled.max(axis=1, keepdims=True)
            found[part] = top[:, 0] + np.log(np.exp(scaled - top).mean(axis=1))
        return found

    def nearest(self, at: FloatArray, table: FloatArray) -> tuple[FloatArray, np.ndarray]:
        """Distance to the closest row of `table`, and its number, for every row of `at`."""
        far, which = np.empty(len(at)), np.empty(len(at), dtype=np.int64)
        for part, distances in self._blocks(at, table):
            which[part] = distances.argmin(axis=1)
            far[part] = distances[np.arange(len(distances)), which[part]]
        return far, which

    def _blocks(self, at: FloatArray, table: FloatArray) -> Any:
        """Distances summed over columns: of ranks, or 1 for another category or where one is missing."""
        step = max(1, BLOCK // max(len(table), 1))
        for start in range(0, len(at), step):
            part = slice(start, start + step)
            rows = at[part]
            total = np.zeros((len(rows), len(table)))
            for j, numeric in enumerate(self.is_number):
                a, b = rows[:, j, None], table[None, :, j]
                if numeric:
                    apart = np.abs(a - b)
                    total += np.where(np.isnan(apart), np.isnan(a) != np.isnan(b), apart)
                else:
                    total += a != b
            yield part, total


def _is_number(column: pd.Series[Any]) -> bool:
    types = pd.api.types
    return bool(
        (types.is_numeric_dtype(column) and not types.is_bool_dtype(column))
        or types.is_datetime64_any_dtype(column)
    )


def _numbers(column: pd.Series[Any]) -> FloatArray:
    if pd.api.types.is_datetime64_any_dtype(column):
        return np.where(column.isna(), np.nan, column.astype("int64").astype(np.float64))
    return np.asarray(pd.to_numeric(column, errors="coerce").astype("float64"), dtype=np.float64)


def _texts(column: pd.Series[Any]) -> np.ndarray:
    return np.array(["" if missing else str(v) for v, missing in zip(column, column.isna(), strict=True)])


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


def random_rows(frame: pd.DataFrame, number: int, coins: KeyedRNG) -> np.ndarray:
    """Positions of so many different rows, all equally likely."""
    return coins.permutation(len(frame))[: _checked(number, frame)]


def crafted(frame: pd.DataFrame, number: int, coins: KeyedRNG) -> pd.DataFrame:
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
