"""White box: the likelihood ratio of the noisy answers, the strongest attack on a learner that only asks.

The attacker knows both tables, with and without the target, and sees every question and its noisy answer.
A question was chosen by earlier answers and by coins that see no row. So the answers' likelihood ratio is a
product over them, and by Neyman and Pearson no other attack on the model tells more
(docs/explanation/proofs/attacks.md, Theorem 3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdv_plausible.extensions.audit.attacks.bounds import AttackBounds, attack_bounds, provable
from sdv_plausible.extensions.audit.membership import FloatArray
from sdv_plausible.extensions.audit.recorded_queries import RecordingQueryable, check_heard
from sdv_plausible.models import make_learner
from sdv_plausible.models.base import Learner, ModelBudget
from sdv_plausible.models.learner_checks import planned_entries
from sdv_plausible.models.model_checks import domain_of
from sdv_plausible.privacy.accounting.losses import GaussianLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.coded_rows import CodeArray

ALL = 1 - 1e-9  # share of the budget from which on nothing can be asked any more


class BudgetSpentError(Exception):
    """The budget is spent: what the learner does from here on sees no row."""


class ObservedQueryable(RecordingQueryable):
    """The door to the rows, with the attacker listening until the budget is spent."""

    def hear(self, *heard: Any) -> None:
        """Write down, and end the fit once nothing can be asked any more."""
        super().hear(*heard)
        allowed, spent = self.allowance, self._meter
        left = (allowed.mu > 0 and spent.share < ALL) or spent.epsilon < ALL * allowed.epsilon
        if allowed.is_private and not left:
            raise BudgetSpentError

    def raw_rows(self, why: str) -> np.ndarray:
        """Refuse: whoever holds the rows needs no attack."""
        raise NotImplementedError(f"raw rows are handed out ({why}): there is no claim to attack")


@dataclass(frozen=True, kw_only=True)
class WhiteBoxResult:
    """What the white box proves of a learner, against its claim.

    Attributes
    ----------
    bounds : AttackBounds
        What was proved.
    claimed_epsilon, claimed_mu : float
        What the ledger claims: epsilon at the bounds' delta, and mu of all Gaussian losses; mu is infinite
        where there are other losses.
    asked_mu : float
        Largest mu of the answers with Gaussian noise that were given: below `claimed_mu` where the learner
        left budget unspent or questions did not move as far as they may.
    provable_epsilon, provable_mu : float
        What the best attack proves, in 9 of 10 audits of so many runs, if the claim is exact.
    """

    bounds: AttackBounds
    claimed_epsilon: float
    claimed_mu: float
    asked_mu: float
    provable_epsilon: float
    provable_mu: float

    @property
    def broken(self) -> bool:
        """Whether a bound lies above the claim."""
        return self.bounds.mu > self.claimed_mu or self.bounds.epsilon > self.claimed_epsilon

    def __str__(self) -> str:
        return (
            f"the claim {'is BROKEN' if self.broken else 'holds'}: {self.bounds}. Claimed: epsilon "
            f"{self.claimed_epsilon:.3g}, mu {self.claimed_mu:.3g}; answers given: mu {self.asked_mu:.3g}. "
            f"If the claim is exact, 9 of 10 such audits prove epsilon {self.provable_epsilon:.3g} and mu "
            f"{self.provable_mu:.3g}{self._why()}."
        )

    def _why(self) -> str:
        if self.provable_epsilon > self.claimed_epsilon / 2:
            return ""
        return (
            f", less than half of the claimed epsilon: at delta {self.bounds.delta:g} the claim is about "
            f"events that {self.bounds.runs} runs do not see"
        )


def white_box(
    learner: Learner,
    domain: Any,
    budget: ModelBudget,
    absent: np.ndarray,
    present: np.ndarray,
    *,
    runs: int = 2000,
    false_alarm: float = 0.05,
) -> WhiteBoxResult:
    """Attack a learner's noisy answers, with two tables that differ in one row.

    Every run asks as the learner would in earnest; the rest of the fit, which sees no row, is left out once
    nothing can be asked any more.

    Parameters
    ----------
    learner : Learner
        Any that asks by ``ask``, ``ask_tables``, ``ask_laplace`` and ``count_rows``.
    domain : Domain
        Of the columns.
    budget : ModelBudget
        What it may spend.
    absent, present : ndarray of int, shape (n, m)
        Codes of the table without and with the target; :func:`worst_tables` makes a pair on which the default
        learner tells as much as it may.
    runs : int
        On each table.
    false_alarm : float
        Probability that a true claim is contradicted, for each bound.

    Raises
    ------
    NotImplementedError
        If the learner asks in another way: a choice, a sum over a sample.
    ValueError
        If nothing was heard of it: no claim holds by silence.
    """
    entries = planned_entries(learner, domain, budget)
    worlds = [CodeArray(np.asfortranarray(codes), domain.cardinalities) for codes in (absent, present)]
    scores: list[FloatArray] = []
    mus: list[float] = []
    heard = False
    for world in worlds:
        found = []
        for _ in range(runs):
            rows = _overheard(learner, domain, budget, entries, world)
            found.append(_score(rows, worlds))
            heard = heard or bool(rows.heard)
        scores.append(np.array([score for score, _ in found]))
        mus += [mu for _, mu in found]
    check_heard(learner, heard=heard)
    bounds = attack_bounds(scores[1], scores[0], budget.delta, false_alarm=false_alarm)
    mu = _claimed_mu(entries)
    epsilon = _claimed_epsilon(entries, budget)
    likely = provable(min(mu, 50.0), runs, budget.delta, false_alarm=false_alarm)
    return WhiteBoxResult(
        bounds=bounds, claimed_epsilon=epsilon, claimed_mu=mu, asked_mu=max(mus),
        provable_epsilon=likely[0], provable_mu=likely[1],
    )  # fmt: skip


def white_box_of_default(
    epsilon: float, delta: float, *, runs: int = 2000, false_alarm: float = 0.05
) -> WhiteBoxResult:
    """Attack the default learner at a claim, on the neighbours of :func:`worst_tables`.

    Parameters
    ----------
    epsilon, delta : float
        The claim.
    runs : int
        On each table; about a millisecond each.
    false_alarm : float
        For each bound.
    """
    learner, budget = make_learner("bayesian_network"), ModelBudget(epsilon=epsilon, delta=delta)
    tables = worst_tables()
    return white_box(learner, domain_of((2, 2)), budget, *tables, runs=runs, false_alarm=false_alarm)


def worst_tables(cardinality: int = 2, rows: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """Two equal columns, and a target that is like no row: its cells are empty, and the link is worth asking.

    Parameters
    ----------
    cardinality : int
        Codes of each column; the last one is the target's in the first column alone.
    rows : int
        Rows without the target.

    Returns
    -------
    absent, present : ndarray of int, shapes (rows, 2) and (rows + 1, 2)
    """
    codes = np.arange(rows, dtype=np.int32) % cardinality
    absent = np.column_stack([codes, codes])
    target = np.array([[cardinality - 1, 0]], dtype=np.int32)
    return absent, np.concatenate([absent, target])


def _overheard(
    learner: Learner, domain: Any, budget: ModelBudget, entries: Sequence[LedgerEntry], world: CodeArray
) -> ObservedQueryable:
    coins = KeyedRNG.from_os_entropy()
    ledger = PrivacyLedger(delta=budget.delta, neighbours=budget.neighbours)
    rows = ObservedQueryable(world, ledger, entries, coins.spawn("noise"))
    with suppress(BudgetSpentError):
        learner.fit(rows, domain, budget, coins.spawn("learner"))
    return rows


def _score(rows: ObservedQueryable, worlds: Sequence[CodeArray]) -> tuple[float, float]:
    """Log-likelihood ratio of the answers, present over absent, and the mu of what was asked."""
    total, squares = 0.0, 0.0
    for one in rows.heard:
        absent, present = (np.asarray(one.question.exact(w), dtype=np.float64).ravel() for w in worlds)
        seen, moved, scale = one.values.ravel(), (present - absent) != 0, one.scale
        if not moved.any():
            continue
        off, on = np.abs(seen - absent)[moved], np.abs(seen - present)[moved]
        if scale == 0:
            return (math.inf if not on.any() else -math.inf), math.inf
        if one.law == "discrete laplace":
            total += float((off - on).sum()) / scale
        else:
            total += float((off**2 - on**2).sum()) / (2 * scale**2)
            squares += float(((present - absent)[moved] ** 2).sum()) / scale**2
    return total, math.sqrt(squares)


def _claimed_mu(entries: Sequence[LedgerEntry]) -> float:
    known = [loss for entry in entries for loss in entry.losses]
    if not all(isinstance(loss, GaussianLoss) for loss in known):
        return math.inf
    return math.sqrt(sum(x.sensitivity_over_sigma**2 * x.count for x in known if isinstance(x, GaussianLoss)))


def _claimed_epsilon(entries: Sequence[LedgerEntry], budget: ModelBudget) -> float:
    ledger = PrivacyLedger(delta=budget.delta, neighbours=budget.neighbours)
    ledger.charge(*entries)
    return float(ledger.total())
