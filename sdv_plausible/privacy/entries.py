"""Entries of a ledger, each a use of the rows; and envelopes, which stand for whatever follows them.

What a vote on types finds decides what domain and model cost after it: a total of their own losses would hang
on the rows. One pair of distributions that dominates them, whatever was found, is in the total instead
(docs/explanation/proofs/type_votes.md, Lemma 3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.accounting.losses import ApproxDP, InfiniteLoss, Loss
from sdv_plausible.privacy.accounting.privacy_filters import gaussian_cost

Status = Literal["charged", "declared", "assumed", "no claim"]
Part = Literal["domain", "structure", "parameters", "seeds"]
"""What of a release an entry may pay for."""
WHOLE_MODEL: tuple[Part, ...] = ("structure", "parameters")
TOLERANCE = 1e-6
"""Relative: so far may two accounts of the same losses differ, by the machine and the libraries."""
ROUNDING = 1e-9  # relative: of sums of the same losses
COUNT = "count"  # name of the entry of a count of the rows that comes before all else
EARLIER = "learned earlier"  # how the mechanism of an entry begins that an earlier fit charged


@dataclass(frozen=True, kw_only=True)
class LedgerEntry:
    """One use of the rows.

    Parameters
    ----------
    name : str
        What was learned or released, such as "structure".
    mechanism : str
        How, with its parameters.
    losses : tuple of Loss
        What it costs; empty for something declared by the user; :class:`InfiniteLoss` ends the claim.
    scope : str
        What the cost covers, such as "any number of rows".
    note : str
        Remarks; for an infinite loss the way out.
    parts : tuple of {"domain", "structure", "parameters", "seeds"}
        What of the release the entry pays for: only what is named here may be shown as covered.
    envelope : bool
        Whether it stands for all later entries of its parts, whose losses hang on answers: they are within
        it, and not in the total.
    assumes : tuple of str
        Columns whose types the claim takes as known without the data, although nobody has said so.

    Raises
    ------
    ValueError
        If ``parts`` holds anything else, or an entry that assumes something costs something, too.
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
        known = get_args(Part)
        if not isinstance(self.parts, tuple) or not set(self.parts) <= set(known):
            raise ValueError(
                f"parts ({self.parts!r}) of entry {self.name!r} must be a tuple of {known}, or empty"
            )
        if self.assumes and self.losses:
            raise ValueError(f"entry {self.name!r} must have losses or assumptions, not both")

    @property
    def status(self) -> Status:
        """Whether the entry is charged, declared or assumed and so free, or ends the privacy claim."""
        if any(isinstance(loss, InfiniteLoss) for loss in self.losses):
            return "no claim"
        if self.assumes:
            return "assumed"
        return "charged" if self.losses else "declared"

    def epsilon(self, delta: float) -> float:
        """Loss of this entry alone at the given delta; infinity for an infinite loss."""
        if not self.losses:
            return 0.0
        return math.inf if self.status == "no claim" else compose(self.losses, delta)


def first_count(entries: Sequence[LedgerEntry]) -> LedgerEntry | None:
    """The count of the rows that came before this fit's own plan, if there was one."""
    found = (e for e in entries if e.name == COUNT and e.losses and not e.mechanism.startswith(EARLIER))
    return next(found, None)


def envelope_of(entries: Sequence[LedgerEntry]) -> LedgerEntry | None:
    """The entry that stands for later ones, if there is one."""
    return next((entry for entry in entries if entry.envelope), None)


def within(entries: Sequence[LedgerEntry]) -> list[LedgerEntry]:
    """Entries that an envelope stands for: the later ones of its parts. What ends a claim ends it."""
    envelope = envelope_of(entries)
    if envelope is None:
        return []
    later = entries[entries.index(envelope) + 1 :]
    return [e for e in later if e.status == "charged" and e.parts and {*e.parts} <= {*envelope.parts}]


def counted(entries: Sequence[LedgerEntry]) -> list[LedgerEntry]:
    """Entries whose losses make the total: all but those that an envelope stands for."""
    inside = within(entries)
    return [entry for entry in entries if not any(entry is one for one in inside)]


def check_envelope(entries: Sequence[LedgerEntry]) -> None:
    """Raise ValueError where entries cost more than the envelope that stands for them, or there are two."""
    envelope, inside = envelope_of(entries), [loss for entry in within(entries) for loss in entry.losses]
    if sum(entry.envelope for entry in entries) > 1:
        raise ValueError("entries: one envelope at most may stand for those after it")
    if envelope is not None and inside and not _dominates(envelope.losses, inside):
        raise ValueError(
            f"entry {envelope.name!r} must stand for all that is charged after it for "
            f"{', '.join(envelope.parts)}, and these are larger: declare the types (domain=...), or take a "
            "model whose noise keeps to epsilon"
        )


def _dominates(envelope: Sequence[Loss], inside: Sequence[Loss]) -> bool:
    """Whether these losses stand for those: of Gaussian noise and failures, or one pair for anything."""
    most, spent = _gaussian(envelope), _gaussian(inside)
    if most is None:
        pairs = [loss for loss in envelope if isinstance(loss, ApproxDP) and loss.count == 1]
        if len(envelope) != 1 or not pairs:
            return False
        most, spent = (pairs[0].epsilon,), (compose(inside, pairs[0].delta),)
    return spent is not None and all(x <= y * (1 + ROUNDING) for x, y in zip(spent, most, strict=True))


def _gaussian(losses: Sequence[Loss]) -> tuple[float, ...] | None:
    """Squares of mu, failures, and rho of Gaussian noise: each adds up; None of other losses.

    Several failures compose to less than their sum, so what they compose to is compared as well.
    """
    cost = gaussian_cost(losses)
    if cost is None:
        return None
    failures = [loss for loss in losses if isinstance(loss, ApproxDP)]
    lost = math.fsum(-one.count * math.log1p(-one.delta) if one.delta < 1 else math.inf for one in failures)
    return (*cost, lost, math.fsum(found.rho for loss in losses if (found := loss.zcdp()) is not None))
