"""The transition matrix of a synthesizer: Pr[m | n] for every confidential table n and every output m.

Abowd and Vilhuber (How Protective Are Synthetic Data? PSD 2008, called [AV] in this package) read both
traditions off this matrix: statistical disclosure limitation looks at its rows, differential privacy at its
columns. Probabilities are kept as logarithms, so that a tiny one is never taken for a zero.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sdv_plausible.extensions.audit.disclosure.count_tables import Counts, check_cells, neighbouring
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.neighbours import RELATIONS, Relation

FloatArray = npt.NDArray[np.float64]
ROUNDING = 1e-9  # a loss that exceeds epsilon by less is taken as equal to it


@dataclass(frozen=True, kw_only=True)
class Cell:
    """An output and two neighbouring tables: what tells them apart best.

    Attributes
    ----------
    loss : float
        Natural log of the ratio of the two probabilities; infinite where one is zero.
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
    """What an attacker who knows all rows but one can infer at worst.

    Attributes
    ----------
    prior, posterior : float
        Probability that the attacker gives to one of two neighbouring tables, before and after the worst
        output.
    probability : float
        Largest probability, over neighbouring tables, that an output makes the attacker as certain as asked
        of the table that is true.
    cell : Cell
        The worst output.
    """

    prior: float
    posterior: float
    probability: float
    cell: Cell


