"""A ledger in its recorded (JSON) form: its sentences in order, and its figures."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from typing import Any

from sdv_plausible.privacy.parameter_checks import shown

PUBLIC = "Column names, semantic types, date formats and declarations count as public."
CONDITION = "if the column types in the metadata were known without the data"
"""Condition of the total where column types come from metadata of unknown origin."""
TOTAL = "Total epsilon "
ATTACKER = "An attacker who tries to tell"
NO_CLAIM = "This release has no differential privacy guarantee."
UNIT = "((addition or removal|replacement) of any )?one (row|person|family)( by another one)?"
PAPER = "The formulas of [PD] give"
EMPTY = "(k, gamma)-plausible deniability is empty here"  # first words of the sentence in older files
ALL_SEEDS = "(k, gamma)-plausible deniability holds for every row, with k = all records and gamma = 1"
RARE, NOISE = "At low false-alarm rates:", "Noise, as mu of Gaussian differential privacy:"
ANNEX = (
    ALL_SEEDS, EMPTY, PAPER, "As printed in [PD]", RARE, "Where false alarms must be rare:", NOISE,
    "The file says of plausible deniability:", "The file says of as printed:",
)  # fmt: skip
"""First words of the sentences for specialists, in every version; they are shown last."""
EPSILON_ROUNDING = 1e-6  # entries' epsilons are rounded to six decimal places
_KNOWN = {
    "cost": r"free|assumed|no claim|no guarantee|in learning|[0-9.e+-]+",
    "provenance": "charged|declared|assumed|no claim|within another",
    "scope": "everything|the (domain|model|seeds|types|release|rows used)|domain and model",
}
"""Patterns of an entry's texts as this package writes them; other texts are quoted."""
_TEXTS = ("name", "mechanism", "scope", "provenance", "note")


@dataclass(frozen=True, kw_only=True)
class RecordedEntry:
    """One entry of a recorded ledger, in words, with its own epsilon; None where it is free."""

    name: str
    mechanism: str
    scope: str
    provenance: str
    note: str
    epsilon: float | None
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class LedgerText:
    """A ledger's sentences, in reading order."""

    lead: str  # the attacker's gain, or that there is no privacy guarantee
    total: str = ""  # the total in one short sentence; empty without a guarantee
    conditions: str = ""  # meaning and scope of the total; empty without a guarantee
    further: tuple[str, ...] = ()  # further sentences, such as the effect of noise on the rows
    annex: tuple[str, ...] = ()  # sentences for specialists

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> LedgerText:
        """Read the sentences from a ledger's plain form."""
        headline, sentences = str(plain["headline"]), tuple(map(str, plain.get("said", ())))
        annex = tuple(text for text in sentences if text.startswith(ANNEX))
        others = tuple(text for text in sentences if text not in annex)
        epsilon, delta = plain.get("epsilon"), plain.get("delta")
        unit, relation = str(plain.get("unit", "")), str(plain.get("neighbours", ""))
        has_total = unit and relation and headline.startswith(TOTAL)
        if not (has_total and isinstance(epsilon, (int, float)) and isinstance(delta, (int, float))):
            return cls(headline, further=others)
        case = "this one or another" if relation.startswith("replacement") else "in the data"
        total = total_sentence(epsilon, delta, relation)
        is_conditional = headline.startswith(f"{total}, {CONDITION}")
        total = total_sentence(epsilon, delta, relation, is_conditional=is_conditional)
        lead = str(plain.get("meaning", "")) or attacker_sentence(
            attacker_accuracy(epsilon, delta), f"{unit} is {case}", is_conditional=is_conditional
        )
        if not headline.startswith(total):  # written by an older version
            return cls(lead, headline, "", others, annex)
        rest = headline.removeprefix(total).lstrip(":. ")
        return cls(lead, f"{total}.", f"{rest[:1].upper()}{rest[1:]}", others, annex)

    @property
    def first(self) -> str:
        """The first sentences."""
        return f"{self.lead} {self.total}".rstrip()


