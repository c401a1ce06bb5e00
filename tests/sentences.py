"""How a guarantee begins, where its words are not the subject: those are in test_ledger_entries.py and test_release_budget.py."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

NO_CLAIM = "This release has no differential privacy guarantee"
LEAD = "An attacker who tries to tell from this release whether "


def total(epsilon: float | None = None, delta: float | None = None) -> str:
    """The beginning of the sentence of a claim, as far as the figures are told."""
    figures = (f" {epsilon:g}" if epsilon else "") + (f" at delta {delta:g}" if delta else "")
    return f"Total epsilon{figures}"


def notes_of(caught: Iterable[Any]) -> list[str]:
    """All messages of the warnings of a fit, also those in a table."""
    return [str(note) for one in caught for note in getattr(one.message, "notes", (one.message,))]
