"""The privacy ledger: the cost of every use of the rows, and the total guarantee in one sentence."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from sdv_plausible.privacy.accounting.attacker_bounds import AttackerBounds, attackers
from sdv_plausible.privacy.accounting.composition import RandomSplit, compose
from sdv_plausible.privacy.accounting.losses import InfiniteLoss, Loss
from sdv_plausible.privacy.entries import (
    TOLERANCE,
    LedgerEntry,
    Part,
    check_envelope,
    covered_entries,
    entries_in_total,
    find_envelope,
)
from sdv_plausible.privacy.ledger_record import (
    NO_CLAIM,
    NOISE,
    PUBLIC,
    LedgerText,
    entry_name,
    plain_or_quoted,
    probability_factor,
    rounded_up,
    says,
    total_sentence,
)
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours, RelatedTablesUnit
from sdv_plausible.privacy.parameter_checks import escape_controls

SENTENCE_ENTRIES = ("plausible deniability", "as printed", "noise", "invented")
"""Entries without a loss that are shown as sentences rather than as lines of the table."""
NOT_COVERED = (
    "the running time and memory use of the fit",
    "an attacker who controls the machine that holds the data",
    "facts about a person that can be learned from other people's rows",
    "further fits to the same rows: their totals add up",
)
SEVERAL_ROWS = (
    "several rows of one person: their loss grows faster than their number (ten rows at epsilon 1 and delta "
    "1e-9 cost more than 12). If persons have several rows, name the column that identifies a person"
)
_FREE = {"declared": "free", "assumed": "assumed", "no claim": "no guarantee"}
SEVERAL_NAMES = "a person whose rows are under several values of {person}"


class BudgetExceededError(ValueError):
    """A charge would exceed the privacy budget. Nothing was charged."""


class PrivacyLedger:
    """Entries in the order in which they were charged, and their composed total.

    Parameters
    ----------
    delta : float
        Delta at which totals are stated by default, in (0, 1).
    limit : float, optional
        Upper limit on the total epsilon at this delta; None sets no limit.
    covers : str, optional
        What the total covers, in words; None lists the scopes of the charged entries.
    neighbours : Neighbours
        Neighbour relation of every loss. Queries on the rows use the same relation.

    Notes
    -----
    The ledger holds no figure that depends on the rows: no row count, no number of attempts, no pass rate.
    Its sentence on noise is a function of the noisy answers, which are paid for.
    """

    before_charge: Callable[[tuple[Loss, ...]], None] | None = None
    """Called before a charge with all losses, also those under an envelope; raises to reject it."""
    after_charge: Callable[[PrivacyLedger], object] | None = None
    """Called after every charge, before the query that it pays for; reports the progress of a fit."""
    split: RandomSplit | None = None
    """Secret random split of the rows, if it lowers the total."""
    stated: float = 0.0
    """Total stated at release time: a lower bound on :meth:`total` at the ledger's delta."""
    is_recorded: bool = False
    """Whether the ledger was read from a file; texts from the file are then quoted."""

    def __init__(
        self,
        *,
        delta: float,
        limit: float | None = None,
        covers: str | None = None,
        neighbours: Neighbours = ONE_ROW,
    ) -> None:
        self.delta, self.neighbours, self.covers, self.limit = delta, neighbours, covers, limit
        self._entries: tuple[LedgerEntry, ...] = ()

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """All entries."""
        return self._entries

    @property
    def losses(self) -> tuple[Loss, ...]:
        """Finite losses of the total; entries that an envelope covers are left out."""
        return tuple(loss for loss in _losses(self._entries) if not isinstance(loss, InfiniteLoss))

    @property
    def envelope(self) -> LedgerEntry | None:
        """The envelope entry, if there is one."""
        return find_envelope(self._entries)

    @property
    def within(self) -> tuple[Loss, ...]:
        """Losses of the entries that the envelope covers."""
        return tuple(loss for entry in covered_entries(self._entries) for loss in entry.losses)

    def charge(self, *entries: LedgerEntry) -> None:
        """Add all entries or none, before their mechanisms run.

        Raises
        ------
        BudgetExceededError
            If the new total exceeds the limit. The ledger is unchanged then.
        ValueError
            If the entries cost more than the envelope that covers them.
        """
        extended = (*self._entries, *entries)
        check_envelope(extended)
        if self.limit is not None and math.isfinite(self.limit):
            total = _total(extended, self.delta)
            if total > self.limit * (1 + TOLERANCE):
                names = ", ".join(e.name for e in entries)
                raise BudgetExceededError(
                    f"charging {names} would bring the total to epsilon {rounded_up(total, 4)} at delta "
                    f"{rounded_up(self.delta)}, over the budget of {self.limit:g}: raise epsilon, or "
                    "spend less on the parts. Nothing was spent."
                )
        if self.before_charge is not None:
            self.before_charge(tuple(loss for entry in extended for loss in entry.losses))
        self._entries = extended
        if self.after_charge is not None:
            self.after_charge(self)

    def total(self, delta: float | None = None) -> float:
        """Composed total epsilon of all charges at the given delta, by default the ledger's."""
        at = self.delta if delta is None else delta
        total = _total(self._entries, at)
        if self.split is not None and not math.isinf(total):
            total = min(
                total, self.split.total([(e.parts, e.losses) for e in entries_in_total(self._entries)], at)
            )
        return max(total, self.stated) if at == self.delta else total

    @property
    def epsilon(self) -> float:
        """The total at the ledger's delta; infinite without a privacy guarantee."""
        return self.total()

    def said(self, name: str) -> str:
        """Return the sentence of an entry named in ``SENTENCE_ENTRIES``; empty without one."""
        text = next((e.mechanism for e in self._entries if e.name == name and not e.losses), "")
        return says(text, name) if self.is_recorded and text else text

    @property
    def _unit(self) -> Neighbours:
        """The privacy unit; names from a file are quoted."""
        return with_quoted_names(self.neighbours) if self.is_recorded else self.neighbours

    @property
    def _lines(self) -> tuple[LedgerEntry, ...]:
        """Entries shown as lines of the table: those with a loss, and those not shown as sentences."""
        return tuple(e for e in self._entries if e.losses or e.name not in SENTENCE_ENTRIES)

    @property
    def claims_privacy(self) -> bool:
        """Whether the total is finite."""
        return all(entry.status != "no claim" for entry in self._entries)

    @property
    def assumed_types(self) -> tuple[str, ...]:
        """Columns whose undeclared types are assumed to be public knowledge.

        The guarantee depends on this assumption. Every sentence that states the total mentions it.
        """
        return tuple(dict.fromkeys(name for entry in self._entries for name in entry.assumes))

    def covers_part(self, part: Part) -> bool:
        """Whether the release has a privacy guarantee and an entry pays for this part of it."""
        return self.claims_privacy and any(part in entry.parts for entry in self._entries)

    def sentence(self, *, as_written: bool = False) -> str:
        """Return the guarantee in one quotable sentence, total first.

        Parameters
        ----------
        as_written : bool
            Do not quote texts that were read from a file.
        """
        if not self._entries:
            return "Nothing has been charged yet, and no rows have been read."
        if not self.claims_privacy:
            reasons = "; ".join(e.note or e.mechanism for e in self._entries if e.status == "no claim")
            if self.is_recorded and not as_written:
                return f"{NO_CLAIM} {says(reasons)}"
            return f"{NO_CLAIM.removesuffix('.')}: {reasons}."
        total = self.total()
        unit = self.neighbours if as_written else self._unit
        opening = total_sentence(total, self.delta, unit.relation, is_conditional=bool(self.assumed_types))
        bound = bound_on_outcomes(unit, f"this release ({self._scope()})", total, self.delta)
        return f"{opening}. {bound} {PUBLIC}"

    def attackers(self) -> AttackerBounds:
        """Bounds on how well any attacker can tell from the release whether a unit was in the data."""
        return attackers(_losses(self._entries))

    def meaning(self) -> str:
        """Return the sentence on what an attacker can gain; empty without a guarantee."""
        if not self._entries or not self.claims_privacy:
            return ""
        return self.attackers().sentence(self._unit.question, is_conditional=bool(self.assumed_types))

    @property
    def words(self) -> LedgerText:
        """All sentences, in print order."""
        return LedgerText.of(self.to_dict())

    def _annex(self) -> list[str]:
        """Figures for specialists; empty without a guarantee."""
        if not self._entries or not self.claims_privacy:
            return []
        mus = ", ".join(
            f"{self._words(entry).name} {rounded_up(mu)}"
            + (f" in each of {loss.count:,}" if loss.count > 1 else "")
            for entry in self._lines
            for loss in entry.losses
            if (mu := getattr(loss, "mu", None)) is not None  # Gaussian noise, sampled or not
        )
        return [self.attackers().rare(), *([f"{NOISE} {mus}."] if mus else [])]

    def _words(self, entry: LedgerEntry) -> LedgerEntry:
        """Return an entry as displayed: one from a file is described by its losses."""
        return in_own_words(entry) if self.is_recorded else entry

    def _scope(self) -> str:
        scopes = dict.fromkeys(self._words(e).scope for e in self._entries if e.status == "charged")
        return "; ".join(scopes) if self.covers is None else self.covers

    @property
    def not_covered(self) -> tuple[str, ...]:
        """Risks that the guarantee does not cover."""
        return not_covered(self._unit.person)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-compatible form: headline, total, unit, entries, and what is not covered."""
        has_claim, total = self.claims_privacy, self.total()
        return {
            "headline": self.sentence(),
            "said": [text for text in (*map(self.said, SENTENCE_ENTRIES), *self._annex()) if text],
            "meaning": self.meaning(),
            "epsilon": total if has_claim else None,
            "delta": self.delta if has_claim else None,
            "unit": self._unit.unit,
            "neighbours": self._unit.relation,
            "assumed_types": list(self.assumed_types),
            "entries": [self._entry_dict(entry, total) for entry in self._lines],
            "not_covered": list(self.not_covered),
        }

    def _entry_dict(self, entry: LedgerEntry, total: float) -> dict[str, Any]:
        """Return one entry. Its epsilon is capped at the total, which covers the whole release."""
        is_covered = any(entry is other for other in covered_entries(self._entries))
        envelope = self.envelope if is_covered else None
        is_counted = entry.status == "charged" and envelope is None
        alone = math.ceil(min(entry.epsilon(self.delta), total) * 1e6) / 1e6 if is_counted else None
        described = self._words(entry)
        cost = _FREE.get(entry.status, "") if envelope is None else f"in {self._words(envelope).name}"
        return {
            "name": described.name,
            "mechanism": described.mechanism,
            "epsilon": alone,
            "cost": cost if alone is None else rounded_up(alone),
            "delta": self.delta if is_counted else None,
            "scope": described.scope,
            "provenance": entry.status if envelope is None else "within another",
            "note": described.note,
            "parts": list(entry.parts),
        }

    def to_json(self) -> str:
        """Return the JSON text of :meth:`to_dict`."""
        return json.dumps(self.to_dict(), indent=1)

    def to_html(self) -> str:
        """Return a self-contained HTML fragment: the sentences above a table of entries."""
        from jinja2 import Environment, PackageLoader, StrictUndefined

        templates = Environment(
            loader=PackageLoader("sdv_plausible.privacy"), autoescape=True, undefined=StrictUndefined,
            trim_blocks=True, lstrip_blocks=True, finalize=_escaped,
        )  # fmt: skip
        return templates.get_template("ledger.html").render(self.to_dict(), words=self.words)

    def _repr_html_(self) -> str:
        return self.to_html()

    def __str__(self) -> str:
        plain = self.to_dict()
        words = LedgerText.of(plain)
        lines = [text for text in (words.lead, words.total, words.conditions, *words.further) if text] + [""]
        for entry in plain["entries"]:
            how = f"{entry['mechanism']} [{entry['scope']}]"
            lines.append(f"  {entry['name']:<12} epsilon {entry['cost']:<11} {how}")
            if entry["note"]:
                lines.append(f"  {'':<12} {entry['note']}")
        lines += [
            "",
            "  (These epsilons do not simply add up: the total is their exact composition.)",
            "  Not covered:",
        ]
        lines += [f"    - {item}" for item in self.not_covered]
        if words.annex:
            lines += ["  Annex, for specialists:", *(f"    - {text}" for text in words.annex)]
        return "\n".join(escape_controls(line, keep="") for line in lines)

    __repr__ = __str__


def _escaped(value: Any) -> Any:
    """Escape control characters of a template value; jinja then escapes HTML."""
    return escape_controls(value, keep="\n\r\t") if type(value) is str else value


def _losses(entries: Sequence[LedgerEntry]) -> list[Loss]:
    """Losses that the total composes."""
    return [loss for entry in entries_in_total(entries) for loss in entry.losses]


def _total(entries: Sequence[LedgerEntry], delta: float) -> float:
    losses = _losses(entries)
    if any(isinstance(loss, InfiniteLoss) for loss in losses):
        return math.inf
    return compose(losses, delta) if losses else 0.0


def not_covered(person: str | None) -> tuple[str, ...]:
    """Risks that the guarantee does not cover, given the column that identifies a person."""
    return (*NOT_COVERED, SEVERAL_ROWS if person is None else SEVERAL_NAMES.format(person=person))


def bound_on_outcomes(unit: Neighbours, releases: str, epsilon: float, delta: float) -> str:
    """Return the sentence of the guarantee: the bound on the probability of an outcome of the releases."""
    return (
        f"{unit.change} changes the probability of any outcome of {releases} by at most a factor of "
        f"{probability_factor(epsilon)}, apart from an additional probability of at most {rounded_up(delta)}."
    )


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
