"""A ledger as it was written down, by itself or in its JSON text: its words in order, and its figures."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from typing import Any

from sdv_plausible.privacy.foreign_texts import entry_name, quoted, says
from sdv_plausible.privacy.parameter_checks import shown

PUBLIC = "Column names, semantic types, date formats and what was declared count as public."
CONDITION = "if the column types in the metadata were known without the data"
"""What a total depends on where types came from metadata of unknown origin: part of its first sentences."""
TOTAL = "Total epsilon "
ATTACKER = "An attacker who tries to tell"
NO_CLAIM = "No differential-privacy claim is made for this release."
UNIT = "((addition or removal|replacement) of any )?one (row|person|family)( by another one)?"
EMPTY = "(k, gamma)-plausible deniability is empty here"  # begins the sentence in files made before
ALL_SEEDS = "(k, gamma)-plausible deniability holds for every row, with k = all records and gamma = 1"
RARE, NOISE = "Where false alarms must be rare:", "Noise, as mu of Gaussian differential privacy:"
ANNEX = (
    ALL_SEEDS, EMPTY, "As printed in [PD]", RARE, NOISE, "The file says of plausible deniability:",
    "The file says of as printed:",
)  # fmt: skip
"""How sentences begin that are for specialists: they stand last, whoever wrote the ledger down, and when."""
ROUNDED = 1e-6  # epsilons of entries are written with six digits after the point
_KNOWN = {
    "cost": r"free|assumed|no claim|in learning|[0-9.e+-]+",
    "provenance": "charged|declared|assumed|no claim|within another",
    "scope": "everything|the (domain|model|seeds|types|release|rows used)|domain and model",
}
"""Forms of texts of an entry that the program writes; others are quoted."""
_TEXTS = ("name", "mechanism", "scope", "provenance", "note")


@dataclass(frozen=True, kw_only=True)
class RecordedEntry:
    """One entry of a ledger, in words and with its own epsilon; None where it is free."""

    name: str
    mechanism: str
    scope: str
    provenance: str
    note: str
    epsilon: float | None
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class LedgerText:
    """What a ledger says, in the order in which people read it: on the terminal, on pages and on papers."""

    lead: str  # what an attacker can gain; or that there is no claim, and no figure follows
    total: str = ""  # in one short sentence; empty without a claim
    conditions: str = ""  # what the total means, and for what it holds; empty without a claim
    further: tuple[str, ...] = ()  # such as what noise does to the rows
    annex: tuple[str, ...] = ()  # for specialists

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> LedgerText:
        """Order the words of the plain form."""
        headline, said = str(plain["headline"]), tuple(map(str, plain.get("said", ())))
        annex = tuple(text for text in said if text.startswith(ANNEX))
        others = tuple(text for text in said if text not in annex)
        epsilon, delta = plain.get("epsilon"), plain.get("delta")
        unit, relation = str(plain.get("unit", "")), str(plain.get("neighbours", ""))
        known = unit and relation and headline.startswith(TOTAL)
        if not (known and isinstance(epsilon, (int, float)) and isinstance(delta, (int, float))):
            return cls(headline, further=others)
        asked = "this one or another" if relation.startswith("replacement") else "in the data"
        total = total_of(epsilon, delta, relation)
        is_conditional = headline.startswith(f"{total}, {CONDITION}")
        total = total_of(epsilon, delta, relation, is_conditional=is_conditional)
        lead = str(plain.get("meaning", "")) or gain(
            right_by(epsilon, delta), f"{unit} is {asked}", is_conditional=is_conditional
        )
        if not headline.startswith(total):  # in the words of an older ledger
            return cls(lead, headline, "", others, annex)
        rest = headline.removeprefix(total).lstrip(":. ")
        return cls(lead, f"{total}.", f"{rest[:1].upper()}{rest[1:]}", others, annex)

    @property
    def first(self) -> str:
        """The first sentences alone."""
        return f"{self.lead} {self.total}".rstrip()


def from_file(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The plain form of a ledger that a file held: its figures, and its texts in quotation marks.

    The headline is made anew of epsilon, delta and the relation; what it says beyond is quoted.
    """
    epsilon, delta, headline = plain.get("epsilon"), plain.get("delta"), str(plain["headline"])
    relation = _quoted_inside(str(plain.get("neighbours", "")))
    if isinstance(epsilon, (int, float)) and isinstance(delta, (int, float)):
        conditional = bool(plain.get("assumed_types"))
        stated = total_of(epsilon, delta, str(plain.get("neighbours", "")), is_conditional=conditional)
        rest = says(headline.removeprefix(stated).lstrip(":. "))
        headline = f"{total_of(epsilon, delta, relation, is_conditional=conditional)}: {rest}"
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
    said = {name: says(str(entry[name])) for name in ("mechanism", "note") if entry.get(name)}
    for name, known in _KNOWN.items():
        if name in entry and not re.fullmatch(known, str(entry[name])):
            said[name] = quoted(str(entry[name]))
    if "name" in entry:
        said["name"] = entry_name(str(entry["name"]))
    return {**entry, **said}


def _quoted_inside(unit: str) -> str:
    """A unit or a relation in the program's words, with what it says of columns in quotation marks."""
    begins, bracket, inside = unit.partition(" (")
    if not re.fullmatch(UNIT, begins):
        return quoted(unit)
    return begins if not bracket else f"{begins} ({quoted(inside.removesuffix(')'))})"


