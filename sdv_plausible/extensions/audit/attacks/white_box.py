"""White-box attack: the likelihood ratio of the noisy answers, the strongest attack on a query-only learner.

The attacker knows both tables, with and without the target, and sees every query and its noisy answer. A
query depends only on earlier answers and on randomness that is independent of the rows. So the likelihood
ratio of the answers is a product over queries, and by the Neyman-Pearson lemma no other attack on the model
is more powerful (docs/explanation/proofs/attacks.md, Theorem 3).
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
from sdv_plausible.extensions.audit.recorded_queries import RecordingQueryable, check_recorded
from sdv_plausible.models import make_learner
from sdv_plausible.models.base import Learner, ModelBudget
from sdv_plausible.models.learner_checks import planned_entries
from sdv_plausible.models.model_checks import categorical_domain
from sdv_plausible.privacy.accounting.losses import GaussianLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import CodeArray

ALL = 1 - 1e-9  # share of the budget above which no query is possible


class BudgetSpentError(Exception):
    """The budget is spent: the rest of the fit reads no row."""


class ObservedQueryable(RecordingQueryable):
    """A recording queryable that ends the fit once the budget is spent."""

    def record(self, *arguments: Any) -> None:
        """Record, and end the fit once no further query is possible."""
        super().record(*arguments)
        budget, spent = self.allowance, self._meter
        has_budget = (budget.mu > 0 and spent.share < ALL) or spent.epsilon < ALL * budget.epsilon
        if budget.is_private and not has_budget:
            raise BudgetSpentError

    def raw_rows(self, why: str) -> np.ndarray:
        """Raise, because a learner that uses raw rows makes no claim."""
        raise NotImplementedError(f"raw rows are handed out ({why}): there is no claim to attack")


@dataclass(frozen=True, kw_only=True)
class WhiteBoxResult:
    """Bounds of the white-box attack on a learner, and the learner's claim.

    Attributes
    ----------
    bounds : AttackBounds
        Proved lower bounds.
    claimed_epsilon, claimed_mu : float
        The ledger's epsilon at the bounds' delta, and mu of all Gaussian losses; mu is infinite if there are
        other losses.
    asked_mu : float
        Largest mu of the given answers with Gaussian noise. It is below `claimed_mu` if the learner left
        budget unspent, or if queries changed by less than their sensitivity.
    provable_epsilon, provable_mu : float
        Bounds that the best attack proves in 9 of 10 audits with this number of runs, if the claim is exact.
    """

    bounds: AttackBounds
    claimed_epsilon: float
    claimed_mu: float
    asked_mu: float
    provable_epsilon: float
    provable_mu: float

    @property
    def broken(self) -> bool:
        """Whether a bound exceeds the claim."""
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
    """Attack a learner's noisy answers on two tables that differ in one row.

    Every run makes the learner's real queries. The rest of the fit, which reads no row, is skipped once the
    budget is spent.

    Parameters
    ----------
    learner : Learner
        Any learner that only uses ``ask``, ``ask_tables``, ``ask_laplace`` and ``count_rows``.
    domain : Domain
        Domain of the columns.
    budget : ModelBudget
        Budget of the learner.
    absent, present : ndarray of int, shape (n, m)
        Codes of the table without and with the target. :func:`worst_tables` makes a pair on which the default
        learner discloses as much as its claim allows.
    runs : int
        Number of runs on each table.
    false_alarm : float
        Probability that a bound contradicts a true claim, for each bound.

    Raises
    ------
    NotImplementedError
        If the learner makes other queries, such as a choice or a sum over a sample.
    ValueError
        If the learner made no query, so that there is nothing to attack.
    """
    entries = planned_entries(learner, domain, budget)
    engines = [CodeArray(np.asfortranarray(codes), domain.cardinalities) for codes in (absent, present)]
    scores: list[FloatArray] = []
    mus: list[float] = []
    any_recorded = False
    for engine in engines:
        run_scores = []
        for _ in range(runs):
            queryable = _observed_fit(learner, domain, budget, entries, engine)
            run_scores.append(_score(queryable, engines))
            any_recorded = any_recorded or bool(queryable.recorded)
        scores.append(np.array([score for score, _ in run_scores]))
        mus += [mu for _, mu in run_scores]
    check_recorded(learner, recorded=any_recorded)
    bounds = attack_bounds(scores[1], scores[0], budget.delta, false_alarm=false_alarm)
    mu = _claimed_mu(entries)
    epsilon = _claimed_epsilon(entries, budget)
    provable_bounds = provable(min(mu, 50.0), runs, budget.delta, false_alarm=false_alarm)
    return WhiteBoxResult(
        bounds=bounds, claimed_epsilon=epsilon, claimed_mu=mu, asked_mu=max(mus),
        provable_epsilon=provable_bounds[0], provable_mu=provable_bounds[1],
    )  # fmt: skip


def white_box_of_default(
    epsilon: float, delta: float, *, runs: int = 2000, false_alarm: float = 0.05
) -> WhiteBoxResult:
    """Attack the default learner at a given claim, on the neighbouring tables of :func:`worst_tables`.

    Parameters
    ----------
    epsilon, delta : float
        The claim.
    runs : int
        Number of runs on each table, about a millisecond each.
    false_alarm : float
        Error probability of each bound.
    """
    learner, budget = make_learner("bayesian_network"), ModelBudget(epsilon=epsilon, delta=delta)
    tables = worst_tables()
    return white_box(learner, categorical_domain((2, 2)), budget, *tables, runs=runs, false_alarm=false_alarm)


def worst_tables(cardinality: int = 2, rows: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """Return a table of two equal columns, without and with a target that differs from all other rows.

    The target is alone in its cell of the pair table, and the columns are so dependent that the learner
    measures this table.

    Parameters
    ----------
    cardinality : int
        Number of codes of each column. The target has the last code in the first column only.
    rows : int
        Number of rows without the target.

    Returns
    -------
    absent, present : ndarray of int, shapes (rows, 2) and (rows + 1, 2)
        Codes without and with the target.
    """
    codes = np.arange(rows, dtype=np.int32) % cardinality
    absent = np.column_stack([codes, codes])
    target = np.array([[cardinality - 1, 0]], dtype=np.int32)
    return absent, np.concatenate([absent, target])


def _observed_fit(
    learner: Learner, domain: Any, budget: ModelBudget, entries: Sequence[LedgerEntry], engine: CodeArray
) -> ObservedQueryable:
    """Fit the learner with a queryable that records its queries until the budget is spent."""
    rng = KeyedRNG.from_os_entropy()
    ledger = PrivacyLedger(delta=budget.delta, neighbours=budget.neighbours)
    queryable = ObservedQueryable(engine, ledger, entries, rng.spawn("noise"))
    with suppress(BudgetSpentError):
        learner.fit(queryable, domain, budget, rng.spawn("learner"))
    return queryable


def _score(queryable: ObservedQueryable, engines: Sequence[CodeArray]) -> tuple[float, float]:
    """Return the log-likelihood ratio of the answers, present over absent, and the mu of the queries."""
    total, squares = 0.0, 0.0
    for query in queryable.recorded:
        absent, present = (
            np.asarray(query.question.exact(engine), dtype=np.float64).ravel() for engine in engines
        )
        values, differs, scale = query.values.ravel(), (present - absent) != 0, query.scale
        if not differs.any():
            continue
        absent_error, present_error = np.abs(values - absent)[differs], np.abs(values - present)[differs]
        if scale == 0:
            return (math.inf if not present_error.any() else -math.inf), math.inf
        if query.law == "discrete laplace":
            total += float((absent_error - present_error).sum()) / scale
        else:
            total += float((absent_error**2 - present_error**2).sum()) / (2 * scale**2)
            squares += float(((present - absent)[differs] ** 2).sum()) / scale**2
    return total, math.sqrt(squares)


def _claimed_mu(entries: Sequence[LedgerEntry]) -> float:
    losses = [loss for entry in entries for loss in entry.losses]
    if not all(isinstance(loss, GaussianLoss) for loss in losses):
        return math.inf
    return math.sqrt(
        sum(loss.sensitivity_over_sigma**2 * loss.count for loss in losses if isinstance(loss, GaussianLoss))
    )


def _claimed_epsilon(entries: Sequence[LedgerEntry], budget: ModelBudget) -> float:
    ledger = PrivacyLedger(delta=budget.delta, neighbours=budget.neighbours)
    ledger.charge(*entries)
    return float(ledger.total())
