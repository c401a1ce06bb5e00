"""The exact privacy curve of a noisy learner on a small universe, against what its plan charges.

A learner's model is made of noisy answers alone. So it is enough to know what was asked, the noise that was
really drawn, and how far the exact answers of two neighbouring tables are apart: the exact law of the privacy
loss is then a convolution of integer noises.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, ndtr

from sdv_plausible.audit.claims import Comparison, checked_epsilons, claimed_deltas
from sdv_plausible.audit.count_tables import Counts, neighbouring
from sdv_plausible.audit.small_universe import universe
from sdv_plausible.audit.transition_matrix import FloatArray
from sdv_plausible.models.base import Learner, ModelBudget
from sdv_plausible.models.learners import planned_entries
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.privacy.noise.mechanisms import NoiseCall, record_calls
from sdv_plausible.questions.codes import CodeArray
from sdv_plausible.questions.counts import Axes, CountTable, NumberOfRows, Question
from sdv_plausible.questions.queryable import Answer, Queryable

REACH = 9.0  # standard deviations of a Gaussian that are enumerated; what is beyond is added to delta
TAIL = 40.0  # scales of a discrete Laplace that are enumerated
SAME = 10  # decimals of a loss that tell it from another
NEGLIGIBLE = 1e-19  # probability of a loss that is added to delta
MOST_LOSSES = 20_000_000
FINE = 1000.0  # scale from which on Gaussian noise is taken as continuous: delta moves by about 1e-6

Moves = tuple[tuple[str, float, int], ...]
"""Noise, its scale, and by how much the exact value changes: for every value that does."""


class ListeningRows(Queryable):
    """The door to the rows, which hears every question with its answer."""

    heard: list[tuple[Question[Any], np.ndarray, float]]  # with the answer, and its scale as it is told, or 0

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.heard = []

    def ask(self, question: Question[Any], share: float, failure: float = 0.0) -> Answer:
        """Ask, and hear."""
        with record_calls() as calls:
            answer = super().ask(question, share, failure)
        self.hear([question], [answer], calls)
        return answer

    def ask_tables(self, sets: Sequence[Axes], shares: Sequence[float]) -> list[Answer]:
        """Ask for several tables, and hear."""
        with record_calls() as calls:
            answers = super().ask_tables(sets, shares)
        self.hear([CountTable(axes) for axes in sets], answers, calls)
        return answers

    def count_rows(self, epsilon: float, failure: float) -> int:
        """Count rows, and hear."""
        with record_calls() as calls:
            count = super().count_rows(epsilon, failure)
        scale = self.neighbours.rows / epsilon if self.allowance.is_private else 0.0
        self.hear([NumberOfRows()], [Answer(values=np.array([count]), sigma=scale)], calls)
        return count

    def ask_frequent(self, *_: Any, **__: Any) -> Any:
        """Refuse: values that are not known beforehand have no table of counts."""
        raise NotImplementedError("audits take learners, which ask for counts; not ask_frequent")

    def release_groups(self, *_: Any, **__: Any) -> Any:
        """Refuse: that is a privacy test."""
        raise NotImplementedError("release_groups is a privacy test: audit it with release_test_matrix")

    def hear(self, questions: Sequence[Any], answers: Sequence[Answer], _: Sequence[NoiseCall], /) -> None:
        """Write down what was asked and answered; last come the calls of the noise that was drawn."""
        self.heard += [(q, a.values, a.sigma) for q, a in zip(questions, answers, strict=True)]


class WatchedRows(ListeningRows):
    """The same, which writes down the noise that was really drawn, and whether rows were handed out."""

    raw = False

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.drawn: list[tuple[Question[Any], NoiseCall | None]] = []

    def hear(self, questions: Sequence[Any], _: Sequence[Answer], calls: Sequence[NoiseCall], /) -> None:
        """Write down each question's noise."""
        drawn: Sequence[NoiseCall | None] = calls or [None] * len(questions)
        self.drawn += zip(questions, drawn, strict=True)

    def raw_rows(self, why: str) -> np.ndarray:
        """Hand out the rows, and write that down."""
        self.raw = True
        return super().raw_rows(why)


