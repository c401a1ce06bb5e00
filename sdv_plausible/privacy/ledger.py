"""The privacy ledger: everything that looked at the rows, what it cost, and the total in one sentence."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

from sdv_plausible.privacy.accounting.attacker_bounds import Attackers, attackers
from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.accounting.losses import InfiniteLoss, Loss
from sdv_plausible.privacy.accounting.random_split import RandomSplit
from sdv_plausible.privacy.entries import (
    TOLERANCE,
    LedgerEntry,
    Part,
    check_envelope,
    counted,
    envelope_of,
    within,
)
from sdv_plausible.privacy.foreign_texts import says
from sdv_plausible.privacy.ledger_record import NO_CLAIM, NOISE, PUBLIC, LedgerText, rounded_up, total_of
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.parameter_checks import visible
from sdv_plausible.privacy.quoting import in_own_words, with_quoted_names

SAID = ("plausible deniability", "as printed", "noise", "invented")
"""Names of entries without a loss that are sentences of the ledger, and no lines of its table."""
NOT_COVERED = (
    "how long the computation took and the memory it used",
    "an attacker who controls the machine on which the data is held",
    "facts about a person that can be learned from other people's rows",
    "further fits to the same rows: their totals add up",
)
SEVERAL_ROWS = (
    "several rows of the same person: their loss grows faster than their number (ten rows, each at epsilon 1 "
    "and delta 1e-9, cost more than 12); name the column that says whose a row is with person=..."
)
_FREE = {"declared": "free", "assumed": "assumed", "no claim": "no claim"}
SEVERAL_NAMES = "a person whose rows are under several values of {person}"


class BudgetExceededError(ValueError):
    """A charge would push a total over its budget. It was not made."""


class PrivacyLedger:
    """Entries in the order they were charged, and their composed total.

    Parameters
    ----------
    delta : float
        The delta at which totals are stated by default, in (0, 1).
    limit : float, optional
        Upper limit on the total at this delta; None sets no limit.
    covers : str, optional
        What the total is for, in words; None lists the scopes of the charged entries.
    neighbours : Neighbours
        The relation that every loss speaks of; whoever asks the rows takes it from here.

    Notes
    -----
    The ledger holds no figure that depends on the rows: not their number, no attempt count, no pass rate.
    What its sentence on noise says is a function of the noisy answers, which are paid for.
    """

    before_charge: Callable[[tuple[Loss, ...]], None] | None = None
    """Told all losses before a charge, those within an envelope too: it may refuse what was not planned."""
    after_charge: Callable[[PrivacyLedger], object] | None = None
    """Told of every charge, before what it pays for is asked: during a fit that its holder watches."""
    split: RandomSplit | None = None
    """How the rows were split secretly at random, where that lowers the total."""
    stated: float = 0.0
    """The total that was stated when the release was made, where this account of the losses finds less."""
    is_recorded: bool = False
    """Whether it was read from a file: the file's texts are then quoted, and never the program's words."""

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
        """Finite losses of the total: of entries within an envelope there are none."""
        return tuple(loss for loss in _losses(self._entries) if not isinstance(loss, InfiniteLoss))

    @property
    def envelope(self) -> LedgerEntry | None:
        """The entry that stands for later ones, if there is one."""
        return envelope_of(self._entries)

    @property
    def within(self) -> tuple[Loss, ...]:
        """Losses of the entries that the envelope stands for."""
        return tuple(loss for entry in within(self._entries) for loss in entry.losses)

    def charge(self, *entries: LedgerEntry) -> None:
        """Add entries, all or none, before what they describe is done.

        Raises
        ------
        BudgetExceededError
            If the new total would exceed the limit; the ledger is then unchanged.
        ValueError
            If they cost more than the envelope that stands for them.
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
        """Total epsilon of everything charged so far, composed, at the given (or the ledger's) delta."""
        at = self.delta if delta is None else delta
        whole = _total(self._entries, at)
        if self.split is not None and not math.isinf(whole):
            whole = min(whole, self.split.total([(e.parts, e.losses) for e in counted(self._entries)], at))
        return max(whole, self.stated) if at == self.delta else whole

    @property
    def epsilon(self) -> float:
        """The total at the ledger's delta; infinite where no claim is made."""
        return self.total()

    def said(self, name: str) -> str:
        """Sentence of the ledger, one of ``SAID``; empty if it has none."""
        text = next((e.mechanism for e in self._entries if e.name == name and not e.losses), "")
        return says(text, name) if self.is_recorded and text else text

    @property
    def _unit(self) -> Neighbours:
        """Whom it protects; names that a file gives are quoted."""
        return with_quoted_names(self.neighbours) if self.is_recorded else self.neighbours

    @property
    def _lines(self) -> tuple[LedgerEntry, ...]:
        """Entries that are lines of the table: all that cost something are."""
        return tuple(e for e in self._entries if e.losses or e.name not in SAID)

    @property
    def claims_privacy(self) -> bool:
        """Whether the total is finite."""
        return all(entry.status != "no claim" for entry in self._entries)

    @property
    def assumed_types(self) -> tuple[str, ...]:
        """Columns whose types the claim takes as known without the data, although nobody has said so.

        The claim holds only if they were: every sentence that states the total says so.
        """
        return tuple(dict.fromkeys(name for entry in self._entries for name in entry.assumes))

    def covers_part(self, part: Part) -> bool:
        """Whether the ledger claims privacy and an entry pays for this part of the release."""
        return self.claims_privacy and any(part in entry.parts for entry in self._entries)

    def sentence(self, *, as_written: bool = False) -> str:
        """Return the guarantee in one quotable sentence, total first.

        Parameters
        ----------
        as_written : bool
            As a file has it: texts that were read from one are not quoted.
        """
        if not self._entries:
            return "Nothing has been charged yet: no row has been looked at."
        if not self.claims_privacy:
            reasons = "; ".join(e.note or e.mechanism for e in self._entries if e.status == "no claim")
            if self.is_recorded and not as_written:
                return f"{NO_CLAIM} {says(reasons)}"
            return f"No differential-privacy claim is made for this release: {reasons}."
        total = self.total()
        who = self.neighbours if as_written else self._unit
        stated = total_of(total, self.delta, who.relation, is_conditional=bool(self.assumed_types))
        return (
            f"{stated}: every conclusion that anyone can draw from this "
            f"release ({self._scope()}) {conclusions(who, total, self.delta)}. {PUBLIC}"
        )

    def attackers(self) -> Attackers:
        """Bounds on how well anyone can tell from the release whether a unit was in the data."""
        return attackers(_losses(self._entries))

    def meaning(self) -> str:
        """Return what an attacker can gain, in the sentence that leads; empty without a claim."""
        if not self._entries or not self.claims_privacy:
            return ""
        return self.attackers().sentence(self._unit.question, is_conditional=bool(self.assumed_types))

    @property
    def words(self) -> LedgerText:
        """All sentences, in the order in which they are printed."""
        return LedgerText.of(self.to_dict())

    def _annex(self) -> list[str]:
        """Figures for specialists; none without a claim."""
        if not self._entries or not self.claims_privacy:
            return []
        mus = ", ".join(
            f"{self._words(entry).name} {rounded_up(mu)}"
            + (f" in each of {loss.count:,}" if loss.count > 1 else "")
            for entry in self._lines
            for loss in entry.losses
            if (mu := getattr(loss, "mu", None)) is not None  # of Gaussian noise, of samples too
        )
        return [self.attackers().rare(), *([f"{NOISE} {mus}."] if mus else [])]

    def _words(self, entry: LedgerEntry) -> LedgerEntry:
        """An entry in the words in which it is shown."""
        return in_own_words(entry) if self.is_recorded else entry

    def _scope(self) -> str:
        scopes = dict.fromkeys(self._words(e).scope for e in self._entries if e.status == "charged")
        return "; ".join(scopes) if self.covers is None else self.covers

    @property
    def not_covered(self) -> tuple[str, ...]:
        """What no total covers."""
        return not_covered(self._unit.person)

    def to_dict(self) -> dict[str, Any]:
        """Plain form: headline, total, unit, entries, what is not covered."""
        claim, total = self.claims_privacy, self.total()
        return {
            "headline": self.sentence(),
            "said": [text for text in (*map(self.said, SAID), *self._annex()) if text],
            "meaning": self.meaning(),
            "epsilon": total if claim else None,
            "delta": self.delta if claim else None,
            "unit": self._unit.unit,
            "neighbours": self._unit.relation,
            "assumed_types": list(self.assumed_types),
            "entries": [self._entry_dict(entry, total) for entry in self._lines],
            "not_covered": list(self.not_covered),
        }

    def _entry_dict(self, entry: LedgerEntry, total: float) -> dict[str, Any]:
        """One entry; what it released is a function of all, so that it costs no more than the total."""
        inside = self.envelope if any(entry is one for one in within(self._entries)) else None
        finite = entry.status == "charged" and inside is None
        alone = math.ceil(min(entry.epsilon(self.delta), total) * 1e6) / 1e6 if finite else None
        words = self._words(entry)
        free = _FREE.get(entry.status, "") if inside is None else f"in {self._words(inside).name}"
        return {
            "name": words.name,
            "mechanism": words.mechanism,
            "epsilon": alone,
            "cost": free if alone is None else rounded_up(alone),
            "delta": self.delta if finite else None,
            "scope": words.scope,
            "provenance": entry.status if inside is None else "within another",
            "note": words.note,
            "parts": list(entry.parts),
        }

    def to_json(self) -> str:
        """JSON text of :meth:`to_dict`."""
        return json.dumps(self.to_dict(), indent=1)

    def to_html(self) -> str:
        """Self-contained HTML fragment: the words, with a table of entries below."""
        from jinja2 import Environment, PackageLoader, StrictUndefined

        templates = Environment(
            loader=PackageLoader("sdv_plausible.privacy"), autoescape=True, undefined=StrictUndefined,
            trim_blocks=True, lstrip_blocks=True, finalize=_finalized,
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
        return "\n".join(visible(line, keep="") for line in lines)

    __repr__ = __str__


def _finalized(value: Any) -> Any:
    """A value of a template, its control characters written out; jinja then escapes it."""
    return visible(value, keep="\n\r\t") if type(value) is str else value


def _losses(entries: Sequence[LedgerEntry]) -> list[Loss]:
    """Losses of the total."""
    return [loss for entry in counted(entries) for loss in entry.losses]


def _total(entries: Sequence[LedgerEntry], delta: float) -> float:
    losses = _losses(entries)
    if any(isinstance(loss, InfiniteLoss) for loss in losses):
        return math.inf
    return compose(losses, delta) if losses else 0.0


def not_covered(person: str | None) -> tuple[str, ...]:
    """What no total covers, where this column says whose a row is."""
    return (*NOT_COVERED, SEVERAL_ROWS if person is None else SEVERAL_NAMES.format(person=person))


def conclusions(who: Neighbours, epsilon: float, delta: float) -> str:
    """What a guarantee says of conclusions, to follow the words that say which."""
    return (
        f"is at most {_factor(epsilon)} times as likely {who.comparison}, or the reverse, apart from an "
        f"additional probability of at most {rounded_up(delta)}"
    )


def _factor(epsilon: float) -> str:
    return rounded_up(math.exp(epsilon)) if epsilon < 700 else f"exp({rounded_up(epsilon)})"
