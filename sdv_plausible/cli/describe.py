"""The command ``sdv-plausible describe``: a table's description as a readable release file."""

from __future__ import annotations

import argparse
from pathlib import Path

from sdv_plausible.cli.files import UsageError, check_outputs
from sdv_plausible.cli.run_fit import (
    add_budget,
    add_option,
    add_signing,
    add_table_options,
    allow_no_claim,
    write_release,
)
from sdv_plausible.fitting.options import OPTIONS, default_of
from sdv_plausible.models import named_learner
from sdv_plausible.table.columns.domain import MAX_BINS

PURPOSE = "fit a table in one of DataSynthesizer's modes"
EXAMPLE = "people.csv -o people.json --mode independent"

MODES = ("correlated", "independent", "random")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of ``describe``."""
    add = command.add_argument
    add_table_options(command)
    add("-o", "--output", type=Path, required=True, help="release file to write (.json)")
    add("--mode", choices=MODES, default=MODES[0], help="default: correlated")
    add("--epsilon", type=float, default=0.1, help="total privacy budget, including types (default: 0.1)")
    add("--delta", type=float, default=default_of("delta"), help="failure probability (default: %(default)s)")
    add("--max-parents", type=int, help="most parents of a column under --mode correlated (default: 4)")
    add("--bins", type=int, default=MAX_BINS, help=f"most bins of a number or date (default: {MAX_BINS})")
    for name in ("types", "anyway", "person", "rows_per_person", "neighbours"):
        add_option(command, OPTIONS[name])
    add_budget(command, "draw from a total over several releases; the file is created if it is missing")
    add_signing(command)
    allow_no_claim(command)
    command.set_defaults(ledger=None, public=None, outputs=("output",))


def run(options: argparse.Namespace) -> None:
    """Infer undeclared types, learn the description and write it."""
    check_outputs(options, (".json", ".release"))
    if options.domain == "written":
        raise UsageError(
            "--domain written: describe takes types from --metadata, and ranges from a domain file alone: "
            "declare them there (--domain domain.json), or use fit"
        )
    if options.max_parents is not None and options.mode != "correlated":
        raise UsageError(f"--max-parents has no effect with --mode {options.mode}: remove it")
    model = named_learner(
        options.mode, {} if options.max_parents is None else {"max_parents": options.max_parents}
    )
    write_release(options, readable=True, model=model, max_bins=options.bins)
