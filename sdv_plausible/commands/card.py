"""The command ``sdv-plausible card``: one page on a release, to be filed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from sdv_plausible.commands.on_disk import UsageError, check_output, check_there, how
from sdv_plausible.commands.parameters import add_budget, opened_budget
from sdv_plausible.commands.speaking import say
from sdv_plausible.utils.strict_json import strict_json


def add_options(command: argparse.ArgumentParser) -> None:
    """What the card is made from, and what only a person knows."""
    from sdv_plausible.release.papers.privacy_card import KNOWN

    add = command.add_argument
    add("release", type=Path, help="the release file")
    add("-o", "--output", type=Path, required=True, help="card: .html, .md or .json")
    add("--expect-sha256", metavar="DIGEST", help="refuse any other release file")
    add("--domain", type=Path, help="the domain file: which public sources it cites")
    add_budget(command, "the budget that the fit drew from: its sentence is on the card")
    add("--audit", type=Path, help="audit.json of a public or simulated table; others are refused")
    for name, hint in KNOWN.items():
        add(f"--{name.replace('_', '-')}", metavar="TEXT", help=hint)
    add("--overwrite", action="store_true", help="replace the output if it exists")


def run(options: argparse.Namespace) -> None:
    """Write the card."""
    from sdv_plausible.release.file.release import Release
    from sdv_plausible.release.papers.privacy_card import KNOWN

    check_there(options, "release", "domain", "audit", "budget")
    check_output(options, "output", (".html", ".md", ".json"))
    release = Release.load(options.release, options.expect_sha256)
    card = release.card(
        budget=opened_budget(options),
        audit=_audit(options.audit),
        domain=options.domain,
        **{"name": _name(options.release, release.schema.table), **how(options, *KNOWN)},
    )
    card.save(options.output)
    words = f"{f'{card.lead} {card.total}'.rstrip()}\n\nWrote {options.output}"
    if card.blanks:
        words += f"\nTo be filled in: {', '.join(card.blanks)}"
    say(
        options,
        words,
        {"output": options.output, "claim": card.claim, "lead": card.lead, "to_be_filled_in": card.blanks},
    )


def _name(path: Path, table: str) -> str:
    """What the release is called where nobody says it: as its table, or else as its file."""
    return path.stem if table == "table" and path.stem.strip() else table


def _audit(path: Path | None) -> Any:
    if path is None:
        return None
    try:
        return strict_json(path.read_text(encoding="utf-8"))
    except ValueError:
        raise UsageError(f"{path} is no audit: give the audit.json that audit wrote") from None