def quote_record(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plain form of a ledger from a file, with its texts quoted.

    The headline is rebuilt from epsilon, delta and the neighbour relation; the rest of it is quoted.
    """
    epsilon, delta, headline = plain.get("epsilon"), plain.get("delta"), str(plain["headline"])
    relation = _quoted_inside(str(plain.get("neighbours", "")))
    if isinstance(epsilon, (int, float)) and isinstance(delta, (int, float)):
        is_conditional = bool(plain.get("assumed_types"))
        opening = total_sentence(
            epsilon, delta, str(plain.get("neighbours", "")), is_conditional=is_conditional
        )
        rest = says(headline.removeprefix(opening).lstrip(":. "))
        headline = f"{total_sentence(epsilon, delta, relation, is_conditional=is_conditional)}: {rest}"
    else:
        headline = f"{NO_CLAIM} {says(headline)}" if "epsilon" in plain else says(headline)
    return {
        **plain,
        "headline": headline,
        "meaning": "",
        "said": [says(str(text)) for text in plain.get("said", ())],
        "unit": _quoted_inside(str(plain.get("unit", ""))),
        "neighbours": relation,
        "entries": [_quoted_entry(entry) for entry in plain["entries"]],
        "not_covered": [says(str(text)) for text in plain.get("not_covered", ())],
    }


def _quoted_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    quotations = {name: says(str(entry[name])) for name in ("mechanism", "note") if entry.get(name)}
    for name, pattern in _KNOWN.items():
        if name in entry and not re.fullmatch(pattern, str(entry[name])):
            quotations[name] = quoted(str(entry[name]))
    if "name" in entry:
        quotations["name"] = entry_name(str(entry["name"]))
    return {**entry, **quotations}


def _quoted_inside(unit: str) -> str:
    """Return a unit or a neighbour relation, with the text on columns quoted."""
    opening, bracket, inside = unit.partition(" (")
    if not re.fullmatch(UNIT, opening):
        return quoted(unit)
    return opening if not bracket else f"{opening} ({quoted(inside.removesuffix(')'))})"


def total_sentence(epsilon: float, delta: float, relation: str, *, is_conditional: bool = False) -> str:
    """First words of the headline: the total, and the condition under which it holds."""
    total = f"{TOTAL}{rounded_up(epsilon)} at delta {rounded_up(delta)}, for the {relation}"
    return f"{total}, {CONDITION}" if is_conditional else total


def attacker_sentence(
    right: float, question: str, source: str = "this release", *, is_conditional: bool = False
) -> str:
    """State an attacker's largest rate of correct guesses if both cases are equally likely beforehand."""
    figure = rounded_up(100 * right, 3 if right < 0.995 else 5)
    return (
        f"{ATTACKER} from {source} whether {question} is right at most {figure} % of the time (50 % is "
        f"guessing){f', {CONDITION}' if is_conditional else ''}."
    )


def attacker_accuracy(epsilon: float, delta: float) -> float:
    """Largest rate of correct guesses under (epsilon, delta) and equal prior odds."""
    return (1 + delta * math.exp(-epsilon)) / (1 + math.exp(-epsilon))


@dataclass(frozen=True, kw_only=True)
class LedgerRecord:
    """A recorded ledger with a privacy guarantee."""

    headline: str
    words: LedgerText
    epsilon: float
    delta: float
    unit: str
    neighbours: str
    entries: tuple[RecordedEntry, ...]  # charges and declarations
    not_covered: tuple[str, ...]  # what the total does not cover

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> LedgerRecord:
        """Read the plain form, :meth:`~sdv_plausible.PrivacyLedger.to_dict`."""
        try:
            record = cls(
                headline=_text(plain, "headline"),
                epsilon=_number(plain, "epsilon"),
                delta=_number(plain, "delta"),
                unit=_text(plain, "unit"),
                neighbours=_text(plain, "neighbours"),
                entries=tuple(map(_entry, _list(plain, "entries", Mapping))),
                not_covered=tuple(_list(plain, "not_covered", str)),
                words=LedgerText.of(
                    {
                        **plain,
                        "said": _list({"said": (), **plain}, "said", str),
                        "meaning": _text({"meaning": "", **plain}, "meaning"),
                        "assumed_types": _list({"assumed_types": (), **plain}, "assumed_types", str),
                    }
                ),
            )
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(
                f"this is not a privacy ledger ({error}): use a file that ledger.to_json() or --ledger wrote"
            ) from None
        if (
            not record.entries
            or not math.isfinite(record.epsilon)
            or any(entry.provenance == "no claim" for entry in record.entries)
        ):
            raise ValueError(
                "a card or standard document needs a release with a differential privacy guarantee, and "
                f"this one has none: {record.headline}"
            )
        largest = max((e.epsilon for e in record.entries if e.epsilon is not None), default=0.0)
        if record.epsilon < largest * (1 - 1e-6) - EPSILON_ROUNDING or not _headline_agrees(record):
            raise ValueError(
                f"this ledger contradicts itself: its total ({record.epsilon:g}) differs from its headline, "
                "or is below the cost of an entry. Write it again with ledger.to_json() or --ledger"
            )
        if record.assumed and CONDITION not in record.headline:
            raise ValueError(
                "this ledger contradicts itself: it depends on an assumption "
                f"({record.assumed[0].mechanism}), but states its total without that condition. Write it "
                "again with ledger.to_json() or --ledger"
            )
        return record

    @property
    def charged(self) -> tuple[RecordedEntry, ...]:
        """Entries with a cost."""
        return tuple(entry for entry in self.entries if entry.provenance == "charged")

    @property
    def used(self) -> tuple[RecordedEntry, ...]:
        """Entries that use the rows: with a cost of their own, or covered by another entry."""
        return tuple(entry for entry in self.entries if entry.provenance in ("charged", "within another"))

    @property
    def declared(self) -> tuple[RecordedEntry, ...]:
        """Entries that are free because someone vouches for them."""
        return tuple(entry for entry in self.entries if entry.provenance == "declared")

    @property
    def assumed(self) -> tuple[RecordedEntry, ...]:
        """Entries that are free only if an assumption holds that nobody vouches for."""
        return tuple(entry for entry in self.entries if entry.provenance == "assumed")

    @property
    def of_people(self) -> bool:
        """Whether the unit is a person, or a row with its child rows, rather than a row."""
        return not self.unit.startswith("one row")


def _headline_agrees(record: LedgerRecord) -> bool:
    """Whether the headline's total, rounded up to three digits, and its delta match the figures."""
    number = r"(\d[\d.]*(?:e[+-]?\d+)?)"
    match = re.match(rf"{TOTAL}{number} at delta {number},", record.headline)
    if match is None or max(figure.count(".") for figure in match.groups()) > 1:
        return False
    epsilon, delta = map(float, match.groups())
    delta_agrees = record.delta * 0.995 <= delta <= record.delta * 1.02  # version 0.1 rounded to nearest
    return delta_agrees and record.epsilon * (1 - 1e-9) <= epsilon <= record.epsilon * 1.02 + 1e-12


def rounded_up(figure: float, digits: int = 3) -> str:
    """Format a figure with this many digits, rounded up: a guarantee must not look better than it is."""
    if not math.isfinite(figure):
        return f"{figure}"
    # 15 digits: a tenth of 1e-9 is 1e-10
    up = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(f"{figure:.15g}")
    return f"{float(up):.{digits}g}"


def probability_factor(epsilon: float) -> str:
    """Largest factor by which the probability of an outcome changes, exp(epsilon), rounded up."""
    return rounded_up(math.exp(epsilon)) if epsilon < 700 else f"exp({rounded_up(epsilon)})"


def _entry(entry: Mapping[str, Any]) -> RecordedEntry:
    cost = None if entry["epsilon"] is None else _number(entry, "epsilon")
    texts = {name: _text(entry, name) for name in _TEXTS}
    return RecordedEntry(**texts, epsilon=cost, parts=tuple(_list({"parts": (), **entry}, "parts", str)))


def _list(plain: Mapping[str, Any], name: str, item_type: type[Any]) -> Sequence[Any]:
    values = plain[name]
    if not isinstance(values, (list, tuple)) or not all(isinstance(item, item_type) for item in values):
        raise TypeError(
            f"{name} ({shown(type(values))}) must be a list of {'texts' if item_type is str else 'entries'}"
        )
    return values


def _text(plain: Mapping[str, Any], name: str) -> str:
    value = plain[name]
    if not isinstance(value, str):
        raise TypeError(f"{name} ({shown(value)}) must be a text")
    return value


def _number(plain: Mapping[str, Any], name: str) -> float:
    """Return a number; null, which stands for no guarantee, is infinite."""
    value = plain[name]
    if value is None:
        return math.inf
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise TypeError(f"{name} ({shown(value)}) must be a number of at least 0")
    return float(value)


MAX_QUOTED = 2000  # longest quotation, in characters
FILE_SAYS = "The file says"
NAMES = (
    "answers", "as printed", "coins", "column types", "constraints", "count", "domain", "invented",
    "learning", "margins", "model", "noise", "persons", "plausible deniability",
    "public table", "rules", "seeds", "size", "structure", "tables", "training", "transformers", "types",
)  # fmt: skip
"""Entry names that this package uses."""


def quoted(text: str) -> str:
    """Quote a text on one line; non-printable characters are escaped and long texts are cut."""
    short = text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}..."
    plain = "".join(character if character.isprintable() else ascii(character)[1:-1] for character in short)
    return '"' + plain.replace('"', "'") + '"'


def plain_or_quoted(name: str) -> str:
    """Return a name as it is if it is one word, else quoted."""
    return name if re.fullmatch(r"[\w-]{1,60}", name) else quoted(name)


def says(text: str, what: str = "") -> str:
    """Quote a text after the words "The file says"."""
    return f"{FILE_SAYS}{what and f' of {what}'}: {quoted(text)}"


def entry_name(name: str) -> str:
    """Return an entry's name as it is if this package uses it, also after a table name; else quoted."""
    table, _, own = name.rpartition(": ")
    if own not in NAMES:
        return quoted(name)
    return f"{plain_or_quoted(table)}: {own}" if table else own
