"""The command ``sdv-plausible fit``: learn a release file, which is sampled without the table."""

from __future__ import annotations

import argparse
from pathlib import Path

from sdv_plausible.cli import run_fit
from sdv_plausible.cli.files import UsageError, check_outputs

PURPOSE = "fit a table and write a release file"
EXAMPLE = "people.csv -o people.release --domain domain.json --epsilon 1"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of ``fit``."""
    run_fit.add_fitting(command)
    command.add_argument("-o", "--output", type=Path, required=True, help="release file to write (.release)")
    command.add_argument("--readable", action="store_true", help="write the file with line breaks")
    run_fit.add_signing(command)
    run_fit.allow_no_claim(command)


def run(options: argparse.Namespace) -> None:
    """Fit, and write the release with its ledger."""
    check_outputs(options, (".release", ".json"))
    test = getattr(options, "test", None)
    if test in run_fit.ROW_BY_ROW:
        raise UsageError(
            f"--test {test} keeps records, and a release file holds none: leave it out, or take synthesize"
        )
    run_fit.write_release(options, readable=options.readable)
