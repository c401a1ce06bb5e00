"""The command ``sdv-plausible generate``: rows from a description, without the data."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pandas as pd

from sdv_plausible.commands.files import UsageError, check_output, is_same, write_table
from sdv_plausible.privacy.noise.recipients import new_secret
from sdv_plausible.release_file.release import Release
from sdv_plausible.whole_files import write_whole


def add_options(command: argparse.ArgumentParser) -> None:
    """What ``generate`` is told."""
    command.add_argument("description", type=Path, help="what describe wrote, or any release file")
    command.add_argument("-o", "--output", type=Path, required=True, help="CSV or Parquet file to write")
    command.add_argument(
        "-n", "--rows", type=int, help="rows (default: the noisy number of rows in the description)"
    )
    command.add_argument(
        "--uniform", nargs="+", default=[], metavar="COLUMN", help="columns drawn uniformly from their domain"
    )
    command.add_argument(
        "--recipient", help="who gets the rows: the same name always gets the same ones; needs --secret"
    )
    command.add_argument(
        "--secret", type=Path, help="the holder's secret file, made if it is not there: never hand it out"
    )
    command.add_argument("--overwrite", action="store_true", help="replace the output if it exists")


def run(options: argparse.Namespace) -> None:
    """Draw the rows and write them."""
    if not options.description.is_file():
        raise UsageError(f"there is no description {options.description}")
    check_output(options.output, options.overwrite, (".csv", ".parquet"))
    if is_same(options.description, options.output):
        raise UsageError(
            f"{options.output} is the description, which rows would replace; choose another name"
        )
    if options.secret is not None and is_same(options.secret, options.output):
        raise UsageError(
            f"{options.output} is the secret file, which rows would replace; choose another name"
        )
    rows = generated(options)
    write_whole(options.output, lambda path: write_table(rows, path))
    print(f"Wrote {len(rows):,} rows to {options.output}")


def generated(options: argparse.Namespace) -> pd.DataFrame:
    """The rows that were asked for."""
    if (options.recipient is None) != (options.secret is None):
        raise ValueError(
            "--recipient and --secret go together: who gets the rows, and the holder's secret file"
        )
    release = Release.load(options.description)
    secret = None if options.secret is None else _secret(options.secret)
    return release.sample(options.rows, uniform=options.uniform, recipient=options.recipient, secret=secret)


def _secret(path: Path) -> bytes:
    """The secret in a file of the holder's own; a new one where there is none."""
    if not path.exists():
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(new_secret().hex() + "\n")
    try:
        return bytes.fromhex(path.read_text(encoding="ascii").strip())
    except ValueError:
        raise ValueError(f"{path} holds no secret: it must be the file that --secret made") from None
