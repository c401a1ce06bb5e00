"""The transition matrix of any synthesizer, by running it many times, with confidence intervals."""

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

OTHER = "other"  # the outcome that stands for all that were not listed


@dataclass(frozen=True, kw_only=True, eq=False)
class EstimatedMatrix:
    """Shares of runs, and what they prove.

    Attributes
    ----------
    matrix : TransitionMatrix
        Shares of the runs. A share of 0 is no proof that an outcome cannot happen.
    low, high : ndarray of float, shape (tables, outcomes)
        Clopper-Pearson bounds; all of them hold together, except with probability `false_alarm`.
    false_alarm : float
        That probability.
    """

    matrix: TransitionMatrix
    low: FloatArray
    high: FloatArray
    false_alarm: float

    @property
    def epsilon(self) -> float:
        """Lower bound on the largest log ratio (Eq. 3 of [AV]), >= 0. No upper bound follows from runs."""
        pairs = self.matrix.pairs
        with np.errstate(divide="ignore"):
            low, high = np.log(self.low), np.log(self.high)
        found = (low[pairs[:, i]] - high[pairs[:, 1 - i]] for i in (0, 1))
        return max(0.0, *(float(ratios.max()) for ratios in found))

    @property
    def least_change(self) -> tuple[float, float]:
        """Interval for the least probability that the output is another table than the confidential one."""
        place = {y: i for i, y in enumerate(self.matrix.outcomes)}
        kept = [(i, place[n]) for i, n in enumerate(self.matrix.tables) if n in place]
        if not kept:
            return 1.0, 1.0
        at = tuple(np.array(kept).T)
        return 1 - float(self.high[at].max()), 1 - float(self.low[at].max())


def monte_carlo(
    synthesize: Callable[[Counts], Hashable],
    n: int,
    categories: int,
    runs: int,
    *,
    outcomes: Sequence[Hashable] | None = None,
    false_alarm: float = 1e-3,
) -> EstimatedMatrix:
    """Run a synthesizer on every table of n rows, and count what comes out.

    Parameters
    ----------
    synthesize : callable
        Takes the counts of a confidential table, a tuple of int, and returns an output, such as the counts of
        a synthetic table as a tuple of int. It must draw fresh coins in every run.
    n : int
        Rows of the confidential tables.
    categories : int
        Number of categories.
    runs : int
        Runs on every table.
    outcomes : sequence, optional
        Outputs that are counted apart; all tables of n rows by default. They must be chosen before the runs.
        The others together are one more outcome, ``"other"``.
    false_alarm : float
        Probability that any of the bounds is wrong, in (0, 1); shared equally by all of them.
    """
    check.whole("runs", runs, 1, "try 10000")
    check.whole("categories", categories, 2, "with one there is nothing to protect")
    if not 0 < false_alarm < 1:
        raise ValueError(f"false_alarm ({false_alarm!r}) must lie in (0, 1); try 1e-3")
    check_cells(math.comb(check.whole("n", n, 1) + categories - 1, categories - 1), 1)
    tables = tuple(tables_of_counts(n, categories))
    columns = (*(tables if outcomes is None else dict.fromkeys(outcomes)), OTHER)
    check_cells(len(tables), len(columns))
    place = {y: i for i, y in enumerate(columns)}
    counts = np.zeros((len(tables), len(columns)), dtype=np.int64)
    for i, table in enumerate(tables):
        for y, found in Counter(synthesize(table) for _ in range(runs)).items():
            counts[i, place.get(y, place[OTHER])] += found
    low, high = clopper_pearson(counts, runs, false_alarm / (2 * counts.size))
    with np.errstate(divide="ignore"):
        logs = np.log(counts / runs)
    matrix = TransitionMatrix(tables=tables, outcomes=columns, log_probabilities=logs)
    return EstimatedMatrix(matrix=matrix, low=low, high=high, false_alarm=false_alarm)
