"""The command ``sdv-plausible verify``: check a release file from another party, claim by claim."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from sdv_plausible.cli.files import add_format_options, check_files_exist, files_of
from sdv_plausible.cli.output import print_result

PURPOSE = "check another party's release file, claim by claim"
EXAMPLE = "people.release"

FAILED = 1


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add = command.add_argument
    add("release", type=Path, help="release file")
    add("--expect-sha256", metavar="DIGEST", help="SHA-256 digest that the file must have")
    add("--public", type=Path, help="published table that the model started from")
    add("--key", type=Path, help="public key that must have signed the statement")
    add("--statement", type=Path, help="signed statement (default: next to the release file)")
    add("--allow-unchecked", action="store_true", help="exit with 0 even if some claims cannot be checked")
    add_format_options(command, "public")


def run(options: argparse.Namespace) -> int:
    """Print one finding per line; return 1 if a claim is contradicted or cannot be checked."""
    from sdv_plausible.extensions.verify.independent.all_checks import CANNOT_SHOW
    from sdv_plausible.extensions.verify.verification import verify

    check_files_exist(options, "release", "public", "key", "statement")
    public = None if options.public is None else files_of(options, options.public)
    result = verify(
        options.release, public=public, expect_sha256=options.expect_sha256, key=options.key,
        statement=options.statement, allow_unchecked=options.allow_unchecked,
    )  # fmt: skip
    answer = {
        "passed": result.passed,
        "refused": len(result.refused),
        "not_checkable": len(result.unchecked),
        "verdicts": [asdict(verdict) for verdict in result.verdicts],
        "cannot_show": CANNOT_SHOW,
    }
    print_result(options, str(result), answer)
    return 0 if result.passed else FAILED
