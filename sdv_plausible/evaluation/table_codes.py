"""Integer codes of tables, for distances.

This is not the synthesizer's codec: it reads real rows without noise and gives no privacy guarantee. A
missing value is a category in every column, and so is a value that cannot be read as its column's type (the
text ``"n/a"`` in a numerical column). A category that occurs in one table only has its own code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from sdv_plausible.evaluation.table_pair import DEFAULT_NUM_BINS, Floats, Kind, TablePair, to_numbers

Codes = npt.NDArray[np.int32]

MISSING = 0  # code of a missing value in every column


@dataclass(frozen=True, kw_only=True)
class CodedTables:
    """Several tables in shared integer codes: arrays of shape (n_i, m); 0 is a missing value."""

    columns: tuple[str, ...]
    tables: tuple[Codes, ...]
    cardinalities: tuple[int, ...]  # number of codes of each column, including the missing code


def quantile_edges(values: Floats, num_bins: int) -> Floats:
    """Return the inner edges of at most ``num_bins`` quantile bins."""
    # Bins are ``(edge[i-1], edge[i]]``; the first and last are unbounded. Every edge is an observed value, so
    # a frequent value (such as zero in a mostly-zero column) gets its own bin, and a column with at most
    # ``num_bins`` distinct values gets one bin per value. NaN is ignored.
    present: Floats = np.sort(values[~np.isnan(values)])
    if present.size == 0:
        return present
    distinct: Floats = present[np.concatenate([[True], present[1:] != present[:-1]])]
    if distinct.size <= num_bins:
        return np.asarray(distinct[:-1], dtype=np.float64)
    positions = np.ceil(np.arange(1, num_bins) / num_bins * present.size).astype(int) - 1
    edges: Floats = np.unique(present[positions])
    return np.asarray(edges[edges < present[-1]], dtype=np.float64)


def _number_codes(
    columns: Sequence[pd.Series[Any]], kind: Kind, number_format: str | None, num_bins: int
) -> tuple[list[Codes], int]:
    parsed = [to_numbers(column, kind, number_format) for column in columns]
    reference = parsed[0][0]
    edges = quantile_edges(reference, num_bins)
    bin_index = np.searchsorted(edges, reference)
    low, high = np.full(edges.size + 1, np.inf), np.full(edges.size + 1, -np.inf)
    np.fmin.at(low, bin_index, reference)
    np.fmax.at(high, bin_index, reference)
    codes = []
    for values, unreadable in parsed:
        bin_index = np.searchsorted(edges, values)
        # A single-value bin matches that value only. Values outside the reference range match no bin.
        out_of_range = (
            (values < low.min())
            | (values > high.max())
            | ((low == high)[bin_index] & (values != low[bin_index]))
        )
        column_codes = np.where(
            np.isnan(values), MISSING, np.where(out_of_range, edges.size + 2, 1 + bin_index)
        ).astype(np.int32)
        column_codes[unreadable] = edges.size + 3
        codes.append(column_codes)
    return codes, int(edges.size) + 4


def category_codes(columns: Sequence[pd.Series[Any]]) -> tuple[list[Codes], list[Any]]:
    """Return one code per distinct value over all columns, starting at 1, and the values in code order.

    Equal values get equal codes whatever their dtype (1, 1.0 and True are equal; 1 and "1" are not).
    """
    code_of: dict[Any, int] = {}
    coded_columns = []
    for column in columns:
        local_codes, values = pd.factorize(column)
        # Use objects, so that 1 and 1.0 are the same key whatever the dtype.
        lookup = np.array(
            [code_of.setdefault(v, len(code_of) + 1) for v in np.asarray(values, dtype=object)] + [0]
        )
        coded_columns.append(lookup[local_codes].astype(np.int32))
    return coded_columns, list(code_of)


def encode(
    tables: Sequence[pd.DataFrame],
    kinds: Mapping[str, Kind],
    *,
    formats: Mapping[str, str] | None = None,
    num_bins: int = DEFAULT_NUM_BINS,
) -> CodedTables:
    """Encode several tables with shared codes; bin numbers on quantiles of the first (real) table.

    A number outside the first table's range, or between two single-value bins, gets a code of its own.
    """
    if num_bins < 1:
        raise ValueError(f"num_bins ({num_bins}) must be at least 1: a column needs a bin to fall into")
    coded = [np.empty((len(table), len(kinds)), dtype=np.int32, order="F") for table in tables]
    cardinalities = []
    for j, (name, kind) in enumerate(kinds.items()):
        columns = [table[name] for table in tables]
        if kind == "categorical":
            codes, values = category_codes(columns)
            cardinalities.append(len(values) + 1)
        else:
            codes, cardinality = _number_codes(columns, kind, (formats or {}).get(name), num_bins)
            cardinalities.append(cardinality)
        for table_codes, column_codes in zip(coded, codes, strict=True):
            table_codes[:, j] = column_codes
    return CodedTables(columns=tuple(kinds), tables=tuple(coded), cardinalities=tuple(cardinalities))


def sample_positions(num_rows: int, max_rows: int | None, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return at most ``max_rows`` row positions, drawn without replacement and sorted."""
    if max_rows is None or num_rows <= max_rows:
        return np.arange(num_rows)
    return np.sort(rng.permutation(num_rows)[:max_rows])


def encode_pair(
    pair: TablePair, num_bins: int, max_rows: int | None, random_state: int
) -> tuple[CodedTables, dict[str, Any]]:
    """Encode at most ``max_rows`` rows of each table (None: all); also return the row counts."""
    if max_rows is not None and max_rows < 1:
        raise ValueError(f"max_rows ({max_rows}) must be at least 1, or None for all rows")
    tables = []
    for table_index, table in enumerate((pair.real, pair.synthetic)):
        # One generator per table: the sampled synthetic rows must not depend on the number of real rows.
        rng = np.random.default_rng([random_state, table_index])
        tables.append(table.iloc[sample_positions(len(table), max_rows, rng)])
    row_counts: dict[str, Any] = {"num_rows_real": len(tables[0]), "num_rows_synthetic": len(tables[1])}
    row_counts["subsampled"] = len(tables[0]) < len(pair.real) or len(tables[1]) < len(pair.synthetic)
    return encode(tables, pair.kinds, formats=pair.formats, num_bins=num_bins), row_counts
