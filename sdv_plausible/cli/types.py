"""The command ``sdv-plausible types``: whether an older release file holds types of real columns."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

from sdv_plausible.cli.files import check_files_exist, check_output
from sdv_plausible.cli.output import print_result

PURPOSE = "check a release file for types detected from the rows"
EXAMPLE = "people.release"

CLEAN = "No type of a column was read off the rows without noise."


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of ``types``."""
    add = command.add_argument
    add("release", type=Path, help="release file")
    add("-o", "--output", type=Path, help="write the release without these values")
    add("--overwrite", action="store_true", help="replace the output file if it exists")


def run(options: argparse.Namespace) -> None:
    """Print the columns with such types, and the values that the types reveal."""
    from sdv_plausible.release.file.release import Release

    check_files_exist(options, "release")
    if options.output is not None:
        check_output(options, "output", (".release",))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        release = Release.load(options.release)
    findings = [str(warning.message) for warning in caught]
    if options.output is not None:
        release.save(options.output)
    notes = [] if options.output is None else [f"Wrote {options.output}"]
    print_result(options, [*(findings or [CLEAN]), *notes], {"found": findings, "output": options.output})
