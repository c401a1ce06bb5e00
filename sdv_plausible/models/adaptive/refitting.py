"""The network again, from answers drawn again: what was measured stays, what was answered does not.

Post-processing of answers: there is no door here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from sdv_plausible.models.adaptive.maximum_entropy import fit_network
from sdv_plausible.models.adaptive.measurements import Measurements
from sdv_plausible.models.adaptive.schedule import Schedule
from sdv_plausible.models.adaptive.sets import SetTables
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.questions.budget import Allowance
from sdv_plausible.questions.counts import Axes, Axis
from sdv_plausible.questions.queryable import Answer, Queryable
from sdv_plausible.questions.transcript import NoisyAnswer
from sdv_plausible.table.columns.domain import Domain

_SOME_BUDGET = Allowance(mu=1.0)  # a budget decides what to measure, and that was decided


def refit_network(
    answers: Sequence[NoisyAnswer], domain: Domain, max_cost: int, num_simulated: int, coins: Coins
) -> BayesianNetwork:
    """Fit the network round by round, as the learner did, with nothing left to choose."""
    counts = [a for a in answers if a.asked.kind == "counts"]
    single = [a for a in counts if _columns(a) == 1]
    sets = [a for a in counts if _columns(a) > 2]
    if [_axes(a)[0].column for a in single] != list(range(len(domain))):
        raise ValueError("answers must hold one-way counts of each column, once and in order")
    pairs_last = [*sets, *(a for a in counts if _columns(a) == 2)]
    measured = Remeasured(single, [axis for a in pairs_last for axis in _axes(a)], domain)
    rounds = _rounds(answers) or [[]]
    for i, pairs in enumerate(rounds):
        measured.take_pairs(pairs)
        is_last = pairs is rounds[-1] and not sets
        network, measured.simulated = fit_network(
            measured.estimates(), max_cost, num_simulated, coins.spawn(i), is_last=is_last
        )
    if sets:
        measured.take_sets(sets)
        network, _ = fit_network(
            measured.estimates(), max_cost, num_simulated, coins.spawn("sets"), is_last=True
        )
    return network


def _axes(answer: NoisyAnswer) -> Axes:
    return answer.asked.tables[0]


def _columns(answer: NoisyAnswer) -> int:
    return len(_axes(answer))


def _rounds(answers: Sequence[NoisyAnswer]) -> list[list[NoisyAnswer]]:
    """Pair tables, a list for each round that measured any: scores stand between the rounds."""
    rounds: list[list[NoisyAnswer]] = [[]]
    for answer in answers:
        if answer.asked.kind == "distances":
            rounds.append([])
        elif answer.asked.kind == "counts" and _columns(answer) == 2:
            rounds[-1].append(answer)
    return [tables for tables in rounds if tables]


class _Answered:
    """The one-way counts where :class:`Measurements` expects the door; nothing else is asked."""

    allowance = _SOME_BUDGET

    def __init__(self, answers: Sequence[NoisyAnswer]) -> None:
        self._answers = answers

    def ask_tables(self, sets: Sequence[Axes], shares: Sequence[float]) -> list[Answer]:  # noqa: ARG002
        return [_answer(a) for a in self._answers]


def _answer(answer: NoisyAnswer) -> Answer:
    return Answer(values=answer.values.astype(float), sigma=answer.scale)


class Remeasured(Measurements):
    """Measurements that were chosen earlier, with the answers of now.

    ``axes`` of the tables that were measured; the last of a column's is the finest.
    """

    def __init__(self, single: Sequence[NoisyAnswer], axes: Sequence[Axis], domain: Domain) -> None:
        self._told = {axis.column: np.asarray(axis.buckets) for axis in axes}
        rows = cast("Queryable", _Answered(single))
        super().__init__(rows, domain, Schedule.make(1.0, _SOME_BUDGET, len(domain)))

    def _make_buckets(self, domain: Domain, schedule: Schedule) -> list[np.ndarray]:
        """As they were where they were used; elsewhere nothing was measured with them."""
        made = super()._make_buckets(domain, schedule)
        return [self._told.get(j, buckets) for j, buckets in enumerate(made)]

    def take_pairs(self, answers: Sequence[NoisyAnswer]) -> None:
        """Take in the pair tables of a round."""
        if not answers:
            return
        pairs = [_pair(a) for a in answers]
        before, _ = self._estimates(np.array(pairs))
        self._raw |= {
            e: (a.values.astype(float), table, a.scale)
            for e, a, table in zip(pairs, answers, before, strict=True)
        }
        self._clean_pairs()

    def take_sets(self, answers: Sequence[NoisyAnswer]) -> None:
        """Take in the tables of more columns, on the levels that they were measured on."""
        assert self.simulated is not None, "sets are measured against rows of the model"
        self._levels = [np.zeros(size, dtype=np.int64) for size in self._sizes]
        for axis in (axis for a in answers for axis in _axes(a)):
            self._levels[axis.column][self.buckets[axis.column]] = axis.buckets
        axes = [
            Axis(j, level[b]) for j, (level, b) in enumerate(zip(self._levels, self.buckets, strict=True))
        ]
        rows = np.column_stack([level[self.simulated[:, j]] for j, level in enumerate(self._levels)])
        self._sets = SetTables(self._rows, axes, rows, self.total)
        self._sets.take({tuple(axis.column for axis in _axes(a)): _answer(a) for a in answers})


def _pair(answer: NoisyAnswer) -> tuple[int, int]:
    a, b = (axis.column for axis in _axes(answer))
    return a, b
