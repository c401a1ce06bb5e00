"""Distances between tables of integer codes, and dependence within a table: [PD] section 6.2 and Eq. 5.

Total variation distance of distributions p and q over the same cells: ``TVD = sum |p - q| / 2``, in [0, 1].
The functions take codes (:mod:`sdv_plausible.evaluation.table_codes`) and are symmetric in the two tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from sdv_plausible.evaluation.table_codes import Codes
from sdv_plausible.evaluation.table_pair import Floats
from sdv_plausible.utils.counting import Counts, entropy, joint_counts, mixed_radix

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