@dataclass(frozen=True, kw_only=True, eq=False)
class TransitionMatrix:
    """Pr[m | n] of a synthesizer, and what can be read off it.

    Parameters
    ----------
    tables : tuple of tuple of int
        Confidential tables, as counts of the categories: one row each.
    outcomes : tuple
        Outputs: one column each. An output that is a table of counts is written as the table is.
    log_probabilities : ndarray of float, shape (tables, outcomes)
        Natural logs; -inf for what cannot happen.
    neighbours : {"replace_one", "add_remove"}
        Which tables are neighbours: one row changed, as in [AV], or one row added or removed.
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
        """Make a matrix of exact output distributions, such as those of Mechanism 1.

        Parameters
        ----------
        distributions : mapping
            For every table, as counts of its categories, the probability of every output that it can give.
        neighbours : {"replace_one", "add_remove"}
            Which tables are neighbours.
        """
        outcomes = tuple(dict.fromkeys(y for law in distributions.values() for y in law))
        check_cells(len(distributions), len(outcomes))
        place = {y: i for i, y in enumerate(outcomes)}
        logs = np.full((len(distributions), len(outcomes)), -np.inf)
        for i, law in enumerate(distributions.values()):
            for y, p in law.items():
                logs[i, place[y]] = log(p)
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
        """Least probability, over tables, that the output is another table: 1 minus the largest diagonal."""
        place = {y: i for i, y in enumerate(self.outcomes)}
        kept = [self.probabilities[i, place[n]] for i, n in enumerate(self.tables) if n in place]
        return 1.0 - max(kept, default=0.0)

    # --- columns: differential privacy -------------------------------------------------------------

    @cached_property
    def pairs(self) -> npt.NDArray[np.int64]:
        """Row numbers of all neighbouring tables, (pairs, 2), each pair once, in order.

        Raises
        ------
        ValueError
            If no two tables are neighbours.
        """
        return neighbouring(self.tables, self.neighbours)

    @cached_property
    def log_ratios(self) -> FloatArray:
        """``ln(Pr[m | n1] / Pr[m | n2])``, shape (pairs, outcomes); 0 where neither can happen (Eq. 3)."""
        check_cells(len(self.pairs), len(self.outcomes))
        one, other = (self.log_probabilities[self.pairs[:, i]] for i in (0, 1))
        never = np.isneginf(one) & np.isneginf(other)
        found: FloatArray = np.where(never, 0.0, one) - np.where(never, 0.0, other)
        return found

    @cached_property
    def worst_cell(self) -> Cell:
        """Output and neighbours with the largest log ratio; of infinite ones the likeliest output."""
        size = np.abs(self.log_ratios)
        if np.isinf(size).any():
            likelier = np.maximum(*(self.probabilities[self.pairs[:, i]] for i in (0, 1)))
            at = np.where(np.isinf(size), likelier, -1.0).argmax()
        else:
            at = size.argmax()
        pair, outcome = np.unravel_index(at, size.shape)
        one, other = self.pairs[pair]
        if self.log_ratios[pair, outcome] < 0:
            one, other = other, one
        return Cell(
            loss=float(size[pair, outcome]),
            outcome=self.outcomes[outcome],
            likelier=self.tables[one],
            rarer=self.tables[other],
            probabilities=(
                float(self.probabilities[one, outcome]),
                float(self.probabilities[other, outcome]),
            ),
        )

    @property
    def epsilon(self) -> float:
        """Differential privacy of the matrix (Eq. 3): the largest log ratio, which may be infinite."""
        return self.worst_cell.loss

    def delta(self, epsilon: float) -> float:
        """Smallest delta for which the matrix is (epsilon, delta)-differentially private."""
        return self.worst_pair(epsilon)[0]

    def worst_pair(self, epsilon: float) -> tuple[float, Counts, Counts]:
        """That delta with the tables, likelier and rarer, that reach it."""
        check.non_negative("epsilon", epsilon)
        best = (-1.0, self.tables[0], self.tables[0])
        for one, other in ((0, 1), (1, 0)):
            ratios = self.log_ratios if one == 0 else -self.log_ratios
            # P - e^epsilon Q = P (1 - e^(epsilon - loss)), which neither overflows nor cancels
            gain = -np.expm1(np.minimum(epsilon - ratios, 0.0))
            found = (self.probabilities[self.pairs[:, one]] * gain).sum(axis=1)
            at = int(found.argmax())
            best = max(
                best,
                (float(found[at]), self.tables[self.pairs[at, one]], self.tables[self.pairs[at, other]]),
                key=lambda case: case[0],
            )
        return best

    def probabilistic_delta(
        self, epsilon: float, prior: npt.ArrayLike | None = None, cells: Literal["both", "rarer"] = "both"
    ) -> float:
        """Probability of an output whose log ratio exceeds epsilon: (epsilon, delta)-probabilistic privacy.

        Parameters
        ----------
        epsilon : float
            The log ratio that is allowed.
        prior : array of float, optional
            Probabilities of the tables, for the joint probability of table and output; without it, the
            largest over tables.
        cells : {"both", "rarer"}
            Whether an output counts under both tables of a pair, or only under that which makes it rarer,
            which is what the caption of figure 1 of [AV] adds up.
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
        """Pr[n | m] by Bayes' rule, shape (tables, outcomes); 0 for outputs that cannot happen."""
        with np.errstate(divide="ignore"):
            joint = np.log(self._prior(prior))[:, None] + self.log_probabilities
        top = np.max(joint, axis=0)
        scaled = np.exp(joint - np.where(np.isneginf(top), 0.0, top))
        found: FloatArray = scaled / np.maximum(scaled.sum(axis=0), np.finfo(float).tiny)
        return found

    def odds_ratios(self) -> FloatArray:
        """Posterior odds over prior odds (Eq. 4), shape (pairs, outcomes): whatever the prior odds are."""
        with np.errstate(over="ignore"):
            return np.exp(self.log_ratios)

    def inferential_disclosure(self, prior_odds: float = 1.0, certainty: float = 0.95) -> Disclosure:
        """What one output tells an attacker who knows the matrix and all rows but one.

        Parameters
        ----------
        prior_odds : float
            The attacker's odds for the table that the output speaks for, against its neighbour, > 0.
        certainty : float
            Posterior probability from which the attacker is said to know, in (0, 1).
        """
        odds = check.positive("prior_odds", prior_odds, "even odds are 1")
        if not 0 < certainty < 1:
            raise ValueError(f"certainty ({certainty!r}) must lie in (0, 1); try 0.95")
        needed = math.log(certainty / (1 - certainty)) - math.log(odds) - ROUNDING
        sure = max(
            float(np.where(ratios >= needed, self.probabilities[self.pairs[:, i]], 0.0).sum(axis=1).max())
            for i, ratios in enumerate((self.log_ratios, -self.log_ratios))
        )
        return Disclosure(
            prior=odds / (1 + odds),
            posterior=1 / (1 + math.exp(-self.epsilon) / odds),
            probability=sure,
            cell=self.worst_cell,
        )

    def _prior(self, prior: npt.ArrayLike) -> FloatArray:
        found = np.asarray(prior, dtype=np.float64)
        if found.shape != (len(self.tables),) or (found < 0).any() or abs(found.sum() - 1) > 1e-8:
            raise ValueError(
                f"prior (shape {found.shape}) must be {len(self.tables)} probabilities, one for each table"
            )
        return found


def log(p: float | Fraction) -> float:
    """Natural log of a probability; of a fraction too small for a double, too."""
    if not p:
        return -math.inf
    if isinstance(p, Fraction):
        return math.log(p.numerator) - math.log(p.denominator)
    return math.log(p)


def _over(losses: FloatArray, limit: float, both: bool) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = (np.abs(losses) if both else losses) > limit
    return found
