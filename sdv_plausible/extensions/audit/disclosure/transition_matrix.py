"""The transition matrix of a synthesizer: Pr[m | n] for every confidential table n and every output m.

Abowd and Vilhuber (How Protective Are Synthetic Data? PSD 2008, called [AV] in this package) derive both
traditions from this matrix: statistical disclosure limitation from its rows, differential privacy from its
columns. Probabilities are stored as logarithms, so that tiny ones do not become zero.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import permutations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sdv_plausible.extensions.audit.membership import clopper_pearson
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.neighbours import RELATIONS, Relation

FloatArray = npt.NDArray[np.float64]
ROUNDING = 1e-9  # tolerance when a loss is compared with epsilon


@dataclass(frozen=True, kw_only=True)
class Cell:
    """An output, and the two neighbouring tables that it distinguishes best.

    Attributes
    ----------
    loss : float
        Natural log of the ratio of the two probabilities; infinite if one is zero.
    outcome : object
        The output.
    likelier, rarer : tuple of int
        The tables under which it is likelier and rarer.
    probabilities : tuple of float
        Its probability under each of them.
    """

    loss: float
    outcome: Hashable
    likelier: Counts
    rarer: Counts
    probabilities: tuple[float, float]

    def __str__(self) -> str:
        p, q = self.probabilities
        return (
            f"output {self.outcome} has probability {p:.6g} from table {self.likelier} and {q:.6g} from "
            f"{self.rarer}: log ratio {self.loss:.6g}"
        )


@dataclass(frozen=True, kw_only=True)
class Disclosure:
    """Worst-case inference of an attacker who knows all rows but one.

    Attributes
    ----------
    prior, posterior : float
        The attacker's probability of one of two neighbouring tables, before and after the worst output.
    probability : float
        Largest probability, over neighbouring tables, of an output that makes the attacker as certain of the
        true table as requested.
    cell : Cell
        The worst output.
    """

    prior: float
    posterior: float
    probability: float
    cell: Cell


@dataclass(frozen=True, kw_only=True, eq=False)
class TransitionMatrix:
    """Transition matrix Pr[m | n] of a synthesizer, and its disclosure measures.

    Parameters
    ----------
    tables : tuple of tuple of int
        Confidential tables as counts of the categories: the rows of the matrix.
    outcomes : tuple
        Outputs: the columns of the matrix. Tables of counts are represented as in `tables`.
    log_probabilities : ndarray of float, shape (tables, outcomes)
        Natural logs; -inf for impossible outputs.
    neighbours : {"replace_one", "add_remove"}
        Neighbouring relation: one row changed, as in [AV], or one row added or removed.

    Raises
    ------
    ValueError
        If the shape is wrong or the probabilities of a table do not add up to 1.
    """

    tables: tuple[Counts, ...]
    outcomes: tuple[Hashable, ...]
    log_probabilities: FloatArray
    neighbours: Relation = "replace_one"

    def __post_init__(self) -> None:
        check.one_of("neighbours", self.neighbours, RELATIONS)
        expected = (len(self.tables), len(self.outcomes))
        if self.log_probabilities.shape != expected:
            raise ValueError(
                f"log_probabilities (shape {self.log_probabilities.shape}) must have one row for each "
                f"table and one column for each outcome: {expected}"
            )
        sums = self.probabilities.sum(axis=1)
        if not np.allclose(sums, 1, rtol=0, atol=1e-8):
            worst = int(np.abs(sums - 1).argmax())
            raise ValueError(
                f"the probabilities of table {self.tables[worst]} must add up to 1, not to "
                f"{sums[worst]:.9g}: list every outcome"
            )

    @classmethod
    def of(
        cls,
        distributions: Mapping[Counts, Mapping[Any, float | Fraction]],
        neighbours: Relation = "replace_one",
    ) -> TransitionMatrix:
        """Create a matrix from exact output distributions, such as those of Mechanism 1.

        Parameters
        ----------
        distributions : mapping
            For every table, as counts of its categories, the probability of every possible output.
        neighbours : {"replace_one", "add_remove"}
            Neighbouring relation.

        Returns
        -------
        TransitionMatrix
            The matrix.
        """
        outcomes = tuple(dict.fromkeys(y for distribution in distributions.values() for y in distribution))
        check_cells(len(distributions), len(outcomes))
        column = {y: i for i, y in enumerate(outcomes)}
        logs = np.full((len(distributions), len(outcomes)), -np.inf)
        for i, distribution in enumerate(distributions.values()):
            for y, p in distribution.items():
                logs[i, column[y]] = log(p)
        return cls(
            tables=tuple(distributions), outcomes=outcomes, log_probabilities=logs, neighbours=neighbours
        )

    @cached_property
    def probabilities(self) -> FloatArray:
        """Pr[m | n], shape (tables, outcomes)."""
        return np.exp(self.log_probabilities)

    # --- rows: disclosure limitation ---------------------------------------------------------------

    @property
    def least_change(self) -> float:
        """Minimum over tables of the probability that the output differs from the table."""
        column = {y: i for i, y in enumerate(self.outcomes)}
        unchanged = [self.probabilities[i, column[n]] for i, n in enumerate(self.tables) if n in column]
        return 1.0 - max(unchanged, default=0.0)

    # --- columns: differential privacy -------------------------------------------------------------

    @cached_property
    def pairs(self) -> npt.NDArray[np.int64]:
        """Row indices of all neighbouring tables, shape (pairs, 2), each pair once, in order.

        Raises
        ------
        ValueError
            If no two tables are neighbours.
        """
        return neighbouring(self.tables, self.neighbours)

    @cached_property
    def log_ratios(self) -> FloatArray:
        """``ln(Pr[m | n1] / Pr[m | n2])``, shape (pairs, outcomes); 0 if both are zero (Eq. 3)."""
        check_cells(len(self.pairs), len(self.outcomes))
        first, second = (self.log_probabilities[self.pairs[:, i]] for i in (0, 1))
        both_zero = np.isneginf(first) & np.isneginf(second)
        ratios: FloatArray = np.where(both_zero, 0.0, first) - np.where(both_zero, 0.0, second)
        return ratios

    @cached_property
    def worst_cell(self) -> Cell:
        """Output and neighbours with the largest log ratio; the likeliest output among infinite ones."""
        size = np.abs(self.log_ratios)
        if np.isinf(size).any():
            likelier = np.maximum(*(self.probabilities[self.pairs[:, i]] for i in (0, 1)))
            position = np.where(np.isinf(size), likelier, -1.0).argmax()
        else:
            position = size.argmax()
        pair, outcome = np.unravel_index(position, size.shape)
        first, second = self.pairs[pair]
        if self.log_ratios[pair, outcome] < 0:
            first, second = second, first
        return Cell(
            loss=float(size[pair, outcome]),
            outcome=self.outcomes[outcome],
            likelier=self.tables[first],
            rarer=self.tables[second],
            probabilities=(
                float(self.probabilities[first, outcome]),
                float(self.probabilities[second, outcome]),
            ),
        )

    @property
    def epsilon(self) -> float:
        """Epsilon of the matrix (Eq. 3): the largest log ratio, which may be infinite."""
        return self.worst_cell.loss

    def delta(self, epsilon: float) -> float:
        """Return the smallest delta for which the matrix is (epsilon, delta)-differentially private."""
        return self.worst_pair(epsilon)[0]

    def worst_pair(self, epsilon: float) -> tuple[float, Counts, Counts]:
        """Return that delta, and the likelier and rarer tables that attain it."""
        check.non_negative("epsilon", epsilon)
        best = (-1.0, self.tables[0], self.tables[0])
        for first, second in ((0, 1), (1, 0)):
            ratios = self.log_ratios if first == 0 else -self.log_ratios
            # P - e^epsilon Q = P (1 - e^(epsilon - loss)): no overflow and no cancellation
            gain = -np.expm1(np.minimum(epsilon - ratios, 0.0))
            deltas = (self.probabilities[self.pairs[:, first]] * gain).sum(axis=1)
            index = int(deltas.argmax())
            best = max(
                best,
                (
                    float(deltas[index]),
                    self.tables[self.pairs[index, first]],
                    self.tables[self.pairs[index, second]],
                ),
                key=lambda case: case[0],
            )
        return best

    def probabilistic_delta(
        self, epsilon: float, prior: npt.ArrayLike | None = None, cells: Literal["both", "rarer"] = "both"
    ) -> float:
        """Return the probability of an output whose log ratio exceeds epsilon.

        This is the delta of (epsilon, delta)-probabilistic differential privacy.

        Parameters
        ----------
        epsilon : float
            Allowed log ratio, >= 0.
        prior : array of float, optional
            Probabilities of the tables, for the joint probability of table and output; by default the maximum
            over tables.
        cells : {"both", "rarer"}
            Whether an output counts under both tables of a pair, or only under the table for which it is
            rarer, as in the caption of figure 1 of [AV].

        Returns
        -------
        float
            The probability, in [0, 1].
        """
        check.non_negative("epsilon", epsilon)
        check.one_of("cells", cells, ("both", "rarer"))
        exceeds = np.zeros(self.probabilities.shape, dtype=bool)
        limit = epsilon + ROUNDING
        both = cells == "both"
        np.logical_or.at(exceeds, self.pairs[:, 0], _over(-self.log_ratios, limit, both))
        np.logical_or.at(exceeds, self.pairs[:, 1], _over(self.log_ratios, limit, both))
        by_table = np.where(exceeds, self.probabilities, 0.0).sum(axis=1)
        return float(by_table.max() if prior is None else self._prior(prior) @ by_table)

    # --- what an attacker learns -------------------------------------------------------------------

    def posterior(self, prior: npt.ArrayLike) -> FloatArray:
        """Return Pr[n | m] by Bayes' rule, shape (tables, outcomes); 0 for impossible outputs."""
        with np.errstate(divide="ignore"):
            joint = np.log(self._prior(prior))[:, None] + self.log_probabilities
        maximum = np.max(joint, axis=0)
        scaled = np.exp(joint - np.where(np.isneginf(maximum), 0.0, maximum))
        posterior: FloatArray = scaled / np.maximum(scaled.sum(axis=0), np.finfo(float).tiny)
        return posterior

    def odds_ratios(self) -> FloatArray:
        """Return posterior odds over prior odds (Eq. 4), shape (pairs, outcomes), for any prior odds."""
        with np.errstate(over="ignore"):
            return np.exp(self.log_ratios)

    def inferential_disclosure(self, prior_odds: float = 1.0, certainty: float = 0.95) -> Disclosure:
        """Return the worst inference from one output by an attacker who knows all rows but one.

        Parameters
        ----------
        prior_odds : float
            The attacker's odds for the table that the output favours, against its neighbour, > 0.
        certainty : float
            Posterior probability above which the attacker counts as certain, in (0, 1).

        Returns
        -------
        Disclosure
            The worst case.

        Raises
        ------
        ValueError
            If a parameter is out of range.
        """
        odds = check.positive("prior_odds", prior_odds, "even odds are 1")
        if not 0 < certainty < 1:
            raise ValueError(f"certainty ({certainty!r}) must lie in (0, 1); try 0.95")
        required = math.log(certainty / (1 - certainty)) - math.log(odds) - ROUNDING
        probability = max(
            float(np.where(ratios >= required, self.probabilities[self.pairs[:, i]], 0.0).sum(axis=1).max())
            for i, ratios in enumerate((self.log_ratios, -self.log_ratios))
        )
        return Disclosure(
            prior=odds / (1 + odds),
            posterior=1 / (1 + math.exp(-self.epsilon) / odds),
            probability=probability,
            cell=self.worst_cell,
        )

    def _prior(self, prior: npt.ArrayLike) -> FloatArray:
        probabilities = np.asarray(prior, dtype=np.float64)
        if (
            probabilities.shape != (len(self.tables),)
            or (probabilities < 0).any()
            or abs(probabilities.sum() - 1) > 1e-8
        ):
            raise ValueError(
                f"prior (shape {probabilities.shape}) must be {len(self.tables)} probabilities, "
                "one for each table"
            )
        return probabilities


