"""The command ``sdv-plausible registry``: write a registry entry and a conformance table."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from sdv_plausible.cli.files import UsageError, check_output, given_options
from sdv_plausible.cli.output import print_result
from sdv_plausible.utils.atomic_files import write_atomically
from sdv_plausible.utils.file_paths import read_regular_file
from sdv_plausible.utils.json_schema import strict_json

if TYPE_CHECKING:
    from sdv_plausible.privacy.ledger_record import LedgerRecord
    from sdv_plausible.table.columns.domain import Domain

PURPOSE = "write a registry entry and a conformance table"
EXAMPLE = "people.release -o entry.yaml"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    from sdv_plausible.extensions.standards.registry import KNOWN

    add = command.add_argument
    add("ledger", type=Path, help="privacy ledger (JSON) or release file")
    add("-o", "--output", type=Path, required=True, help="YAML file to write")
    add("--conformance", type=Path, help="also write a table in the words of NIST SP 800-226")
    add("--pages", default="docs", help="where this package's documentation is, for links in the table")
    add("--overwrite", action="store_true", help="replace files that exist")
    for name, field in KNOWN.items():
        option = f"--{name.replace('_', '-')}"
        if field.many:
            add(option, nargs="+", metavar="TEXT", help=field.hint)
        else:
            hint = f"{field.hint}: {', '.join(field.choices)}" if field.choices else field.hint
            add(option, metavar="TEXT", help=hint)
    command.set_defaults(outputs=("output", "conformance"))


def run(options: argparse.Namespace) -> None:
    """Write the registry entry and the conformance table."""
    from sdv_plausible.extensions.standards.registry import KNOWN, missing, registry_entry, to_yaml
    from sdv_plausible.release.card.conformance import conformance_page

    _check_paths(options)
    record, domain = _ledger_record(options.ledger)
    known = given_options(options, *KNOWN)
    write_atomically(options.output, to_yaml(registry_entry(record, domain=domain, **known)))
    if options.conformance is not None:
        write_atomically(options.conformance, conformance_page(record, pages=options.pages))
    written = [path for path in (options.output, options.conformance) if path is not None]
    to_fill_in = [name for name in missing(known) if domain is None or name != "data_domain"]
    message = f"Wrote {' and '.join(map(str, written))}"
    if to_fill_in:
        message += f"\nTo be filled in, in {options.output}: {', '.join(to_fill_in)}"
    print_result(options, message, {"written": written, "to_be_filled_in": to_fill_in})


def _ledger_record(path: Path) -> tuple[LedgerRecord, Domain | None]:
    """The ledger in a file, and the domain if the file is a release."""
    from sdv_plausible.privacy.ledger_record import LedgerRecord, quote_record
    from sdv_plausible.release.file.json_documents import FORMAT
    from sdv_plausible.release.file.release import Release

    data = read_regular_file(path)
    if FORMAT.encode() in data:
        release = Release.load(path)
        return LedgerRecord.of(release.ledger.to_dict()), release.domain
    try:
        ledger = strict_json(data.decode("utf-8", errors="replace"))
    except ValueError as error:
        raise UsageError(f"{path} is no privacy ledger: it is not JSON, or {error}") from None
    LedgerRecord.of(ledger)  # raises if the ledger contradicts itself
    return LedgerRecord.of(quote_record(ledger)), None


def _check_paths(options: argparse.Namespace) -> None:
    """Check the paths before anything is read."""
    if not options.ledger.is_file():
        raise UsageError(f"there is no ledger file {options.ledger}")
    check_output(options, "output", (".yaml", ".yml"))
    if options.conformance is not None:
        check_output(options, "conformance", (".md",))
