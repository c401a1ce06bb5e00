"""Tables to numbers, for evaluation: integer codes for distances, feature matrices for classifiers.

This is not the synthesizer's codec: it looks at the real rows freely and promises no privacy. A missing value
is a category of its own everywhere; a category that only one table has keeps its own code; a value that
cannot be read as its column's type (the text ``"n/a"`` in a numerical column) is one more category, not a
missing value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from sdv_plausible.evaluation.table_pair import DEFAULT_NUM_BINS, Floats, Kind, TablePair, as_numbers

Codes = npt.NDArray[np.int32]

MISSING = 0  # the code of a missing value, in every column


@dataclass(frozen=True, kw_only=True)
class CodedTables:
    """Several tables in the same integer codes: arrays of shape (n_i, m), 0 for a missing value."""

    columns: tuple[str, ...]
    tables: tuple[Codes, ...]
    cardinalities: tuple[int, ...]  # number of codes of each column, that of missing values included


def quantile_edges(values: Floats, num_bins: int) -> Floats:
    """Return the inner edges of at most ``num_bins`` bins that hold about equally many of ``values``."""
    # A bin is ``(edge[i-1], edge[i]]``; the first and the last are open outwards. An edge is always a value
    # that occurs, so that a frequent value (a zero in a column of mostly zeros) gets a bin of its own, and a
    # column with at most ``num_bins`` distinct values gets one bin for each. NaN is ignored.
    present: Floats = np.sort(values[~np.isnan(values)])
    if present.size == 0:
        return present
    distinct: Floats = present[np.concatenate([[True], present[1:] != present[:-1]])]
    if distinct.size <= num_bins:
        return np.asarray(distinct[:-1], dtype=np.float64)
    position = np.ceil(np.arange(1, num_bins) / num_bins * present.size).astype(int) - 1
    edges: Floats = np.unique(present[position])
    return np.asarray(edges[edges < present[-1]], dtype=np.float64)


def _number_codes(
    columns: Sequence[pd.Series[Any]], kind: Kind, fmt: str | None, bins: int
) -> tuple[list[Codes], int]:
    read = [as_numbers(column, kind, fmt) for column in columns]
    reference = read[0][0]
    edges = quantile_edges(reference, bins)
    place = np.searchsorted(edges, reference)
    low, high = np.full(edges.size + 1, np.inf), np.full(edges.size + 1, -np.inf)
    np.fmin.at(low, place, reference)
    np.fmax.at(high, place, reference)
    codes = []
    for values, unreadable in read:
        place = np.searchsorted(edges, values)
        # a bin of one value holds that value only, and nothing holds what lies beyond the reference
        odd = (values < low.min()) | (values > high.max()) | ((low == high)[place] & (values != low[place]))
        code = np.where(np.isnan(values), MISSING, np.where(odd, edges.size + 2, 1 + place)).astype(np.int32)
        code[unreadable] = edges.size + 3
        codes.append(code)
    return codes, int(edges.size) + 4


def category_codes(columns: Sequence[pd.Series[Any]]) -> tuple[list[Codes], list[Any]]:
    """Return one code per distinct value over all columns, and the values in code order (code 1 comes first).

    Equal values get equal codes whatever their dtype (1, 1.0 and True are equal; 1 and "1" are not).
    """
    book: dict[Any, int] = {}
    coded = []
    for column in columns:
        local, values = pd.factorize(column)
        # as objects, so that 1 and 1.0 are one key whatever the columns' dtypes
        table = np.array([book.setdefault(v, len(book) + 1) for v in np.asarray(values, dtype=object)] + [0])
        coded.append(table[local].astype(np.int32))
    return coded, list(book)


def encode(
    tables: Sequence[pd.DataFrame],
    kinds: Mapping[str, Kind],
    *,
    formats: Mapping[str, str] | None = None,
    num_bins: int = DEFAULT_NUM_BINS,
) -> CodedTables:
    """Give several tables the same integer codes; numbers are binned on quantiles of the first, the real one.

    A number outside its range, or between two values of which each has a bin of its own, has a code that none
    of its values has.
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
    """Return the positions of at most ``max_rows`` rows, drawn without replacement, in increasing order."""
    if max_rows is None or num_rows <= max_rows:
        return np.arange(num_rows)
    return np.sort(rng.permutation(num_rows)[:max_rows])


def encode_pair(
    pair: TablePair, num_bins: int, max_rows: int | None, random_state: int
) -> tuple[CodedTables, dict[str, Any]]:
    """Encode at most ``max_rows`` rows of each table (None: all), and say how many were used."""
    if max_rows is not None and max_rows < 1:
        raise ValueError(f"max_rows ({max_rows}) must be at least 1, or None for all rows")
    tables = []
    for part, table in enumerate((pair.real, pair.synthetic)):
        # one generator per table: which synthetic rows are drawn must not depend on the number of real ones
        rng = np.random.default_rng([random_state, part])
        tables.append(table.iloc[sample_positions(len(table), max_rows, rng)])
    used: dict[str, Any] = {"num_rows_real": len(tables[0]), "num_rows_synthetic": len(tables[1])}
    used["subsampled"] = len(tables[0]) < len(pair.real) or len(tables[1]) < len(pair.synthetic)
    return encode(tables, pair.kinds, formats=pair.formats, num_bins=num_bins), used
