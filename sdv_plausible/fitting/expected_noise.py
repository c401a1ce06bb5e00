"""Expected effect of the noise at a number of rows.

A plan uses a guess for that number. A fit uses the noisy number that it paid for: its notes are a function of
noisy answers and public facts, and may be published with the release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sdv_plausible.mechanism.privacy_tests.privacy_settings import Settings
from sdv_plausible.models.base import Learner, ModelBudget
from sdv_plausible.models.forecast import Forecast
from sdv_plausible.privacy.entries import Part
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.queries.transcript import ALL_ROWS, NoisyAnswer
from sdv_plausible.release.intervals.measured_counts import number_of_rows
from sdv_plausible.table.columns.domain import Domain

_OF_MODEL: set[Part] = {"structure", "parameters", "seeds"}


@dataclass(frozen=True, kw_only=True, eq=False)
class ExpectedNoise:
    """Expected noise of a release, from public facts; its methods take a number of rows."""

    settings: Settings
    learner: Learner
    domain: Domain
    budget: ModelBudget
    public: bool = False  # learning starts from a published table: there is no forecast

    @classmethod
    def of(
        cls,
        settings: Settings,
        learner: Learner,
        domain: Domain,
        ledger: PrivacyLedger,
        *,
        public: bool = False,
    ) -> ExpectedNoise:
        """Expected noise of a finished fit, with the model budget that its ledger shows."""
        before = settings.empty_ledger()
        for entry in ledger.entries:
            if not entry.envelope and entry.losses and _OF_MODEL & {*entry.parts}:
                break
            before.charge(entry)
        budget = settings.model_budget(before)
        return cls(settings=settings, learner=learner, domain=domain, budget=budget, public=public)

    def forecast(self, rows: int) -> Forecast | None:
        """Forecast at a number of rows; None if the learner has none."""
        if self.public or not len(self.domain):
            return None
        share = sum(self.settings.split[:2]) if self.settings.split else 1.0  # of the rows, for learning
        forecast = self.learner.forecast(self.domain, self.budget, max(round(share * rows), 1))
        return replace(forecast, rows=rows) if forecast else None

    def warnings(self, rows: int | None, wanted: int | None = None) -> list[str]:
        """Warnings of output close to noise, or of none, for ``wanted`` synthetic rows."""
        forecast = self.forecast(rows) if rows else None
        return [*self.settings.test.warnings(wanted, rows), *(forecast.warnings() if forecast else [])]

    def rows_of(self, answers: Sequence[NoisyAnswer]) -> int | None:
        """The noisy number of rows, at least 1; None if no answer contains it."""
        split = self.settings.split
        if split is None:
            is_counted = any(answer.rows == ALL_ROWS and _counts_rows(answer) for answer in answers)
            return max(number_of_rows(answers, len(self.domain)), 1) if is_counted else None
        shares = {
            "structure": split[0],
            "parameters": split[1],
            "learning": sum(split[:2]),
            "seeds": split[2],
        }
        sums = [a.values.sum() / shares[a.rows] for a in answers if _counts_rows(a) and shares.get(a.rows)]
        return max(round(float(np.mean(sums))), 1) if sums else None


def _counts_rows(answer: NoisyAnswer) -> bool:
    return answer.asked.kind in ("counts", "number of rows")
