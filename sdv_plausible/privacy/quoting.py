"""Texts of a ledger that was read from a file: the program's own words for its losses, the file's in quotes.

Whoever writes a release file chooses its names and texts. So what the program says of such a ledger is made
of its losses, and every text of the file stands in quotation marks, after words that say whose they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

from sdv_plausible.privacy.accounting.losses import Loss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.foreign_texts import entry_name, plain_or_quoted, says
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.privacy.neighbours import Neighbours, OneFamily

WORDS: Mapping[str, str] = {
    "GaussianLoss": "Gaussian noise", "SampledGaussianLoss": "Gaussian noise on sums over samples",
    "DiscreteLaplaceLoss": "discrete Laplace noise", "PureDP": "pure differential privacy",
    "ApproxDP": "approximate differential privacy",
    "BoundedRangeLoss": "choices of the exponential mechanism",
    "ReleaseLoss": "noisy sizes of large groups", "ZCDP": "zero-concentrated differential privacy",
    "InfiniteLoss": "no privacy guarantee",
}  # fmt: skip
"""What each kind of loss is of."""
_SCOPES = {("domain",): "the domain", ("seeds",): "the seeds", ("structure", "parameters"): "the model"}


def in_own_words(entry: LedgerEntry) -> LedgerEntry:
    """An entry of a file in the program's words for its losses, with the file's texts in quotation marks."""
    losses = "; ".join(map(loss_words, entry.losses))
    told = says(entry.mechanism) if entry.mechanism else ""
    return replace(
        entry, name=entry_name(entry.name), mechanism="; ".join(filter(None, (losses, told))) or "free",
        scope=_SCOPES.get(entry.parts, " and ".join(entry.parts) or "everything"),
        note=says(entry.note) if entry.note else "",
    )  # fmt: skip


def loss_words(loss: Loss) -> str:
    """A loss in words: of what it is, its figures, and how many uses."""
    name, count = type(loss).__name__, loss.count
    figures = [
        f"{field.name.replace('_', ' ')} {rounded_up(float(getattr(loss, field.name)))}"
        for field in fields(loss)  # type: ignore[arg-type]
        if field.name != "count"
    ]
    times = [f"{count:,} times"] if count > 1 else []
    return ", ".join([WORDS.get(name, name), *figures, *times])


def with_quoted_names(unit: Neighbours) -> Neighbours:
    """A unit whose columns and tables have names of a file."""
    person = None if unit.person is None else plain_or_quoted(unit.person)
    if not isinstance(unit, OneFamily):
        return replace(unit, person=person)
    hanging = tuple((*map(plain_or_quoted, names), most) for *names, most in unit.hanging)
    return replace(unit, person=person, root=plain_or_quoted(unit.root), hanging=hanging)  # type: ignore[arg-type]
