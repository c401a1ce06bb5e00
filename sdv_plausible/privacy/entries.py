"""Ledger entries, one per use of the rows, and envelope entries, which bound the cost of later ones.

Under private type inference the cost of the domain and the model depends on the inferred types, so a total of
their losses would depend on the rows. The total holds instead an envelope: one pair of distributions that
dominates those losses for every possible outcome (docs/explanation/proofs/type_votes.md, Lemma 3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.accounting.losses import ApproxDP, InfiniteLoss, Loss

Status = Literal["charged", "declared", "assumed", "no claim"]
Part = Literal["domain", "structure", "parameters", "seeds"]
"""Parts of a release that an entry may pay for."""
MODEL_PARTS: tuple[Part, ...] = ("structure", "parameters")
TOLERANCE = 1e-6
"""Relative tolerance between two totals of the same losses on different machines and library versions."""
ROUNDING = 1e-9  # relative tolerance between sums of the same losses
ROW_COUNT_ENTRY = "count"  # name of the entry for the row count that precedes the fit's plan
REUSED_PREFIX = "learned earlier"  # prefix of the mechanism of entries that an earlier fit charged


@dataclass(frozen=True, kw_only=True)
class LedgerEntry:
    """One use of the rows.

    Parameters
    ----------
    name : str
        What is learned or released, such as "structure".
    mechanism : str
        The mechanism, with its parameters.
    losses : tuple of Loss
        Privacy losses; empty for a declaration by the user. An :class:`InfiniteLoss` ends the privacy
        guarantee.
    scope : str
        What the losses cover, such as "any number of rows".
    note : str
        Remarks. For an infinite loss, how to avoid it.
    parts : tuple of {"domain", "structure", "parameters", "seeds"}
        Parts of the release that the entry pays for. Only these may be shown as covered.
    envelope : bool
        Whether the entry bounds all later entries of its parts, whose losses depend on answers. The total
        then counts this entry and not the later ones.
    assumes : tuple of str
        Columns whose types are assumed to be known without the data, although nobody has declared them.

    Raises
    ------
    ValueError
        If ``parts`` holds anything else, or an entry has both losses and assumptions.
    """

    name: str
    mechanism: str
    losses: tuple[Loss, ...]
    scope: str
    note: str = ""
    parts: tuple[Part, ...] = ()
    envelope: bool = False
    assumes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        allowed = get_args(Part)
        if not isinstance(self.parts, tuple) or not set(self.parts) <= set(allowed):
            raise ValueError(
                f"parts ({self.parts!r}) of entry {self.name!r} must be a tuple of {allowed}, or empty"
            )
        if self.assumes and self.losses:
            raise ValueError(f"entry {self.name!r} must have losses or assumptions, not both")

    @property
    def status(self) -> Status:
        """Whether the entry is charged, declared or assumed (both free), or ends the privacy guarantee."""
        if any(isinstance(loss, InfiniteLoss) for loss in self.losses):
            return "no claim"
        if self.assumes:
            return "assumed"
        return "charged" if self.losses else "declared"

    def epsilon(self, delta: float) -> float:
        """Epsilon of this entry alone at the given delta; infinite for an infinite loss."""
        if not self.losses:
            return 0.0
        return math.inf if self.status == "no claim" else compose(self.losses, delta)


def first_row_count(entries: Sequence[LedgerEntry]) -> LedgerEntry | None:
    """Return the row count that was charged before this fit's plan, if there is one."""
    counts = (
        e
        for e in entries
        if e.name == ROW_COUNT_ENTRY and e.losses and not e.mechanism.startswith(REUSED_PREFIX)
    )
    return next(counts, None)


def find_envelope(entries: Sequence[LedgerEntry]) -> LedgerEntry | None:
    """Return the envelope entry, if there is one."""
    return next((entry for entry in entries if entry.envelope), None)


def covered_entries(entries: Sequence[LedgerEntry]) -> list[LedgerEntry]:
    """Charged entries that the envelope covers: later ones for its parts; never an infinite loss."""
    envelope = find_envelope(entries)
    if envelope is None:
        return []
    later = entries[entries.index(envelope) + 1 :]
    return [e for e in later if e.status == "charged" and e.parts and {*e.parts} <= {*envelope.parts}]


def entries_in_total(entries: Sequence[LedgerEntry]) -> list[LedgerEntry]:
    """Entries that make the total: all but those that an envelope covers."""
    covered = covered_entries(entries)
    return [entry for entry in entries if not any(entry is other for other in covered)]


def check_envelope(entries: Sequence[LedgerEntry]) -> None:
    """Raise ValueError if the covered entries cost more than the envelope, or if there are two envelopes."""
    envelope = find_envelope(entries)
    covered = [loss for entry in covered_entries(entries) for loss in entry.losses]
    if sum(entry.envelope for entry in entries) > 1:
        raise ValueError("entries: at most one envelope is allowed")
    if envelope is not None and covered and not _dominates(envelope.losses, covered):
        raise ValueError(
            f"entry {envelope.name!r} must cover all later charges for {', '.join(envelope.parts)}, but "
            "these cost more: declare the types (domain=...), or use a model whose noise stays within "
            "epsilon"
        )


def _dominates(envelope: Sequence[Loss], covered: Sequence[Loss]) -> bool:
    """Whether an envelope covers these losses: Gaussian noise and failures, or one (epsilon, delta)."""
    limits, costs = _gaussian(envelope), _gaussian(covered)
    if limits is None:
        pairs = [loss for loss in envelope if isinstance(loss, ApproxDP) and loss.count == 1]
        if len(envelope) != 1 or not pairs:
            return False
        limits, costs = (pairs[0].epsilon,), (compose(covered, pairs[0].delta),)
    return costs is not None and all(x <= y * (1 + ROUNDING) for x, y in zip(costs, limits, strict=True))


def _gaussian(losses: Sequence[Loss]) -> tuple[float, ...] | None:
    """Additive costs: squared mu, failures, composed failures, and rho; None for other losses.

    Several failures compose to less than their sum, so the composed failure is compared as well.
    """
    from sdv_plausible.privacy.accounting.privacy_filters import gaussian_cost

    cost = gaussian_cost(losses)
    if cost is None:
        return None
    failures = [x for x in losses if isinstance(x, ApproxDP)]
    composed = math.fsum(-x.count * math.log1p(-x.delta) if x.delta < 1 else math.inf for x in failures)
    return (*cost, composed, math.fsum(zcdp.rho for x in losses if (zcdp := x.zcdp()) is not None))
