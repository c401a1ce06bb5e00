"""Tables as numbers for attacks: distance and rarity of rows, and the choice of targets.

Targets are crafted worst-case rows, outliers, or random rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.extensions.audit.membership import FloatArray
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

BINS = 16  # quantile bins of a numerical column of the reference
BLOCK = 4_000_000  # distances computed at once


class TableCoder:
    """Encodes tables relative to a reference: numbers and dates by rank, other columns by category."""

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
        """Return shape (n, m): rank shares of numbers (NaN if missing), and category codes."""
        columns = []
        for name, numeric, reference in zip(self.columns, self.is_number, self._sorted, strict=True):
            if numeric:
                values = _numbers(frame[name])
                low, high = (np.searchsorted(reference, values, side=s) for s in ("left", "right"))
                columns.append(
                    np.where(np.isnan(values), np.nan, (low + high) / (2 * max(len(reference), 1)))
                )
            else:
                columns.append(
                    np.array([reference.get(v, -1) for v in _texts(frame[name])], dtype=np.float64)
                )
        return np.column_stack(columns)

    def bins(self, frame: pd.DataFrame) -> np.ndarray:
        """Return shape (n, m): small integers, -1 for a missing number or an unknown category."""
        codes = self.ranks(frame)
        for j, numeric in enumerate(self.is_number):
            if numeric:
                number_bins = np.minimum(np.floor(codes[:, j] * BINS), BINS - 1)
                codes[:, j] = np.where(np.isnan(number_bins), -1, number_bins)
        return codes.astype(np.int64)

    def log_density(self, at: FloatArray, table: FloatArray, width: float) -> FloatArray:
        """Return the log mean over rows of `table` of ``exp(-distance/width)``, per row of `at`."""
        log_densities = np.empty(len(at))
        for part, distances in self._blocks(at, table):
            scaled = -distances / width
            maximum = scaled.max(axis=1, keepdims=True)
            log_densities[part] = maximum[:, 0] + np.log(np.exp(scaled - maximum).mean(axis=1))
        return log_densities

    def nearest(self, at: FloatArray, table: FloatArray) -> tuple[FloatArray, np.ndarray]:
        """Return the distance to the closest row of `table` and its index, per row of `at`."""
        distance, index = np.empty(len(at)), np.empty(len(at), dtype=np.int64)
        for part, distances in self._blocks(at, table):
            index[part] = distances.argmin(axis=1)
            distance[part] = distances[np.arange(len(distances)), index[part]]
        return distance, index

    def _blocks(self, at: FloatArray, table: FloatArray) -> Any:
        """Yield blocks of distances: rank differences, 1 for different categories or one missing value."""
        step = max(1, BLOCK // max(len(table), 1))
        for start in range(0, len(at), step):
            part = slice(start, start + step)
            rows = at[part]
            total = np.zeros((len(rows), len(table)))
            for j, numeric in enumerate(self.is_number):
                a, b = rows[:, j, None], table[None, :, j]
                if numeric:
                    difference = np.abs(a - b)
                    total += np.where(np.isnan(difference), np.isnan(a) != np.isnan(b), difference)
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
RARE = 4  # crafted cells come from the rarest quarter of a column


def rarity(frame: pd.DataFrame) -> FloatArray:
    """Return the rarity of every row: the mean over columns of ``-log2`` of its bin's share, in bits.

    Numbers are cut into 16 quantile bins. Within them, extreme values count as rarer than central ones.

    Parameters
    ----------
    frame : DataFrame
        At least one row.

    Returns
    -------
    ndarray of float, shape (n,)
        Rarity in bits.
    """
    coder = TableCoder(frame)
    return np.asarray(_cell_rarity(coder, frame).mean(axis=1), dtype=np.float64)


def outliers(frame: pd.DataFrame, number: int) -> np.ndarray:
    """Return the positions of the rarest rows by :func:`rarity`, rarest first.

    Parameters
    ----------
    frame : DataFrame
        At least one row.
    number : int
        Number of rows, from 1 to the number of rows of `frame`.

    Returns
    -------
    ndarray of int, shape (number,)
        Row positions.

    Raises
    ------
    ValueError
        If `number` is out of range.
    """
    return np.argsort(-rarity(frame), kind="stable")[: _checked(number, frame)]


def random_rows(frame: pd.DataFrame, number: int, rng: KeyedRNG) -> np.ndarray:
    """Return the positions of distinct rows, drawn uniformly.

    Parameters
    ----------
    frame : DataFrame
        At least one row.
    number : int
        Number of rows, from 1 to the number of rows of `frame`.
    rng : KeyedRNG
        Random number generator.

    Returns
    -------
    ndarray of int, shape (number,)
        Row positions.

    Raises
    ------
    ValueError
        If `number` is out of range.
    """
    return rng.permutation(len(frame))[: _checked(number, frame)]


def crafted(frame: pd.DataFrame, number: int, rng: KeyedRNG) -> pd.DataFrame:
    """Return worst-case rows: each cell is drawn from the rarest quarter of its column.

    Cells are values of the table; their combinations usually are not.

    Parameters
    ----------
    frame : DataFrame
        At least one row.
    number : int
        Number of rows to make, >= 1.
    rng : KeyedRNG
        Random number generator.

    Returns
    -------
    DataFrame
        The rows, with the columns of `frame`.

    Raises
    ------
    ValueError
        If `number` is below 1.
    """
    if number < 1:
        raise ValueError(f"number ({number}) must be at least 1")
    rarities = _cell_rarity(TableCoder(frame), frame)
    num_rare = max(1, len(frame) // RARE)
    columns = {}
    for j, name in enumerate(frame.columns):
        rarest = np.argsort(-rarities[:, j], kind="stable")[:num_rare]
        chosen = rarest[rng.spawn("column", j).integers(num_rare, number)]
        columns[name] = frame[name].iloc[chosen].reset_index(drop=True)
    return pd.DataFrame(columns, columns=frame.columns)


def _cell_rarity(coder: TableCoder, frame: pd.DataFrame) -> FloatArray:
    bins, ranks = coder.bins(frame), coder.ranks(frame)
    bits = np.empty(bins.shape)
    for j, numeric in enumerate(coder.is_number):
        _, bin_index, counts = np.unique(bins[:, j], return_inverse=True, return_counts=True)
        share = counts[bin_index] / len(frame)
        if numeric:  # share of rows at least as extreme on the same side
            tail_share = np.minimum(ranks[:, j], 1 - ranks[:, j]) * 2
            share = np.where(np.isnan(tail_share), share, np.maximum(tail_share, 1 / len(frame)))
        bits[:, j] = -np.log2(share)
    return bits


def _checked(number: int, frame: pd.DataFrame) -> int:
    if not 1 <= number <= len(frame):
        raise ValueError(f"number ({number}) must be 1 to the number of rows ({len(frame)})")
    return number
