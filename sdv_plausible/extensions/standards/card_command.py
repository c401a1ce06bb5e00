"""The command ``sdv-plausible card``: write a release's privacy card, or its description by a standard."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdv_plausible.cli.files import UsageError, check_files_exist, check_output, given_options, option_name
from sdv_plausible.cli.output import print_result
from sdv_plausible.cli.run_fit import add_budget, open_budget, read_object
from sdv_plausible.utils.atomic_files import write_atomically
from sdv_plausible.utils.entry_points import extension
from sdv_plausible.utils.file_paths import read_regular_file
from sdv_plausible.utils.json_schema import strict_json
from sdv_plausible.utils.text_output import escape_controls

if TYPE_CHECKING:
    from sdv_plausible.release.file.release import Release

PURPOSE = "write the page on a release that an officer files"
EXAMPLE = "people.release -o card.html --name People"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    from sdv_plausible.extensions.standards.release_description import KNOWN as NAMES
    from sdv_plausible.extensions.standards.standards import STANDARDS
    from sdv_plausible.release.card.privacy_card import FILED_BY, KNOWN

    add = command.add_argument
    add("release", type=Path, help="release file")
    add("-o", "--output", type=Path, required=True, help="card: .html, .md or .json")
    hints = "; ".join(f"{name}: {standard.hint}" for name, standard in STANDARDS.items())
    add(
        "--standard", choices=STANDARDS, help=f"a description by a standard instead (.json, .jsonld): {hints}"
    )
    add("--rows", type=Path, help="with --standard: synthetic rows that were drawn, never the real ones")
    add(
        "--known",
        help="a JSON object, or its file, of facts that only you know. Card: "
        f"{', '.join(KNOWN)}. Standard: {', '.join(NAMES)}",
    )
    add("--expect-sha256", metavar="DIGEST", help="SHA-256 digest that the release file must have")
    add("--domain", type=Path, help="domain file: the card lists the public sources that it cites")
    add_budget(command, "the budget that the fit drew from: its sentence is on the card")
    add("--audit", type=Path, help="audit.json of a public or simulated table; others are refused")
    for name, hint in FILED_BY.items():
        add(f"--{name.replace('_', '-')}", metavar="TEXT", help=hint)
    add("--overwrite", action="store_true", help="replace the output file if it exists")


def run(options: argparse.Namespace) -> None:
    """Write the card, or the description by a standard."""
    from sdv_plausible.release.file.json_documents import kind_of_release
    from sdv_plausible.release.file.release import Release

    check_files_exist(options, "release", "domain", "audit", "budget", "rows")
    is_card = options.standard is None
    check_output(options, "output", (".html", ".md", ".json") if is_card else (".json", ".jsonld"))
    _check_parts(options)
    if (kind := kind_of_release(options.release)) is not None:
        release, tables = extension("release", kind).load(options)
        return _card(options, release, *tables)
    release = Release.load(options.release, options.expect_sha256)
    if not is_card:
        return _describe(options, release)
    one_table = {"audit": _audit(options.audit), "domain": options.domain}
    return _card(options, release, release.schema.table, **one_table)


def _card(options: argparse.Namespace, release: Any, *tables: str, **options_of_one_table: Any) -> None:
    from sdv_plausible.release.card.privacy_card import FILED_BY

    known = {"name": _name(options.release, *tables), **_known(options), **given_options(options, *FILED_BY)}
    card = release.card(budget=open_budget(options), **options_of_one_table, **known)
    card.save(options.output)
    first = escape_controls(f"{card.lead} {card.total}".rstrip(), keep="")
    message = f"{first}\n\nWrote {options.output}"
    if card.blanks:
        message += f"\nNot given: {', '.join(card.blanks)}"
    print_result(
        options,
        message,
        {"output": options.output, "claim": card.claim, "lead": card.lead, "to_be_filled_in": card.blanks},
    )


def _check_parts(options: argparse.Namespace) -> None:
    """Reject options that the chosen output does not use."""
    from sdv_plausible.extensions.standards.release_description import KNOWN as NAMES
    from sdv_plausible.release.card.privacy_card import FILED_BY

    of_cards = (
        "domain",
        "budget",
        "budget_filter",
        "audit",
        *(name for name in FILED_BY if name not in NAMES),
    )
    if unused := given_options(options, *(("rows",) if options.standard is None else of_cards)):
        where = "without --standard" if options.standard is None else f"with --standard {options.standard}"
        raise UsageError(f"{option_name(next(iter(unused)))} has no effect {where}; remove it")


def _known(options: argparse.Namespace) -> Mapping[str, Any]:
    return {} if options.known is None else read_object(options.known, "--known")


def _describe(options: argparse.Namespace, release: Release) -> None:
    """Write the description by a standard."""
    from sdv_plausible.extensions.standards.release_description import KNOWN
    from sdv_plausible.extensions.standards.standards import STANDARDS, to_standard

    name = _name(options.release, release.schema.table)
    known = {"name": name, **_known(options), **given_options(options, *KNOWN)}
    text = to_standard(release, options.standard, rows=options.rows, file=options.release.name, **known)
    write_atomically(options.output, text)
    missing = [name for name in STANDARDS[options.standard].facts if name not in known]
    message = f"Wrote {options.output}" + (
        f"\nNot given, and left out: {', '.join(missing)}" if missing else ""
    )
    print_result(
        options, message, {"output": options.output, "standard": options.standard, "not_said": missing}
    )


def _name(path: Path, *tables: str) -> str:
    """Default name of the release: the names of its tables, or the file's stem for an unnamed table."""
    from sdv_plausible.privacy.ledger_record import plain_or_quoted

    return (
        path.stem
        if tables == ("table",) and path.stem.strip()
        else " and ".join(map(plain_or_quoted, tables))
    )


def _audit(path: Path | None) -> Any:
    if path is None:
        return None
    data = read_regular_file(path, "audit")
    try:
        return strict_json(data.decode("utf-8"))
    except ValueError:
        raise UsageError(f"{path} is no audit: give the audit.json that audit wrote") from None
