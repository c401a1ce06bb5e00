"""What the report says about privacy: a copy of the ledger's words, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

NO_GUARANTEE = "No privacy guarantee is documented for this release: the report was given no privacy ledger."


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """The guarantee of a release.

    Attributes
    ----------
    documented : bool
        Whether there is a ledger.
    sentence : str
        The guarantee in one quotable sentence.
    entries : tuple of dict
        The ledger's entries, with ``name``, ``mechanism``, ``epsilon``, ``delta``, ``scope``, ``provenance``, ``note``.
    not_covered : tuple of str
        What the guarantee says nothing about.
    claimed : bool
        Whether there is a ledger and every entry of it has a finite cost.
    covers_structure : bool
        Whether, besides, one of the entries is the model or its structure, so that the network may be published.
    """

    documented: bool
    sentence: str
    entries: tuple[dict[str, Any], ...]
    not_covered: tuple[str, ...]
    claimed: bool
    covers_structure: bool

    @classmethod
    def of(cls, ledger: Any) -> Guarantee:
        """Copy the guarantee from a ledger (``sentence()`` and ``to_dict()``), or from None."""
        if ledger is None:
            return cls(
                documented=False, sentence=NO_GUARANTEE, entries=(), not_covered=(), claimed=False, covers_structure=False
            )
        if not hasattr(ledger, "to_dict") or not hasattr(ledger, "sentence"):
            raise ValueError(f"ledger ({ledger!r}) must be a PrivacyLedger: give synthesizer.privacy_ledger()")
        document = ledger.to_dict()
        entries = tuple(dict(entry) for entry in document["entries"])
        claimed = bool(entries) and all(_finite(entry) for entry in entries)
        return cls(
            documented=True,
            sentence=ledger.sentence(),
            entries=entries,
            not_covered=tuple(document.get("not_covered", ())),
            claimed=claimed,
            covers_structure=claimed and any(_learns_network(entry) for entry in entries),
        )


def _learns_network(entry: dict[str, Any]) -> bool:
    return any(word in entry["name"].lower() for word in ("structure", "network", "model"))


def _finite(entry: dict[str, Any]) -> bool:
    """Whether the entry is charged a finite epsilon, or free because its object was declared and not learned."""
    epsilon = entry.get("epsilon")
    if epsilon is None:
        return entry.get("provenance") == "declared"
    return bool(0 <= epsilon < float("inf"))
