"""The transition matrix of any synthesizer, estimated from many runs, with confidence intervals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from sdv_plausible.extensions.audit.disclosure.count_tables import Counts, check_cells, tables_of_counts
from sdv_plausible.extensions.audit.disclosure.transition_matrix import FloatArray, TransitionMatrix
from sdv_plausible.extensions.audit.membership import clopper_pearson
from sdv_plausible.privacy import parameter_checks as check

OTHER = "other"  # outcome for all outputs that are not listed


@dataclass(frozen=True, kw_only=True, eq=False)
class EstimatedMatrix:
    """Shares of runs with confidence bounds.

    Attributes
    ----------
    matrix : TransitionMatrix
        Shares of the runs. A share of 0 does not prove that an outcome is impossible.
    low, high : ndarray of float, shape (tables, outcomes)
        Clopper-Pearson bounds; all hold together, except with probability `false_alarm`.
    false_alarm : float
        Error probability of the bounds.
    """

    matrix: TransitionMatrix
    low: FloatArray
    high: FloatArray
    false_alarm: float

    @property
    def epsilon(self) -> float:
        """Lower bound on the largest log ratio (Eq. 3 of [AV]), >= 0. Runs give no upper bound."""
        pairs = self.matrix.pairs
        with np.errstate(divide="ignore"):
            low, high = np.log(self.low), np.log(self.high)
        ratios_by_side = (low[pairs[:, i]] - high[pairs[:, 1 - i]] for i in (0, 1))
        return max(0.0, *(float(ratios.max()) for ratios in ratios_by_side))

    @property
    def least_change(self) -> tuple[float, float]:
        """Interval for the minimum probability that the output differs from the confidential table."""
        column = {y: i for i, y in enumerate(self.matrix.outcomes)}
        diagonal = [(i, column[n]) for i, n in enumerate(self.matrix.tables) if n in column]
        if not diagonal:
            return 1.0, 1.0
        cells = tuple(np.array(diagonal).T)
        return 1 - float(self.high[cells].max()), 1 - float(self.low[cells].max())


def monte_carlo(
    synthesize: Callable[[Counts], Hashable],
    n: int,
    categories: int,
    runs: int,
    *,
    outcomes: Sequence[Hashable] | None = None,
    false_alarm: float = 1e-3,
) -> EstimatedMatrix:
    """Run a synthesizer on every table of n rows, and count the outputs.

    Parameters
    ----------
    synthesize : callable
        Takes the counts of a confidential table, a tuple of int, and returns an output, such as the counts of
        a synthetic table as a tuple of int. It must use fresh randomness in every run.
    n : int
        Rows of the confidential tables.
    categories : int
        Number of categories.
    runs : int
        Runs on every table.
    outcomes : sequence, optional
        Outputs that are counted separately, chosen before the runs; by default all tables of n rows. All
        other outputs are counted as ``"other"``.
    false_alarm : float
        Probability that any bound is wrong, in (0, 1), shared equally by all bounds.

    Returns
    -------
    EstimatedMatrix
        Shares and bounds.

    Raises
    ------
    ValueError
        If a parameter is out of range, or the matrix is too large.
    """
    check.whole("runs", runs, 1, "try 10000")
    check.whole("categories", categories, 2, "with one there is nothing to protect")
    if not 0 < false_alarm < 1:
        raise ValueError(f"false_alarm ({false_alarm!r}) must lie in (0, 1); try 1e-3")
    check_cells(math.comb(check.whole("n", n, 1) + categories - 1, categories - 1), 1)
    tables = tuple(tables_of_counts(n, categories))
    columns = (*(tables if outcomes is None else dict.fromkeys(outcomes)), OTHER)
    check_cells(len(tables), len(columns))
    column = {y: i for i, y in enumerate(columns)}
    counts = np.zeros((len(tables), len(columns)), dtype=np.int64)
    for i, table in enumerate(tables):
        for y, count in Counter(synthesize(table) for _ in range(runs)).items():
            counts[i, column.get(y, column[OTHER])] += count
    low, high = clopper_pearson(counts, runs, false_alarm / (2 * counts.size))
    with np.errstate(divide="ignore"):
        logs = np.log(counts / runs)
    matrix = TransitionMatrix(tables=tables, outcomes=columns, log_probabilities=logs)
    return EstimatedMatrix(matrix=matrix, low=low, high=high, false_alarm=false_alarm)