def log(p: float | Fraction) -> float:
    """Return the natural log of a probability, including fractions too small for a float."""
    if not p:
        return -math.inf
    if isinstance(p, Fraction):
        return math.log(p.numerator) - math.log(p.denominator)
    return math.log(p)


def _over(losses: FloatArray, limit: float, both: bool) -> npt.NDArray[np.bool_]:
    exceeds: npt.NDArray[np.bool_] = (np.abs(losses) if both else losses) > limit
    return exceeds


Counts = tuple[int, ...]
MOST_CELLS = 20_000_000  # cells of a matrix: 160 MB, and as much again for its neighbours


def check_cells(rows: int, columns: int) -> None:
    """Raise ValueError if a matrix of this size is too large."""
    if rows * columns > MOST_CELLS:
        raise ValueError(
            f"the matrix would have {rows:,} rows and {columns:,} columns, more than {MOST_CELLS:,} cells: "
            "lower n, or the number of categories"
        )


def tables_of_counts(n: int, categories: int) -> Iterator[Counts]:
    """Yield all tables of n rows over the categories, in lexicographic order of their counts."""
    if categories == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in tables_of_counts(n - first, categories - 1):
            yield (first, *rest)


def neighbouring(tables: Sequence[Counts], relation: Relation) -> npt.NDArray[np.int64]:
    """Return the positions of all neighbouring tables, (pairs, 2), each pair once, in order."""
    position = {n: i for i, n in enumerate(tables)}
    pairs = (
        sorted((i, position[other]))
        for n, i in position.items()
        for other in _neighbours(n, relation)
        if other in position and (relation == "add_remove" or position[other] > i)
    )
    pair_array = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
    if not len(pair_array):
        raise ValueError(f"tables ({len(tables)}) must hold neighbours ({relation}); add some")
    return pair_array


def _neighbours(n: Sequence[int], relation: Relation) -> Iterable[Counts]:
    """Yield the tables with one row changed, or with one more row."""
    if relation == "add_remove":
        return (tuple(c + (i == to) for i, c in enumerate(n)) for to in range(len(n)))
    return (
        tuple(c + (i == to) - (i == gone) for i, c in enumerate(n))
        for gone, to in permutations(range(len(n)), 2)
        if n[gone]
    )


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
