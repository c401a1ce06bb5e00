"""The command ``sdv-plausible verify``: a release of somebody else, checked claim by claim."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from sdv_plausible.cli.files import add_spelling, check_there, files_of
from sdv_plausible.cli.output import say

PURPOSE = "check a release of somebody else, claim by claim, without the rows"

FAILED = 1


def add_options(command: argparse.ArgumentParser) -> None:
    """Which file, what is known of it, and the published table that it started from."""
    add = command.add_argument
    add("release", type=Path, help="the release file")
    add("--expect-sha256", metavar="DIGEST", help="the digest that the file must have")
    add("--public", type=Path, help="the published table that the model started from, CSV or Parquet")
    add("--key", type=Path, help="the public key with which the file's statement must be signed")
    add("--statement", type=Path, help="the signed statement; it stands beside the file by default")
    add("--allow-unchecked", action="store_true", help="exit with 0 though some claims cannot be checked")
    add_spelling(command, "public")


def run(options: argparse.Namespace) -> int:
    """Print a verdict per line, and what no file can show; 1 if anything is refused or not checkable."""
    from sdv_plausible.extensions.verify.independent.all_checks import CANNOT_SHOW
    from sdv_plausible.extensions.verify.verification import verify

    check_there(options, "release", "public", "key", "statement")
    public = None if options.public is None else files_of(options, options.public)
    found = verify(
        options.release, public=public, expect_sha256=options.expect_sha256, key=options.key,
        statement=options.statement, allow_unchecked=options.allow_unchecked,
    )  # fmt: skip
    answer = {
        "passed": found.passed,
        "refused": len(found.refused),
        "not_checkable": len(found.unchecked),
        "verdicts": [asdict(verdict) for verdict in found.verdicts],
        "cannot_show": CANNOT_SHOW,
    }
    say(options, str(found), answer)
    return 0 if found.passed else FAILED
