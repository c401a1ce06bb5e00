"""What the page says about privacy: a copy of the ledger's words, and nothing else.

And what is paid for with it: counts with error bars, as ``synthesizer.margins`` gives them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from sdv_plausible.privacy.ledger_record import LedgerText
from sdv_plausible.utils.html_page import PageSection

NO_GUARANTEE = "No privacy guarantee is documented for this release: the report was given no privacy ledger."
_BLANK: dict[str, Any] = {
    "mechanism": "", "epsilon": None, "scope": "", "provenance": "none stated", "note": "", "parts": (),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Guarantee(PageSection, template="guarantee.html"):
    """The guarantee of a release."""

    words: LedgerText  # what the ledger says, in order
    entries: tuple[dict[str, Any], ...] = ()  # of the ledger, with ``cost`` and the fields of ``_BLANK``
    not_covered: tuple[str, ...] = ()  # what the guarantee says nothing about
    claimed: bool = False  # whether there is a ledger and every entry of it has a finite cost
    # whether, besides, one pays for the model's structure: the network may be published
    covers_structure: bool = False

    @classmethod
    def of(cls, ledger: Any) -> Guarantee:
        """Copy the guarantee from a ledger, from its plain form (a dict), or from None."""
        if ledger is None:
            return cls(words=LedgerText(NO_GUARANTEE))
        document = _document(ledger)
        entries = tuple(_filled(entry) for entry in document["entries"])
        claimed = bool(entries) and all(_finite(entry) for entry in entries)
        if hasattr(ledger, "covers_part"):
            pays_for_structure = ledger.covers_part("structure")
        else:
            pays_for_structure = any("structure" in entry["parts"] for entry in entries)
        return cls(
            words=LedgerText.of(document),
            entries=entries,
            not_covered=tuple(document.get("not_covered", ())),
            claimed=claimed,
            covers_structure=claimed and bool(pays_for_structure),
        )


def _document(ledger: Any) -> Mapping[str, Any]:
    document = ledger.to_dict() if hasattr(ledger, "to_dict") else ledger
    if not isinstance(document, Mapping) or not {"headline", "entries"} <= document.keys():
        raise ValueError(
            f"ledger ({type(ledger).__name__}) must be a PrivacyLedger, or a dict as read from its JSON: "
            "give synthesizer.privacy_ledger()"
        )
    return document


def _filled(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry with all its fields; older ledgers and other people's may lack some."""
    found = {**_BLANK, **{name: value for name, value in entry.items() if value is not None}}
    cost = "" if found["epsilon"] is None else str(found["epsilon"])
    return {"cost": cost, **found, "parts": tuple(found["parts"])}


def _finite(entry: Mapping[str, Any]) -> bool:
    """Whether the entry has a finite epsilon, or is free: declared, assumed, or paid for by another."""
    epsilon = entry["epsilon"]
    if epsilon is None:
        return entry["provenance"] in ("declared", "assumed", "within another")
    return bool(0 <= epsilon < float("inf"))


MOST = 15  # lines of a table, those of most rows
NEEDED = ("estimate", "lower", "upper", "proportion_lower", "proportion_upper")
Line = tuple[str, str, str, str]


@dataclass(frozen=True, kw_only=True)
class Counted:
    """One table of counts: of which columns, its lines, and how many lines are left out."""

    title: str
    lines: tuple[Line, ...]
    left_out: str


@dataclass(frozen=True, kw_only=True)
class Intervals(PageSection, template="intervals.html"):
    """Tables of counts, each with an interval for the table's count and for the population's share."""

    tables: tuple[Counted, ...]

    @classmethod
    def of(cls, margins: Sequence[pd.DataFrame]) -> list[Intervals]:
        """One section for all tables, each of ``synthesizer.margins``, none without any."""
        for position, frame in enumerate(margins):
            if absent := [name for name in NEEDED if name not in getattr(frame, "columns", ())]:
                raise ValueError(
                    f"margins[{position}] lacks {absent}: give what synthesizer.margins(columns) gives"
                )
        return [cls(tables=tuple(map(_counted, margins)))] if margins else []


def _counted(frame: pd.DataFrame) -> Counted:
    known = frame[frame["lower"].notna() & frame["upper"].notna()]
    shown = known.sort_values("upper", ascending=False, kind="stable").head(MOST)
    lines = tuple(
        (
            " and ".join(map(str, value)) if isinstance(value, tuple) else str(value),
            "" if math.isnan(line["estimate"]) else f"{line['estimate']:,.0f}",
            f"{line['lower']:,.0f} to {line['upper']:,.0f}",
            ""
            if math.isnan(line["proportion_lower"])
            else f"{line['proportion_lower']:.2%} to {line['proportion_upper']:.2%}",
        )
        for value, line in zip(shown.index, shown.to_dict("records"), strict=True)
    )
    names = [str(name) for name in frame.index.names if name is not None]
    left = len(frame) - len(lines)
    return Counted(
        title=" and ".join(names) or "All rows", lines=lines, left_out=f"and {left:,} more" if left else ""
    )
