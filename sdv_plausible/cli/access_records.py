"""What the holder sees of the rows is written down in the domain file: its words may repeat it afterwards."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

NO_RECORD = "No domain file (--domain) keeps a record of this look:"


def recorder(domain: Any) -> Callable[[Collection[str], Collection[str] | None], list[str]] | None:
    """Who writes down what a fit warns of: the domain file that was given, whatever was made of it since."""
    from sdv_plausible.table.declared.access_log import note_look

    return None if domain in (None, "written") or isinstance(domain, Mapping) else partial(note_look, domain)


def note_rows_shown(domain: str | Path | None, rules: Path | None, names: Collection[str]) -> list[str]:
    """Write down that a page is about to show rows of these columns, and return what the holder is told."""
    # If the domain file cannot be written (OSError) nothing should be shown.
    from sdv_plausible.rules.rules_and_declarations import rule_digests
    from sdv_plausible.table.declared.access_log import note_look

    if domain in (None, "written"):
        return [f"{NO_RECORD} what you declare from now on may repeat single people's values"]
    return note_look(domain, names, rule_digests(rules or ()))
