"""A ledger that was read from a file, in this package's words.

The author of a release file chooses its names and texts. So the sentences about such a ledger are made of its
losses, and every text from the file is quoted and attributed to the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

from sdv_plausible.privacy.accounting.losses import Loss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.foreign_texts import entry_name, plain_or_quoted, says
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.privacy.neighbours import Neighbours, RelatedTablesUnit

WORDS: Mapping[str, str] = {
    "GaussianLoss": "Gaussian noise", "SampledGaussianLoss": "Gaussian noise on sums over samples",
    "DiscreteLaplaceLoss": "discrete Laplace noise", "PureDP": "pure differential privacy",
    "ApproxDP": "approximate differential privacy",
    "BoundedRangeLoss": "choices of the exponential mechanism",
    "ReleaseLoss": "noisy sizes of large groups", "ZCDP": "zero-concentrated differential privacy",
    "InfiniteLoss": "no privacy guarantee",
}  # fmt: skip
"""Mechanism of each kind of loss, in words."""
_SCOPES = {("domain",): "the domain", ("seeds",): "the seeds", ("structure", "parameters"): "the model"}


def in_own_words(entry: LedgerEntry) -> LedgerEntry:
    """Describe an entry of a file by its losses, with the file's texts quoted."""
    losses = "; ".join(map(loss_words, entry.losses))
    text = says(entry.mechanism) if entry.mechanism else ""
    return replace(
        entry, name=entry_name(entry.name), mechanism="; ".join(filter(None, (losses, text))) or "free",
        scope=_SCOPES.get(entry.parts, " and ".join(entry.parts) or "everything"),
        note=says(entry.note) if entry.note else "",
    )  # fmt: skip


def loss_words(loss: Loss) -> str:
    """Describe a loss: its mechanism, its parameters, and the number of uses."""
    name, count = type(loss).__name__, loss.count
    figures = [
        f"{field.name.replace('_', ' ')} {rounded_up(float(getattr(loss, field.name)))}"
        for field in fields(loss)  # type: ignore[arg-type]
        if field.name != "count"
    ]
    times = [f"{count:,} times"] if count > 1 else []
    return ", ".join([WORDS.get(name, name), *figures, *times])


def with_quoted_names(unit: Neighbours) -> Neighbours:
    """Return a privacy unit whose column and table names are quoted."""
    person = None if unit.person is None else plain_or_quoted(unit.person)
    if not isinstance(unit, RelatedTablesUnit):
        return replace(unit, person=person)
    hanging = tuple((*map(plain_or_quoted, names), max_rows) for *names, max_rows in unit.hanging)
    return replace(unit, person=person, root=plain_or_quoted(unit.root), hanging=hanging)  # type: ignore[arg-type]
