"""A query session: ledger entries pay for it, and every answer is charged, noised and recorded.

The entries set the session's budget. Every query spends part of it before it is answered, and is answered
with noise. With an infinite loss in the entries (no privacy guarantee) answers are exact.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.budget_tracker import BudgetTracker, QueryBudget
from sdv_plausible.queries.count_queries import QueryRecord
from sdv_plausible.queries.partition_selection import FrequentValueCounts
from sdv_plausible.queries.transcript import ALL_ROWS, Noise, Transcript

AnswerT = TypeVar("AnswerT")
MANY_TABLES = 64  # from this many tables of one share on, one sampler call is faster than one per table


def noise_groups(shares: Sequence[float]) -> list[list[int]]:
    """Group positions of tables that share one noise call, in call order."""
    equal: dict[float, list[int]] = defaultdict(list)
    for i, share in enumerate(shares):
        equal[share].append(i)
    groups: list[list[int]] = []
    for positions in equal.values():
        groups += [positions] if len(positions) >= MANY_TABLES else [[i] for i in positions]
    return groups


@dataclass(frozen=True, kw_only=True)
class NoisyValues:
    """A noisy answer."""

    values: np.ndarray  # multiples of the granularity
    sigma: float  # noise parameter of every value: sigma, or b of Laplace noise; 0 without noise
    granularity: float = 1.0  # spacing of the noise's values


class QuerySession:
    """Rows with a charged privacy budget; parameters as for :class:`Queryable`."""

    def __init__(
        self,
        rows: Any,
        ledger: PrivacyLedger,
        entries: Iterable[LedgerEntry],
        coins: KeyedRNG,
        parts: Mapping[str, Any] | None = None,
        transcript: Transcript | None = None,
        name: str = ALL_ROWS,
    ) -> None:
        charged = tuple(entries)
        ledger.charge(*charged)
        self._rows, self._ledger, self._coins = rows, ledger, coins
        self._meter = BudgetTracker(QueryBudget.of(charged))
        self._parts = dict(parts or {})
        self._transcript, self._name = transcript or Transcript(), name
        self._paid_by = tuple(entry.name for entry in charged)
        self._test_entries = {entry.name for entry in charged if entry.losses and entry.parts == ("seeds",)}

    @property
    def neighbours(self) -> Neighbours:
        """Neighbour relation of the guarantee."""
        return self._ledger.neighbours

    @property
    def allowance(self) -> QueryBudget:
        """Privacy budget of all queries together."""
        return self._meter.allowance

    def sigma(self, share: float) -> float:
        """Noise deviation of a count table for a share of mu^2; 0 without a guarantee."""
        return self.allowance.sigma(share, self.neighbours.histogram_l2)

    def _give(self, asked: QueryRecord | None, answer: AnswerT, law: Noise = "discrete gaussian") -> AnswerT:
        """Record an answer and return it: the last step of every query method."""
        if asked is not None and isinstance(answer, (NoisyValues, FrequentValueCounts)):
            if isinstance(answer, FrequentValueCounts):
                # A value may be a tuple (flag, value).
                values_found = tuple(v[1] if isinstance(v, tuple) else v for v in answer.values)
                asked = replace(asked, details={**asked.details, "found": values_found})
                values = np.concatenate([answer.public, answer.counts])
            else:
                values = answer.values
            self._transcript.note(
                asked, values, answer.sigma, paid_by=self._paid_by, rows=self._name, noise=law,
                granularity=answer.granularity,
            )  # fmt: skip
        return answer

    def _noisy(self, exact: np.ndarray, sensitivity: float, share: float) -> NoisyValues:
        if not self.allowance.is_private:
            return NoisyValues(values=exact.astype(float), sigma=0.0)
        sigma, rho = self.allowance.sigma(share, sensitivity), self.allowance.mu**2 * share / 2
        if self.allowance.rate is not None:  # answers of more than one charged piece need a little more noise
            rho = (sensitivity / sigma) ** 2 / 2
        coins = self._coins.spawn("answer", self._meter.next_answer())
        step = self.allowance.granularity(share, sensitivity)
        noisy = noise.discrete_gaussian(
            exact, sensitivity=sensitivity, rho=rho, coins=coins, granularity=step
        )
        return NoisyValues(values=noisy.astype(float), sigma=sigma, granularity=step)