def compare_learner(
    learner: Learner, domain: Any, budget: ModelBudget, tables: Iterable[Counts], epsilons: npt.ArrayLike
) -> Comparison:
    """Hold the exact curve of a learner against what its plan charges, over all neighbours.

    The learner runs once on every table. One that chooses questions by earlier answers is audited along the
    questions that it chose there; one that does not, wholly.

    Parameters
    ----------
    learner : Learner
        Any that asks for counts.
    domain : Domain
        Of few columns and codes.
    budget : ModelBudget
        What it may spend, for which neighbours: single rows, added and removed or replaced.
    tables : iterable of tuple of int
        Tables as counts of all records of the universe, such as :func:`tables_of_sizes` gives.
    epsilons : array of float
        Where to compare, each >= 0.
    """
    who = budget.neighbours
    if who.rows != 1:
        raise ValueError(f"budget.neighbours.rows ({who.rows}) must be 1: tables here have no people")
    at, known = checked_epsilons(epsilons), tuple(tables)
    engines = {table: CodeArray(_codes(table, domain), domain.cardinalities) for table in known}
    entries = planned_entries(learner, domain, budget)
    best, worst = np.full(len(at), -1.0), [(known[0], known[0])] * len(at)
    pairs = neighbouring(known, "replace_one" if who.replace else "add_remove")
    watched: dict[Counts, WatchedRows] = {}
    for one, other in ((known[i], known[j]) for i, j in pairs):
        for table, near in ((one, other), (other, one)):
            if table not in watched:
                ledger = PrivacyLedger(delta=budget.delta, neighbours=who)
                coins = Coins.from_os_entropy()
                watched[table] = WatchedRows(engines[table], ledger, entries, coins)
                learner.fit(watched[table], domain, budget, coins)
            found = _deltas(watched[table], engines[table], engines[near], at)
            for e in np.flatnonzero(found > best):
                best[e], worst[e] = found[e], (table, near)
    claimed = claimed_deltas([loss for entry in entries for loss in entry.losses], at)
    return Comparison(epsilons=at, claimed=claimed, exact=best, worst_pairs=tuple(worst))


def _codes(table: Counts, domain: Any) -> np.ndarray:
    return np.asfortranarray(np.repeat(universe(domain.cardinalities), table, axis=0))


def _deltas(rows: WatchedRows, engine: CodeArray, other: CodeArray, epsilons: FloatArray) -> FloatArray:
    """Exact delta of the answers to all questions, between two tables."""
    moves: list[tuple[str, float, int]] = []
    for question, call in rows.drawn:
        change = np.abs(np.asarray(question.exact(engine)) - np.asarray(question.exact(other))).ravel()
        if change.any() and call is None:
            return np.ones(len(epsilons))
        if call is not None:
            moves += [(call.name, call.scale, int(size)) for size in change[change > 0]]
    if rows.raw:
        return np.ones(len(epsilons))
    fine = [move for move in moves if move[0] == "discrete_gaussian" and move[1] > FINE]
    losses, masses = _loss_law(tuple(sorted(move for move in moves if move not in fine)))
    left = epsilons[:, None] - losses[None, :]
    gain = _gaussian(math.sqrt(sum((change / scale) ** 2 for _, scale, change in fine)), left)
    found: FloatArray = gain @ masses + max(0.0, 1.0 - float(masses.sum()))
    return found


def _gaussian(mu: float, epsilon: FloatArray) -> FloatArray:
    """Delta of the Gaussian mechanism at any epsilon, below 0 too; of mu 0, nothing more than a shift."""
    if mu == 0:
        return -np.expm1(np.minimum(epsilon, 0.0))
    found: FloatArray = ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))
    return np.maximum(found, 0.0)


@lru_cache(maxsize=4096)
def _loss_law(moves: Moves) -> tuple[FloatArray, FloatArray]:
    """Privacy losses of independent noisy values together, and their probabilities."""
    losses: FloatArray = np.zeros(1)
    masses: FloatArray = np.ones(1)
    for move in moves:
        more, weights = _one_loss(*move)
        if len(losses) * len(more) > MOST_LOSSES:
            raise ValueError(
                f"the learner's answers have more than {MOST_LOSSES:,} different losses: audit it on fewer "
                "columns, or with a larger epsilon, which takes less noise"
            )
        sums = np.round((losses[:, None] + more[None, :]).ravel(), SAME)
        losses, where = np.unique(sums, return_inverse=True)
        joint = (masses[:, None] * weights[None, :]).ravel()
        masses = np.asarray(np.bincount(where, weights=joint), dtype=np.float64)
        kept = masses > NEGLIGIBLE
        losses, masses = losses[kept], masses[kept]
    return losses, masses


@lru_cache(maxsize=4096)
def _one_loss(name: str, scale: float, change: int) -> tuple[FloatArray, FloatArray]:
    """``ln p(z) - ln p(z - change)`` and p(z), for the noise z of one value."""
    reach = math.ceil((REACH if name == "discrete_gaussian" else TAIL) * scale) + change
    z = np.arange(-reach, reach + 1, dtype=np.float64)

    def log_weight(x: FloatArray) -> FloatArray:
        return -(x**2) / (2 * scale**2) if name == "discrete_gaussian" else -np.abs(x) / scale

    weight = np.exp(log_weight(z))
    return log_weight(z) - log_weight(z - change), weight / weight.sum()
