"""Integer codes of tables, for distances.

This is not the synthesizer's codec: it reads real rows without noise and gives no privacy guarantee. A
missing value is a category in every column, and so is a value that cannot be read as its column's type (the
text ``"n/a"`` in a numerical column). A category that occurs in one table only has its own code.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sdmetrics.errors import IncomputableMetricError

from sdv_plausible.evaluation import DEFAULT_NUM_BINS
from sdv_plausible.evaluation.table_pair import Floats, Kind, TablePair, to_numbers
from sdv_plausible.utils.counting import Counts, entropy, joint_counts, mixed_radix

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


LINEAR = frozenset({"logistic_regression", "linear_svm"})  # classifiers that use one-hot features
_MAX_ONE_HOT = 50
_HUGE = 1e300


class FeatureEncoder:
    """Feature encoder, fitted on training rows without their labels."""

    # Numbers are centred on the median and scaled by the inter-quartile range; a missing number becomes the
    # median and sets an indicator. Categories become frequency ranks for trees, or one-hot indicators for
    # linear models (the 50 most common, and one for the rest). Missing and unseen categories have their own
    # rank or indicator.
    def __init__(self, kinds: Mapping[str, Kind], formats: Mapping[str, str] | None = None) -> None:
        self.kinds = dict(kinds)
        self.formats = dict(formats or {})
        self._centres: dict[str, tuple[float, float]] = {}
        self._ranks: dict[str, dict[Any, int]] = {}

    def fit(self, frame: pd.DataFrame) -> FeatureEncoder:
        """Learn centres, scales and category ranks; return self."""
        for name, kind in self.kinds.items():
            if kind == "categorical":
                codes, values = category_codes([frame[name]])
                counts = np.bincount(codes[0], minlength=len(values) + 1)[1:]
                # Stable sort: ties keep their order of appearance, which does not depend on labels.
                order = np.argsort(-counts, kind="stable")
                self._ranks[name] = {values[i]: rank for rank, i in enumerate(order)}
            else:
                self._centres[name] = _centre_scale(to_numbers(frame[name], kind, self.formats.get(name))[0])
        return self

    def transform(self, frame: pd.DataFrame, *, one_hot: bool) -> npt.NDArray[np.float32]:
        """Return the features, shape (n, num_features); ``one_hot`` is for linear models."""
        parts: list[Floats] = []
        for name, kind in self.kinds.items():
            if kind == "categorical":
                codes, values = category_codes([frame[name]])
                ranks = self._ranks[name]
                rank = np.array([-1] + [ranks.get(value, -2) for value in values])[codes[0]]
                parts.append(_indicators(rank, len(ranks)) if one_hot else rank[:, None].astype(np.float64))
            else:
                parts.append(self._number_features(frame[name], name, kind, clip=10.0 if one_hot else 1e30))
        return np.concatenate(parts, axis=1).astype(np.float32)

    def _number_features(self, column: pd.Series[Any], name: str, kind: Kind, *, clip: float) -> Floats:
        values, unreadable = to_numbers(column, kind, self.formats.get(name))
        centre, scale = self._centres[name]
        # Halve first: the difference of two numbers near the largest float would overflow.
        scaled = np.clip((np.clip(values, -_HUGE, _HUGE) / 2 - centre / 2) / (scale / 2), -clip, clip)
        missing = np.isnan(values)
        return np.column_stack([np.where(missing, 0.0, scaled), missing + unreadable.astype(np.float64)])


def _centre_scale(values: Floats) -> tuple[float, float]:
    present = np.clip(values[~np.isnan(values)], -_HUGE, _HUGE)
    if present.size == 0:
        return 0.0, 1.0
    low, centre, high = np.quantile(present, [0.25, 0.5, 0.75], method="lower")
    scale = (high - low) or (present.max() / 2 - present.min() / 2)
    return float(centre), float(scale) or 1.0


def _indicators(rank: npt.NDArray[Any], num_known: int) -> Floats:
    width = min(num_known, _MAX_ONE_HOT)
    # Column 0: missing; 1: unseen; 2: known but rare; 3 and up: common categories.
    indicator = np.where(rank < 0, -1 - rank, np.where(rank < width, 3 + rank, 2))
    matrix = np.zeros((rank.size, width + 3))
    matrix[np.arange(rank.size), indicator] = 1.0
    return matrix


@dataclass(frozen=True, kw_only=True)
class Features:
    """Features of the same rows for trees and for linear models, each of shape (n, num_features)."""

    trees: npt.NDArray[np.float32]
    linear: npt.NDArray[np.float32] | None

    @classmethod
    def of_rows(cls, encoder: FeatureEncoder, rows: pd.DataFrame, classifiers: Sequence[str]) -> Features:
        """Encode ``rows`` for the named classifiers."""
        linear = encoder.transform(rows, one_hot=True) if LINEAR & set(classifiers) else None
        return cls(trees=encoder.transform(rows, one_hot=False), linear=linear)

    def of(self, name: str) -> npt.NDArray[np.float32]:
        """Return the features for a classifier."""
        return self.linear if name in LINEAR and self.linear is not None else self.trees


def stack_rows(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate rows as object columns, so that mixed dtypes change no value."""
    names = list(parts[0].columns)
    columns = {name: np.concatenate([part[name].to_numpy(dtype=object) for part in parts]) for name in names}
    rows: pd.DataFrame = pd.DataFrame({name: pd.Series(v, dtype=object) for name, v in columns.items()})
    return rows


