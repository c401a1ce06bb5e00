"""Access records in the domain file: declarations made after rows were shown may repeat their values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

NO_RECORD = "No domain file (--domain) keeps a record of this look:"


def access_recorder(domain: Any) -> Callable[[Collection[str], Collection[str] | None], list[str]] | None:
    """Return the function that records a fit's warnings in the given domain file, or None."""
    from sdv_plausible.table.declared.access_log import log_access

    return None if domain in (None, "written") or isinstance(domain, Mapping) else partial(log_access, domain)


def record_shown_rows(domain: str | Path | None, rules: Path | None, names: Collection[str]) -> list[str]:
    """Record that a page is about to show rows of these columns; return notices for the data owner."""
    # Raises OSError if the domain file cannot be written; then nothing may be shown.
    from sdv_plausible.rules.rules_and_declarations import rule_digests
    from sdv_plausible.table.declared.access_log import log_access

    if domain in (None, "written"):
        return [f"{NO_RECORD} what you declare from now on may repeat single people's values"]
    return log_access(domain, names, rule_digests(rules or ()))
