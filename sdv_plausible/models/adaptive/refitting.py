"""The network again, from answers drawn again: what was measured stays, what was answered does not.

Post-processing of answers: there is no door here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from sdv_plausible.models.adaptive.denoising import nearest_with_margins, rake
from sdv_plausible.models.adaptive.estimates import EXACT, Estimates
from sdv_plausible.models.adaptive.higher_marginals import SetTables
from sdv_plausible.models.adaptive.maximum_entropy import fit_network
from sdv_plausible.models.adaptive.measurements import Measurements, Pair
from sdv_plausible.models.adaptive.reconciliation import reconciled
from sdv_plausible.models.adaptive.schedule import Schedule
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.budget_tracker import QueryBudget
from sdv_plausible.queries.count_queries import Axes, Axis
from sdv_plausible.queries.queryable import NoisyValues, Queryable
from sdv_plausible.queries.transcript import NoisyAnswer
from sdv_plausible.table.columns.domain import Attribute, Domain

FEWEST_SIMULATED = 20_000  # rows that a network drawn again is fitted on, at least; twice those of the table
COMMON = 0.02  # mass of a value without an order from which on its own part of a dependence is kept
DEPENDENT = 1e-9  # length from which on a score is one of its own
BORNE = 0.5  # of a number's variance, the most that noise on it may be where it is kept
STEPS = 8  # towards the moments of the noisy table
_SOME_BUDGET = QueryBudget(mu=1.0)  # a budget decides what to measure, and that was decided


def refit_network(
    answers: Sequence[NoisyAnswer], domain: Domain, max_cost: int, num_simulated: int, coins: KeyedRNG
) -> BayesianNetwork:
    """Fit the network round by round, as the learner did, with nothing left to choose."""
    single, rounds, sets = _parted(reconciled(answers, domain, tell=True), domain)
    measured = Remeasured(single, sets, [this.tables for this in rounds], domain)
    network: BayesianNetwork | None = None
    for i, this in enumerate(rounds or [_Round()]):
        if this.is_again:
            measured.take_again(this.tables)
        else:
            measured.take_pairs(this.tables, this.scored)
        if not this.tables and network is not None:
            continue
        is_last = not any(later.tables for later in rounds[i + 1 :]) and not sets
        name = measured.name_of_fit if this.is_again else (i,)
        network, measured.simulated = fit_network(
            measured.estimates(), max_cost, num_simulated, coins.spawn(*name), is_last=is_last
        )
    if sets:
        measured.take_sets(sets)
        network, _ = fit_network(
            measured.estimates(), max_cost, num_simulated, coins.spawn("sets"), is_last=True
        )
    assert network is not None
    return network


def redrawn_network(
    answers: Sequence[NoisyAnswer],
    domain: Domain,
    rows: np.ndarray,
    max_cost: int,
    num_simulated: int,
    coins: KeyedRNG,
) -> BayesianNetwork:
    """Fit a network at once to answers drawn again; ``rows`` (N, m) are codes of the released model's rows.

    Tables are cleaned against those rows, and keep what the answers say of linear dependence.
    """
    single, rounds, sets = _parted(reconciled(answers, domain), domain)
    measured = Unshrunk(single, sets, [this.tables for this in rounds], domain)
    measured.see(rows)
    scored = {pair: None for this in rounds[1:] for pair in this.scored}
    first = [answer for this in rounds for answer in this.tables if not this.is_again]
    measured.take_pairs(first, list(scored))
    for this in (this for this in rounds if this.is_again):
        measured.take_again(this.tables)
    if sets:
        measured.take_sets(sets)
    many = int(np.clip(2 * measured.total, FEWEST_SIMULATED, num_simulated))
    return fit_network(measured.estimates(), max_cost, many, coins, is_last=True)[0]


def _parted(
    answers: Sequence[NoisyAnswer], domain: Domain
) -> tuple[list[NoisyAnswer], list[_Round], list[NoisyAnswer]]:
    """One-way counts, rounds of pairs, and tables of more columns."""
    counts = [a for a in answers if a.asked.kind == "counts"]
    single = [a for a in counts if _columns(a) == 1]
    if [_axes(a)[0].column for a in single] != list(range(len(domain))):
        raise ValueError("answers must hold one-way counts of each column, once and in order")
    return single, _rounds(answers), [a for a in counts if _columns(a) > 2]


def _axes(answer: NoisyAnswer) -> Axes:
    return answer.asked.tables[0]


def _columns(answer: NoisyAnswer) -> int:
    return len(_axes(answer))


@dataclass
class _Round:
    """Pairs that were scored, and the tables of those that were measured."""

    scored: list[Pair] = field(default_factory=list)
    tables: list[NoisyAnswer] = field(default_factory=list)
    is_again: bool = False  # whether they were measured before


def _rounds(answers: Sequence[NoisyAnswer]) -> list[_Round]:
    """Rounds of pairs in order: the scores stand before the tables that were chosen by them."""
    rounds, seen = [_Round()], set[Pair]()
    for answer in answers:
        if answer.asked.kind == "distances" and _columns(answer) == 2:
            scored = [(first.column, second.column) for first, second in answer.asked.tables]
            rounds.append(_Round(scored=scored))
        elif answer.asked.kind == "counts" and _columns(answer) == 2:
            again = [_pair(a) for a in rounds[-1].tables] if rounds[-1].is_again else None
            if _pair(answer) in seen and (again is None or _pair(answer) in again):
                rounds.append(_Round(is_again=True))
            seen.add(_pair(answer))
            rounds[-1].tables.append(answer)
    return [this for this in rounds if this.scored or this.tables]


class _GivenMargins:
    """The one-way counts where :class:`Measurements` expects the door; nothing else is asked."""

    allowance = _SOME_BUDGET

    def __init__(self, answers: Sequence[NoisyAnswer]) -> None:
        self._answers = answers

    def ask_tables(self, sets: Sequence[Axes], shares: Sequence[float]) -> list[NoisyValues]:  # noqa: ARG002
        return [_answer(a) for a in self._answers]


def _answer(answer: NoisyAnswer) -> NoisyValues:
    return NoisyValues(values=answer.values.astype(float), sigma=answer.scale)


class Remeasured(Measurements):
    """Measurements that were chosen earlier, with the answers of now.

    Of the axes of a column in them the last, a pair's, is the finest.
    """

    def __init__(
        self,
        single: Sequence[NoisyAnswer],
        sets: Sequence[NoisyAnswer],
        rounds: Sequence[Sequence[NoisyAnswer]],
        domain: Domain,
    ) -> None:
        tables = (*sets, *(answer for pairs in rounds for answer in pairs))
        self._told = {axis.column: np.asarray(axis.buckets) for a in tables for axis in _axes(a)}
        self._attributes = list(domain)
        rows = cast("Queryable", _GivenMargins(single))
        super().__init__(rows, domain, Schedule.make(1.0, _SOME_BUDGET, len(domain)))

    def _make_buckets(self, domain: Domain, schedule: Schedule) -> list[np.ndarray]:
        """As they were where they were used; elsewhere nothing was measured with them."""
        made = super()._make_buckets(domain, schedule)
        return [self._told.get(j, buckets) for j, buckets in enumerate(made)]

    def take_pairs(self, answers: Sequence[NoisyAnswer], scored: Sequence[Pair] = ()) -> None:
        """Take in the pair tables of a round, and keep what the model has of pairs that it only scored."""
        pairs = [_pair(a) for a in answers]
        if unchosen := [e for e in scored if e not in pairs]:
            self._keep(np.array(unchosen), self._estimates(np.array(unchosen))[0])
        if not answers:
            return
        for e in pairs:
            self._kept.pop(e, None)
        before, _ = self._estimates(np.array(pairs))
        self._raw |= {
            e: (a.values.astype(float), table, a.scale)
            for e, a, table in zip(pairs, answers, before, strict=True)
        }
        self._clean_pairs()

    def take_again(self, answers: Sequence[NoisyAnswer]) -> None:
        """Take in second answers to pairs."""
        self.asked_again += 1
        self._take_again({_pair(a): _answer(a) for a in answers})

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


class Unshrunk(Remeasured):
    """The same for inference: what cleaning takes off the linear dependence of two columns is put back.

    Cleaning makes rows more accurate by shrinking what noise may have made. An estimate from them would be
    shrunk by the same in every table drawn again, and its interval could not tell.
    """

    def _clean(self, j: int, counts: np.ndarray) -> np.ndarray:
        """Mean and deviation of a number are those of its noisy counts: ends that are left out bend them."""
        cleaned = super()._clean(j, counts)
        k, sigma = len(self._places[j]), self._sigmas[j] / self.total
        if k:
            cleaned[:k] = with_deviation(cleaned[:k], counts[:k] / self.total, self._places[j], sigma)
        return cleaned

    def estimates(self) -> Estimates:
        """Nor is the network kept from meeting what noise may have made."""
        return replace(super().estimates(), precision=EXACT)

    def see(self, rows: np.ndarray) -> None:
        """Take codes (N, m) of rows of the released model as what is known before pairs are."""
        self.simulated = np.column_stack([b[rows[:, j]] for j, b in enumerate(self.buckets)])

    def _denoised(self, e: Pair, prior: np.ndarray, possible: np.ndarray) -> np.ndarray:
        rows, columns = (self.coarse[j] * self.total for j in e)
        seen = nearest_with_margins(self._raw[e][0], rows, columns, possible)
        scores = [column_scores(self._attributes[j], self.buckets[j], self.margins[j]) for j in e]
        found = super()._denoised(e, prior, possible)
        return with_moments(found, seen, rows, columns, possible, scores)


def column_scores(attribute: Attribute, buckets: np.ndarray, margin: np.ndarray) -> np.ndarray:
    """Orthonormal scores (k, buckets) of a column under its margin, all of mean 0.

    One of the mean place of a bucket where the codes are ordered, and one for every other common bucket.
    """
    mass, ordered = np.bincount(buckets, margin), len(attribute.places)
    lines = [np.ones(len(mass))]
    if ordered:
        places = attribute.places / max(float(np.abs(attribute.places).max()), 1e-300)
        within = np.bincount(buckets[:ordered], margin[:ordered], len(mass))
        lines.append(
            np.bincount(buckets[:ordered], margin[:ordered] * places, len(mass)) / np.maximum(within, 1e-300)
        )
    lines += [np.arange(len(mass)) == b for b in np.unique(buckets[ordered:]) if mass[b] >= COMMON]
    root = np.sqrt(np.maximum(mass, 1e-12))
    q, r = np.linalg.qr((np.array(lines) * root).T)
    return np.asarray((q / root[:, None]).T[1:][np.abs(np.diag(r))[1:] > DEPENDENT])


def with_deviation(found: np.ndarray, seen: np.ndarray, places: np.ndarray, sigma: float) -> np.ndarray:
    """A cleaned margin with the mean and deviation of the noisy one, unless noise is what that would show."""
    mass = float(found.sum())
    places = places / max(float(np.abs(places).max()), 1e-300)
    apart = places - found @ places / max(mass, 1e-300)
    variance = float(found @ apart**2) / max(mass, 1e-300)
    squares = apart**2 - variance
    if not sigma * np.linalg.norm(squares) < BORNE * variance * mass or len(np.flatnonzero(found)) < 3:
        return found  # nearly all is in one place, for example
    scores = np.stack([apart / np.sqrt(variance), squares / variance])
    goal, metric = scores @ seen, found * scores
    for _ in range(STEPS):
        step = np.linalg.lstsq(metric @ scores.T, goal - scores @ found, rcond=None)[0]
        moved = np.maximum(found + step @ metric, 0)
        found = moved * (mass / max(float(moved.sum()), 1e-300))
    return found


def with_moments(
    found: np.ndarray,
    seen: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    possible: np.ndarray,
    scores: Sequence[np.ndarray],
) -> np.ndarray:
    """A cleaned count table with the noisy one's mean products of scores, as far as cells >= 0 allow."""
    # Of scores u, v that are orthonormal under the margins, adding t u v times independence moves the mean
    # of u v by t, and no margin: a first-order step that is repeated.
    u, v = scores
    total = max(float(rows.sum()), 1e-300)
    apart = np.outer(rows, columns) / total
    for _ in range(STEPS):
        found = rake(found * possible, rows, columns)
        lacking = u @ (seen - found) @ v.T / total
        found = np.maximum(found + apart * (u.T @ lacking @ v), 0)
    return found


def _pair(answer: NoisyAnswer) -> tuple[int, int]:
    a, b = (axis.column for axis in _axes(answer))
    return a, b
