"""What the page says about privacy: a copy of the ledger's words, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sdv_plausible.evaluation.page.rendering import Section

NO_GUARANTEE = "No privacy guarantee is documented for this release: the report was given no privacy ledger."
_BLANK: dict[str, Any] = {
    "mechanism": "", "epsilon": None, "scope": "", "provenance": "none stated", "note": "", "parts": (),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Guarantee(Section):
    """The guarantee of a release.

    Attributes
    ----------
    documented : bool
        Whether there is a ledger.
    sentence : str
        The guarantee in one quotable sentence.
    said : tuple of str
        Further sentences of the ledger, such as which plausible deniability holds.
    meaning : str
        What it means for an attacker; empty without a claim.
    entries : tuple of dict
        The ledger's entries, with ``name``, ``mechanism``, ``epsilon``, ``cost``, ``scope``, ``provenance``,
        ``note``, ``parts``.
    not_covered : tuple of str
        What the guarantee says nothing about.
    claimed : bool
        Whether there is a ledger and every entry of it has a finite cost.
    covers_structure : bool
        Whether, besides, one of the entries pays for the model's structure, so that the network may be
        published.
    """

    template: ClassVar[str] = "guarantee.html"
    documented: bool
    sentence: str
    said: tuple[str, ...]
    meaning: str
    entries: tuple[dict[str, Any], ...]
    not_covered: tuple[str, ...]
    claimed: bool
    covers_structure: bool

    @classmethod
    def of(cls, ledger: Any) -> Guarantee:
        """Copy the guarantee from a ledger, from its plain form (a dict), or from None.

        Raises
        ------
        ValueError
            If ``ledger`` is something else.
        """
        if ledger is None:
            return cls(
                documented=False,
                sentence=NO_GUARANTEE,
                said=(),
                meaning="",
                entries=(),
                not_covered=(),
                claimed=False,
                covers_structure=False,
            )
        document = _document(ledger)
        entries = tuple(_filled(entry) for entry in document["entries"])
        claimed = bool(entries) and all(_finite(entry) for entry in entries)
        if hasattr(ledger, "covers_part"):
            pays_for_structure = ledger.covers_part("structure")
        else:
            pays_for_structure = any("structure" in entry["parts"] for entry in entries)
        return cls(
            documented=True,
            sentence=str(document["headline"]),
            said=tuple(map(str, document.get("said", ()))),
            meaning=str(document.get("meaning", "")),
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
    """Whether the entry has a finite epsilon, or is free because its object was declared."""
    epsilon = entry["epsilon"]
    if epsilon is None:
        return bool(entry["provenance"] == "declared")
    return bool(0 <= epsilon < float("inf"))
