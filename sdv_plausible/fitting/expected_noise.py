"""What noise does to a table of about so many rows: the same sentences before a fit, and after it.

A plan says them of a guess for the number of rows. A fit says them of the noisy number that it paid for, so
that every word is a function of its answers and of what is public, and may be published with the release.
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
    """What is expected of a release, from public facts: it is asked with a number of rows."""

    settings: Settings
    learner: Learner
    domain: Domain
    budget: ModelBudget  # of the model
    public: bool = False  # whether a published table stands beside the rows: its share is not foreseen

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
        """What is expected of a fit that is done, whose ledger says what its model could spend."""
        before = settings.empty_ledger()
        for entry in ledger.entries:
            if not entry.envelope and entry.losses and _OF_MODEL & {*entry.parts}:
                break
            before.charge(entry)
        budget = settings.model_budget(before)
        return cls(settings=settings, learner=learner, domain=domain, budget=budget, public=public)

    def forecast(self, rows: int) -> Forecast | None:
        """How noise will show at about so many rows; None if there is none, or it is not known."""
        if self.public or not len(self.domain):
            return None
        share = sum(self.settings.split[:2]) if self.settings.split else 1.0  # of the rows goes into learning
        found = self.learner.forecast(self.domain, self.budget, max(round(share * rows), 1))
        return replace(found, rows=rows) if found else None

    def warnings(self, rows: int | None, wanted: int | None = None) -> list[str]:
        """Where the output is close to noise, or none is let out; ``wanted`` are synthetic rows."""
        forecast = self.forecast(rows) if rows else None
        return [*self.settings.test.warnings(wanted, rows), *(forecast.warnings() if forecast else [])]

    def rows_of(self, answers: Sequence[NoisyAnswer]) -> int | None:
        """The noisy number of rows that was paid for, at least 1; None if no answer tells it."""
        split = self.settings.split
        if split is None:
            return max(number_of_rows(answers, len(self.domain)), 1) if _tells(answers) else None
        shares = {
            "structure": split[0],
            "parameters": split[1],
            "learning": sum(split[:2]),
            "seeds": split[2],
        }
        sums = [a.values.sum() / shares[a.rows] for a in answers if _counts(a) and shares.get(a.rows)]
        return max(round(float(np.mean(sums))), 1) if sums else None


def _counts(answer: NoisyAnswer) -> bool:
    return answer.asked.kind in ("counts", "number of rows")


def _tells(answers: Sequence[NoisyAnswer]) -> bool:
    return any(answer.rows == ALL_ROWS and _counts(answer) for answer in answers)