def shuffle(rows: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return the rows in random order."""
    shuffled: pd.DataFrame = rows.iloc[rng.permutation(len(rows))]
    return shuffled


def split_sizes(
    pair: TablePair,
    holdout: pd.DataFrame | None,
    test_fraction: float,
    max_rows: int | None,
    num_trainings: int = 1,
) -> tuple[int, int, bool]:
    """Return the numbers of training and test rows, and whether ``max_rows`` leaves rows unused."""
    # The real rows are divided among ``num_trainings`` classifiers without overlap.
    max_rows = sys.maxsize if max_rows is None else max_rows
    if not 0 < test_fraction < 1:
        raise ValueError(f"test_fraction ({test_fraction}) must lie between 0 and 1: both parts need rows")
    if max_rows < 2:
        raise ValueError(f"max_rows ({max_rows}) must be at least 2: a classifier needs rows to learn from")
    n = len(pair.real)
    num_test = max(1, round(test_fraction * n)) if holdout is None else len(holdout)
    num_train = (n if holdout is not None else n - num_test) // num_trainings
    if num_train < 1 or num_test < 1:
        raise IncomputableMetricError(
            f"{n} real rows: classifiers need at least {num_trainings + 1}, to train on and to be tested on"
        )
    return min(num_train, max_rows), min(num_test, max_rows), num_train > max_rows or num_test > max_rows


def split_rows(
    pair: TablePair,
    holdout: pd.DataFrame | None,
    sizes: tuple[int, int],
    rng: np.random.Generator,
    twin: bool = False,
) -> tuple[pd.DataFrame, ...]:
    """Draw real and synthetic training rows, real test rows and, with ``twin``, more real training rows."""
    # ``sizes`` are from :func:`split_sizes`.
    num_train, num_test = sizes
    order = rng.permutation(len(pair.real))
    train, test, rest = np.split(order, [num_train, num_train + (num_test if holdout is None else 0)])
    # Tables of equal length: use the same positions of both, so that a copy of the real table trains the same
    # classifier and no synthetic row shares its position with a test row. Otherwise positions are arbitrary.
    same_length = len(pair.synthetic) == len(pair.real)
    synthetic_train = train if same_length else rng.permutation(len(pair.synthetic))[:num_train]
    test_rows = pair.real.iloc[test]
    if holdout is not None:
        test_rows = holdout.iloc[sample_positions(len(holdout), num_test, rng)]
    twin_rows = (pair.real.iloc[rest[:num_train]],) if twin else ()
    return pair.real.iloc[train], pair.synthetic.iloc[synthetic_train], test_rows, *twin_rows


# Distances between tables of integer codes, and dependence within a table: [PD] section 6.2 and Eq. 5.
# Total variation distance of distributions p and q over the same cells: ``TVD = sum |p - q| / 2``, in [0, 1].
# The functions take codes (:mod:`sdv_plausible.evaluation.table_codes`) and are symmetric in the two tables.


MAX_DENSE_CELLS = 1 << 22
"""Largest dense joint table (32 MB); larger ones are counted over observed cells only."""


@dataclass(frozen=True, kw_only=True)
class PairStatistics:
    """Distance and dependence of all pairs of columns (i, j), i < j, of two tables."""

    pairs: tuple[tuple[int, int], ...]
    distances: Floats  # distances of the joint distributions, shape (m (m - 1) / 2,)
    real_dependence: Floats  # symmetrical uncertainty, shape (m, m), diagonal 1
    synthetic_dependence: Floats


def total_variation(first: Counts, second: Counts) -> float:
    """Return the total variation distance of two histograms of equal shape, in [0, 1]."""
    n_first, n_second = first.sum(), second.sum()
    if n_first == 0 or n_second == 0:
        raise ValueError(f"histograms of {n_first} and {n_second} rows: each must count at least one row")
    # Rounding may push the sum of disjoint histograms just above 1.
    return float(min(1.0, np.abs(first / n_first - second / n_second).sum() / 2))


def column_distances(first: Codes, second: Codes, cardinalities: Sequence[int]) -> Floats:
    """Return the total variation distance of each column of codes (n1, m) and (n2, m), shape (m,)."""
    return np.array(
        [
            total_variation(np.bincount(first[:, j], minlength=c), np.bincount(second[:, j], minlength=c))
            for j, c in enumerate(cardinalities)
        ]
    )


def paired_histograms(
    first: Codes, second: Codes, pair: tuple[int, int], shape: tuple[int, int]
) -> tuple[Counts, Counts]:
    """Return joint histograms, over the same cells, of one pair of columns in two tables.

    Above ``MAX_DENSE_CELLS``, only observed cells are counted, which bounds memory by the number of rows.
    """
    first_digits, second_digits = ([table[:, j] for j in pair] for table in (first, second))
    if prod(shape) <= MAX_DENSE_CELLS:
        return joint_counts(first_digits, shape), joint_counts(second_digits, shape)
    keys = np.concatenate([mixed_radix(first_digits, shape), mixed_radix(second_digits, shape)])
    observed, cells = np.unique(keys, return_inverse=True)
    size = observed.size
    return np.bincount(cells[: len(first)], minlength=size), np.bincount(cells[len(first) :], minlength=size)


def _pair_tables(
    first: Codes, second: Codes, cards: Sequence[int]
) -> Iterator[tuple[int, int, Counts, Counts]]:
    for i, j in combinations(range(len(cards)), 2):
        yield i, j, *paired_histograms(first, second, (i, j), (cards[i], cards[j]))


def pair_distances(first: Codes, second: Codes, cardinalities: Sequence[int]) -> dict[tuple[int, int], float]:
    """Return ``{(i, j): total variation distance of the joint distributions}`` for i < j."""
    return {(i, j): total_variation(p, q) for i, j, p, q in _pair_tables(first, second, cardinalities)}


def symmetrical_uncertainty(h_x: float, h_y: float, h_xy: float) -> float:
    """Return 2 (H(x) + H(y) - H(x, y)) / (H(x) + H(y)), in [0, 1]: normalised mutual information."""
    # Two constant columns have no dependence.
    if h_x + h_y == 0:
        return 0.0
    return float(np.clip(2 * (h_x + h_y - h_xy) / (h_x + h_y), 0.0, 1.0))


def dependence_matrix(codes: Codes, cardinalities: Sequence[int]) -> Floats:
    """Return the symmetrical uncertainty of all pairs of columns of a table, shape (m, m), diagonal 1."""
    return pair_statistics(codes, codes[:0], cardinalities).real_dependence


def pair_statistics(
    real: Codes, synthetic: Codes, cardinalities: Sequence[int], tick: Callable[[], object] | None = None
) -> PairStatistics:
    """Return distance and dependence of all pairs of columns, counting each pair once."""
    # An empty table gives dependence 0 and distance NaN. ``tick`` is called after each pair.
    m = len(cardinalities)
    each = list(enumerate(cardinalities))
    marginal_entropies = [
        [entropy(np.bincount(t[:, j], minlength=c)) for j, c in each] for t in (real, synthetic)
    ]
    pairs, distances, matrices = [], [], [np.eye(m), np.eye(m)]
    for i, j, p, q in _pair_tables(real, synthetic, cardinalities):
        pairs.append((i, j))
        distances.append(total_variation(p, q) if len(real) and len(synthetic) else np.nan)
        for matrix, h, counts in zip(matrices, marginal_entropies, (p, q), strict=True):
            matrix[i, j] = matrix[j, i] = symmetrical_uncertainty(h[i], h[j], entropy(counts))
        if tick is not None:
            tick()
    return PairStatistics(
        pairs=tuple(pairs),
        distances=np.array(distances),
        real_dependence=matrices[0],
        synthetic_dependence=matrices[1],
    )