def total_of(epsilon: float, delta: float, relation: str, *, is_conditional: bool = False) -> str:
    """The total, as a sentence begins, with the condition under which it holds."""
    total = f"{TOTAL}{rounded_up(epsilon)} at delta {rounded_up(delta)}, for the {relation}"
    return f"{total}, {CONDITION}" if is_conditional else total


def gain(right: float, question: str, source: str = "this release", *, is_conditional: bool = False) -> str:
    """How often an attacker is right at most, if both cases are equally likely beforehand."""
    figure = rounded_up(100 * right, 3 if right < 0.995 else 5)
    return (
        f"{ATTACKER} from {source} whether {question} is right at most {figure} % of the time (50 % is "
        f"guessing){f', {CONDITION}' if is_conditional else ''}."
    )


def right_by(epsilon: float, delta: float) -> float:
    """The largest share of right guesses, given (epsilon, delta) and prior odds of 1."""
    return (1 + delta * math.exp(-epsilon)) / (1 + math.exp(-epsilon))


@dataclass(frozen=True, kw_only=True)
class LedgerRecord:
    """What a ledger with a claim says."""

    headline: str
    words: LedgerText
    epsilon: float
    delta: float
    unit: str
    neighbours: str
    entries: tuple[RecordedEntry, ...]  # what was charged or declared
    not_covered: tuple[str, ...]  # what the total does not speak of

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
                f"this is no privacy ledger ({error}): give what ledger.to_json() or --ledger wrote"
            ) from None
        if (
            not record.entries
            or not math.isfinite(record.epsilon)
            or any(entry.provenance == "no claim" for entry in record.entries)
        ):
            raise ValueError(
                f"papers are for releases with a differential-privacy claim, and this one has none: "
                f"{record.headline}"
            )
        largest = max((e.epsilon for e in record.entries if e.epsilon is not None), default=0.0)
        if record.epsilon < largest * (1 - 1e-6) - ROUNDED or not _agrees(record):
            raise ValueError(
                f"this ledger contradicts itself: its total ({record.epsilon:g}) is not that of its words, "
                "or below an entry's; write it again with ledger.to_json() or --ledger"
            )
        if record.assumed and CONDITION not in record.headline:
            raise ValueError(
                f"this ledger contradicts itself: it assumes something ({record.assumed[0].mechanism}), and "
                "its total is stated without that condition; write it again with ledger.to_json() or --ledger"
            )
        return record

    @property
    def charged(self) -> tuple[RecordedEntry, ...]:
        """Entries that cost something."""
        return tuple(entry for entry in self.entries if entry.provenance == "charged")

    @property
    def used(self) -> tuple[RecordedEntry, ...]:
        """Entries that looked at rows: those that cost something, and those that are within one of them."""
        return tuple(entry for entry in self.entries if entry.provenance in ("charged", "within another"))

    @property
    def declared(self) -> tuple[RecordedEntry, ...]:
        """Entries that are free because somebody vouches for them."""
        return tuple(entry for entry in self.entries if entry.provenance == "declared")

    @property
    def assumed(self) -> tuple[RecordedEntry, ...]:
        """Entries that are free only if what they assume is true: nobody vouches for it."""
        return tuple(entry for entry in self.entries if entry.provenance == "assumed")

    @property
    def of_people(self) -> bool:
        """Whether the unit is a person, or a family, rather than a row."""
        return not self.unit.startswith("one row")


def _agrees(record: LedgerRecord) -> bool:
    """Whether the words say the total, which they round up to three digits, and its delta."""
    number = r"(\d[\d.]*(?:e[+-]?\d+)?)"
    found = re.match(rf"{TOTAL}{number} at delta {number},", record.headline)
    if found is None or max(said.count(".") for said in found.groups()) > 1:
        return False
    epsilon, delta = map(float, found.groups())
    rounded = record.delta * 0.995 <= delta <= record.delta * 1.02  # 0.1 said the nearest
    return rounded and record.epsilon * (1 - 1e-9) <= epsilon <= record.epsilon * 1.02 + 1e-12


def rounded_up(figure: float, digits: int = 3) -> str:
    """Figure with so many digits, never below it: a guarantee is not to look better than it is."""
    if not math.isfinite(figure):
        return f"{figure}"
    up = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(
        f"{figure:.15g}"
    )  # a tenth of 1e-9 is 1e-10
    return f"{float(up):.{digits}g}"


def _entry(entry: Mapping[str, Any]) -> RecordedEntry:
    cost = None if entry["epsilon"] is None else _number(entry, "epsilon")
    texts = {name: _text(entry, name) for name in _TEXTS}
    return RecordedEntry(**texts, epsilon=cost, parts=tuple(_list({"parts": (), **entry}, "parts", str)))


def _list(plain: Mapping[str, Any], name: str, of: type[Any]) -> Sequence[Any]:
    found = plain[name]
    if not isinstance(found, (list, tuple)) or not all(isinstance(one, of) for one in found):
        raise TypeError(
            f"{name} ({shown(type(found))}) must be a list of {'texts' if of is str else 'entries'}"
        )
    return found


def _text(plain: Mapping[str, Any], name: str) -> str:
    found = plain[name]
    if not isinstance(found, str):
        raise TypeError(f"{name} ({shown(found)}) must be a text")
    return found


def _number(plain: Mapping[str, Any], name: str) -> float:
    """Return a number; where there is no claim, null stands in the place of one."""
    found = plain[name]
    if found is None:
        return math.inf
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not found >= 0:
        raise TypeError(f"{name} ({shown(found)}) must be a number of at least 0")
    return float(found)
