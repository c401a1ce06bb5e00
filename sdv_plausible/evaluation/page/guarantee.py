"""The privacy guarantee on the page, copied from the ledger, and counts with error bars that it covers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from sdv_plausible.privacy.ledger_record import LedgerText
from sdv_plausible.utils.html_page import PageSection

NO_GUARANTEE = "No privacy guarantee is documented for this release: the report was given no privacy ledger."
_DEFAULTS: dict[str, Any] = {
    "mechanism": "", "epsilon": None, "scope": "", "provenance": "none stated", "note": "", "parts": (),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class GuaranteeSection(PageSection, template="guarantee.html"):
    """The guarantee of a release."""

    words: LedgerText  # the ledger's sentences, in order
    entries: tuple[dict[str, Any], ...] = ()  # ledger entries with ``cost`` and the fields of ``_DEFAULTS``
    not_covered: tuple[str, ...] = ()  # what the guarantee does not cover
    claimed: bool = False  # whether there is a ledger whose entries all have a finite cost
    # whether an entry also covers the model's structure, so that the network may be published
    covers_structure: bool = False

    @classmethod
    def of(cls, ledger: Any) -> GuaranteeSection:
        """Copy the guarantee from a ledger, from its dict form, or from None."""
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
    """Return an entry with all fields; old or foreign ledgers may lack some."""
    filled = {**_DEFAULTS, **{name: value for name, value in entry.items() if value is not None}}
    cost = "" if filled["epsilon"] is None else str(filled["epsilon"])
    return {"cost": cost, **filled, "parts": tuple(filled["parts"])}


def _finite(entry: Mapping[str, Any]) -> bool:
    """Whether an entry has a finite epsilon or is free (declared, assumed, or within another entry)."""
    epsilon = entry["epsilon"]
    if epsilon is None:
        return entry["provenance"] in ("declared", "assumed", "within another")
    return bool(0 <= epsilon < float("inf"))


MAX_LINES = 15  # lines shown per table, most frequent values first
NEEDED = ("estimate", "lower", "upper", "proportion_lower", "proportion_upper")
Line = tuple[str, str, str, str]


@dataclass(frozen=True, kw_only=True)
class CountTable:
    """One table of counts: its columns, its lines, and a note on lines left out."""

    title: str
    lines: tuple[Line, ...]
    left_out: str


@dataclass(frozen=True, kw_only=True)
class IntervalSection(PageSection, template="intervals.html"):
    """Tables of counts with intervals for the table's count and for the population's share."""

    tables: tuple[CountTable, ...]

    @classmethod
    def of(cls, margins: Sequence[pd.DataFrame]) -> list[IntervalSection]:
        """Return one section for all tables of ``synthesizer.margins``, or none without tables."""
        for position, frame in enumerate(margins):
            if absent := [name for name in NEEDED if name not in getattr(frame, "columns", ())]:
                raise ValueError(
                    f"margins[{position}] lacks {absent}: give what synthesizer.margins(columns) gives"
                )
        return [cls(tables=tuple(map(_count_table, margins)))] if margins else []


def _count_table(frame: pd.DataFrame) -> CountTable:
    with_intervals = frame[frame["lower"].notna() & frame["upper"].notna()]
    listed = with_intervals.sort_values("upper", ascending=False, kind="stable").head(MAX_LINES)
    lines = tuple(
        (
            " and ".join(map(str, value)) if isinstance(value, tuple) else str(value),
            "" if math.isnan(line["estimate"]) else f"{line['estimate']:,.0f}",
            f"{line['lower']:,.0f} to {line['upper']:,.0f}",
            ""
            if math.isnan(line["proportion_lower"])
            else f"{line['proportion_lower']:.2%} to {line['proportion_upper']:.2%}",
        )
        for value, line in zip(listed.index, listed.to_dict("records"), strict=True)
    )
    names = [str(name) for name in frame.index.names if name is not None]
    num_left_out = len(frame) - len(lines)
    return CountTable(
        title=" and ".join(names) or "All rows",
        lines=lines,
        left_out=f"and {num_left_out:,} more" if num_left_out else "",
    )
